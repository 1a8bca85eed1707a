"""Quality of Outcome (draft-ietf-ippm-qoo-11): how near a network is to what an application needs, in %.

Delay quantiles and the loss ratio are placed between the point where the application becomes unacceptable (0 %) and
the point where it is optimal (100 %). The score is the worst of them, and 0 where the throughput does not suffice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd

from sojourn.base import suggest
from sojourn.base.errors import RunError
from sojourn.base.units import Rate, Time, to_bit_s, to_ns
from sojourn.results import tables
from sojourn.stats.estimates import Floats, Quantity

if TYPE_CHECKING:
    from sojourn.results.results import Results

PARTS: Final = ("outcome", "delay", "loss", "throughput")
"""The score and its three parts, in the order of tables."""
_PERCENT: Final = Quantity(least=0.0, most=100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What an application needs of the network, one way.

    Parameters
    ----------
    optimal, unacceptable
        One-way delays by the share of packets that must arrive within them, as in ``{0.99: sj.ms(100)}``. Below the
        first, better delays are not noticed; above the second, the application is unacceptable. Both have the same
        shares.
    optimal_loss, unacceptable_loss
        Loss ratios, likewise.
    throughput
        The least that the application works with.

    Raises
    ------
    SojournError
        Shares that are not between 0 and 1 or differ, or an unacceptable value that is not above the optimal one.

    Notes
    -----
    The draft calls them Requirements for Optimal Performance (ROP) and Conditions at the Point of Unacceptable
    Performance (CPUP). It defines no values for any application.
    """

    optimal: Mapping[float, Time]
    unacceptable: Mapping[float, Time]
    optimal_loss: float
    unacceptable_loss: float
    throughput: Rate = "0 bit/s"

    def __post_init__(self) -> None:
        if not self.optimal or set(self.optimal) != set(self.unacceptable):
            raise RunError(
                f"unacceptable: has delays at the shares {_listed(self.unacceptable)}, optimal at "
                f"{_listed(self.optimal)}; allowed: the same shares, at least one"
            )
        for share in self.optimal:
            if not 0 < share <= 1:
                raise RunError(f"optimal: the share {share:g} of packets; allowed: above 0, up to 1")
            best, worst = self.delays_ms(share)
            if worst <= best:
                raise RunError(
                    f"unacceptable: {self.unacceptable[share]} at {share:g}; allowed: more than the optimal "
                    f"{self.optimal[share]}"
                )
        if not 0 <= self.optimal_loss < self.unacceptable_loss <= 1:
            raise RunError(
                f"unacceptable_loss={self.unacceptable_loss:g}, optimal_loss={self.optimal_loss:g}; allowed: "
                "0 <= optimal_loss < unacceptable_loss <= 1"
            )
        _ = self.throughput_bit_s

    def delays_ms(self, share: float) -> tuple[float, float]:
        """Return the optimal and the unacceptable delay at a share of packets, in ms."""
        return to_ns("optimal", self.optimal[share]) / 1e6, to_ns("unacceptable", self.unacceptable[share]) / 1e6

    @property
    def throughput_bit_s(self) -> float:
        """The least throughput, in bit/s."""
        return to_bit_s("throughput", self.throughput)


def score(
    delays_ms: Mapping[float, float], loss_ratio: float, throughput_bit_s: float, needs: Requirements
) -> dict[str, float]:
    """Return the score and its parts in % (section 3.3 of the draft).

    Delays are one-way, at each share of packets that the requirements name.

    Examples
    --------
    The draft's own example (section 3.4): 99 % within 350 ms, 99.9 % within 375 ms, 2 % loss, 28 Mbit/s.

    >>> import sojourn as sj
    >>> needs = sj.Requirements(
    ...     optimal={0.99: sj.ms(200), 0.999: sj.ms(300)},
    ...     unacceptable={0.99: sj.ms(500), 0.999: sj.ms(600)},
    ...     optimal_loss=0.01,
    ...     unacceptable_loss=0.05,
    ...     throughput=sj.mbit_s(4),
    ... )
    >>> {part: round(value) for part, value in score({0.99: 350, 0.999: 375}, 0.02, 28e6, needs).items()}
    {'outcome': 50, 'delay': 50, 'loss': 75, 'throughput': 100}
    """

    def place(measured: float, best: float, worst: float) -> float:
        return 100.0 * min(max(1.0 - (measured - best) / (worst - best), 0.0), 1.0)

    delay = min(place(delays_ms[share], *needs.delays_ms(share)) for share in needs.optimal)
    loss = place(loss_ratio, needs.optimal_loss, needs.unacceptable_loss)
    throughput = 100.0 if throughput_bit_s >= needs.throughput_bit_s else 0.0
    return {"outcome": min(delay, loss, throughput), "delay": delay, "loss": loss, "throughput": throughput}


def quality_of_outcome(results: Results, needs: Requirements, group: str | None = None) -> pd.DataFrame:
    """Return the Quality of Outcome of each scheme, with 95 % intervals over replications.

    Parameters
    ----------
    results
        Of a run or a comparison.
    needs
        The application's requirements.
    group
        A group of flows; by default all traffic.

    Returns
    -------
    pandas.DataFrame
        Columns ``scheme``, ``part`` (of :data:`PARTS`), ``mean``, ``low``, ``high`` in % and ``replications``.

    Raises
    ------
    SojournError
        Unknown group, or results without the distribution of its delays.

    Notes
    -----
    The delay is one-way, of the data packets that arrived, from buckets of 1/128 of the delay. The loss is that of
    data packets at any queue and on any link. The throughput is the goodput, of all flows of the group together. A
    higher score is better.
    """
    groups = results.groups
    if group is not None and group not in set(groups["group"]):
        raise RunError(suggest.unknown("group of flows", group, groups["group"]))
    quantity = "one_way_delay_ms" if group is None or len(set(groups["group"])) == 1 else f"one_way_delay_ms:{group}"
    points = results.distributions
    points = points[points["quantity"] == quantity]
    if points.empty:
        raise RunError(f"the results have no distribution of {quantity}")
    if group is not None:
        groups = groups[groups["group"] == group]
    rows = []
    for label in results.labels:
        runs = groups[groups["scheme"] == label].groupby("replication")
        sums = runs[["dropped_packets", "sent_packets", "goodput_bit_s"]].sum()
        found = []
        for replication, curve in points[points["scheme"] == label].groupby("replication", sort=True):
            dropped, sent, goodput = sums.loc[[replication]].to_numpy(dtype=np.float64)[0].tolist()
            delays = {share: _quantile(curve, share) for share in needs.optimal}
            found.append(score(delays, dropped / sent if sent else 0.0, goodput, needs))
        for part in PARTS:
            one = results.mean(label, [run[part] for run in found], _PERCENT)
            rows.append((label, part, *tables.limits(one)))
    columns = ["scheme", "part", "mean", "low", "high", "replications"]
    return tables.frame(columns, rows, 2)


def _quantile(curve: pd.DataFrame, share: float) -> float:
    cumulative: Floats = curve["cumulative"].to_numpy(dtype=np.float64)
    place = min(int(np.searchsorted(cumulative, share - 1e-12)), len(cumulative) - 1)
    return float(curve["value"].iloc[place])


def _listed(shares: Mapping[float, Time]) -> str:
    return ", ".join(f"{share:g}" for share in sorted(shares)) or "none"
