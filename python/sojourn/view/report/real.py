"""What a report says of a run on real packets, in place of what is true of simulations alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.base.core import Document
    from sojourn.results.results import Results


COMMAND = "command"
"""The name of the flow that stands for a command, which a scenario needs."""


def world(results: Results) -> Mapping[str, Any] | None:
    """Return what is known of a run on real packets; None of a simulated one."""
    found = results.meta.get("world")
    return found if isinstance(found, Mapping) else None


def facts(results: Results, found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the facts under the title, with how late packets left."""
    measured = [
        (
            "Measured",
            f"{float(results.runs['measured_s'].iloc[0]):.1f} s of real packets, {_runs(len(results.runs))}",
        ),
    ]
    if "exit_status" in found:
        measured.append(("Exit status", str(found["exit_status"])))
    for name, way in dict(found.get("ways", {})).items():
        late = way["lateness_s"]
        shown = [
            f"{title} {late[key] * 1e3:.2f} ms"
            for title, key in (("mean", "mean_s"), ("median", "p50_s"), ("99 %", "p99_s"), ("longest", "max_s"))
            if late.get(key) is not None
        ]
        what = f"at most: {', '.join(shown)}" if shown else "no packet"
        dated = dict(way.get("dated_late_s", {})).get("mean_s")
        if dated is not None:
            what += f"; dated late by at most {dated * 1e3:.2f} ms on average"
        lost = f"{way['lost_rate_s']:.3f} s of the rate lost"
        if "missed_frames" in way:
            lost += f", {way['missed_frames']} frames missed"
        if way.get("repeated"):
            lost += f", repeated {way['repeated']:.0f} times"
        measured.append((f"Lateness, {name}", f"{what}; {lost}"))
    return measured


def _runs(count: int) -> str:
    return "one run" if count == 1 else f"{count} runs"


def warnings(found: Mapping[str, Any]) -> list[str]:
    """Return a warning if the machine was too late to trust the run, and one if values are impossible."""
    late, impossible = found.get("late"), found.get("impossible")
    sentences = [f"The machine was too late to trust this run: {late}."] if late else []
    return [*sentences, f"Impossible values were measured: {'; '.join(impossible)}."] if impossible else sentences


def without_traffic(scenario: Document) -> Document:
    """Return the link alone where the traffic was that of a command."""
    return {**scenario, "flows": [flow for flow in scenario["flows"] if flow["name"] != COMMAND]}
