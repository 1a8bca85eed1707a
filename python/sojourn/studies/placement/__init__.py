"""Where to put active queue management: which routers of a topology shall have it."""

from sojourn.studies.placement.centrality import ALL, Centrality, katz, rankings
from sojourn.studies.placement.evaluate import OBJECTIVES, Evaluator, Objective
from sojourn.studies.placement.pivots import Sampled, sample
from sojourn.studies.placement.search import Choice, Found, Plan, search

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
