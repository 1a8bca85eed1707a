"""Sensitivity: the part of a metric's variation that each parameter of an algorithm causes (Sobol, Morris).

Sobol's first-order index of a parameter is the share of the metric's variance over the ranges that it makes alone,
the total index that with all interactions (Sobol 2001; Saltelli et al. 2010). Morris' mu* is the mean size of the
metric's change as the parameter alone moves through its range (in steps of two thirds); sigma is its scatter:
interactions or curvature.
Every point of the plan sees the same traffic.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np

from sojourn import stats
from sojourn.base import extras
from sojourn.base.core import SojournError
from sojourn.base.processors import cores
from sojourn.model.scheme import Scheme
from sojourn.plan.progress import phases_bar
from sojourn.stats import Floats
from sojourn.studies.tune.evaluate import Evaluator, check_metric
from sojourn.studies.tune.settings import Setting, settings
from sojourn.studies.tune.space import Factor, Point, parse, scheme_text

Method = Literal["sobol", "morris"]

_RESAMPLES: Final = 500
_LEVELS: Final = 4


@dataclass(frozen=True, slots=True)
class Index:
    """One parameter's influence on one metric.

    Parameters
    ----------
    name
        Of the parameter.
    first, first_half
        Sobol: first-order index; Morris: mu*, in the metric's unit. With the half-width of its 95 % interval.
    total, total_half
        Sobol: total index with its half-width. Morris: sigma, which has no interval (NaN).
    """

    name: str
    first: float
    first_half: float
    total: float
    total_half: float


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The results of a sensitivity analysis.

    Parameters
    ----------
    scheme
        The algorithm with the parameters that stay as given.
    setting
        The scenario.
    factors
        The parameters with their ranges.
    metrics
        Names.
    method
        ``sobol`` or ``morris``.
    samples
        Base samples (Sobol) or trajectories (Morris).
    replications, seed
        Of each point.
    points
        Number of points that were run.
    indices
        By metric, one a parameter.
    values
        By metric, the mean over replications at each point.
    """

    scheme: str
    setting: Setting
    factors: tuple[Factor, ...]
    metrics: tuple[str, ...]
    method: Method
    samples: int
    replications: int
    seed: int
    points: int
    indices: dict[str, tuple[Index, ...]] = field(repr=False)
    values: dict[str, Floats] = field(repr=False)

    @cached_property
    def is_sure(self) -> bool:
        """Whether every interval is narrow enough to rank by: half-widths of at most 0.1 (Sobol)."""
        return all(
            index.total_half <= 0.1 and index.first_half <= 0.1 for found in self.indices.values() for index in found
        )


def indices(
    names: Sequence[str],
    model: Callable[[Floats], Floats],
    *,
    method: Method = "sobol",
    samples: int = 64,
    seed: int = 1,
    bounds: Sequence[tuple[float, float]] | None = None,
) -> tuple[Index, ...]:
    """Return the indices of a model of several inputs.

    Parameters
    ----------
    names
        Of the inputs.
    model
        Takes points, shape (n, inputs), and returns n values.
    method
        ``sobol`` or ``morris``.
    samples
        Base samples: Sobol runs samples x (inputs + 2) points, Morris samples x (inputs + 1). For Sobol a power of 2.
    seed
        Of the plan and of the bootstrap behind the intervals.
    bounds
        Of each input; by default 0 to 1.

    Raises
    ------
    SojournError
        If SALib is missing, or the number of samples is not one that the method takes.
    """
    problem, points = plan(names, method=method, samples=samples, seed=seed, bounds=bounds)
    return analyse(problem, points, np.asarray(model(points), dtype=np.float64), method=method, seed=seed)


def plan(
    names: Sequence[str],
    *,
    method: Method,
    samples: int,
    seed: int,
    bounds: Sequence[tuple[float, float]] | None = None,
) -> tuple[dict[str, Any], Floats]:
    """Return SALib's problem and the points to run."""
    _check(method, samples)
    salib = _salib()
    problem = {
        "num_vars": len(names),
        "names": list(names),
        "bounds": [*map(list, bounds or [(0.0, 1.0)] * len(names))],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "sobol":
            points = salib.sample.sobol.sample(problem, samples, calc_second_order=False, seed=seed)
        else:
            points = salib.sample.morris.sample(problem, samples, num_levels=_LEVELS, seed=seed)
    return problem, np.asarray(points, dtype=np.float64)


def analyse(
    problem: dict[str, Any], points: Floats, values: Floats, *, method: Method, seed: int
) -> tuple[Index, ...]:
    """Return the indices from the values at the points of a plan."""
    salib = _salib()
    if float(np.ptp(values)) == 0:
        # A metric that does not depend on any parameter has no variance.
        return tuple(Index(name, 0.0, 0.0, 0.0, 0.0) for name in problem["names"])
    common = {"num_resamples": _RESAMPLES, "conf_level": stats.LEVEL, "seed": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "sobol":
            found = salib.analyze.sobol.analyze(problem, values, calc_second_order=False, **common)
            columns = [found[key] for key in ("S1", "S1_conf", "ST", "ST_conf")]
        else:
            found = salib.analyze.morris.analyze(problem, points, values, num_levels=_LEVELS, **common)
            columns = [found["mu_star"], found["mu_star_conf"], found["sigma"], np.full(len(points[0]), np.nan)]
    rows = zip(problem["names"], *(map(float, column) for column in columns), strict=True)
    return tuple(Index(*row) for row in rows)


def run(
    scheme: str,
    scenario: str,
    *,
    vary: Sequence[str],
    metrics: Sequence[str],
    method: Method = "sobol",
    samples: int = 64,
    replications: int = 2,
    sets: Sequence[str] = (),
    seed: int = 1,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Sensitivity:
    """Find how sensitive metrics are to an algorithm's parameters on a scenario.

    Parameters
    ----------
    scheme
        The algorithm, with the parameters that stay as given.
    scenario
        A file, or the name of a bundled scenario.
    vary
        ``NAME=LOW..HIGH``, ``NAME=LOW..HIGH:log``, ``NAME=A|B``, or a name for its default range. A parameter is
        uniform over its range (over its logarithm with ``:log``), independent of the others.
    metrics
        Names of a run's metrics.
    method, samples
        As for :func:`indices`.
    replications
        Of each point.
    sets
        Overrides of the scenario.
    seed
        Of plan and runs.
    jobs
        Number of threads; it changes no number.
    progress
        Whether to show a progress bar.

    Raises
    ------
    SojournError
        Bad scenario, range or metric; a point that is not a scheme; a metric that does not exist at some point.
    """
    _salib()
    chosen = Scheme(scheme)
    factors = tuple(parse(chosen.algorithm, text) for text in vary)
    names = [factor.name for factor in factors]
    if len(names) < 2 or len(set(names)) < len(names):
        raise SojournError(
            "a sensitivity analysis needs two different parameters at least, as in --vary min --vary max"
        )
    wanted = tuple(check_metric(name) for name in metrics)
    if not wanted:
        raise SojournError("no metric: name one, as in --metric sojourn_ms_p99")
    (setting,) = settings(scenario, sets, (), held_out=False)
    problem, points = plan(names, method=method, samples=samples, seed=seed)
    texts = [_text(chosen.canonical, factors, row) for row in points]
    with phases_bar(progress, len(texts) * replications) as bar:
        evaluator = Evaluator(
            [setting], wanted, jobs=jobs or cores(), tick=lambda runs: bar.advance(bar.task_ids[0], runs)
        )
        found = []
        # In pieces, for the sake of the progress bar.
        for start in range(0, len(texts), 64):
            found += evaluator.values(texts[start : start + 64], setting, seed=seed, replications=replications)
    values = {name: np.array([np.mean(each[name]) for each in found]) for name in wanted}
    for name, column in values.items():
        if not np.isfinite(column).all():
            at = texts[int(np.flatnonzero(~np.isfinite(column))[0])]
            raise SojournError(f"the metric {name} does not exist in every run, as with `{at}`")
    return Sensitivity(
        scheme=chosen.canonical,
        setting=setting,
        factors=factors,
        metrics=wanted,
        method=method,
        samples=samples,
        replications=replications,
        seed=seed,
        points=len(texts),
        indices={name: analyse(problem, points, column, method=method, seed=seed) for name, column in values.items()},
        values=values,
    )


def _text(base: str, factors: tuple[Factor, ...], shares: Floats) -> str:
    point: Point = {factor.name: factor.at(float(share)) for factor, share in zip(factors, shares, strict=True)}
    try:
        return scheme_text(base, factors, point)
    except SojournError as error:
        raise SojournError(f"every point of the ranges must be a scheme; {error}") from None


def _check(method: str, samples: int) -> None:
    if method not in ("sobol", "morris"):
        raise SojournError(f"method={method!r} is unknown; allowed: sobol, morris")
    if not 2 <= samples <= 2**20:
        raise SojournError(f"samples={samples} is impossible: allowed are 2 to {2**20}")
    if method == "sobol" and samples & (samples - 1):
        raise SojournError(
            f"samples={samples}: Sobol's sequence needs a power of 2, as in {2 ** samples.bit_length()}"
        )


def _salib() -> Any:
    modules = (f"{part}.{method}" for part in ("sample", "analyze") for method in ("sobol", "morris"))
    return extras.need("a sensitivity analysis", "SALib", "tune", *modules)
