"""Quality of Outcome, harm, goodput over intervals and responsiveness: by hand, and on runs with known values."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import sojourn as sj
from shared import Command
from sojourn.results import harm, outcome, smoothness
from sojourn.studies.working_conditions import evaluate, round_trips_per_minute, trimmed_mean

NEEDS = sj.Requirements(
    optimal={0.99: sj.ms(200), 0.999: sj.ms(300)},
    unacceptable={0.99: sj.ms(500), 0.999: sj.ms(600)},
    optimal_loss=0.01,
    unacceptable_loss=0.05,
    throughput=sj.mbit_s(4),
)


def line(rates: dict[str, float], *, delay_ms: int = 10, queue: str = "pfifo limit 100p") -> sj.Network:
    """Constant bit rates in Mbit/s, in packets of 1000 B, through 10 Mbit/s."""
    network = sj.Network(name="line", duration=sj.s(10), warm_up=sj.s(2)).link(
        name="link",
        from_="a",
        to="b",
        rate=sj.mbit_s(10),
        delay=sj.ms(delay_ms),
        queue=queue,
        under_test=True,
    )
    for name, rate in rates.items():
        traffic = sj.cbr(rate=sj.mbit_s(rate), packet_size=sj.bytes_(1000))
        transport = sj.udp(header=sj.bytes_(0))
        network = network.flow(name=name, from_="a", to="b", transport=transport, traffic=traffic)
    return network


def with_series(network: sj.Network, interval: str) -> sj.Network:
    return sj.Network.from_dict(network.to_dict() | {"series": {"interval": interval, "flows": True}})


def test_the_drafts_example() -> None:
    # draft-ietf-ippm-qoo-11, section 3.4: (350 - 200) / 300 = 0.5; (375 - 300) / 300 = 0.25; (2 - 1) / 4 = 0.25.
    found = outcome.score({0.99: 350.0, 0.999: 375.0}, 0.02, 28e6, NEEDS)
    assert found == pytest.approx({"outcome": 50.0, "delay": 50.0, "loss": 75.0, "throughput": 100.0})


def test_scores_end_at_0_and_100() -> None:
    best = outcome.score({0.99: 20.0, 0.999: 30.0}, 0.0, 4e6, NEEDS)
    assert set(best.values()) == {100.0}
    # One quantile beyond the unacceptable.
    assert outcome.score({0.99: 20.0, 0.999: 601.0}, 0.0, 4e6, NEEDS)["outcome"] == 0.0
    # Too little throughput.
    assert outcome.score({0.99: 20.0, 0.999: 30.0}, 0.0, 3.9e6, NEEDS)["outcome"] == 0.0


def test_the_outcome_of_a_run_whose_delay_is_known() -> None:
    # Nothing waits: 0.8 ms to send 1000 B and 10 ms of way are 10.8 ms, from a bucket of 1/128; 42 % of the way from
    # 15 to 5 ms. 8 Mbit/s arrive.
    needs = sj.Requirements(
        optimal={0.5: "5 ms"},
        unacceptable={0.5: "15 ms"},
        optimal_loss=0.0,
        unacceptable_loss=0.5,
        throughput="8 Mbit/s",
    )
    results = sj.run(line({"one": 8.0}), replicates=2, seed=1)
    found = sj.quality_of_outcome(results, needs).set_index("part")["mean"]
    assert found["delay"] == pytest.approx(42.0, abs=0.5)
    assert found["outcome"] == found["delay"]
    assert (found["loss"], found["throughput"]) == (100.0, 100.0)
    # 16 Mbit/s into 10: 6 of 16 lost, 37.5 %, at first less by the 100 packets that the queue takes. 75 % of the way
    # to 50 %.
    results = sj.run(line({"one": 8.0, "two": 8.0}, queue="fq_codel noecn limit 100p"), replicates=2, seed=1)
    for group in ("one", "two", None):
        found = sj.quality_of_outcome(results, needs, group).set_index("part")["mean"]
        assert found["loss"] == pytest.approx(25.0, abs=2.0)
        # 5 Mbit/s each; together enough.
        assert found["throughput"] == (100.0 if group is None else 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unacceptable": {0.9: "1 s"}}, "unacceptable: has delays at the shares 0.9, optimal at 0.99, 0.999"),
        ({"unacceptable": {0.99: "100 ms", 0.999: "600 ms"}}, "unacceptable: 100 ms at 0.99; allowed: more than"),
        ({"optimal": {}, "unacceptable": {}}, "at least one"),
        (
            {"optimal": {99: "1 ms"}, "unacceptable": {99: "2 ms"}},
            "the share 99 of packets; allowed: above 0, up to 1",
        ),
        ({"unacceptable_loss": 0.01}, "0 <= optimal_loss < unacceptable_loss <= 1"),
        ({"throughput": "4 Mbps"}, "is not a rate: .*kbit/s, Mbit/s"),
    ],
)
def test_requirements_that_make_no_sense(change: dict[str, object], message: str) -> None:
    keys = {name: getattr(NEEDS, name) for name in NEEDS.__dataclass_fields__}
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        sj.Requirements(**(keys | change))


def test_harm_of_values() -> None:
    # Goodput: (10 - 4) / 10, and none; delay: (80 - 20) / 80, and a competitor that helps: (10 - 20) / 10.
    found = harm.of_values(np.array([10.0, 5.0, 0.0]), np.array([4.0, 5.0, 1.0]), "higher")
    assert found[:2].tolist() == [0.6, 0.0]
    assert math.isnan(found[2])
    assert harm.of_values(np.array([20.0, 20.0]), np.array([80.0, 10.0]), "lower").tolist() == [0.75, -1.0]


def test_harm_of_a_flow_that_loses_three_eighths() -> None:
    # Alone 8 Mbit/s; beside another one that sends 8, half of 10: (8 - 5) / 8.
    queue = "fq_codel noecn limit 100p"
    alone = sj.run(line({"one": 8.0}, queue=queue), replicates=2, seed=3)
    together = sj.run(line({"one": 8.0, "two": 8.0}, queue=queue), replicates=2, seed=3)
    (row,) = sj.harm(alone, together, group="one").to_dict("records")
    assert row["alone"] == pytest.approx(8e6, rel=2e-3)
    assert row["harm"] == pytest.approx(0.375, abs=2e-3)
    with pytest.raises(sj.SojournError, match="neither high nor low values are better"):
        sj.harm(alone, together, "sent_packets")
    with pytest.raises(sj.SojournError, match=r"together: has 2 replications from seed 4; allowed: as `alone`, 2"):
        sj.harm(alone, sj.run(line({"one": 8.0}, queue=queue), replicates=2, seed=4))
    with pytest.raises(sj.SojournError, match="together: has the schemes codel"):
        sj.harm(alone, sj.compare(line({"one": 8.0}), ["codel"], replicates=2, seed=3))


def test_goodput_over_intervals_of_ten_base_round_trips() -> None:
    # 1, 1, 2, 4: mean 2, variance 6 / 3.
    found = smoothness.of_intervals(np.array([1.0, 1.0, 2.0, 4.0]))
    assert found["variation"] == pytest.approx(math.sqrt(2) / 2)
    assert found["goodput_bit_s_p50"] == 1.5
    # Base RTT 80 ms, intervals of 800 ms with 100 packets of a constant rate: one more or less at the most.
    results = sj.run(with_series(line({"one": 1.0}, delay_ms=40), "100 ms"), replicates=2, seed=1)
    table = sj.goodput_over_intervals(results).set_index("measure")["mean"]
    assert table["goodput_bit_s_mean"] == pytest.approx(1e6, rel=0.01)
    assert table["variation"] < 0.01
    # Off for 800 ms, on for 800 ms, with 2 Mbit/s: intervals of 0 and 2, whose coefficient of variation is about 1.
    is_on = np.ceil((results.series["t_s"] - 2.0) / 0.8 - 1e-6) % 2 == 0
    parts = results.series.assign(value=np.where(is_on, 2e6, 0.0))
    frames = dict(results.frames) | {"series": parts}
    steps = sj.goodput_over_intervals(
        sj.Results(
            scenario=results.scenario,
            schemes=results.schemes,
            seed=results.seed,
            replications=results.replications,
            frames=frames,
            kind=results.kind,
        )
    ).set_index("measure")["mean"]
    # Of 80 values from 2 s on, in ten intervals of eight: five of each kind; of the sample, so sqrt(10 / 9).
    assert steps["variation"] == pytest.approx(math.sqrt(10 / 9))
    with pytest.raises(sj.SojournError, match=r"series.interval: is 1 s; allowed: 0.8 s"):
        sj.goodput_over_intervals(sj.run(with_series(line({"one": 1.0}, delay_ms=40), "1 s"), seed=1))
    with pytest.raises(sj.SojournError, match="no series of single flows"):
        sj.goodput_over_intervals(sj.run(line({"one": 1.0}), seed=1, series=None))


def test_round_trips_per_minute_by_hand() -> None:
    # The highest 5 % are left out: one of 20.
    assert trimmed_mean(np.array([40.0] * 19 + [1000.0])) == 40.0
    tcp_f = np.array([40.0] * 19 + [1000.0])
    # 60000 / ((40 + 60) / 2) = 1200; 60000 / 100 = 600; their mean.
    assert round_trips_per_minute(tcp_f, np.array([60.0]), np.array([100.0])) == (900.0, 1200.0, 600.0)


def test_the_ramp_ends_with_stable_goodput_and_stable_responsiveness() -> None:
    test = sj.ResponsivenessTest()
    # Moving averages of four: 1, 1.5, 7/3, 2.75, 3.5, 4, 4, 4, 4: at number 7 the last four, 3.5, 4, 4, 4, have a
    # standard deviation of 0.217, more than 5 % of 4; at number 8 of 0. Four stable values of responsiveness, from
    # number 8 on, end the test after number 11.
    goodputs = np.array([1.0, 2.0] + [4.0] * 14)
    asked: list[int] = []

    def constant(number: int) -> tuple[float, float, float]:
        asked.append(number)
        return 900.0, 1200.0, 600.0

    found = evaluate(goodputs, constant, test)
    assert asked == [8, 9, 10, 11]
    assert (found.rpm, found.intervals, found.confidence, found.goodput_bit_s) == (900.0, 12, "high", 4.0)
    # It falls by the half each time: never stable, and the time is over.
    falling = evaluate(goodputs, lambda number: (1000.0 / 2**number,) * 3, test)
    assert (falling.intervals, falling.confidence, falling.rpm) == (16, "medium", 1000.0 / 2**15)
    # Two intervals of probing, and none.
    assert evaluate(goodputs[:10], constant, test).confidence == "low"
    assert evaluate(goodputs[:3], constant, test).rpm == 900.0


def test_the_responsiveness_of_a_path_without_a_queue() -> None:
    # 100 ms each way. A window of 1 Gbit/s and 200 ms would be 25 MB, more than the receiver's buffer: nothing
    # queues. A handshake and a fetch take 200 ms each, and at most 40 us to send: 300 a minute. A self probe may wait
    # for the window, less than 200 ms.
    network = sj.Network(name="line", duration=sj.s(1)).link(
        name="link", from_="server", to="client", rate=sj.mbit_s(1000), delay=sj.ms(100), under_test=True
    )
    test = sj.ResponsivenessTest(interval=sj.s(1), time_limit=sj.s(12), most=1, tolerance=1.0)
    found = sj.responsiveness(network, from_="server", to="client", test=test, capacity=sj.mbit_s(10), replicates=2)
    label = found.results.labels[0]
    assert found.rpm(label, "foreign_rpm").mean == pytest.approx(300.0, rel=1e-3)
    assert 150.0 < found.rpm(label, "loaded_rpm").mean < 300.0
    assert "foreign RPM" in str(found)
    # 5 % of 10 Mbit/s over 48 kbit: 10.4 pairs a second, 125 in 12 s.
    assert (found.results.flows["group"] == "rpm-foreign").sum() == 2 * 125


def test_the_command_line_prints_a_table_and_a_document(command: Command) -> None:
    words = [
        "responsiveness",
        "dumbbell",
        "--from",
        "left",
        "--to",
        "right",
        "--time-limit",
        "10s",
        "--replicates",
        "2",
    ]
    lines = command(*words, "--aqm", "codel", "--aqm", "tail=pfifo limit 100p").stdout.splitlines()
    assert lines[0].split() == ["scheme", "RPM", "foreign", "RPM", "loaded", "RPM", "confidence"]
    assert [line.split()[0] for line in lines[2:]] == ["codel", "tail"]
    tests = json.loads(command(*words, "--json").stdout)["tests"]
    # Two intervals are too few for stability.
    assert [(row["replication"], row["intervals"], row["confidence"]) for row in tests] == [
        (0, 2, "low"),
        (1, 2, "low"),
    ]


def test_responsiveness_needs_a_capacity_and_good_parameters() -> None:
    network = line({"one": 1.0})
    with pytest.raises(sj.SojournError, match="time_limit=2 s; allowed: an interval of 5 s or more"):
        sj.ResponsivenessTest(time_limit=sj.s(2))
    with pytest.raises(sj.SojournError, match="most=0; allowed: 1 or more"):
        sj.ResponsivenessTest(most=0)
    found = sj.Network(name="n", duration=sj.s(1)).link(
        name="l", from_="a", to="b", rate=sj.mbit_s(1), delay=sj.ms(1)
    )
    with pytest.raises(sj.SojournError, match="capacity: no link under test"):
        sj.responsiveness(found, from_="a", to="b")
    with pytest.raises(sj.SojournError, match="nowhere"):
        sj.responsiveness(network, from_="a", to="nowhere")
