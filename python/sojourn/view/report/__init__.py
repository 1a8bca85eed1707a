"""Pages: each one a self-contained HTML file that needs no network and no JavaScript."""

from __future__ import annotations

from sojourn.view.report.engine import page
from sojourn.view.report.results import render, summary_html

__all__ = ["page", "render", "summary_html"]
