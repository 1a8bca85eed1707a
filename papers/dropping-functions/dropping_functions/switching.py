"""Carry-over after a switch: how soon a slot is steady, and an estimate corrected for the previous scheme.

A switchback assigns schemes to slots of time at random. A window belongs to its slot's scheme, but the previous
scheme still affects it: flows that a long queue or many losses slowed down continue under the next scheme. Windows
that begin within the burn-in of a slot are left out. The model has a term for the remaining effect of the previous
scheme, so schemes are compared as if each had followed all others equally often. A test shows whether this term is
significant (Bojinov, Simchi-Levi and Zhao 2023 on carry-over).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.tools.sm_exceptions import ConvergenceWarning

from sojourn import stats
from sojourn.stats import Estimate

from .document import Switchback

STEP_S: Final = 1.0
"""Width of the steps of time into which a slot is divided."""
FEWEST_SLOTS: Final = 20


@dataclass(frozen=True, slots=True)
class Step:
    """Windows that begin within one step of time after a switch, compared with the rest of the same slot.

    Parameters
    ----------
    excess
        Mean over slots of the window's value minus the mean of the slot's second half, in the metric's unit.
    """

    from_s: float
    to_s: float
    excess: Estimate


@dataclass(frozen=True)
class Model:
    """A mixed model of a metric: scheme, previous scheme, cubic of the load; a random intercept for each slot.

    Parameters
    ----------
    effects
        By scheme: the value minus FIFO's, corrected for carry-over, with its 95 % interval.
    naive
        The same without the previous scheme.
    carry_over_p
        P value of the joint test that the previous scheme does not matter.
    """

    effects: dict[str, tuple[float, float, float]]
    naive: dict[str, tuple[float, float, float]]
    carry_over_p: float
    slots: int
    windows: int


def steps(back: Switchback, frame: pd.DataFrame, metric: str) -> list[Step]:
    """Return a metric over the time after a change of scheme; `frame` has windows of all times."""
    length = back.slot_s
    changed = frame.merge(previous(frame), on=["run", "slot"])
    changed = changed[changed["before"] != changed["label"]]
    late = changed[changed["since_s"] >= length / 2].groupby(["run", "slot"])[metric].mean()
    found = []
    for begin in np.arange(0.0, length / 2, STEP_S):
        of = changed[(changed["since_s"] >= begin) & (changed["since_s"] < begin + STEP_S)]
        early = of.groupby(["run", "slot"])[metric].mean()
        both = (early - late).dropna()
        if len(both) >= 3:
            found.append(Step(begin, begin + STEP_S, stats.estimate(both.to_numpy())))
    return found


def previous(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the scheme of the previous slot, `before`, by `run` and `slot`; first slots have none."""
    slots = frame[["run", "slot", "label"]].drop_duplicates(["run", "slot"]).sort_values(["run", "slot"])
    before = slots.assign(slot=slots["slot"] + 1).rename(columns={"label": "before"})
    return slots[["run", "slot"]].merge(before, on=["run", "slot"])


def model(frame: pd.DataFrame, metric: str, base: str = "none") -> Model | None:
    """Return the mixed model of a metric, of windows without the burn-in; None where there are too few slots."""
    of = frame.merge(previous(frame), on=["run", "slot"]).dropna(subset=[metric])
    of = of.assign(
        y=of[metric].astype(float), x=of["load"] - 1, place=of["run"].astype(str) + "/" + of["slot"].astype(str)
    )
    count = of["place"].nunique()
    if count < FEWEST_SLOTS or base not in set(of["label"]):
        return None
    load = " + x + I(x**2) + I(x**3)"
    label = f"C(label, Treatment('{base}'))"
    whole = _fitted(f"y ~ {label} + C(before, Treatment('{base}')){load}", of)
    plain = _fitted(f"y ~ {label}{load}", of)
    names = list(whole.params.index)
    terms = [[float(name == one) for name in names] for one in names if one.startswith("C(before")]
    p = float(whole.wald_test(np.array(terms), scalar=True).pvalue) if terms else float("nan")
    return Model(_effects(whole, base), _effects(plain, base), p, count, len(of))


def _fitted(formula: str, of: pd.DataFrame) -> sm.regression.mixed_linear_model.MixedLMResults:
    with warnings.catch_warnings():
        # If the slots do not differ, the estimated variance of their intercepts is zero, its lower bound.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        return smf.mixedlm(formula, of, groups=of["place"]).fit(reml=True, method="powell")


def _effects(
    found: sm.regression.mixed_linear_model.MixedLMResults, base: str
) -> dict[str, tuple[float, float, float]]:
    bounds = found.conf_int()
    effects = {}
    for name, value in found.params.items():
        if name.startswith("C(label"):
            label = name.split("[T.")[1].rstrip("]")
            low, high = bounds.loc[name]
            effects[label] = (float(value), float(low), float(high))
    return {one: effects[one] for one in sorted(effects) if one != base}
