"""Pages: each one a self-contained HTML file that needs no network and no JavaScript."""

from __future__ import annotations

from sojourn.view.report.context import render, summary_html
from sojourn.view.report.engine import page

__all__ = ["page", "render", "summary_html"]
