"""Help, messages and templates of the package have no puzzling words; test_prose.py looks at the pages."""

from __future__ import annotations

import argparse
import ast
import functools
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from sojourn.cli import parser

PACKAGE = Path(str(resources.files("sojourn")))

BANNED = (
    r"seed ?00\d",
    r"real with 95 %",
    r"told apart",
    r"nine points in ten",
    r"goes on from",
    r"whole again",
    r"a core\)",
    r"other way round",
    r"\bmends?\b",
    r"flow that does not answer",
    r"come about",
    r"the others were in the folder",
    r"(?<!here)(?<!hich) is no (store|value|name|scheme|key|interval|table|link|file|question)\b",
)
"""What the project said before, with the better words in its place now."""


@functools.cache
def parsers() -> tuple[tuple[str, argparse.ArgumentParser], ...]:
    def walk(one: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
        yield one.prog, one
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction):
                for below in action.choices.values():
                    yield from walk(below)

    return tuple(walk(parser()))


@functools.cache
def texts() -> tuple[tuple[str, str], ...]:
    """Return every text of the package that is no docstring, and every template."""
    every = []
    for file in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        found = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        ]
        every.append((str(file.relative_to(PACKAGE)), "\n".join(found)))
    templates = sorted((PACKAGE / "report").glob("*.j2"))
    return (*every, *((file.name, file.read_text(encoding="utf-8")) for file in templates))


@pytest.mark.parametrize("banned", BANNED)
def test_no_text_has_banned_words(banned: str) -> None:
    assert [name for name, text in texts() if re.search(banned, text)] == []
    assert [name for name, one in parsers() if re.search(banned, " ".join(one.format_help().split()))] == []


def test_docstrings_have_no_private_name() -> None:
    files = list(PACKAGE.rglob("*.py"))
    assert [file.name for file in files if re.search(r"seed ?00\d", file.read_text(encoding="utf-8"))] == []


def test_every_command_describes_itself_in_a_sentence() -> None:
    for name, one in parsers():
        assert one.description, name
        assert one.description[0].isupper() or one.description.startswith("sojournd"), name
        assert one.description.endswith("."), name


def test_every_option_has_a_help_text() -> None:
    bare = [
        f"{name} {'/'.join(action.option_strings) or action.dest}"
        for name, one in parsers()
        for action in one._actions
        if not isinstance(action, argparse._SubParsersAction) and not action.help
    ]
    assert bare == []
