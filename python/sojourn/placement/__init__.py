"""Where to put active queue management: which routers of a topology shall have it."""

from sojourn.placement.centrality import ALL, Centrality, katz, rankings
from sojourn.placement.evaluate import OBJECTIVES, Evaluator, Objective
from sojourn.placement.pivots import Sampled, sample
from sojourn.placement.search import Choice, Found, Plan, search

__all__ = [
    "ALL",
    "OBJECTIVES",
    "Centrality",
    "Choice",
    "Evaluator",
    "Found",
    "Objective",
    "Plan",
    "Sampled",
    "katz",
    "rankings",
    "sample",
    "search",
]
