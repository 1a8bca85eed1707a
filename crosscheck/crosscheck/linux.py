"""Linux's dumbbell: hosts a and b around a router whose way out is shaped, as in crosscheck/linux/guest/point.sh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from crosscheck import records, sawtooth
from crosscheck.compare import Metric, Point, Run, Theirs, Value, of_group, rate_of
from crosscheck.compare import theirs as estimate
from sojourn.base.core import Document
from sojourn.model import linux_tcp

# The shared points count drops over the whole run; those recorded here over the measured time.
RECORD_20: Final = "linux_20mbit.csv"
RECORD: Final = "linux_points.csv"
RECORD_WINDOWS: Final = "linux_windows.csv"

# tc's 15 ms are four ticks of 4 ms, and the kernel's timer wheel adds one: linux_pie_probability.csv has 28 updates
# in 0.562 s.
PIE_UPDATES: Final = "tupdate 20ms"

SCHEMES: Final = {
    "pfifo": "pfifo limit 100p",
    "codel": "codel preset linux-6.1 limit 1000p",
    "pie": f"pie preset linux-6.1 limit 1000p {PIE_UPDATES}",
    "fq_codel": "fq_codel preset linux-6.1 noecn limit 10240p",
    "red": "red preset linux-6.1 limit 151400B min 22710B max 68130B avpkt 1514B w 0.125 max_p 0.1",
    "cake": "cake bandwidth {rate} besteffort",
    "fq_pie": f"fq_pie preset linux-6.1 limit 10240p {PIE_UPDATES}",
    "choke": "choke limit 100p min 15p max 45p max_p 0.1 w 0.125",
    "sfb": "sfb",
    "sfq": "sfq limit 127p",
}

# These put the ping into a separate queue, so the delay of the flows is taken from their own RTT.
PER_FLOW: Final = ("fq_codel", "cake", "fq_pie", "sfq")

SHAPERS: Final = ("cake",)
"""These have a shaper of their own; the others are within htb."""

_NOT_REPEATED: Final = (
    "later recordings do not confirm these. On the same kernel, two new recordings by crosscheck/linux/run.py lost "
    "691 to 747 packets (pie, 1 flow), 777 to 797 (fq_pie, 1 flow), 941 to 1073 (pie, 4 flows) and 1379 to 1407 "
    "(fq_pie, 4 flows), each in the whole run. They are the points of the same names without *shared*"
)
"""Why the first recordings of slow start into PIE's long queue do not count."""

BULK: Final = "bulk"
"""Beginning of the names of the groups that iperf3 stands for."""

PING_INTERVAL_S: Final = 0.05

HTB_BURST: Final = "1600 B"


@dataclass(frozen=True, slots=True)
class Host:
    """What iperf3's processes take on a machine, in s.

    Parameters
    ----------
    begins_s
        From iperf3's start to its first connection.
    stream_s
        For each connection of a stream, beside its round trip.
    first_s
        From the last connection to the first segment, beside two round trips.
    write_s
        From one stream's first segment to the next one's.
    answers_s
        What an RTT has beside the path.
    """

    begins_s: float
    stream_s: float
    first_s: float
    write_s: float
    answers_s: float


SLOW: Final = Host(0.13, 0.018, 0.016, 0.001, 42e-6)
"""An instruction takes 2 ns. The times are those of packet captures of six points."""

FAST: Final = Host(0.04, 0.009, 0.008, 0.0005, 21e-6)
"""An instruction takes 1 ns, as in the drawn points: half, but for the first, which the sampled windows tell.

The handshake of p085 takes 25.121 ms, of which the path has 25.1 ms.
"""

NO_RANDOMNESS_S: Final = 1.0
"""What this took longer in the machine while it had no source of random numbers."""

_CONTROL_RTTS: Final = 3
_STREAMS_RTTS: Final = 2
_SHARED_S: Final = 20
_SAMPLES: Final = "50 ms"

RTT_SAMPLES: Final = "100 ms"
"""Spacing of iperf3's reports of the RTT."""


def _bulk(document: Document, name: str) -> list[float]:
    return [
        float(flow["metrics"][name])
        for flow in document["flows"]
        if str(flow["group"]).startswith(BULK) and flow["metrics"][name] is not None
    ]


def _goodput(run: Run) -> float:
    return sum(_bulk(run.streams or run.measured, "goodput_bit_s")) / 1e6


def ping_delay(one_way_ms: float) -> Value:
    """Return the value of the ping's one-way delay minus what the path alone takes."""
    return of_group("ping", "one_way_delay_ms_mean", less=one_way_ms)


def rtt_delay(base_rtt_ms: float, *, from_s: float = 0.0) -> Value:
    """Return the value of the smoothed RTT as iperf3 reports it, minus the flows' mean base RTT.

    It is the mean over samples at equal intervals from `from_s` on, not over acknowledgements.
    """

    def value(run: Run) -> float:
        rtts = [
            float(rtt_ms)
            for series in (run.streams or run.measured)["series"]
            if series["name"].startswith(f"srtt_ms:{BULK}")
            for t_s, rtt_ms in zip(series["t_s"], series["value"], strict=True)
            if rtt_ms is not None and t_s > from_s
        ]
        return sum(rtts) / len(rtts) - base_rtt_ms

    return value


def metrics(delay: Value, *, whole: bool = False) -> tuple[Metric, ...]:
    """Return goodput, delay (by the value given) and drops."""
    return (
        Metric("goodput", "goodput", "Mbit/s", 3, _goodput, relative=0.02),
        Metric("delay", "queueing delay", "ms", 2, delay, relative=0.15, absolute=1.0),
        drop_rate("drops", "drop rate", rate_of("drops_packets", whole=whole)),
    )


def drop_rate(key: str, title: str, ours: Value) -> Metric:
    """Return the metric of a rate of drops or marks."""
    return Metric(key, title, "packets/s", 2, ours, relative=0.25, counts_drops=True)


def _metrics(kind: str, rtt_ms: int, warm_up_s: int, *, whole: bool) -> tuple[Metric, ...]:
    from_s = 0.0 if whole else float(warm_up_s)
    delay = rtt_delay(rtt_ms, from_s=from_s) if kind in PER_FLOW else ping_delay(rtt_ms / 2)
    return metrics(delay, whole=whole)


def points(rows: Iterable[Mapping[str, str]] | None = None) -> list[Point]:
    """Return the points, with what Linux measured."""
    if rows is not None:
        return _recorded(rows)
    windows = records.table(RECORD_WINDOWS)
    return [*map(_shared, records.table(RECORD_20)), *_recorded(records.table(RECORD)), *sawteeth(windows)]


def _kind(qdisc: str) -> str:
    return qdisc.split(" ", 1)[0]


def _name(control: str, flows: int, rtt_ms: int, mbit_s: int, qdisc: str) -> str:
    return f"{control}, {flows} flow{'s' * (flows > 1)}, {rtt_ms} ms, {mbit_s} Mbit/s, {_kind(qdisc)}"


def _recipe(
    control: str, flows: int, rtt_ms: int, mbit_s: int, qdisc: str, seconds: int, warm_up_s: int
) -> dict[str, Any]:
    return {
        "congestion_control": control,
        "flows": flows,
        "base_rtt_ms": rtt_ms,
        "rate_mbit_s": mbit_s,
        "qdisc": qdisc,
        "seconds": seconds,
        "warm_up_s": warm_up_s,
        "sockets": False,
    }


def _shared(row: Mapping[str, str]) -> Point:
    control, flows, rtt_ms = row["congestion_control"], int(row["flows"]), int(row["base_rtt_ms"])
    kind = _kind(row["qdisc"])
    drops = float(row["qdisc_drops_whole_run"])
    delay = float(row["tcp_mean_rtt_ms" if kind in PER_FLOW else "ping_mean_ms"]) - rtt_ms
    return Point(
        name=_name(control, flows, rtt_ms, 20, row["qdisc"]) + " (shared)",
        scenario=dumbbell(control, flows, rtt_ms, 20, _SHARED_S, 5, kind=kind),
        scheme=SCHEMES[kind].format(rate="20mbit"),
        theirs={
            "goodput": Theirs(float(row["goodput_mbps"])),
            "delay": Theirs(delay),
            "drops": estimate([drops / _SHARED_S], drops),
        },
        metrics=_metrics(kind, rtt_ms, 5, whole=True),
        # Reports each second there.
        series="1 s",
        # A quick look is to pass: of these one fq_pie point is a known miss.
        is_quick=control == "cubic" and kind != "fq_pie",
        no_reference=_NOT_REPEATED if control == "reno" and kind in {"pie", "fq_pie"} else None,
        needs_whole=True,
        recipe=_recipe(control, flows, rtt_ms, 20, row["qdisc"], _SHARED_S, 5),
    )


def _recorded(rows: Iterable[Mapping[str, str]]) -> list[Point]:
    keys = ("congestion_control", "flows", "base_rtt_ms", "rate_mbit_s", "qdisc", "seconds", "warm_up_s")
    found = []
    for (control, *numbers), group in records.grouped("", rows, lambda row: tuple(row[key] for key in keys)).items():
        flows, rtt_ms, mbit_s = map(int, numbers[:3])
        qdisc, seconds, warm_up_s = numbers[3], int(numbers[4]), int(numbers[5])
        kind = _kind(qdisc)
        delay = "tcp_rtt_ms_mean" if kind in PER_FLOW else "ping_ms_mean"
        found.append(
            Point(
                name=_name(control, flows, rtt_ms, mbit_s, qdisc),
                scenario=dumbbell(control, flows, rtt_ms, mbit_s, seconds, warm_up_s, kind=kind),
                scheme=SCHEMES[kind].format(rate=f"{mbit_s}mbit"),
                theirs={
                    "goodput": estimate([float(row["goodput_mbit_s"]) for row in group]),
                    "delay": estimate([float(row[delay]) - rtt_ms for row in group]),
                    "drops": counts(group, "drops_packets"),
                },
                metrics=_metrics(kind, rtt_ms, warm_up_s, whole=False),
                series=RTT_SAMPLES,
                streams_s=streams_s([Flows(control, flows, rtt_ms)], SLOW, NO_RANDOMNESS_S),
                is_quick=mbit_s == 5 and flows == 1,
                recipe=_recipe(control, flows, rtt_ms, mbit_s, qdisc, seconds, warm_up_s),
            )
        )
    return found


def counts(rows: Sequence[Mapping[str, str]], column: str) -> Theirs:
    """Return a count a second, from the rows of a point's runs."""
    numbers = [int(row[column]) for row in rows]
    rates = [number / float(row["counted_s"]) for number, row in zip(numbers, rows, strict=True)]
    return estimate(rates, sum(numbers))


def sawteeth(rows: Sequence[Mapping[str, str]]) -> list[Point]:
    """Return the sawteeth of one flow in tail drop, from its congestion window every 50 ms."""
    found = []
    for control in dict.fromkeys(row["congestion_control"] for row in rows):
        own = [row for row in rows if row["congestion_control"] == control]
        measured = sawtooth.teeth([float(row["t_s"]) for row in own], [float(row["window_packets"]) for row in own])
        found.append(
            Point(
                name=f"{control}, 1 flow, 20 ms, 20 Mbit/s, pfifo: sawtooth",
                scenario=dumbbell(control, 1, 20, 20, 100, 20),
                scheme=SCHEMES["pfifo"],
                theirs={"period": Theirs(measured.period_s), "amplitude": Theirs(measured.amplitude)},
                metrics=_TEETH,
                is_quick=True,
                series=_SAMPLES,
                recipe=_recipe(control, 1, 20, 20, "pfifo limit 100", 100, 20) | {"sockets": True},
            )
        )
    return found


def _our_teeth(run: Run) -> sawtooth.Teeth:
    # The path is always full, so the window is the queue plus a constant, and both have the same amplitude.
    series = next(entry for entry in run.measured["series"] if entry["name"] == "queue_packets")
    samples = [(t_s, value) for t_s, value in zip(series["t_s"], series["value"], strict=True) if value is not None]
    return sawtooth.teeth([t_s for t_s, _ in samples], [value for _, value in samples])


_TEETH: Final = (
    Metric("period", "sawtooth period", "s", 3, lambda run: _our_teeth(run).period_s, relative=0.10),
    Metric("amplitude", "sawtooth amplitude", "packets", 2, lambda run: _our_teeth(run).amplitude, relative=0.10),
)


@dataclass(frozen=True, slots=True)
class Flows:
    """A group of flows: congestion control, number and base RTT."""

    control: str
    number: int
    rtt_ms: float


def dumbbell(
    control: str, flows: int, rtt_ms: int, mbit_s: int, seconds: int, warm_up_s: int, *, kind: str = "pfifo"
) -> Document:
    """Return our form of the machine's network with flows of one congestion control and a kind of discipline."""
    return network(
        [Flows(control, flows, rtt_ms)],
        rtt_ms,
        mbit_s,
        seconds,
        warm_up_s,
        told_s=NO_RANDOMNESS_S,
        own_shaper=kind in SHAPERS,
    )


def begins(group: Flows, host: Host, told_s: float = 0.0) -> tuple[float, float]:
    """Return when a group's first stream opens its connection and when all streams begin to send, in s.

    A control connection needs three round trips, a stream one to open, and all together two before they send.
    """
    rtt_s = group.rtt_ms / 1e3
    opens_s = told_s + host.begins_s + _CONTROL_RTTS * rtt_s
    return opens_s, opens_s + (group.number - 1) * (rtt_s + host.stream_s) + _STREAMS_RTTS * rtt_s + host.first_s


def streams_s(groups: Sequence[Flows], host: Host, told_s: float) -> float:
    """Return when iperf3's clock begins: with the streams of the first group to send, in s."""
    return min(begins(group, host, told_s)[1] for group in groups)


def _flows(name: str, sender: str, group: Flows, host: Host, told_s: float, *, ecn: bool) -> Iterable[dict[str, Any]]:
    """Return a group as iperf3 begins it: its connections one after the other, then the streams at once.

    HyStart, BBR and CAKE remember the time before the streams.
    """
    rtt_s = group.rtt_ms / 1e3
    opens_s, sends_s = begins(group, host, told_s)
    transport = {
        "kind": "tcp",
        "congestion_control": group.control,
        **linux_tcp.KEYS,
        **({"ecn": True} if ecn else {}),
    }
    for k in range(group.number):
        start_s = opens_s + k * (rtt_s + host.stream_s)
        yield {
            "name": f"{name}-flow{k}",
            "from": sender if group.number == 1 else f"{sender}{k}",
            "to": "b",
            "start": {"uniform": [f"{start_s * 1e6:.0f} us", f"{start_s * 1e6 + 500:.0f} us"]},
            "transport": transport,
            "traffic": _stream(sends_s - start_s + k * host.write_s),
        }


def _stream(after_s: float) -> Document:
    """Return a stream of iperf3 that begins so long after its connection; before, there is a cookie."""
    return {"kind": "bulk", "after": f"{after_s * 1e6:.0f} us", "first": "37 B"}


def as_iperf3(flow: Document, rtt_ms: float) -> Document:
    """Return a group of bulk flows that start within a second as one process of iperf3 for each begins them."""
    opens_s, sends_s = begins(Flows("cubic", 1, rtt_ms), FAST)
    start = {"uniform": [f"{(opens_s + later_s) * 1e6:.0f} us" for later_s in (0, 1)]}
    return {**flow, "start": start, "traffic": _stream(sends_s - opens_s)}


def network(
    groups: Sequence[Flows],
    rtt_ms: float,
    mbit_s: float,
    seconds: int,
    warm_up_s: int,
    *,
    host: Host = SLOW,
    told_s: float = 0.0,
    ecn: bool = False,
    own_shaper: bool = False,
) -> Document:
    """Return our form of the machine's network, with Linux's TCP and a ping.

    The link is a token bucket, as htb is. Where the discipline shapes, as CAKE does, the link is as fast as the
    others.

    Parameters
    ----------
    groups
        The flows that iperf3 opens.
    rtt_ms
        Base RTT of the ping, in ms.
    mbit_s
        The link's rate, Ethernet's header included, in Mbit/s.
    seconds, warm_up_s
        The run's length and what of it is left out, in s.
    told_s
        When iperf3 is started, in s.
    own_shaper
        Whether the discipline shapes, and not htb.
    """
    one = len(groups) == 1
    senders = ["sender" if one else f"sender-{k + 1}" for k in range(len(groups))]
    bulks = [BULK if one else f"{BULK}-{k + 1}" for k in range(len(groups))]
    accesses = [*zip(senders, (group.rtt_ms for group in groups), strict=True), ("pinger", rtt_ms)]
    fast = "10 Gbit/s"
    bottleneck = {"rate": fast} if own_shaper else {"rate": f"{mbit_s:g} Mbit/s", "burst": HTB_BURST}
    # 56 B after 28 B of headers, as ping sends them.
    echo = {"kind": "cbr", "rate": f"{56 * 8 / PING_INTERVAL_S:g} bit/s", "packet_size": "56 B"}
    return {
        "name": "crosscheck-linux",
        "duration": f"{seconds} s",
        "warm_up": f"{warm_up_s} s",
        "nodes": [
            *({"name": name, "count": group.number} for name, group in zip(senders, groups, strict=True)),
            {"name": "pinger"},
        ],
        "links": [
            {
                "name": "bottleneck",
                "from": "router",
                "to": "b",
                # Only the way to b is shaped.
                "reverse_rate": fast,
                "delay": "0 ms",
                "overhead": "14 B",
                "under_test": True,
                **bottleneck,
            },
            *(
                {
                    "name": f"access-{name}",
                    "from": name,
                    "to": "router",
                    "rate": fast,
                    # Half of it each way.
                    "delay": f"{late_ms * 500_000 + host.answers_s * 5e8:.0f} ns",
                    "overhead": "14 B",
                }
                for name, late_ms in accesses
            ),
        ],
        "series": {"interval": RTT_SAMPLES, "flows": True},
        "flows": [
            *(
                flow
                for bulk, sender, group in zip(bulks, senders, groups, strict=True)
                for flow in _flows(bulk, sender, group, host, told_s, ecn=ecn)
            ),
            {"name": "ping", "from": "pinger", "to": "b", "transport": {"kind": "udp"}, "traffic": echo},
        ],
    }
