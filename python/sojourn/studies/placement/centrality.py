"""Centralities: numbers that rank routers without a simulation."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import eigs

from sojourn.stats import Floats
from sojourn.studies.placement.pivots import Sampled, sample
from sojourn.studies.topology.case import Case

ATTENUATION: Final = 0.5
"""Katz's attenuation factor is this part of the largest that converges, one over the spectral radius."""
EXACT_UP_TO: Final = 2000
"""Larger graphs get betweenness and closeness from sampled pivots."""
PIVOTS: Final = 256


@dataclass(frozen=True)
class Centrality:
    """A way of ranking the routers of a case: of `scores`, shape (routers,), the larger comes first."""

    name: str
    meaning: str
    scores: Callable[[Case], Floats]


def adjacency(case: Case) -> Any:
    """Return the links as a symmetric sparse matrix of ones, shape (n, n)."""
    count = len(case.topology.nodes)
    ends = np.array([link.ends for link in case.topology.links], dtype=np.int64)
    rows, columns = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    return coo_array((np.ones(rows.size), (rows, columns)), shape=(count, count)).tocsr()


def flow_matrix(case: Case) -> Any:
    """Return offered traffic in bit/s from router to router over the links between them, sparse, shape (n, n)."""
    count = len(case.topology.nodes)
    ways = [way for way, amount in case.offered.items() if amount > 0]
    amounts = [case.offered[way] for way in ways]
    rows, columns = zip(*ways, strict=True)
    return coo_array((amounts, (rows, columns)), shape=(count, count)).tocsr()


def katz(matrix: Any, attenuation: float = ATTENUATION) -> Floats:
    """Return Katz centrality x = a A'x + 1, in which a router scores by who leads to it (Katz 1953).

    The factor a is `attenuation` over the spectral radius of A. A matrix without a cycle has radius 0, and any factor
    converges; then it is `attenuation` over the largest column sum.

    Parameters
    ----------
    matrix
        Sparse, not negative, shape (n, n); A[i, j] is the weight from i to j.
    attenuation
        Between 0 and 1.

    Returns
    -------
    array
        Shape (n,), not normalised.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> [round(float(x), 6) for x in katz(csr_array([[0.0, 1.0], [1.0, 0.0]]))]  # x = x/2 + 1
    [2.0, 2.0]
    """
    transposed = matrix.T.tocsr()
    top = transposed.sum(axis=1).max()
    radius = _radius(transposed / top) * top
    factor = attenuation / (radius if radius > 1e-9 * top else top)
    found = step = np.ones(matrix.shape[0])
    # Terms shrink by `attenuation` in the long run; the bound is for matrices that begin far from it.
    for _ in range(100_000):
        step = factor * (transposed @ step)
        found = found + step
        if step.max() <= 1e-12 * found.max():
            break
    return found


def _radius(matrix: Any) -> float:
    """Return the spectral radius of a matrix that is not negative."""
    if matrix.shape[0] <= 400:
        return float(np.abs(np.linalg.eigvals(matrix.toarray())).max())
    start = np.ones(matrix.shape[0])
    return float(np.abs(eigs(matrix, k=1, which="LM", v0=start, return_eigenvectors=False, tol=1e-8)).max())


def by_hops(case: Case, pivots: int = PIVOTS) -> Sampled:
    """Return betweenness and closeness by hops, from all routers or from sampled ones; see :data:`EXACT_UP_TO`."""
    count = len(case.topology.nodes)
    return sample(adjacency(case), count if count <= EXACT_UP_TO else pivots)


def _betweenness(case: Case) -> Floats:
    return by_hops(case).betweenness if len(case.topology.nodes) > 2 else np.zeros(len(case.topology.nodes))


def _closeness(case: Case) -> Floats:
    return by_hops(case).closeness if len(case.topology.nodes) > 2 else np.ones(len(case.topology.nodes))


def _load(case: Case) -> Floats:
    return _most(case, case.utilisation)


def _through(case: Case) -> Floats:
    found = np.zeros(len(case.topology.nodes))
    for (router, _), amount in case.offered.items():
        found[router] += amount
    return found


def _queued(case: Case) -> Floats:
    """Sum of the mean numbers in M/M/1 queues of the links' loads: the queue grows without bound towards load 1."""
    found = np.zeros(len(case.topology.nodes))
    for way in case.offered:
        load = min(case.utilisation(way), 0.99)
        found[way[0]] += load / (1 - load)
    return found


def _most(case: Case, value: Callable[[tuple[int, int]], float]) -> Floats:
    found = np.zeros(len(case.topology.nodes))
    for way in case.offered:
        found[way[0]] = max(found[way[0]], value(way))
    return found


def _random(case: Case) -> Floats:
    seed = zlib.crc32(case.topology.name.encode())
    return np.random.Generator(np.random.PCG64(seed)).random(len(case.topology.nodes))


ALL: Final[Mapping[str, Centrality]] = {
    each.name: each
    for each in (
        Centrality("load", "offered traffic over capacity of the router's busiest outgoing link", _load),
        Centrality("queued", "sum over its outgoing links of load / (1 - load), as in M/M/1 queues", _queued),
        Centrality("flow_betweenness", "offered traffic that the router sends on, in bit/s", _through),
        Centrality(
            "katz_flow",
            "Katz on the flow matrix: traffic from router to router over links",
            lambda case: katz(flow_matrix(case)),
        ),
        Centrality("katz", "Katz on the topology", lambda case: katz(adjacency(case))),
        Centrality("betweenness", "share of shortest paths by hops through the router", _betweenness),
        Centrality("closeness", "inverse of the mean number of hops to the others", _closeness),
        Centrality("degree", "number of links", lambda case: np.array(case.topology.degrees(), dtype=np.float64)),
        Centrality("random", "drawn once for each topology, for comparison", _random),
    )
}


def rankings(case: Case, names: Sequence[str] = ()) -> dict[str, list[int]]:
    """Return the routers in the order of each centrality, the first first; ties go to the lower index.

    Scores that differ by rounding alone are ties.

    Parameters
    ----------
    case
        Topology and traffic.
    names
        Of :data:`ALL`; none means all.
    """
    found = {}
    for name in names or ALL:
        scores = ALL[name].scores(case)
        top = float(np.abs(scores).max()) or 1.0
        rounded = np.round(scores / top, 9)
        found[name] = [int(k) for k in np.lexsort((np.arange(rounded.size), -rounded))]
    return found
