"""What a user writes: a class with parameters, typed fields, and methods that decide."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Protocol

from sojourn.plugins.declared import Declaration, parameter

__all__ = ["ACCEPT", "DROP", "MARK", "SEND", "Algorithm", "PacketView", "QueueView", "parameter"]

ACCEPT: Final = 1
"""Of ``enqueue``: the packet joins the queue."""
DROP: Final = 2
"""Of ``enqueue``: the packet is dropped. Of ``dequeue``: the head is dropped, and the next one is looked at."""
MARK: Final = 3
"""The packet is marked CE, and joins the queue or is sent. Only for packets whose ``ecn`` is not 0."""
SEND: Final = 4
"""Of ``dequeue``: the head is sent."""


class PacketView(Protocol):
    """A packet, as ``enqueue`` and ``dequeue`` see it."""

    @property
    def enqueued_ns(self) -> int:
        """When it joined the queue; of an arrival, now."""

    @property
    def number(self) -> int:
        """Of this arrival at this queue, from 0."""

    @property
    def size_bytes(self) -> int:
        """On the wire."""

    @property
    def flow(self) -> int:
        """Hash of addresses, ports and protocol."""

    @property
    def source(self) -> int:
        """Hash of the source host."""

    @property
    def destination(self) -> int:
        """Hash of the destination host."""

    @property
    def window(self) -> int:
        """Congestion window in packets, where the sender tells it; else 0."""

    @property
    def ecn(self) -> int:
        """0: not ECN-capable, 1: ECT(1), 2: ECT(0), 3: CE."""

    @property
    def dscp(self) -> int:
        """Differentiated services codepoint."""


class QueueView(Protocol):
    """The queue. At ``enqueue`` it does not hold the arrival; at ``dequeue`` it holds the head."""

    @property
    def now_ns(self) -> int:
        """The present instant."""

    @property
    def rate_bit_s(self) -> int:
        """Of the link that the queue feeds."""

    @property
    def bytes(self) -> int:
        """Bytes that wait."""

    @property
    def packets(self) -> int:
        """Packets that wait."""

    @property
    def oldest_ns(self) -> int:
        """When the head joined; now, if nothing waits."""

    def uniform(self) -> float:
        """Return a random number in [0, 1), drawn by the host. Not in ``update``."""

    def chance(self, p: float, /) -> bool:
        """Return True with probability `p`. NaN is an error."""

    def waiting(self, index: int, /) -> PacketView:
        """Return the waiting packet at an index, 0 for the head. At most 64 in one call."""


class Algorithm(Declaration):
    """A queue management algorithm in Python.

    A subclass has parameters (:func:`parameter`), fields, which are its state and have a number, a bool or a list of
    numbers as their initial value, and methods: ``enqueue(self, packet, queue)``, and where they are needed
    ``dequeue(self, packet, queue)``, ``update(self, queue)``, ``init(self)`` and helpers. The methods are compiled by
    Numba, so they may use numbers, ``if``, ``while``, ``for ... in range(...)``, fields and functions of :mod:`math`.

    An instance is a scheme: it can stand wherever a scheme's text can.

    Parameters
    ----------
    label
        The name in tables and pictures.
    debug
        Run the methods uncompiled, so that ``breakpoint()`` and ``print`` act. Hundreds of times slower.
    **parameters
        Values by the names that users write: ``target=sj.ms(10)``.

    Raises
    ------
    SojournError
        The class is not what can be compiled, a parameter is unknown, or a value is impossible.
    """

    is_base: ClassVar[bool] = True

    def __init__(self, *, label: str = "", debug: bool = False, **parameters: Any) -> None:
        from sojourn.model.scheme import aqm
        from sojourn.plugins.loading import add_class

        self.scheme = aqm(add_class(type(self), debug=debug), label=label, **parameters)

    def __str__(self) -> str:
        return str(self.scheme)
