"""Skeletons of what users add: algorithms, congestion controls, traffic, studies, scenarios (``sojourn new``)."""

from __future__ import annotations
