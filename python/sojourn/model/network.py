"""Networks: frozen builders of the scenario document."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from sojourn.base import core, foreign, nesting, suggest, toml
from sojourn.base.errors import ScenarioError
from sojourn.base.units import Data, Packets, Quantity, Rate, Time, as_text
from sojourn.model import mix
from sojourn.model.draw import Distribution, amount
from sojourn.model.scheme import SchemeLike
from sojourn.model.traffic import Start, Traffic, Transport
from sojourn.model.traffic import bulk as bulk_traffic

Both: TypeAlias = Rate | Mapping[str, Rate]
"""A rate, or ``{"down": rate, "up": rate}`` of a link's two directions; down is the one from `from_` to `to`."""
BothData: TypeAlias = Data | Mapping[str, Data]
BothTimes: TypeAlias = Time | Mapping[str, Time]
"""As :data:`Both`, of times."""
BothShares: TypeAlias = str | float | Mapping[str, str | float]
"""As :data:`Both`, of probabilities or texts as in tc-netem(8); a direction may be missing."""
BothSchemes: TypeAlias = SchemeLike | Mapping[str, SchemeLike]
"""As :data:`BothShares`, of schemes."""

_LISTS = ("nodes", "links", "buses", "cells", "flows", "changes")


Load: TypeAlias = Sequence[Mapping[str, Any]]
"""Flows that belong together: the arguments of :meth:`Network.flow`, for each."""


class Network:
    """A network with its traffic, immutable: every method returns a new one.

    Parameters
    ----------
    name
        What results and reports call it.
    duration
        How long a run lasts.
    warm_up
        Statistics start here.
    description
        A sentence for reports.
    seed
        Of the first replication, unless the run names another.
    replications
        How many a comparison does, unless it names another number.

    Raises
    ------
    TypeError
        If a quantity is a bare number.

    Examples
    --------
    >>> import sojourn as sj
    >>> net = (
    ...     sj.Network(name="pipe", duration=sj.s(20), warm_up=sj.s(5))
    ...     .link(name="bottleneck", from_="a", to="b", rate=sj.mbit_s(10), delay=sj.ms(10), under_test=True)
    ...     .flow(name="download", from_="a", to="b")
    ... )
    >>> net.check().name
    'pipe'
    """

    __slots__ = ("_added", "_text")
    _text: str
    _added: tuple[tuple[str, str], ...]

    def __init__(
        self,
        *,
        name: str,
        duration: Time,
        warm_up: Time | None = None,
        description: str | None = None,
        seed: int | None = None,
        replications: int | None = None,
    ) -> None:
        self._set(
            {
                "name": name,
                "description": description,
                "duration": as_text("duration", duration, "time"),
                "warm_up": _maybe("warm_up", warm_up, "time"),
                "seed": seed,
                "replications": replications,
            }
        )

    # The state is JSON text, immutable: that of a document, and that of each element added to one of its lists. So
    # thousands of elements do not write thousands of documents.
    def _set(self, document: Mapping[str, Any]) -> None:
        kept = {key: value for key, value in document.items() if value is not None}
        nesting.check(kept, "the scenario")
        object.__setattr__(self, "_text", json.dumps(kept, ensure_ascii=False))
        object.__setattr__(self, "_added", ())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Network does not change: cannot set {name}; its methods return new ones")

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Network:
        """Take a scenario document as it stands; :meth:`check` says whether it is a good one."""
        network = cls.__new__(cls)
        network._set(document)
        return network

    @property
    def name(self) -> str:
        """What results and reports call it."""
        return str(self.to_dict().get("name", ""))

    def node(self, *, name: str, count: int | None = None) -> Network:
        """Declare a node, or a group of `count` nodes ``name0``, ``name1``, ..."""
        return self._with("nodes", {"name": name, "count": count})

    def link(
        self,
        *,
        name: str,
        from_: str,
        to: str,
        delay: BothTimes,
        rate: Both | None = None,
        trace: str | Mapping[str, object] | None = None,
        reverse_rate: Rate | None = None,
        reverse_trace: str | Mapping[str, object] | None = None,
        reverse_delay: Time | None = None,
        loss: BothShares | None = None,
        reverse_loss: str | float | None = None,
        jitter: str | Mapping[str, str] | None = None,
        reverse_jitter: str | None = None,
        duplicate: BothShares | None = None,
        reverse_duplicate: str | float | None = None,
        overhead: Data | None = None,
        framing: str | None = None,
        queue: BothSchemes | None = None,
        reverse_queue: SchemeLike | None = None,
        under_test: bool | Mapping[str, bool] | None = None,
        reverse_under_test: bool | None = None,
        device_queue: Packets | None = None,
        burst: BothData | None = None,
        reverse_burst: Data | None = None,
    ) -> Network:
        """Add a full-duplex point-to-point link, or one for each node of a group.

        What may differ in the two directions has a parameter ``reverse_...``, or takes ``{"down": ..., "up": ...}``
        instead. Down is the direction in which the link is written, from `from_` to `to`.

        Parameters
        ----------
        name
            Of the link.
        from_, to
            Nodes; `from_` may be a group.
        rate, reverse_rate
            Towards `to`, and back where that is another.
        trace, reverse_trace
            A rate that changes over time, in place of `rate`: the file of a trace, the name of one that comes with
            Sojourn, or a table as the scenario's reference has it.
        delay, reverse_delay
            Propagation delay towards `to`, and back where that is another.
        loss, reverse_loss
            Random loss behind the queue: a probability, or a text as behind ``loss`` in tc-netem(8), such as
            ``"gemodel 1% 20%"``.
        jitter, reverse_jitter
            Random changes of the delay, as behind ``delay TIME`` in tc-netem(8): ``"5 ms"`` (uniform, more or less),
            ``"5 ms normal"``. Packets may overtake each other unless it ends with ``ordered``.
        duplicate, reverse_duplicate
            Probability that a packet arrives twice.
        overhead
            Framing added to every packet.
        framing
            In its place, the link's framing in the words of tc-cake(8): ``"docsis"``, ``"pppoe-ptm ether-vlan"``.
        queue, reverse_queue
            The scheme towards `to`, and back.
        under_test, reverse_under_test
            Whether a comparison replaces that queue's scheme.
        device_queue
            A FIFO below the scheme, as a driver's ring has.
        burst, reverse_burst
            Size of a token bucket that shapes the link as Linux's tbf and htb do, towards `to` and back.
        """
        return self._with(
            "links",
            {
                "name": name,
                "from": from_,
                "to": to,
                "rate": _each(rate, lambda one: as_text("rate", one, "rate")),
                "trace": _trace(trace),
                "delay": _each(delay, lambda one: as_text("delay", one, "time")),
                "reverse_rate": _maybe("reverse_rate", reverse_rate, "rate"),
                "reverse_trace": _trace(reverse_trace),
                "reverse_delay": _maybe("reverse_delay", reverse_delay, "time"),
                "loss": _each(loss, str),
                "reverse_loss": None if reverse_loss is None else str(reverse_loss),
                "jitter": _each(jitter, str),
                "reverse_jitter": reverse_jitter,
                "duplicate": _each(duplicate, str),
                "reverse_duplicate": None if reverse_duplicate is None else str(reverse_duplicate),
                "overhead": _maybe("overhead", overhead, "data"),
                "framing": framing,
                "queue": _each(queue, str),
                "reverse_queue": None if reverse_queue is None else str(reverse_queue),
                "under_test": _each(under_test, bool),
                "reverse_under_test": reverse_under_test,
                "device_queue": _maybe("device_queue", device_queue, "packets"),
                "burst": _each(burst, lambda one: as_text("burst", one, "data")),
                "reverse_burst": _maybe("reverse_burst", reverse_burst, "data"),
            },
        )

    def change(
        self,
        *,
        at: Time,
        every: Time | None = None,
        queue: str | None = None,
        link: str | None = None,
        scheme: SchemeLike | None = None,
        parameters: str | None = None,
        rate: Rate | None = None,
        delay: Time | None = None,
        loss: str | float | None = None,
        stop: Sequence[str] | None = None,
        start: Sequence[str] | None = None,
        phase: str | None = None,
        file: str | None = None,
    ) -> Network:
        """Change a queue's scheme or its link, or stop and start flows, during the run.

        Parameters
        ----------
        at
            When; before the end of the run.
        every
            The change repeats after each such time.
        queue
            As results call it, for example ``left->right``; without it, every queue under test.
        link
            Of this link both directions change, in place of a queue.
        scheme
            The new scheme.
        parameters
            New parameters of the present scheme, as tc writes them: ``"target 20ms"``. What it has learnt is kept.
        rate, delay, loss
            Of the link that the queue feeds, in that direction; the packet that is being sent keeps the old ones.
        stop, start
            Groups of flows whose applications stop sending, and go on.
        phase
            Name of the phase that begins; results are also reported by phase.
        file
            A table of changes, see the scenario's reference.

        Examples
        --------
        >>> import sojourn as sj
        >>> slower = sj.dumbbell(flows=1).change(at=sj.s(30), rate=sj.mbit_s(5))
        >>> slower.to_dict()["changes"]
        [{'at': '30 s', 'rate': '5 Mbit/s'}]
        """
        return self._with(
            "changes",
            {
                "at": as_text("at", at, "time"),
                "every": _maybe("every", every, "time"),
                "queue": queue,
                "link": link,
                "scheme": None if scheme is None else str(scheme),
                "parameters": parameters,
                "rate": _maybe("rate", rate, "rate"),
                "delay": _maybe("delay", delay, "time"),
                "loss": None if loss is None else str(loss),
                "stop": None if stop is None else list(stop),
                "start": None if start is None else list(start),
                "phase": phase,
                "file": file,
            },
        )

    def bus(
        self,
        *,
        name: str,
        stations: Sequence[str],
        rate: Rate,
        delay: Time,
        overhead: Data | None = None,
        queue: SchemeLike | None = None,
        under_test: bool | None = None,
        device_queue: Packets | None = None,
        ports: Mapping[str, SchemeLike] | None = None,
    ) -> Network:
        """Add a shared half-duplex channel with carrier sense (CSMA).

        Parameters
        ----------
        name
            Of the bus.
        stations
            Nodes and groups on it.
        rate, delay
            The channel stays busy for a frame's transmission time plus `delay`.
        overhead
            Framing added to every packet.
        queue
            The scheme on every station's interface.
        under_test
            Whether a comparison replaces it.
        device_queue
            A FIFO below the scheme, as a driver's ring has.
        ports
            Stations (nodes or groups) under test with a scheme of their own, as the port of a switch.
        """
        own = [{"name": name, "queue": str(scheme), "under_test": True} for name, scheme in (ports or {}).items()]
        return self._with(
            "buses",
            {
                "name": name,
                "rate": as_text("rate", rate, "rate"),
                "delay": as_text("delay", delay, "time"),
                "overhead": _maybe("overhead", overhead, "data"),
                "stations": list(stations),
                "queue": None if queue is None else str(queue),
                "under_test": under_test,
                "device_queue": _maybe("device_queue", device_queue, "packets"),
                "ports": own or None,
            },
        )

    def cell(
        self,
        *,
        name: str,
        access_point: str,
        stations: Sequence[str],
        profile: str | None = None,
        rates: Mapping[str, Rate] | None = None,
        queue: SchemeLike | None = None,
        under_test: bool | None = None,
        access_point_queue: SchemeLike | None = None,
        access_point_under_test: bool | None = None,
        **parameters: object,
    ) -> Network:
        """Add an 802.11 cell (CSMA/CA): stations and an access point on one channel.

        Parameters
        ----------
        name
            Of the cell.
        access_point
            The node that all stations send to and receive from.
        stations
            Nodes and groups besides it.
        profile
            ``802.11``, ``802.11b``, ``802.11g`` (the default) or ``802.11n``: where what is not set comes from.
        rates
            Data rate of stations or groups that have another than the rest.
        queue, access_point_queue
            The scheme on every station's interface, and on the access point's.
        under_test, access_point_under_test
            Whether a comparison replaces it.
        parameters
            Other keys of the cell as the scenario's reference has them, as ``rts_threshold="500 B"``.
        """
        return self._with(
            "cells",
            {
                "name": name,
                "access_point": access_point,
                "stations": list(stations),
                "profile": profile,
                "rates": None
                if rates is None
                else {who: as_text("rates", rate, "rate") for who, rate in rates.items()},
                "queue": None if queue is None else str(queue),
                "under_test": under_test,
                "access_point_queue": None if access_point_queue is None else str(access_point_queue),
                "access_point_under_test": access_point_under_test,
                **{key: _plain(value) for key, value in parameters.items()},
            },
        )

    def flow(
        self,
        *,
        name: str,
        from_: str,
        to: str,
        count: int | None = None,
        route: Sequence[str] | None = None,
        traffic: Traffic | None = None,
        transport: Transport | None = None,
        start: Time | Start | Distribution | None = None,
        stop: Time | None = None,
        dscp: str | None = None,
    ) -> Network:
        """Add a flow, or one for each node of a group.

        Parameters
        ----------
        name
            Of the flow or group of flows.
        from_, to
            Nodes or groups; node i of one sends to node i (modulo the size) of the other.
        count
            Flows for every pair of nodes.
        route
            Nodes that data passes in this order; without one, the shortest path.
        traffic
            What it sends; without one, data without end.
        transport
            How; without one, the scenario's default TCP.
        start
            A time, a distribution, or ``sj.every(...)``.
        stop
            When it ends, if before the run does.
        dscp
            Codepoint of its packets and of the receiver's: ``"EF"``, ``"CS1"``.
        """
        when: Any = dict(start) if isinstance(start, Start) else start
        if when is not None and not isinstance(start, Start):
            when = amount("start", when, "time")
        return self._with(
            "flows",
            {
                "name": name,
                "from": from_,
                "to": to,
                "count": count,
                "route": None if route is None else list(route),
                "start": when,
                "stop": _maybe("stop", stop, "time"),
                "transport": None if transport is None else dict(transport),
                "traffic": dict(bulk_traffic() if traffic is None else traffic),
                "dscp": dscp,
            },
        )

    def add_flows(self, load: Load) -> Network:
        """Add the flows of a ready-made load.

        Examples
        --------
        >>> import sojourn as sj
        >>> line = sj.access(down=sj.mbit_s(50), up=sj.mbit_s(10), rtt=sj.ms(20), technology="docsis")
        >>> line.add_flows(sj.rrul())
        <Network 'access': 3 links, 12 flows>
        """
        network = self
        for flow in load:
            network = network.flow(**flow)
        return network

    def add(self, *traffic: Traffic, from_: str | None = None, to: str | None = None) -> Network:
        """Add traffic of several kinds, each as flows of its own group.

        Each group has the name of its kind; a second one of a kind has a number behind it. What has a rate of its
        own (calls, games, recorded packets) is carried by UDP, the rest by TCP. Flows start at random in the first
        second.

        Parameters
        ----------
        traffic
            What :func:`sojourn.web`, :func:`sojourn.bulk` and the others return; ``sj.bulk(5)`` is five flows.
        from_, to
            Nodes or groups: the servers, and the clients. By default those of the network's first flow, or else
            ``server`` and ``client``, which :func:`sojourn.access` has.

        Raises
        ------
        SojournError
            If the network has no such nodes.

        Examples
        --------
        >>> import sojourn as sj
        >>> line = sj.access(down=sj.mbit_s(20), up=sj.mbit_s(5), rtt=sj.ms(40))
        >>> line.add(sj.web(), sj.video(), sj.voip(), sj.bulk(5))
        <Network 'access': 3 links, 4 flows>
        """
        return self.add_flows(mix.flows(self.to_dict(), traffic, (from_, to)))

    def to_dict(self) -> core.Document:
        """Return the scenario document as it was built."""
        document: core.Document = json.loads(self._text)
        for key, element in self._added:
            document.setdefault(key, []).append(json.loads(element))
        return document

    def to_toml(self) -> str:
        """Return the scenario document as TOML text."""
        return toml.dumps(self.to_dict())

    def canonical(self, sets: Sequence[str] = ()) -> core.Document:
        """Check the document and return it in canonical form.

        Parameters
        ----------
        sets
            Overrides ``key=value`` with dotted paths: ``links.bottleneck.rate=50 Mbit/s``.

        Raises
        ------
        SojournError
            Anything that the schema does not allow.
        """
        return core.load(self.to_toml(), source=f"network {self.name!r}", sets=sets)

    def check(self) -> Network:
        """Raise :class:`SojournError` unless the network is complete and possible; return it."""
        self.canonical()
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))

    def __repr__(self) -> str:
        document = self.to_dict()
        parts = [f"{len(document[key])} {key}" for key in _LISTS if document.get(key)]
        return f"<Network {self.name!r}: {', '.join(parts) or 'empty'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Network.from_dict, (self.to_dict(),)

    def _with(self, key: str, element: Mapping[str, Any]) -> Network:
        kept = {name: value for name, value in element.items() if value is not None}
        nesting.check([[kept]], f"an element of `{key}`")
        network = Network.__new__(Network)
        object.__setattr__(network, "_text", self._text)
        object.__setattr__(network, "_added", (*self._added, (key, json.dumps(kept, ensure_ascii=False))))
        return network


def load(path: str | Path, *, sets: Sequence[str] = ()) -> Network:
    """Read a scenario: a TOML or JSON file, or the name of one that comes with the package.

    Parameters
    ----------
    path
        ``my/network.toml``, or ``dumbbell`` or ``lan``.
    sets
        Overrides ``key=value`` with dotted paths.

    Raises
    ------
    SojournError
        If there is no such file, or it is not a good scenario.

    Examples
    --------
    >>> import sojourn as sj
    >>> sj.load("dumbbell").name
    'dumbbell'
    """
    text, source = read_text(path)
    return Network.from_dict(core.load(text, source=source, sets=sets))


def bundled_scenarios() -> dict[str, str]:
    """Return the text of every scenario that comes with the package, by name."""
    folder = resources.files("sojourn.model") / "scenarios"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in files}


def read_text(path: str | Path) -> tuple[str, str]:
    """Return a scenario's text, by path or by name, and what messages call it."""
    file = Path(path)
    bundled = bundled_scenarios()
    if str(path) in bundled and not file.is_file():
        return bundled[str(path)], f"{path}.toml (comes with Sojourn)"
    try:
        return foreign.read_text(file), str(path)
    except FileNotFoundError:
        raise ScenarioError(
            f"there is no scenario {str(path)!r}{suggest.hint(str(path), bundled)}: it is neither a file nor a "
            f"scenario that comes with Sojourn ({', '.join(bundled)})"
        ) from None
    except OSError as error:
        raise ScenarioError(f"cannot read the scenario {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScenarioError(f"cannot read the scenario {str(path)!r}: it is not UTF-8 text") from None


def _plain(value: object) -> object:
    """A value as a document has it: a quantity as text."""
    return str(value) if isinstance(value, Quantity) else value


def _each(value: Any, written: Callable[[Any], Any]) -> Any:
    """A value as a document has it, or each of a table of directions."""
    if isinstance(value, Mapping):
        return {direction: written(one) for direction, one in value.items()}
    return None if value is None else written(value)


def _trace(trace: str | Mapping[str, object] | None) -> dict[str, object] | None:
    return {"file": trace} if isinstance(trace, str) else None if trace is None else dict(trace)


def _maybe(name: str, value: object, dimension: Any) -> str | None:
    return None if value is None else as_text(name, value, dimension)
