"""Networks: frozen builders of the scenario document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias

from sojourn.base import core, foreign, nesting, suggest, toml
from sojourn.base.errors import ScenarioError
from sojourn.base.units import Time, as_text
from sojourn.model import mix
from sojourn.model.elements import LISTS, Elements
from sojourn.model.parts import Traffic

Load: TypeAlias = Sequence[Mapping[str, Any]]
"""Flows that belong together: the arguments of :meth:`Network.flow`, for each."""


class Network(Elements):
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
    >>> net.change(at=sj.s(10), rate=sj.mbit_s(5)).to_dict()["changes"]
    [{'at': '10 s', 'rate': '5 Mbit/s'}]
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
                "warm_up": None if warm_up is None else as_text("warm_up", warm_up, "time"),
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
        parts = [f"{len(document[key])} {key}" for _, key in LISTS.values() if document.get(key)]
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
