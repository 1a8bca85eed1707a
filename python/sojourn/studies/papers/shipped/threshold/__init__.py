"""Gupta (2024): metrics of routes and of saw-teeth, and Katz centrality."""

from __future__ import annotations

from sojourn.studies.papers.shipped.threshold.katz import sections
from sojourn.studies.papers.shipped.threshold.routes import columns

__all__ = ["columns", "sections"]
