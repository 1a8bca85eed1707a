"""Comparisons over sweeps and between conditions, on values whose outcome is known by hand, and their error rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from claims import claim
from sojourn.stats import Floats
from sojourn.studies.papers import At, Claim, Outcome, Setting, Words, documents, logic, shipped, trends
from sojourn.studies.papers.conditions import NotThereError, places_of
from sojourn.studies.papers.judge import MAKERS, judge, statement
from sojourn.studies.papers.model import Condition
from sojourn.studies.papers.points import level_of, part_of

HOLDS, FAILS = Outcome.HOLDS, Outcome.FAILS
ROWS = ("sojourn_ms_mean", "loss_ratio", "goodput_bit_s")
# What every scheme and condition has alike in a replication; it cancels in differences.
SHARED = np.array([-1.0, -1.0, 1.0, 1.0])
Curves = dict[str, list[float]]


def at(means: dict[str, float], level: float = np.nan, metric: str = "sojourn_ms_mean", name: str = "") -> At:
    return At(name, {metric: {scheme: mean + SHARED for scheme, mean in means.items()}}, level)


def over(one: Claim, curves: Curves, levels: Sequence[float] = (), words: Words | None = None) -> Setting:
    count = len(next(iter(curves.values())))
    points = tuple(
        at({scheme: curve[k] for scheme, curve in curves.items()}, (levels or range(count))[k], one.metric)
        for k in range(count)
    )
    return Setting(one.subject, one.against, tuple(curves), points, words or Words())


def beside(one: Claim, here: dict[str, float], *others: dict[str, float], words: Words | None = None) -> Setting:
    points = (at(here, metric=one.metric),)
    groups = tuple((at(other, metric=one.metric),) for other in others)
    return Setting(one.subject, one.against, tuple(here), points, words or Words(), groups)


@pytest.mark.parametrize(
    ("one", "curves", "expected"),
    [
        (claim("increases_with"), {"a": [1000, 2000, 3000]}, HOLDS),
        (claim("decreases_with"), {"a": [1000, 2000, 3000]}, FAILS),
        (claim("decreases_with"), {"a": [3000, 2000, 1000]}, HOLDS),
        # A plateau is no fall, nor is one of 5 % (the margin is 10 %); of 20 % it is, though the trend rises:
        # -1.5 * 1000 - 0.5 * 2000 + 0.5 * 1600 + 1.5 * 3000 = 2800.
        (claim("increases_with"), {"a": [1000, 2000, 2000, 2000]}, HOLDS),
        (claim("increases_with"), {"a": [1000, 2000, 1900, 3000]}, HOLDS),
        (claim("increases_with"), {"a": [1000, 2000, 1600, 3000]}, FAILS),
        # Equal throughout is no rise; up by 5 % and back is none: -1 * 1000 + 0 + 1 * 1000 = 0.
        (claim("increases_with"), {"a": [1000, 1000, 1000]}, FAILS),
        (claim("increases_with"), {"a": [1000, 1050, 1000]}, FAILS),
        (claim("increases_with", "a b"), {"a": [1000, 2000, 3000], "b": [1000, 1000, 900]}, FAILS),
        (claim("increases_with", "a b", is_best_of=True), {"a": [1000, 2000, 3000], "b": [1000, 1000, 900]}, HOLDS),
        # 1000 is 9.1 % below 1100 and 16.7 % below 1200.
        (claim("insensitive_to"), {"a": [1000, 1100, 1050]}, HOLDS),
        (claim("insensitive_to"), {"a": [1000, 1100, 1200]}, FAILS),
        (claim("insensitive_to", is_negated=True), {"a": [1000, 1100, 1200]}, HOLDS),
        (claim("insensitive_to", "a b", is_negated=True), {"a": [1000, 1000, 1000], "b": [1000, 1500, 1000]}, HOLDS),
        (claim("insensitive_to", "a b", is_negated=True), {"a": [1000, 1000, 1000], "b": [1000, 1050, 1000]}, FAILS),
        # |d| from 100 to 500; from 500 to 100; from -100 to -500; from -100 to 500: wider; from -500 to 100: not.
        (claim("gap_increases_with", "a", "b"), {"a": [1100, 1200, 1500], "b": [1000, 1000, 1000]}, HOLDS),
        (claim("gap_increases_with", "a", "b"), {"a": [1500, 1200, 1100], "b": [1000, 1000, 1000]}, FAILS),
        (claim("gap_increases_with", "a", "b"), {"a": [900, 800, 500], "b": [1000, 1000, 1000]}, HOLDS),
        (claim("gap_increases_with", "a", "b"), {"a": [900, 1200, 1500], "b": [1000, 1000, 1000]}, HOLDS),
        (claim("gap_increases_with", "a", "b"), {"a": [500, 800, 1100], "b": [1000, 1000, 1000]}, FAILS),
        (claim("gap_decreases_with", "a", "b"), {"a": [500, 800, 1100], "b": [1000, 1000, 1000]}, HOLDS),
        (claim("gap_decreases_with", "a", "b"), {"a": [1100, 1200, 1500], "b": [1000, 1000, 1000]}, FAILS),
        (claim("gap_increases_with", "a", "b"), {"a": [1000, 1000, 1000], "b": [1000, 1000, 1000]}, FAILS),
        (claim("gap_decreases_with", "a", "b"), {"a": [1000, 1000, 1000], "b": [1000, 1000, 1000]}, FAILS),
        (claim("gap_increases_with", "a", "b c"), {"a": [9, 8, 5], "b": [10, 10, 10], "c": [10, 9, 6]}, FAILS),
        (claim("peaks_at"), {"a": [1000, 3000, 2000]}, HOLDS),
        (claim("peaks_at"), {"a": [1000, 2000, 3000]}, FAILS),
        (claim("peaks_at"), {"a": [1000, 1000, 1000]}, FAILS),
        (claim("peaks_at", is_negated=True), {"a": [1000, 2000, 3000]}, HOLDS),
        (claim("peaks_at", "a b", is_negated=True), {"a": [1000, 2000, 3000], "b": [1000, 3000, 2000]}, FAILS),
        # Tops over ends: 3000 - 2000 = 1000 and 4000 - 3500 = 500.
        (claim("peak_greater", "a", "b"), {"a": [1000, 3000, 2000], "b": [1000, 4000, 3500]}, HOLDS),
        (claim("peak_greater", "b", "a"), {"a": [1000, 3000, 2000], "b": [1000, 4000, 3500]}, FAILS),
        # No top above the end on either side: 0 and 0.
        (claim("peak_greater", "a", "b"), {"a": [1000, 2000, 3000], "b": [1000, 2000, 2500]}, FAILS),
    ],
)  # fmt: skip
def test_a_comparison_over_a_sweep_decides_as_by_hand(one: Claim, curves: Curves, expected: Outcome) -> None:
    assert judge(one, [over(one, curves)], ROWS).outcome == expected


def test_a_peak_lies_in_its_part_of_the_range() -> None:
    levels = [0.0, 5.0, 10.0, 50.0, 100.0]
    curve = {"a": [1000.0, 3000.0, 2000.0, 1500.0, 1000.0]}
    for part, expected in (
        ("0 % to 10 % of the range", HOLDS),
        ("50 % of the range", FAILS),
        # Within 10 % of 12 %: 5 and 10.
        ("12 % of the range", HOLDS),
    ):
        one = claim("peaks_at", at=part)
        assert judge(one, [over(one, curve, levels)], ROWS).outcome == expected
    assert part_of("65 % of the range", levels) == [3]
    assert part_of("50 % of the range", [0.0, 42.0, 58.0, 100.0]) == [1, 2]


@pytest.mark.parametrize(
    ("one", "here", "others", "expected"),
    [
        (claim("higher_in"), {"a": 2000}, [{"a": 1000}, {"a": 1900}], HOLDS),
        (claim("higher_in"), {"a": 2000}, [{"a": 1000}, {"a": 2100}], FAILS),
        (claim("higher_in", amount="6 times"), {"a": 6000}, [{"a": 1050}], HOLDS),
        (claim("higher_in", amount="6 times"), {"a": 6000}, [{"a": 1200}], FAILS),
        (claim("alike_in"), {"a": 1000}, [{"a": 1050}], HOLDS),
        (claim("alike_in"), {"a": 1000}, [{"a": 1050}, {"a": 2000}], FAILS),
        (claim("alike_in", "a b", is_negated=True), {"a": 1000, "b": 1000}, [{"a": 1000, "b": 3000}], HOLDS),
        # a over the best of b and c: 1000/2000 = 0.5 here; 1000/1500, 1000/4000 = 0.25 there.
        (claim("better_in", "a", "b c"),
         {"a": 1000, "b": 2000, "c": 4000}, [{"a": 1000, "b": 4000, "c": 1500}], HOLDS),
        (claim("better_in", "a", "b c"),
         {"a": 1000, "b": 2000, "c": 4000}, [{"a": 1000, "b": 4000, "c": 4000}], FAILS),
        # Of goodput: 3000/2000 = 1.5 here; 3000/4000 there, 3000/1500 = 2.
        (claim("better_in", "a", "b c", metric="goodput_bit_s"),
         {"a": 3000, "b": 2000, "c": 1000}, [{"a": 3000, "b": 4000, "c": 1000}], HOLDS),
        (claim("better_in", "a", "b c", metric="goodput_bit_s"),
         {"a": 3000, "b": 2000, "c": 1000}, [{"a": 3000, "b": 1500, "c": 1000}], FAILS),
        # 2000/1000 = 2 here; 3000/2000 = 1.5, 2000/5000 = 1/2.5 there, from either side.
        (claim("gap_greater_in", "a", "b"), {"a": 2000, "b": 1000}, [{"a": 3000, "b": 2000}], HOLDS),
        (claim("gap_greater_in", "b", "a"), {"a": 2000, "b": 1000}, [{"a": 3000, "b": 2000}], HOLDS),
        (claim("gap_greater_in", "a", "b"), {"a": 2000, "b": 1000}, [{"a": 2000, "b": 5000}], FAILS),
        (claim("gap_greater_in", "a", "b"), {"a": 2000, "b": 5000}, [{"a": 2000, "b": 1000}], HOLDS),
        (claim("gap_greater_in", "a", "b"), {"a": 1000, "b": 1000}, [{"a": 1000, "b": 1000}], FAILS),
        # b alone is better here, b and c there.
        (claim("rank_better_in"), {"a": 1000, "b": 900, "c": 1100}, [{"a": 1000, "b": 900, "c": 950}], HOLDS),
        (claim("rank_better_in"), {"a": 1000, "b": 900, "c": 1100}, [{"a": 1000, "b": 900, "c": 2000}], FAILS),
        (claim("rank_better_in", metric="goodput_bit_s"),
         {"a": 1000, "b": 900, "c": 1100}, [{"a": 1000, "b": 1200, "c": 1100}], HOLDS),
        (claim("rank_alike_in"), {"a": 1000, "b": 900, "c": 1100}, [{"a": 1000, "b": 2000, "c": 500}], HOLDS),
        (claim("rank_alike_in"), {"a": 1000, "b": 900, "c": 1100}, [{"a": 1000, "b": 2000, "c": 3000}], FAILS),
        (claim("rank_alike_in", is_negated=True), {"a": 1, "b": 9, "c": 2}, [{"a": 9, "b": 2, "c": 20}], HOLDS),
        # 1 - 1000/1100 = 0.09 here; 1 - 1000/1500 = 0.33 there.
        (claim("spread_lower_in", "a b c"),
         {"a": 1000, "b": 1100, "c": 1050}, [{"a": 1500, "b": 1000, "c": 1200}], HOLDS),
        (claim("spread_lower_in", "a b c"),
         {"a": 1500, "b": 1000, "c": 1200}, [{"a": 1000, "b": 1100, "c": 1050}], FAILS),
        (claim("spread_lower_in", "a b"), {"a": 1000, "b": 2000}, [{"a": 2000, "b": 1000}], FAILS),
    ],
)  # fmt: skip
def test_a_comparison_of_conditions_decides_as_by_hand(
    one: Claim, here: dict[str, float], others: list[dict[str, float]], expected: Outcome
) -> None:
    assert judge(one, [beside(one, here, *others)], ROWS).outcome == expected


def constant(one: Claim, here: dict[str, float], there: dict[str, float]) -> Outcome:
    sides = [At("", {one.metric: {scheme: np.full(3, mean) for scheme, mean in of.items()}}) for of in (here, there)]
    found = Setting(one.subject, one.against, tuple(here), (sides[0],), Words(), ((sides[1],),))
    return judge(one, [found], ROWS).outcome


def test_values_without_scatter_are_decided_without_a_test() -> None:
    assert constant(claim("higher_in"), {"a": 0.0}, {"a": 0.0}) == FAILS
    assert constant(claim("alike_in"), {"a": 0.0}, {"a": 0.0}) == HOLDS
    # 60 clients are six times 10, and 66 within the margin of 10 %: 60 >= 0.9 * 66.
    assert constant(claim("higher_in", amount="6 times"), {"a": 60.0}, {"a": 10.0}) == HOLDS
    assert constant(claim("higher_in", amount="6 times"), {"a": 60.0}, {"a": 11.0}) == HOLDS
    assert constant(claim("higher_in", amount="6 times"), {"a": 60.0}, {"a": 12.0}) == FAILS
    # The same ratio, which floating point does not show: 0.1/0.3 and 0.7/2.1 differ in their last digit.
    assert constant(claim("gap_greater_in", "a", "b"), {"a": 0.1, "b": 0.3}, {"a": 0.7, "b": 2.1}) == FAILS
    assert constant(claim("gap_greater_in", "a", "b"), {"a": 0.7, "b": 2.1}, {"a": 0.1, "b": 0.3}) == FAILS
    # Nothing against nothing is no distance, something against nothing is the greatest.
    assert constant(claim("gap_greater_in", "a", "b"), {"a": 2.0, "b": 1.0}, {"a": 0.0, "b": 0.0}) == HOLDS
    assert constant(claim("gap_greater_in", "a", "b"), {"a": 2.0, "b": 0.0}, {"a": 2.0, "b": 1.0}) == HOLDS
    assert constant(claim("gap_greater_in", "a", "b"), {"a": 0.0, "b": 0.0}, {"a": 2.0, "b": 1.0}) == FAILS
    # A sum of thirds that is zero but for rounding is no trend.
    third = [np.full(3, 0.1)] * 4
    assert not trends.slope(third).any()
    assert constant(claim("spread_lower_in", "a b"), {"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}) == FAILS


def test_a_product_of_means_is_estimated_without_bias() -> None:
    # x y of three pairs (1, 2), (2, 4), (3, 6): the mean of products is (2 + 8 + 18)/3 = 9.33, the product of means
    # 8. Without bias: the mean of x_i y_j over i != j, (1*4 + 1*6 + 2*2 + 2*6 + 3*2 + 3*4)/6 = 44/6 = 7.33.
    x, y, one = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]), np.ones(3)
    assert trends._difference_of_products(x, y, one, one).mean() == pytest.approx(44 / 6 - 1)
    # Replications that only one condition has are left out.
    assert trends._difference_of_products(np.append(x, 9.0), y, one, one).size == 3


def test_rank_correlation_does_not_take_common_chance_for_a_law() -> None:
    # Five replications without scatter. Ranks 1 2 3 4 5 and 1 3 2 5 4: 1 - 6 (0 + 1 + 1 + 1 + 1)/(5 (25 - 1)) = 0.8,
    # in the three of the second half.
    drivers = [np.full(5, mean) for mean in (1.0, 2.0, 3.0, 4.0, 5.0)]
    values = [np.full(5, mean) for mean in (10.0, 30.0, 20.0, 90.0, 80.0)]
    found = trends.rank_correlation(drivers, values)
    assert np.isnan(found[:2]).all()
    assert found[2:] == pytest.approx([0.8, 0.8, 0.8])
    assert not trends.rank_correlation([np.ones(5)] * 5, values)[2:].any()
    assert np.isnan(trends.rank_correlation([of[:4] for of in drivers], [of[:4] for of in values])).all()
    assert np.isnan(trends.rank_correlation(drivers[:4], values[:4])).all()
    # Equal means, and what chance does to the driver it does to the value: alike in every replication, and no law.
    draw = np.random.default_rng(2)
    for points, count in ((5, 5), (8, 5), (5, 20), (8, 20)):
        wrong, runs = 0, 400
        for _ in range(runs):
            noise = [draw.standard_normal(count) for _ in range(points)]
            wrong += logic.decide(logic.Sign(trends.rank_correlation(noise, noise))).truth is True
        # Three standard errors of 5 % in 400: 0.05 + 3 sqrt(0.05 * 0.95 / 400) = 0.083.
        assert wrong / runs < 0.083, (points, count)


def test_what_is_needed_counts_all_replications() -> None:
    # Mean 0.5, s 1.291 of four values that eight replications gave: 29 of them decide (test_papers_judge), so 58
    # runs.
    differences = np.array([1.0, -1.0, 2.0, 0.0])
    assert logic.decide(logic.Sign(np.append(np.full(4, np.nan), differences))) == logic.Decision(None, 58)


def test_follows_pools_conditions_and_any_is_better() -> None:
    def point(hits: float, sojourn: float, loss: float, goodput: float) -> At:
        of = {"hits": hits, "sojourn_ms_mean": sojourn, "loss_ratio": loss, "goodput_bit_s": goodput}
        return At("", {name: {"a": mean + np.append(SHARED, 0.0) / 1000} for name, mean in of.items()})

    def found(one: Claim, *points: At) -> Outcome:
        return judge(one, [Setting(("a",), (), ("a",), points)], ROWS).outcome

    # Hits rise; sojourn falls, loss falls, goodput falls: better in two of three.
    points = [point(k, 60 - k, 0.6 - k / 10, 60 - k) for k in range(1, 6)]
    assert found(claim("follows", driver="hits", metric="any"), *points) == HOLDS
    assert found(claim("follows", driver="hits"), *points) == FAILS
    assert found(claim("opposes", driver="hits"), *points) == HOLDS
    # Sojourn alone falls.
    points = [point(k, 60 - k, k / 10, 60 - k) for k in range(1, 6)]
    assert found(claim("follows", driver="hits", metric="any"), *points) == FAILS
    thirsty = [Setting(("a",), (), (), tuple(points))]
    assert judge(claim("follows", driver="thirst"), thirsty, ROWS).why == "thirst is not measured yet"


def test_in_each_of_the_six_for_alike() -> None:
    one = claim("insensitive_to", metric="any")

    def found(one: Claim, *curves: list[float]) -> Outcome:
        points = tuple(
            At("", {name: {"a": curve[k] + SHARED / 100} for name, curve in zip(ROWS, curves, strict=True)}, float(k))
            for k in range(3)
        )
        return judge(one, [Setting(("a",), (), ("a",), points)], ROWS).outcome

    flat, steep = [10.0, 10.0, 10.0], [10.0, 20.0, 30.0]
    assert found(one, flat, flat, flat) == HOLDS
    assert found(one, flat, flat, steep) == FAILS
    assert found(claim("insensitive_to", metric="any", is_negated=True), flat, flat, steep) == HOLDS


def test_sweeps_of_several_flows_hold_in_each_in_most_or_on_average() -> None:
    one = claim("increases_with", readings=("across",))
    up, down = {"a": [1000.0, 2000.0, 3000.0]}, {"a": [2000.0, 2000.0, 1000.0]}

    def found(across: str, *curves: Curves) -> Outcome:
        return judge(one, [over(one, of, words=Words(across=across)) for of in curves], ROWS).outcome

    assert found("each", up, up, down) == FAILS
    assert found("most", up, up, down) == HOLDS
    # Normalised to the highest of each: 1/3 1/3 1, 2/3 2/3 1, 1 1 0.5: means 0.56, 0.78, 0.83.
    assert found("mean", up, up, down) == HOLDS
    # (1/3 + 1 + 1)/3 = 0.78, (2/3 + 1 + 1)/3 = 0.89, (1 + 0.5 + 0.5)/3 = 0.67.
    assert found("mean", up, down, down) == FAILS


def noisy(one: Claim, curves: Curves, draw: Callable[[float], Floats], *others: dict[str, float]) -> Setting:
    count = len(next(iter(curves.values())))
    points = tuple(
        At("", {one.metric: {scheme: draw(curve[k]) for scheme, curve in curves.items()}}, float(k))
        for k in range(count)
    )
    groups = tuple((At("", {one.metric: {scheme: draw(mean) for scheme, mean in of.items()}}),) for of in others)
    return Setting(one.subject, one.against, tuple(curves), points, Words(), groups)


@pytest.mark.parametrize(
    ("one", "curves", "others", "truth"),
    [
        # On the border, where a decision for the other side is as likely as it can be.
        (claim("increases_with"), {"a": [100.0] * 5}, [], False),
        (claim("increases_with"), {"a": [100.0, 101.0, 102.0, 103.0]}, [], True),
        (claim("insensitive_to"), {"a": [90.0, 100.0]}, [], True),
        (claim("gap_increases_with", "a", "b"), {"a": [100.0] * 4, "b": [100.0] * 4}, [], False),
        (claim("gap_increases_with", "a", "b"), {"a": [120.0] * 4, "b": [100.0] * 4}, [], False),
        (claim("peaks_at"), {"a": [100.0] * 6}, [], False),
        (claim("peak_greater", "a", "b"), {"a": [100.0, 120.0, 100.0], "b": [50.0, 70.0, 50.0]}, [], False),
        (claim("higher_in"), {"a": [100.0]}, [{"a": 100.0}], False),
        (claim("better_in", "a", "b c"), {"a": [80.0], "b": [100.0], "c": [100.0]},
         [{"a": 40.0, "b": 50.0, "c": 50.0}], False),
        (claim("gap_greater_in", "a", "b"), {"a": [200.0], "b": [100.0]}, [{"a": 100.0, "b": 50.0}], False),
        (claim("gap_greater_in", "a", "b"), {"a": [100.0], "b": [100.0]}, [{"a": 50.0, "b": 50.0}], False),
        (claim("rank_better_in"), {"a": [100.0], "b": [100.0], "c": [100.0]},
         [{"a": 100.0, "b": 100.0, "c": 100.0}], False),
        (claim("spread_lower_in", "a b c"), {"a": [100.0], "b": [110.0], "c": [105.0]},
         [{"a": 200.0, "b": 220.0, "c": 210.0}], False),
    ],
)  # fmt: skip
def test_a_border_case_is_decided_wrongly_at_most_once_in_twenty(
    one: Claim, curves: Curves, others: list[dict[str, float]], truth: bool
) -> None:
    random = np.random.default_rng(11)
    count, wrong = 400, 0
    for _ in range(count):
        setting = noisy(one, curves, lambda mean: random.normal(mean, 8.0, 5), *others)
        found = logic.decide(statement(one, [setting], ROWS)).truth
        wrong += found is not None and found is not truth
    # Three standard errors of 5 % in 400: 0.05 + 3 sqrt(0.05 * 0.95 / 400) = 0.083.
    assert wrong / count < 0.083


@pytest.mark.parametrize(
    ("one", "curves", "others", "truth"),
    [
        (claim("increases_with"), {"a": [100.0, 150.0, 200.0, 200.0]}, [], True),
        (claim("increases_with"), {"a": [200.0, 150.0, 100.0, 100.0]}, [], False),
        (claim("insensitive_to"), {"a": [100.0, 100.0, 101.0]}, [], True),
        (claim("insensitive_to"), {"a": [100.0, 100.0, 130.0]}, [], False),
        (claim("gap_increases_with", "a", "b"), {"a": [110.0, 120.0, 150.0], "b": [100.0] * 3}, [], True),
        (claim("peaks_at"), {"a": [100.0, 160.0, 150.0, 100.0]}, [], True),
        (claim("peaks_at"), {"a": [100.0, 120.0, 150.0, 200.0]}, [], False),
        (claim("better_in", "a", "b c"), {"a": [80.0], "b": [200.0], "c": [210.0]},
         [{"a": 80.0, "b": 100.0, "c": 300.0}], True),
        (claim("gap_greater_in", "a", "b"), {"a": [200.0], "b": [100.0]}, [{"a": 100.0, "b": 90.0}], True),
        (claim("spread_lower_in", "a b c"), {"a": [100.0], "b": [110.0], "c": [105.0]},
         [{"a": 100.0, "b": 200.0, "c": 150.0}], True),
    ],
)  # fmt: skip
def test_a_clear_case_is_decided_with_ten_replications(
    one: Claim, curves: Curves, others: list[dict[str, float]], truth: bool
) -> None:
    random = np.random.default_rng(12)
    found = [
        logic.decide(
            statement(one, [noisy(one, curves, lambda mean: random.normal(mean, 5.0, 10), *others)], ROWS)
        ).truth
        for _ in range(50)
    ]
    assert found.count(truth) >= 45
    assert found.count(not truth) == 0


def condition(flow: str, model: str = "cbr", sweep: str = "", point: str = "", schemes: str = "a b") -> Condition:
    name = "-".join(part for part in (flow, model, sweep, point) if part)
    of = tuple(schemes.split())
    return Condition(name=name, title=name, flow=flow, model=model, schemes=of, sweep=sweep, at=point)


LOADS = [condition("ftp", sweep="load", point=point) for point in ("10 Mbit/s", "50 kbit/s", "1 Mbit/s", "5 Mbit/s")]
ALL = (
    *LOADS,
    condition("ftp"),
    condition("http"),
    condition("http", "vbr"),
    condition("ftp", "vbr"),
    condition("ftp", sweep="rate", point="20 %"),
)


def names(one: Claim, conditions: Sequence[Condition] = ALL) -> list[tuple[str, ...]]:
    found = places_of(one, conditions)
    return [tuple(part.name for group in (place.points, *place.others) for part in group) for place in found]


def traffic(comparison: str, **more: Any) -> Claim:
    return claim(comparison, **({"flow": ("ftp",), "model": ("cbr",)} | more))


def test_a_claim_is_about_its_traffic_its_point_or_each_point() -> None:
    assert names(traffic("lower")) == [("ftp-cbr",)]
    assert names(traffic("lower", flow=("http", "ftp"))) == [("http-cbr",), ("ftp-cbr",)]
    assert names(traffic("lower", sweep=("load",), at="5000 kbit/s")) == [("ftp-cbr-load-5 Mbit/s",)]
    each = [(f"ftp-cbr-load-{point}",) for point in ("50 kbit/s", "1 Mbit/s", "5 Mbit/s", "10 Mbit/s")]
    assert names(traffic("lower", sweep=("load",))) == each
    assert names(traffic("lower", sweep=("load",), at="each point")) == each
    # No traffic named: all that was run with its schemes.
    assert names(claim("lower", "a", "b")) == [("ftp-cbr",), ("http-cbr",), ("http-vbr",), ("ftp-vbr",)]
    assert names(claim("lower", "a", "b", sweep=("load",))) == each
    # Of its features alone, where that was run.
    alone = [condition("ftp", sweep="load of Q0", point=point) for point in ("1 Mbit/s", "2 Mbit/s", "3 Mbit/s")]
    of_one = traffic("lower", sweep=("load",), features=("Q0",))
    assert names(of_one) == each
    assert names(of_one, (*ALL, *alone)) == [(one.name,) for one in alone]
    with pytest.raises(NotThereError, match="no traffic has been run with a and z"):
        names(claim("lower", "a", "z"))


def test_a_sweep_ascends_within_its_range() -> None:
    whole = ("ftp-cbr-load-50 kbit/s", "ftp-cbr-load-1 Mbit/s", "ftp-cbr-load-5 Mbit/s", "ftp-cbr-load-10 Mbit/s")
    rise = traffic("increases_with", sweep=("load",))
    assert names(rise) == [whole]
    # A point of the sentence's other claims is none of a trend's.
    assert names(traffic("increases_with", sweep=("load",), at="10 Mbit/s")) == [whole]
    part = traffic("increases_with", sweep=("load",), sweep_range="50 kbit/s to 5 Mbit/s")
    assert names(part) == [whole[:3]]
    assert names(traffic("follows", sweep=("load",), driver="x")) == [whole]
    # Four points: a third is one.
    high = traffic("higher_in", sweep=("load",), at="low load", instead_at="high load")
    assert names(high) == [(whole[0], whole[3])]
    models = traffic("insensitive_to", flow=("http", "ftp"), model=("cbr", "vbr"), sweep=("traffic_model",))
    assert names(models) == [("http-cbr", "http-vbr"), ("ftp-cbr", "ftp-vbr")]


def test_a_comparison_of_conditions_changes_what_it_names() -> None:
    other = traffic("alike_in", model=("cbr", "vbr"), instead_flow=("http",))
    assert names(other) == [("ftp-cbr", "http-cbr"), ("ftp-vbr", "http-vbr")]
    at_point = traffic("alike_in", sweep=("load",), at="1 Mbit/s", instead_flow=("http",), instead_at="no sweep")
    assert names(at_point) == [("ftp-cbr-load-1 Mbit/s", "http-cbr")]
    together = traffic("rank_alike_in", model=("cbr", "vbr"), instead_flow=("http",))
    assert names(together) == [("ftp-cbr", "ftp-vbr", "http-cbr", "http-vbr")]


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (traffic("lower", flow=("voip",)), "voip cbr has not been run"),
        (traffic("lower", sweep=("load",), at="2 Mbit/s"), "load 2 Mbit/s, ftp cbr has not been run"),
        (traffic("lower", at="start"), "no condition represents 'start'"),
        (traffic("increases_with", sweep=("rate",)),
         "the sweep of rate, ftp cbr: only 1 of its points have been run"),
        (traffic("increases_with", sweep=("drop_rate",), features=("Q0", "Q1")),
         "the sweep of drop rate, ftp cbr: none of its points have been run"),
        (traffic("increases_with", sweep=("load",), sweep_range="50 kbit/s to 20 Mbit/s"),
         "load 20 Mbit/s, ftp cbr has not been run"),
        (traffic("alike_in", instead_model=("pareto",)), "ftp pareto has not been run"),
        (traffic("peaks_at", sweep=("load",), at="70 % to 90 % of the range"),
         "no point of load, ftp cbr, lies at 70 % to 90 % of the range"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(one: Claim, why: str) -> None:
    with pytest.raises(NotThereError) as error:
        places_of(one, ALL)
    assert str(error.value) == why


def test_a_missing_scheme_is_named_with_its_condition() -> None:
    one = claim("higher_in")
    here, there = at({"a": 1.0}, name="here"), at({"b": 1.0}, name="there")
    found = judge(one, [Setting(("a",), (), (), (here,), Words(), ((there,),))], ROWS)
    assert (found.outcome, found.why) == (Outcome.NOT_RUN, "a has not been run in there")


def test_levels_are_in_one_unit() -> None:
    assert [level_of(text) for text in ("1.5 Mbit/s", "50 kbit/s", "1400 B", "99 %")] == [1.5e6, 5e4, 1400, 99]
    assert np.isnan(level_of("small packets"))


NOT_OF_WINDOWS = [one for one in documents.names() if shipped.hook(documents.folder() / one, "run") is None]


@pytest.mark.parametrize("name", NOT_OF_WINDOWS)
def test_every_comparison_of_every_paper_is_evaluated(name: str) -> None:
    used = {one.comparison for one in documents.load(name).claims} - {"unjudgeable"}
    assert used
    assert used <= set(MAKERS)
