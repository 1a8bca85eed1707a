"""Agreement with the peers: some recorded points, the rule itself, and decisions one by one."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import openloop
from shared import Command
from sojourn import crosscheck
from sojourn.crosscheck import compare, linux, ns2, ns3, ns3_lan, ns3_network, ns3_wlan, page, records, sawtooth, text
from sojourn.crosscheck.compare import Metric, Outcome, Point, Run, Theirs


@pytest.mark.parametrize("peer", crosscheck.PEERS)
def test_some_points_agree_with_the_records(peer: str) -> None:
    outcome = crosscheck.check(peer, quick=True)
    assert len(outcome.rows) >= 9
    short = [tally.title for tally in outcome.metrics() if not tally.is_enough]
    assert not short, text.terminal(outcome)


def test_codel_drops_exactly_what_ns3_drops() -> None:
    recorded = openloop.recorded()
    assert len(recorded) > 1000
    assert openloop.ours(openloop.CODEL, openloop.trace()) == recorded


@pytest.mark.parametrize("scheme", ["codel mtu 1499 interval 110ms control_law newton", "codel mtu 1499"])
def test_the_sequence_of_drops_tells_another_interval_and_another_law(scheme: str) -> None:
    assert openloop.ours(scheme, openloop.trace()) != openloop.recorded()


def test_a_full_queue_drops_exactly_what_ns3_drops() -> None:
    recorded = openloop.recorded(openloop.PFIFO_RECORD)
    assert len(recorded) > 1000
    assert openloop.ours(openloop.PFIFO, openloop.beginning(openloop.PFIFO_EVENTS)) == recorded
    assert openloop.ours("pfifo limit 49p", openloop.beginning(openloop.PFIFO_EVENTS)) != recorded


def _distances(scheme: str) -> list[float]:
    """Welch's t for the drops of each second in which anything is random."""
    theirs = np.array(openloop.recorded_counts())
    seeds, seconds = theirs.shape
    ours = np.array(
        [
            openloop.counts(openloop.ours(scheme, openloop.until(seconds), seed=seed), seconds)
            for seed in range(1, seeds + 1)
        ]
    )
    spread = np.sqrt((theirs.var(axis=0, ddof=1) + ours.var(axis=0, ddof=1)) / seeds)
    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    assert not difference[spread == 0].any(), "what is not random is the same"
    return [float(d / s) for d, s in zip(difference, spread, strict=True) if s > 0]


def test_cobalt_drops_as_many_as_ns3s_with_its_random_part() -> None:
    # Two sided 99.9 % of Student's t with 38 degrees of freedom is 3.57.
    distances = _distances(openloop.COBALT)
    assert distances
    assert max(map(abs, distances)) < 3.57
    assert max(map(abs, _distances(openloop.COBALT + " p_inc 1%"))) > 3.57


# What the closed-loop comparison must notice: CoDel's interval doubled, PIE's target times 1.5, RED's max_p doubled.
@pytest.mark.parametrize(
    ("kind", "change"), [("codel", "interval 200ms"), ("pie", "target 22500us"), ("red", "max_p 0.04")]
)
def test_the_comparison_notices_a_wrong_parameter(monkeypatch: pytest.MonkeyPatch, kind: str, change: str) -> None:
    points = [point for point in ns3.points() if point.recipe["queue"] == kind and point.recipe["flows"] in {5, 20}]
    wrong = [replace(point, scheme=_changed(point.scheme, change)) for point in points]
    monkeypatch.setitem(crosscheck.POINTS, "ns3", lambda: points)
    assert crosscheck.check("ns3").agrees
    monkeypatch.setitem(crosscheck.POINTS, "ns3", lambda: wrong)
    assert not crosscheck.check("ns3").agrees


def _changed(scheme: str, change: str) -> str:
    key = change.split(" ", 1)[0]
    words = scheme.split(" ")
    if key in words:
        at = words.index(key)
        del words[at : at + 2]
    return " ".join([*words, change])


POINT = Point("p", {}, "pfifo", {"m": Theirs(100.0)}, ())


def _row(values: list[float], theirs: Theirs, **rule: object) -> compare.Row:
    metric = Metric("m", "m", "", 1, lambda run: float(run.measured["v"]), **rule)  # type: ignore[arg-type]
    return compare.row(replace(POINT, theirs={"m": theirs}), metric, [Run({"v": value}) for value in values])


def test_a_small_difference_passes_and_a_larger_one_does_not() -> None:
    assert _row([102.0] * 3, Theirs(100.0), relative=0.02).passes
    assert not _row([102.1] * 3, Theirs(100.0), relative=0.02).passes
    assert _row([102.1] * 3, Theirs(100.0), relative=0.02, absolute=3.0).passes


def test_noise_is_the_peers_and_excuses_half_a_tolerance_at_the_most() -> None:
    # Four runs of standard deviation 8: 3 standard errors of the mean are 12. The tolerance is 10, so noise may
    # excuse up to 15.
    theirs = Theirs(100.0, 4, 8.0)
    assert [_row([value], theirs, relative=0.1).passes for value in (110.0, 112.0, 112.1)] == [True, True, False]
    assert not _row([112.0], theirs, relative=0.1).is_within_tolerance
    wild = Theirs(100.0, 4, 80.0)
    assert [_row([value], wild, relative=0.1).passes for value in (85.0, 84.9)] == [True, False]


def test_our_own_spread_excuses_nothing() -> None:
    # Ours 60 to 140 around 115: the peer ran once, or always alike.
    for theirs in (Theirs(100.0), Theirs(100.0, 3, 0.0)):
        assert not _row([60.0, 145.0, 140.0], theirs, relative=0.1).passes
        assert _row([60.0, 130.0, 140.0], theirs, relative=0.1).passes


def test_the_interval_is_of_both_sides() -> None:
    # Ours: 90, 100, 110: variance of the mean 100/3. Theirs: ten runs of standard deviation 20: 400/10. Together
    # 73.3, its root 8.563, times 1.96.
    assert _row([90.0, 100.0, 110.0], Theirs(60.0, 10, 20.0)).half_width == pytest.approx(16.78, abs=1e-2)
    assert _row([90.0, 100.0, 110.0], Theirs(60.0)).half_width == pytest.approx(1.96 * 5.7735, abs=1e-2)


def test_drops_below_a_hundred_are_too_few_whatever_ours_are() -> None:
    few = compare.theirs([3.3, 3.3, 3.2], 99)
    enough = compare.theirs([3.3, 3.3, 3.4], 100)
    for ours in (3.3, 50.0):
        row = _row([ours], few, relative=0.25, counts_drops=True)
        assert row.is_too_few
        assert not row.is_counted
        assert text.verdict(row) == "too few to judge"
        assert not _row([ours], enough, relative=0.25, counts_drops=True).is_too_few
        assert not _row([ours], few, relative=0.25).is_too_few
    tally = compare.tally("m", [_row([50.0], few, counts_drops=True), _row([3.3], enough, counts_drops=True)])
    assert (tally.passed, tally.points, tally.too_few) == (0, 1, 1)


def test_the_ceiling_is_the_share_of_the_peers_runs_that_agree_with_the_others() -> None:
    # 90, 100, 125 against the others' means 112.5, 107.5, 95: -22.5, -7.5, 30. Two means of 3 and 5 runs differ by
    # a standard deviation of root(1/3 + 1/5), a run and a mean of 2 by root(3/2): times 0.5963: -13.4, -4.5, 17.9.
    # Of the mean 105, 10 % are 10.5; 3 standard errors would be 31, so 15.75 are allowed: the third does not pass.
    theirs = compare.theirs([90.0, 100.0, 125.0])
    row = _row([105.0] * 5, theirs, relative=0.1)
    assert row.ceiling == pytest.approx(2 / 3)
    # With 17 % 26.8 are allowed, without noise 17.85 and 17.9 would be a miss by a hair.
    assert _row([105.0] * 5, theirs, relative=0.17).ceiling == 1.0
    assert _row([105.0] * 5, theirs, relative=0.17, errors=0.0).ceiling == pytest.approx(2 / 3)
    # One replication of ours is known less well: factor root((1/3 + 1)/(3/2)) = 0.943.
    assert _row([105.0], theirs, relative=0.17).ceiling == pytest.approx(2 / 3)
    assert _row([105.0] * 5, Theirs(105.0), relative=0.1).ceiling is None


def test_the_ceiling_of_a_mean_and_its_spread_is_a_normal_distributions() -> None:
    # Four runs and four of ours: root(1/4 + 1/4) of 20 is 14.14. 1.5 times 10 are allowed, 1.0607 of it: 71.1 %.
    assert _row([100.0] * 4, Theirs(100.0, 4, 20.0), relative=0.1).ceiling == pytest.approx(0.7112, abs=1e-4)
    assert _row([100.0] * 4, Theirs(100.0, 4, 0.0), relative=0.1).ceiling == 1.0


def test_nineteen_in_twenty_must_pass_or_the_ceiling_less_two_points() -> None:
    good, bad = _row([100.0], Theirs(100.0), relative=0.1), _row([200.0], Theirs(100.0), relative=0.1)
    assert Outcome("ns3", (good,) * 19 + (bad,)).agrees
    assert not Outcome("ns3", (good,) * 18 + (bad,)).agrees
    assert not Outcome("ns3", ()).agrees
    not_counted = replace(bad, point=replace(POINT, no_reference="phase"))
    assert Outcome("ns3", (good, not_counted)).agrees
    # A ceiling of 2/3 needs 64.7 %: 13 of 20 are 65 %, 12 are 60 %.
    wild = compare.theirs([90.0, 100.0, 125.0])
    near, far = _row([105.0] * 5, wild, relative=0.1), _row([200.0] * 5, wild, relative=0.1)
    assert Outcome("linux", (near,) * 13 + (far,) * 7).agrees
    assert not Outcome("linux", (near,) * 12 + (far,) * 8).agrees


def test_groups_of_points_are_counted_apart() -> None:
    good, bad = _row([100.0], Theirs(100.0), relative=0.1), _row([200.0], Theirs(100.0), relative=0.1)
    drawn = replace(bad, point=replace(POINT, group="development"))
    titles = {tally.title: (tally.passed, tally.points) for tally in Outcome("linux", (good, drawn)).metrics()}
    assert titles == {"m": (1, 1), "development: m": (0, 1)}


def test_the_recorded_probability_of_pie_goes_beyond_one() -> None:
    # tc prints the fraction of it. Above 250 ms and 10 %, every update adds 0.02 and 0.02: 28 updates from 0.35 on.
    rows = [row for row in records.table("linux_pie_probability.csv") if 0.8 < float(row["t_s"]) < 1.45]
    printed = [float(row["printed_probability"]) for row in rows]
    assert min(float(row["delay_ms"]) for row in rows) > 250
    steps = np.diff(printed) % 1 / 0.04
    assert steps == pytest.approx(np.round(steps), abs=0.01)
    assert set(np.round(steps)) == {2, 3}
    assert printed[0] + 0.04 * np.round(steps).sum() == pytest.approx(0.35 + 28 * 0.04, abs=0.001)


def test_teeth_of_a_sawtooth() -> None:
    # From 50 up to 100 in steps of one every 50 ms, 51 samples a tooth: period 2.55 s, amplitude 50.
    t_s = [0.05 * k for k in range(600)]
    found = sawtooth.teeth(t_s, [50 + k % 51 for k in range(600)])
    assert (found.period_s, found.amplitude) == (pytest.approx(2.55), 50)
    with pytest.raises(ValueError, match="at least two peaks"):
        sawtooth.teeth(t_s, list(range(600)))


@pytest.mark.parametrize("points", [linux.points, ns3.points, ns2.points])
def test_names_of_points_are_unique(points: object) -> None:
    names = [point.name for point in points()]  # type: ignore[operator]
    assert len(names) == len(set(names))


def test_every_explanation_is_about_a_point() -> None:
    known = {
        peer: [(point.name, metric) for point in make() for metric in point.metrics]
        for peer, make in crosscheck.POINTS.items()
    }
    for entry in records.explanations():
        if entry.point.startswith("network") and not ns3_network.points():
            continue  # the scenario is in the threshold paper's folder
        rows = [
            compare.Row(replace(POINT, name=name), metric, 0.0, Theirs(0.0), 0.0, 1)
            for name, metric in known[entry.peer]
        ]
        assert any(entry.explains(entry.peer, row) for row in rows), entry.point


def test_the_page_shows_misses_and_what_explains_them() -> None:
    miss = _row([200.0], Theirs(100.0), relative=0.1)
    made = page.page([Outcome("ns3", (miss,), ((POINT, "unknown algorithm"),))])
    assert "**miss**" in made
    assert "Not explained yet" in made
    assert "unknown algorithm" in made


def test_the_command_says_by_its_status_whether_both_sides_agree(command: Command) -> None:
    done = command("crosscheck", "ns3", "--quick", "--json")
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0 if document["agrees"] else 1, "")
    metrics = (*ns3.METRICS, *ns3_lan.METRICS, *ns3_wlan.METRICS)
    assert {row["metric"] for row in document["rows"]} == {metric.key for metric in metrics}


def test_a_page_needs_every_peer(command: Command) -> None:
    done = command("crosscheck", "ns3", "--page", "page.md")
    assert done.returncode == 2
    assert "`all`" in done.stderr


def test_a_metric_may_have_its_own_noise_or_none() -> None:
    # Four runs of standard deviation 10: a standard error is 5; the tolerance of 9.5 excuses up to 14.25 as noise.
    theirs = Theirs(100.0, 4, 10.0)
    assert _row([114.0], theirs, relative=0.095).passes
    assert not _row([114.0], theirs, relative=0.095, errors=2.0).passes
    assert _row([110.0], theirs, relative=0.095, errors=2.0).passes
    assert not _row([110.0], theirs, relative=0.095, errors=0.0).passes
    assert [_row([1.0], Theirs(1.0), relative=0.15, errors=errors).metric.rule() for errors in (3.0, 2.0, 0.0)] == [
        "15 %",
        "15 % or 2 standard errors",
        "15 %",
    ]


def test_the_lan_needs_ns3s_tcp_and_its_device_queue() -> None:
    point = next(point for point in ns3_lan.points() if point.name == "LAN, http, codel, device queue 100")
    metric = point.metrics[0]
    assert compare.row(point, metric, crosscheck._runs(point, 3, 1, None)).passes
    for change in ({"congestion_control": "cubic"}, {"hystart": False, "congestion_control": "cubic"}):
        scenario = ns3_lan.lan("http", 100)
        scenario["flows"][0]["transport"].update(change)
        other = replace(point, scenario=scenario)
        assert not compare.row(other, point.metrics[2], crosscheck._runs(other, 3, 1, None)).passes


def test_a_wlan_needs_the_longest_ampdu_in_time() -> None:
    point = next(point for point in ns3_wlan.points() if point.name == "WLAN, 1 station at 6500 kbit/s")

    def passes(**keys: str) -> bool:
        scenario = ns3_wlan.saturated(1, "6500 kbit/s", has_aggregates=True)
        scenario["cells"][0].update(keys)
        changed = replace(point, scenario=scenario)
        return compare.row(changed, point.metrics[0], crosscheck._runs(changed, 3, 1, None)).passes

    assert passes()
    assert not passes(aggregate_duration="1 s")
