"""The folders under ``papers`` hold what their format says; whether a claim holds is not decided here."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.base import core

PAPERS = Path(__file__).parents[2] / "papers"
DAQM = PAPERS / "daqm"
# What a preset with a derivative of the sojourn time needs: any value parses.
MODE = "2ms"
# Tables 4 to 9: six rows of eight schemes each.
PUBLISHED = 6 * 6 * 8
SWEEPS = {
    "drop_rate",
    "packet_size",
    "offered_load",
    "threshold",
    "drop_duration",
    "clients",
    "time",
    "traffic_model",
}
KEYS = {
    "id",
    "section",
    "page",
    "place",
    "quote",
    "subject",
    "comparison",
    "amount",
    "bound",
    "value",
    "rank",
    "slightly",
    "negated",
    "best_of",
    "metric",
    "against",
    "except",
    "flow",
    "model",
    "sweep",
    "sweep_range",
    "at",
    "instead_flow",
    "instead_model",
    "instead_at",
    "features",
    "driver",
    "reason",
    "readings",
    "also",
    "across",
}
PAIRS = {
    "lower",
    "higher",
    "lower_by",
    "higher_by",
    "lowest",
    "highest",
    "nth_lowest",
    "among_lowest",
    "comparable",
    "better",
    "best",
    "gap_increases_with",
    "gap_decreases_with",
    "gap_greater_in",
    "peak_greater",
}
OF_CONDITIONS = {
    "higher_in",
    "better_in",
    "alike_in",
    "rank_better_in",
    "rank_alike_in",
    "spread_lower_in",
    "gap_greater_in",
}
OF_SWEEPS = {
    "increases_with",
    "decreases_with",
    "insensitive_to",
    "gap_increases_with",
    "gap_decreases_with",
    "peaks_at",
    "peak_greater",
}


def read(name: str) -> dict[str, Any]:
    return tomllib.loads((DAQM / name).read_text(encoding="utf-8"))


SCHEMES = read("schemes.toml")
CLAIMS = read("claims.toml")
READINGS = read("readings.toml")
TRAFFIC = read("traffic.toml")
ENTRIES = {entry["id"]: entry for entry in SCHEMES["scheme"] + SCHEMES["variant"]}
METRICS = {metric["name"] for metric in core.metrics()}


def claims() -> Iterator[dict[str, Any]]:
    for sentence in CLAIMS["sentence"]:
        for claim in sentence["claims"]:
            yield {key: value for key, value in sentence.items() if key != "claims"} | claim


def members(name: str) -> set[str]:
    return set(SCHEMES["groups"].get(name, [name]))


def published() -> list[dict[str, str]]:
    with (DAQM / "published.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_metric(name: str) -> bool:
    return name in METRICS or name in CLAIMS["study_metrics"]


def test_every_published_number_is_there_once() -> None:
    rows = published()
    cells = {(row["table"], row["scheme"], row["row_as_printed"]) for row in rows}
    assert len(rows) == len(cells) == PUBLISHED
    assert {row["table"] for row in rows} == set("456789")
    assert {row["scheme"] for row in rows} == set(SCHEMES["groups"]["eight"])
    assert all(math.isfinite(float(row["value"])) and float(row["value"]) >= 0 for row in rows)
    assert all(row["metric"] == CLAIMS["rows"][row["row_as_printed"]]["metrics"][0] for row in rows)
    assert all(row["flow"] in TRAFFIC["flow"] and row["model"] in TRAFFIC["model"] for row in rows)


def test_a_published_loss_ratio_is_a_ratio() -> None:
    # Section 5.3 says percentage; a number above 1 would say that the inferred unit is wrong.
    assert max(float(row["value"]) for row in published() if row["metric"] == "loss_ratio") <= 1


def parsed_text(text: str) -> str:
    # Values of readings stand in braces; the first of each is the base's.
    for name, one in READINGS.items():
        text = text.replace(f"{{{name}}}", one["values"][0])
    return core.parse_aqm(text.replace("{interarrival}", MODE))


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))
def test_every_scheme_and_every_reading_of_it_is_one_of_the_library(entry: dict[str, Any]) -> None:
    texts = [entry["text"], *entry.get("readings", {}).values()]
    parsed = [parsed_text(text) for text in texts]
    assert len(set(parsed)) == len(texts), "two readings are the same scheme"
    assert all("limit 2000p" in text or text.startswith("daqm") for text in parsed)
    assert entry["printed"]
    assert entry["parameters"]
    assert entry["reading"]


def test_the_sixteen_configurations_of_table_2_are_different_schemes() -> None:
    texts = {entry["id"]: parsed_text(entry["text"]) for entry in SCHEMES["scheme"]}
    assert list(texts) == SCHEMES["groups"]["sixteen"]
    assert len(set(texts.values())) == 16


def test_groups_name_schemes() -> None:
    for name, group in SCHEMES["groups"].items():
        assert name not in ENTRIES
        assert set(group) <= set(ENTRIES)
        assert len(set(group)) == len(group)


def test_ids_are_unique_and_no_claim_is_there_twice() -> None:
    found = list(claims())
    identifiers = [claim["id"] for claim in found]
    assert len(set(identifiers)) == len(identifiers)
    assert all(set(identifier) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for identifier in identifiers)


@pytest.mark.parametrize("study", ["daqm", "fairness", "threshold", "dropping-functions"])
def test_a_sentence_that_is_repeated_counts_once(study: str) -> None:
    # Its other sections are in `also`; a comparison with "others", or with a half of them, is about its own figure.
    document = tomllib.loads((PAPERS / study / "claims.toml").read_text(encoding="utf-8"))
    free = {"id", "section", "place", "page", "quote", "claims", "readings", "reason", "also"}
    seen: dict[str, str] = {}
    for sentence in document["sentence"]:
        for claim in sentence["claims"]:
            whole = {key: value for key, value in (sentence | claim).items() if key not in free}
            if "others" in whole.get("against", ()) or whole["comparison"] in ("low", "high"):
                whole["place"] = sentence["place"].split(";")[0]
            if whole["comparison"] != "unjudgeable":
                assert seen.setdefault(repr(sorted(whole.items())), claim["id"]) == claim["id"]
    sections = {sentence["section"] for sentence in document["sentence"]}
    also = {one for sentence in document["sentence"] for claim in sentence["claims"] for one in claim.get("also", ())}
    assert set(document["main"]) <= sections | also


def test_comparisons_readings_and_metrics_are_those_that_are_documented() -> None:
    used = {claim["comparison"] for claim in claims()}
    assert used == set(CLAIMS["comparisons"])
    read_by = {reading for claim in claims() for reading in claim["readings"]}
    everywhere = {name for name, reading in READINGS.items() if reading.get("claims") == "all"}
    # Other texts of a scheme, and the values that stand in the texts.
    of_schemes = {name for name in READINGS if any(f"{{{name}}}" in one["text"] for one in ENTRIES.values())}
    assert read_by | everywhere | of_schemes | {"scheme"} == set(READINGS)
    assert not read_by & everywhere
    names = {claim["metric"] for claim in claims()} | {claim["driver"] for claim in claims() if "driver" in claim}
    assert [name for name in sorted(names) if not is_metric(name)] == []
    assert not METRICS & set(CLAIMS["study_metrics"])
    assert all(name in METRICS for row in CLAIMS["rows"].values() for name in row["metrics"])
    assert all(reading["values"] and reading["text"] for reading in READINGS.values())
    assert {reading["of"] for reading in READINGS.values()} == {"run", "metric", "judgement"}


@pytest.mark.parametrize("claim", list(claims()), ids=lambda claim: claim["id"])
def test_a_claim_says_what_its_comparison_needs(claim: dict[str, Any]) -> None:
    assert set(claim) <= KEYS
    assert claim["quote"] == claim["quote"].strip()
    assert claim["section"]
    assert 4 <= claim["page"] <= 60
    assert claim["place"]
    subject = set().union(*(members(name) for name in claim["subject"]))
    assert subject
    assert subject <= set(ENTRIES)
    against = [name for name in claim.get("against", []) if name != "others"]
    assert set().union(*(members(name) for name in against + claim.get("except", []))) <= set(ENTRIES)
    if "others" in claim.get("against", []):
        assert others(claim, subject)
    comparison = claim["comparison"]
    assert (comparison in PAIRS) <= ("against" in claim)
    assert (comparison in OF_SWEEPS) <= ("sweep" in claim)
    assert (comparison in OF_CONDITIONS) == any(key.startswith("instead_") for key in claim)
    assert (comparison in {"lower_by", "higher_by"}) <= ({"amount", "bound"} <= set(claim))
    assert (comparison in {"nth_lowest", "among_lowest"}) == ("rank" in claim)
    assert (comparison in {"equals", "below"}) == ("value" in claim)
    assert (comparison in {"follows", "opposes"}) == ("driver" in claim)
    assert (comparison == "unjudgeable") == ("reason" in claim)
    assert claim.get("bound", "about") in {"about", "at_least", "between"}
    assert set(claim.get("flow", []) + claim.get("instead_flow", [])) <= set(TRAFFIC["flow"])
    assert set(claim.get("model", []) + claim.get("instead_model", [])) <= set(TRAFFIC["model"])
    assert set(claim.get("sweep", [])) <= SWEEPS


def others(claim: dict[str, Any], subject: set[str]) -> set[str]:
    # A place names its figure first; what recalls other figures compares the eight.
    figure = claim["place"].split(";")[0].rstrip("abcdef")
    group = CLAIMS["figures"].get(claim["place"].split(";")[0], CLAIMS["figures"].get(figure, "eight"))
    left_out = set().union(*(members(name) for name in claim.get("except", [])))
    return members(group) - subject - left_out


def test_every_paper_has_its_readme() -> None:
    folders = [folder for folder in PAPERS.iterdir() if folder.is_dir()]
    assert folders
    assert all((folder / "README.md").is_file() for folder in folders)
