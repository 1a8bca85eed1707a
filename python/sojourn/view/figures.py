"""The figures of results: each declared once, with what it needs, how it is drawn, its caption and its section.

``results.plot``, ``sojourn plot`` and reports read :data:`FIGURES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from sojourn.base.wording import listed
from sojourn.results import groups

if TYPE_CHECKING:
    from sojourn.results.results import Results
    from sojourn.view.canvas import Picture

MANY: Final = 5
"""More names than this are not listed in a sentence."""
OWN_DELAY: Final = "one_way_delay_ms:"
"""Before the name of a group of flows, the distribution of its delay."""
CAPACITY: Final = "capacity_bit_s:"
"""Before the name of a queue, the series of what its link could send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of results.

    Parameters
    ----------
    name
        For ``sojourn plot --figure``.
    caption
        What a report says below it; without one, reports leave it out.
    section
        Name, title and link text (empty: the title) of its section of reports; None: it has another place there.
    """

    name: str
    is_there: Callable[[Results], bool]
    draw: Callable[[Results, Any], Picture]
    caption: Callable[[Results], str] | None = None
    section: tuple[str, str, str] | None = None


def flow_groups(results: Results) -> str:
    """Name the groups of flows: ``the flows bulk and voice``."""
    begun = results.flows
    names = [str(group) for group in begun["group"].unique()] if not begun.empty else []
    if not names:
        return "all flows"
    return f"the flows {listed(names)}" if len(names) <= MANY else f"the flows of {len(names)} groups"


def busiest_queue(results: Results) -> str:
    """Name the queue that figures show: the only one under test, or the busiest of several."""
    busiest = "busiest " if len(results.tested) > 1 else ""
    return f"the {busiest}queue under test ({results.queue})" if results.queue else "the queues under test"


def _of_module(name: str) -> Callable[[Results, Any], Picture]:
    """Return what draws a figure: ``draw`` of a module beside this one, imported when it is called."""

    def draw(results: Results, plots: Any) -> Picture:
        found: Picture = import_module(f"sojourn.view.{name}").draw(results, plots.looks)
        return found

    return draw


def _is_busy(results: Results) -> bool:
    return "sojourn_ms_mean" in results.runs and bool((results.runs["sojourn_ms_mean"] > 0).any())


def _delay_throughput(results: Results) -> str:
    region = (
        "The projections of an ellipse on the axes are the 95 % intervals of the two means; its tilt shows "
        "their correlation over replications. Small points are the replications."
        if results.replications >= 3
        else "With fewer than three replications there is no uncertainty ellipse."
    )
    return (
        f"Mean queueing delay (sojourn time of packets that left {busiest_queue(results)}) against total "
        f"goodput. Up and to the left is better. {region}"
    )


def _differences(results: Results) -> str:
    of_queue = f"; delay and loss are those of {busiest_queue(results)}" if len(results.tested) > 1 else ""
    return (
        f"Paired differences to {results.labels[0]}, each with its own 95 % interval{of_queue}. The table below "
        "says which are significant after the correction for their number."
    )


FIGURES: Final = (
    Figure(
        name="groups",
        is_there=lambda results: len(results.labels) > 1 and len(groups.of(results)) > 1,
        draw=lambda _, plots: plots.groups(),
        caption=lambda _: (
            "What each group of flows got under each scheme: mean over replications with its 95 % interval. Bulk "
            "transfers are judged by their goodput, finite transfers by the 99th percentile of their completion "
            "time, all other flows by the 99th percentile of their one-way delay, which includes propagation."
        ),
    ),
    Figure(
        name="delay_throughput",
        is_there=lambda results: _is_busy(results) and "goodput_bit_s" in results.metric_names(),
        draw=lambda _, plots: plots.delay_throughput(),
        caption=_delay_throughput,
    ),
    Figure(
        name="sojourn_cdf",
        is_there=lambda results: (
            _is_busy(results) and bool((results.distributions["quantity"] == results.curve("sojourn_ms")).any())
        ),
        draw=lambda _, plots: plots.sojourn_cdf(),
        caption=lambda results: (
            "Share of packets whose sojourn time was at most the value on the axis, averaged over replications: all "
            f"packets that left {busiest_queue(results)} after the warm-up, of {flow_groups(results)} together."
        ),
    ),
    Figure(
        name="queue_over_time",
        is_there=lambda results: (
            _is_busy(results) and bool((results.series["name"] == results.curve("queue_packets")).any())
        ),
        draw=lambda _, plots: plots.queue_over_time(),
        caption=lambda results: (
            f"Packets waiting in {busiest_queue(results)} over time, in the first replication only."
        ),
        section=("queue", "Queue over time", ""),
    ),
    Figure(
        name="capacity",
        is_there=lambda results: bool(results.series["name"].str.startswith(CAPACITY).any()),
        draw=lambda _, plots: plots.capacity(),
        caption=lambda results: (
            "Above: what the link under test could send (grey), and the goodput of all flows. Below: the mean "
            f"queueing delay of the packets that left {busiest_queue(results)} in each interval. The first "
            "replication only."
        ),
        section=("capacity", "Capacity over time", ""),
    ),
    Figure(
        name="flow_shares",
        is_there=lambda results: not results.flows.empty,
        draw=lambda _, plots: plots.flow_shares(),
        caption=lambda results: (
            f"Goodput of {flow_groups(results)}, averaged over replications; each point is one flow. Jain's index is "
            "that of all flows of a run, averaged over replications: it is 1 when all have the same goodput."
        ),
        section=("flows", "Shares of the flows", "Flows"),
    ),
    Figure(
        name="differences",
        is_there=lambda results: len(results.labels) > 1 and results.replications > 1,
        draw=lambda _, plots: plots.differences(),
        caption=_differences,
    ),
    Figure(
        name="delay_cdf_by_group",
        is_there=lambda results: bool(results.distributions["quantity"].str.startswith(OWN_DELAY).any()),
        draw=lambda _, plots: plots.delay_cdf_by_group(),
    ),
)
"""In the order of lists and reports."""
