"""Advice to an operator: which scheme, at which rate of the shaper, on which side of an access line."""

from __future__ import annotations

from sojourn.studies.advise.line import NEEDS, Line
from sojourn.studies.advise.search import Advice, advise

__all__ = ["NEEDS", "Advice", "Line", "advise"]
