"""Statistics of simulation output against theory: coverage, error rates, known series."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import pytest
from scipy import special

import sojourn as sj
from shared import small_network
from sojourn import stats
from sojourn.results import text
from sojourn.stats import Floats
from sojourn.view.report import context, render


def ar1(phi: float, runs: int, n: int, seed: int) -> Floats:
    """Stationary series x_t = phi x_(t-1) + e_t with mean 0 and variance 1 / (1 - phi^2), a row each."""
    noise = np.random.default_rng(seed).standard_normal((runs, n))
    series = np.empty((runs, n))
    series[:, 0] = noise[:, 0] / math.sqrt(1 - phi**2)
    for t in range(1, n):
        series[:, t] = phi * series[:, t - 1] + noise[:, t]
    return series


# Effect sizes


def test_effect_of_four_pairs() -> None:
    # Differences 1, 2, 3, 2: mean 2, s^2 = (1 + 0 + 1 + 0) / 3, s = 0.81650: d = 2.44949, t = 2 d = 4.89898.
    # J(3) = Gamma(1.5) / (sqrt(1.5) Gamma(1)) = 0.886227 / 1.224745 = 0.723601: g = 1.772453.
    found = stats.effect([5, 7, 9, 8], [4, 5, 6, 6])
    assert found.size == pytest.approx(1.772453, abs=1e-6)
    # 2 P(t_3 > 4.89898): with u = t / sqrt(3) = 2 sqrt(2), P = 1/2 - (atan(u) + u / (1 + u^2)) / pi
    # = 0.5 - (1.230959 + 0.314270) / 3.141593 = 0.008138.
    assert found.p == pytest.approx(2 * 0.008138, abs=2e-6)


def test_limits_of_the_effect_are_those_of_the_noncentral_t() -> None:
    # 16 differences, half 0 and half 2: mean 1, s = sqrt(16/15), t = 4 / s = 3.872983. The library's inverse in the
    # noncentrality is another algorithm (a series by Lenth); ours integrates over s.
    found = stats.effect([0.0, 2.0] * 8, [0.0] * 16)
    for limit, share in ((found.low, 0.975), (found.high, 0.025)):
        assert limit == pytest.approx(special.nctdtrinc(15, share, 3.872983) / 4, rel=2e-3)


def test_effect_sizes_are_unbiased_and_their_intervals_cover() -> None:
    # The true effect is 0.8. g has standard deviation near sqrt(1/10 + 0.8^2/20) x 1.1 = 0.4: the mean of 2000 is
    # within 4 x 0.4 / sqrt(2000) = 0.036; d_z itself would be 0.8 / J(9) = 0.876. Coverage 0.95 within 4 x 0.0049.
    draws = np.random.default_rng(1).standard_normal((2000, 10)) + 0.8
    found = [stats.effect(row, np.zeros(10)) for row in draws]
    assert np.mean([effect.size for effect in found]) == pytest.approx(0.8, abs=0.036)
    covered = [
        effect.low is not None and effect.high is not None and effect.low < 0.8 < effect.high for effect in found
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)


def test_effects_at_the_edges() -> None:
    assert math.isnan(stats.effect([1.0], [0.0]).p)
    assert stats.effect([1.0, 2.0], [1.0, 2.0]).p == 1.0
    same = stats.effect([1.3, 2.3, 3.3], [1.0, 2.0, 3.0])
    assert (same.size, same.p) == (math.inf, 0.0)
    # No scatter anywhere, no t and no size: three equal signs in a row have the probability 2 / 2^3.
    fixed = stats.effect([2.0, 2.0, 2.0], [1.0, 1.0, 1.0])
    assert math.isnan(fixed.size)
    assert fixed.p == 0.25
    two = stats.effect([1.0, math.nan, 3.0], [0.0, 0.0, 0.0])
    assert two.pairs == 2
    # Gamma(0) is infinite: the mean of d_z of two pairs does not exist. t = 2 / 1: P = 1/2 - atan(2)/pi on each side.
    assert math.isnan(two.size)
    assert two.p == pytest.approx(1 - 2 * math.atan(2) / math.pi)
    with pytest.raises(ValueError, match="equal lengths"):
        stats.effect([1, 2], [1])


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.03, 0.04, times 3, 2, 1: 0.03, 0.06, 0.04; never falling: 0.03, 0.06, 0.06.
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    draws = np.random.default_rng(12).random(20) ** 3
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert stats.holm(draws) == pytest.approx(multitest.multipletests(draws, method="holm")[1])
    with_hole = stats.holm([0.01, math.nan, 0.04])
    assert with_hole[[0, 2]] == pytest.approx([0.02, 0.04])
    assert math.isnan(with_hole[1])


def test_holm_keeps_the_family_error() -> None:
    # Six schemes that are all like the baseline, ten replications. Uncorrected, some difference looks real in up to
    # 1 - 0.95^6 = 26 % of comparisons (less, as they share the baseline); corrected in at most 5 %:
    # of 1000, 50 + 3 x sqrt(1000 x 0.05 x 0.95) = 71.
    draws = np.random.default_rng(2).standard_normal((1000, 7, 10))
    alone = held = 0
    for baseline, *schemes in draws:
        p = [stats.paired_p(scheme, baseline) for scheme in schemes]
        alone += min(p) < 0.05
        held += bool((stats.holm(p) < 0.05).any())
    assert held <= 71
    assert alone > 130


# Quantiles


def test_bootstrap_interval_of_the_median_covers() -> None:
    # The median of 40 exponential values; true value ln 2. BCa of a median is known to fall a little short of 95 %.
    draws = np.random.default_rng(3).exponential(size=(150, 40))
    found = [stats.quantile_interval(row, 0.5, resamples=600, seed=k) for k, row in enumerate(draws)]
    covered = np.mean([each.low is not None and each.low <= math.log(2) <= (each.high or 0) for each in found])
    # 0.94 within three standard deviations of a share of 150, 0.058.
    assert 0.88 <= covered <= 1.0
    assert found[0] == stats.quantile_interval(draws[0], 0.5, resamples=600, seed=0)
    assert found[0] != stats.quantile_interval(draws[0], 0.5, resamples=600, seed=9)


def test_bootstrap_of_a_mean_is_near_students_interval() -> None:
    values = np.random.default_rng(4).standard_normal(50)
    ours, theirs = stats.bootstrap(values, lambda some: float(some.mean())), stats.estimate(values)
    assert ours.mean == pytest.approx(theirs.mean)
    assert ours.low == pytest.approx(theirs.low, abs=0.05)
    assert ours.high == pytest.approx(theirs.high, abs=0.05)


@pytest.mark.parametrize(("share", "least"), [(0.5, 6), (0.9, 36), (0.1, 36)])
def test_a_quantile_that_the_sample_cannot_bound_has_no_interval(share: float, least: int) -> None:
    # 0.5^5 = 0.031 > 0.025 >= 0.5^6; 0.9^35 = 0.0250316 > 0.025 >= 0.9^36.
    values = np.random.default_rng(5).standard_normal(least)
    assert stats.quantile_interval(values[1:], share, resamples=100).low is None
    assert stats.quantile_interval(values, share, resamples=100).low is not None
    with pytest.raises(ValueError, match="share"):
        stats.quantile_interval(values, 1.0)


def test_pooled_quantile_resamples_whole_runs() -> None:
    # Run k's packets all waited k ms: pooled, half of 1..9 wait at most 5. Within a run there is no scatter at all,
    # so an interval from packets would be too narrow to see; runs give one of several ms.
    curves = [(np.array([float(k)]), np.array([1.0])) for k in range(1, 10)]
    found = stats.pooled_quantile(curves, 0.5)
    assert found.mean == 5.0
    assert found.low is not None
    assert found.high is not None
    assert 1.0 <= found.low <= 4.0
    assert 6.0 <= found.high <= 9.0
    alike = stats.pooled_quantile(curves[:1] * 5, 0.5)
    assert (alike.low, alike.high) == (1.0, 1.0)


def test_results_have_quantiles_with_intervals(results: sj.Results) -> None:
    found = results.quantile("codel", "sojourn_ms", 0.99)
    by_run = results.values("codel", "sojourn_ms_p99")
    assert min(by_run) * 0.98 <= found.mean <= max(by_run) * 1.02
    with pytest.raises(sj.SojournError, match="no distribution"):
        results.quantile("codel", "nothing", 0.99)


# One long run


@pytest.mark.parametrize(("phi", "n"), [(0.0, 1000), (0.9, 10_000)])
def test_batch_means_cover(phi: float, n: int) -> None:
    # 400 series: 0.95 within 3 x sqrt(0.95 x 0.05 / 400) = 0.033. Student's interval on the values themselves, which
    # ignores that sums of an AR(1) have (1 + phi) / (1 - phi) = 19 times the variance, covers far less at 0.9:
    # 2 Phi(1.96 / sqrt(19)) - 1 = 0.35.
    found = [stats.batch_means(row) for row in ar1(phi, 400, n, seed=6)]
    covered = [(each.estimate.low or 0.0) <= 0 <= (each.estimate.high or 0.0) for each in found]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.033)
    assert np.mean([each.is_independent for each in found]) > 0.9


def test_batch_means_width_is_that_of_theory() -> None:
    # The variance of the mean of an AR(1) is 1 / ((1 - phi)^2 n): 1 / (0.01 x 10,000) = 0.01 for phi 0.9.
    # Half-width: t(29) x 0.1 = 2.045 x 0.1, on average, a little more with fewer batches.
    widths = [stats.batch_means(row).estimate.half_width or 0.0 for row in ar1(0.9, 200, 10_000, seed=7)]
    assert np.mean(widths) == pytest.approx(0.2045, rel=0.1)


def test_a_run_too_short_for_its_correlation_is_said_to_be() -> None:
    # phi = 0.995 forgets in 200 steps; ten batches of 50 cannot be independent.
    found = [stats.batch_means(row) for row in ar1(0.995, 50, 500, seed=8)]
    assert np.mean([each.is_independent for each in found]) < 0.3
    assert stats.batch_means([1.0] * 20).estimate.low is None


def test_batch_means_of_the_mm1_queue_hold_its_mean() -> None:
    # Theory: 3.2 packets wait at 80 % load. One run of 500 s; the interval at 95 %, so a seed is chosen once.
    network = sj.load("mm1", sets=["duration=510 s"])
    results = sj.run(network, seed=2, series=sj.ms(500))
    found = results.batch_means(results.labels[0])
    assert found.is_independent
    assert (found.estimate.low or 0) <= 3.2 <= (found.estimate.high or 0)
    # The variance of a time average over t is 2 rho (1 + rho)^... near 4 rho / (mu (1 - rho)^4 t) for heavy load:
    # 4 x 0.8 / (1250 x 0.0016 x 500) = 0.0032, half-width 2 x 0.057; within a factor of 2 here.
    assert 0.057 <= (found.estimate.half_width or 0) <= 0.228


# The warm-up


def test_mser_finds_the_end_of_a_step() -> None:
    # 100 values near 5, then 400 near 0: leaving out exactly 100 makes the rest cheapest.
    noise = 0.1 * np.random.default_rng(9).standard_normal(500)
    assert stats.mser(noise + np.where(np.arange(500) < 100, 5.0, 0.0)) == 100


def test_mser_by_hand() -> None:
    # Batch 1, values 9, then 1, 2 by turns, 12 of them. d = 0: mean 27/13, sum of squares 81 + 30 - 27^2/13 = 54.92,
    # over 13^2: 0.325. d = 1: 30 - 18^2/12 = 3, over 144: 0.0208. d = 2: 29 - 17^2/11 = 2.727, over 121: 0.0225.
    assert stats.mser([9.0, *[1.0, 2.0] * 6], batch=1) == 1


def test_mser_says_when_a_series_does_not_settle() -> None:
    assert stats.mser(np.arange(500.0)) is None
    assert stats.mser(np.zeros(20)) is None


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_a_stationary_series_is_seldom_called_biased(phi: float) -> None:
    # 1000 series at 1 %: 10 + 3 sqrt(10) = 19.5 for independent values. Batches of 20 are a little correlated at 0.8,
    # (1 + phi) / (1 - phi) = 9 steps of memory: up to twice as often.
    p = np.array([stats.initial_bias(row).p for row in ar1(phi, 1000, 320, seed=10)])
    assert (p < 0.01).sum() <= (39 if phi > 0.5 else 20)


def test_the_test_for_bias_has_its_level() -> None:
    # Independent values: p is uniform. Below 0.05 are 50 of 1000, within 3 x sqrt(1000 x 0.05 x 0.95) = 21.
    p = np.array([stats.initial_bias(row).p for row in ar1(0.0, 1000, 320, seed=13)])
    assert (p < 0.05).sum() == pytest.approx(50, abs=21)


def test_a_decaying_start_is_found() -> None:
    # AR(1) of deviation 1 / sqrt(1 - 0.25) = 1.15 that starts 8 above and forgets in 40 steps: the start adds
    # 8 x 40 / 320 = 1 to a mean whose standard error is 2 / sqrt(320) = 0.11.
    series = ar1(0.5, 200, 320, seed=11) + 8 * np.exp(-np.arange(320) / 40)
    found = [stats.initial_bias(row) for row in series]
    assert np.mean([each.p < 0.005 for each in found]) > 0.9
    assert all(each.statistic > 0 for each in found)
    assert np.median([stats.mser(row) or 0 for row in series]) == pytest.approx(100, abs=50)


def test_bias_at_the_edges() -> None:
    assert stats.initial_bias([1.0] * 100).p == 1.0
    assert stats.initial_bias([0.0] * 20 + [1.0] * 80).statistic == -math.inf
    assert stats.initial_bias([1.0] * 10).p == 1.0


def mm1(load: float, seconds: int, warm_up: str = "0 s") -> sj.Network:
    """The M/M/1 queue of 1250 packets a second, started empty."""
    rate = f"flows.poisson.traffic.packets_per_second={1250 * load:g}"
    return sj.load("mm1", sets=[f"duration={seconds} s", f"warm_up={warm_up}", rate])


def test_the_mm1_queue_started_empty_warns_where_it_matters() -> None:
    # At 95 % load it forgets in 1 / (1250 (1 - sqrt(0.95))^2) = 1.25 s: 10 s from empty are biased, and averaged over
    # 200 replications it shows. At 80 % that is 0.07 s: nothing to see.
    slow = sj.compare(mm1(0.95, 10), ["pfifo limit 10000p"], replicates=200, seed=2, series="50 ms")
    assert {found.what for found in slow.warnings} == {"queue_packets", "goodput_bit_s"}
    for found in slow.warnings:
        settled = re.search("too short: .* starts low and settles near ([0-9.]+) s$", found.text)
        assert settled is not None, found.text
        assert 0.5 < float(settled[1]) <= 5
    quick = sj.compare(mm1(0.8, 60), ["pfifo limit 10000p"], replicates=10, seed=4, series="200 ms")
    assert not quick.warnings


def test_an_overloaded_queue_never_settles() -> None:
    results = sj.run(mm1(1.2, 60), seed=1)
    assert any("steady state" in found.text for found in results.warnings)


def test_settled_runs_do_not_cry_wolf() -> None:
    # 30 comparisons of five schemes: at most 5 % may warn wrongly, 1.5 of 30; 4 of 30 has a probability of 6 %.
    schemes = ["pfifo limit 100p", "red min 15p max 45p limit 100p", "pie", "codel", "fq_codel"]
    network = sj.load("dumbbell", sets=["duration=20 s", "warm_up=5 s"])
    wolves = sum(bool(sj.compare(network, schemes, replicates=1, seed=seed).warnings) for seed in range(100, 130))
    assert wolves <= 3
    assert sj.compare(sj.load("dumbbell", sets=["warm_up=0 s"]), schemes, replicates=1, seed=1).warnings


def test_no_series_no_warning(results: sj.Results) -> None:
    network = sj.load("dumbbell", sets=["warm_up=0 s", "duration=5 s"])
    assert not sj.compare(network, ["codel"], replicates=1, series=None).warnings
    with pytest.raises(sj.SojournError, match="no time series"):
        results.batch_means("codel", "nothing")


# What a comparison shows of it


def alike_and_not() -> sj.Results:
    """CoDel beside itself under other names, and tail drop: some differences are real, some are not."""
    schemes = {
        "base": "codel",
        "nearly": "codel target 5100us",
        "near": "codel target 5200us",
        "drop": "pfifo limit 60p",
    }
    return sj.compare(small_network(), schemes, replicates=6, seed=5)


def test_a_comparison_marks_what_remains_after_the_correction() -> None:
    results = alike_and_not()
    table = results.differences().set_index(["scheme", "metric"])
    name = "sojourn_ms_mean"
    p = [stats.paired_p(results.values(label, name), results.values("base", name)) for label in results.labels[1:]]
    assert [table.loc[(label, name), "p_holm"] for label in results.labels[1:]] == pytest.approx(list(stats.holm(p)))
    assert table.loc[("drop", name), "p_holm"] < 0.05 < table.loc[("nearly", name), "p_holm"]
    shown = context.differences_table(results, "base")
    assert shown is not None
    for row in shown.rows:
        for cell, metric in zip(row.cells, shown.columns, strict=True):
            corrected = table.loc[(row.label, metric.name), "p_holm"]
            assert cell.is_sure == (corrected < 0.05)
            assert f"after Holm {corrected:.2g}" in cell.hint
    lines = {line.split()[0]: line for line in text.differences(results).splitlines() if line}
    assert "*" in lines["drop"]
    assert "*" not in lines["nearly"]


def test_the_json_document_has_effects_and_warnings() -> None:
    document = alike_and_not().to_document()
    row = next(row for row in document["differences"] if row["scheme"] == "drop" and row["metric"] == "loss_ratio")
    low, high = row["effect_interval"]
    assert low < row["effect"] < high
    assert row["p"] <= row["p_holm"] <= 1
    assert "low" not in row
    # A target of 5, 5.1 or 5.2 ms decides alike here.
    assert document["warnings"] == ["base, nearly and near gave the same results in every run"]
    late = sj.compare(sj.load("dumbbell", sets=["warm_up=0 s"]), ["codel"], replicates=1, seed=1)
    assert "warm-up of 0 s is too short" in " ".join(late.to_document()["warnings"])
    assert "warm-up of 0 s is too short" in render(late)


def test_the_best_is_better_than_all_others_together() -> None:
    schemes = {"a": "codel", "b": "codel target 6ms", "c": "codel target 7ms"}
    results = sj.compare(small_network(), schemes, replicates=4)
    # Differences of t = 3.5 on 3 degrees of freedom: p = 0.039 each, 0.079 for the two.
    scatter = np.array([-1.0, -1.0, 1.0, 1.0])
    just = scatter + 3.5 * math.sqrt(4 / 3) / 2
    for others, best in ((just, None), (just + 10, "a")):
        values = {"a": np.full(4, 100.0), "b": 100 + others, "c": 100 + others}
        runs = results.runs.assign(
            sojourn_ms_mean=[values[row.scheme][row.replication] for row in results.runs.itertuples()]
        )
        given = dataclasses.replace(results, frames=dict(results.frames) | {"runs": runs})
        assert given.best("sojourn_ms_mean") == best
        sentence = context.headlines(given)[0]
        assert ("not significantly different from b and c" in sentence) == (best is None)
        assert ("lower than every other" in sentence) == (best == "a")


def test_replications_that_repeat_one_run_are_warned_about() -> None:
    short = ["duration=4 s", "warm_up=1 s"]
    # The flows start at once; PIE draws whom it drops.
    fixed = sj.load("dumbbell", sets=[*short, "flows.bulk.start=0 s"])
    schemes = ["pfifo limit 100p", "codel", "pie"]
    results = sj.compare(fixed, schemes, replicates=2)
    [found] = [each for each in results.warnings if each.kind == "repeated"]
    assert found.where == ("pfifo limit 100p", "codel")
    assert found.text.startswith("pfifo limit 100p, codel: all replications are identical")
    # Two equal runs are one: of its own mean and of the difference of two such schemes there is no interval.
    assert results.estimate("codel", "goodput_bit_s").half_width is None
    assert results.difference("codel", "goodput_bit_s", "pfifo limit 100p").half_width is None
    assert math.isnan(results.effect("codel", "goodput_bit_s", "pfifo limit 100p").p)
    assert math.isnan(results.corrected("sojourn_ms_mean")["codel"])
    # PIE's runs differ, and so do their differences to the others.
    assert (results.difference("pie", "goodput_bit_s", "codel").half_width or 0.0) > 0.0
    assert not math.isnan(results.corrected("sojourn_ms_mean")["pie"])


def test_differences_of_identical_replications_are_not_significant() -> None:
    sets = ["duration=4 s", "warm_up=1 s", "flows.bulk.start=0 s"]
    results = sj.compare(sj.load("dumbbell", sets=sets), ["pfifo limit 100p", "codel"], replicates=3)
    table = text.differences(results)
    assert "*" not in table
    assert "±" not in table
    assert "all replications are identical: no interval and no significance" in table
    assert text.footnote(results) == "3 replications, seed 1, which are identical: no intervals."
    assert (
        "All replications are identical, so there is no interval and no conclusion." in context.headlines(results)[0]
    )
    assert results.best("sojourn_ms_mean") is None
    page = render(results)
    assert 'class="sure"' not in page
    # With a random start the same difference of some 40 ms is significant.
    short = ["duration=4 s", "warm_up=1 s"]
    assert " *" in text.differences(
        sj.compare(sj.load("dumbbell", sets=short), ["pfifo limit 100p", "codel"], replicates=3)
    )


def test_some_replications_are_no_repetition() -> None:
    short = ["duration=4 s", "warm_up=1 s"]
    fixed = sj.load("dumbbell", sets=[*short, "flows.bulk.start=0 s"])
    schemes = ["pfifo limit 100p", "codel", "pie"]
    for network, count in ((sj.load("dumbbell", sets=short), 2), (fixed, 1)):
        warned = sj.compare(network, schemes, replicates=count).warnings
        assert not any(each.kind == "repeated" for each in warned)
