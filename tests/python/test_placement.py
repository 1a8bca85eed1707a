"""Placement: centralities by hand, the search on a network whose answer is known, and the command."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from shared import Command
from sojourn.base.core import Document, SojournError
from sojourn.studies import placement, topology
from sojourn.studies.placement import centrality, evaluate, page
from sojourn.studies.placement.search import BEST, EVERY, GREEDY, NONE

# A line with one slow link in the middle: all data goes from a to e over c -> d, where alone a queue can grow.
LINE = "a, b, 20 Mbit/s, 2 ms\nb, c, 20 Mbit/s, 2 ms\nc, d, 2 Mbit/s, 2 ms\nd, e, 20 Mbit/s, 2 ms\n"


def line(**options: Any) -> topology.Case:
    net = topology.parse(LINE, source="line")
    given = {"flows": 5, "udp": 0.2, "duration_ns": 4 * 10**9, "warm_up_ns": 10**9, "metric": "hops"} | options
    return topology.build(net, {(net.index("a"), net.index("e")): 1.0}, **given)


def plan(**options: Any) -> placement.Plan:
    return placement.Plan(**({"budget": 1, "runs": 40, "replications": 2, "fresh": 4} | options))


@pytest.fixture(scope="module")
def found() -> placement.Found:
    return placement.search(line(), plan())


def dense(rows: list[list[float]]) -> Any:
    return csr_array(np.array(rows, dtype=np.float64))


def test_katz_of_a_triangle() -> None:
    # Every router has two neighbours: spectral radius 2, factor 0.5/2, x = 2x/4 + 1 = 2.
    found = placement.katz(dense([[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
    assert found == pytest.approx([2, 2, 2])


def test_katz_of_a_star() -> None:
    # Radius sqrt(3), a = 0.5/sqrt(3) = 0.288675. Hub h = 1 + 3 a l, leaf l = 1 + a h:
    # h = (1 + 3a)/(1 - 3a^2) = 1.866025/0.75 = 2.488034, l = 1 + a h = 1.718233.
    found = placement.katz(dense([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]))
    assert found == pytest.approx([2.488034, 1.718233, 1.718233, 1.718233], abs=1e-6)


def test_katz_counts_what_leads_to_a_router() -> None:
    # 0 -> 1 -> 2 has no cycle and radius 0; the factor is 0.5 over the largest column sum, 2.
    # x0 = 1, x1 = 1 + 0.25 * 2 = 1.5, x2 = 1 + 0.25 * 2 * 1.5 = 1.75.
    assert placement.katz(dense([[0, 2, 0], [0, 0, 2], [0, 0, 0]])) == pytest.approx([1, 1.5, 1.75])


def test_all_pivots_are_exact() -> None:
    graph = nx.barabasi_albert_graph(80, 2, seed=3)
    found = placement.sample(csr_array(nx.to_scipy_sparse_array(graph, dtype=float)), 80)
    exact, close = nx.betweenness_centrality(graph), nx.closeness_centrality(graph)
    assert found.betweenness == pytest.approx([exact[k] for k in range(80)], abs=1e-12)
    assert found.closeness == pytest.approx([close[k] for k in range(80)], abs=1e-12)
    assert found.bound == 0
    assert not found.half_width.any()


def test_sampled_pivots_miss_by_no_more_than_they_say() -> None:
    graph = nx.barabasi_albert_graph(300, 2, seed=5)
    matrix = csr_array(nx.to_scipy_sparse_array(graph, dtype=float))
    exact = np.array([*nx.betweenness_centrality(graph).values()])
    covered = []
    for seed in range(20):
        found = placement.sample(matrix, 60, seed)
        missed = np.abs(found.betweenness - exact)
        # Hoeffding with 60 pivots and 300 routers: sqrt(ln(2 * 300 / 0.05) / 120) = 0.2798.
        assert found.bound == pytest.approx(0.2798, abs=1e-4)
        assert missed.max() < found.bound
        top = np.argsort(-exact)[:20]
        covered.append(np.mean(missed[top] <= found.half_width[top]))
        # Not so wide that it says nothing: the first router is known within a third.
        assert found.half_width[top[0]] < exact[top[0]] / 3
    # Intervals of the 20 most central routers, 400 of them, not independent: nominally 95 %, in truth 87 %, because
    # dependencies are skewed. Half the width holds 64 %, twice the width 94 %.
    assert 0.82 <= np.mean(covered) <= 0.92


def test_centralities_of_a_line_by_hand() -> None:
    case = line(flows=5)
    scores = {name: each.scores(case) for name, each in placement.ALL.items()}
    # The slow link is offered 0.9 of 2 Mbit/s; each of the other three 1.8 of 20.
    assert scores["load"] == pytest.approx([0.09, 0.09, 0.9, 0.09, 0])
    assert scores["queued"] == pytest.approx([0.09 / 0.91, 0.09 / 0.91, 9, 0.09 / 0.91, 0])
    assert scores["flow_betweenness"] == pytest.approx([1.8e6, 1.8e6, 1.8e6, 1.8e6, 0])
    assert list(scores["degree"]) == [1, 2, 2, 2, 1]
    # Pairs through b: a with c, d, e, both ways, of 4 * 3: 6/12. Through c: {a, b} with {d, e}: 8/12.
    assert scores["betweenness"] == pytest.approx([0, 0.5, 2 / 3, 0.5, 0])
    # Hops from c: 2 + 1 + 1 + 2 = 6, so 4/6; from a 1 + 2 + 3 + 4 = 10.
    assert scores["closeness"][[0, 2]] == pytest.approx([0.4, 2 / 3])
    # The flow matrix is a path of equal weights without a cycle: x grows along it.
    assert scores["katz_flow"] == pytest.approx([1, 1.5, 1.75, 1.875, 1.9375])


def test_rankings_are_deterministic_and_ties_go_to_the_lower_index() -> None:
    case = line()
    ranked = placement.rankings(case)
    assert ranked == placement.rankings(case)
    assert ranked["load"][0] == 2
    assert ranked["degree"] == [1, 2, 3, 0, 4]
    assert ranked["flow_betweenness"] == [0, 1, 2, 3, 4]
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in ranked.values())


def test_large_graphs_get_sampled_pivots(monkeypatch: pytest.MonkeyPatch) -> None:
    assert centrality.by_hops(line()).pivots == 5
    monkeypatch.setattr(centrality, "EXACT_UP_TO", 4)
    assert centrality.by_hops(line(), pivots=3).pivots == 3


def test_the_search_finds_the_only_queue(found: placement.Found) -> None:
    c = frozenset({2})
    assert found.routers(BEST) == c
    assert found.routers(GREEDY) == c
    assert found.routers("load") == c
    assert found.exhausted
    # Data queues at c alone, and the scheme elsewhere meets next to no packet: it is as good in c as everywhere.
    assert found.estimate(BEST).mean < 0.8 * found.estimate(NONE).mean
    assert found.share(EVERY).mean == pytest.approx(1, abs=0.02)
    assert found.share("flow_betweenness").mean == pytest.approx(0, abs=0.02)
    assert found.share("load").mean == 1
    assert found.behind("flow_betweenness").excludes_zero
    assert "load" in page.headlines(found)[1]


def test_differences_are_paired(found: placement.Found) -> None:
    difference = found.values(NONE) - found.values(BEST)
    assert found.behind(NONE).mean == pytest.approx(difference.mean())
    assert found.behind(NONE).half_width == pytest.approx(
        3.182 * difference.std(ddof=1) / 2,
        rel=1e-3,  # Student's t, 3 degrees of freedom; sqrt(4) = 2
    )


def test_the_number_of_threads_changes_nothing(found: placement.Found) -> None:
    again = placement.search(line(), plan(), jobs=3)
    assert again.tried == found.tried
    assert again.choices == found.choices
    assert all((again.values(choice.name) == found.values(choice.name)).all() for choice in found.choices)


def test_a_search_resumes(tmp_path: Path, found: placement.Found) -> None:
    log = tmp_path / "runs.jsonl"
    first = placement.search(line(), plan(), log=log)
    lines = log.read_bytes().splitlines(keepends=True)
    assert first.runs == found.runs == len(lines)
    assert placement.search(line(), plan(), log=log).runs == 0
    # Killed in the middle of a line, or before its end: that run and those after it are done again, no other.
    for cut in (lines[7][:20], lines[7][:-1]):
        log.write_bytes(b"".join(lines[:7]) + cut)
        again = placement.search(line(), plan(), log=log)
        assert again.runs == len(lines) - 7
        assert again.tried == first.tried
        assert log.read_bytes().splitlines(keepends=True) == lines
    # Other traffic, another seed or another scheme is another case.
    assert placement.search(line(flows=6), plan(), log=log).runs > 0
    assert placement.search(line(), plan(scheme="pie"), log=log).runs > 0


def test_what_is_judged_is_fresh(tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    placement.search(line(), plan(), log=log)
    entries = [json.loads(text) for text in log.read_text().splitlines()]
    # The best was searched with replications 0 and 1 and judged with 2 to 5; `every router` was not searched.
    seen = {tuple(entry["routers"]): [] for entry in entries}
    for entry in entries:
        seen[tuple(entry["routers"])].append(entry["replication"])
    assert seen[2,] == [0, 1, 2, 3, 4, 5]
    assert seen[0, 1, 2, 3, 4] == [2, 3, 4, 5]


def test_the_search_keeps_to_its_runs() -> None:
    found = placement.search(line(), plan(runs=8, budget=2))
    assert len(found.tried) == 8 // 2
    assert not found.exhausted
    assert "ended with its 8 runs" in " ".join(page.headlines(found))


def test_a_gain_that_no_interval_tells_has_no_share() -> None:
    # At a hundredth of the load nothing queues: the scheme changes nothing.
    found = placement.search(line(load=0.01, udp=1.0), plan())
    assert math.isnan(found.share("load").mean)
    assert "The intervals do not tell" in page.headlines(found)[0]


def test_completion_times_count_what_did_not_end() -> None:
    def flow(transport: str, **metrics: float | None) -> Document:
        plain = {
            "sent_packets": 10.0,
            "dropped_packets": 1.0,
            "one_way_delay_ms_mean": None,
            "flow_completion_s": None,
        }
        return {"transport": transport, "metrics": {**plain, **metrics}}

    report = {
        "metrics": {"one_way_delay_ms_p99": 7.0, "goodput_bit_s": 5.0},
        "flows": [
            flow("tcp", flow_completion_s=1.0, flow_duration_s=1.0, one_way_delay_ms_mean=10.0),
            flow("tcp", flow_duration_s=4.0, one_way_delay_ms_mean=30.0),
            flow("udp", flow_duration_s=9.0, one_way_delay_ms_mean=20.0),
            flow("tcp", sent_packets=0.0, dropped_packets=0.0, flow_duration_s=None),
        ],
    }
    values = evaluate.measures(report)
    assert values["fct"] == (1 + 4) / 2
    assert values["mean_latency"] == 20
    assert values["loss"] == 3 / 30
    assert values["p99_latency"] == 7
    # Of three TCP flows one ended.
    assert values["unfinished"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"budget": 0}, "--budget is 0; allowed: 1 to 4 on 5 routers"),
        ({"budget": 5}, "--budget is 5; allowed: 1 to 4 on 5 routers"),
        ({"fresh": 1}, "--fresh is 1"),
        ({"runs": 1}, "--runs is 1; allowed: 2 to"),
        ({"objective": "joy"}, "--objective is 'joy'; allowed: mean_latency, p99_latency, loss, fct"),
        ({"objective": "fct"}, "--objective fct needs transfers"),
        ({"names": ("magic",)}, "--centrality is 'magic'; allowed: load, queued"),
    ],
)
def test_impossible_plans(options: dict[str, Any], says: str) -> None:
    with pytest.raises(SojournError) as refused:
        placement.search(line(), plan(**options))
    assert says in str(refused.value)


def test_places_across_the_date_line_stay_together() -> None:
    from sojourn.studies.placement import picture
    from sojourn.studies.topology.model import Link, Node, assemble

    nodes = [
        Node("", name, longitude=x, latitude=0.0)
        for name, x in (("Suva", 178.0), ("Hawaii", -157.0), ("Sydney", 151.0))
    ]
    net = assemble("pacific", nodes, [Link((0, 1)), Link((0, 2))])
    # The widest gap is from Hawaii (203 east) to Sydney (151): Hawaii lies 25 degrees east of Suva.
    assert {net.nodes[k].name: x for k, (x, _) in picture.places(net).items()} == pytest.approx(
        {"Suva": 178, "Hawaii": 203, "Sydney": 151}
    )


def test_the_guide_has_every_topology_of_the_study() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    script, guide = ((docs / name).read_text(encoding="utf-8") for name in ("placement.py", "guides/place.md"))
    assert "Made by docs/placement.py" in guide
    names = re.findall(r'^    "((?:sndlib|topozoo)/.+)",$', script, re.MULTILINE)
    assert len(names) >= 10
    rows = re.findall(r"^\| ((?:sndlib|topozoo)/\S+) \|", guide, re.MULTILINE)
    assert rows == names
    for each in placement.ALL.values():
        assert f"`{each.name}` | {each.meaning} |" in guide


OPTIONS = ["--flows", 6, "--duration", "2 s", "--warm-up", "500 ms", "--runs", 16, "--replicates", 2, "--fresh", 3]


def test_the_command_leaves_a_report_and_goes_on(command: Command, tmp_path: Path) -> None:
    net = tmp_path / "line.csv"
    net.write_text(LINE)
    out = tmp_path / "out"
    arguments = ["place", "--topology", net, "--budget", 1, *OPTIONS, "--demands", "uniform", "--out", out]
    done = command(*arguments)
    assert done.returncode == 0, done.stderr
    assert "best found" in done.stdout
    assert f"Report: {out}" in done.stdout
    report = (out / "report.html").read_text()
    assert "<svg" in report
    assert "Not a map" in report
    with (out / "choices.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["placement"] for row in rows} == {NONE, *placement.ALL, GREEDY, BEST, EVERY}
    assert "codel" in (out / "scenario.toml").read_text()
    again = command(*arguments, "--json")
    assert "0 new runs" in again.stderr or again.stderr == ""
    shown = json.loads(again.stdout)
    best = next(choice for choice in shown["choices"] if choice["name"] == BEST)
    assert [row["routers"] for row in rows if row["placement"] == BEST] == [" ".join(best["routers"])]
    assert best["share"] in (1.0, None)
    ran = command("run", out / "scenario.toml", "--json")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--budget", "9"], "--budget is 9; allowed: 1 to 4 on 5 routers"),
        (["--budget", "1", "--scheme", "magic"], "magic"),
        (["--budget", "1", "--jobs", "0"], "--jobs is 0"),
        (["--budget", "1", "--objective", "fct", "--tcp", "bulk"], "--objective fct needs transfers"),
        (["--budget", "1", "--demands", "own"], "line has no demands of its own"),
        (["--budget", "1", "--out", "."], "no file of a placement"),
    ],
)
def test_bad_input_is_one_message_and_status_2(
    command: Command, tmp_path: Path, options: list[str], says: str
) -> None:
    net = tmp_path / "here" / "line.csv"
    net.write_text(LINE)
    done = command("place", "--topology", "line.csv", *options)
    assert done.returncode == 2
    assert done.stderr.startswith("sojourn: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert not (tmp_path / "here" / "out").exists()
