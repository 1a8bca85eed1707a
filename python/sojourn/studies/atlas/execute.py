"""Runs the atlas: every scheme under every scenario, then ranks, data, pages and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from sojourn.base import core
from sojourn.base.core import SojournError
from sojourn.model.scheme import Scheme
from sojourn.plan import Plan, folder
from sojourn.results.text import as_csv, frame_as_csv
from sojourn.stats import Estimate
from sojourn.studies.atlas import page
from sojourn.studies.atlas.needs import NEEDS, SCENARIOS, Need
from sojourn.studies.atlas.ranks import Atlas, Cell, ranked
from sojourn.studies.characterize import cost, fronts, plans
from sojourn.studies.characterize.execute import run_all
from sojourn.studies.characterize.networks import Setting
from sojourn.studies.characterize.numbers import Found
from sojourn.studies.characterize.suite import Scenario

WARM_UP_S: Final = 60.0
"""The longest that the rule for warm-ups chooses: of so many schemes, one always needs it."""
PAGE: Final = "index.html"
DATA: Final = ("atlas.csv", "atlas.parquet")
FRONTS: Final = "fronts.csv"
_STANDING: Final = ("place", "p_off", "p_behind", "limit")

COST: Final = Need(
    "cost", "CPU time", "CPU time a packet above tail drop, on this machine", "cost", "ns",
    True, lambda *_: np.array([]), 0,
)  # fmt: skip


def every_scheme() -> tuple[Scheme, ...]:
    """Return every algorithm of the library with its defaults."""
    return tuple(Scheme(str(entry["name"]), str(entry["name"])) for entry in core.aqms())


def atlas(
    out: str | Path,
    *,
    schemes: Sequence[Scheme] = (),
    needs: Sequence[Need] = NEEDS,
    setting: Setting | None = None,
    with_cost: bool = True,
    replications: int = 10,
    jobs: int | None = None,
    scheduler: str | None = None,
    force: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Atlas:
    """Characterise many schemes by RFC 7928, by default all, and rank them need by need.

    The folder gets plans, store, ``index.html``, a page a scheme in ``schemes/``, a page a need with its runs in
    ``needs/``, ``atlas.csv`` and ``atlas.parquet``, and ``fronts.csv``: where schemes lie beside tail drop. Runs that
    it holds are not repeated. Only networks of the given needs are run. `force` replaces plans that differ. `say` is
    called with a line at every step.
    """
    chosen = tuple(schemes) or every_scheme()
    labels = [one.label for one in chosen]
    if len(set(labels)) < max(2, len(labels)):
        raise SojournError("an atlas needs at least two schemes, all with different labels")
    if not 3 <= replications <= 1000:
        raise SojournError(f"replications is {replications}; allowed: 3 to 1000")
    common = setting or Setting()
    place = Path(out)
    documents: list[tuple[Scenario, Plan]] = []
    wanted = {need.section for need in needs}
    own = [one for one in SCENARIOS if one.section in wanted]
    given = [(one, chosen) for one in own] + [(one, fronts.POINTS) for one in fronts.scenarios(own)]
    for scenario, these in given:
        plan = plans.document(scenario, common, these, is_quick=True, warm_up_s=WARM_UP_S, replications=replications)
        if plan is not None:
            documents.append((scenario, plan))
    found = run_all(documents, place, jobs=jobs, scheduler=scheduler, force=force, say=say)
    whole = replace(_ranked(chosen, needs, found, replications), fronts=fronts.judged(found))
    if with_cost:
        whole = _with_cost(whole, say)
    frame = whole.frame()
    folder.write_text(place / DATA[0], frame_as_csv(frame))
    folder.write_bytes(place / DATA[1], frame.to_parquet(index=False))
    folder.write_text(place / FRONTS, as_csv(("class", "scheme", *_STANDING), _standings(whole)))
    for name in (page.SCHEMES, page.NEEDS):
        (place / name).mkdir(exist_ok=True)
    for need in whole.runs:
        folder.write_text(place / page.NEEDS / f"{need}.html", page.of_need(whole, need))
    for one in chosen:
        folder.write_text(place / page.SCHEMES / f"{page.file_name(one.label)}.html", page.of_scheme(whole, one))
    folder.write_text(place / PAGE, page.overview(whole, common))
    return whole


def _ranked(schemes: tuple[Scheme, ...], needs: Sequence[Need], found: Sequence[Found], replications: int) -> Atlas:
    by_section = {one.scenario.section: one for one in found}
    values = {
        need.name: {one.label: need.values(by_section[need.section], one.label) for one in schemes} for need in needs
    }
    repeated = {
        section: [one.label for one in schemes if all(one.label in found.repeated for found in own.results.values())]
        for section, own in by_section.items()
    }
    cells = {
        need.name: ranked(values[need.name], lower=need.lower, of=need.of, repeated=repeated[need.section])
        for need in needs
    }
    return Atlas(schemes, tuple(needs), cells, replications, values)


def _standings(whole: Atlas) -> Iterator[list[Any]]:
    """Yield where each scheme lies beside the front of tail drop, a row a class and scheme."""
    for one in whole.fronts:
        for label, standing in one.standings.items():
            yield [one.of.title, label, *(getattr(standing, name) for name in _STANDING)]


def _with_cost(whole: Atlas, say: Callable[[str], None]) -> Atlas:
    """Add CPU time; ranks are by intervals that do not overlap, because these runs are not paired."""
    say("CPU time of every scheme")
    found = {one.label: cost.cpu_time(one) for one in whole.schemes}

    def is_better(a: Estimate, b: Estimate) -> bool:
        return a.high is not None and b.low is not None and a.high < b.low

    cells = {
        label: Cell(own, 1 + sum(is_better(other, own) for other in found.values())) for label, own in found.items()
    }
    return replace(whole, needs=(*whole.needs, COST), cells={**whole.cells, COST.name: cells})
