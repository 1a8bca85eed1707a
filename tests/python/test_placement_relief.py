"""The rule of placement: full links, the delay that it expects, and its choice."""

from __future__ import annotations

import json

import pytest

from shared import Command
from sojourn.studies import topology
from sojourn.studies.placement import relief

LINE = "a, b, 20 Mbit/s, 2 ms\nb, c, 20 Mbit/s, 2 ms\n"


def case(demands: dict[tuple[str, str], float], text: str = LINE, **options: object) -> topology.Case:
    net = topology.parse(text, source="line")
    wanted = {(net.index(a), net.index(b)): value for (a, b), value in demands.items()}
    return topology.build(net, wanted, **({"udp": 0.0, "metric": "hops"} | options))  # type: ignore[arg-type]


def test_flows_grow_until_a_link_is_full() -> None:
    # Two flows a -> c and two a -> b share a-b: 5 Mbit/s each. So b-c carries 10 of 20 Mbit/s.
    loads = relief.allocation(case({("a", "c"): 1, ("a", "b"): 1}, flows=4))
    assert loads == pytest.approx({(0, 1): 1.0, (1, 2): 0.5, (1, 0): 0.0, (2, 1): 0.0})


def test_udp_has_what_it_sends() -> None:
    # Of ten flows from a to c, five are UDP; the load of 0.9 makes each 0.9 x 20 / 10 = 1.8 Mbit/s. TCP shares the
    # other 11 Mbit/s, so both links are full.
    of = case({("a", "c"): 1}, flows=10, udp=0.5)
    assert of.flow_bit_s == pytest.approx(1.8e6)
    assert relief.allocation(of)[0, 1] == pytest.approx(1.0)
    assert relief.Relief.of(of).tcp[0, 1] == 5
    assert relief.Relief.of(of).flows[0, 1] == 10


def test_data_in_one_direction_fills_a_buffer() -> None:
    # Four flows over two full links, 0.85 of a buffer in each; a scheme leaves 0.1.
    of = relief.Relief.of(case({("a", "c"): 1}, flows=4))
    assert of.delay(frozenset()) == pytest.approx(4 * 2 * 0.85)
    assert of.delay(frozenset({0})) == pytest.approx(4 * (0.1 + 0.85))
    # The last router sends no data.
    assert of.delay(frozenset({2})) == pytest.approx(4 * 2 * 0.85)


def test_data_in_both_directions_share_a_buffer_and_rise_by_turns() -> None:
    # Four flows each way over two links: 0.66 x 4/8 on each of four ways. With a scheme in the middle, its two ways
    # have 0.1, and the two towards it rise to 0.5; with one at an end, one way has 0.1 and the opposite one 0.5.
    of = relief.Relief.of(case({("a", "c"): 1, ("c", "a"): 1}, flows=8))
    assert of.delay(frozenset()) == pytest.approx(4 * 4 * 0.33)
    assert of.delay(frozenset({1})) == pytest.approx(4 * (2 * 0.1 + 2 * 0.5))
    assert of.delay(frozenset({0})) == pytest.approx(4 * (0.1 + 0.5 + 2 * 0.33))
    assert of.delay(frozenset({0, 1})) == pytest.approx(4 * (3 * 0.1 + 0.5))


def test_the_choice_is_the_least_delay() -> None:
    both = case({("a", "c"): 1, ("c", "a"): 1}, flows=8)
    # 4.8 in the middle, 5.04 at either end; with two, 3.2 for the middle and an end, 4.8 for both ends.
    assert relief.choose(both, 1) == {1}
    assert relief.choose(both, 2) == {0, 1}


def test_many_placements_are_chosen_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relief, "_MOST", 0)
    assert relief.choose(case({("a", "c"): 1, ("c", "a"): 1}, flows=8), 2) == {0, 1}


def test_routers_without_a_full_link_come_last() -> None:
    assert relief.choose(case({("a", "c"): 1}, flows=4), 2) == {0, 1}
    assert relief.choose(case({("a", "b"): 1}, flows=4), 2) == {0, 1}


def test_the_command_answers_without_a_simulation(command: Command) -> None:
    found = json.loads(
        command("place", "--topology", "topohub:sndlib/abilene", "--budget", "2", "--rule", "--json").stdout
    )
    net = topology.fill(topology.load("topohub:sndlib/abilene"), capacity_bit_s=20_000_000)
    of = topology.build(net, topology.demands(net)[0])
    assert found["routers"] == [net.nodes[k].name for k in sorted(relief.choose(of, 2))]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--budget", "12"], "--budget is 12; allowed: 1 to 11"),
        (["--objective", "p99_latency"], "--rule is about mean_latency"),
        (["--tcp", "transfers"], "--rule is about bulk TCP"),
    ],
)
def test_what_the_rule_cannot_answer_is_refused(command: Command, wrong: list[str], says: str) -> None:
    done = command("place", "--topology", "topohub:sndlib/abilene", "--budget", "2", "--rule", *wrong)
    assert done.returncode == 2
    assert says in done.stderr
