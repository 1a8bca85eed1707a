"""What draws results, as results know it: :class:`sojourn.view.plot.Plots` is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Picture: TypeAlias = "Figure"
"""A figure of matplotlib, which :mod:`sojourn.view.canvas` makes."""


class Plots(Protocol):
    """The pictures of one set of results; each method returns a new figure that a notebook shows by itself."""

    @property
    def looks(self) -> Mapping[str, Any]:
        """Each scheme's colour, marker, dashes and short label."""

    def names(self) -> list[str]:
        """Return the names of the pictures that the results have data for."""

    def draw(self, name: str) -> Picture:
        """Draw a picture by its name."""

    def delay_throughput(self) -> Picture:
        """Draw mean queueing delay against goodput, with an uncertainty ellipse for each scheme."""

    def sojourn_cdf(self) -> Picture:
        """Draw the distribution function of the sojourn time, averaged over replications."""

    def cdf(self, quantity: str, title: str) -> Picture:
        """Draw the distribution function of a quantity."""

    def delay_cdf_by_group(self) -> Picture:
        """Draw the distribution function of the one-way delay of each group of flows."""

    def queue_over_time(self) -> Picture:
        """Draw the number of waiting packets over time."""

    def capacity(self) -> Picture:
        """Draw capacity, goodput and queueing delay over time."""

    def over_time(self, name: str, title: str) -> Picture:
        """Draw a time series of the first replication."""

    def flow_shares(self) -> Picture:
        """Draw every flow's goodput, averaged over replications."""

    def differences(self, baseline: str | None = None, names: Sequence[str] = ()) -> Picture:
        """Draw paired differences to a baseline with their 95 % intervals."""

    def groups(self) -> Picture:
        """Draw the main metric of each group of flows."""
