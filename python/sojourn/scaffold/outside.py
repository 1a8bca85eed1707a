"""``sojourn new aqm NAME --language``: a complete algorithm outside of Sojourn's sources, with its test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

from sojourn.base import suggest
from sojourn.base.core import SojournError
from sojourn.plugins import header
from sojourn.scaffold.kinds import Left, fill
from sojourn.scaffold.write import Change, Draft, tree

__all__ = ["LANGUAGES", "draft"]

_TEMPLATES: Final = resources.files("sojourn") / "scaffold" / "templates" / "plugin"
_FORM: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_FLAGS: Final = "-O2 -ffp-contract=off -fPIC -shared"


@dataclass(frozen=True, slots=True)
class _Language:
    """A language: its name in prose, the source, what is loaded, how it is built, and its files by template."""

    title: str
    source: str
    file: str
    build: str
    files: Mapping[str, str]


LANGUAGES: Final[Mapping[str, _Language]] = {
    "python": _Language("Python", "${name}.py", "${name}.py", "", {"${name}.py": "python.py.in"}),
    "c": _Language(
        "C",
        "${name}.c",
        "lib${name}.so",
        f"cc {_FLAGS} -o lib${{name}}.so ${{name}}.c",
        {"${name}.c": "c.c.in", "sojourn_aqm.h": ""},
    ),
    "rust": _Language(
        "Rust",
        "src/lib.rs",
        "target/release/lib${name}.so",
        "cargo build --release",
        {"src/lib.rs": "rust.rs.in", "Cargo.toml": "cargo.toml.in"},
    ),
}


def draft(name: str, language: str, *, start: Path, title: str | None = None) -> Draft:
    """Return the files of an algorithm in a new folder, by the name of the algorithm.

    Parameters
    ----------
    name
        Of the algorithm.
    language
        One of :data:`LANGUAGES`.
    start
        The present folder.
    title
        Its name in prose; by default made of `name`.

    Raises
    ------
    SojournError
        The name is not one or is taken, there is no such language, or a crate's dependency cannot be found.
    """
    if language not in LANGUAGES:
        raise SojournError(suggest.unknown("--language", language, list(LANGUAGES)))
    from sojourn.base import core

    if not _FORM.fullmatch(name):
        raise SojournError(
            f"`{name}` is not a name of an algorithm; allowed: lower-case letters and digits, words joined by an "
            "underscore, beginning with a letter, as in `my_pie`"
        )
    if any(entry["name"] == name for entry in core.aqms()):
        raise SojournError(f"there is an algorithm `{name}` already; allowed: another name, as in `my_{name}`")
    if (start / name).exists():
        raise SojournError(f"{start / name} exists already, and nothing is replaced; allowed: another name or folder")
    chosen = LANGUAGES[language]
    words = name.split("_")
    values = {
        "name": name,
        "camel": "".join(word.capitalize() for word in words),
        "title": title or " ".join(word.capitalize() for word in words),
        "language": chosen.title,
        "crates": _crates() if language == "rust" else "",
    }
    values |= {"source": fill(chosen.source, values), "file": fill(chosen.file, values)}
    build = fill(chosen.build, values)
    values["build"] = f"    {build}" if build else ""
    files = {**chosen.files, f"test_{name}.py": "test.py.in", "README.md": "readme.md.in"}
    contents = {
        f"{name}/{fill(file, values)}": fill((_TEMPLATES / template).read_text(encoding="utf-8"), values)
        if template
        else Path(header()).read_text(encoding="utf-8")
        for file, template in files.items()
    }
    said = {
        chosen.source: "the algorithm: parameters, state, decisions",
        "sojourn_aqm.h": "the interface, version 1",
        "Cargo.toml": "the crate",
    }
    changes = tuple(
        Change(
            f"{name}/{fill(file, values)}",
            said.get(file, "its test" if file.startswith("test_") else "how it is used"),
            is_new=True,
        )
        for file in files
    )
    left = (
        *([Left("Build it.", f"cd {name} && {build}")] if build else []),
        Left("Check it.", f"cd {name} && sojourn check aqm {values['file']}"),
        Left(
            "Compare it.",
            f"cd {name} && sojourn compare dumbbell --plugin {values['file']} --aqm {name} --aqm fq:{name} --aqm pie",
        ),
        Left("Replace the example, which is the core of PIE, by equations of your own."),
    )
    return Draft(start, contents, changes, (f"cd {name} && python -m pytest test_{name}.py", ""), left)


def _crates() -> str:
    """Return the folder of the crates that a crate of a user depends on."""
    here = tree(Path(__file__).resolve().parent)
    if here is None:
        raise SojournError(
            "--language rust needs Sojourn's sources for the crate sojourn-plugin, and this package is not installed "
            "from a clone; allowed: run the command of a clone (`make native`), or --language c or python"
        )
    return str(here / "crates")
