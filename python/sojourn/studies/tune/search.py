"""The search, and the results of its best trials when they are run again."""

from __future__ import annotations

import math
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sojourn.base import core, extras, foreign
from sojourn.base.core import SojournError
from sojourn.base.processors import cores
from sojourn.model.scheme import Scheme
from sojourn.plan import folder
from sojourn.plan.progress import phases_bar
from sojourn.stats import Floats
from sojourn.stats.front import LIMITS, fifo
from sojourn.studies.tune.evaluate import LOG, Evaluator
from sojourn.studies.tune.plan import PLAN, Plan
from sojourn.studies.tune.result import Trial, Tuning, candidates, scores
from sojourn.studies.tune.space import Point, scheme_text

FORMAT: Final = "sojourn tune 1"
_AT_ONCE: Final = 8
"""Trials drawn before their results are known. It does not depend on the number of threads, nor does the result."""
_DRAWS: Final = 20
"""Draws for each trial at most: ranges may hold points that are no scheme (min above max)."""
_FRESH_SEED: Final = 0x5EED


def run(
    plan: Plan,
    out: str | Path | None = None,
    *,
    jobs: int | None = None,
    progress: bool | None = None,
    force: bool = False,
) -> Tuning:
    """Run a tuning.

    Parameters
    ----------
    plan
        What to do.
    out
        A folder for results and report. An interrupted tuning in this folder is continued, even after a kill. For a
        finished one, the report is drawn again. By default nothing is written.
    jobs
        Number of threads; by default one per core. The results do not depend on it.
    progress
        Whether to show a progress bar on standard error; by default if that is a terminal.
    force
        Replace the tuning that the folder holds.

    Raises
    ------
    SojournError
        If Optuna is missing, the folder holds something else, or no point of the ranges is a scheme.
    """
    optuna = extras.need("tuning", "optuna", "tune")
    place = None if out is None else _open(Path(out), plan, force=force)
    train = [setting for setting in plan.settings if not setting.is_held_out]
    total = (plan.trials + 1) * plan.replications * len(train)
    with phases_bar(progress, total) as bar, _quiet(optuna):
        evaluator = Evaluator(
            plan.settings,
            [objective.name for objective in plan.objectives],
            jobs=cores() if jobs is None else jobs,
            log=None if place is None else place / LOG,
            tick=lambda runs: bar.advance(bar.task_ids[0], runs),
        )
        searched: dict[tuple[str, str], Mapping[str, Floats]] = {}
        study, trials, refused = _search(
            optuna, plan, evaluator, searched, lambda text: bar.update(bar.task_ids[0], description=text)
        )
        texts = [*dict.fromkeys([trial.text for trial in candidates(trials, plan.objectives)])]
        texts = [*dict.fromkeys([plan.base, *plan.rivals.values(), *texts, *map(fifo, LIMITS)])]
        again = len(texts) * plan.fresh * len(plan.settings)
        bar.reset(bar.task_ids[0], total=again, description="running the best again")
        final: dict[tuple[str, str], Mapping[str, Floats]] = {}
        for setting in plan.settings:
            values = evaluator.values(texts, setting, seed=plan.seed ^ _FRESH_SEED, replications=plan.fresh)
            final |= {(text, setting.label): found for text, found in zip(texts, values, strict=True)}
    tuning = Tuning(plan, tuple(trials), refused, searched, final, evaluator.runs)
    if place is not None:
        from sojourn.studies.tune import files, page

        with _quiet(optuna):
            files.write(tuning, place, study, optuna, page.render(tuning))
    return tuning


def _search(
    optuna: Any,
    plan: Plan,
    evaluator: Evaluator,
    searched: dict[tuple[str, str], Mapping[str, Floats]],
    say: Callable[[str], object],
) -> tuple[Any, list[Trial], int]:
    """Draw and run the trials. A resumed search draws the same points again and finds their runs in the log."""
    train = [setting for setting in plan.settings if not setting.is_held_out]

    def measure(texts: Sequence[str]) -> None:
        for setting in train:
            values = evaluator.values(texts, setting, seed=plan.seed, replications=plan.replications)
            searched.update({(text, setting.label): found for text, found in zip(texts, values, strict=True)})

    measure([plan.base])
    study = optuna.create_study(
        study_name=plan.base,
        directions=["minimize" if each.better == "lower" else "maximize" for each in plan.objectives],
        sampler=_sampler(optuna, plan),
    )
    spread = _distributions(optuna, plan)
    start = _start(plan)
    if start:
        study.enqueue_trial(start)
    trials: list[Trial] = []
    refused = 0
    while len(trials) < plan.trials and refused < _DRAWS * plan.trials:
        asked: list[tuple[Any, Point, str]] = []
        while len(asked) < min(_AT_ONCE, plan.trials - len(trials)) and refused < _DRAWS * plan.trials:
            drawn = study.ask(fixed_distributions=spread)
            point = _point(plan, drawn.params)
            try:
                asked.append((drawn, point, scheme_text(plan.base, plan.factors, point)))
            except SojournError:
                study.tell(drawn, state=optuna.trial.TrialState.FAIL)
                refused += 1
        measure([text for _, _, text in asked])
        for drawn, point, text in asked:
            reached = scores(searched, plan, text)
            if all(map(math.isfinite, reached)):
                study.tell(drawn, reached)
                trials.append(Trial(len(trials), point, text, reached))
            else:
                study.tell(drawn, state=optuna.trial.TrialState.FAIL)
                refused += 1
        say(f"{len(trials)} of {plan.trials} trials")
    if not trials:
        raise SojournError("no point of the ranges is a scheme that has every objective: change the ranges")
    return study, trials, refused


def _sampler(optuna: Any, plan: Plan) -> Any:
    match plan.sampler:
        case "nsga2":
            size = min(50, max(_AT_ONCE, plan.trials // 6))
            return optuna.samplers.NSGAIISampler(seed=plan.seed % 2**32, population_size=size)
        case "random":
            return optuna.samplers.RandomSampler(seed=plan.seed % 2**32)
        case _:
            return optuna.samplers.TPESampler(seed=plan.seed % 2**32, multivariate=True, constant_liar=True)


def _distributions(optuna: Any, plan: Plan) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for factor in plan.factors:
        if factor.choices:
            made[factor.name] = optuna.distributions.CategoricalDistribution(factor.choices)
        elif factor.is_whole:
            made[factor.name] = optuna.distributions.IntDistribution(
                math.ceil(factor.low), math.floor(factor.high), log=factor.is_log
            )
        else:
            made[factor.name] = optuna.distributions.FloatDistribution(factor.low, factor.high, log=factor.is_log)
    return made


def _start(plan: Plan) -> Point | None:
    """Return the scheme as given as a point, None where a range does not hold it."""
    values = {parameter.name: parameter.value for parameter in Scheme(plan.base).parameters()}
    point: Point = {}
    for factor in plan.factors:
        text = values[factor.name]
        if factor.choices:
            if text not in factor.choices:
                return None
            point[factor.name] = text
            continue
        number = text.removesuffix(factor.unit)
        try:
            value = float(number)
        except ValueError:
            return None
        if not text.endswith(factor.unit) or not factor.low <= value <= factor.high:
            return None
        point[factor.name] = int(value) if factor.is_whole else value
    return point


def _point(plan: Plan, drawn: Mapping[str, Any]) -> Point:
    return {
        factor.name: drawn[factor.name] if factor.choices else factor.rounded(float(drawn[factor.name]))
        for factor in plan.factors
    }


def _open(place: Path, plan: Plan, *, force: bool) -> Path:
    """Return the folder of a tuning, new or one of the same plan; with `force`, without what it held before."""
    files = plan.packed()
    try:
        if place.exists() and any(place.iterdir()):
            meta = folder.read_meta(place)
            if meta.get("format") != FORMAT:
                raise SojournError(f"will not write into {str(place)!r}: it is not the folder of a tuning")
            if force:
                shutil.rmtree(place)
                return _open(place, plan, force=False)
            if any(foreign.read_text(place / name, within=place) != text for name, text in files.items()):
                raise SojournError(
                    f"{str(place)!r} holds another tuning ({PLAN} says which): name another folder, or replace it "
                    "with --force"
                )
            if meta.get("version") != core.version():
                raise SojournError(
                    f"{str(place)!r} was begun by Sojourn {meta.get('version')}, this is {core.version()}: "
                    "name another folder, or replace it with --force"
                )
            # What a kill left in the middle of a write.
            for partial in place.glob(".*.partial"):
                shutil.rmtree(partial) if partial.is_dir() else partial.unlink()
            return place
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SojournError(f"cannot write {str(place)!r}: {error.strerror or error}") from None
    # The plan first: a folder with meta.json is complete enough to go on with.
    for name, text in files.items():
        folder.write_text(place / name, text)
    folder.write_text(place / "meta.json", folder.stamp(FORMAT))
    return place


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
