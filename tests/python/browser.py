"""Headless Chromium for tests."""

from __future__ import annotations

import os
import shutil

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

# CI sets this, so that there a missing browser is a failure and not a test left out.
REQUIRED = "SOJOURN_TEST_BROWSER"


def start_browser(*, javascript: bool, width: int | None = None) -> webdriver.Chrome:
    """Start a browser; with `width`, one of a telephone of so many pixels."""
    driver = shutil.which("chromedriver")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not driver or not program:
        message = "needs chromium and chromedriver (Debian: apt install chromium chromium-driver)"
        if os.environ.get(REQUIRED):
            pytest.fail(message)
        pytest.skip(message)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        # A smooth scroll would still be on its way when the click comes.
        "--force-prefers-reduced-motion",
        "--window-size=1200,2400",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if width is not None:
        metrics = {"width": width, "height": 844, "pixelRatio": 1.0}
        options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
    if not javascript:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    return webdriver.Chrome(options=options, service=Service(driver))


def resize(driver: webdriver.Chrome, width: int, height: int = 1600) -> None:
    """Show the page in so many pixels."""
    # Not the window's size: on a busy machine Chromium sometimes does not answer such a request.
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
