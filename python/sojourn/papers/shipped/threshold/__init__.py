"""Gupta (2024): metrics of routes and of saw-teeth, and Katz centrality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.papers.model import Paper, Reading
    from sojourn.papers.shipped.section import Section
    from sojourn.plan.store import Store


def columns(paper: Paper, reading: Reading, store: Store, runs: Sequence[tuple[str, list[str]]]) -> pd.DataFrame:  # noqa: ARG001 - one form for all papers
    """Return the metrics of places, of routes and of queues over time, a row per run."""
    from sojourn.papers.shipped.threshold import routes

    return routes.table(store, runs, paper.places, routes.packet_of(paper))


def sections(paper: Paper, measured: Any) -> list[Section]:  # noqa: ARG001 - one form for all papers
    """Return the section on Katz centrality."""
    from sojourn.papers.shipped.section import Words
    from sojourn.papers.shipped.threshold import katz

    return [katz.section(katz.read(paper.folder), Words(paper.folder))]
