"""Plans: sweeps over schemes and parameters that resume, share runs, and stop at a given precision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.base import lazy

if TYPE_CHECKING:
    import pandas as pd

    from sojourn.model.scheme import Scheme
    from sojourn.plan.document import dumps, load, loads
    from sojourn.plan.expand import Cell, Cells, cells
    from sojourn.plan.manifest import StoreDamagedError
    from sojourn.plan.model import Factor, Figure, Plan, Precision, Value, Variation
    from sojourn.plan.vary import dimension, grid, latin_hypercube, span, zipped
    from sojourn.results.results import Results

__all__ = [
    "Cell", "Cells", "Factor", "Figure", "Plan", "Precision", "Scheme", "StoreDamagedError", "Variation",
    "cells", "differences", "dimension", "dumps", "grid", "latin_hypercube", "load", "loads", "results", "span",
    "zipped",
]  # fmt: skip

__getattr__ = lazy.names(
    __name__,
    {
        "sojourn.model.scheme": ("Scheme",),
        "sojourn.plan.document": ("dumps", "load", "loads"),
        "sojourn.plan.expand": ("Cell", "Cells", "cells"),
        "sojourn.plan.manifest": ("StoreDamagedError",),
        "sojourn.plan.model": ("Factor", "Figure", "Plan", "Precision", "Variation"),
        "sojourn.plan.vary": ("dimension", "grid", "latin_hypercube", "span", "zipped"),
    },
)


def results(folder: str | Path, plan: str | None = None) -> list[tuple[dict[str, Value | None], Results]]:
    r"""Return the results of a plan: for each combination of the factors' levels those of its schemes.

    They have every table, estimate, figure and report that a comparison has. The correction of p-values counts the
    comparisons of the whole plan. Combinations without a finished run are left out.

    Parameters
    ----------
    folder
        The store.
    plan
        Its name; by default the only one of the store.

    Raises
    ------
    SojournError
        No such store or plan.

    Examples
    --------
    >>> import sojourn as sj, tempfile
    >>> from sojourn import plan
    >>> folder = tempfile.mkdtemp()
    >>> sweep = plan.loads(
    ...     "name = 'short'\n"
    ...     "scenario = 'dumbbell'\n"
    ...     "schemes = ['codel', 'pie']\n"
    ...     "replications = 2\n"
    ...     "set = { duration = '2 s', warm_up = '1 s' }\n"
    ...     "[[vary]]\n"
    ...     "key = 'links.bottleneck.rate'\n"
    ...     "values = ['5 Mbit/s', '10 Mbit/s']\n"
    ... )
    >>> outcome = sweep.run(folder)
    >>> for levels, found in plan.results(folder):
    ...     print(levels, found.labels)
    {'rate': '5 Mbit/s'} ('codel', 'pie')
    {'rate': '10 Mbit/s'} ('codel', 'pie')
    """
    # Slow to import: what only runs plans does without.
    from sojourn.plan import read
    from sojourn.plan.store import Store

    store = Store.open(folder)
    return read.results(read.plan_of(store, plan), store)


def differences(
    folder: str | Path, names: tuple[str, ...] = (), *, baseline: str | None = None, plan: str | None = None
) -> pd.DataFrame:
    """Return the paired differences of a plan's schemes to a baseline, at the same levels of all factors.

    Parameters
    ----------
    folder
        The store.
    names
        Of metrics; by default those that the plan shows.
    baseline
        The label of a scheme; by default the first of the plan.
    plan
        Its name; by default the only one of the store.

    Returns
    -------
    pandas.DataFrame
        A column for each factor, then those of :meth:`sojourn.Results.differences`. ``p_holm`` is corrected for all
        comparisons of a metric in the plan.

    Raises
    ------
    SojournError
        No such store, plan or scheme.
    """
    from sojourn.plan import read
    from sojourn.plan.store import Store

    store = Store.open(folder)
    return read.differences(read.plan_of(store, plan), store, names, baseline)
