"""Code that serves one of the papers that come with Sojourn; no study of a user needs it, and none loads it.

The package of a paper has its name, with underscores. It may define these functions, which the framework calls:

``run(options, name, where)``
    The whole command ``sojourn papers run``, of a paper whose data are not those of the framework.
``summary(name)``
    Of such a paper for ``sojourn papers list``: the numbers of its claims and of its printed values, and its title.
``addition()``
    A module that runs a further part: ``name_of(paper)`` and ``run(runner, size)``.
``modes(runner, reading, conditions)``
    What stands for ``{mode}`` in the texts of schemes, by reading and condition.
``columns(paper, store, runs, wanted, is_base)``
    More metrics: a table with a row for each run of `wanted`. `runs` has the scenario and the runs of each condition.
``over_time(samples, kinds)``
    Metrics of the time series of figures that claims are judged on.
``sections(paper, measured)``
    More sections of the report.
``record(paper, measured)``
    Stores in the study's folder what ``--record`` is to keep beside the outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sojourn.studies.papers import documents


def hook(folder: Path, name: str) -> Callable[..., Any] | None:
    """Return a function that serves the paper in a folder; None for a study of a user, and where it has none."""
    package = f"{__name__}.{folder.name.replace('-', '_')}"
    if not documents.is_ours(folder) or find_spec(package) is None:
        return None
    found: Callable[..., Any] | None = getattr(import_module(package), name, None)
    return found
