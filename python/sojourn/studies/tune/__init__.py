"""Tuning: search an algorithm's parameters for one or several objectives.

Every trial gets the same traffic (common random numbers). The best trials are run again with new seeds and on
scenarios that the search did not use, because the best of many trials looks better than it is (the winner's curse).
"""

from __future__ import annotations

from sojourn.studies.tune.plan import Objective, Plan
from sojourn.studies.tune.result import Tuning
from sojourn.studies.tune.search import FORMAT, run

__all__ = ["FORMAT", "Objective", "Plan", "Tuning", "run"]
