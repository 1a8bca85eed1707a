"""The live page in headless Chromium, with and without JavaScript, of a device that needs no interface."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser import start_browser
from sojourn.device.lab import find_sojournd

pytestmark = pytest.mark.browser

TOML = """
[ports.a]
back_end = "loopback"
load = "3 Mbit/s"

[ports.b]
back_end = "loopback"

[a_to_b]
scheme = "codel target 7ms"
rate = "2 Mbit/s"
delay = "10 ms"

[windows]
packets = 500
store = "none"

[control]
listen = "127.0.0.1:0"
socket = "control.sock"
token_file = "token"

[run]
user = "root"
log = "json"
"""


@dataclass(frozen=True)
class Device:
    """A running device."""

    process: subprocess.Popen[str]
    config: Path
    url: str
    token: str

    def ask(self, *command: str) -> None:
        """Ask it over its Unix socket."""
        words = [str(find_sojournd()), *command, "--config", str(self.config)]
        subprocess.run(words, check=True, capture_output=True, timeout=30)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    config = tmp_path / "d.toml"
    config.write_text(TOML)
    log = tmp_path / "log"
    with log.open("w") as stream:
        process = subprocess.Popen([str(find_sojournd()), "run", str(config)], stderr=stream, text=True)
    try:
        url = None
        for _ in range(300):
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            sockets = [line["at"] for line in lines if line.get("message") == "control"]
            url = next((f"http://{at}/" for at in sockets if not at.startswith("/")), None)
            if url or process.poll() is not None:
                break
            time.sleep(0.1)
        assert url, log.read_text()
        yield Device(process, config, url, (tmp_path / "token").read_text().strip())
    finally:
        process.terminate()
        assert process.wait(timeout=30) == 0, log.read_text()
    assert not (tmp_path / "control.sock").exists() or tmp_path.owner() == "root"


def log_in(driver: webdriver.Chrome, device: Device) -> None:
    """Meet the form, give a wrong token, then the right one."""
    driver.get(device.url)
    assert driver.current_url == device.url + "login"
    driver.find_element(By.ID, "token").send_keys("not this")
    driver.find_element(By.TAG_NAME, "button").click()
    wait = WebDriverWait(driver, 30)
    wait.until(lambda d: d.find_elements(By.CSS_SELECTOR, '[role="alert"]'))
    assert driver.find_element(By.CSS_SELECTOR, '[role="alert"]').text == "That is not the token."
    driver.find_element(By.ID, "token").send_keys(device.token)
    driver.find_element(By.TAG_NAME, "button").click()
    wait.until(lambda d: d.current_url == device.url)


def cell(driver: webdriver.Chrome, key: str) -> str:
    return driver.find_element(By.ID, key).text


def number(text: str) -> int:
    """The whole number that a cell begins with."""
    found = re.match(r"[\d\u202f]+", text)
    assert found, text
    return int(found[0].replace("\u202f", ""))


def test_the_page_shows_the_device_and_keeps_up_with_it(device: Device) -> None:
    driver = start_browser(javascript=True)
    try:
        log_in(driver, device)
        wait = WebDriverWait(driver, 30)
        wait.until(lambda d: cell(d, "live") == "Live.")
        assert cell(driver, "scheme-a_to_b") == "codel target 7ms"
        assert cell(driver, "scheme-b_to_a") == "none: forwarded at once"
        assert cell(driver, "rate-a_to_b") == "2.00 Mbit/s"
        # Half as much again as fits is offered: queue, delay, load and drops are seen.
        arrived = number(cell(driver, "arrived-a_to_b"))
        wait.until(lambda d: number(cell(d, "arrived-a_to_b")) > arrived)
        wait.until(lambda d: number(cell(d, "drops-a_to_b")) > 0)
        wait.until(lambda d: number(cell(d, "queue-a_to_b")) > 0)
        wait.until(lambda d: len(d.find_elements(By.CSS_SELECTOR, "#charts figure")) == 4)
        for figure in driver.find_elements(By.CSS_SELECTOR, "#charts figure"):
            assert figure.is_displayed()
            assert figure.find_element(By.TAG_NAME, "svg").get_attribute("aria-label")
        line = driver.find_element(By.CSS_SELECTOR, "#chart-queue-a_to_b polyline")
        wait.until(lambda _: len((line.get_attribute("points") or "").split()) > 2)
        # Another scheme shows without a click.
        device.ask("switch", "pie target 15ms", "--label", "<b>&amp;")
        wait.until(lambda d: "(<b>&amp;)" in cell(d, "scheme-a_to_b"))
        wait.until(lambda d: d.find_elements(By.CSS_SELECTOR, "#windows tbody tr"))
        for width in (1200, 500):
            driver.set_window_size(width, 1600)
            wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert driver.execute_script(wide) == 0
        # Nothing from elsewhere, nothing on the console but the answer to the wrong token.
        events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        assert urls
        assert [url for url in urls if not url.startswith((device.url, "data:"))] == []
        # Hints on forms are of level DEBUG.
        said = [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]
        assert [text for text in said if "401" not in text] == []
        # The device ends, and the page says so.
        device.process.terminate()
        device.process.wait(timeout=30)
        wait.until(lambda d: "does not answer" in cell(d, "live"))
    finally:
        driver.quit()


def test_the_page_reads_without_javascript(device: Device) -> None:
    driver = start_browser(javascript=False)
    try:
        log_in(driver, device)
        assert cell(driver, "scheme-a_to_b") == "codel target 7ms"
        rows = driver.find_elements(By.CSS_SELECTOR, "#directions tbody tr")
        assert len(rows) == 18
        assert all(row.is_displayed() and row.text for row in rows)
        assert not driver.find_element(By.ID, "charts").is_displayed()
        # It loads itself again.
        arrived = number(cell(driver, "arrived-a_to_b"))
        WebDriverWait(driver, 60, ignored_exceptions=(Exception,)).until(
            lambda d: number(cell(d, "arrived-a_to_b")) > arrived
        )
    finally:
        driver.quit()
