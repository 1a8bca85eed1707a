"""The best dropping functions: the steady state against the compiled theory, the optimum against known ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sojourn as sj
from sojourn import theory
from sojourn.cli import main
from sojourn.theory import optimal

D1 = "dropping_function function d1 count system"
BURSTS = (5.0, 0.2, 50.0)


@pytest.mark.parametrize("load", [0.9, 1.0, 1.1])
def test_a_steady_state_is_that_of_theorem_1(load: float) -> None:
    found = optimal.of_scheme(optimal.model(load=load, room=300), D1)
    queue, runs = theory.queue(D1, load=load), theory.loss_runs(D1, load=load)
    assert found.mean_packets == pytest.approx(queue.mean_packets, rel=1e-8)
    assert found.loss_ratio == pytest.approx(queue.loss_ratio, rel=1e-6)
    assert found.burst_ratio == pytest.approx(runs.burst_ratio, rel=1e-6)
    # What is not lost is served: the utilisation is the load of the accepted packets.
    assert found.utilisation == pytest.approx(load * (1 - found.loss_ratio), rel=1e-9)


def test_a_steady_state_with_bursts_is_that_of_the_compiled_theory() -> None:
    # A buffer of 60 ends both in the same place.
    ends = theory.Law(np.r_[np.zeros(60)], 1.0)
    found = optimal.model(load=1.0, room=60, bursts=BURSTS).solve(optimal.step(60, 60))
    arrivals = theory.switched(ratio=BURSTS[0], busy=BURSTS[1], cycle=BURSTS[2])
    queue = theory.queue(ends, load=1.0, arrivals=arrivals)
    runs = theory.loss_runs(ends, load=1.0, arrivals=arrivals)
    assert found.mean_packets == pytest.approx(queue.mean_packets, rel=1e-8)
    assert found.loss_ratio == pytest.approx(queue.loss_ratio, rel=1e-8)
    assert found.burst_ratio == pytest.approx(runs.burst_ratio, rel=1e-6)


def test_a_batch_that_no_buffer_holds() -> None:
    # Batches of two at rate 1/2, room for one: with p(0) = P(empty), flow into 1 is p(0)/2 and out of it p(1), so
    # p(1) = 1/3. An empty system loses the second of two, a full one both: (1 * 2/3 + 2 * 1/3)/2 = 2/3 of all.
    found = optimal.model(load=1.0, room=1, batch={2: 1.0}, bursts=(1.0, 0.5, 1.0)).solve(np.array([0.0, 1.0]))
    assert found.utilisation == pytest.approx(1 / 3)
    assert found.loss_ratio == pytest.approx(2 / 3)
    # A run of losses ends when a batch finds the system empty. After a loss the packet in service has an exponential
    # time left, and the next batch an exponential of mean 2: it finds it served with (1)/(1 + 1/2) = 2/3. A run has
    # the losses between two such batches: the second packet, then two for each batch with 1/3: 1 + 2 * (1/3)/(2/3).
    assert found.burst_ratio == pytest.approx(2 * (1 - 2 / 3))


@pytest.mark.parametrize("loss_cost", [30.0, 1000.0])
def test_for_poisson_arrivals_the_best_is_naors_threshold(loss_cost: float) -> None:
    known = theory.admission(load=1.0, delay_cost=1.0, loss_cost=loss_cost)
    found = optimal.cheapest(optimal.model(load=1.0, room=100), loss_cost)
    assert found.threshold == known.length
    assert found.mean_packets + loss_cost * found.loss_ratio == pytest.approx(known.cost, rel=1e-9)


@pytest.mark.parametrize("more", [{}, {"bursts": BURSTS}, {"batch": {1: 0.5, 4: 0.5}, "bursts": (3.0, 0.3, 20.0)}])
def test_improvement_goes_where_the_cost_falls(more: dict[str, object]) -> None:
    of = optimal.model(load=1.0, room=20, **more)  # type: ignore[arg-type]
    d = np.r_[np.random.default_rng(1).uniform(0.1, 0.9, 20), 1.0]

    def cost(d: np.ndarray) -> float:
        found = of.solve(d)
        return found.mean_packets + 30 * found.loss_ratio * of.rate

    slopes = np.array([cost(d + 1e-6 * (np.arange(21) == n)) - cost(d) for n in range(20)])
    clear = np.abs(slopes) > 1e-10
    assert clear.sum() > 8
    assert (of.improved(d, 30.0)[:20][clear] == (slopes[clear] < 0)).all()


def test_with_batches_no_single_length_lowers_the_cost() -> None:
    of = optimal.model(load=1.0, room=30, batch={1: 0.5, 10: 0.5})
    best = optimal.cheapest(of, 50.0)

    def cost(d: np.ndarray) -> float:
        found = of.solve(d)
        return found.mean_packets + 50 * found.loss_ratio * of.rate

    assert all(
        cost(np.where(np.arange(31) == n, value, best.d)) >= cost(best.d) - 1e-9
        for n in range(30)
        for value in (0.0, 0.5, 1.0)
    )


def test_the_least_impairment_is_gradual_and_below_every_threshold() -> None:
    of = optimal.model(load=1.0, room=60)
    best = optimal.least_impairment(of, utilisation=0.97, knots=8)
    steps = [of.solve(optimal.step(length, 60)) for length in range(5, 61)]
    assert best.threshold is None
    assert best.utilisation > 0.969
    assert best.impairment < min(one.impairment for one in steps if one.utilisation >= 0.97)
    assert best.burst_ratio < 1.3


def test_the_command_compares_with_the_nine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["theory", "optimal", "--loss-cost", "100", "--room", "110", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Naor's threshold for a ratio of 100 at load 1 is 13, its cost 13.64 (docs: Designing a dropping function).
    assert found["threshold"] == 13
    assert found["best"]["cost"] == pytest.approx(13.643, abs=1e-3)
    assert found["d1"]["mean_packets"] == pytest.approx(50, abs=0.1)
    assert main(["theory", "optimal", "--loss-cost", "100", "--batch", "1:0.5,x"]) == 2
    assert "--batch='1:0.5,x'; allowed: sizes with their shares" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"load": 0.0}, "allowed: a load above 0"),
        ({"load": 1e30}, "and up to 1000"),
        ({"load": 1.0, "batch": {1: 0.5}}, "shares that sum to 1"),
        ({"load": 1.0, "bursts": (0.5, 0.5, 1.0)}, "a ratio of at least 1"),
        ({"load": 1.0, "room": 700, "bursts": BURSTS}, "allowed: 2 to 1200 states"),
    ],
)
def test_impossible_arrivals_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(sj.SojournError, match=message):
        optimal.model(**wrong)  # type: ignore[arg-type]


def test_losses_that_cost_nothing_are_all_taken() -> None:
    # An empty queue is the cheapest; C is 95 * 100 / (100 / 1 + 4.3).
    found = optimal.cheapest(optimal.model(load=0.9, room=20), 0.0)
    assert (found.mean_packets, found.loss_ratio) == (pytest.approx(0.0, abs=1e-12), 1.0)
    assert found.impairment == pytest.approx(9500 / 104.3)
    with pytest.raises(sj.SojournError, match="loss_cost=-1; allowed: at least 0"):
        optimal.cheapest(optimal.model(load=0.9, room=20), -1.0)
