"""The vectors hold for a second implementation, the models, which reads them by vectors/README.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from library import MODELS
from vectors import FOLDER, Differs, Section, replay, sections


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.vec")), ids=lambda path: path.stem)
def test_vectors_hold_for_the_model(path: Path) -> None:
    model = MODELS[path.stem.split("-")[0]]
    # That nothing is expected is an error of the reader.
    assert sum(replay(model, section) for section in sections(path.read_text(encoding="utf-8"))) > 0


def test_what_differs_is_found() -> None:
    text = "scheme pfifo limit 1p\n0 + 0..1 100\n0 d 1 overflow\n0 ?\n0 - 0\n"
    (section,) = sections(text)
    assert replay(MODELS["pfifo"], section) == 2
    wrong = Section(section.scheme, lines=[*section.lines[:-1], (5, ["0", "-", "1"])])
    with pytest.raises(Differs, match="line 5: - 1 is expected, not - 0"):
        replay(MODELS["pfifo"], wrong)
