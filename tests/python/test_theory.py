"""What theory says, against closed forms, against itself and against the simulator's own law."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from sojourn import theory
from sojourn.base.core import SojournError
from sojourn.cli import main
from sojourn.theory import stability
from sojourn.theory.controllers import Avq, Codel, Controller, Pi, Pie, Red, Rem, TailDrop, Threshold
from sojourn.theory.fluid import SAWTOOTH, FlowClass, Fluid, Link

PUBLISHED = [f"d{k}" for k in range(9)]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_nine_functions_hold_fifty_packets(name: str) -> None:
    # Seed study, section 2: each is there to give 50 packets at load 1; loss is 1/101 for a uniform queue.
    found = theory.queue(f"dropping_function function {name} count system", load=1.0)
    assert found.mean_packets == pytest.approx(50, abs=0.05)
    assert found.loss_ratio == pytest.approx(0.0099, abs=1e-4)


@pytest.mark.parametrize("shape", theory.SHAPES.values(), ids=lambda shape: shape.name)
def test_design_returns_the_published_locations(shape) -> None:
    found = theory.design(shape.name, theory.Goal(mean_packets=50))
    # Printed with two decimals at most, from constants rounded to six digits.
    assert found.location == pytest.approx(shape.location, abs=0.01)
    assert found.found.mean_packets == pytest.approx(50, abs=1e-6 if not found.is_whole else 0.05)
    published = theory.law(f"dropping_function function {shape.published} count system")
    own = theory.law(found.scheme)
    assert [own.at(n) for n in range(140)] == pytest.approx([published.at(n) for n in range(140)], abs=2e-3)


def test_design_meets_other_goals() -> None:
    loss = theory.design("red", theory.Goal(loss_ratio=0.05), load=1.02)
    assert loss.found.loss_ratio == pytest.approx(0.05)
    late = theory.design("min(1,max(0,(n-x)/50))", theory.Goal(quantile=(0.99, 120)), load=1.1)
    assert late.found.quantiles[0.99] == pytest.approx(120)
    with pytest.raises(SojournError, match="not a shape"):
        theory.design("oval", theory.Goal(mean_packets=50))
    with pytest.raises(SojournError, match="one of"):
        theory.Goal(mean_packets=50, loss_ratio=0.1)
    with pytest.raises(SojournError, match="no location"):
        theory.design("red", theory.Goal(mean_packets=50), load=0.5)


def test_no_steady_state_is_said() -> None:
    with pytest.raises(SojournError, match="no steady state"):
        theory.queue("dropping_function function d8", load=2.0)


def test_the_best_law_beats_every_published_one() -> None:
    # A lost packet costs as much as 5000 service times of delay.
    best = theory.admission(load=1.0, delay_cost=1, loss_cost=5000)
    for name in PUBLISHED:
        found = theory.queue(f"dropping_function function {name} count system", load=1.0)
        assert best.cost <= found.mean_packets + 5000 * found.loss_ratio + 1e-9
    # For a buffer of K at load 1: K/2 + 5000/(K + 1) is least at K + 1 = 100, where it is 99.5.
    assert (best.length, best.cost) == (99, pytest.approx(99.5))


def test_correlation_of_arrivals_lengthens_the_queue() -> None:
    law = "dropping_function function d1 count system"
    bursts = theory.switched(ratio=5, busy=0.3, cycle=100)
    assert theory.queue(law, load=0.9, arrivals=bursts).mean_packets > 2 * theory.queue(law, load=0.9).mean_packets


@pytest.mark.long
def test_a_change_of_load_starts_and_ends_in_steady_states() -> None:
    law = "dropping_function function d1 count system"
    found = theory.after_change(law, before=0.8, load=1.1, times=[0, 20_000])
    # The buffer's end at 301 packets changes nothing that can be seen here.
    assert found.mean_packets[0] == pytest.approx(theory.queue(law, load=0.8).mean_packets, rel=1e-6)
    assert found.mean_packets[1] == pytest.approx(theory.queue(law, load=1.1).mean_packets, rel=1e-6)


def test_rules_of_thumb() -> None:
    # sqrt(1.5/0.015) = 10.
    assert theory.square_root_window(loss_ratio=0.015) == pytest.approx(10)
    # Little loss: Padhye's timeouts vanish, and b = 1 gives sqrt(3/(2p)) per round trip.
    assert theory.padhye_rate(loss_ratio=1e-8, rtt_s=0.1) == pytest.approx(
        theory.square_root_window(loss_ratio=1e-8) / 0.1, rel=1e-3
    )
    # M/D/1: a = 1/2, load 1/(1 + sqrt(1/2)) = 0.5858.
    assert theory.kleinrock(scv=0).load == pytest.approx(2 - math.sqrt(2))
    with pytest.raises(SojournError, match="allowed"):
        theory.congestion_flows("some", room_packets=100)


CONTROLLERS: list[Controller] = [
    Red(min_packets=50, max_packets=150),
    Pi(),
    Pie(),
    Rem(),
    Avq(),
    Codel(),
    Threshold(q_th_packets=15),
    TailDrop(),
]


@pytest.mark.parametrize("controller", CONTROLLERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("tcp", ["reno", "cubic"])
def test_fixed_points_stand_still(controller: Controller, tcp: str) -> None:
    fluid = Fluid(
        [Link(capacity_packets_s=6250, controller=controller, buffer_packets=500)],
        [FlowClass(flows=50, base_rtt_s=0.1, tcp=tcp)],
    )
    found = fluid.steady()
    lost, derivative = fluid.flow(found.state)
    moved = derivative(lost) * 0.1
    # In a base RTT the windows and queues move by less than a millionth of themselves, or of a packet.
    scale = np.maximum(np.abs(found.state), 1.0)
    assert np.max(np.abs(moved) / scale) < 1e-6
    if tcp == "reno":
        # dW/dt = 0: W = sqrt(2/p).
        assert found.window_packets[0] == pytest.approx(math.sqrt(2 / found.probability[0]), rel=1e-9)


def test_a_network_shares_as_its_prices_say() -> None:
    # A long flow over two links and one short flow on each: p and 2p, so the long window is 1/sqrt(2) of the short.
    fluid = Fluid(
        [
            Link(capacity_packets_s=1000, controller=Pi(), buffer_packets=500),
            Link(capacity_packets_s=1000, controller=Pi(), buffer_packets=500),
        ],
        [
            FlowClass(flows=10, base_rtt_s=0.1, route=(0, 1)),
            FlowClass(flows=10, base_rtt_s=0.1, route=(0,)),
            FlowClass(flows=10, base_rtt_s=0.1, route=(1,)),
        ],
    )
    found = fluid.steady()
    assert found.window_packets[0] / found.window_packets[1] == pytest.approx(math.sqrt(0.5), rel=1e-9)
    carried = 10 * (found.rate_packets_s[0] + found.rate_packets_s[1]) * (1 - found.probability[0])
    assert carried == pytest.approx(1000, rel=1e-9)


def test_links_that_are_not_full_lose_nothing() -> None:
    fluid = Fluid(
        [
            Link(capacity_packets_s=1000, controller=Pi(), buffer_packets=500),
            Link(capacity_packets_s=5000, controller=Pi(), buffer_packets=500),
        ],
        [FlowClass(flows=10, base_rtt_s=0.1, route=(0, 1))],
    )
    found = fluid.steady()
    assert found.probability[1] == 0
    assert found.queue_packets[1] == 0


def test_a_large_network_settles() -> None:
    # 400 links under five controllers, 400 classes over three links each, chosen at random.
    random = np.random.default_rng(1)
    controllers = (Red(min_packets=50, max_packets=150), Pi(), Pie(), Rem(), Codel())
    fluid = Fluid(
        [
            Link(
                capacity_packets_s=float(random.uniform(2000, 20_000)),
                controller=controllers[k % 5],
                buffer_packets=1000,
            )
            for k in range(400)
        ],
        [
            FlowClass(
                flows=10,
                base_rtt_s=float(random.uniform(0.02, 0.2)),
                route=tuple(map(int, random.choice(400, 3, replace=False))),
            )
            for _ in range(400)
        ],
    )
    found = fluid.steady(within=1e-3)
    used = (fluid.routes @ (fluid.flows * found.rate_packets_s)) * (1 - found.probability) / fluid.capacity
    # A link that loses is full, and the others carry no more than they can.
    assert np.abs(used[found.probability > 0] - 1).max() < 1.1e-3
    assert used.max() < 1 + 1.1e-3
    assert 50 < np.count_nonzero(found.probability) < 400


@pytest.mark.long
def test_a_stable_run_ends_at_the_fixed_point_and_an_unstable_one_does_not() -> None:
    def spread(rtt: float) -> tuple[float, float]:
        fluid = Fluid(
            [Link(capacity_packets_s=6250, controller=Red(min_packets=50, max_packets=150), buffer_packets=1000)],
            [FlowClass(flows=50, base_rtt_s=rtt)],
        )
        found = fluid.run(duration_s=20, step_s=rtt / 20)
        late = found.queue_packets[found.time_s > 15, 0]
        return float(late.std()), abs(float(late.mean()) - float(fluid.steady().queue_packets[0]))

    # Its Hopf point is near 34 ms (below).
    still, off = spread(0.02)
    assert still < 0.01
    assert off < 0.01
    assert spread(0.06)[0] > 5


def test_characteristic_roots_of_a_known_equation() -> None:
    # x'(t) = -(pi/2) x(t - 1) has the roots +-i pi/2 on the axis: no delay can be added.
    one = np.array([[-math.pi / 2]])
    linear = stability.Linear(np.zeros((1, 1)), one, 1.0, None, np.array([1.0]), one[0])  # type: ignore[arg-type]
    first = stability.roots(linear)[0]
    assert (first.real, abs(first.imag)) == pytest.approx((0, math.pi / 2), abs=1e-9)
    margin = stability.delay_margin(linear)
    assert (margin.delay_s, margin.omega_rad_s) == pytest.approx((0, math.pi / 2), abs=1e-4)


def test_the_hopf_point_is_where_the_margin_ends() -> None:
    def model(rtt: float) -> Fluid:
        return Fluid(
            [Link(capacity_packets_s=6250, controller=Red(min_packets=50, max_packets=150), buffer_packets=1000)],
            [FlowClass(flows=50, base_rtt_s=rtt)],
        )

    found = stability.hopf(model, 0.01, 0.1)
    assert found is not None
    margin = stability.delay_margin(stability.linearise(model(found.value)))
    # Two methods: roots on Chebyshev points, and the loop's gain.
    assert margin.delay_s == pytest.approx(0, abs=1e-3 * found.value)
    assert 2 * math.pi / margin.omega_rad_s == pytest.approx(found.period_s, rel=1e-2)


def test_a_low_threshold_stays_stable_as_the_rtt_grows_and_a_high_one_is_not() -> None:
    def rate(q_th: float, rtt: float) -> float:
        return stability.growth(
            Fluid(
                [Link(capacity_packets_s=6250, controller=Threshold(q_th_packets=q_th))],
                [FlowClass(flows=50, base_rtt_s=rtt)],
            )
        )

    assert all(rate(15, rtt) < 0 for rtt in (0.02, 0.1, 0.3))
    assert rate(100, 0.1) > 0


def test_what_cannot_be_examined_is_said() -> None:
    with pytest.raises(SojournError, match="flat"):
        stability.linearise(
            Fluid(
                [Link(capacity_packets_s=6250, controller=Pi())], [FlowClass(flows=50, base_rtt_s=0.1, tcp="cubic")]
            )
        )
    with pytest.raises(SojournError, match="route"):
        Fluid([Link(capacity_packets_s=1000, controller=Pi())], [FlowClass(flows=1, base_rtt_s=0.1, route=(1,))])
    with pytest.raises(SojournError, match="step_s"):
        Fluid([Link(capacity_packets_s=1000, controller=Pi())], [FlowClass(flows=1, base_rtt_s=0.1)]).run(
            duration_s=1, step_s=0.2
        )


def test_the_sawtooth_closure_gives_mathis() -> None:
    # W p W/2 x 4/3 = 1: W = sqrt(3/(2p)).
    fluid = Fluid(
        [Link(capacity_packets_s=6250, controller=Pi(), buffer_packets=500)],
        [FlowClass(flows=50, base_rtt_s=0.1, closure=SAWTOOTH)],
    )
    found = fluid.steady()
    assert found.window_packets[0] == pytest.approx(theory.square_root_window(loss_ratio=float(found.probability[0])))


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["theory", *words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_the_command_answers(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = asked(
        capsys, "queue", "dropping_function function d0 count system", "--json", "--quantile", "0.5"
    )
    found = json.loads(out)
    assert status == 0
    assert found["mean_packets"] == pytest.approx(50)
    # Tail drop at load 1 with room for 100: mean run 2, L = 1/101.
    assert found["burst_ratio"] == pytest.approx(200 / 101)
    _, out, _ = asked(capsys, "design", "red", "--mean", "50")
    assert "dropping_function formula" in out
    _, out, _ = asked(
        capsys,
        "stability",
        "red min 50p max 150p gentle",
        "--flows",
        "50",
        "--rate",
        "75 Mbit/s",
        "--rtt",
        "20 ms",
        "--json",
    )
    # The Hopf point of the same loop, above, is near 34 ms.
    assert json.loads(out)["growth_per_s"] < 0
    assert json.loads(out)["hopf"]["value"] == pytest.approx(0.034, abs=0.001)
    _, out, _ = asked(capsys, "rules", "--flows", "50", "--rate", "75 Mbit/s", "--rtt", "100 ms", "--json")
    assert json.loads(out)["bandwidth-delay product"] == pytest.approx(625)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("queue", "codel"), "codel does not depend on the queue length alone"),
        (("queue", "dropping_function", "--bursts", "1,2"), "3 numbers"),
        (("design", "oval", "--mean", "50"), "not a shape"),
        (("stability", "fq_codel", "--flows", "1", "--rate", "1 Mbit/s", "--rtt", "1 ms"), "no fluid model"),
        (("rules", "--flows", "1", "--rate", "3", "--rtt", "1 ms"), "unit"),
    ],
)
def test_bad_questions_are_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    status, out, err = asked(capsys, *words)
    assert (status, out) == (2, "")
    assert said in err


def test_quantities_are_given_by_name() -> None:
    with pytest.raises(
        TypeError, match=r"^Link takes quantities by name: Link\(capacity_packets_s=\.\.\., controller="
    ):
        Link(6250, Pi(), 500)  # type: ignore[misc]
    with pytest.raises(
        TypeError, match=r"^congestion_flows takes .*: congestion_flows\(level, room_packets=\.\.\.\)$"
    ):
        theory.congestion_flows("mild", 1000)  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"^queue takes quantities by name: queue\(scheme, load=\.\.\."):
        theory.queue("pfifo", 1.0)  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'base_rtt_s'"):
        FlowClass(flows=1)  # type: ignore[call-arg]
