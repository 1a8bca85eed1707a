"""The threshold study: its documents, metrics of routers and routes, queues over time, and a smoke of its runs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shared import study
from sojourn import SojournError
from sojourn.base import core
from sojourn.cli import main
from sojourn.plan import expand
from sojourn.studies import papers
from sojourn.studies.papers import execute, points
from sojourn.studies.papers.model import Condition, Reading

routes = study("threshold", "routes")
stability = study("threshold", "stability")
PAPER = papers.load("threshold")
BASE = PAPER.readings[0]
CONDITIONS = {one.name: one for one in PAPER.conditions}


def scenario(condition: Condition, reading: Reading = BASE) -> core.Document:
    text = (PAPER.folder / f"{condition.scenario or PAPER.scenario}.toml").read_text(encoding="utf-8")
    return core.load(text, source=condition.name, sets=reading.sets_of(condition))


def routes_of(condition: Condition, reading: Reading = BASE) -> dict[str, routes.Route]:
    return routes.routes(scenario(condition, reading), PAPER.places, routes.packet_of(PAPER))


def test_every_base_rtt_of_the_study_is_run_and_is_that_of_every_route() -> None:
    # 10 ms to 300 ms by 5 ms: (300 - 10) / 5 + 1 = 59 points.
    for flow in ("linux_reno", "newreno", "heterogeneous"):
        own = [one for one in PAPER.conditions if (one.flow, one.model, one.sweep) == (flow, "six_routers", "rtt")]
        assert [one.at for one in own] == [f"{rtt} ms" for rtt in range(10, 301, 5)]
    for one, reading in itertools.product(PAPER.conditions, PAPER.readings):
        if not reading.is_run or one.name not in reading.conditions["full"]:
            continue
        found = routes_of(one, reading)
        assert (
            len(found)
            == {"six_routers": 8, "single_bottleneck": 1, "disturbed_bottleneck": 1, "parking_lot": 4}[one.model]
        )
        assert {round(route.rtt_ms, 6) for route in found.values()} == {float(one.at.split()[0])}


@pytest.mark.parametrize("name", ["linux-reno-100-ms", "heterogeneous-100-ms"])
def test_sixty_sources_on_eight_routes(name: str) -> None:
    found = routes_of(CONDITIONS[name])
    # S0 - S4, S5 - S9, S10 - S23, S24 - S28, S29 - S31, S32 - S52, S53 - S56, S57 - S59.
    assert [found[f"route{k}"].flows for k in range(1, 9)] == [5, 5, 14, 5, 3, 21, 4, 3]
    assert list(found["route6"].packet_ms) == ["R1", "R3", "R4", "R5", "R6"]
    # 8 x 1446 B = 11568 bit: 0.11568 ms at 100 Mbit/s, 0.2892 ms at 40, 0.1928 ms at 60.
    assert list(found["route6"].packet_ms.values()) == pytest.approx([0.11568, 0.2892, 0.1928, 0.1928, 0.1928])


def test_only_r6_queues_what_it_delivers_under_the_other_reading() -> None:
    other = next(one for one in PAPER.readings if one.values.get("last_router") == "r6_only")
    for name in ("linux-reno-100-ms", "heterogeneous-100-ms"):
        base, own = (routes_of(CONDITIONS[name], reading) for reading in (BASE, other))
        gone = {k: set(base[k].packet_ms) - set(own[k].packet_ms) for k in base}
        assert {k: of for k, of in gone.items() if of} == {"route1": {"R2"}, "route5": {"R5"}, "route8": {"R3"}}


def test_the_mixed_traffic_is_52_tcp_and_8_udp_sources() -> None:
    document = scenario(CONDITIONS["heterogeneous-100-ms"])
    sizes = {one["name"]: one["count"] for one in document["nodes"] if one.get("count")}
    kinds: dict[str, int] = {}
    for flow in document["flows"]:
        kind = flow["transport"].get("congestion_control", flow["transport"]["kind"])
        kinds[kind] = kinds.get(kind, 0) + sizes[flow["from"]]
    assert kinds == {"newreno": 26, "cubic": 26, "udp": 8}


def test_a_scheme_stands_on_its_links_and_the_others_keep_their_queues() -> None:
    condition = CONDITIONS["placement-linux-reno-100-ms"]
    cells = execute.cells_of(PAPER, BASE, condition, {}, expand.cells(execute.plan_of(PAPER, BASE, condition, {}, 2)))
    assert list(cells) == list(condition.schemes)
    own = {name: {key: value for key, value in cell.levels.items() if key != execute.PLACEMENT}
           for name, cell in cells.items()}  # fmt: skip
    tail = own["droptail"]
    assert tail["queue of R1"] == "pfifo limit 2084p"
    for name, queues in own.items():
        changed = {key.removeprefix("queue of ") for key, text in queues.items() if text != tail[key]}
        assert changed == set(PAPER.on[name])
        assert {queues[f"queue of {link}"] for link in changed} <= {PAPER.texts[name]}
    # Six routers, two thresholds each, two on all, and drop tail.
    assert len({cell.scenario for cell in cells.values()}) == 6 * 2 + 2 + 1


def test_metrics_of_claims_and_rows_are_there_and_subjects_run_there(measured: execute.Measured) -> None:
    raw = measured.raw[BASE.name, "linux-reno-100-ms"]
    names = {claim.metric for claim in PAPER.claims} | {row.metric for row in PAPER.rows}
    disturbed = {f"{name}@bottleneck" for name in (stability.KEPT, stability.STABLE)}
    alone = {name for name in names if name.split("@")[-1] == "bottleneck" or name in routes.OF_SERIES} - disturbed
    names -= disturbed
    assert {name for name in names - alone if name not in raw} == set()
    series = measured.raw[BASE.name, "single-linux-reno-100-ms"]
    assert all(np.isfinite(series[name]["droptail"]).all() for name in alone)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> execute.Measured:
    # Of the single bottleneck only the saw-tooth of drop tail is looked at.
    chosen = [CONDITIONS["linux-reno-100-ms"], replace(CONDITIONS["single-linux-reno-100-ms"], schemes=("droptail",))]
    # The base alone, two replications: 8 runs.
    alone = replace(PAPER, readings=(BASE,))
    store = tmp_path_factory.mktemp("threshold") / "store"
    return execute.Runner(alone, store).run(2, "quick", chosen)


def test_what_ns3_showed(measured: execute.Measured) -> None:
    # ns-3.37: R1, R4 and R5 nearly empty, R6 capped by its threshold, its utilisation almost unchanged.
    raw = measured.raw[BASE.name, "linux-reno-100-ms"]
    for scheme in ("droptail", "r6_100", "r6_15"):
        assert all(raw[f"queue_packets_mean@{router}"][scheme].max() < 20.84 for router in ("R1", "R4", "R5"))
    for scheme, most in (("r6_100", 100), ("r6_15", 15)):
        assert raw["queue_packets_p99@R6"][scheme].max() <= most
        assert raw["utilisation@R6"][scheme] == pytest.approx(raw["utilisation@R6"]["droptail"], abs=0.05)
        assert (raw["latency_ms@route3"][scheme] < raw["latency_ms@route3"]["droptail"]).all()
    assert raw["queue_packets_mean@R6"]["droptail"].min() > 100


def test_latency_is_the_base_rtt_and_the_queues_of_the_route(measured: execute.Measured) -> None:
    raw = {name: of["r6_15"] for name, of in measured.raw[BASE.name, "linux-reno-100-ms"].items()}
    # Route 8 is R1 -> R3: 100 ms + 1446 B x 8 (q1 / 100 Mbit/s + q3 / 40 Mbit/s).
    expected = 100 + 11568 * (raw["queue_packets_mean@R1"] / 1e5 + raw["queue_packets_mean@R3"] / 4e4)
    assert raw["latency_ms@route8"] == pytest.approx(expected)
    weights = [5, 5, 14, 5, 3, 21, 4, 3]
    mean = sum(n * raw[f"latency_ms@route{k}"] for k, n in enumerate(weights, 1)) / 60
    assert raw["latency_ms"] == pytest.approx(mean)
    assert raw["goodput_bit_s@all"] == pytest.approx(sum(raw[f"goodput_bit_s@route{k}"] for k in range(1, 9)))


def test_a_saw_tooth_has_its_period_and_amplitude() -> None:
    # 0 to 100 over 4 s, sampled at 0.1 s over 200 s: 5th to 95th percentile 90 packets, 50 periods.
    t_s = np.asarray(np.arange(1, 2001) * 0.1, dtype=np.float64)
    queue = np.asarray(25.0 * (t_s % 4.0), dtype=np.float64)
    drops = np.zeros(2000)
    drops[39::40] = 300.0
    found = routes.oscillation(t_s, queue, drops, flows=60, rtt_s=0.1)
    assert found["period_s"] == pytest.approx(4.0)
    assert found["queue_amplitude_packets"] == pytest.approx(90, abs=3)
    # The first line of a saw-tooth has 6 / pi^2 = 0.608 of its variance.
    assert found["tooth_share"] == pytest.approx(6 / math.pi**2, abs=0.01)
    # 300 drops a second for 0.1 s are 30, of 60 flows.
    assert found["synchronisation"] == pytest.approx(0.5)
    # Two samples of loss less than an RTT apart are one episode of 60 drops.
    drops[38::40] = 300.0
    found = routes.oscillation(t_s, queue, drops, flows=60, rtt_s=0.15)
    assert found["synchronisation"] == pytest.approx(1.0)
    noise = np.random.default_rng(1).normal(50, 10, 2000)
    assert routes.oscillation(t_s, noise, drops * 0, flows=60, rtt_s=0.1)["tooth_share"] < 0.05


def test_points_and_parts_of_them_are_refused_where_they_are_none() -> None:
    assert points.each(["a.{x,y}.{b,c}={at / 2 - 5}"]) == tuple(
        f"a.{one}.{other}={{at / 2 - 5}}" for one in "xy" for other in "bc"
    )
    assert points.filled("{at / 4}", "10 ms") == "2.5 ms"
    for wrong in (
        {"from": "10 ms"},
        {"from": "10 ms", "to": "5 ms", "step": "1 ms"},
        {"from": 1, "to": 2, "step": 0},
    ):
        with pytest.raises(SojournError, match=r"sweep x: points: .* allowed: a list, or"):
            points.listed(wrong, "sweep x")


def test_a_route_must_name_every_node() -> None:
    document = scenario(CONDITIONS["linux-reno-100-ms"])
    document["flows"][0]["route"] = ["R1", "R2"]
    with pytest.raises(SojournError, match="its route has no link from R1 to R2; allowed: all nodes"):
        routes.routes(document, PAPER.places, "1446 B")


def test_the_smoke_of_the_threshold_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["--quick", "--only", "single-linux-reno-100-ms", "--replicates", "2", "--out", str(out)]
    assert main(["papers", "run", "threshold", *words]) == 0
    printed = capsys.readouterr().out
    # Three schemes, two replications; the picture of the last minute finds its three runs in the store.
    assert printed.startswith("6 runs made, 3 found")
    text = (out / "report.html").read_text(encoding="utf-8")
    assert all(
        f'id="{name}"' in text
        for name in ("saw-tooth-linux-reno-picture-1", "samples-linux-reno-picture-1", "katz-figure", "ledger-table")
    )


def test_the_study_and_the_page_on_stability_have_one_answer() -> None:
    """Which thresholds are stable: 50 flows at 6250 packets/s as in docs/theory.py, and the study's 60."""
    page = (Path(__file__).parents[2] / "docs/concepts/theory-stability.md").read_text(encoding="utf-8")
    rows = [
        line.strip("| ").split(" | ")
        for line in page.splitlines()
        if line.startswith(("| 15 |", "| 50 |", "| 100 |"))
    ]
    assert len(rows) == 18
    for threshold, rtt, growth, *_ in rows:
        rtt_s = float(rtt.split()[0]) / 1e3
        assert stability.is_stable(f"threshold q_th {threshold}p", 6250.0, 50, rtt_s) == (float(growth) < 0)
    recorded = (PAPER.folder / "recorded.json").read_text(encoding="utf-8")
    capacity = 60e6 / 8 / 1498
    for threshold, sign in ((15, "✓"), (100, "✗")):
        found = {
            stability.is_stable(f"threshold q_th {threshold}p", capacity, 60, rtt / 1e3)
            for rtt in (10, 25, 50, 100, 200, 300)
        }
        assert (len(found) == 1) == (sign == "✓")
        (line,) = [one for one in recorded.splitlines() if f"s3-threshold-{threshold}-fluid-unchanged" in one]
        assert line.split()[-1].startswith(sign)
