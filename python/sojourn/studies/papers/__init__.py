"""Executable papers: published studies as data, run again, and judged claim by claim."""

from __future__ import annotations

from sojourn.studies.papers.documents import folder, load, names
from sojourn.studies.papers.judge import At, Outcome, Setting, Verdict, Words
from sojourn.studies.papers.model import Claim, Paper

__all__ = ["At", "Claim", "Outcome", "Paper", "Setting", "Verdict", "Words", "folder", "load", "names"]
