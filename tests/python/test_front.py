"""The front of tail drop: which schemes lie off it, on it and behind it."""

from __future__ import annotations

import numpy as np
import pytest

from sojourn.stats import front
from sojourn.stats.front import Criterion

MEASURES = (Criterion("delay", lower=True), Criterion("goodput", lower=False))


def _runs(seed: int, delay: float, goodput: float, count: int = 10) -> list[np.ndarray]:
    random = np.random.Generator(np.random.PCG64(seed))
    return [delay * (1 + 0.02 * random.standard_normal(count)), goodput * (1 + 0.002 * random.standard_normal(count))]


# Tail drop as a queue of `limit` packets of 0.6 ms each, whose goodput is what a window of that size keeps.
FRONT = {limit: _runs(limit, 0.6 * limit, 20 * limit / (limit + 2)) for limit in front.LIMITS}


@pytest.mark.parametrize(
    ("delay", "goodput", "place"),
    [
        # The delay of 20 packets with the goodput of 200 (19.8 Mbit/s), where 20 have 18.2.
        (12.0, 19.8, "off"),
        # A point of the front itself.
        (12.0, 20 * 20 / 22, "on"),
        # Between 20 and 32 packets.
        (15.6, 20 * 26 / 28, "on"),
        # The delay of 200 packets with the goodput of 20.
        (120.0, 18.2, "behind"),
        # A goodput above all, by less than the margin of 1 %, with the delay of 80 packets.
        (48.0, 19.6, "on"),
        # Less delay than the shortest queue, and no goodput: no buffer is that short.
        (0.5, 2.0, "off"),
    ],
)
def test_a_scheme_lies_off_on_or_behind_the_front(delay: float, goodput: float, place: str) -> None:
    """Places follow from the values by hand."""
    assert front.standings({"it": _runs(1, delay, goodput)}, FRONT, MEASURES)["it"].place == place


def test_points_of_the_front_are_rarely_called_off_it() -> None:
    """Of schemes that are points of the front, at most the level's share is called off it.

    The level allows 10 of 200 fronts of noise; 20 are 3.2 standard errors above.
    """
    wrong = 0
    for seed in range(200):
        points = {limit: _runs(1000 * seed + limit, 0.6 * limit, 20 * limit / (limit + 2)) for limit in front.LIMITS}
        own = _runs(1000 * seed + 999, 12.0, 20 * 20 / 22)
        wrong += front.standings({"it": own}, points, MEASURES)["it"].place == "off"
    assert wrong < 20


def test_holms_correction_is_over_the_schemes() -> None:
    """A scheme beside others has a p-value that is at least that of the scheme alone."""
    # Barely off the front: the goodput of 26 packets at the delay of 24.
    own = _runs(7, 13.6, 18.85)
    alone = front.standings({"it": own}, FRONT, MEASURES)["it"].p_off
    others = {f"other {k}": _runs(k, 120.0, 18.0) for k in range(30)}
    beside = front.standings({"it": own, **others}, FRONT, MEASURES)["it"].p_off
    assert beside == pytest.approx(min(1.0, 31 * alone))


def test_values_without_a_p_value_are_not_off_the_front() -> None:
    """A single replication shows nothing."""
    own = [values[:1] for values in _runs(1, 12.0, 19.8)]
    points = {limit: [one[:1] for one in values] for limit, values in FRONT.items()}
    assert front.standings({"it": own}, points, MEASURES)["it"].place == "on"
