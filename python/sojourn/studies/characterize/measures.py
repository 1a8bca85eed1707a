"""Measures of fairness in a WLAN, computed from the tables of runs: what each is, and where it is defined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from sojourn.results import metrics
from sojourn.results.fairness import demands, fair_share_index
from sojourn.results.results import Results
from sojourn.stats import jain

PROBE: Final = "call"
"""How the names of the groups and of the station begin that measure delay and have no share to compare."""
_RUN: Final = ["scheme", "replication"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of a run: its column, its heading, its definition, and the source of that."""

    name: str
    heading: str
    definition: str
    source: str


SHARES: Final = Measure(
    "jain_index@flows",
    "Jain's index, goodput",
    "(sum of x)² / (n × sum of x²) over the goodputs x of the n flows of TCP and UDP; 1 where all are equal.",
    "Jain, Chiu and Hawe (1984); RFC 5166, section 2.3",
)
SATISFIED: Final = Measure(
    "jain_index@fair_share",
    "Jain's index, goodput over fair share",
    "The same of each goodput over its max-min fair share of what all flows have together; UDP asks for what it "
    "sends. 1 where all who want more are equal. Shown beside UDP.",
    "Jain (1999), ATM Forum 99-0045",
)
AIR: Final = Measure(
    "jain_index@air_time",
    "Jain's index, air time",
    "The same of the time for which frames from and to each station hold the channel, collisions included.",
    "Høiland-Jørgensen and others (2017)",
)
RATIO: Final = Measure(
    "goodput_ratio@tcp_udp",
    "Goodput of a TCP flow over that of a UDP flow",
    "Mean goodput of the TCP flows over that of the UDP flows.",
    "Hassan, Hassan and Arif, Figures 7 and 8",
)
CALL: Final = Measure(
    "one_way_delay_ms_p99@call",
    "Call: one-way delay, p99 (ms)",
    "99th percentile of the one-way delay of a call's packets from the server to its station.",
    "RFC 7679, section 5.1",
)
TOTAL: Final = Measure(
    "goodput_bit_s",
    metrics.find("goodput_bit_s").heading,
    "Payload that all flows deliver.",
    "RFC 7928, section 2.5",
)
MEASURES: Final = (SHARES, SATISFIED, AIR, RATIO, CALL, TOTAL)
"""What the page of a WLAN shows of every network."""  # fmt: skip

_HEADINGS: Final = {one.name: one.heading for one in MEASURES}


def of_runs(names: Sequence[str]) -> tuple[str, ...]:
    """Return those of some metrics that runs have, and which are not computed from their tables."""
    return tuple(name for name in names if name not in _HEADINGS or name == TOTAL.name)


def heading(name: str) -> str:
    """Return the heading of a metric of runs or of a measure."""
    return _HEADINGS.get(name) or metrics.find(name).heading


def added(of: Results) -> Results:
    """Return results whose runs have the measures as columns; as they are where no run has an 802.11 cell."""
    stations = of.stations
    if stations.empty:
        return of
    is_probe = of.flows["group"].str.startswith(PROBE)
    flows = of.flows[~is_probe & of.flows["flow_start_s"].notna()]
    flows = flows.assign(demand=demands(flows))
    # The first of a cell is the access point.
    members = stations[stations.groupby([*_RUN, "cell"]).cumcount() > 0]
    members = members[~members["node"].str.startswith(PROBE)]
    found: dict[str, pd.Series] = {
        SHARES.name: flows.groupby(_RUN)["goodput_bit_s"].agg(jain),
        AIR.name: members.groupby(_RUN)["air_time_both_share"].agg(jain),
        CALL.name: of.groups[of.groups["group"] == PROBE].set_index(_RUN)["one_way_delay_ms_p99"],
    }
    kinds = {kind: part.groupby(_RUN)["goodput_bit_s"].mean() for kind, part in flows.groupby("transport")}
    if {"tcp", "udp"} <= kinds.keys():
        found[RATIO.name] = kinds["tcp"] / kinds["udp"]
        both = flows.groupby(_RUN)[["goodput_bit_s", "demand"]]
        indices = {run: fair_share_index(*part.to_numpy(dtype=np.float64).T) for run, part in both}
        found[SATISFIED.name] = pd.Series(indices)
    runs = of.runs.join(pd.DataFrame(found), on=_RUN)
    return replace(of, frames={**of.frames, "runs": runs})
