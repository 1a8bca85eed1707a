#!/usr/bin/env python3
"""The page in Chromium: time to the first picture, and tasks that hold its main thread for more than 50 ms.

    python3 benches/web.py [PAGE]           out/web/sojourn.html of `make web` by default
    python3 benches/web.py --once [PAGE]    one browser, and the first rows of its table

Each of three fresh browsers loads the page from disk, compares two schemes, moves the slider of the rate twenty times
and watches the queue. It needs Selenium (`make venv`), Chromium and its driver.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By

PAGE = Path(__file__).resolve().parents[1] / "out" / "web" / "sojourn.html"
WATCH = """
window.held = [];
const note = (list) => list.getEntries().forEach((one) => window.held.push([one.startTime, one.duration]));
new PerformanceObserver(note).observe({ entryTypes: ["longtask"] });
"""
FIRST = "return (performance.getEntriesByName('points')[0] || {startTime: null}).startTime"
DONE = "return document.querySelector('.results p')?.innerText.startsWith('Means') || false"


def browser() -> webdriver.Chrome:
    """Chromium without a window."""
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,1000"):
        options.add_argument(word)
    return webdriver.Chrome(options=options)


def until(driver: webdriver.Chrome, script: str, limit_s: float = 120.0) -> object:
    """What the script returns once it is neither false nor null."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if (found := driver.execute_script(script)) not in {None, False}:
            return found
        time.sleep(0.05)
    raise TimeoutError(script)


def press(driver: webdriver.Chrome, text: str) -> None:
    """Press the button that begins so."""
    next(one for one in driver.find_elements(By.TAG_NAME, "button") if one.text.startswith(text)).click()


def measure(page: Path) -> tuple[float, list[tuple[float, float]], list[str]]:
    """Return the time of the first picture, begin and length of each long task after it, all in ms, and the table."""
    driver = browser()
    try:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        driver.get(page.as_uri())
        first = float(str(until(driver, FIRST)))
        until(driver, DONE)
        rows = driver.execute_script("return document.querySelector('.results').innerText").splitlines()
        slide = (
            "const s = document.querySelector('.slider input[type=range]');"
            "Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(s, arguments[0]);"
            "s.dispatchEvent(new Event('input', {bubbles: true}))"
        )
        for place in range(100, 120):
            driver.execute_script(slide, place)
            time.sleep(0.05)
        time.sleep(1)
        until(driver, DONE)
        press(driver, "Watch")
        time.sleep(2)
        press(driver, "500 events")
        time.sleep(2)
        held = driver.execute_script("return window.held")
        return first, [(start, length) for start, length in held if start > first], rows
    finally:
        driver.quit()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="What the page holds up, in Chromium.")
    parser.add_argument("page", nargs="?", type=Path, default=PAGE, help="the page (default: that of `make web`)")
    parser.add_argument("--once", action="store_true", help="one browser, and the first rows of its table")
    options = parser.parse_args()
    for _ in range(1 if options.once else 3):
        first, held, rows = measure(options.page.resolve())
        longest = max((length for _, length in held), default=0.0)
        print(f"first picture after {first / 1000:.2f} s; {len(held)} longer tasks later, at most {longest:.0f} ms")
        print("   ", ", ".join(f"{length:.0f} ms at {start / 1000:.2f} s" for start, length in held))
        if options.once:
            print("\n".join(rows[:8]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
