"""Demands between routers, and the flows that represent them."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from sojourn.base import foreign
from sojourn.base.core import SojournError
from sojourn.studies.topology.model import Topology

MOST_ROUTERS: Final = 3000
"""Most routers for which demands of all pairs are computed; those of more would not fit into memory."""
KINDS: Final = ("own", "gravity", "uniform")
Demands = Mapping[tuple[int, int], float]


def demands(topology: Topology, which: str | Path | None = None) -> tuple[Demands, str]:
    """Return demands between routers, in any unit, and a text that says where they come from.

    ``own``
        The topology's own.
    ``gravity``
        From i to j in proportion to C_i C_j, with C the sum of the rates of a router's links: the simple gravity
        model of Zhang, Roughan, Duffield and Greenberg (SIGMETRICS 2003) with capacity in place of measured traffic.
    ``uniform``
        The same between every two routers.
    a file
        CSV, ``from, to, value`` a line; ``#`` begins a comment.

    Parameters
    ----------
    topology
        With rates, for the gravity model.
    which
        One of these; None takes the topology's own, and the gravity model where it has none.

    Raises
    ------
    SojournError
        If there are none, or the file is not good.
    """
    text = "own" if which is None and topology.demands else "gravity" if which is None else str(which)
    match text:
        case "own" if not topology.demands:
            raise SojournError(f"{topology.name} has no demands of its own; allowed: gravity, uniform or a CSV file")
        case "own":
            return topology.demands, "the topology's own demands"
        case "gravity" | "uniform" if len(topology.nodes) > MOST_ROUTERS:
            raise SojournError(
                f"{topology.name} has {len(topology.nodes)} routers, too many for {text} demands; allowed: up to "
                f"{MOST_ROUTERS}, or a CSV file of demands"
            )
        case "gravity" | "uniform":
            masses = [1.0] * len(topology.nodes)
            if text == "gravity":
                masses = [0.0] * len(topology.nodes)
                for link in topology.links:
                    for end in link.ends:
                        masses[end] += float(link.rate_bit_s or 0)
            pairs = {(i, j): a * b for i, a in enumerate(masses) for j, b in enumerate(masses) if i != j}
            words = "a gravity model of the routers' link rates" if text == "gravity" else "the same for every pair"
            return pairs, words
        case _:
            return _read(Path(text), topology), f"demands of {Path(text).name}"


def _read(path: Path, topology: Topology) -> Demands:
    try:
        rows = foreign.read_text(path).splitlines()
    except FileNotFoundError:
        raise SojournError(f"--demands is {str(path)!r}; allowed: {', '.join(KINDS)}, or a CSV file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SojournError(f"cannot read the demands {str(path)!r}: {error}") from None
    found: dict[tuple[int, int], float] = {}
    for line, row in enumerate(csv.reader((text.partition("#")[0] for text in rows), skipinitialspace=True), 1):
        if not any(part.strip() for part in row):
            continue
        where = f"{path}, line {line}:"
        if len(row) != 3:
            raise SojournError(f"{where} {','.join(row)!r} is not a demand; allowed: from, to, value")
        try:
            pair = (topology.index(row[0].strip()), topology.index(row[1].strip()))
            value = float(row[2])
        except SojournError as error:
            raise SojournError(f"{where} {error}") from None
        except ValueError:
            value = math.nan
            pair = (0, 0)
        if not (math.isfinite(value) and value >= 0):
            raise SojournError(f"{where} value is {row[2]!r}; allowed: a number, 0 or more")
        if pair[0] == pair[1]:
            raise SojournError(f"{where} from {row[0]} to itself; allowed: two routers")
        found[pair] = found.get(pair, 0.0) + value
    kept = {pair: value for pair, value in found.items() if value > 0}
    if not kept:
        raise SojournError(f"{path}: no demand above 0; allowed: at least one")
    return kept


def apportion(wanted: Demands, count: int, seed: int) -> dict[tuple[int, int], int]:
    """Give each pair a whole number of flows, `count` in all.

    Systematic sampling in a random order (Madow 1949): a pair with a share p of the demand has floor(p count) or one
    more, and p count on average over seeds. So few flows can stand for many small demands without a bias.

    Parameters
    ----------
    wanted
        Demands.
    count
        Number of flows.
    seed
        Of the order and the offset.

    Returns
    -------
    dict
        Number of flows by (from, to), pairs without a flow left out, in order of the pairs.

    Examples
    --------
    >>> apportion({(0, 1): 3.0, (1, 0): 1.0}, 8, seed=1)
    {(0, 1): 6, (1, 0): 2}
    """
    random = np.random.Generator(np.random.PCG64(seed))
    pairs = sorted(wanted)
    order = random.permutation(len(pairs))
    values = np.array([wanted[pair] for pair in pairs])[order]
    # A whole number of flows for every pair must come out as just that, whatever the rounding of the sums.
    ends = np.round(np.cumsum(values) * (count / values.sum()), 9)
    marks = np.ceil(ends - random.random())
    numbers = np.empty(len(pairs), dtype=np.int64)
    numbers[order] = np.diff(np.concatenate([[0.0], marks]))
    return {pairs[k]: int(numbers[k]) for k in np.flatnonzero(numbers)}
