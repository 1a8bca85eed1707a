"""The report in a real browser: headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

import sojourn as sj
from browser import resize, start_browser
from sojourn.results import metrics
from sojourn.studies import papers
from sojourn.studies.papers import Outcome, figures
from sojourn.studies.papers import page as paper_page
from sojourn.studies.papers.ledger import Ledger
from synthetic import judged, measure, some_readings

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(results: sj.Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("browser") / "run"
    results.to_parquet(place)
    return place / "report.html"


@pytest.fixture(scope="module")
def browser(page: Path) -> Iterator[webdriver.Chrome]:
    driver = start_browser(javascript=True)
    driver.get(page.as_uri())
    yield driver
    driver.quit()


def test_values_over_time_are_drawn_when_they_are_looked_at(browser: webdriver.Chrome, results: sj.Results) -> None:
    folded = browser.find_element(By.CSS_SELECTOR, "details.live")
    assert folded.is_displayed()
    browser.execute_script("arguments[0].open = true", folded)
    drawn = browser.execute_async_script(
        "const done = arguments[0], look = () => {"
        " const all = [...document.querySelectorAll('details.live figure')];"
        " if (all.length < 4) return setTimeout(look, 50);"
        " const title = (one) => one.querySelector('figcaption').innerText;"
        " done(all.map((one) => [title(one), one.querySelector('canvas').width > 200])); };"
        " look()"
    )
    titles = ["Queue (packets)", "Queueing delay (ms)", "Goodput of all flows (Mbit/s)", "Drops (packets/s)"]
    assert drawn == [[title, True] for title in titles]
    legend = browser.find_element(By.CSS_SELECTOR, "details.live .u-legend").text
    assert all(label.split(" ")[0] in legend for label in results.labels)
    browser.execute_script("arguments[0].open = false", folded)


def test_nothing_is_wrong_on_the_console(browser: webdriver.Chrome) -> None:
    assert browser.get_log("browser") == []


def test_nothing_is_fetched(browser: webdriver.Chrome, page: Path) -> None:
    events = [entry["message"] for entry in browser.get_log("performance")]
    requests = [event for event in events if '"Network.requestWillBeSent"' in event]
    assert requests, "the page itself is a request: without it the log records nothing"
    assert [event for event in requests if page.as_uri() not in event and '"url":"data:' not in event] == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_the_tables_show_the_runs_numbers(browser: webdriver.Chrome, results: sj.Results) -> None:
    table = browser.find_element(By.ID, "summary-table")
    for label in results.labels:
        row = table.find_element(By.CSS_SELECTOR, f'tr[data-scheme="{label}"]')
        assert row.find_element(By.CSS_SELECTOR, "th").text == label
        for name in ("sojourn_ms_mean", "goodput_bit_s"):
            found, scale = results.estimate(label, name), metrics.find(name).scale
            assert found.half_width is not None
            shown = row.find_element(By.CSS_SELECTOR, f'td[data-metric="{name}"]').text
            assert shown == metrics.rounded(found.mean * scale, found.half_width * scale)


def test_the_pictures_are_drawn(browser: webdriver.Chrome, results: sj.Results) -> None:
    figures = browser.find_elements(By.CSS_SELECTOR, "figure[id]")
    assert len(figures) == 5
    for figure in figures:
        (picture,) = [one for one in figure.find_elements(By.CSS_SELECTOR, "svg") if one.is_displayed()]
        assert picture.size["width"] > 600
        assert picture.size["height"] > 100
        assert picture.get_attribute("aria-label")
    labels = figures[0].find_element(By.CSS_SELECTOR, "svg").get_attribute("textContent") or ""
    assert all(look.short in labels for look in results.plot.looks.values())


def test_nothing_overflows_the_page(browser: webdriver.Chrome) -> None:
    for width in (1200, 800):
        resize(browser, width)
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.execute_script(wide) == 0


PHONE = 390


def test_a_phone_reads_the_report(page: Path) -> None:
    driver = start_browser(javascript=True, width=PHONE)
    try:
        driver.get(page.as_uri())
        assert driver.execute_script("return innerWidth") == PHONE
        assert driver.execute_script("return document.documentElement.scrollWidth") == PHONE
        pictures = [one for one in driver.find_elements(By.CSS_SELECTOR, "figure svg") if one.is_displayed()]
        assert len(pictures) == 5
        for picture in pictures:
            assert 300 < picture.size["width"] <= PHONE
            # 8 points of 3.3 inches that fill the page.
            heights = driver.execute_script(
                "return [...arguments[0].querySelectorAll('text')].map(one => "
                "parseFloat(getComputedStyle(one).fontSize) * Math.hypot(one.getScreenCTM().a, "
                "one.getScreenCTM().b))",
                picture,
            )
            assert min(heights) >= 9, heights
        wide = [one for one in driver.find_elements(By.CSS_SELECTOR, ".scroll") if one.size["width"] > 0]
        overflowing = [one for one in wide if driver.execute_script("return arguments[0].scrollWidth", one) > PHONE]
        assert overflowing
        for one in overflowing:
            # A shadow at the edge says that there is more, and the first column stays.
            assert "gradient" in one.value_of_css_property("background-image")
        first = overflowing[0]
        head = first.find_element(By.CSS_SELECTOR, "tbody th")
        before = head.location["x"]
        driver.execute_script("arguments[0].scrollLeft = 200", first)
        assert head.location["x"] == before
    finally:
        driver.quit()


def test_the_page_reads_without_javascript(page: Path, results: sj.Results) -> None:
    driver = start_browser(javascript=False)
    try:
        driver.get(page.as_uri())
        assert driver.find_element(By.TAG_NAME, "h1").text == "small: 3 schemes compared"
        rows = driver.find_elements(By.CSS_SELECTOR, "#summary-table tbody tr")
        assert len(rows) == len(results.labels)
        assert all(row.is_displayed() for row in rows)
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ledger]:
    """The report of a paper on made-up values: two tables and a sweep."""
    study = some_readings(papers.load("daqm"))
    own = [one for one in study.conditions if one.table in ("5", "8") or one.name in ("http-cbr", "http-poisson")]
    measured = measure(study, [*own, *figures.conditions_of(study, "Figure 13")])
    ledger = judged(study, measured)
    place = tmp_path_factory.mktemp("paper") / "report.html"
    place.write_text(paper_page.render(study, measured, ledger, "quick"), encoding="utf-8")
    return place, ledger


@pytest.mark.long
def test_a_papers_page_reads_without_javascript(paper: tuple[Path, Ledger]) -> None:
    place, ledger = paper
    base = ledger.readings[0].name
    driver = start_browser(javascript=False)
    try:
        driver.get(place.as_uri())
        assert len(driver.find_elements(By.CSS_SELECTOR, "h2[id^=figure-]")) == 12
        # The filter shows what the ledger counts.
        for key, outcome in (("fails", Outcome.FAILS), ("not-run", Outcome.NOT_RUN)):
            driver.find_element(By.ID, f"show-{key}").click()
            rows = "[...document.querySelectorAll('#claims-table tr[id]')].filter(row => row.checkVisibility())"
            shown = driver.execute_script(f"return {rows}.map(row => row.id)")
            assert len(shown) == ledger.counts(base)[outcome] > 0
        # A link opens the list that its claim is folded into.
        first = shown[0]
        entry = driver.find_element(By.ID, first.replace("line-", "claim-", 1))
        assert not entry.is_displayed()
        driver.find_element(By.ID, first).find_element(By.TAG_NAME, "a").click()
        assert entry.is_displayed()
    finally:
        driver.quit()


@pytest.mark.long
def test_a_papers_page_fits_and_its_pictures_are_drawn(paper: tuple[Path, Ledger]) -> None:
    driver = start_browser(javascript=True)
    try:
        driver.get(paper[0].as_uri())
        assert driver.get_log("browser") == []
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        for width in (1200, 500):
            resize(driver, width)
            assert driver.execute_script(wide) == 0
            seen = "[...document.querySelectorAll('figure svg')].filter(one => one.checkVisibility())"
            boxes = driver.execute_script(f"return {seen}.map(one => one.getBoundingClientRect().toJSON())")
            assert len(boxes) > 5
            # On a narrow screen a picture scrolls inside its frame and stays readable.
            assert all(box["width"] >= 760 and box["height"] > 200 for box in boxes)
    finally:
        driver.quit()
