"""Gupta (2024): metrics of routes and of saw-teeth, and Katz centrality."""

from __future__ import annotations

from .katz import sections
from .routes import columns

__all__ = ["columns", "sections"]
