"""Statistics against numbers worked out by hand; t quantiles from printed tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from sojourn import stats
from sojourn.results import metrics


@pytest.mark.parametrize(("degrees", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045)])
def test_t_quantiles_are_those_of_the_printed_table(degrees: int, quantile: float) -> None:
    assert stats.quantile_t(degrees) == pytest.approx(quantile, abs=5e-4)


def test_interval_of_five_observations() -> None:
    # 1..5: mean 3, squared deviations 4+1+0+1+4 = 10, s = sqrt(10/4) = 1.58114, s/sqrt(5) = 0.70711,
    # t(4) = 2.77645: half-width 1.96324.
    found = stats.estimate([1, 2, 3, 4, 5])
    assert found.mean == 3
    assert found.low == pytest.approx(3 - 1.96324, abs=1e-5)
    assert found.high == pytest.approx(3 + 1.96324, abs=1e-5)
    assert found.half_width == pytest.approx(1.96324, abs=1e-5)
    assert found.replications == 5


def test_interval_of_two_observations() -> None:
    # 10, 12: s = sqrt(2), s/sqrt(2) = 1, t(1) = 12.70620: half-width 12.70620.
    found = stats.estimate([10, 12])
    assert (found.low, found.high) == (pytest.approx(11 - 12.7062, abs=1e-4), pytest.approx(11 + 12.7062, abs=1e-4))


def test_one_observation_has_no_interval() -> None:
    assert stats.estimate([7.0]) == stats.Estimate(7.0, None, None, 1)


def test_no_observation_has_no_mean() -> None:
    found = stats.estimate([math.nan, math.nan])
    assert math.isnan(found.mean)
    assert (found.low, found.replications) == (None, 0)


def test_missing_observations_are_left_out_and_counted() -> None:
    assert stats.estimate([1, math.nan, 3]).replications == 2


def test_paired_differences() -> None:
    # Differences 1, 2, 3: mean 2, s = 1, s/sqrt(3) = 0.57735, t(2) = 4.30265: half-width 2.48414.
    found = stats.paired([5, 7, 9], [4, 5, 6])
    assert found.mean == 2
    assert found.low == pytest.approx(2 - 2.48414, abs=1e-5)
    assert not found.excludes_zero
    # -0.48414 to 4.48414.
    assert [found.covers(value) for value in (-0.5, -0.48, 4.48, 4.49)] == [False, True, True, False]
    assert not stats.estimate([2]).covers(2)


def test_pairing_takes_out_what_the_pairs_share() -> None:
    # Traffic moves both schemes by 100 from run to run; their difference is always near 1:
    # differences 1.0, 1.1, 0.9: mean 1, s = 0.1, half-width 4.30265 * 0.1 / sqrt(3) = 0.24841.
    ours, theirs = [101.0, 201.1, 300.9], [100.0, 200.0, 300.0]
    assert stats.estimate(ours).half_width == pytest.approx(248, abs=1)
    found = stats.paired(ours, theirs)
    assert found.half_width == pytest.approx(0.24841, abs=1e-5)
    assert found.excludes_zero


def test_the_correlation_of_pairs_stands_beside_their_difference() -> None:
    # Deviations -1, 0, 1 and 0, -1, 1: r = 1/2; s^2 = t^2 = 1, so the differences have 1 + 1 - 2/2 = 1.
    found = stats.paired([1.0, 2.0, 3.0], [2.0, 1.0, 3.0])
    assert found.correlation == pytest.approx(0.5)
    assert metrics.written(found).endswith(", r 0.50")
    assert np.var([-1.0, 1.0, 0.0], ddof=1) == 1
    # Two pairs lie on a line whatever they are, and what does not vary has none; a mean is no difference.
    for none in (
        stats.paired([1.0, 2.0], [2.0, 5.0]),
        stats.paired([1.0, 2.0, 4.0], [3.0, 3.0, 3.0]),
        stats.estimate([1.0, 2.0, 4.0]),
    ):
        assert math.isnan(none.correlation)
        assert ", r" not in metrics.written(none)
    # A pair without a value does not count.
    assert stats.paired([1.0, 2.0, 9.0, 3.0], [2.0, 1.0, math.nan, 3.0]).correlation == pytest.approx(0.5)


def test_pairs_need_partners() -> None:
    with pytest.raises(ValueError, match="equal lengths"):
        stats.paired([1, 2], [1])


def test_prediction_interval_is_that_of_one_further_run() -> None:
    # 1..5: t(4) s sqrt(1 + 1/5) = 2.77645 * 1.58114 * 1.09545 = 4.80894.
    assert stats.prediction([1, 2, 3, 4, 5]) == pytest.approx((3 - 4.80894, 3 + 4.80894), abs=1e-4)
    assert stats.prediction([1]) is None


def test_the_ellipse_casts_the_intervals_as_its_shadows() -> None:
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 4, 3, 6])
    outline = stats.ellipse(x, y, points=20_001)
    assert outline is not None
    # x as above: 1.96324. y: mean 3.2, deviations -1.2, -2.2, 0.8, -0.2, 2.8: squares sum to
    # 1.44 + 4.84 + 0.64 + 0.04 + 7.84 = 14.8, s = sqrt(3.7) = 1.92354, half-width 2.77645 * 0.86023 = 2.38839.
    assert outline[:, 0].max() - 3 == pytest.approx(1.96324, abs=1e-5)
    assert outline[:, 1].max() - 3.2 == pytest.approx(2.38839, abs=1e-5)
    # Covariance (2.4 + 2.2 + 0 - 0.2 + 5.6)/4 = 2.5 above zero: the ellipse leans to the right, so its rightmost
    # point lies above the mean by correlation * 2.38839 = 2.5/(1.58114 * 1.92354) * 2.38839 = 1.96324.
    rightmost = outline[outline[:, 0].argmax()]
    assert rightmost[1] - 3.2 == pytest.approx(1.96324, abs=1e-2)


def test_two_pairs_have_no_ellipse() -> None:
    assert stats.ellipse([1, 2], [3, 4]) is None


@given(st_numpy.arrays(float, st.integers(3, 12), elements=st.floats(-1e3, 1e3)))
def test_an_ellipse_of_equal_pairs_is_finite(values: np.ndarray) -> None:
    outline = stats.ellipse(values, values)
    assert outline is not None
    assert np.isfinite(outline).all()


@pytest.mark.parametrize(
    ("shares", "index"),
    [
        ([1, 1, 1, 1], 1.0),
        ([1, 0, 0, 0], 0.25),
        ([2, 1], 0.9),  # (2+1)^2 / (2 (4+1)) = 9/10
    ],
)
def test_jain(shares: list[float], index: float) -> None:
    assert stats.jain(shares) == pytest.approx(index)


def test_distribution_functions_are_averaged_run_by_run() -> None:
    # At or below 1: 1/2 of the first run, all of the second: 3/4. At or below 2: all of both.
    value, share = stats.mean_cdf([(np.array([1.0, 2.0]), np.array([0.5, 1.0])), (np.array([1.0]), np.array([1.0]))])
    assert value.tolist() == [1.0, 2.0]
    assert share.tolist() == [0.75, 1.0]


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (12.3456, 0.0789, "12.346 ± 0.079"),
        (12345.6, 78.9, "12346 ± 79"),
        (0.00123, 0.000045, "0.001230 ± 0.000045"),
        (19.985, 0.0000012, "19.985 ± <0.001"),
        (5.0, 0.0, "5 ± 0"),
        (0.0, 0.012, "0.000 ± 0.012"),
        (3.14159, None, "3.142"),
        (1234567.0, None, "1234567"),
        (math.nan, None, "–"),
    ],
)
def test_numbers_have_the_digits_that_their_uncertainty_allows(value: float, half: float | None, text: str) -> None:
    assert metrics.rounded(value, half) == text
