from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sojourn as sj
from shared import small_network, without_live_figures
from sojourn.results import metrics
from sojourn.view.report import render, words


class Page(HTMLParser):
    """Collects what the tests ask about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []
        self.cells: dict[tuple[str, str, str], dict[str, str | None]] = {}
        self.open: list[str] = []
        self._table = self._scheme = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        if given.get("id"):
            self.ids.append(str(given["id"]))
        self.links += [str(given[name]) for name in ("href", "src", "xlink:href") if given.get(name)]
        if tag == "table":
            self._table = str(given.get("id", ""))
        self._scheme = str(given.get("data-scheme", self._scheme))
        if "data-mean" in given:
            self.cells[self._table, self._scheme, str(given["data-metric"])] = given


@pytest.fixture(scope="module")
def text(results: sj.Results) -> str:
    return render(results)


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_page_needs_nothing_but_itself(text: str) -> None:
    text = without_live_figures(text)
    page = Page(text)
    assert page.tags["script"] == page.tags["img"] == page.tags["iframe"] == 0
    assert all(link.startswith(("#", "data:,")) for link in page.links), page.links
    assert not re.search(r"https?://|@import|url\((?!#)", text)


def test_ids_are_unique_and_links_lead_somewhere(text: str, page: Page) -> None:
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    targets = {link[1:] for link in page.links if link.startswith("#")}
    targets |= set(re.findall(r"url\(#([^)]+)\)", text))
    assert targets <= set(page.ids)


def test_the_tables_hold_the_runs_numbers(results: sj.Results, page: Page) -> None:
    for label in results.labels:
        for name in ("sojourn_ms_mean", "goodput_bit_s", "loss_ratio"):
            found = results.estimate(label, name)
            given = page.cells["summary-table", label, name]
            assert given["data-mean"] == str(found.mean)
            assert (given["data-low"], given["data-high"]) == (str(found.low), str(found.high))
    found = results.difference("codel", "sojourn_ms_mean", results.labels[0])
    assert page.cells["differences-table", "codel", "sojourn_ms_mean"]["data-mean"] == str(found.mean)


def test_what_is_shown_is_the_number_in_its_shown_unit(results: sj.Results, text: str) -> None:
    found = results.estimate("codel", "goodput_bit_s")
    assert found.half_width is not None
    mean, half = metrics.rounded(found.mean / 1e6, found.half_width / 1e6).split(" ± ")
    assert f'<span class="mean">{mean}</span> <span class="pm">± {half}</span>' in text


def test_bold_is_where_the_paired_intervals_say_so(results: sj.Results, page: Page) -> None:
    for (table, scheme, name), given in page.cells.items():
        if table == "summary-table":
            assert ("best" in str(given["class"])) == (results.best(name) == scheme)


def test_every_section_is_there(page: Page) -> None:
    wanted = {"summary", "delay", "sojourn", "queue", "flows", "differences", "drops", "run", "again", "definitions"}
    assert wanted <= set(page.ids)
    drawn = ("delay_throughput", "sojourn_cdf", "queue_over_time", "flow_shares", "differences")
    assert {f"{name}-figure" for name in drawn} <= set(page.ids)


def test_captions_name_groups_and_queues(results: sj.Results, text: str) -> None:
    (group,) = results.flows["group"].unique()
    assert f"Goodput of the flows {group}, averaged over replications" in text
    assert (
        f"all packets that left the queue under test (left-&gt;right) after the warm-up, of the flows {group}" in text
    )


def test_two_groups_of_flows_are_told_apart_in_the_shares() -> None:
    from sojourn.view.report import svg

    net = small_network().flow(name="voice", from_="sender", to="receiver", count=2)
    two = sj.compare(net, ["codel"], replicates=2)
    drawn = svg.inline(two.plot.flow_shares(), "p", "d")
    assert ">bulk<" in drawn
    assert ">voice<" in drawn


def test_a_quantile_has_half_its_bucket_in_its_interval(results: sj.Results, text: str) -> None:
    from sojourn import stats

    plain, found = (
        stats.estimate(results.values("codel", "sojourn_ms_p99")),
        results.estimate("codel", "sojourn_ms_p99"),
    )
    assert plain.low is not None
    assert plain.high is not None
    # Buckets are 1/128 of the value wide; the value is their middle.
    assert found.low == plain.low * (1 - 1 / 256)
    assert found.high == plain.high * (1 + 1 / 256)
    assert results.estimate("codel", "sojourn_ms_mean") == stats.estimate(results.values("codel", "sojourn_ms_mean"))
    pooled = results.quantile("codel", "sojourn_ms", 0.9)
    assert pooled.low is not None
    assert pooled.low < pooled.mean
    assert "half of the histogram bucket that it is read from: 0.4 % of the value" in text


def test_the_correction_is_said_in_the_fields_words(text: str) -> None:
    assert (
        "Differences in bold are significant at the 5 % level after Holm's correction for the family of comparisons"
        in " ".join(text.split())
    )
    assert "95 % probability" not in text


def test_every_metric_shown_is_defined(results: sj.Results, text: str) -> None:
    for name in results.metric_names():
        assert f"<code>{name}</code>" in text


def test_every_parameter_of_every_scheme_is_shown(results: sj.Results, text: str) -> None:
    shown = text.replace("\u200b", "")
    for scheme in results.schemes:
        for parameter in scheme.parameters():
            assert f'<span class="name">{parameter.name}</span> {parameter.value}' in shown


def test_the_same_folder_gives_the_same_bytes(results: sj.Results, tmp_path: Path) -> None:
    results.to_parquet(tmp_path / "run")
    written = (tmp_path / "run" / "report.html").read_text()
    assert render(sj.Results.read(tmp_path / "run")) == written


def test_the_date_is_that_of_the_run(results: sj.Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    results.to_parquet(tmp_path / "run")
    assert "1970-01-02 00:00 UTC" in (tmp_path / "run" / "report.html").read_text()


def test_one_replication_is_said_to_claim_nothing(network: sj.Network) -> None:
    text = render(sj.run(network))
    assert "One replication" in text
    assert "data-low" not in text
    assert 'id="differences"' not in text


def test_a_network_that_does_not_wait_draws_no_delay() -> None:
    idle = (
        sj.Network(name="idle", duration=sj.s(1))
        .link(name="l", from_="a", to="b", rate=sj.mbit_s(100), delay=sj.ms(1), under_test=True)
        .flow(
            name="f",
            from_="a",
            to="b",
            traffic=sj.cbr(rate=sj.mbit_s(1), packet_size=sj.bytes_(1000)),
            transport=sj.udp(),
        )
    )
    assert "No packet waited" in render(sj.compare(idle, ["pfifo", "codel"], replicates=3))


def test_names_from_scenarios_are_text_and_never_markup(network: sj.Network) -> None:
    hostile = sj.Network.from_dict({**network.to_dict(), "name": "<script>x</script>", "description": "a & <b>"})
    text = without_live_figures(render(sj.run(hostile)))
    assert Page(text).tags["script"] == 0
    assert "&lt;script&gt;" in text


def test_numbers_inside_pictures_are_not_cut(results: sj.Results) -> None:
    from sojourn.view.report import svg

    found = results.estimate("codel", "jain_index")
    shown = metrics.rounded(found.mean, found.half_width)
    assert shown in svg.inline(results.plot.flow_shares(), "p", "d")


def test_report_writes_the_page_where_it_is_told(results: sj.Results, tmp_path: Path) -> None:
    assert results.report(tmp_path / "page.html").read_text() == render(results)


@pytest.mark.parametrize("name", sorted(sj.bundled_scenarios()))
def test_every_bundled_scenario_has_words(name: str) -> None:
    document = sj.load(name).to_dict()
    items = words.elements(document)
    assert len(items) == sum(len(document.get(key, ())) for key in ("links", "buses", "cells", "flows", "changes"))
    assert all(item.text and "{" not in item.text for item in items)


def test_the_dumbbell_in_words() -> None:
    bottleneck, _, _, flows = words.elements(sj.load("dumbbell").to_dict())
    assert bottleneck.text == (
        "left – right, 20 Mbit/s, 10 ms each way, left → right with the queue under test "
        "(as written: pfifo limit 100p), right → left queues in pfifo, no device queue below it"
    )
    assert flows.text == (
        "20 × sender → receiver, TCP CUBIC, data without end, starting uniformly between 0 s and 1 s"
    )
