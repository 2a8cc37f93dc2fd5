"""Pages in headless Chromium, opened from disk."""

import json
import pathlib
import shutil

import pytest
from selenium import webdriver

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    pytest.skip("chromium and chromium-driver are not installed", allow_module_level=True)


def open_page(path, width, dark=False):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--hide-scrollbars",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    if dark:
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        )
    driver.get(pathlib.Path(path).as_uri())
    return driver


def complaints(driver):
    return driver.get_log("browser")


def asked_for(driver):
    """Addresses that the page asked for, but for what it holds itself."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = (e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent")
    return {url for url in asked if not url.startswith("data:")}
