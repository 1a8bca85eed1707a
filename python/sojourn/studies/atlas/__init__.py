"""The atlas: every scheme, need by need, with ranks that tie where the intervals do."""

from __future__ import annotations

from sojourn.studies.atlas.execute import atlas
from sojourn.studies.atlas.needs import NEEDS, Need

__all__ = ["NEEDS", "Need", "atlas"]
