"""Sensitivity: which parameters of an algorithm matter, by Sobol's or Morris' method."""

from __future__ import annotations

from sojourn.studies.sensitivity.analysis import Index, Sensitivity, indices, run

__all__ = ["Index", "Sensitivity", "indices", "run"]
