"""A real Chromium without a window, and the record of everything it says and asks for."""

import json
import os
import shutil

import pytest

REQUIRED = os.environ.get("GRADSIFT_REQUIRE_BROWSER") == "1"


def _missing():
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "the package selenium is missing"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"the program {program} is missing (Debian: apt-get install chromium chromium-driver)"
    return None


@pytest.fixture(scope="session")
def driver():
    """One browser for all tests; where there is none they are skipped, or fail if GRADSIFT_REQUIRE_BROWSER=1."""
    missing = _missing()
    if missing and REQUIRED:
        pytest.fail(f"GRADSIFT_REQUIRE_BROWSER=1, but {missing}")
    if missing:
        pytest.skip(f"no browser test: {missing}")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    # The resolver rule makes any request that would leave the machine fail, and the log shows that it was tried.
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking",
        "window-size=1200,1000", "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ):  # fmt: skip
        options.add_argument("--" + flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield browser
    browser.quit()


@pytest.fixture
def visit(driver):
    """Open an address; when the test ends, its console must be silent and no request may have left the machine."""
    for kind in ("browser", "performance"):
        driver.get_log(kind)

    def go(address, width=1200, height=1000, dark=False):
        wanted = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(address)
        return driver

    yield go
    assert [entry["message"] for entry in driver.get_log("browser")] == []
    sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"]
    assert asked, "the log of requests is empty: it cannot vouch for anything"
    assert all(url.startswith(("file:", "data:", "blob:", "http://127.0.0.1")) for url in asked), asked
