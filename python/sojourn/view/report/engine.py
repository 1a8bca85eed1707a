"""The one engine of all pages: it fills the template with sections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sojourn.base import escape
from sojourn.view.report.sections import Drawing, Section, contents


def page(
    title: str,
    sections: Iterable[Section],
    *,
    made: str,
    kind: str = "",
    lead: str = "",
    top: Sequence[object] = (),
    facts: Iterable[tuple[str, object]] = (),
    is_live: bool = False,
) -> str:
    """Return a page; one of four sections and more has contents.

    Parameters
    ----------
    kind
        Of pages, beside the project's name above the title.
    top
        Parts between this and the facts, which are names and values.
    is_live
        It has live figures, which a script draws; without JavaScript a page lacks only these.
    """
    every = [*sections]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            sections=every,
            contents=[*contents(every)],
            made=made,
            kind=kind,
            lead=lead,
            top=top,
            facts=[*facts],
            style=own("style.css"),
            script=own("live.js") if is_live else "",
        )
    )


def notebook(table: Drawing, title: str, replications: int, seed: int) -> str:
    """Return a table for a notebook."""
    template = _environment().get_template("notebook.html.j2")
    return template.render(table=table, title=title, replications=replications, seed=seed)


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
def own(name: str) -> Markup:
    """Return a file of this folder: the style sheet, or the script of live figures."""
    text = (resources.files("sojourn.view") / "report" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - our own file
