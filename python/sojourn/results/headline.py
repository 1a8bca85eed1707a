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

from sojourn.base import suggest
from sojourn.base.errors import RunError
from sojourn.results import metrics

ALL: Final = "all"
"""The name of all queues under test together."""
MANY: Final = 8
"""Tables show so many queues, the busiest; the data have all."""

Row = Mapping[str, Any]


def tested(queues: Iterable[Row]) -> tuple[str, ...]:
    """Return the names of the queues under test, the headline queue first; `queues` are rows of all compared runs."""
    found: dict[str, list[float]] = {}
    for row in queues:
        if row["under_test"]:
            share = row.get("utilisation")
            own = found.setdefault(str(row["queue"]), [])
            if share is not None and math.isfinite(share):
                own.append(float(share))
    mean = {name: sum(shares) / len(shares) if shares else 0.0 for name, shares in found.items()}
    return tuple(sorted(mean, key=lambda name: -mean[name]))


def layout(queues: Sequence[str], names: Sequence[str]) -> list[tuple[str, list[str | None]]]:
    """Return the rows that a scheme has in a table: a queue under test, and the name of what each column shows there.

    With several queues under test each of them has a row, the busiest first. What is not of queues is in the first
    row only, as None elsewhere. With one or none there is one row, whose queue is not named.
    """
    if len(queues) < 2 or not any(map(metrics.is_of_queues, names)):
        return [("", list(names))]
    rows: list[tuple[str, list[str | None]]] = []
    for queue in queues[:MANY]:
        rows.append(
            (queue, [at(name, queue) if metrics.is_of_queues(name) else None if rows else name for name in names])
        )
    return rows


def shown(queues: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names that :func:`layout` has in its rows, each once."""
    return list(dict.fromkeys(name for _, own in layout(queues, names) for name in own if name))


def at(name: str, queue: str) -> str:
    """Return the name of a metric of one queue."""
    return f"{metrics.split(name)[0]}@{queue}"


def measured(documents: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, list[Any]]:
    """Return metrics of one scheme's runs, from the documents of the core; those of queues as in results."""
    rows = [[{"queue": one["name"], **one, **one["metrics"]} for one in found["queues"]] for found in documents]
    queues = tested(row for own in rows for row in own)
    by_run = [{str(row["queue"]): row for row in own} for own in rows]
    values = {}
    for name in names:
        metric, _ = metrics.split(name)
        if len(queues) > 1 and metrics.is_of_queues(metric):
            queue = named(name, queues, by_run[0])
            values[name] = [own[queue].get(metric) for own in by_run]
        else:
            values[name] = [found["metrics"].get(metric) for found in documents]
    return values


def resolve(runs: Sequence[dict[str, Any]], queues: Sequence[Row], queue: str) -> None:
    """Give rows of ``runs`` the metrics of a queue, and its name in the column ``queue``.

    Both tables have columns ``scheme`` and ``replication``.
    """
    own = {(row["scheme"], row["replication"]): row for row in queues if row["queue"] == queue}
    several = len({str(row["queue"]) for row in queues if row["under_test"]}) > 1
    for run in runs:
        run["queue"] = queue
        found = own.get((run["scheme"], run["replication"]), {})
        if several:
            run.update((name, found.get(name)) for name in run if metrics.is_of_queues(name))


def named(name: str, queues: Sequence[str], known: Iterable[str]) -> str:
    """Return the queue of a metric of queues: that of its name, which must be known, else the first of `queues`."""
    metric, queue = metrics.split(name)
    if not queue:
        return queues[0] if queues else ""
    if not metrics.is_of_queues(metric):
        raise RunError(f"`{name}`: {metric} is not a metric of queues; allowed: {metric}, without a queue")
    known = list(known)
    if queue not in known:
        if queue == ALL:
            raise RunError(
                f"`{name}`: the queues under test were not measured together; allowed: a scenario with "
                f"`pooled = true` and several of them, or one of the queues {', '.join(known[:MANY])}"
            )
        raise RunError(f"{suggest.unknown('queue', queue, known)}")
    return queue
