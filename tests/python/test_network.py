from __future__ import annotations

import inspect
import math
import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sojourn as sj
from sojourn.base import core, toml


@pytest.mark.parametrize(("name", "helper"), [("dumbbell", sj.dumbbell), ("lan", sj.lan)])
def test_a_helper_builds_the_bundled_scenario(name: str, helper: Any) -> None:
    assert helper().canonical() == sj.load(name).to_dict()


def test_methods_leave_the_network_alone() -> None:
    empty = sj.Network(name="x", duration=sj.s(1))
    more = empty.node(name="a", count=2)
    assert "nodes" not in empty.to_dict()
    assert more.to_dict()["nodes"] == [{"name": "a", "count": 2}]
    assert empty != more
    with pytest.raises(AttributeError, match="does not change"):
        empty.name = "y"  # type: ignore[misc]


def test_changing_a_copy_of_the_document_changes_nothing() -> None:
    network = sj.Network(name="x", duration=sj.s(1)).node(name="a")
    network.to_dict()["nodes"].clear()
    assert network.to_dict()["nodes"]


def test_networks_are_values() -> None:
    assert sj.dumbbell() == sj.dumbbell()
    assert len({sj.dumbbell(), sj.dumbbell(), sj.lan()}) == 2
    assert pickle.loads(pickle.dumps(sj.lan())) == sj.lan()  # noqa: S301


@pytest.mark.parametrize(
    "build",
    [
        lambda: sj.Network(name="x", duration=10),  # type: ignore[arg-type]
        lambda: sj.dumbbell(rate=20),  # type: ignore[arg-type]
        lambda: sj.Network(name="x", duration="1 s").link(
            name="l",
            from_="a",
            to="b",
            rate="1 Mbit/s",
            delay=5,  # type: ignore[arg-type]
        ),
        lambda: sj.cbr(rate=1.5e6, packet_size="1400 B"),  # type: ignore[arg-type]
        lambda: sj.draw.exponential(mean=1).table("on", "time"),  # type: ignore[arg-type]
    ],
)
def test_bare_numbers_are_refused(build: Any) -> None:
    with pytest.raises(TypeError, match="has no unit: write "):
        build()


def test_builders_are_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        sj.Network("x", sj.s(1))  # type: ignore[misc]


def test_an_incomplete_network_is_refused_when_it_is_checked() -> None:
    network = sj.Network(name="x", duration=sj.s(1)).flow(name="f", from_="a", to="b")
    with pytest.raises(sj.SojournError, match="network 'x'"):
        network.check()


def test_every_traffic_makes_a_good_scenario() -> None:
    size = sj.bytes_(1000)
    transport = sj.udp()
    kinds = {
        "cbr": sj.cbr(rate=sj.mbit_s(1), packet_size=size),
        "vbr": sj.vbr(rate=sj.mbit_s(1), packet_size=size),
        "on_off": sj.on_off(
            rate=sj.mbit_s(1),
            packet_size=size,
            on=sj.draw.exponential(mean=sj.s(1), most=sj.s(5)),
            off=sj.draw.pareto(scale=sj.ms(100), shape=1.5),
        ),
        "poisson": sj.poisson(rate=sj.mbit_s(1), packet_size=sj.draw.uniform(sj.bytes_(100), sj.bytes_(1400))),
        "pareto": sj.pareto(scale=sj.ms(2), shape=2.5, packet_size=size),
        "weibull": sj.weibull(scale=sj.ms(2), shape=1.5, packet_size=size),
    }
    network = sj.Network(name="x", duration=sj.s(1)).link(
        name="l", from_="a", to="b", rate=sj.mbit_s(10), delay=sj.ms(1)
    )
    for name, traffic in kinds.items():
        network = network.flow(name=name, from_="a", to="b", traffic=traffic, transport=transport)
    network = network.flow(
        name="transfer", from_="a", to="b", traffic=sj.transfer(size=sj.bytes_(10_000)), transport=sj.tcp(ecn=True)
    )
    kept = [flow["traffic"]["kind"] for flow in network.canonical()["flows"]]
    assert kept == [*kinds, "transfer"]


TABLES = [one for name in ("TrafficTable", "TransportTable") for one in core.schema()["$defs"][name]["oneOf"]]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table["properties"]["kind"]["const"]))
def test_every_kind_of_traffic_and_transport_has_a_function_with_its_keys(table: core.Document) -> None:
    name = table["properties"]["kind"]["const"]
    assert name in sj.__all__, f"`make docs` writes the function `{name}`"
    parameters = inspect.signature(getattr(sj, name)).parameters
    assert {"kind", *parameters} - {"count"} == set(table["properties"]), "`make docs` writes its parameters"


def test_every_key_of_tcp_takes_what_its_type_says() -> None:
    transport = sj.tcp(
        congestion_control="ledbat", ledbat_target=sj.ms(60), ledbat_gain=0.5, hystart=None, read_rate="none",
        send_buffer=sj.bytes_(65_536), window_limit=sj.packets(20),
    )  # fmt: skip
    net = sj.dumbbell().flow(name="f", from_="left", to="right", transport=transport).canonical()["flows"][-1]
    assert {key: net["transport"][key] for key in transport} == dict(transport) | {
        "send_buffer": "64 KiB",
        "window_limit": "20 p",
    }
    with pytest.raises(ValueError, match="is a quantity of data, not of time"):
        sj.tcp(ledbat_target=sj.bytes_(1))


def test_overrides_reach_the_document() -> None:
    changed = sj.load("dumbbell", sets=["links.bottleneck.rate=50 Mbit/s", "duration=5 s", "warm_up=1 s"])
    document = changed.to_dict()
    assert (document["links"][0]["rate"], document["duration"]) == ("50 Mbit/s", "5 s")


@pytest.mark.parametrize("name", sorted(sj.bundled_scenarios()))
def test_a_canonical_document_is_its_own_canonical_form(name: str) -> None:
    network = sj.load(name)
    assert network.canonical() == network.to_dict()


_keys = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=8)
_plain = (
    st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=12)
    | st.integers(-(2**62), 2**62)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
)
_documents = st.dictionaries(
    _keys,
    st.recursive(
        _plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3),
        max_leaves=12,
    ),
    max_size=5,
)


@given(_documents)
def test_toml_text_reads_back_as_the_document(document: dict[str, Any]) -> None:
    assert tomllib.loads(toml.dumps(document)) == document


def test_toml_refuses_what_it_cannot_write() -> None:
    with pytest.raises(TypeError, match="no form in TOML"):
        toml.dumps({"x": object()})


def test_toml_has_infinity_and_what_is_no_number() -> None:
    text = toml.dumps({"above": math.inf, "below": -math.inf, "none": math.nan})
    assert text == "above = inf\nbelow = -inf\nnone = nan\n"
    assert math.isnan(tomllib.loads(text)["none"])


def test_directions_of_a_link_are_a_table_or_parameters_of_their_own() -> None:
    def built(**link: Any) -> dict[str, Any]:
        net = sj.Network(name="n", duration=sj.s(1)).link(name="l", from_="a", to="b", **link)
        found: dict[str, Any] = net.flow(name="f", from_="a", to="b").canonical()["links"][0]
        return found

    table = built(
        rate={"down": sj.mbit_s(50), "up": "10 Mbit/s"},
        delay={"down": sj.ms(5), "up": sj.ms(6)},
        loss={"up": 0.01},
        jitter={"down": "1 ms"},
        duplicate={"up": "1%"},
        queue={"down": "codel", "up": "pie"},
        under_test={"down": True},
        framing="docsis",
    )
    assert table == built(
        rate=sj.mbit_s(50),
        reverse_rate=sj.mbit_s(10),
        delay=sj.ms(5),
        reverse_delay=sj.ms(6),
        reverse_loss="1%",
        jitter="1 ms",
        reverse_duplicate=0.01,
        queue="codel",
        reverse_queue="pie",
        under_test=True,
        framing="docsis",
    )
    with pytest.raises(TypeError, match="rate"):
        built(rate={"down": 50, "up": 10}, delay=sj.ms(1))


def test_a_dumbbell_may_have_another_way_back() -> None:
    net = sj.dumbbell(
        rate={"down": sj.mbit_s(20), "up": sj.mbit_s(2)}, reverse_delay=sj.ms(25), reverse_queue="codel"
    )
    link = net.canonical()["links"][0]
    assert [link[key] for key in ("rate", "reverse_rate", "delay", "reverse_delay", "reverse_queue")] == [
        "20 Mbit/s",
        "2 Mbit/s",
        "10 ms",
        "25 ms",
        "codel",
    ]
    assert "20 Mbit/s down and 2 Mbit/s up" in net.canonical()["description"]


@pytest.mark.parametrize("name", ["\x00", "a" * 300])
def test_a_name_that_no_file_can_have_is_no_scenario(name: str) -> None:
    with pytest.raises(sj.SojournError, match="cannot read the scenario"):
        sj.load(name)


def test_a_scenario_is_text(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(sj.SojournError, match="it is not UTF-8 text"):
        sj.load(tmp_path / "x.toml")
