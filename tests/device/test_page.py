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
from laboratory import find_sojournd
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser import start_browser

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
        # How late frames left and were dated: three times and two; in the other direction came none.
        wait.until(lambda d: cell(d, "left-a_to_b").count("s /") == 2)
        assert cell(driver, "dated-a_to_b").count("s /") == 1
        assert {cell(driver, f"{key}-b_to_a") for key in ("left", "dated")} == {"–"}
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


#: Boxes of the texts of charts and lists that lie over each other, or stick out of the page.
OVERLAPS = """
const boxes = [...document.querySelectorAll("figcaption span, .y span, .x span, dt, dd")]
  .filter((e) => e.textContent.trim())
  .map((e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    return { text: e.textContent, left, right, top, bottom };
  });
const wrong = boxes.filter((b) => b.right > document.documentElement.clientWidth + 1).map((b) => b.text);
boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
  const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  // Lines of text touch; letters begin some pixels further in.
  const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  if (across > 1 && down > 5) wrong.push(a.text + " | " + b.text);
}));
return [boxes.length, wrong];
"""


def test_numbers_are_whole_apart_and_never_nan(device: Device) -> None:
    driver = start_browser(javascript=True)
    try:
        log_in(driver, device)
        wait = WebDriverWait(driver, 30)
        # CoDel before its first drop has no `first_above_s`; FQ-CoDel has the most names of what is short.
        device.ask("switch", "fq_codel")
        wait.until(lambda d: cell(d, "scheme-a_to_b") == "fq_codel")
        wait.until(lambda d: d.find_elements(By.ID, "chart-drops-a_to_b"))
        wait.until(lambda d: d.find_elements(By.CSS_SELECTOR, "#internals-a_to_b dd"))
        page = driver.find_element(By.TAG_NAME, "main").text
        assert not re.search(r"NaN|Infinity|undefined|null", page)
        # In one call: the list is made anew every second.
        internals = dict(
            driver.execute_script(
                "return [...document.querySelectorAll('#internals-a_to_b dl div')]"
                ".map((e) => [...e.children].map((c) => c.innerText))"
            )
        )
        assert re.fullmatch(r"[\d\u202f]+", internals["queues"])
        assert re.fullmatch(r"[\d\u202f]+", internals["count"])
        assert re.fullmatch(r"–|[\d.]+ [mµ]?s", internals["first_above_s"])
        # Three megabits for two: 150 %, to the axis' end at 200 %.
        load = driver.find_element(By.ID, "chart-load-a_to_b")
        wait.until(lambda _: re.fullmatch(r"1[45]\d(\.\d)? %", load.find_element(By.CLASS_NAME, "now").text))
        assert [e.text for e in load.find_elements(By.CSS_SELECTOR, ".y span")] == ["200 %", "100 %", "0"]
        for figure in driver.find_elements(By.CSS_SELECTOR, "#charts figure"):
            assert [e.text for e in figure.find_elements(By.CSS_SELECTOR, ".x span")] == ["2 min ago", "1 min", "now"]
            highest, middle, lowest = (e.text for e in figure.find_elements(By.CSS_SELECTOR, ".y span"))
            assert re.fullmatch(r"[125]0* (p|%|/s|[mµ]?s)", highest), highest
            assert re.fullmatch(r"[\d.]+ (p|%|/s|[mµ]?s)", middle)
            assert lowest == "0"
        for width in (1400, 390):
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 1600, "deviceScaleFactor": 1, "mobile": False},
            )
            # Charts 4 x 2 texts, 3 and 3 of axes, and the internals.
            count, wrong = driver.execute_script(OVERLAPS)
            assert count > 32
            assert wrong == []
    finally:
        driver.quit()


def test_the_page_reads_without_javascript(device: Device) -> None:
    driver = start_browser(javascript=False)
    try:
        log_in(driver, device)
        assert cell(driver, "scheme-a_to_b") == "codel target 7ms"
        # It loads itself again every 5 s, perhaps while it is read.
        wait = WebDriverWait(driver, 60, ignored_exceptions=(WebDriverException,))

        def shown(driver: webdriver.Chrome) -> list[bool]:
            rows = driver.find_elements(By.CSS_SELECTOR, "#directions tbody tr")
            return [row.is_displayed() and bool(row.text) for row in rows]

        assert wait.until(shown) == [True] * 24
        assert wait.until(lambda d: not d.find_element(By.ID, "charts").is_displayed())
        # It loads itself again.
        arrived = number(cell(driver, "arrived-a_to_b"))
        WebDriverWait(driver, 60, ignored_exceptions=(Exception,)).until(
            lambda d: number(cell(d, "arrived-a_to_b")) > arrived
        )
    finally:
        driver.quit()
