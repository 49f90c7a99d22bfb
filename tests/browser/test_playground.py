"""The playground: served to this machine only, and alive under the hand."""

import http.client
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gradsift.cli.app import app
from gradsift.show.playground import HOST, html, make_server

CONTRAST = (Path(__file__).parent / "contrast.js").read_text()


@pytest.fixture(scope="module")
def server():
    with make_server() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def ask(server, path="/", host=HOST):
    connection = http.client.HTTPConnection(*server.server_address, timeout=10)
    connection.request("GET", path, headers={"Host": f"{host}:{server.server_address[1]}"})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body


def test_one_page_is_served_on_loopback_and_nothing_else(server):
    assert server.server_address[0] == "127.0.0.1"
    assert ask(server) == (200, html().encode())
    assert ask(server, "/../pyproject.toml")[0] == 404
    assert ask(server, host="elsewhere.example")[0] == 404


def test_the_page_can_be_written_instead(tmp_path):
    result = CliRunner().invoke(app, ["playground", "--out", str(tmp_path / "play.html")])
    assert result.exit_code == 0
    assert (tmp_path / "play.html").read_text() == html()


@pytest.fixture
def play(visit, server):
    return visit(f"http://{HOST}:{server.server_address[1]}/", height=1300)


def settled(driver):
    """Wait for the drawing that a change asked for, and return pictures and words."""
    driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))")
    return driver.execute_script(
        "const text = (id) => document.getElementById(id).textContent;"
        "return {plane: plane.toDataURL(), circle: document.getElementById('circle').toDataURL(), error: text('error'),"
        "survivors: text('survivors'), doubly: text('doubly'), trap: text('trap'), angles: [...angles]}"
    )


def set_slider(driver, name, value):
    driver.execute_script(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('input'))",
        name, value,
    )  # fmt: skip


def test_dragging_a_vector_changes_the_field_and_the_candidates(play):
    from selenium.webdriver import ActionChains

    before = settled(play)
    canvas = play.find_element("id", "plane")
    size = canvas.size["width"]
    x, y = play.execute_script("const [a, b] = unitVectors()[0]; return [HANDLE * a, -HANDLE * b]")
    drag = ActionChains(play).move_to_element_with_offset(canvas, round(x * size), round(y * size))
    drag.click_and_hold().move_by_offset(0, 120).release().perform()
    after = settled(play)
    assert after["angles"][0] != before["angles"][0]
    assert after["angles"][1:] == before["angles"][1:]
    assert after["plane"] != before["plane"]
    assert after["circle"] != before["circle"]


def test_far_out_the_units_are_found_and_near_the_origin_the_trap_springs(play):
    set_slider(play, "scale", 0.0)
    near = settled(play)
    for name, value in (("scale", 0.75), ("queries-per-point", 0.9), ("kept", 8), ("points", 600)):
        set_slider(play, name, value)
    far = settled(play)
    share = lambda told: float(told["doubly"].rstrip("%"))
    assert share(near) > 50 > 25 > share(far)
    assert float(far["error"].rstrip("°")) < 10 < float(near["error"].rstrip("°"))
    assert "several units at once" in near["trap"] or "purity trap" in near["trap"]
    play.find_element("id", "purity").click()
    assert "one unit only" in settled(play)["trap"]


def test_the_purity_test_lowers_the_share_of_mixed_survivors(play):
    before = settled(play)
    play.find_element("id", "purity").click()
    after = settled(play)
    assert float(after["doubly"].rstrip("%")) < float(before["doubly"].rstrip("%"))


def test_units_come_and_go_between_one_and_four(play):
    add, remove = play.find_element("id", "add"), play.find_element("id", "remove")
    add.click()
    assert len(settled(play)["angles"]) == 4
    assert not add.is_enabled()
    for _ in range(3):
        remove.click()
        settled(play)
    assert len(settled(play)["angles"]) == 1
    assert not remove.is_enabled()


def test_the_smoothed_gradient_agrees_with_the_library(play):
    import numpy as np

    import gradsift as gs

    model = gs.SigmoidCombination([[1.0, 0.0], [0.6, 0.8]], [0.5, 0.5], 2.0)
    points = [[0.3, -0.2], [1.5, 2.0], [-4.0, 0.1]]
    drawn = play.execute_script(
        "const activity = activityTable(2); return arguments[1].map(([x, y]) =>"
        "smoothedGradient(arguments[0], 2, activity, x, y))",
        model.units.tolist(), points,
    )  # fmt: skip
    np.testing.assert_allclose(drawn, model.smoothed_gradient(points), atol=2e-4)


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone_with_contrast_aa(visit, server, dark):
    driver = visit(f"http://{HOST}:{server.server_address[1]}/", width=390, height=844, dark=dark)
    settled(driver)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
    assert driver.execute_script(CONTRAST) == []
