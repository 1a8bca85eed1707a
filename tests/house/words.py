"""Words and private names that do not belong into texts of the project, and what to write instead: the only list.

``test_prose.py`` looks for them in pages, studies, examples and packages; ``test_english.py`` in the Python package.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["ALL", "NAMES", "PHRASES", "TYPES", "Banned", "found", "in_python"]


class Banned(NamedTuple):
    """A text that must not appear.

    Parameters
    ----------
    pattern
        A regular expression; a space in it stands for any white space, and letters for both cases.
    example
        Texts that it finds, with `` | `` between them: the sentences that puzzled somebody.
    instead
        What to write, or why not this.
    """

    pattern: str
    example: str
    instead: str


NAMES = (
    Banned(r"\bseed\s?0\d\d\b", "red preset seed000 | seed 003's device", "the citation: Shu (2023), preset shu2023"),
    Banned(r"\bissue #?\d+\b", "as issue 20 asks", "the reason itself: readers have no such list"),
)
"""Private names: in no text at all, comments and docstrings of the sources included."""

TYPES = {
    "Around": "what it holds: surroundings, context",
    "Asked": "query, request",
    "Gone": "departure",
    "Held": "what is held: connection, value",
    "Said": "what the text gives: option, setting",
    "Seen": "statistics, counters, view",
    "Told": "notice, event source",
    "Turn": "event",
    "Way": "direction, path, egress",
    "What": "kind of event",
    "Whereabouts": "counts of frames by place",
    "Work": "request, job",
    "Wrong": "fault, error",
}
"""Names of types that the field does not have, and those to take: in the sources of crates and package."""

PHRASES = (
    Banned(
        r"\breal with \d+\s?%|\breal (\(5 %\)|after holm)|\* real\b",
        "all that is not faint is real with 95 % probability | Paired differences; * real after Holm's correction",
        "significant at the 5 % level after Holm's correction (it bounds the chance of any false finding)",
    ),
    Banned(r"\bsurely (better|worse)\b", "a choice is surely better", "significantly better, at which level"),
    Banned(
        r"\bnot told (apart )?from\b", "not told from the best found", "not significantly worse than (or: different)"
    ),
    Banned(r"\bnine (points )?in ten\b", "nine points in ten agree", "at least 90 % of the points"),
    Banned(
        r"\bfunction names below\b", "RFC 8289; function names below are its", "words that make sense on the page"
    ),
    Banned(r"\bAmount2\b", "`off`: Amount2", "time: a name that the reader can guess"),
    Banned(r"\bthat (does|do) not answer\b", "a UDP flow that does not answer", "an unresponsive flow"),
    Banned(r"\bnever come about\b", "such connections never come about", "TCP connections fail to establish"),
    Banned(r"\bover what waits\b", "switch: over what waits", "packets already queued are kept"),
    Banned(r"\bmend(s|ed|ing)?\b", "the command that mends it", "fix"),
    Banned(
        r"\bwhich this build has not\b", 'back end "dpdk", which this build has not', "is not available in this build"
    ),
    Banned(
        r"\bdevices do with\b", "ordinary memory, which virtual devices do with", "is sufficient for virtual devices"
    ),
    Banned(r"\bserialisation leaves over\b", "keeps what serialisation leaves over", "carries the remainder over"),
    Banned(r"\bwhat the mean should be of\b", "seconds are not what the mean should be of", "not representative"),
    Banned(
        r"\buntil three things\b", "until three things that Linux does were in it", "until we modelled three details"
    ),
    Banned(r"\bwith a fifo there\b", "the mode of inter-arrival times, with a FIFO there", "in a run with a FIFO"),
    Banned(r"\bcry wolf\b", "it is built not to cry wolf", "it appears in fewer than one comparison in twenty"),
    Banned(r"\bholds? the truth\b", "31 of 100 hold the truth", "contain the true mean"),
    Banned(r"\bstands? on the wire\b", "sojournd stands on the wire", "forwards frames between two ports"),
    Banned(r"\bthe wire first\b", "The wire first.", "forwarding has priority"),
    Banned(r"\bwhat came of it\b", "## What came of it", "results"),
    Banned(r"\bown answer to that\b", "tuning has its own answer to that", "say the answer"),
    Banned(r"\bgo(es)? on where it (was )?stopped\b", "the command goes on where it was stopped", "continues"),
    Banned(r"\bless (that|those) of\b", "rewards less that of PIE", "minus"),
    Banned(r"\bthe same by hand\b", "The same by hand:", "This command runs it:"),
    Banned(r"\btold apart\b", "schemes that cannot be told apart", "which do not differ significantly"),
    Banned(r"\bgo(es)? on from\b", "the search goes on from there", "continues with"),
    Banned(r"\bwhole again\b", "repair makes the store whole again", "restores the store"),
    Banned(r"\ba core\)", "threads (default: one a core)", "(default: one per core)"),
    Banned(r"\bother way round\b", "and the other way round", "say what the reverse is"),
    Banned(r"\bcomes? about\b", "how the number comes about", "is computed, is caused by, happens"),
    Banned(
        r"\bthe others were in the folder\b", "3 runs done, the others were in the folder", "had been done before"
    ),
    Banned(
        r"(?<!here)(?<!hich) is no (store|value|name|scheme|key|interval|table|link|file|question)\b",
        "out/x is no store | 'codell' is no scheme",
        "is not a store",
    ),
    Banned(r"\btwo worlds\b", "One algorithm, two worlds", "the same scheme on both"),
)
"""Odd or wrong words: in pages, in the help of commands and in what programs print."""

ALL = (*NAMES, *PHRASES)


@cache
def _compiled(banned: Banned) -> re.Pattern[str]:
    return re.compile(banned.pattern.replace(" ", r"\s+"), re.IGNORECASE)


def found(text: str, where: str, table: tuple[Banned, ...]) -> list[str]:
    """What the table finds in a text, with its place and what to write instead."""
    return [
        f"{where}:{text.count(chr(10), 0, hit.start()) + 1}: {' '.join(hit[0].split())!r}: write {banned.instead}"
        for banned in table
        for hit in _compiled(banned).finditer(text)
    ]


def in_python(path: Path, where: str) -> list[str]:
    """What all entries find in a Python file: in its text, and in strings that stand on several lines of it."""
    source = path.read_text(encoding="utf-8")
    seen = found(source, where, ALL)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            lines = "\n" * (node.lineno - 1) + node.value
            seen += found(lines, where, ALL)
    return sorted(set(seen))
