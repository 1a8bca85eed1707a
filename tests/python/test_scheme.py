from __future__ import annotations

import pytest

import sojourn as sj
from sojourn.base import core
from sojourn.model.scheme import as_schemes, short_labels


def test_parameters_become_tc_text() -> None:
    scheme = sj.aqm("codel", target=sj.ms(6), interval="120ms", ecn=True)
    assert scheme.text == "codel target 6ms interval 120ms ecn"


def test_false_switches_a_flag_off() -> None:
    assert sj.aqm("fq_codel", ecn=False).text == "fq_codel noecn"


def test_every_parameter_is_listed_with_the_value_that_it_runs_with() -> None:
    parameters = {p.name: (p.value, p.is_default) for p in sj.Scheme("codel target 6ms ecn").parameters()}
    assert parameters["target"] == ("6ms", False)
    assert parameters["interval"] == ("100ms", True)
    assert parameters["ecn"] == ("on", False)


def test_a_flag_that_is_on_by_default_can_be_seen_off() -> None:
    parameters = {p.name: p.value for p in sj.Scheme("fq_codel noecn").parameters()}
    assert parameters["ecn"] == "off"


@pytest.mark.parametrize("entry", core.aqms(), ids=lambda entry: str(entry["name"]))
def test_every_preset_and_default_of_the_registry_is_a_scheme(entry: core.Document) -> None:
    assert sj.Scheme(entry["name"]).algorithm == entry["name"]
    names = {parameter["name"] for parameter in entry["parameters"]}
    for preset in entry["presets"]:
        # dAQM's presets divide by D, which only a run can give.
        given = " interarrival 7ms" if "interarrival" in names else ""
        scheme = sj.Scheme(f"{entry['name']} preset {preset}{given}")
        assert {p.name for p in scheme.parameters()} == names


@pytest.mark.parametrize("scheme", sj.DEFAULT_SCHEMES)
def test_the_default_comparison_is_of_schemes_that_run(scheme: str) -> None:
    assert sj.Scheme(scheme).canonical


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cdel", ["unknown algorithm", "allowed", "codel"]),
        ("codel tagret 5ms", ["unknown parameter", "tagret", "target"]),
        ("codel target 5", ["target", "ms"]),
        ("red min 90p max 30p", ["min", "max"]),
    ],
)
def test_bad_schemes_are_refused_by_name(text: str, words: list[str]) -> None:
    with pytest.raises(sj.SojournError) as refusal:
        sj.Scheme(text)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


def test_a_scheme_named_twice_is_refused() -> None:
    with pytest.raises(sj.SojournError, match="named twice"):
        as_schemes(["codel", "codel "])


def test_no_schemes_are_refused() -> None:
    with pytest.raises(sj.SojournError, match="at least one"):
        as_schemes([])


def test_one_text_is_no_list_of_schemes() -> None:
    with pytest.raises(TypeError, match="list"):
        as_schemes("codel")


def test_a_mapping_gives_labels() -> None:
    assert [scheme.label for scheme in as_schemes({"ours": "codel target 9ms"})] == ["ours"]


def test_labels_keep_the_parameters_that_differ() -> None:
    def short(*labels: str) -> list[str]:
        return list(short_labels(labels).values())

    # 5 ms is CoDel's default, but here it is what differs.
    assert short("codel target 5ms limit 50p", "codel limit 50p target 9ms") == [
        "codel target 5ms",
        "codel target 9ms",
    ]
    assert short("codel", "codel ecn", "codel noecn target 9ms") == [
        "codel target 5ms noecn",
        "codel target 5ms ecn",
        "codel target 9ms noecn",
    ]
    assert short("codel target 5ms", "pie target 20ms", "dAQM c1") == ["codel", "pie target 20ms", "dAQM c1"]
    # All have one limit: it tells nothing apart.
    assert short("pfifo limit 90p", "codel limit 90p", "red limit 90p min 9p") == ["pfifo", "codel", "red min 9p"]
    # The same scheme under two names.
    assert short("codel", "codel target 5ms") == ["codel", "codel target 5ms"]
    assert short("nonsense words", "codel tagret 5ms") == ["nonsense words", "codel tagret 5ms"]
