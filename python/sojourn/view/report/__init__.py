"""Pages: each one an HTML file that needs no network, and without JavaScript lacks only live figures."""

from __future__ import annotations

from sojourn.view.report.engine import page
from sojourn.view.report.results import render, summary_html

__all__ = ["page", "render", "summary_html"]
