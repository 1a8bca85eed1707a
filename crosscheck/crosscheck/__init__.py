"""Comparison with Linux, ns-3 and ns-2: the same work on both sides, judged by a rule that was fixed beforehand.

The peers' results are recorded in ``crosscheck/recorded``, so nothing needs to be installed; ``live`` runs the peer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from crosscheck import (
    advised,
    drawn,
    findings,
    linux,
    ns2,
    ns2_wlan,
    ns3,
    ns3_lan,
    ns3_network,
    ns3_wlan,
    varying,
)
from crosscheck.compare import Outcome, Point, Row, Run, row
from sojourn.base import core
from sojourn.base.core import SojournError

__all__ = ["PEERS", "Outcome", "Row", "check", "compared", "held_out"]


def _of_linux() -> list[Point]:
    return [*linux.points(), *drawn.points(drawn.DEVELOPMENT), *varying.points()]


def _of_ns2() -> list[Point]:
    return [*ns2.points(), *ns2_wlan.points()]


def _of_ns3() -> list[Point]:
    return [*ns3.points(), *ns3_lan.points(), *ns3_network.points(), *ns3_wlan.points()]


POINTS: Final[dict[str, Callable[[], list[Point]]]] = {"linux": _of_linux, "ns3": _of_ns3, "ns2": _of_ns2}
PEERS: Final = tuple(POINTS)
#: On Linux, too, but of other commands: what `advise` promises, and what the atlas says.
OF_COMMANDS: Final[dict[str, Callable[[], list[Point]]]] = {"advice": advised.points, "atlas": findings.points}

REPLICATIONS: Final = 5
QUICK_REPLICATIONS: Final = 3


def check(
    peer: str,
    *,
    quick: bool = False,
    live: bool = False,
    jobs: int | None = None,
    seed: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Run our side of every point and compare.

    Parameters
    ----------
    peer
        ``linux``, ``ns3`` or ``ns2``; ``advice`` or ``atlas`` for what Linux says of those commands.
    quick
        Some points only, three replications instead of five or more.
    live
        Run the peer instead of reading what it recorded: takes it installed. The
        drawn points of Linux and its rate changes are left out; `crosscheck/linux/run.py --drawn` and
        `crosscheck/linux/varying.py` record them.
    """
    known = {**POINTS, **OF_COMMANDS}
    if peer not in known:
        raise SojournError(f"peer {peer!r}: is not known; allowed: {', '.join(known)}")
    points = known[peer]()
    if peer in OF_COMMANDS and (quick or live):
        raise SojournError(f"{peer}: has no --quick and no --live; crosscheck/linux records it")
    if quick:
        points = [point for point in points if point.is_quick]
    if live:
        from crosscheck.live import measured

        points = measured(peer, [point for point in points if not point.group], progress=progress)
    return compared(peer, points, quick=quick, jobs=jobs, seed=seed, progress=progress)


def held_out(*, jobs: int | None = None, seed: int = 1) -> Outcome:
    """Run our side of the held-out Linux points. Look at nothing but the shares: :mod:`crosscheck.heldout`."""
    points = drawn.points(drawn.HELD_OUT)
    if not points:
        raise SojournError("--held-out: no held-out point is recorded yet")
    return compared("linux", points, quick=False, jobs=jobs, seed=seed, progress=None)


def compared(
    peer: str,
    points: Sequence[Point],
    *,
    quick: bool = False,
    jobs: int | None = None,
    seed: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Run our side of some points of a peer; as :func:`check`, which takes all."""
    rows: list[Row] = []
    left_out: list[tuple[Point, str]] = []
    for point in points:
        if progress:
            progress(point.name)
        try:
            runs = _runs(point, QUICK_REPLICATIONS if quick else point.replications or REPLICATIONS, seed, jobs)
        except SojournError as error:
            # Points with a discipline or a congestion control that this version does not have are reported.
            left_out.append((point, str(error).splitlines()[0]))
            continue
        rows.extend(row(point, metric, runs) for metric in point.metrics)
    return Outcome(peer, tuple(rows), tuple(left_out))


def _runs(point: Point, replications: int, seed: int, jobs: int | None) -> list[Run]:
    from sojourn.base.processors import cores

    threads = cores() if jobs is None else jobs
    scheme = None if point.scheme is None else core.parse_aqm(point.scheme)
    tasks: Sequence[dict[str, Any]] = [
        {"scheme": scheme, "seed": seed, "replication": replication, "series": point.series}
        for replication in range(replications)
    ]

    def results(*sets: str) -> list[core.Document]:
        scenario = core.load(json.dumps(point.scenario), source=f"crosscheck {point.name}", sets=sets)
        return core.run_many(scenario, tasks, jobs=threads)

    nothing: Sequence[core.Document | None] = [None] * replications
    measured = results()
    whole = results("warm_up=0 s") if point.needs_whole else nothing
    streams: Sequence[core.Document | None] = nothing
    if point.streams_s is not None:
        # The same runs, over another time.
        later_s = {key: float(point.scenario[key].split(" ")[0]) + point.streams_s for key in ("warm_up", "duration")}
        streams = results(*(f"{key}={value * 1e3:.0f} ms" for key, value in later_s.items()))
    return [Run(*documents) for documents in zip(measured, whole, streams, strict=True)]
