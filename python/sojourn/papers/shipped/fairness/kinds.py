"""Metrics of kinds of flows, TCP and UDP: how fairly they share, within a kind and between kinds.

A kind is a group of flows of the scenario, or all groups whose names agree up to the first underscore
(``tcp`` and ``tcp_slow``): ``jain_index@tcp``. Throughput is goodput; of a kind it is the mean of its flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from sojourn.plan.rows import KEY
from sojourn.plan.store import Store
from sojourn.stats import Floats

JAIN: Final = "jain_index"
KINDS: Final = "kinds"
"""The place of what compares the kinds with each other, each counted once."""
RECEIVED: Final = "received"
"""The place of Jain's index over all flows of received IP bytes, those sent again included."""

_RATIOS: Final = {
    "goodput_bit_s": "goodput_ratio",
    "goodput_total_bit_s": "goodput_total_ratio",
    "loss_ratio": "loss_ratio_ratio",
}


def jain(values: Floats) -> float:
    """Return Jain's index (sum x)^2 / (n sum x^2) of the study's section V; NaN where nothing was received.

    Examples
    --------
    >>> jain(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (values.size * squares) if squares > 0 else float("nan")


def table(store: Store, runs: Sequence[str], kinds: Sequence[str]) -> pd.DataFrame:
    """Return what the store holds of kinds of flows: a row per run.

    Of each kind ``goodput_bit_s@tcp`` (mean of its flows), ``goodput_total_bit_s@tcp`` (and ``@all``),
    ``jain_index@tcp``, ``loss_ratio@tcp`` (drops at any queue over packets sent), ``goodput_share@tcp`` (the mean
    over that of all flows) and ``goodput_bit_s@tcp-1``, the least of its flows, upwards; ``jain_index@kinds`` of
    the kinds' means, ``jain_index@received`` of all flows' received bytes, ``drops_packets_s`` of the queues under
    test. With two kinds, ``goodput_ratio``, ``goodput_total_ratio`` and ``loss_ratio_ratio``: the first's over the
    second's.
    """
    wanted = ["group", "goodput_bit_s", "throughput_bit_s", "sent_packets", "dropped_packets"]
    flows = store.read("flows", wanted, runs).to_pandas()
    flows["kind"] = flows["group"].str.split("_").str[0]
    of_run = flows.groupby(KEY, sort=False)
    received = of_run["throughput_bit_s"].agg(lambda one: jain(one.to_numpy(dtype=np.float64)))
    found: dict[str, pd.Series] = {f"{JAIN}@{RECEIVED}": received}
    for kind in kinds:
        own = flows[flows["kind"] == kind]
        of_kind = own.groupby(KEY, sort=False)
        found[f"goodput_bit_s@{kind}"] = of_kind["goodput_bit_s"].mean()
        found[f"goodput_total_bit_s@{kind}"] = of_kind["goodput_bit_s"].sum()
        found[f"{JAIN}@{kind}"] = of_kind["goodput_bit_s"].agg(lambda one: jain(one.to_numpy(dtype=np.float64)))
        found[f"loss_ratio@{kind}"] = of_kind["dropped_packets"].sum() / of_kind["sent_packets"].sum()
        ranked = own.assign(rank=of_kind["goodput_bit_s"].rank(method="first").astype(int))
        for rank, part in ranked.groupby("rank"):
            found[f"goodput_bit_s@{kind}-{rank}"] = part.set_index(KEY)["goodput_bit_s"]
    facts = store.read("runs", ["measured_s", "drops_packets"], runs).to_pandas().set_index(KEY)
    found["drops_packets_s"] = facts["drops_packets"] / facts["measured_s"]
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
    return whole.reindex(list(runs))
