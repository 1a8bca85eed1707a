"""Metrics of places: the links of a scenario whose queues a study speaks of by name (``queue_packets_mean@R6``)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

from sojourn.plan.rows import KEY
from sojourn.plan.store import Store

OF_PLACES: Final = ("queue_packets_mean", "queue_packets_sd", "queue_packets_p99", "loss_ratio", "utilisation")
CV: Final = "queue_cv"
RANK: Final = "utilisation_rank"


def queues(scenario: Mapping[str, Any] | str, places: Sequence[str]) -> dict[str, str]:
    """Return the place of each queue (``R6->R6x``) of a canonical document, or of its JSON text."""
    document = json.loads(scenario) if isinstance(scenario, str) else scenario
    return {f"{one['from']}->{one['to']}": one["name"] for one in document["links"] if one["name"] in places}


def table(store: Store, runs: Sequence[str], scenarios: Iterable[str], places: Sequence[str]) -> pd.DataFrame:
    """Return what the store holds of places: a row per run, a column ``metric@place``, and the sum of all queues."""
    names = {queue: place for one in scenarios for queue, place in queues(one, places).items()}
    found = store.read("queues", ["queue", *OF_PLACES], runs).to_pandas()
    found["place"] = found["queue"].map(names)
    found = found.dropna(subset=["place"])
    found[CV] = found["queue_packets_sd"] / found["queue_packets_mean"]
    found[RANK] = found.groupby(KEY, sort=False)["utilisation"].rank(ascending=False, method="min")
    waiting = found.groupby(KEY, sort=False)["queue_packets_mean"].sum()
    whole = wide(found, "place", (*OF_PLACES, CV, RANK))
    return whole.assign(**{"queue_packets_mean@all": waiting}).reindex(list(runs))


def wide(data: pd.DataFrame, place: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return a row per run and a column ``metric@place`` of a table with a row per run and place."""
    whole = data.pivot_table(index=KEY, columns=place, values=list(columns), dropna=False)
    whole.columns = pd.Index(["@".join(pair) for pair in whole.columns.to_list()])
    return whole
