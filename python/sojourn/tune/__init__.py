"""Tuning: an algorithm's parameters against one or several objectives, honestly.

Every trial sees the same traffic (common random numbers). The best are run again on fresh seeds, since the best of
many looks better than it is (the winner's curse), and on scenarios that the search never saw.
"""

from __future__ import annotations

from sojourn.tune.plan import Objective, Plan
from sojourn.tune.search import FORMAT, Tuning, run

__all__ = ["FORMAT", "Objective", "Plan", "Tuning", "run"]
