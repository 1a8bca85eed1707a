"""Metrics of kinds of flows, TCP and UDP: how fairly they share, within a kind, between kinds and over time.

A kind is a group of flows of the scenario, or all groups whose names agree up to the first underscore
(``tcp`` and ``tcp_slow``): ``jain_index@tcp``. Throughput is goodput; of a kind it is the mean of its flows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from sojourn.plan.rows import KEY
from sojourn.plan.store import Store
from sojourn.results.fairness import demands, fair_share_index
from sojourn.stats import jain
from sojourn.studies.papers.execute import Raw, Runs
from sojourn.studies.papers.model import Paper
from sojourn.studies.papers.overtime import over_flows

JAIN: Final = "jain_index"
KINDS: Final = "kinds"
"""The place of what compares the kinds with each other, each counted once."""
RECEIVED: Final = "received"
"""The place of Jain's index over all flows of received IP bytes, those sent again included."""
FAIR: Final = "fair_share"
"""The place of Jain's index over all flows of goodput over the max-min fair share."""
START_S: Final = 2.0
"""What a study's "slow start" is judged on: its flows begin within one second, and reach their window in the next."""

_RATIOS: Final = {
    "goodput_bit_s": "goodput_ratio",
    "goodput_total_bit_s": "goodput_total_ratio",
    "loss_ratio": "loss_ratio_ratio",
}


def columns(paper: Paper, store: Store, _runs: Runs, wanted: list[str], **_: object) -> pd.DataFrame:
    """Return what the store holds of kinds of flows: a row per run.

    Of each kind ``goodput_bit_s@tcp`` (mean of its flows), ``goodput_total_bit_s@tcp`` (and ``@all``),
    ``jain_index@tcp``, ``loss_ratio@tcp`` (drops at any queue over packets sent), ``goodput_share@tcp`` (the mean
    over that of all flows) and ``goodput_bit_s@tcp-1``, the least of its flows, upwards; ``jain_index@kinds`` of
    the kinds' means, ``jain_index@received`` of all flows' received bytes, ``jain_index@fair_share`` of goodput over
    the max-min fair share, ``drops_packets_s`` of the queues under test. With two kinds, ``goodput_ratio``,
    ``goodput_total_ratio`` and ``loss_ratio_ratio``: the first's over the second's. ``goodput_ratio@slow``: the first
    kind's over its flows of slower stations, in the same direction.
    """
    kinds = paper.kinds
    names = ["group", "transport", "goodput_bit_s", "throughput_bit_s", "sent_packets", "dropped_packets"]
    flows = store.read("flows", names, wanted).to_pandas()
    flows["kind"] = flows["group"].str.split("_").str[0]
    flows["demand"] = demands(flows)
    of_run = flows.groupby(KEY, sort=False)
    received = of_run["throughput_bit_s"].agg(jain)
    satisfied = {run: fair_share_index(*part.to_numpy().T) for run, part in of_run[["goodput_bit_s", "demand"]]}
    found: dict[str, pd.Series] = {f"{JAIN}@{RECEIVED}": received, f"{JAIN}@{FAIR}": pd.Series(satisfied)}
    for kind in kinds:
        own = flows[flows["kind"] == kind]
        of_kind = own.groupby(KEY, sort=False)
        found[f"goodput_bit_s@{kind}"] = of_kind["goodput_bit_s"].mean()
        found[f"goodput_total_bit_s@{kind}"] = of_kind["goodput_bit_s"].sum()
        found[f"{JAIN}@{kind}"] = of_kind["goodput_bit_s"].agg(jain)
        found[f"loss_ratio@{kind}"] = of_kind["dropped_packets"].sum() / of_kind["sent_packets"].sum()
        ranked = own.assign(rank=of_kind["goodput_bit_s"].rank(method="first").astype(int))
        for rank, part in ranked.groupby("rank"):
            found[f"goodput_bit_s@{kind}-{rank}"] = part.set_index(KEY)["goodput_bit_s"]
    measured_s = store.read("runs", ["measured_s"], wanted).to_pandas().set_index(KEY)["measured_s"]
    queues = store.read("queues", ["under_test", "drops_packets"], wanted).to_pandas()
    drops = queues[queues["under_test"]].groupby(KEY)["drops_packets"].sum()
    found["drops_packets_s"] = drops / measured_s
    found["goodput_total_bit_s@all"] = of_run["goodput_bit_s"].sum()
    whole = pd.DataFrame(found)
    fair = whole["goodput_total_bit_s@all"] / of_run.size()
    for kind in kinds:
        whole[f"goodput_share@{kind}"] = whole[f"goodput_bit_s@{kind}"] / fair
    means = whole[[f"goodput_bit_s@{kind}" for kind in kinds]]
    whole[f"{JAIN}@{KINDS}"] = [jain(one) for one in means.to_numpy(dtype=np.float64)]
    if len(kinds) == 2:
        first, second = kinds
        for metric, name in _RATIOS.items():
            whole[name] = whole[f"{metric}@{first}"] / whole[f"{metric}@{second}"]
    fast, slow = (flows[flows["group"] == group].groupby(KEY) for group in (kinds[0], f"{kinds[0]}_slow"))
    return whole.assign(**{"goodput_ratio@slow": fast["goodput_bit_s"].mean() / slow["goodput_bit_s"].mean()})


def over_time(samples: Mapping[str, pd.DataFrame], kinds: Sequence[str]) -> Raw:
    """Return what time series say of two kinds of flows, by metric and scheme: one value per replication.

    ``goodput_ratio@start``: throughput of a flow of the first kind over that of the second, in the first
    :data:`START_S` seconds. ``time_above@udp``: the share of the intervals in which a flow of the second kind,
    ``udp``, has more than one of the first; flows of a kind by their mean.

    Parameters
    ----------
    samples
        Time series of each flow, by scheme: columns ``kind``, ``replication``, ``t_s``, ``value``.
    """
    if len(kinds) != 2:
        return {}
    above = f"time_above@{kinds[1]}"
    found: Raw = {"goodput_ratio@start": {}, above: {}}
    for scheme, part in samples.items():
        traces = [over_flows(part, kind, "mean") for kind in kinds]
        at_first = traces[0].t_s <= START_S
        first, second = (one.values for one in traces)  # noqa: PD011 - no data frame
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = first[:, at_first].mean(axis=1) / second[:, at_first].mean(axis=1)
        found["goodput_ratio@start"][scheme] = ratio
        found[above][scheme] = (second > first).mean(axis=1)
    return found
