"""Runs a characterisation: plans into a folder, their runs into its store, then the report."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Final

from sojourn.base import foreign
from sojourn.base.core import SojournError
from sojourn.model.scheme import Scheme
from sojourn.plan import Plan, dumps, execute, expand, folder
from sojourn.plan.store import Store
from sojourn.results import notices, tables
from sojourn.studies.characterize import cost, fronts, page, plans
from sojourn.studies.characterize.networks import Setting
from sojourn.studies.characterize.numbers import Found
from sojourn.studies.characterize.suite import RFC, Scenario, Suite

PLANS: Final = "plans"
STORE: Final = "store"
PAGE: Final = "index.html"
TAIL_DROP: Final = Scheme("pfifo", "pfifo")
"""Section 8.2.6 wants it beside every scheme."""

Say = Callable[[str], None]


def everyone(subject: Scheme, against: Sequence[Scheme]) -> tuple[Scheme, ...]:
    """Return the subject, the others and tail drop, each once; two of one label are refused."""
    made = [subject, *against]
    if all(one.algorithm != TAIL_DROP.algorithm for one in made):
        made.append(TAIL_DROP)
    labels = [one.label for one in made]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise SojournError(f'the scheme {twice!r} is given twice; label one of them, as in "other=pie target 5ms"')
    return tuple(made)


def characterize(
    subject: Scheme,
    against: Sequence[Scheme],
    out: str | Path,
    *,
    suite: Suite = RFC,
    scenarios: Sequence[Scenario] | None = None,
    setting: Setting | None = None,
    is_quick: bool = False,
    with_cost: bool = True,
    jobs: int | None = None,
    scheduler: str | None = None,
    force: bool = False,
    say: Say = lambda _: None,
) -> Path:
    """Characterise a scheme by a suite, by default RFC 7928, beside others and tail drop, and return the report.

    The folder gets ``plans/``, ``store/`` and ``index.html``; runs that it holds are not repeated. Quick
    characterisations have five replications instead of ten, and fewer values of what varies. `scenarios` are of the
    suite, by default all. `with_cost` measures CPU time and memory. `force` replaces plans that differ, and writes
    into a folder with other files. `say` is called with a line at every step.
    """
    common = setting or suite.setting
    chosen = suite.scenarios if scenarios is None else scenarios
    schemes = everyone(subject, against)
    place = Path(out)
    skipped: dict[str, str] = {}
    documents: list[tuple[Scenario, Plan]] = []
    say("pilot runs: the warm-up of each network")
    for scenario in chosen:
        warm_up = plans.warm_up_s(scenario, common, schemes, jobs)
        plan = plans.document(scenario, common, schemes, is_quick=is_quick, warm_up_s=warm_up)
        if plan is None:
            skipped[scenario.section] = f"no scheme has a parameter {scenario.parameter!r}"
        else:
            documents.append((scenario, plan))
            for front in fronts.scenarios([scenario]):
                own = plans.document(front, common, fronts.POINTS, is_quick=is_quick, warm_up_s=warm_up)
                documents += [] if own is None else [(front, own)]
    found = run_all(documents, place, jobs=jobs, scheduler=scheduler, force=force, say=say)
    costs: dict[str, cost.Cost] = {}
    if with_cost:
        say(f"section {suite.parts['cost']}: CPU time and memory")
        costs = {one.label: cost.measure(one) for one in schemes if one.algorithm != TAIL_DROP.algorithm}
    names = {scenario.section: plan_file(scenario) for scenario, _ in documents}
    # What the front has is of its own section of the page.
    shown = tuple(one for one in found if one.scenario in chosen)
    whole = page.Characterisation(subject, common, shown, costs, names, skipped, fronts.judged(found), suite)
    folder.write_text(place / PAGE, page.html(whole))
    return place / PAGE


def plan_file(scenario: Scenario) -> str:
    """Return the file of a scenario's plan in the folder."""
    return f"{PLANS}/{scenario.section}.toml"


def run_all(
    documents: Sequence[tuple[Scenario, Plan]],
    place: Path,
    *,
    jobs: int | None,
    scheduler: str | None,
    force: bool,
    say: Say,
) -> tuple[Found, ...]:
    """Write plans into a folder and run what its store does not hold.

    A folder with other files, a plan there that differs, and failed runs are refused.
    """
    if place.exists() and any(place.iterdir()) and not (place / PLANS).is_dir() and not force:
        raise SojournError(f"{place} holds other files; name another folder, or give --force")
    texts = {place / plan_file(scenario): dumps(plan) for scenario, plan in documents}
    for file, text in texts.items():
        if file.exists() and foreign.read_text(file, within=place) != text and not force:
            raise SojournError(
                f"{file} is not what this command writes: it was made by other options, or edited. Run an edited "
                f"plan with `sojourn plan run {file} --store {place / STORE}`; --force replaces it"
            )
    (place / PLANS).mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        folder.write_text(file, text)
    for number, (scenario, plan) in enumerate(documents, 1):
        say(f"{number} of {len(documents)}: {scenario.section}, {scenario.title}")
        outcome = execute.run(plan, place / STORE, jobs=jobs, scheduler=scheduler, watch=None)
        if outcome.failures:
            first = outcome.failures[0]
            raise SojournError(f"{scenario.section}: {len(outcome.failures)} runs failed: {first.cell}: {first.why}")
    store = Store.open(place / STORE)
    found = tuple(Found(scenario, plan, store) for scenario, plan in documents)
    notices.tell(expand.inert(expand.cells(one.plan) for one in found))
    notices.tell(notices.alike(_runs(found)))
    return found


def _runs(found: Sequence[Found]) -> Iterator[tuple[str, Hashable, tables.Row]]:
    """Yield each run: its scheme, what else tells it from others, and its metrics."""
    for one in found:
        for level, results in one.results.items():
            for row in tables.rows(results.frames, "runs"):
                yield row["scheme"], (one.plan.name, str(level), row["replication"]), row


__all__ = ["PAGE", "PLANS", "STORE", "TAIL_DROP", "characterize", "everyone", "plan_file", "run_all"]
