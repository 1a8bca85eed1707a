"""Attempts to get out of a shell and to cheat the check of plug-ins; ``escapes.py`` has all of them."""

from __future__ import annotations

import os
import shutil

import escapes
import pytest


@pytest.mark.usefixtures("namespaces")
@pytest.mark.skipif(os.geteuid() != 0, reason="the attempts are those of root")
def test_programs_of_root_reach_nothing_of_the_machine() -> None:
    rows = escapes.from_shell(as_user=False)
    assert [row for row in rows if row[2] != escapes.HELD] == []
    assert len(rows) == len(escapes.SHELL)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        ("read the seconds", "reads a clock"),
        ("fork while it is loaded", "asks the system for "),
        ("see the command", "it decides by more than packets, queue and parameters"),
    ],
)
def test_a_library_that_cheats_is_flagged(attempt: str, said: str) -> None:
    *_, outcome, how = escapes.from_library(attempt)
    assert (outcome, said in how) == (escapes.FLAGGED, True), how


def test_a_python_file_that_answers_in_place_of_the_check_is_flagged() -> None:
    pytest.importorskip("numba")
    *_, outcome, how = escapes.from_python("answer in place of the check")
    assert (outcome, "ends the process" in how) == (escapes.FLAGGED, True), how


def test_a_stored_plug_in_only_declares() -> None:
    *_, outcome, how = escapes.from_store()
    assert outcome == escapes.FLAGGED, how
