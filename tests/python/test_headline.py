"""With several queues under test, every road names the queue of a metric, and names the same one."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

import sojourn as sj
from sojourn import SojournError
from sojourn.cli import main
from sojourn.plan import Plan, Precision, document, execute, expand, export, query, read
from sojourn.plan.store import Store
from sojourn.results import headline, metrics, tables, text

DOWN, UP = "left->right", "right->left"
SCHEMES = ("pfifo limit 60p", "codel")


def network(*, more: tuple[str, ...] = (), phases: bool = False) -> sj.Network:
    """A dumbbell whose bottleneck is under test in both directions, with three downloads."""
    net = sj.dumbbell(
        flows=3, rate=sj.mbit_s(4), reverse_under_test=True, duration=sj.s(8), warm_up=sj.s(2), base_rtt=sj.ms(40)
    )
    net = net.change(at=sj.s(5), rate=sj.mbit_s(2), phase="slow") if phases else net
    return sj.Network.from_dict(net.canonical(more)) if more else net


@pytest.fixture(scope="module")
def results() -> sj.Results:
    """Three replications of two schemes."""
    return sj.compare(network(), SCHEMES, replicates=3, seed=4)


def test_the_headline_is_the_full_queue_and_not_the_mean_of_both(results: sj.Results) -> None:
    # The downloads fill their direction. Acknowledgements are 52 B for two segments of 1500 B (1.7 %) to 84 B,
    # with SACK blocks, for each segment (5.6 %). Pooled, the two links would be used to at most 53 %.
    assert results.tested == (DOWN, UP)
    assert set(results.runs["queue"]) == {DOWN}
    for label in results.labels:
        assert results.estimate(label, "utilisation").mean > 0.95
        assert 52 / 3000 * 0.95 < results.estimate(label, "utilisation", queue=UP).mean < 84 / 1500
        own = results.queues[(results.queues["scheme"] == label) & (results.queues["queue"] == DOWN)]
        assert results.values(label, "sojourn_ms_mean") == pytest.approx(own["sojourn_ms_mean"].to_numpy(), abs=0)
        assert results.values(label, f"sojourn_ms_mean@{UP}").max() < results.values(label, "sojourn_ms_mean").min()


def test_the_queue_is_the_busiest_over_all_runs_that_are_compared() -> None:
    # In the run of A, "x->y" is the busier (0.6 against 0.5), in that of B it is the other one (0.3 against 0.9). The
    # means are 0.45 and 0.7, so both runs are of "y->x".
    def document(first: float, second: float, own: str) -> dict[str, object]:
        queues = [
            {"name": name, "under_test": name != "z->y", "scheme": "codel", "metrics": {"utilisation": share}}
            for name, share in (("z->y", 1.0), ("x->y", first), ("y->x", second))
        ]
        whole = {"duration_s": 1.0, "warm_up_s": 0.0, "measured_s": 1.0, "events": 1, "seed": 1, "replication": 0}
        shares = {"x->y": first, "y->x": second}
        return {
            **whole,
            "queue": own,
            "metrics": {"utilisation": shares[own], "goodput_bit_s": 5.0},
            "queues": queues,
            "conservation": dict.fromkeys(("sent", "delivered", "dropped", "in_flight"), 0),
        }

    made = tables.Tables(["A", "B"], [document(0.6, 0.5, "x->y"), document(0.3, 0.9, "y->x")])
    assert made.tested == ("y->x", "x->y")
    assert [(row["queue"], row["utilisation"]) for row in made.rows("runs")] == [("y->x", 0.5), ("y->x", 0.9)]
    assert [row["goodput_bit_s"] for row in made.rows("runs")] == [5.0, 5.0]
    # Of equal ones it is the first; what was not measured counts as idle.
    rows = [
        {"queue": name, "under_test": True, "utilisation": share} for name, share in (("a", math.nan), ("b", 0.0))
    ]
    assert headline.tested(rows) == ("a", "b")


def test_tables_have_a_row_for_each_queue_and_flows_count_once(results: sj.Results, tmp_path: Path) -> None:
    shown = text.comparison(results).splitlines()
    assert shown[0].split()[:2] == ["scheme", "queue"]
    assert [DOWN in line or UP in line for line in shown[3:]] == [True] * 4
    assert [line.startswith(" ") for line in shown[3:]] == [False, True, False, True]
    names = ["sojourn_ms_mean", "goodput_bit_s"]
    summary = results.summary(names)
    assert list(summary["queue"]) == [DOWN, UP, ""] * 2
    assert list(results.differences(names=names)["queue"]) == [DOWN, UP, ""]
    page = results.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count(f'data-queue="{UP.replace(">", "&gt;")}"') == 5, (
        "summary and drops of two schemes, one difference"
    )
    assert f"the busiest queue under test ({DOWN.replace('>', '&gt;')})" in page
    assert "left<wbr>→right" in page
    assert f"mean queueing delay at {DOWN.replace('>', '&gt;')}: codel" in page


def test_one_queue_under_test_looks_as_before() -> None:
    one = sj.compare(sj.dumbbell(flows=2, duration=sj.s(3), warm_up=sj.s(1)), SCHEMES, replicates=2, seed=1)
    assert "queue" not in text.comparison(one).splitlines()[0].split()[:2]
    assert DOWN not in text.comparison(one)
    assert one.at_queues(["sojourn_ms_mean"]) == ["sojourn_ms_mean"]
    assert one.curve("sojourn_ms") == "sojourn_ms"
    assert {"sojourn_ms", "queue_packets"} <= set(one.distributions["quantity"])
    assert set(one.runs["queue"]) == {DOWN}


def test_curves_are_of_one_queue(results: sj.Results) -> None:
    names = set(results.distributions["quantity"])
    assert {f"sojourn_ms:{DOWN}", f"sojourn_ms:{UP}"} <= names
    assert "sojourn_ms" not in names
    assert {f"queue_packets:{DOWN}", f"queue_packets:{UP}"} <= set(results.series["name"])
    # A queue that holds two thirds of 60 packets of 3 ms for most of the time has a median far above its propagation.
    own = results.distributions[results.distributions["quantity"] == f"sojourn_ms:{DOWN}"]
    first = own[(own["scheme"] == SCHEMES[0]) & (own["replication"] == 0)]
    assert first["cumulative"].iloc[0] < 0.1, "no acknowledgements that did not wait"
    assert {"sojourn_cdf", "queue_over_time"} <= set(results.plot.names())
    assert results.quantile(SCHEMES[0], "sojourn_ms", 0.5).mean > results.quantile("codel", "sojourn_ms", 0.5).mean
    assert results.batch_means(SCHEMES[0]).estimate.mean > 10


def test_a_wrong_queue_is_refused(results: sj.Results) -> None:
    with pytest.raises(SojournError, match=r"unknown queue `right->lefft` \(did you mean `right->left`\?\)"):
        results.values("codel", "sojourn_ms_mean", queue="right->lefft")
    with pytest.raises(SojournError, match="goodput_bit_s is not a metric of queues"):
        results.values("codel", "goodput_bit_s", queue=DOWN)
    with pytest.raises(SojournError, match="not measured together"):
        results.values("codel", "sojourn_ms_mean", queue=headline.ALL)


def test_queues_together_only_where_asked_for(results: sj.Results) -> None:
    assert set(results.queues["queue"]) & {headline.ALL} == set()
    together = sj.run(network(more=("pooled=true",)), seed=4)
    (label,) = together.labels

    def of(metric: str, queue: str) -> float:
        return float(together.values(label, metric, queue=queue)[0])

    for metric in ("arrivals_packets", "drops_packets", "queue_packets_mean"):
        assert of(metric, headline.ALL) == pytest.approx(of(metric, DOWN) + of(metric, UP), rel=1e-9)
    assert of("utilisation", headline.ALL) == pytest.approx((of("utilisation", DOWN) + of("utilisation", UP)) / 2)
    assert together.tested == (DOWN, UP)
    assert f"sojourn_ms:{headline.ALL}" in set(together.distributions["quantity"])
    # Measuring them changes nothing else.
    alone = sj.run(network(), seed=4)
    assert alone.runs.drop(columns=["scheme"]).equals(together.runs.drop(columns=["scheme"]))


def test_phases_are_of_one_queue() -> None:
    found = sj.compare(network(phases=True), SCHEMES, replicates=2, seed=4, series=None)
    for phase in found.phase_names:
        assert found.values("codel", "utilisation", phase=phase).min() > 0.9
        assert found.values("codel", "utilisation", phase=phase, queue=UP).max() < 0.1
        assert found.values("codel", "goodput_bit_s", phase=phase).min() > 1e6
    rows = found.summary(["utilisation", "goodput_bit_s"], by="phase")
    whole = rows[(rows["scheme"] == "codel") & (rows["group"] == "")]
    assert list(whole["queue"]) == [DOWN, UP, ""] * len(found.phase_names)
    assert DOWN in text.phases(found)
    assert UP in text.phases(found)


PLAN = """
name = "both"
schemes = ["pfifo limit 60p", "codel"]
seed = 4
replications = 3
series = "100 ms"

[show]
metrics = ["sojourn_ms_mean", "utilisation", "goodput_bit_s"]
"""


def test_a_plan_says_what_a_comparison_says(
    results: sj.Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = tmp_path / "both.toml", tmp_path / "store"
    (tmp_path / "net.toml").write_text(network().to_toml())
    file.write_text(f'scenario = "{tmp_path / "net.toml"}"\n{PLAN}')
    assert main(["plan", "run", str(file), "--store", str(store)]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].split()[:3] == ["scheme", "runs", "queue"]
    # Of two schemes and of their difference.
    assert [name for name in shown.split() if name in (DOWN, UP)] == [DOWN, UP] * 3
    opened = Store.open(store)
    (cells,) = read.plans(opened)
    table = read.summary(cells, opened).set_index(["scheme", "queue", "metric"])["mean"]
    for label in SCHEMES:
        for queue in (DOWN, UP):
            wanted = results.estimate(label, "sojourn_ms_mean", queue=queue).mean
            assert table[label, queue, "sojourn_ms_mean"] == pytest.approx(wanted, rel=1e-12)
    # One combination of levels, so the families of Holm's correction are those of the comparison.
    ((_, found),) = read.results(cells, opened)
    assert found.tested == results.tested == (DOWN, UP)
    wanted_rows = results.differences(names=cells.plan.shown)
    assert list(wanted_rows["queue"]) == [DOWN, UP, DOWN, UP, ""]
    pd.testing.assert_frame_equal(read.differences(cells, opened), wanted_rows, check_dtype=False)
    runs = read.frame(cells, opened)
    assert set(runs["queue"]) == {DOWN}
    assert set(read.curves(cells, opened, "series", "name")["name"]) >= {"sojourn_ms", f"sojourn_ms:{UP}"}
    data = export.dataset(cells, opened)
    assert float(data[f"utilisation@{UP}"].max()) < 0.1
    assert float(data["utilisation"].min()) > 0.9
    stored = query.query(opened, "SELECT DISTINCT queue FROM runs").to_pylist()
    assert stored == [{"queue": DOWN}]


def test_goals_and_metrics_of_a_plan_may_name_a_queue(tmp_path: Path) -> None:
    goal = Precision(f"queue_packets_mean@{UP}", "2 packets", floor=2, ceiling=5)
    assert goal.half_width(50.0) == 2.0
    with pytest.raises(SojournError, match="unknown metric"):
        Precision(f"queue_packets_meen@{DOWN}", "5 %")
    wrong = Plan("wrong", network().to_toml(), schemes=(sj.Scheme("codel"),), metrics=("utilisation@right->lefft",))
    with pytest.raises(
        SojournError, match=r"`utilisation@right->lefft`: unknown queue .* \(did you mean `right->left`"
    ):
        expand.cells(wrong)
    file = tmp_path / "goal.toml"
    (tmp_path / "net.toml").write_text(network().to_toml())
    goals = f'[precision]\nmetric = "queue_packets_mean@{UP}"\nwithin = "2 packets"\nfloor = 2\nceiling = 5\n'
    file.write_text(f'name = "goal"\nscenario = "{tmp_path / "net.toml"}"\nschemes = ["codel"]\n{goals}')
    outcome = execute.run(document.load(file), tmp_path / "store")
    # The queue of acknowledgements is empty in every run: two replications suffice, and a quarter more follows.
    assert outcome.cells[0].done == 3
    assert outcome.cells[0].estimate(f"queue_packets_mean@{UP}").mean < 1


def test_a_name_with_a_queue_has_title_and_unit() -> None:
    found = metrics.find(f"sojourn_ms_p99@{DOWN}")
    assert (found.heading, found.phrase) == (f"Queueing delay, p99 at {DOWN} (ms)", f"p99 queueing delay at {DOWN}")
    # A place of a study is no queue.
    assert metrics.split("queue_packets_mean@R6") == ("queue_packets_mean@R6", "")
