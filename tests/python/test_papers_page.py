"""The report of a paper: every figure and every claim once, counts that add up, links that lead somewhere."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sojourn.studies import papers
from sojourn.studies.papers import Outcome, evidence, execute, figures, page
from sojourn.studies.papers.ledger import Ledger
from sojourn.studies.papers.model import Claim
from sojourn.studies.papers.predicate import PHRASES, predicate
from synthetic import REPLICATIONS, judged, measure, some_readings, trace

PAPER = some_readings(papers.load("daqm"))
BASE = PAPER.readings[0]
FIGURES = figures.load(PAPER)
RUN = [
    one
    for one in PAPER.conditions
    if one.table in ("5", "8")
    or one.name == "streaming-cbr"
    or (one.flow == "http" and one.sweep in ("", "packet_size"))
]
KEYS = {
    Outcome.HOLDS: "holds",
    Outcome.FAILS: "fails",
    Outcome.UNDECIDED: "undecided",
    Outcome.NOT_REACHED: "not-reached",
    Outcome.UNJUDGEABLE: "unjudgeable",
    Outcome.NOT_RUN: "not-run",
}


@pytest.fixture(scope="module")
def measured() -> execute.Measured:
    return measure(PAPER, RUN)


@pytest.fixture(scope="module")
def ledger(measured: execute.Measured) -> Ledger:
    return judged(PAPER, measured)


@pytest.fixture(scope="module")
def text(measured: execute.Measured, ledger: Ledger) -> str:
    (streaming,) = [one for one in RUN if one.name == "streaming-cbr"]
    return page.render(PAPER, replace(measured, traces=trace(PAPER, "Figure 7", streaming)), ledger, "quick")


def rows(text: str, table: str) -> dict[str, list[int]]:
    """Return the whole numbers of a table by the text of a row's head."""
    body = text[text.index(f'id="{table}"') :].split("</table>", maxsplit=1)[0]
    found = {}
    for row in re.findall(r"<tr>(<th scope=\"row\">.*?)</tr>", body, re.DOTALL):
        head = html.unescape(re.sub(r"<[^>]+>", "", row.split("</th>")[0]))
        found[head] = [int(cell) for cell in re.findall(r"<td[^>]*>(\d+)</td>", row)]
    return found


@pytest.mark.long
def test_every_figure_is_there_and_drawn(text: str) -> None:
    for figure in FIGURES:
        section = text.split(f'<h2 id="{figure.slug}">', 1)[1].split("<h2 ", 1)[0]
        assert figure.shows.split(".")[0] in section.replace("&#39;", "'")
        pictures = re.findall(r"<figure id=[^>]*>.*?</figure>", section, re.DOTALL)
        is_run = any(one.name in {run.name for run in RUN} for one in figures.of(figure, PAPER.conditions))
        assert bool(pictures) == is_run, figure.name
        assert all('role="img" aria-label="' in one and "<figcaption>" in one for one in pictures)
        assert is_run or "Not run for this report: " in section
    assert len(text) < 10e6


def test_counts_are_the_ledgers(text: str, ledger: Ledger) -> None:
    base = list(ledger.counts(BASE.name).values())
    assert rows(text, "ledger-table") == {one.name: list(ledger.counts(one.name).values()) for one in PAPER.readings}
    places = rows(text, "places-table")
    assert places.pop("All") == base
    assert [sum(column) for column in zip(*places.values(), strict=True)] == base
    classes = Counter(re.findall(r'<tr id="line-[^"]*" class="([a-z-]*)', text))
    assert classes == {KEYS[outcome]: count for outcome, count in ledger.counts(BASE.name).items() if count}
    assert len(re.findall(r'<tr id="line-[^"]*" class="[a-z-]* turned"', text)) == len(ledger.turned) > 0
    assert Counter(re.findall(r'data-outcome="([a-z-]*)"', text)) == classes


def test_every_claim_is_there_once_and_links_lead_somewhere(text: str) -> None:
    ids = re.findall(r'\bid="([^"]*)"', text)
    twice = [one for one, count in Counter(ids).items() if count > 1]
    assert twice == []
    assert {f"claim-{one.id}" for one in PAPER.claims} <= set(ids)
    assert {f"line-{one.id}" for one in PAPER.claims} <= set(ids)
    links = set(re.findall(r'href="#([^"]*)"', text))
    assert links - set(ids) == set()


def test_printed_numbers_stand_beside_measured_ones(text: str) -> None:
    table = text[text.index('id="table-5-table"') :].split("</table>", maxsplit=1)[0]
    assert table.count("<tr>") == 1 + 48
    assert all(f"<td>{one.text}</td>" in table for one in PAPER.published if one.table == "5")


def test_a_claim_shows_what_it_was_judged_on(measured: execute.Measured) -> None:
    (one,) = [claim for claim in PAPER.claims if claim.id == "fig15-c1-plr-lower-by"]
    raw = measured.raw[BASE.name, "table-8"]["loss_ratio"]
    # Of 1, 2, 3, 4: mean 2.5, s = sqrt(5/3) = 1.291, t(3) = 3.182, half-width 3.182 * 1.291/2 = 2.05.
    before = {scheme: raw[scheme] for scheme in ("daqm_c1", "pie")}
    raw["daqm_c1"], raw["pie"] = np.arange(1.0, 5.0), np.arange(11.0, 15.0)
    try:
        (line,) = evidence.lines(PAPER, measured, one, BASE)
    finally:
        raw.update(before)
    # Both rise by 1 with each replication.
    assert line == "Table 8: HTTP, CBR, packets of 1400 B: dAQM_c1 2.5 ± 2.1 against PIE 12.5 ± 2.1; r 1.00"


def test_a_predicate_names_every_scheme_of_its_groups() -> None:
    (one,) = [claim for claim in PAPER.claims if claim.id == "fig11-configurations-queue-lowest-2"]
    # Two groups of schemes.toml: dAQM's three, and those that the study did not propose.
    assert one.subject == ("configurations",)
    wanted = (
        "Queue length: best of dAQM_c1, dAQM_c2, dAQM_c3 lowest, compared with RED, PIE, CoDel, FQ-CoDel, COBALT "
        "(HTTP; CBR; each drop rate, offered load and packet size)"
    )
    assert predicate(PAPER, PAPER.printed, one) == wanted


@pytest.mark.parametrize("name", ["daqm", "fairness", "threshold"])
def test_a_predicate_has_words_for_every_comparison(name: str) -> None:
    paper = papers.load(name)
    identifiers = {
        *paper.groups,
        *(one for claim in paper.claims for one in (*claim.flow, *claim.model, *claim.sweep)),
    }
    unknown = {one for one in identifiers if "_" in one}
    for claim in paper.claims:
        text = predicate(paper, paper.printed, claim)
        assert claim.comparison in PHRASES
        assert not any(one in text for one in unknown), text
        assert not re.search(r"  |[{}]|\( |, \)|: $|None", text), text
        metric = claim.metric.partition("@")[0]
        assert "_" not in metric or metric not in text


def test_what_a_predicate_says_of_conditions() -> None:
    def of(**fields: Any) -> str:
        plain = {"id": "", "section": "", "place": "", "quote": "", "subject": ("pie",), "metric": "loss_ratio"}
        claim = Claim(**plain | {"flow": ("http",), "model": ("cbr",)} | fields)
        return predicate(PAPER, PAPER.printed, claim).removeprefix("Packet loss ratio: PIE ")

    assert of(comparison="higher_in", instead_flow=("ftp",)) == "higher for HTTP than for FTP (CBR)"
    assert of(comparison="higher_in", instead_model=("vbr",), amount="2") == (
        "higher by a factor of about 2 for CBR than for VBR (HTTP)"
    )
    ends = {"sweep": ("packet_size",), "at": "50 B", "instead_at": "no sweep"}
    assert of(comparison="alike_in", **ends) == (
        "alike for packet size 50 B and for the packet size of the tables (HTTP; CBR)"
    )
    assert of(comparison="nth_lowest", against=("others",), left_out=("red",), rank=2) == (
        "second lowest of the eight schemes but RED (HTTP; CBR)"
    )
    # A mean over each side of a comparison; a trend over its range.
    assert of(comparison="higher_in", instead_flow=("ftp", "voip"), sweep=("packet_size",)) == (
        "higher for HTTP than for each of FTP and VoIP (CBR; mean over packet size)"
    )
    assert of(comparison="increases_with", sweep=("packet_size",), sweep_range="50 B to 1400 B") == (
        "rising with packet size (HTTP; CBR; 50 B to 1400 B)"
    )
    # RED's threshold is 500 packets: a number has the unit of its metric.
    assert of(comparison="below", metric="queue_packets_mean", value="500").endswith(" below 500 packets (HTTP; CBR)")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        # Of several schemes, judge.py has "at least one does not" for the contrary, and "none is" for `best`.
        ({"comparison": "below", "value": "0"}, "Packet loss ratio: not all of RED, PIE below 0"),
        ({"comparison": "best", "against": ("codel",)},
         "Packet loss ratio: none of RED, PIE best, compared with CoDel"),
        ({"comparison": "below", "value": "0", "is_best_of": True},
         "Packet loss ratio: best of RED, PIE not below 0"),
        ({"comparison": "alike", "metric": "any"}, "Not in each of the six quantities: RED, PIE alike"),
        ({"comparison": "better", "metric": "any", "against": ("codel",)},
         "Not in most of the six quantities: RED, PIE better than CoDel"),
        ({"comparison": "best", "metric": "any", "against": ("codel",)},
         "In none of the six quantities: RED, PIE best, compared with CoDel"),
    ],
)  # fmt: skip
def test_a_contrary_says_of_how_many_schemes_and_quantities_it_is(fields: dict[str, Any], said: str) -> None:
    plain = {"id": "", "section": "", "place": "", "quote": "", "subject": ("red", "pie"), "metric": "loss_ratio"}
    claim = Claim(**plain | {"is_negated": True} | fields)
    assert predicate(PAPER, PAPER.printed, claim) == f"{said} (all traffic that was run with these schemes)"


def test_a_claim_about_a_sweep_shows_its_ends() -> None:
    ends = [one.at for one in figures.of(FIGURES[10], PAPER.conditions)]
    (one, *_) = [
        claim
        for claim in PAPER.claims
        if claim.sweep == ("packet_size",) and claim.comparison == "decreases_with" and "http" in claim.flow
    ]
    measured = measure(PAPER, [one for one in PAPER.conditions if one.sweep == "packet_size"])
    lines = evidence.lines(PAPER, measured, one, BASE)
    of_http = [line for line in lines if "HTTP" in line]
    assert len(of_http) == 2
    assert ends[0] in of_http[0]
    assert ends[-1] in of_http[1]


def test_a_reading_that_turns_an_outcome_is_named(text: str, ledger: Ledger) -> None:
    one = ledger.turned[0]
    entry = html.unescape(text.split(f'id="claim-{one.id}"', 1)[1].split("</li>", 1)[0])
    of = ledger.verdicts[one.id]
    others = [name for name, verdict in of.items() if verdict.outcome is not of[BASE.name].outcome]
    assert others
    assert all(name in entry for name in others)
    # Turned by a reading of the simulation: with what was measured under that.
    second = PAPER.readings[1].name
    outcomes = {Outcome.HOLDS, Outcome.FAILS}
    (one, *_) = [
        claim
        for claim in ledger.turned
        if {ledger.verdicts[claim.id][name].outcome for name in (BASE.name, second)} == outcomes
        and claim.metric != "any"
    ]
    entry = html.unescape(text.split(f'id="claim-{one.id}"', 1)[1].split("</li>", 1)[0])
    assert f'<div class="evidence">{second}: ' in entry


def test_the_page_depends_on_the_measurements_alone(text: str) -> None:
    assert f"{REPLICATIONS} (quick)" in text
    small = measure(PAPER, [one for one in RUN if one.table == "8"])
    assert page.render(PAPER, small, judged(PAPER, small), "quick") == page.render(
        PAPER, small, judged(PAPER, small), "quick"
    )
