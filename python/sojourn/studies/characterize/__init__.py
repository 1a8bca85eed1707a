"""Characterisation of a scheme by a suite of scenarios, RFC 7928 or a WLAN: plans, their runs, and a report."""

from __future__ import annotations

from sojourn.studies.characterize.execute import characterize
from sojourn.studies.characterize.networks import Setting
from sojourn.studies.characterize.suite import RFC, SUITE, Scenario, Suite

__all__ = ["RFC", "SUITE", "Scenario", "Setting", "Suite", "characterize"]
