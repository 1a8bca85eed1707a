"""Warnings about parameters that cannot act: each entry of the table is checked against the simulator itself."""

from __future__ import annotations

from functools import cache

import pytest

import sojourn as sj
from shared import Command
from sojourn import core, inert
from sojourn.inert import NEEDS, Need

OTHERS: dict[str, tuple[str, str]] = {
    "interval": ("20ms", "100ms"),
    "alpha": ("0.005", "0.05"),
    "beta": ("0.5", "0.8"),
    "target": ("2ms", "20ms"),
    "mark_ecnth": ("0.01", "0.5"),
    "dq_threshold": ("4KiB", "32KiB"),
    "ce_threshold_selector": ("0x1/0x3", "0x2/0x3"),
    "max_p": ("0.01", "0.5"),
    "w": ("0.002", "0.1"),
    "rtt": ("10ms", "300ms"),
    "mss": ("500B", "1000B"),
    "c": ("0.5", "1.3"),
    "window": ("100ms", "3s"),
    "flows": ("16", "64"),
    "c_t": ("0.8", "0.9"),
    "dp": ("0.01", "0.1"),
    "time_constant": ("10ms", "300ms"),
    "min_th": ("100us", "3ms"),
    "range": ("100us", "3ms"),
    "th_len": ("0p", "9p"),
    "step_thresh": ("100us", "5ms"),
    "min_qlen_step": ("2p", "20p"),
    "classic_protection": ("5%", "40%"),
    "tshift": ("1ms", "200ms"),
    "nqb_limit": ("1ms", "50ms"),
}
"""Two values of each parameter that is no flag."""

GIVEN: dict[str, str] = {
    "daqm": "daqm interarrival 1ms s0 none q0 40p",
    "fq_daqm": "fq_daqm interarrival 1ms s0 none q0 40p",
    "dualpi2": "dualpi2 nqb none",
}
"""What an algorithm cannot do without, or what is on by default."""

CASES = [
    (algorithm, need, parameter)
    for need in NEEDS
    for algorithm in need.algorithms
    for parameter in need.parameters
    # dAQM's queue length is what drives the runs of the other features.
    if need.other != "q0"
]


def unmet(algorithm: str, need: Need) -> str:
    """Return a scheme in which the need is not met."""
    known = {str(p["name"]): p for entry in core.aqms() if entry["name"] == algorithm for p in entry["parameters"]}
    head = GIVEN.get(algorithm, algorithm)
    if need.values == ("*",) or known[need.other]["kind"] == "flag" or need.values == ("none",):
        return head
    choices = {"delay": "departures", "scheme": "rate", "l4s_aqm": "step", "scheduler": "ts_fifo"}
    other = choices[need.other]
    if other in need.values:
        other = {"rate": "flows", "step": "ramp", "ts_fifo": "wrr"}[other]
    return f"{head} {need.other} {other}"


@cache
def network() -> core.Document:
    """ECN-capable and other flows, so that every branch has packets."""
    net = sj.dumbbell(flows=3, rate=sj.mbit_s(5), base_rtt=sj.ms(40), duration=sj.s(3), warm_up=sj.s(1))
    return (
        net.flow(name="marked", from_="sender", to="receiver", transport=sj.tcp(ecn=True))
        .flow(
            name="l4s", from_="sender", to="receiver", transport=sj.tcp(congestion_control="prague", ecn=True, ect=1)
        )
        .canonical()
    )


@cache
def numbers(scheme: str) -> str:
    task = {"scheme": scheme, "seed": 1, "replication": 0, "series": None}
    (document,) = core.run_many(network(), [task], jobs=1)
    return str([document["metrics"], document["events"]])


@pytest.mark.parametrize(("algorithm", "need", "parameter"), CASES, ids=lambda value: getattr(value, "other", value))
def test_the_table_is_true_of_the_simulator(algorithm: str, need: Need, parameter: str) -> None:
    head = unmet(algorithm, need)
    name = parameter.rpartition("_drop_")[2] if "_drop_" in parameter else parameter
    values = {"rate": ("0.1", "0.8"), "duration": ("10ms", "300ms"), **OTHERS}.get(name)
    texts = [f"{head} {parameter} {value}" for value in values] if values else [head, f"{head} {parameter}"]
    assert len({numbers(text) for text in texts}) == 1
    found = inert.check(network(), [sj.Scheme(texts[1])])
    assert parameter in {one.what for one in found}
    # Where it is not set, there is no warning of it.
    assert parameter not in {one.what for one in inert.check(network(), [sj.Scheme(head)])} - {"ecn"}


@pytest.mark.parametrize(
    "scheme",
    [
        "red adaptive interval 20ms ecn harddrop",
        "pie ecn mark_ecnth 0.5 delay departure_rate dq_threshold 4KiB",
        "codel ce_threshold 1ms ce_threshold_selector 0x1/0x3",
        "sfq min 3kB max 9kB w 0.25 ecn",
        "dualpi2 min_th 1ms classic_protection 5%",
        "dualpi2 l4s_aqm step step_thresh 2ms",
        "daqm interarrival 1ms s0_drop_rate 0.5",
        "fq_codel",
        "pfifo limit 60p",
    ],
)
def test_what_acts_is_not_warned_of(scheme: str) -> None:
    assert inert.check(network(), [sj.Scheme(scheme)]) == ()


def test_a_scheme_without_ecn_is_named_beside_the_flows_that_it_drops() -> None:
    (found,) = inert.check(network(), [sj.Scheme("codel")])
    assert found.text == (
        "codel: flows `marked`, `l4s` are ECN-capable, but `ecn` is off in this scheme: it drops their packets "
        "instead of marking them"
    )
    plain = sj.dumbbell(flows=2, duration=sj.s(3), warm_up=sj.s(1)).canonical()
    (found,) = inert.check(plain, [sj.Scheme("codel ecn")])
    assert found.text == "codel ecn: `ecn` has no effect: no flow is ECN-capable"


def test_the_queues_as_written_are_looked_at() -> None:
    net = (
        sj.Network(name="n", duration=sj.s(3))
        .link(
            name="l", from_="a", to="b", rate=sj.mbit_s(5), delay=sj.ms(5), under_test=True,
            queue="red target 1ms", reverse_queue="red interval 1s",
        )
        .flow(name="f", from_="a", to="b", transport=sj.tcp(ledbat_target="60 ms"))
        .flow(name="g", from_="a", to="b", transport=sj.tcp(congestion_control="bbr", hystart=False))
    )  # fmt: skip
    assert [one.text for one in inert.check(net.canonical(), [sj.Scheme("")])] == [
        "red target 1ms: `target` has no effect without `min none`",
        'flow `f`: `ledbat_target` has no effect without `congestion_control = "ledbat"`',
        'flow `g`: `hystart` has no effect without `congestion_control = "ns3_cubic" or "cubic"`',
    ]


def test_each_warning_is_printed_once(command: Command) -> None:
    options = ("--set", "flows.bulk.transport.ecn=true", "--set", "duration=20 s", "--replicates", 2, "--json")
    done = command("compare", "dumbbell", "--aqm", "codel", "--aqm", "codel ecn", "--aqm", "pfifo", *options)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "ECN" in line]
    assert lines == [
        "sojourn: warning: codel: flow `bulk` is ECN-capable, but `ecn` is off in this scheme: it drops their "
        "packets instead of marking them"
    ]
