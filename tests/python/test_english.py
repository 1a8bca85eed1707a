"""Help, messages, docstrings and templates of the package have no puzzling words; test_prose.py looks at pages."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

import words
from sojourn.cli import COMMANDS, parser

PACKAGE = Path(str(resources.files("sojourn")))
ROOT = Path(__file__).parents[2]
SOURCES = [*PACKAGE.rglob("*.py"), *ROOT.glob("papers/*/*/*.py"), *ROOT.glob("crosscheck/crosscheck/*.py")]


@functools.cache
def parsers() -> tuple[tuple[str, argparse.ArgumentParser], ...]:
    def walk(one: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
        yield one.prog, one
        for action in one._actions:
            if isinstance(action, argparse._SubParsersAction):
                for below in action.choices.values():
                    yield from walk(below)

    return tuple(walk(parser()))


@pytest.mark.parametrize("path", sorted(SOURCES), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_has_banned_words(path: Path) -> None:
    """Docstrings and comments included."""
    found = words.in_python(path, str(path.relative_to(ROOT)))
    assert not found, "\n".join(found)


def test_no_template_has_banned_words() -> None:
    templates = sorted(PACKAGE.rglob("*.j2"))
    assert templates
    found = [line for path in templates for line in words.found(path.read_text("utf-8"), path.name, words.ALL)]
    assert not found, "\n".join(found)


def test_the_help_of_commands_has_no_banned_words() -> None:
    texts = [(f"{name} --help", one.format_help()) for name, one in parsers()]
    assert len(texts) > len(COMMANDS)
    found = [line for where, text in texts for line in words.found(text, where, words.ALL)]
    assert not found, "\n".join(found)


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
