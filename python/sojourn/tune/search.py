"""The search, and the results of its best trials when they are run again."""

from __future__ import annotations

import json
import math
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from sojourn import core, folder, stats
from sojourn.core import SojournError
from sojourn.runner import cores
from sojourn.scheme import Scheme
from sojourn.stats import Estimate, Floats
from sojourn.tune.evaluate import LOG, Evaluator
from sojourn.tune.plan import PLAN, Objective, Plan
from sojourn.tune.progress import Progress, progress_bar
from sojourn.tune.settings import Setting
from sojourn.tune.space import Point, scheme_text

FORMAT: Final = "sojourn tune 1"
_AT_ONCE: Final = 8
"""Trials drawn before their results are known. It does not depend on the number of threads, nor does the result."""
_DRAWS: Final = 20
"""Draws for each trial at most: ranges may hold points that are no scheme (min above max)."""
_MOST_CANDIDATES: Final = 16
_FRESH_SEED: Final = 0x5EED
_QUANTILE: Final = re.compile(r"_ms_p\d+$")
_HALF_BUCKET: Final = 1 / 256
"""Of a quantile's own size: buckets are 1/128 wide (``crates/measure/src/histogram.rs``)."""
_BESIDES: Final = (
    Objective("sojourn_ms_p99", "lower"),
    Objective("goodput_bit_s", "higher"),
    Objective("loss_ratio", "lower"),
    Objective("jain_index", "higher"),
)


@dataclass(frozen=True)
class Trial:
    """One point of the search.

    Parameters
    ----------
    number
        From 0.
    point
        The parameters' values.
    text
        The scheme.
    scores
        One an objective: the mean over the training scenarios, relative to the scheme as given where that is above 0.
    """

    number: int
    point: Point
    text: str
    scores: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Tuning:
    """The result of a tuning.

    Parameters
    ----------
    plan
        The question: schemes, parameters, objectives.
    trials
        All that were run, in order.
    refused
        Number of points drawn that are no scheme.
    searched
        Metrics by replication of the search, by scheme and setting's label.
    final
        The same of the final comparison, on fresh seeds: candidates and rivals on every setting.
    runs
        Simulated by this process; what a resumed tuning found in its folder does not count.
    """

    plan: Plan
    trials: tuple[Trial, ...]
    refused: int
    searched: Mapping[tuple[str, str], Mapping[str, Floats]] = field(repr=False)
    final: Mapping[tuple[str, str], Mapping[str, Floats]] = field(repr=False)
    runs: int = 0

    @cached_property
    def candidates(self) -> tuple[Trial, ...]:
        """The Pareto front of the search, thinned to 16 points where it has more."""
        return _candidates(self.trials, self.plan.objectives)

    @cached_property
    def base(self) -> str:
        """The scheme as given."""
        return self.plan.base

    def settings(self, *, held_out: bool) -> tuple[Setting, ...]:
        """The scenarios to learn from, or those held out."""
        return tuple(setting for setting in self.plan.settings if setting.is_held_out == held_out)

    def is_relative(self, objective: Objective) -> bool:
        """Whether an objective's scores are relative to the scheme as given."""
        return _is_relative(self.searched, self.plan, objective)

    def composite(self, text: str, objective: Objective) -> Floats:
        """Return an objective's score by replication, over the training scenarios, on fresh seeds."""
        parts = []
        for setting in self.settings(held_out=False):
            values = self.final[text, setting.label][objective.name]
            if self.is_relative(objective):
                values = values / float(np.nanmean(self.final[self.base, setting.label][objective.name]))
            parts.append(values)
        total: Floats = np.mean(parts, axis=0)
        return total

    def score(self, text: str, objective: Objective) -> Estimate:
        """Return an objective's score on fresh seeds with its 95 % interval."""
        return stats.estimate(self.composite(text, objective))

    def gain(self, text: str, objective: Objective) -> Estimate:
        """Return the paired difference of a score to that of the scheme as given, on fresh seeds."""
        return stats.paired(self.composite(text, objective), self.composite(self.base, objective))

    @cached_property
    def best(self) -> Trial:
        """The candidate to recommend, chosen without a look at the scenarios held out.

        Of the candidates that are not significantly worse than the scheme as given in any objective (of all, where
        there is none): the one nearest to the ideal point, each objective scaled to its range over the candidates on
        fresh seeds.
        """
        objectives = self.plan.objectives
        scores = np.array(
            [[self.score(trial.text, each).mean * each.sign for each in objectives] for trial in self.candidates]
        )
        width = np.ptp(scores, axis=0)
        far = np.linalg.norm((scores - scores.min(axis=0)) / np.where(width > 0, width, 1.0), axis=1)
        safe = [place for place, trial in enumerate(self.candidates) if not self._is_worse(trial.text)]
        return self.candidates[min(safe or range(len(self.candidates)), key=lambda place: float(far[place]))]

    def _is_worse(self, text: str) -> bool:
        found = [(self.gain(text, each), each.sign) for each in self.plan.objectives]
        return any(gain.excludes_zero and gain.mean * sign > 0 for gain, sign in found)

    def difference(self, text: str, rival: str, setting: Setting, objective: Objective) -> Estimate:
        """Return the paired difference of an objective in its own unit, on fresh seeds.

        A quantile is the middle of its histogram's bucket, 1/128 wide: replications that agree to the last digit may
        differ by as much, so the interval is no shorter than the half buckets of both.
        """
        ours, theirs = (self.final[each, setting.label][objective.name] for each in (text, rival))
        found = stats.paired(ours, theirs)
        half = found.half_width
        known = (float(np.nanmean(ours)) + float(np.nanmean(theirs))) * _HALF_BUCKET if half is not None else 0.0
        if half is None or not _QUANTILE.search(objective.name) or half >= known:
            return found
        return Estimate(found.mean, found.mean - known, found.mean + known, found.replications)

    @cached_property
    def verdicts(self) -> dict[tuple[str, str], int]:
        """1 if the best is significantly better than the scheme as given, -1 if significantly worse, 0 otherwise.

        The keys are a setting's label and an objective. The level is 5 % with Holm's correction over all objectives
        and scenarios of a kind (learnt from, held out).
        """
        return self._judged(self.plan.objectives)

    @cached_property
    def besides(self) -> tuple[Objective, ...]:
        """Metrics that are not objectives, and that may have become worse in exchange."""
        asked = {objective.name for objective in self.plan.objectives}
        return tuple(each for each in _BESIDES if each.name not in asked)

    @cached_property
    def side_effects(self) -> dict[tuple[str, str], int]:
        """Like :attr:`verdicts`, for the metrics of :attr:`besides`."""
        return self._judged(self.besides)

    def _judged(self, objectives: Sequence[Objective]) -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for held_out in (False, True):
            pairs = [(setting, each) for setting in self.settings(held_out=held_out) for each in objectives]
            p = [
                stats.paired_p(*(self.final[text, setting.label][each.name] for text in (self.best.text, self.base)))
                for setting, each in pairs
            ]
            for (setting, each), corrected in zip(pairs, stats.holm(p), strict=True):
                mean = self.difference(self.best.text, self.base, setting, each).mean * each.sign
                # The p value is not a number where a metric does not exist: the difference is not significant.
                told = bool(corrected < 1 - stats.LEVEL)
                found[setting.label, each.name] = (1 if mean < 0 else -1) if told else 0
        return found


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
    optuna = import_optuna()
    place = None if out is None else _open(Path(out), plan, force=force)
    train = [setting for setting in plan.settings if not setting.is_held_out]
    total = (plan.trials + 1) * plan.replications * len(train)
    with progress_bar(progress, total) as bar, _quiet(optuna):
        evaluator = Evaluator(
            plan.settings,
            [objective.name for objective in plan.objectives],
            jobs=cores() if jobs is None else jobs,
            log=None if place is None else place / LOG,
            tick=bar.advance,
        )
        searched: dict[tuple[str, str], Mapping[str, Floats]] = {}
        study, trials, refused = _search(optuna, plan, evaluator, searched, bar)
        texts = [*dict.fromkeys([trial.text for trial in _candidates(trials, plan.objectives)])]
        texts = [*dict.fromkeys([plan.base, *plan.rivals.values(), *texts])]
        bar.phase("running the best again", len(texts) * plan.fresh * len(plan.settings))
        final: dict[tuple[str, str], Mapping[str, Floats]] = {}
        for setting in plan.settings:
            values = evaluator.values(texts, setting, seed=plan.seed ^ _FRESH_SEED, replications=plan.fresh)
            final |= {(text, setting.label): found for text, found in zip(texts, values, strict=True)}
    tuning = Tuning(plan, tuple(trials), refused, searched, final, evaluator.runs)
    if place is not None:
        from sojourn.tune import files

        with _quiet(optuna):
            files.write(tuning, place, study, optuna)
    return tuning


def import_optuna() -> Any:
    """Import Optuna.

    Raises
    ------
    SojournError
        If it is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise SojournError(
            "tuning needs Optuna, which is not installed: python -m pip install 'sojourn[tune]'"
        ) from None
    return optuna


def _search(
    optuna: Any,
    plan: Plan,
    evaluator: Evaluator,
    searched: dict[tuple[str, str], Mapping[str, Floats]],
    bar: Progress,
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
            scores = _scores(searched, plan, text)
            if all(map(math.isfinite, scores)):
                study.tell(drawn, scores)
                trials.append(Trial(len(trials), point, text, scores))
            else:
                study.tell(drawn, state=optuna.trial.TrialState.FAIL)
                refused += 1
        bar.say(f"{len(trials)} of {plan.trials} trials")
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


def _is_relative(searched: Mapping[tuple[str, str], Mapping[str, Floats]], plan: Plan, objective: Objective) -> bool:
    train = [setting for setting in plan.settings if not setting.is_held_out]
    return all(_mean(searched[plan.base, setting.label][objective.name]) > 0 for setting in train)


def _scores(searched: Mapping[tuple[str, str], Mapping[str, Floats]], plan: Plan, text: str) -> tuple[float, ...]:
    scores = []
    for objective in plan.objectives:
        parts = []
        for setting in plan.settings:
            if setting.is_held_out:
                continue
            value = _mean(searched[text, setting.label][objective.name])
            if _is_relative(searched, plan, objective):
                value /= _mean(searched[plan.base, setting.label][objective.name])
            parts.append(value)
        scores.append(float(np.mean(parts)))
    return tuple(scores)


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def _candidates(trials: Sequence[Trial], objectives: Sequence[Objective]) -> tuple[Trial, ...]:
    first: dict[str, Trial] = {}
    for trial in trials:
        first.setdefault(trial.text, trial)
    signs = np.array([objective.sign for objective in objectives])
    known = list(first.values())
    scores = np.array([trial.scores for trial in known]) * signs
    front = [trial for trial, own in zip(known, scores, strict=True) if not _is_dominated(own, scores)]
    if len(objectives) == 1:
        # One objective has one winner; the next best show how sure it is.
        front = sorted(known, key=lambda trial: (trial.scores[0] * signs[0], trial.number))[:5]
    front.sort(key=lambda trial: (trial.scores[0] * signs[0], trial.number))
    if len(front) > _MOST_CANDIDATES:
        places = np.unique(np.linspace(0, len(front) - 1, _MOST_CANDIDATES).round().astype(int))
        front = [front[place] for place in places]
    return tuple(front)


def _is_dominated(own: Floats, scores: Floats) -> bool:
    return bool(((scores <= own).all(axis=1) & (scores < own).any(axis=1)).any())


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
            if any((place / name).read_text(encoding="utf-8") != text for name, text in files.items()):
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
    meta = {"format": FORMAT, "version": core.version(), "build": core.build(), "date": folder.now()}
    folder.write_text(place / "meta.json", json.dumps(meta, indent=2) + "\n")
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
