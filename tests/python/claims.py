"""A claim of a published study, for tests of how claims are judged."""

from __future__ import annotations

from typing import Any

from sojourn.studies.papers import Claim


def claim(comparison: str, subject: str = "a", against: str = "", **more: Any) -> Claim:
    given = {
        "id": "one",
        "section": "6.1",
        "place": "Figure 6a",
        "quote": "q",
        "metric": "sojourn_ms_mean",
        "subject": tuple(subject.split()),
        "against": tuple(against.split()),
    }
    return Claim(comparison=comparison, **(given | more))
