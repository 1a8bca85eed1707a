"""The documentation site: complete, without warnings, and nothing fetched from another host."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import sojourn
from browser import resize, start_browser
from shared import script
from sojourn import cli

ROOT = Path(__file__).resolve().parents[2]
#: Pages of every kind: home, tutorial, wide tables, generated from the parser, from docstrings, from papers/.
LOOKED_AT = [
    "index.html",
    "tutorial/first-comparison.html",
    "guides/gateway.html",
    "reference/scenario.html",
    "reference/commands/place.html",
    "reference/python/model.network.html",
    "papers/daqm.html",
    "comparison.html",
]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; the build ends with status 0 only without a warning. SOJOURN_TEST_SITE may name one that is built."""
    if built := os.environ.get("SOJOURN_TEST_SITE"):
        return Path(built)
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "site.py"), "--out", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Resources(HTMLParser):
    """What a page makes a browser fetch, and where its links go."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.update(filter(None, [values.get("id"), values.get("name") if tag == "a" else None]))
        if tag == "a":
            self.links.append(values.get("href", ""))
        elif tag == "link" and values.get("rel") not in {"canonical", "next", "prev"}:
            self.fetched.append(values.get("href", ""))
        self.fetched += [
            values[name] for name in ("src", "srcset", "data", "poster") if tag != "a" and name in values
        ]


@functools.cache
def resources(page: Path) -> Resources:
    parser = Resources()
    parser.feed(page.read_text())
    return parser


def test_no_page_refers_a_browser_to_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        assert [url for url in resources(page).fetched if urlsplit(url).netloc] == [], page
    for sheet in site.rglob("*.css"):
        assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]*", sheet.read_text()) == [], sheet


def test_every_link_inside_the_site_leads_somewhere(site: Path) -> None:
    """MkDocs checks Markdown; this checks HTML, what the theme and docstrings add among it."""
    known = {page: resources(page) for page in site.rglob("*.html")}
    wrong = []
    for page, found in known.items():
        # Of the page for what is not found every address is from the root.
        for link in found.links if page.name != "404.html" else []:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            named = target in known and (not parts.fragment or unquote(parts.fragment) in known[target].ids)
            if not (named if target.suffix == ".html" else target.is_file()):
                wrong.append(f"{page.relative_to(site)}: {link}")
    assert wrong == []


def test_every_page_of_the_repository_is_in_the_site(site: Path) -> None:
    places = script("docs/site.py").PLACES
    for page in (ROOT / "docs").rglob("*.md"):
        place = places.get(str(page.relative_to(ROOT)), str(page.relative_to(ROOT / "docs")))
        assert (site / place).with_suffix(".html").is_file(), page
    for paper in (ROOT / "papers").glob("*/README.md"):
        assert (site / "papers" / f"{paper.parent.name}.html").is_file()


def test_a_page_has_the_title_of_its_heading(site: Path) -> None:
    # wlan.md begins with a comment that says which script made it.
    assert "<title>802.11 cells - Sojourn</title>" in (site / "concepts" / "wlan.html").read_text()


def test_every_command_and_public_name_has_its_place(site: Path) -> None:
    for command in cli.COMMANDS:
        text = (site / "reference" / "commands" / f"{command}.html").read_text()
        assert f"sojourn {command}" in text
    explained = set()
    for page in (site / "reference" / "python").glob("*.html"):
        explained |= {name.rpartition(".")[2] for name in resources(page).ids if name.startswith("sojourn.")}
    # A module is a page.
    assert set(sojourn.__all__) - {"draw", "trace"} - explained == set()


def test_the_search_tells_its_nodes_apart(site: Path) -> None:
    module = script("docs/site.py")
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.js")
    assert worker.read_text().count(module._NODE_NAME_MENDED) == 1
    # A worker of another make is not taken.
    with pytest.raises(module.SiteError, match="not as it was"):
        module.mend_search(site)


def test_roles_of_sphinx_are_not_shown(site: Path) -> None:
    for page in (site / "reference" / "python").glob("*.html"):
        assert not re.search(r":(class|func|meth|mod|attr):", page.read_text()), page


def test_a_dead_link_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("docs/site.py")
    copy = tmp_path / "repository"
    (copy / "docs").mkdir(parents=True)
    page = copy / "docs" / "page.md"
    monkeypatch.setattr(module, "ROOT", copy)
    site = module.Site(tmp_path / "sources")
    page.write_text("# Page\n\n[here](page.md#page), [elsewhere](https://example.org)\n")
    site.places["docs/page.md"] = "page.md"
    assert "[here](page.md#page)" in site.page("docs/page.md")
    page.write_text("# Page\n\n[nowhere](missing.md)\n")
    with pytest.raises(module.SiteError, match=r"docs/page.md: missing.md does not exist"):
        site.page("docs/page.md")
    # What is in a block of code is not a link.
    page.write_text("# Page\n\n```text\n[nowhere](missing.md)\n```\n\n    [nor](missing.md)\n")
    assert "[nowhere](missing.md)" in site.page("docs/page.md")


def test_versions_stand_side_by_side(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    for _ in range(2):
        script("docs/site.py").list_versions(tmp_path)
    assert resources(tmp_path / "index.html").links == ["0.10.1/index.html", "0.9.0/index.html"]
    assert resources(tmp_path / "latest" / "index.html").links == ["../0.10.1/index.html"]


def test_a_list_below_a_paragraph_is_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("docs/site.py")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("Three:\n* one\n* two\n  more\n* three\n")
    assert module.Site(tmp_path / "x").page("page.md") == "Three:\n\n* one\n* two\n  more\n* three\n"


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def requested(driver: webdriver.Chrome) -> list[str]:
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


def search(driver: webdriver.Chrome, words: str) -> list[str]:
    """Return the titles of what the site's search finds."""
    driver.execute_script("document.querySelector('[data-md-toggle=search]').click()")
    driver.find_element(By.CSS_SELECTOR, ".md-search__input").send_keys(words)
    found = (By.CSS_SELECTOR, ".md-search-result__article h1, .md-search-result__article h2")
    WebDriverWait(driver, 60).until(lambda d: any(e.text for e in d.find_elements(*found)))
    return [element.text for element in driver.find_elements(*found)]


@pytest.mark.browser
@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "from the disk"])
@pytest.mark.long
def test_a_browser_asks_no_other_host(site: Path, served: str, from_disk: bool) -> None:
    start = site.as_uri() + "/" if from_disk else served
    driver = start_browser(javascript=True)
    try:
        for page in LOOKED_AT:
            driver.get(start + page)
            for width in (1400, 390):
                resize(driver, width, 900)
                wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
                assert driver.execute_script(wide) <= 0, (page, width)
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.get(start + "index.html")
        assert any("plan" in title.lower() for title in search(driver, "latin hypercube"))
        urls = requested(driver)
        assert len(urls) > len(LOOKED_AT)
        assert [url for url in urls if not url.startswith((start, "data:", "blob:", "about:"))] == []
        said = [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]
        assert said == []
    finally:
        driver.quit()


def test_the_font_is_the_systems(site: Path) -> None:
    assert not list(site.rglob("*.woff*"))
