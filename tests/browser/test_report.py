"""The report in a real browser: it loads in silence, sorts, turns, downloads, and fits a phone."""

import json
from pathlib import Path

import pytest

import gradsift as gs

from .cases import HOSTILE, black_box, paper, table

CONTRAST = (Path(__file__).parent / "contrast.js").read_text()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("reports")
    black_box().to_html(target / "box.html", settings={"oracle": "box:f"})
    paper().to_html(target / "paper.html")
    table(d=len(HOSTILE), hostile=True).to_html(target / "hostile.html", feature_names=HOSTILE)
    return target


def column(driver, number):
    cells = driver.find_elements("css selector", f"#units tbody td:nth-child({number})")
    return [float(cell.get_attribute("data-value")) for cell in cells]


def test_the_verdict_is_visible_without_scrolling(visit, folder):
    for name, word in (("box", "Certified"), ("paper", "Not certified")):
        driver = visit((folder / f"{name}.html").as_uri(), width=390, height=844)
        badge = driver.find_element("css selector", "#verdict .badge")
        assert badge.is_displayed()
        assert badge.text == word
        assert badge.rect["y"] + badge.rect["height"] < 844


def test_a_click_on_a_heading_sorts_by_value_and_a_second_one_turns_the_order(visit, folder):
    driver = visit((folder / "box.html").as_uri())
    heading = driver.find_element("css selector", "#units th:nth-child(4) button")
    before = column(driver, 4)
    assert before != sorted(before), "the case must not be sorted already"
    heading.click()
    assert column(driver, 4) == sorted(before)
    assert heading.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    heading.click()
    assert column(driver, 4) == sorted(before, reverse=True)
    assert column(driver, 1) != [1, 2, 3, 4]


def test_the_view_turns_with_mouse_and_keys_zooms_and_resets(visit, folder):
    from selenium.webdriver import ActionChains, Keys

    driver = visit((folder / "paper.html").as_uri())
    canvas = driver.find_element("id", "cloud")
    state = lambda: {name: canvas.get_attribute(f"data-{name}") for name in ("yaw", "pitch", "zoom")}
    picture = lambda: driver.execute_script("return arguments[0].toDataURL()", canvas)
    first, drawn = state(), picture()
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    ActionChains(driver).click_and_hold(canvas).move_by_offset(60, 25).release().perform()
    assert state()["yaw"] != first["yaw"]
    assert state()["pitch"] != first["pitch"]
    assert picture() != drawn
    turned = state()["yaw"]
    canvas.send_keys(Keys.ARROW_LEFT)
    assert state()["yaw"] != turned
    driver.find_element("id", "nearer").click()
    assert float(state()["zoom"]) > float(first["zoom"])
    driver.find_element("id", "upright").click()
    assert state() == first
    assert picture() == drawn


def test_both_downloads_hold_the_units(visit, folder, tmp_path):
    from selenium.webdriver.support.ui import WebDriverWait

    driver = visit((folder / "box.html").as_uri())
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    for button, name in (("json", "found.json"), ("csv", "units.csv")):
        driver.find_element("id", button).click()
        WebDriverWait(driver, 20, 0.05).until(lambda _, path=tmp_path / name: path.exists())
    assert gs.SigmoidCombination.load(tmp_path / "found.json") == black_box().model
    lines = (tmp_path / "units.csv").read_text().splitlines()
    assert lines[0].startswith("unit,weights,slopes,offsets,weights_error")
    assert len(lines) == 1 + black_box().n_units


def test_hostile_names_are_shown_as_text_and_run_nothing(visit, folder):
    driver = visit((folder / "hostile.html").as_uri())  # an alert would make the next call fail
    shown = [e.get_attribute("title") for e in driver.find_elements("css selector", ".part")]
    assert HOSTILE[0] in shown
    assert driver.execute_script("return document.querySelectorAll('img, .part script, #verdict script').length") == 0
    payload = driver.execute_script("return document.getElementById('payload').textContent")
    assert json.loads(payload)["columns"] == HOSTILE


@pytest.mark.parametrize("name", ["box", "paper", "hostile"])
def test_nothing_is_wider_than_a_phone_and_no_label_is_cut(visit, folder, name):
    driver = visit((folder / f"{name}.html").as_uri(), width=390, height=844)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    cut = driver.execute_script(
        "const out = (a, b) => a.width && (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 ||"
        "  a.bottom > b.bottom + 1);"
        "return [...document.querySelectorAll('figure svg')].filter((svg) => [...svg.querySelectorAll('g')]"
        "  .some((g) => out(g.getBoundingClientRect(), svg.getBoundingClientRect()))).length"
    )
    assert cut == 0


@pytest.mark.parametrize("dark", [False, True])
def test_all_text_has_contrast_aa(visit, folder, dark):
    driver = visit((folder / "paper.html").as_uri(), dark=dark)
    assert driver.execute_script(CONTRAST) == []
    before = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    driver.find_element("id", "theme").click()  # the other one, by hand
    assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") != before
    assert driver.execute_script(CONTRAST) == []


def test_the_contrast_check_can_fail(visit, folder):
    driver = visit((folder / "paper.html").as_uri())
    driver.execute_script("document.querySelector('#verdict p').style.color = '#bbbbbb'")
    assert len(driver.execute_script(CONTRAST)) == 1
