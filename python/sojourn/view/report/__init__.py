"""The report: one self-contained HTML page that needs no network and no JavaScript."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sojourn.base import escape
from sojourn.view.report import context

if TYPE_CHECKING:
    from sojourn.results.results import Results

__all__ = ["page", "render", "summary_html"]


def render(results: Results) -> str:
    """Return the report of results as an HTML page.

    The page depends on the results alone: the same run folder gives the same bytes.
    """
    count = len(results.schemes)
    title = results.name if results.kind == "run" else f"{results.name}: {count} scheme{'s' * (count > 1)} compared"
    return page(
        "report.html.j2",
        title=title,
        lead=str(results.scenario.get("description") or ""),
        part=context.sections(results),
        definitions=context.definitions([results]),
    )


def page(template: str, **values: Any) -> str:
    """Fill a template of this package."""
    return _environment().get_template(template).render(style=_style(), **values)


def summary_html(results: Results) -> str:
    """Return the summary table for a notebook."""
    return (
        _environment()
        .get_template("notebook.html.j2")
        .render(
            table=context.summary_table(results),
            title=results.name,
            replications=results.replications,
            seed=results.seed,
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("sojourn.view", "report"),
        autoescape=True,
        finalize=escape.html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _style() -> Markup:
    text = (resources.files("sojourn.view") / "report" / "style.css").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - our own file
