"""Code of a study runs for the studies that come with Sojourn; for another one only where the user trusts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared import Command
from sojourn.base.core import SojournError
from sojourn.scaffold import write
from sojourn.studies.papers import documents, extension

CODE = '''"""Whoever runs this study runs this."""

from pathlib import Path

from .words import WORDS

(Path(__file__).parents[1] / "was-here").touch()


def run(options, name, where):
    return f"{WORDS} {name}"
'''


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A stranger's study with code, in the folder where the commands run."""
    here = tmp_path / "here"
    here.mkdir(exist_ok=True)
    write.apply(write.draft("paper", "my-study", start=here, here=True))
    code = here / "my-study" / "my_study"
    code.mkdir()
    (code / "__init__.py").write_text(CODE)
    (code / "words.py").write_text('WORDS = "the code of"\n')
    return here / "my-study"


@pytest.mark.parametrize("words", [(), ("--full",), ("--only", "Table 1"), ("--aqm", "pie")])
def test_code_of_a_stranger_is_refused(words: tuple[str, ...], command: Command, study: Path) -> None:
    done = command("papers", "run", "./my-study", *words)
    assert done.returncode == 2
    assert "this study has code of its own (my_study/)" in done.stderr
    assert "allow it with --trust" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (study / "was-here").exists()


def test_it_is_refused_wherever_a_hook_is_asked_for(study: Path) -> None:
    for hook in ("run", "summary", "columns", "sections"):
        with pytest.raises(SojournError, match="--trust"):
            extension.hook(study, hook)
    assert not (study / "was-here").exists()


def test_trusted_code_runs(command: Command, study: Path) -> None:
    done = command("papers", "run", "./my-study", "--trust")
    assert (done.returncode, done.stdout) == (0, "the code of my-study\n"), done.stderr
    assert (study / "was-here").exists()
    # One folder is trusted, and no other of this name.
    other = study.parent / "other" / "my-study"
    other.parent.mkdir()
    study.rename(other)
    assert command("papers", "run", "other/my-study").returncode == 2


def test_a_study_without_code_needs_no_trust(command: Command, study: Path) -> None:
    (study / "my_study" / "__init__.py").unlink()
    assert extension.hook(study, "run") is None
    assert "--trust" not in command("papers", "run", "./my-study", "--only", "no such table").stderr


@pytest.mark.parametrize("name", documents.names())
def test_code_of_our_studies_runs(name: str) -> None:
    assert extension.package(documents.folder() / name) is not None
    # Not by its name alone.
    assert not documents.is_ours(Path("/elsewhere") / name)
