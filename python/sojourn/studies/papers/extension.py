"""Code of a study, for what the framework does not have: a package in its folder, of its name, with underscores.

The code of the studies that come with Sojourn runs; that of another folder runs only after :func:`trust`. Its modules
import each other relatively. It may define these functions, which the framework calls:

``run(options, name, where)``
    The whole command ``sojourn papers run``, of a paper whose data are not those of the framework.
``summary(name)``
    Of such a paper for ``sojourn papers list``: the numbers of its claims and of its printed values, and its title.
``addition()``
    A module that runs a further part: ``name_of(paper)`` and ``run(runner, size)``.
``modes(runner, reading, conditions)``
    What stands for ``{interarrival}`` in the texts of schemes, by reading and condition.
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

import hashlib
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sojourn.base.core import SojournError
from sojourn.studies.papers import documents

__all__ = ["hook", "package", "trust"]

_TRUSTED: Final[set[Path]] = set()


def trust(folder: Path) -> None:
    """Let the code in a study's folder run in this process."""
    _TRUSTED.add(folder.resolve())


def package(folder: Path) -> ModuleType | None:
    """Return a study's code, imported; None for a study without."""
    folder = folder.resolve()
    name = folder.name.replace("-", "_")
    file = folder / name / "__init__.py"
    if not file.is_file():
        return None
    if not (documents.is_ours(folder) or folder in _TRUSTED):
        raise SojournError(
            f"{folder}: this study has code of its own ({name}/), which could do anything that you can; read it, and "
            "allow it with --trust"
        )
    # Another folder of this name has other code.
    whole = f"sojourn_study_{name}_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if whole not in sys.modules:
        spec = spec_from_file_location(whole, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{file} cannot be imported")
        sys.modules[whole] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[whole])
        except BaseException:
            del sys.modules[whole]
            raise
    return sys.modules[whole]


def hook(folder: Path, name: str) -> Callable[..., Any] | None:
    """Return a function of a study's code; None where it has none. As :func:`package`."""
    found: Callable[..., Any] | None = getattr(package(folder), name, None)
    return found
