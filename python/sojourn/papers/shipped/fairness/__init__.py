"""Hassan, Hassan and Arif: what Jain's index can show of two kinds of flows, and their throughput over time."""

from __future__ import annotations

from sojourn.papers.shipped.fairness.over_time import of_time as over_time
from sojourn.papers.shipped.fairness.shares import sections

__all__ = ["over_time", "sections"]
