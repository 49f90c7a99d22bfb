"""Take the pictures of docs/assets from real runs in headless Chromium: ``python docs/screenshots.py``."""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from selenium import webdriver

import gradsift as gs
from gradsift.show.playground import page

ASSETS = Path(__file__).parent / "assets"


def main() -> None:
    """Write report (its top), report-light, report-dark, report-narrow and playground as PNG."""
    folder = Path(tempfile.mkdtemp())
    truth = gs.simulate.random_combination(5, 4, slope=2.0, offsets=True, rng=3)
    box = gs.recover(gs.Oracle(truth.predict, 5), random_state=0)
    box.to_html(folder / "box.html", settings={"oracle": "box:f", "features": 5, "seed": 0})
    model = gs.SigmoidCombination(np.eye(3), [0.4, 0.35, 0.25], 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an uncertified run is what the dark picture shows
        literal = gs.recover(gs.Oracle(model.predict, 3), 3, method="paper", random_state=0)
    literal.to_html(folder / "paper.html")
    mixture = gs.simulate.random_combination(4, 2, slope=4.0, mixture=True, rng=2)
    X, y = mixture.sample(20_000, "labels", rng=1)
    fit = gs.recover((X, y), random_state=0)
    names = ["age", "income", "distance", "price"]
    fit.to_html(folder / "fit.html", feature_names=names, data=(X, y), settings={"data": "trips.csv", "target": "rail"})
    (folder / "playground.html").write_text(page(), encoding="utf-8")
    driver = _browser()
    try:
        _take(driver, folder / "box.html", "report", width=1100, most=1520)
        _take(driver, folder / "box.html", "report-light", width=1100)
        _take(driver, folder / "paper.html", "report-dark", width=1100, dark=True)
        _take(driver, folder / "fit.html", "report-narrow", width=390)
        _take(driver, folder / "playground.html", "playground", width=1100)
    finally:
        driver.quit()


def _browser() -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument("--" + flag)
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def _take(driver: Any, path: Path, name: str, width: int, dark: bool = False, most: int = 10_000) -> None:
    wanted = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(path.as_uri())
    for _ in range(2):  # a page may grow while it is drawn at its new size
        time.sleep(0.5)
        height = min(most, driver.execute_script("return document.documentElement.scrollHeight"))
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": height})
    time.sleep(0.5)
    driver.save_screenshot(str(ASSETS / f"{name}.png"))


if __name__ == "__main__":
    main()
