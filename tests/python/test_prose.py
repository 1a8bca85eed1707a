"""Words and names that puzzled readers stay out of what users read; the table says what to write instead."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from sojourn import cli

ROOT = Path(__file__).resolve().parents[2]


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
    Banned(r"\btwo worlds\b", "One algorithm, two worlds", "the same scheme on both"),
)
"""Odd or wrong words: in pages, in the help of commands and in what programs print."""


@cache
def _compiled(banned: Banned) -> re.Pattern[str]:
    return re.compile(banned.pattern.replace(" ", r"\s+"), re.IGNORECASE)


def _found(text: str, where: str, table: tuple[Banned, ...]) -> list[str]:
    """What the table finds in a text, with its place and what to write instead."""
    return [
        f"{where}:{text.count(chr(10), 0, hit.start()) + 1}: {' '.join(hit[0].split())!r}: write {banned.instead}"
        for banned in table
        for hit in _compiled(banned).finditer(text)
    ]


PAGES = sorted(
    [
        *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "DESIGN", "SECURITY")),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("papers/*/README.md"),
    ]
)


@pytest.mark.parametrize("banned", [*NAMES, *PHRASES], ids=lambda banned: banned.pattern)
def test_each_entry_finds_its_example(banned: Banned) -> None:
    for example in banned.example.split(" | "):
        assert _found(example, "example", (banned,)), example


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_have_no_banned_words(page: Path) -> None:
    found = _found(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)), (*NAMES, *PHRASES))
    assert not found, "\n".join(found)


def _helps(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """The help of a command and of those below it."""
    yield f"{parser.prog} --help", parser.format_help()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _helps(below)


def test_the_help_of_commands_has_no_banned_words() -> None:
    texts = list(_helps(cli.parser()))
    assert len(texts) > len(cli.COMMANDS)
    found = [line for where, text in texts for line in _found(text, where, (*NAMES, *PHRASES))]
    assert not found, "\n".join(found)


def _strings(path: Path) -> Iterator[tuple[str, int, bool]]:
    """The text constants of a Python file with their lines, and whether each is a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno, id(node) in alone


def test_python_strings_have_no_banned_words() -> None:
    found = []
    for path in sorted(ROOT.glob("python/sojourn/**/*.py")):
        for text, line, is_docstring in _strings(path):
            table = NAMES if is_docstring else (*NAMES, *PHRASES)
            found += _found(text, f"{path.relative_to(ROOT)}:{line}", table)
    assert not found, "\n".join(found)


def test_comments_of_rust_have_no_private_names() -> None:
    """Names of former presets may stay in code, where they are aliases; not in what documentation is made from."""
    found = []
    for path in sorted(ROOT.glob("crates/**/*.rs")):
        # What is no comment becomes an empty line, so that lines keep their numbers.
        code = path.read_text(encoding="utf-8").splitlines()
        comments = "\n".join(line if line.lstrip().startswith("//") else "" for line in code)
        found += _found(comments, str(path.relative_to(ROOT)), NAMES)
    assert not found, "\n".join(found)


def test_studies_have_no_private_names() -> None:
    """The texts of published studies and of ready-made scenarios reach reports."""
    files = [*ROOT.glob("papers/*/*.toml"), *ROOT.glob("scenarios/*.toml"), *ROOT.glob("docs/*.toml")]
    found = []
    for path in sorted(files):
        found += _found(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)), NAMES)
    assert not found, "\n".join(found)
