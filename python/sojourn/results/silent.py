"""A warning about flows that deliver nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sojourn.results import tables

if TYPE_CHECKING:
    from sojourn.base.core import Document
    from sojourn.results.results import Results

_GREEDY: Final = ("bulk", "transfer")
"""Traffic that always has something to send until it is complete."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Flows of a group that delivered no payload in the measured time of a run, although they had begun.

    Parameters
    ----------
    scheme
        Its label.
    group
        The group of flows.
    flows
        Flows that delivered nothing in at least one replication.
    runs
        Replications in which there was one.
    of_flows, of_runs
        Flows of the group, and replications, altogether.
    """

    scheme: str
    group: str
    flows: int
    runs: int
    of_flows: int
    of_runs: int

    @property
    def text(self) -> str:
        """One sentence."""
        times = f" in {self.runs} of {self.of_runs} replications" if self.of_runs > 1 else ""
        return (
            f"{self.scheme}: {self.flows} of {self.of_flows} flows of `{self.group}` delivered nothing in the "
            f"measured time{times}"
        )


def check(results: Results) -> tuple[Silent, ...]:
    """Return one warning for each scheme and group of flows with a flow that delivered nothing."""
    return find(results.scenario, tables.rows(results.frames, "flows"))


def find(scenario: Document, flows: Iterable[Mapping[str, Any]]) -> tuple[Silent, ...]:
    """Return the flows that delivered nothing.

    Parameters
    ----------
    scenario
        Canonical.
    flows
        A row for each scheme, replication and flow: ``scheme``, ``replication``, ``group``, ``flow`` and its metrics.
    """
    greedy = {
        str(flow["name"])
        for flow in scenario.get("flows", ())
        if flow.get("traffic", {}).get("kind", "bulk") in _GREEDY and not flow.get("stop")
    }
    every: dict[tuple[str, str], tuple[set[str], set[int], set[str], set[int]]] = {}
    for row in flows:
        group, flow, replication = str(row["group"]), str(row["flow"]), int(row["replication"])
        of_flows, of_runs, silent, runs = every.setdefault((str(row["scheme"]), group), (set(), set(), set(), set()))
        of_flows.add(flow)
        of_runs.add(replication)
        wants = group in greedy or (row.get("sent_packets") or 0) > 0
        if wants and _is(row, "flow_start_s") and not _is(row, "flow_completion_s") and row["goodput_bit_s"] == 0:
            silent.add(flow)
            runs.add(replication)
    return tuple(
        Silent(scheme, group, len(silent), len(runs), len(of_flows), len(of_runs))
        for (scheme, group), (of_flows, of_runs, silent, runs) in every.items()
        if silent
    )


def _is(row: Mapping[str, Any], name: str) -> bool:
    """Whether a metric has a value."""
    value = row.get(name)
    return value is not None and value == value  # noqa: PLR0124 - missing values of tables are NaN
