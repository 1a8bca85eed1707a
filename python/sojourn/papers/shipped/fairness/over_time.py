"""What time series say of two kinds of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from sojourn.papers.execute import Raw
from sojourn.papers.overtime import of_label, over_flows

START_S: Final = 2.0
"""What a study's "slow start" is judged on: its flows begin within one second, and reach their window in the next."""


def of_time(samples: pd.DataFrame, label_of: Mapping[str, str], kinds: Sequence[str]) -> Raw:
    """Return what time series say of two kinds of flows, by metric and scheme: one value per replication.

    ``goodput_ratio@start``: throughput of a flow of the first kind over that of the second, in the first
    :data:`START_S` seconds. ``time_above@udp``: the share of the intervals in which a flow of the second kind,
    ``udp``, has more than one of the first; flows of a kind by their mean.

    Parameters
    ----------
    samples
        Time series of each flow: columns ``label``, ``kind``, ``replication``, ``t_s``, ``value``.
    label_of
        The label of each scheme.
    kinds
        Of flows; nothing is said of other than two.
    """
    if len(kinds) != 2:
        return {}
    above = f"time_above@{kinds[1]}"
    found: Raw = {"goodput_ratio@start": {}, above: {}}
    for label, part in samples.groupby("label", sort=False):
        traces = [over_flows(part, kind, "mean") for kind in kinds]
        at_first = traces[0].t_s <= START_S
        first, second = (one.values for one in traces)  # noqa: PD011 - no data frame
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = first[:, at_first].mean(axis=1) / second[:, at_first].mean(axis=1)
        for scheme in of_label(label_of, label):
            found["goodput_ratio@start"][scheme] = ratio
            found[above][scheme] = (second > first).mean(axis=1)
    return found
