"""The atlas: every scheme, need by need, with ranks that tie where the intervals do."""

from __future__ import annotations

from sojourn.atlas.execute import atlas
from sojourn.atlas.needs import NEEDS, Need

__all__ = ["NEEDS", "Need", "atlas"]
