"""What users of applications see, of results: page load times, rebuffering, MOS, late packets of games.

>>> import sojourn as sj
>>> line = sj.access(down=sj.mbit_s(20), up=sj.mbit_s(5), rtt=sj.ms(40), duration=sj.s(12), warm_up=sj.s(4))
>>> net = line.add(sj.web(), sj.voip(), sj.bulk(2))
>>> results = sj.compare(net, ["pfifo limit 1000p", "fq_codel"], replicates=2, seed=1)
>>> load = sj.ApplicationSummary(results).estimate
>>> bool(load("fq_codel", "web", "page_load_s_mean").mean < load("pfifo limit 1000p", "web", "page_load_s_mean").mean)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sojourn import stats
from sojourn.base.errors import RunError
from sojourn.results import metrics, text

if TYPE_CHECKING:
    from sojourn.results.drawing import Picture
    from sojourn.results.results import Results

METRICS: Final = {
    "web": ("page_load_s_mean", "page_load_s_p50", "page_load_s_p99", "pages_completed"),
    "request_response": ("response_s_mean", "response_s_p50", "response_s_p99", "responses_completed"),
    "video": (
        "video_bit_rate_bit_s",
        "video_rebuffer_ratio",
        "video_stalls",
        "video_switches_per_min",
        "video_startup_s",
    ),
    "voip": ("voip_mouth_to_ear_ms_mean", "voip_loss_ratio", "voip_late_ratio", "voip_r", "voip_mos"),
    "gaming": ("delay_above_50_ms_ratio", "delay_above_100_ms_ratio", "loss_ratio"),
    "replay": ("one_way_delay_ms_mean", "one_way_delay_ms_p99", "loss_ratio"),
    "transfer": ("flow_completion_s_mean", "flow_completion_s_p99"),
    "bulk": ("goodput_bit_s",),
}
"""The metrics of each kind of traffic, in the order of the table."""


@dataclass(frozen=True)
class ApplicationSummary:
    """The metrics of each group of flows that say what its users see.

    Parameters
    ----------
    results
        Of a run or a comparison.

    Raises
    ------
    SojournError
        If no group of flows is of a kind in :data:`METRICS`.

    Notes
    -----
    ``print`` writes a table with a row for each metric and a column for each scheme: means over replications with
    95 % intervals.
    """

    results: Results

    def __post_init__(self) -> None:
        if not self.rows:
            raise RunError(
                f"the results of {self.results.name!r} have no application; allowed: traffic of {', '.join(METRICS)}"
            )

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Each group of flows with each of its metrics that has a value, in the order of the scenario."""
        found = []
        for flow in self.results.scenario["flows"]:
            kind, name = str(flow.get("traffic", {}).get("kind", "bulk")), str(flow["name"])
            found += [(name, metric) for metric in METRICS.get(kind, ()) if self._has(name, metric)]
        return found

    def _has(self, group: str, metric: str) -> bool:
        return metric in self.results.groups.columns and any(
            np.isfinite(self.results.values(label, metric, group)).any() for label in self.results.labels
        )

    def estimate(self, label: str, group: str, metric: str) -> stats.Estimate:
        """Return a metric of a group of flows, as a mean over replications with its 95 % interval.

        Metrics are in their units in data: ``page_load_s_mean``.
        """
        return self.results.estimate(label, metric, group)

    def __str__(self) -> str:
        head = ["", "", "", *self.results.labels]
        lines, last = [], ""
        for group, name in self.rows:
            metric = metrics.find(name, "group")
            title = metric.title
            found = [self.estimate(label, group, name) for label in self.results.labels]
            values = [metrics.written(one, metric.scale) for one in found]
            lines.append([group if group != last else "", title, metric.shown_unit, *values])
            last = group
        return "\n".join(text.aligned([head, *lines], texts=3)[0])

    def plot(self) -> Picture:
        """Draw the main metrics of each group, a panel for each."""
        return self.results.plot.groups()
