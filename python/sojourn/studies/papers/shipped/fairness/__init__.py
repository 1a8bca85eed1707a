"""Hassan, Hassan and Arif: what Jain's index can show of two kinds of flows, and their throughput over time."""

from __future__ import annotations

from sojourn.studies.papers.shipped.fairness.kinds import columns, over_time
from sojourn.studies.papers.shipped.fairness.shares import sections

__all__ = ["columns", "over_time", "sections"]
