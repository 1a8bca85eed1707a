"""Words and names that puzzled readers stay out of what users read; ``words.py`` says what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import words

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "DESIGN", "SECURITY")),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("papers/*/README.md"),
]
# Texts of published studies and of ready-made scenarios reach reports. What the studies say themselves is quoted.
DATA = [
    *ROOT.glob("papers/*/*.toml"),
    *ROOT.glob("scenarios/*.toml"),
    *ROOT.glob("docs/*.toml"),
    *ROOT.glob("examples/*.ipynb"),
    ROOT / "web/lessons.json",
    *(
        path
        for path in ROOT.glob("packaging/**/*")
        if path.is_file() and path.suffix != ".py" and "licenses" not in path.name.lower()
    ),
]
SCRIPTS = [*ROOT.glob("docs/*.py"), *ROOT.glob("examples/*.py"), *ROOT.glob("packaging/**/*.py")]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("banned", words.ALL, ids=lambda banned: banned.pattern)
def test_each_entry_finds_its_example(banned: words.Banned) -> None:
    for example in banned.example.split(" | "):
        assert words.found(example, "example", (banned,)), example


@pytest.mark.parametrize("path", sorted([*PAGES, *DATA]), ids=_name)
def test_pages_and_data_have_no_banned_words(path: Path) -> None:
    found = words.found(path.read_text(encoding="utf-8"), _name(path), words.ALL)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", sorted(SCRIPTS), ids=_name)
def test_scripts_have_no_banned_words(path: Path) -> None:
    found = list(words.in_python(path, _name(path)))
    assert not found, "\n".join(found)


def test_comments_of_rust_have_no_private_names() -> None:
    """Names of former presets may stay in code, where they are aliases; not in what documentation is made from."""
    found = []
    for path in sorted(ROOT.glob("crates/**/*.rs")):
        # What is no comment becomes an empty line, so that lines keep their numbers.
        code = path.read_text(encoding="utf-8").splitlines()
        comments = "\n".join(line if line.lstrip().startswith("//") else "" for line in code)
        found += words.found(comments, _name(path), words.NAMES)
    assert not found, "\n".join(found)


def test_types_have_names_of_the_field() -> None:
    kinds = "struct|enum|trait|type|class"
    defined = re.compile(rf"^\s*(?:pub(?:\(.*?\))? )?(?:{kinds}) _?({'|'.join(words.TYPES)})\b", re.MULTILINE)
    folders = ("crates/*/src/**/*.rs", "python/sojourn/**/*.py", "papers/*/*/*.py")
    # A link is a file of the tests that a crate shares.
    sources = [path for one in folders for path in ROOT.glob(one) if not path.is_symlink()]
    found = [
        f"{_name(path)}: {name}; {words.TYPES[name]}"
        for path in sources
        for name in defined.findall(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)
    assert defined.search("pub(crate) struct Gone {")
