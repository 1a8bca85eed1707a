"""Responsiveness under working conditions, in round trips per minute (draft-ietf-ippm-responsiveness-09).

The test opens one connection more in each interval until goodput no longer grows, and measures meanwhile: foreign
probes, each a new connection that fetches a small object, and self probes, which ask for a byte on the connections
that carry the load. Readings of the draft where it leaves something open:

* The TCP-only case (section 5.3.1.2) is measured: there is no TLS.
* Moving averages are over the intervals that there are, up to `moving_average`. Stability needs that many of them.
  Their standard deviation is that of the population.
* An answer comes behind what TCP has sent, with nothing unsent in the socket's buffer, as the draft advises.

Deviations:

* A request takes the propagation delay of the way back, without queueing.
* The sender of the load opens the foreign connections: the SYN crosses the loaded direction, not the SYN-ACK.
* Every connection of the load has self probes as often as the test has pairs, as these take no room.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from sojourn import stats
from sojourn.base import core, suggest
from sojourn.base.core import SojournError
from sojourn.base.units import Rate, Time, from_ns, s, to_bit_s, to_ns
from sojourn.model.network import Network, load
from sojourn.model.scheme import Schemes
from sojourn.results import metrics
from sojourn.stats import Estimate, Floats

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.results.results import Results

_LOAD: Final = "rpm-load"
_FOREIGN: Final = "rpm-foreign"
_PAIR_BYTES: Final = 6000
"""What a foreign and a self probe take together, by the draft's estimate (5000 B and 1000 B)."""
_OBJECT: Final = "300 B"
"""An object of one byte with the headers of its response."""

_KINDS: Final = ("rpm", "foreign_rpm", "loaded_rpm")
CONFIDENCE: Final = ("low", "medium", "high")
"""How far the test came: less than `moving_average` intervals of probing, no stability, stability."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsivenessTest:
    """The parameters of the test, with the draft's names and defaults (section 5.2).

    Parameters
    ----------
    moving_average
        MAD: intervals of a moving average.
    interval
        ID: after each, stability is looked at.
    trimmed
        TMP: share of the lowest times that a mean is of.
    tolerance
        SDT: standard deviation over moving average that counts as stable.
    initial, added, most
        INP, INC, MNP: connections at the start, added in each interval, and at the most.
    probes_per_second
        MPS: pairs of probes a second at the most.
    capacity_share
        PTC: share of the capacity that probes may take.
    time_limit
        Of the test; the draft leaves it to the tool.
    """

    moving_average: int = 4
    interval: Time = s(5)
    trimmed: float = 0.95
    tolerance: float = 0.05
    initial: int = 1
    added: int = 1
    most: int = 16
    probes_per_second: float = 100.0
    capacity_share: float = 0.05
    time_limit: Time = s(80)

    def __post_init__(self) -> None:
        for name, least in (("moving_average", 1), ("initial", 1), ("added", 0), ("most", self.initial)):
            if getattr(self, name) < least:
                raise SojournError(f"{name}={getattr(self, name)}; allowed: {least} or more")
        for name in ("trimmed", "tolerance", "capacity_share"):
            if not 0 < getattr(self, name) <= 1:
                raise SojournError(f"{name}={getattr(self, name):g}; allowed: above 0, up to 1")
        if not self.probes_per_second > 0:
            raise SojournError(f"probes_per_second={self.probes_per_second:g}; allowed: above 0")
        if to_ns("interval", self.interval) <= 0 or self.intervals < 1:
            raise SojournError(f"time_limit={self.time_limit}; allowed: an interval of {self.interval} or more")

    @property
    def interval_s(self) -> float:
        """ID in s."""
        return to_ns("interval", self.interval) / 1e9

    @property
    def intervals(self) -> int:
        """Whole intervals within the time limit."""
        return to_ns("time_limit", self.time_limit) // max(to_ns("interval", self.interval), 1)


Rpm: TypeAlias = tuple[float, float, float]
"""Responsiveness, that of foreign probes, and that of self probes."""


def trimmed_mean(times_ms: Floats, share: float = 0.95) -> float:
    """Return the mean of the lowest share of some times; NaN of none.

    Examples
    --------
    Of 20 times the highest is left out.

    >>> trimmed_mean(np.array([40.0] * 19 + [1000.0]))
    40.0
    """
    kept = max(math.floor(share * times_ms.size + 1e-9), 1)
    return float(np.sort(times_ms)[:kept].mean()) if times_ms.size else math.nan


def round_trips_per_minute(tcp_f: Floats, http_f: Floats, http_l: Floats, trimmed: float = 0.95) -> Rpm:
    """Return the responsiveness, that of foreign probes, and that of self probes (section 5.3.1.2).

    Parameters
    ----------
    tcp_f, http_f
        Times of foreign probes in ms: of the handshake, and from the request to the whole response.
    http_l
        Times of self probes in ms.
    trimmed
        Share of the lowest times that count.

    Returns
    -------
    tuple of float
        In round trips per minute; NaN where a kind of probe has no times.

    Examples
    --------
    60000 / ((40 + 60) / 2) = 1200 and 60000 / 100 = 600, on average 900.

    >>> round_trips_per_minute(np.array([40.0]), np.array([60.0]), np.array([100.0]))
    (900.0, 1200.0, 600.0)
    """
    foreign = 60_000 / ((trimmed_mean(tcp_f, trimmed) + trimmed_mean(http_f, trimmed)) / 2)
    loaded = 60_000 / trimmed_mean(http_l, trimmed)
    return (foreign + loaded) / 2, foreign, loaded


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one test reports.

    Parameters
    ----------
    rpm, foreign_rpm, loaded_rpm
        Responsiveness, that of foreign and of self probes, in round trips per minute; NaN without probes.
    goodput_bit_s
        Moving average of the last interval.
    intervals
        How many the test took.
    confidence
        ``low``, ``medium`` or ``high``, of the responsiveness.
    """

    rpm: float
    foreign_rpm: float
    loaded_rpm: float
    goodput_bit_s: float
    intervals: int
    confidence: str


def evaluate(goodputs: Floats, responsiveness: Callable[[int], Rpm], test: ResponsivenessTest) -> Outcome:
    """Return what the test reports (section 5.4), from what was measured in each interval.

    Parameters
    ----------
    goodputs
        Of each interval, in bit/s.
    responsiveness
        Gives the responsiveness at the end of an interval (its number, from 0), as :func:`round_trips_per_minute`.
    test
        The parameters.

    Raises
    ------
    SojournError
        Without an interval.
    """
    if not goodputs.size:
        raise SojournError("the test has no interval")

    def is_stable(values: list[float]) -> bool:
        last = np.array(values[-test.moving_average :])
        return len(values) >= test.moving_average and bool(last.std() < test.tolerance * last[-1])

    averages: list[float] = []
    found: list[Rpm] = []
    saturated = False
    for number in range(goodputs.size):
        averages.append(float(goodputs[max(number + 1 - test.moving_average, 0) : number + 1].mean()))
        saturated = saturated or is_stable(averages)
        if saturated:
            found.append(responsiveness(number))
            if is_stable([rpm for rpm, _, _ in found]):
                break
    else:
        number = goodputs.size - 1
        confidence = "medium" if len(found) >= test.moving_average else "low"
        return Outcome(*(found[-1] if found else responsiveness(number)), averages[-1], number + 1, confidence)
    return Outcome(*found[-1], averages[-1], number + 1, "high")


@dataclass(frozen=True)
class Responsiveness:
    """Responsiveness of each scheme and replication. ``print`` writes a table.

    Parameters
    ----------
    outcomes
        By scheme's label, a test a replication.
    results
        Of the runs.
    """

    outcomes: dict[str, tuple[Outcome, ...]]
    results: Results = field(repr=False)

    def rpm(self, label: str, kind: str = "rpm") -> Estimate:
        """Return a mean over replications with its 95 % interval, in round trips per minute; higher is better.

        Parameters
        ----------
        label
            Of the scheme.
        kind
            ``rpm``, ``foreign_rpm`` or ``loaded_rpm``.

        Raises
        ------
        SojournError
            Unknown scheme or kind.
        """
        if kind not in _KINDS:
            raise SojournError(suggest.unknown("kind", kind, _KINDS))
        if label not in self.outcomes:
            raise SojournError(suggest.unknown("scheme", label, self.outcomes))
        return stats.estimate([getattr(one, kind) for one in self.outcomes[label]])

    def table(self) -> pd.DataFrame:
        """Return every test: columns ``scheme``, ``replication`` and those of :class:`Outcome`."""
        import pandas as pd

        return pd.DataFrame(
            {"scheme": label, "replication": replication, **asdict(one)}
            for label, outcomes in self.outcomes.items()
            for replication, one in enumerate(outcomes)
        )

    def __str__(self) -> str:
        from sojourn.results.text import table

        rows = []
        for label, outcomes in self.outcomes.items():
            kinds = [self.rpm(label, kind) for kind in _KINDS]
            confidence = min((one.confidence for one in outcomes), key=CONFIDENCE.index)
            rows.append([label, *(metrics.written(one) for one in kinds), confidence])
        return table(["scheme", "RPM", "foreign RPM", "loaded RPM", "confidence"], rows)


def responsiveness(
    network: Network | str,
    schemes: Schemes | None = None,
    *,
    from_: str,
    to: str,
    test: ResponsivenessTest | None = None,
    capacity: Rate | None = None,
    congestion_control: str = "cubic",
    replicates: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
) -> Responsiveness:
    """Measure the responsiveness of a network under working conditions, in round trips per minute.

    Parameters
    ----------
    network
        What to test: a :class:`Network`, the path of a scenario, or the name of a ready-made one. Its own flows stay,
        and compete with the test.
    schemes
        As in :func:`sojourn.compare`; by default the queues as written.
    from_, to
        The nodes between which the load goes: a server and a client for the test of a download.
    test
        The parameters, by default the draft's.
    capacity
        Of the path, from which the number of probes follows; by default the lowest rate of a link under test.
    congestion_control
        Of the load and of the probes.
    replicates, seed, jobs
        As in :func:`sojourn.compare`.

    Raises
    ------
    SojournError
        A bad network or scheme, or links under test without a constant rate where `capacity` is missing.

    References
    ----------
    draft-ietf-ippm-responsiveness-09 (July 2026), sections 5.1 to 5.4.

    Examples
    --------
    >>> import sojourn as sj
    >>> net = sj.Network(name="line", duration=sj.s(1)).link(
    ...     name="line", from_="server", to="client", rate=sj.mbit_s(5), delay=sj.ms(10), under_test=True
    ... )
    >>> quick = sj.ResponsivenessTest(interval=sj.s(1), time_limit=sj.s(8), most=4)
    >>> found = sj.responsiveness(net, ["pfifo limit 100p", "fq_codel"], from_="server", to="client", test=quick)
    >>> found.rpm("fq_codel").mean > found.rpm("pfifo limit 100p").mean
    True
    """
    from sojourn.plan.runner import compare, run

    test = test or ResponsivenessTest()
    document = load(network).to_dict() if isinstance(network, str) else network.to_dict()
    document = _loaded(document, from_, to, test, _pairs_s(document, test, capacity), congestion_control)
    loaded = Network.from_dict(document)
    if schemes is None:
        results = run(loaded, replicates=replicates or 1, seed=seed, jobs=jobs)
    else:
        results = compare(loaded, schemes, replicates=replicates, seed=seed, jobs=jobs)
    outcomes = {label: tuple(_outcomes(results, label, test)) for label in results.labels}
    return Responsiveness(outcomes, results)


def _pairs_s(document: core.Document, test: ResponsivenessTest, capacity: Rate | None) -> float:
    """Return the pairs of probes a second."""
    if capacity is not None:
        least = to_bit_s("capacity", capacity)
    else:
        tested = [link.get("rate") for link in document.get("links", ()) if link.get("under_test")]
        rates = [one for rate in tested for one in (rate.values() if isinstance(rate, dict) else [rate])]
        if not rates or not all(isinstance(rate, str) for rate in rates):
            raise SojournError(
                "capacity: no link under test has a constant rate; allowed: a rate such as '20 Mbit/s'"
            )
        least = min(to_bit_s("rate", rate) for rate in rates)
    return min(test.probes_per_second, test.capacity_share * least / (8 * _PAIR_BYTES))


def _loaded(
    document: core.Document, from_: str, to: str, test: ResponsivenessTest, pairs_s: float, control: str
) -> core.Document:
    """Return the scenario with the load and the probes of the test."""
    gap = str(from_ns(round(1e9 / pairs_s)))
    interval_ns = to_ns("interval", test.interval)
    transport = {"kind": "tcp", "congestion_control": control}
    flows = [dict(flow) for flow in document.get("flows", ())]
    for number in range(test.most):
        # Connection `initial` opens at the end of the first interval.
        steps = max(math.ceil((number + 1 - test.initial) / test.added), 0) if test.added else 0
        if (number >= test.initial and not test.added) or steps >= test.intervals:
            break
        load_flow: dict[str, Any] = {"name": f"{_LOAD}-{number + 1}", "from": from_, "to": to, "transport": transport}
        load_flow["traffic"] = {"kind": "bulk", "self_probes": gap}
        # Replications differ in when connections open.
        opens_ns = steps * interval_ns
        load_flow["start"] = {"uniform": [str(from_ns(opens_ns)), str(from_ns(opens_ns + interval_ns // 50))]}
        flows.append(load_flow)
    count = math.floor(test.intervals * interval_ns / 1e9 * pairs_s)
    if count:
        fetch = {"name": _FOREIGN, "from": from_, "to": to, "count": count, "transport": transport}
        flows.append(fetch | {"traffic": {"kind": "transfer", "size": _OBJECT}, "start": {"every": gap}})
    length = str(from_ns(test.intervals * interval_ns))
    series = {"interval": str(from_ns(interval_ns)), "flows": False}
    return {**document, "duration": length, "warm_up": "0 s", "flows": flows, "series": series}


def _outcomes(results: Results, label: str, test: ResponsivenessTest) -> list[Outcome]:
    """Return what each replication's test reports."""
    series = results.series[results.series["scheme"] == label]
    flows = results.flows[(results.flows["scheme"] == label) & (results.flows["group"] == _FOREIGN)]
    found = []
    for replication, own in series.groupby("replication", sort=True):
        goodput = own[own["name"] == "goodput_bit_s"].sort_values("t_s")
        probes = own[own["name"].str.startswith("self_probe_ms:")]
        foreign = flows[flows["replication"] == replication].dropna(subset=["flow_startup_s"])
        way_back_ms = foreign["base_rtt_ms"].to_numpy(np.float64) / 2
        startup_ms = foreign["flow_startup_s"].to_numpy(np.float64) * 1e3
        tcp_f = foreign["connect_ms"].to_numpy(np.float64)
        http_f = startup_ms - tcp_f + way_back_ms
        done_s = foreign["flow_start_s"].to_numpy(np.float64) + (startup_ms + way_back_ms) / 1e3
        answered_s, http_l = (probes[name].to_numpy(np.float64) for name in ("t_s", "value"))

        known = partial(_recent, test, (done_s, tcp_f, http_f), (answered_s, http_l))
        found.append(evaluate(goodput["value"].to_numpy(np.float64)[: test.intervals], known, test))
    return found


def _recent(
    test: ResponsivenessTest, foreign: tuple[Floats, Floats, Floats], of_self: tuple[Floats, Floats], number: int
) -> Rpm:
    """Return the responsiveness in the moving average that ends with an interval; probes have their ends first."""
    to_s = (number + 1) * test.interval_s
    from_s = to_s - test.moving_average * test.interval_s

    def within(ended_s: Floats, times: Floats) -> Floats:
        return times[(ended_s > from_s) & (ended_s <= to_s)]

    done_s, tcp_f, http_f = foreign
    return round_trips_per_minute(within(done_s, tcp_f), within(done_s, http_f), within(*of_self), test.trimmed)
