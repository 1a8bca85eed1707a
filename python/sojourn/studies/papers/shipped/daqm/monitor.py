"""The loss ratio as ns-3's FlowMonitor has it: what queues drop, and packets that took too long."""

from __future__ import annotations

from typing import Final

import pandas as pd
import pyarrow.compute as pc

from sojourn.plan.rows import KEY
from sojourn.plan.store import Store
from sojourn.studies.papers.execute import Runs
from sojourn.studies.papers.model import Paper

MONITOR_S: Final = 10.0
"""FlowMonitor takes a packet for lost that is not there after this time (its `MaxPerHopDelay`)."""

_AT_ONCE: Final = 1000
"""Runs whose distributions are in memory at once."""


def columns(_paper: Paper, store: Store, _runs: Runs, wanted: list[str], *, is_base: bool) -> pd.DataFrame:
    """Return ``flow loss_ratio``, a row per run; late packets count under the base, with which readings compare."""
    whole = store.read("runs", ["measured_s", "sent_packets", "delivered_packets"], wanted).to_pandas().set_index(KEY)
    dropped = store.read("flows", ["dropped_packets"], wanted).to_pandas().groupby(KEY, sort=False).sum()
    lost = dropped["dropped_packets"].reindex(whole.index)
    if is_base:
        lost += _late(store, whole)
    return pd.DataFrame({"flow loss_ratio": lost / whole["sent_packets"]})


def _late(store: Store, runs: pd.DataFrame) -> pd.Series:
    """Return how many packets of each run arrived after FlowMonitor had taken them for lost."""
    long = runs.index[runs["measured_s"] > MONITOR_S].tolist()
    late = pd.Series(0.0, index=runs.index)
    for start in range(0, len(long), _AT_ONCE):
        of = store.read("distributions", ["quantity", "value", "cumulative"], long[start : start + _AT_ONCE])
        delays = of.filter(pc.equal(of["quantity"], "one_way_delay_ms")).to_pandas()
        below = delays[delays["value"] <= 1e3 * MONITOR_S].groupby(KEY, sort=False)["cumulative"].max()
        late.loc[below.index] = 1.0 - below
    return late * runs["delivered_packets"]
