"""Characterisation of a scheme by RFC 7928: scenarios as plans, their runs, and a report by the RFC's sections."""

from __future__ import annotations

from sojourn.studies.characterize.execute import characterize
from sojourn.studies.characterize.networks import Setting
from sojourn.studies.characterize.suite import SUITE, Scenario, chosen

__all__ = ["SUITE", "Scenario", "Setting", "characterize", "chosen"]
