"""Plans: sweeps over schemes and parameters that resume, share runs, and stop at a given precision."""

from __future__ import annotations

from sojourn.plan.document import load, loads
from sojourn.plan.expand import Cell, Cells, cells
from sojourn.plan.manifest import StoreDamagedError
from sojourn.plan.model import Plan
from sojourn.plan.parts import Factor, Figure, Precision, Variation
from sojourn.plan.text import dumps
from sojourn.plan.vary import dimension, grid, latin_hypercube, span, zipped
from sojourn.scheme import Scheme

__all__ = [
    "Cell", "Cells", "Factor", "Figure", "Plan", "Precision", "Scheme", "StoreDamagedError", "Variation",
    "cells", "dimension", "dumps", "grid", "latin_hypercube", "load", "loads", "span", "zipped",
]  # fmt: skip
