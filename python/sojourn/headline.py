"""Which queue a metric of queues is of, where several queues are under test.

Such a metric is of one queue: the headline queue, or the one that its name has behind ``@``
(``sojourn_ms_mean@left->right``). The headline queue is the busiest: the one under test with the highest utilisation,
averaged over all runs that are compared with each other, so it is the same for all of them. Of equal ones it is the
first of the network. ``all``, the queues under test together, is measured where a scenario has ``pooled = true``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sojourn import metrics, suggest
from sojourn.core import SojournError

ALL: Final = "all"
"""The name of all queues under test together."""
MANY: Final = 8
"""Tables show so many queues, the busiest; the data have all."""

Row = Mapping[str, Any]


def tested(queues: Iterable[Row]) -> tuple[str, ...]:
    """Return the names of the queues under test, the headline queue first.

    Parameters
    ----------
    queues
        Rows of the table ``queues``, of all runs that are compared.
    """
    found: dict[str, list[float]] = {}
    for row in queues:
        if row["under_test"]:
            share = row.get("utilisation")
            known = share is not None and math.isfinite(share)
            found.setdefault(str(row["queue"]), []).extend([float(share)] if known else [])
    mean = {name: sum(shares) / len(shares) if shares else 0.0 for name, shares in found.items()}
    return tuple(sorted(mean, key=lambda name: -mean[name]))


def resolve(runs: Sequence[dict[str, Any]], queues: Sequence[Row], queue: str) -> None:
    """Give rows of ``runs`` the metrics of a queue, and its name in the column ``queue``.

    Both tables have columns ``scheme`` and ``replication``.
    """
    own = {(row["scheme"], row["replication"]): row for row in queues if row["queue"] == queue}
    for run in runs:
        run["queue"] = queue
        found = own.get((run["scheme"], run["replication"]), {})
        run.update((name, found.get(name)) for name in run if metrics.is_of_queues(name))


def named(name: str, queues: Sequence[str], known: Iterable[str]) -> str:
    """Return the queue of a metric: that of its name, else the first of `queues`.

    Raises
    ------
    SojournError
        The name has a queue that is not among `known`, or the metric is not of queues.
    """
    metric, queue = metrics.split(name)
    if not queue:
        return queues[0] if queues else ""
    if not metrics.is_of_queues(metric):
        raise SojournError(f"`{name}`: {metric} is not a metric of queues; allowed: {metric}, without a queue")
    known = list(known)
    if queue not in known:
        if queue == ALL:
            raise SojournError(
                f"`{name}`: the queues under test were not measured together; allowed: a scenario with "
                f"`pooled = true` and several of them, or one of the queues {', '.join(known[:MANY])}"
            )
        raise SojournError(f"{suggest.unknown('queue', queue, known)}")
    return queue
