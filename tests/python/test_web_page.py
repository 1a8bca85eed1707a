"""The page of `make web` in browsers, from disk: its numbers beside the native library's, its controls, its links.

Chromium, and Firefox where Firefox and geckodriver are installed. .ci/weekly builds the page and runs this.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import Select

import sojourn as sj
from browser import start_browser

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "out" / "web" / "sojourn.html"
SHORT = ["duration=4 s", "warm_up=1 s"]
SCHEMES = ["pfifo limit 100p", "codel"]

pytestmark = [
    pytest.mark.long,
    pytest.mark.browser,
    pytest.mark.skipif(not PAGE.exists(), reason="the page is not built (make web)"),
]


def chromium() -> WebDriver:
    return start_browser(javascript=True)


def firefox() -> WebDriver:
    if not (shutil.which("firefox") and shutil.which("geckodriver")):
        pytest.skip("Firefox or geckodriver is not installed")
    options = webdriver.FirefoxOptions()
    options.add_argument("-headless")
    return webdriver.Firefox(options=options)


@pytest.fixture(scope="module", params=[chromium, firefox])
def browser(request: pytest.FixtureRequest) -> Iterator[WebDriver]:
    driver = request.param()
    yield driver
    driver.quit()


def address(scenario: str = "dumbbell", sets: list[str] | None = None, **more: object) -> str:
    words = [("scenario", scenario), *(("set", one) for one in sets or [])]
    words += [("aqm", one) for one in more.pop("aqms", SCHEMES)]
    return f"{PAGE.as_uri()}#{urlencode(words + list(more.items()))}"


def go(browser: WebDriver, where: str) -> None:
    browser.get("about:blank")
    browser.get(where)


def text(browser: WebDriver, selector: str) -> str:
    return str(browser.execute_script("return document.querySelector(arguments[0])?.innerText ?? ''", selector))


def wait(browser: WebDriver, selector: str, words: str, limit_s: float = 120.0) -> str:
    """Wait until the element says these words; return all that it says."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if words in (found := text(browser, selector)):
            return found
        time.sleep(0.1)
    raise AssertionError(
        f"{selector} does not say {words!r} but {text(browser, selector)!r}; {text(browser, '.error')}"
    )


def press(browser: WebDriver, words: str) -> None:
    next(one for one in browser.find_elements(By.TAG_NAME, "button") if one.text.startswith(words)).click()


def cells(browser: WebDriver, title: str) -> list[str]:
    """The cells of the first row with this title."""
    rows = browser.find_elements(By.CSS_SELECTOR, ".results tbody tr")
    row = next(one for one in rows if one.find_element(By.TAG_NAME, "th").text.startswith(title))
    return [cell.text for cell in row.find_elements(By.TAG_NAME, "td")]


def errors(browser: WebDriver) -> list[str]:
    """What the browser reports; Firefox has no log here."""
    if "firefox" in str(browser.capabilities["browserName"]):
        return []
    return [one["message"] for one in browser.get_log("browser") if one["level"] == "SEVERE"]


def test_the_table_has_the_native_numbers(browser: WebDriver) -> None:
    go(browser, address(sets=SHORT, replicates=4, seed=3))
    wait(browser, ".results p", "Means of 4 replications")
    net = sj.load(ROOT / "scenarios" / "dumbbell.toml", sets=SHORT)
    results = sj.compare(net, SCHEMES, replicates=4, seed=3)
    summary = results.summary().set_index(["scheme", "metric"])
    for metric, title, scale in [
        ("sojourn_ms_mean", "Queueing delay, mean", 1.0),
        ("goodput_bit_s", "Goodput", 1e-6),
        ("loss_ratio", "Loss", 100.0),
    ]:
        for column, label in enumerate(SCHEMES):
            shown = cells(browser, title)[column].replace("−", "-")
            mean, half = (float(part) for part in shown.split(" ± "))
            digits = len(shown.split(" ± ")[1].partition(".")[2])
            row = summary.loc[(str(label), metric)]
            assert mean == pytest.approx(row["mean"] * scale, abs=0.51 * 10**-digits), (metric, label)
            width = (row["high"] - row["low"]) / 2 * scale
            assert half == pytest.approx(width, abs=0.51 * 10**-digits), (metric, label)
    assert errors(browser) == []


@pytest.mark.parametrize("name", ["dumbbell", "home", "lan", "lte", "mm1", "varying", "wlan"])
def test_every_scenario_runs(browser: WebDriver, name: str) -> None:
    sets = [*SHORT, 'flows.web.start={ uniform = ["1 s", "2 s"] }'] if name == "home" else list(SHORT)
    sets = ["duration=30 s", "warm_up=5 s"] if name == "varying" else sets
    go(browser, address(name, sets, replicates=2))
    wait(browser, ".results p", "Means of 2 replications")
    assert errors(browser) == []
    assert text(browser, ".error") == ""


def test_what_is_wrong_is_said_and_the_way_back_works(browser: WebDriver) -> None:
    go(browser, address(sets=SHORT, aqms=["codle", "pie"]))
    assert "did you mean" in wait(browser, ".error", "codle")
    go(browser, address(sets=["links.nick.rate=1 Mbit/s"]))
    assert "neck" in wait(browser, ".error", "nick")
    go(browser, address("nowhere"))
    assert "allowed: dumbbell, home" in wait(browser, ".error", "nowhere")


def test_controls_write_the_command(browser: WebDriver) -> None:
    go(browser, address("home", SHORT[:0], replicates=1))
    wait(browser, ".results p", "One replication")
    boxes = {
        box.find_element(By.XPATH, "..").text.split(" ")[0]: box
        for box in browser.find_elements(By.CSS_SELECTOR, ".flow input[type=checkbox]")
    }
    boxes["web"].click()
    time.sleep(0.5)
    browser.find_element(By.XPATH, "//label[contains(., 'ECN of the TCP flows')]/input").click()
    time.sleep(0.5)
    Select(browser.find_element(By.CSS_SELECTOR, ".scheme.side1 select")).select_by_value("red")
    time.sleep(1)
    wait(browser, ".results p", "One replication")
    browser.find_element(By.CSS_SELECTOR, ".share summary").click()
    wait(browser, ".share", "Embed")
    areas = browser.find_elements(By.CSS_SELECTOR, ".share textarea")
    command = areas[1].get_attribute("value")
    assert command.startswith("sojourn compare home --set ")
    assert "--aqm 'red min 30p max 90p limit 300p'" in command
    assert "ecn = true" in areas[2].get_attribute("value")
    assert "web" not in areas[2].get_attribute("value").partition("[[flows]]")[2]
    assert errors(browser) == []
    # The link of the page gives the same.
    go(browser, areas[0].get_attribute("value"))
    wait(browser, ".results p", "One replication")
    browser.find_element(By.CSS_SELECTOR, ".share summary").click()
    wait(browser, ".share", "Embed")
    assert browser.find_elements(By.CSS_SELECTOR, ".share textarea")[1].get_attribute("value") == command


def test_a_queue_is_watched_step_by_step(browser: WebDriver) -> None:
    go(browser, address("home", aqms=["fq_codel", "dualpi2"], replicates=1, tab="queue"))
    wait(browser, ".now", "arrivals")
    before = text(browser, ".now")
    press(browser, "20 events")
    time.sleep(1)
    assert text(browser, ".now") != before
    assert "leaves after" in text(browser, ".events")
    # The second scheme is watched at first.
    assert "p_CL = k" in text(browser, ".halves")
    browser.find_elements(By.CSS_SELECTOR, "input[name=watched]")[0].click()
    assert "Queues in the order of their turns" in wait(browser, ".halves", "Queues in the order")
    assert errors(browser) == []


def test_a_lesson_asks_runs_and_answers(browser: WebDriver) -> None:
    go(browser, address("home", replicates=1, tab="lessons", lesson="bufferbloat"))
    wait(browser, ".lesson h2", "Bufferbloat")
    browser.find_elements(By.CSS_SELECTOR, ".lesson fieldset input")[1].click()
    press(browser, "Run:")
    assert "Right." in wait(browser, ".lesson [role=status]", "250 ms")
    assert errors(browser) == []


def test_files_are_taken(browser: WebDriver, tmp_path: Path) -> None:
    go(browser, address(sets=SHORT, replicates=1))
    wait(browser, ".results p", "One replication")
    browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    trace = tmp_path / "mine.csv"
    trace.write_text("time_s,rate_mbit_s\n0,4\n2,1\n4,4\n")
    browser.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(trace))
    wait(browser, ".controls", "follows mine.csv")
    wait(browser, ".results p", "One replication")
    mine = tmp_path / "mine.toml"
    mine.write_text(
        (ROOT / "scenarios" / "dumbbell.toml")
        .read_text()
        .replace("20 Mbit/s", "3 Mbit/s")
        .replace("60 s", "5 s")
        .replace("12 s", "1 s")
    )
    browser.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(mine))
    wait(browser, ".controls", "that of mine.toml")
    time.sleep(1)
    wait(browser, ".results p", "One replication")
    assert "mine.toml" in browser.current_url
    assert errors(browser) == []


def test_no_request_leaves_the_page_and_nothing_is_wider_than_a_phone(browser: WebDriver) -> None:
    go(browser, address(sets=SHORT, replicates=1, embed=1))
    wait(browser, ".results p", "One replication")
    asked = browser.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert [one for one in asked if not one.startswith(("blob:", "data:"))] == []
    wide = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1]
