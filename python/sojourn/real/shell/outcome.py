"""What the device measured while a command ran: a table, and results as those of a simulated run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from sojourn.base import core
from sojourn.base.core import Document
from sojourn.base.units import from_ns
from sojourn.model.scheme import Scheme
from sojourn.real.shell.link import DOWN, UP
from sojourn.results import metrics, tables, text

if TYPE_CHECKING:
    from sojourn.results.results import Results

DIRECTIONS: Final = (("down", DOWN), ("up", UP))
"""In the order of the device's state."""

BOUNDS_MS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Upper bounds of the buckets of ``sojourn_totals``."""

LATE_SHARE: Final = 0.01
"""A run that lost more than this share of its time, or of its frames, to the machine is marked."""

LATE_DELAY: Final = 0.1
"""So is one whose mean lateness is more than this share of its mean queueing delay, and more than the next."""

LATE_LEAST_S: Final = 1e-3


@dataclass(frozen=True, kw_only=True)
class DirectionOutcome:
    """One direction, from the start of the command to its end.

    Parameters
    ----------
    metrics
        By the names that a queue's metrics have in results.
    throughput_bit_s
        What left the queue, in bytes of the link.
    lateness_s
        How much later than their nominal times frames left, at most: ``mean_s``, ``p50_s``, ``p95_s``, ``p99_s``,
        ``max_s``. The clock was read after they left.
    least_lateness_s
        The same, at least: the clock was read before they left.
    dated_late_s
        How much later than they arrived frames count as arrived, at most.
    lost_rate_s
        Time that the rate lost because the device came too late.
    blocked_s
        Time for which packets were due and the way out had no room.
    missed
        Frames that the machine lost before the queue or behind it.
    """

    metrics: Mapping[str, float | None]
    throughput_bit_s: float
    lateness_s: Mapping[str, float | None]
    least_lateness_s: Mapping[str, float | None]
    dated_late_s: Mapping[str, float | None]
    lost_rate_s: float
    blocked_s: float
    missed: int

    @property
    def late_s(self) -> tuple[float, float]:
        """How late frames left on average: at least, and at most."""
        most = (self.lateness_s["mean_s"] or 0.0) + (self.dated_late_s["mean_s"] or 0.0)
        return self.least_lateness_s["mean_s"] or 0.0, most


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A command's run over an emulated link.

    Parameters
    ----------
    scenario
        The link, as a scenario in canonical form.
    seed
        Of the device's random numbers.
    duration_s
        From the start of the command to its end.
    ways
        ``down`` and ``up``.
    series
        Samples of both queues, as a run's report has them.
    distributions
        Of queueing delays and lateness of the direction down, as a run's report has them.
    status
        The exit status of the command, negative for a signal.
    states
        What ``GET /status`` of the device would have answered, from the state before the command to the last one.
    """

    scenario: Document
    seed: int
    duration_s: float
    ways: Mapping[str, DirectionOutcome]
    series: Sequence[Mapping[str, Any]]
    distributions: Mapping[str, Any]
    status: int
    states: Sequence[Mapping[str, Any]] = field(repr=False)

    @property
    def late(self) -> str | None:
        """What the machine did too late to trust the run, in words; None where it kept up."""
        for name, way in self.ways.items():
            packets = way.metrics["arrivals_packets"] or 0
            lost = max(way.lost_rate_s, way.blocked_s) / self.duration_s if self.duration_s > 0 else 0.0
            if lost > LATE_SHARE:
                return f"{name} lost {lost * 100:.1f} % of its rate because the machine was late"
            if way.missed > LATE_SHARE * packets:
                return f"{name} lost {way.missed} frames because the machine was late"
            (least, most), delay = way.late_s, (way.metrics["sojourn_ms_mean"] or 0.0) / 1e3
            if most > max(LATE_LEAST_S, LATE_DELAY * delay):
                return f"{name} sent frames {least * 1e3:.2f} to {most * 1e3:.2f} ms late on average"
        return None

    @property
    def impossible(self) -> list[str]:
        """Values that a metric cannot have, in words: a fault of the device or of its clocks."""
        known = metrics.catalogue()
        return [
            f"{metric} of {name} is {value:g}"
            for name, way in self.ways.items()
            for metric, value in way.metrics.items()
            if ("queue", metric) in known and not known["queue", metric].allows(value)
        ]

    @property
    def doubts(self) -> list[str]:
        """Why the run is not to be trusted, in words; empty where it is."""
        return [*self.impossible, *([] if self.late is None else [self.late])]

    def table(self) -> str:
        """Return the table that the shell prints."""

        def ms(value: float | None, scale: float = 1.0) -> str:
            return "" if value is None else f"{value * scale:.2f}"

        def whole(value: float | None) -> str:
            return "" if value is None else f"{value:.0f}"

        rows = []
        for name, way in self.ways.items():
            found, (least, most) = way.metrics, way.late_s
            cells = [
                f"{way.throughput_bit_s / 1e6:.2f}",
                ms(found["sojourn_ms_mean"]),
                ms(found["sojourn_ms_p99"]),
                whole(found["arrivals_packets"]),
                whole(found["drops_packets"]),
                whole(found["marks_packets"]),
                whole(lost_on_link(found)),
                ms(least, 1e3),
                ms(most, 1e3),
                ms(way.lateness_s["p99_s"], 1e3),
                f"{100 * way.lost_rate_s / self.duration_s:.2f}" if self.duration_s > 0 else "",
            ]
            rows.append([name, *cells])
        headers = [
            f"{self.duration_s:.1f} s",
            "Mbit/s",
            "delay, ms",
            "p99",
            "packets",
            "drops",
            "marks",
            "lost",
            "late, ms",
            "at most",
            "p99",
            "rate lost, %",
        ]
        table = text.table(headers, rows, numbers=True)
        if self.impossible:
            table = f"{table}\nWARNING: impossible values were measured: {'; '.join(self.impossible)}"
        if self.late is None:
            return table
        return f"{table}\nMARKED: {self.late}; repeat it on a quieter machine or at a lower rate"

    def document(self) -> Document:
        """Return the run as a report of the simulator has it."""
        queues = [
            {
                "name": queue,
                # Reports are of the direction down; the other one is in the table of queues.
                "under_test": name == "down",
                "scheme": self.scenario["links"][0]["queue" if name == "down" else "reverse_queue"],
                "metrics": dict(self.ways[name].metrics),
            }
            for name, queue in DIRECTIONS
        ]
        counts = [way.metrics for way in self.ways.values()]
        arrived = sum(int(found["offered"] or 0) for found in counts)
        lost = sum(int(lost_on_link(found) or 0) for found in counts)
        dropped = sum(int(found["drops_packets"] or 0) for found in counts) + lost
        forwarded = sum(int(found["forwarded"] or 0) for found in counts)
        delivered = forwarded - lost
        for queue in queues:
            del queue["metrics"]["forwarded"], queue["metrics"]["offered"]
        return {
            "seed": self.seed,
            "replication": 0,
            "duration_s": self.duration_s,
            "warm_up_s": 0.0,
            "measured_s": self.duration_s,
            "events": 0,
            "conservation": {
                "sent": arrived,
                "delivered": delivered,
                "dropped": dropped,
                "in_flight": arrived - delivered - dropped,
            },
            "metrics": dict(queues[0]["metrics"]),
            "queues": queues,
            "flows": [],
            "distributions": self.distributions,
            "series": list(self.series),
        }

    def results(self) -> Results:
        """Return the run as results: with tables, pictures and a report."""
        from sojourn.results.results import Results

        scenario = {
            **self.scenario,
            "duration": str(from_ns(max(1, round(self.duration_s * 1e9)))),
            "replications": 1,
            "seed": self.seed,
        }
        scheme = Scheme(str(scenario["links"][0]["queue"]))
        return Results(
            scenario=scenario,
            schemes=(scheme,),
            seed=self.seed,
            replications=1,
            frames=tables.Tables([scheme.label], [self.document()]),
            kind="run",
            meta={
                "series": "100 ms",
                "world": {
                    "kind": "real",
                    "late": self.late,
                    "impossible": self.impossible,
                    "exit_status": self.status,
                    "ways": {name: _of_way(way) for name, way in self.ways.items()},
                },
            },
        )


def lost_on_link(found: Mapping[str, float | None]) -> float | None:
    """Return the packets that the link lost, of the effects whose count says so; None if it has none of them."""
    metrics = [effect["metric"] for effect in core.link_effects() if effect["count"].endswith("lost")]
    counts = [count for count in map(found.get, metrics) if count is not None]
    return sum(counts) if counts else None


def _of_way(way: DirectionOutcome) -> dict[str, Any]:
    names = {"missed": "missed_frames"}
    return {names.get(name, name): value for name, value in asdict(way).items() if name != "metrics"}


def measured(
    scenario: Document, states: Sequence[Mapping[str, Any]], *, first: int, seed: int, duration_s: float, status: int
) -> Outcome:
    """Return what lies between the state before the command, number `first`, and the last state of the device."""
    before, after = states[min(first, len(states) - 1)], states[-1]
    between = states[min(first, len(states) - 1) :]
    ways = {name: _way(before, after, number, duration_s) for number, (name, _) in enumerate(DIRECTIONS)}
    distributions = _distributions(before["directions"][0], after["directions"][0])
    return Outcome(
        scenario=scenario,
        seed=seed,
        duration_s=duration_s,
        ways=ways,
        series=[series for number, (_, queue) in enumerate(DIRECTIONS) for series in _series(between, number, queue)],
        distributions=distributions,
        status=status,
        states=between,
    )


def _way(before: Mapping[str, Any], after: Mapping[str, Any], number: int, duration_s: float) -> DirectionOutcome:
    old, new = before["directions"][number], after["directions"][number]

    def counted(what: str, unit: str = "packets") -> int:
        return int(new["counts"][what][unit]) - int(old["counts"][what][unit])

    def on_link(what: str) -> int | None:
        return None if new[what] is None else int(new[what]) - int(old[what] or 0)

    sojourns = new["sojourn_totals"]["packets"] - old["sojourn_totals"]["packets"]
    sojourn_s = new["sojourn_totals"]["sum_s"] - old["sojourn_totals"]["sum_s"]
    overflow, early, flow = (counted(f"dropped_{why}") for why in ("overflow", "early", "flow"))
    drops, sent, marks = overflow + early + flow, counted("forwarded"), counted("marked")
    left = sent + drops
    throughput = counted("forwarded", "bytes") * 8 / duration_s if duration_s > 0 else 0.0
    p50, p99 = (new["sojourn_all"][name] for name in ("p50_s", "p99_s"))
    measured_values = {
        # Little's law: arrivals that left, times how long they waited.
        "queue_packets_mean": sojourn_s / duration_s if duration_s > 0 else None,
        "sojourn_ms_mean": sojourn_s / sojourns * 1e3 if sojourns else None,
        "sojourn_ms_p50": None if p50 is None or not sojourns else p50 * 1e3,
        "sojourn_ms_p99": None if p99 is None or not sojourns else p99 * 1e3,
        "arrivals_packets": left,
        "drops_packets": drops,
        "drops_overflow_packets": overflow,
        "drops_early_packets": early,
        "drops_flow_packets": flow,
        "marks_packets": marks,
        **{effect["metric"]: on_link(effect["count"]) for effect in core.link_effects()},
        "loss_ratio": drops / left if left else None,
        "mark_ratio": marks / left if left else None,
        "offered": counted("arrived"),
        "forwarded": sent,
    }
    # What never reached the queue of the near port, and what the far one could not send.
    near, far = ("missed", "oversize"), ("send_failed", "link_dropped")
    lost_at = [(number, name) for name in near] + [(1 - number, name) for name in far]
    missed = sum(after["ports"][at]["counters"][name] - before["ports"][at]["counters"][name] for at, name in lost_at)
    missed += new["stale"] - old["stale"] + new["no_room"] - old["no_room"]
    return DirectionOutcome(
        metrics=measured_values,
        throughput_bit_s=throughput,
        lateness_s=_times(new["lateness_most"]),
        least_lateness_s=_times(new["lateness"]),
        dated_late_s=_times(new["dated_late"]),
        lost_rate_s=new["late_s"] - old["late_s"],
        blocked_s=new["blocked_s"] - old["blocked_s"],
        missed=missed,
    )


def _times(found: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: found[name] for name in ("mean_s", "p50_s", "p95_s", "p99_s", "max_s")}


def _series(states: Sequence[Mapping[str, Any]], number: int, queue: str) -> list[dict[str, Any]]:
    """Return the samples of a direction; those of the queue under test have no queue's name."""
    of = "" if number == 0 else f":{queue}"
    start = states[0]["uptime_s"]
    found: dict[str, tuple[str, list[float], list[float]]] = {
        "queue_packets": ("packets", [], []),
        "sojourn_ms": ("ms", [], []),
        "throughput_bit_s": ("bit/s", [], []),
        "drops_packets_s": ("packets/s", [], []),
    }

    def sample(name: str, at_s: float, value: float) -> None:
        found[name][1].append(at_s)
        found[name][2].append(value)

    for old, new in pairwise(states):
        earlier, way = old["directions"][number], new["directions"][number]
        at_s, since_s = new["uptime_s"] - start, new["uptime_s"] - old["uptime_s"]
        if since_s <= 0:
            continue
        sample("queue_packets", at_s, float(way["backlog"]["packets"]))
        mean_s = way["sojourn"]["mean_s"]
        if mean_s is not None:
            sample("sojourn_ms", at_s, mean_s * 1e3)
        sent = way["counts"]["forwarded"]["bytes"] - earlier["counts"]["forwarded"]["bytes"]
        sample("throughput_bit_s", at_s, sent * 8 / since_s)
        drops = sum(
            way["counts"][f"dropped_{why}"]["packets"] - earlier["counts"][f"dropped_{why}"]["packets"]
            for why in ("overflow", "early", "flow")
        )
        sample("drops_packets_s", at_s, drops / since_s)
    return [
        {"name": f"{name}{of}", "unit": unit, "t_s": times, "value": values}
        for name, (unit, times, values) in found.items()
    ]


def _distributions(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the share of packets whose queueing delay did not exceed each bound."""
    counts = [
        after - before
        for before, after in zip(old["sojourn_totals"]["buckets"], new["sojourn_totals"]["buckets"], strict=True)
    ]
    packets = new["sojourn_totals"]["packets"] - old["sojourn_totals"]["packets"]
    if packets <= 0:
        return {}
    shares, sum_ = [], 0
    for count in counts:
        sum_ += count
        shares.append(min(1.0, sum_ / packets))
    return {"sojourn_ms": {"value": list(BOUNDS_MS), "cumulative": shares}}
