"""From a kind and a name to changes of files, and the changes all at once or not at all."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from sojourn.base import sources, suggest, whole_files
from sojourn.base.core import SojournError
from sojourn.scaffold.kinds import KINDS, OF_SOURCES, Kind, Left, Place, fill, kind

__all__ = ["Change", "Draft", "apply", "draft", "insert"]

_FORMS: Final = {
    "identifier": (
        re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*"),
        "lower-case letters and digits, words joined by an underscore, beginning with a letter",
    ),
    "file name": (
        re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*"),
        "lower-case letters and digits, words joined by a hyphen or an underscore, beginning with a letter",
    ),
}
_TITLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 +./-]{0,59}")

# https://doc.rust-lang.org/reference/keywords.html, with those that are reserved.
_RUST: Final = (
    "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if "
    "impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try "
    "type typeof union unsafe unsized use virtual where while yield"
)


@dataclass(frozen=True, slots=True)
class Change:
    """What one place gets.

    Parameters
    ----------
    file
        Relative to :attr:`Draft.root`.
    what
        What stands there, for people.
    is_new
        Whether the file is created.
    by_hand
        The text that has to be inserted by hand, as the place was not found; empty if it is inserted.
    """

    file: str
    what: str
    is_new: bool
    by_hand: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """All that a new thing changes, before anything is written.

    Parameters
    ----------
    root
        The source tree, or the present folder.
    contents
        The new content of every file that is written, by its path relative to `root`.
    changes
        What is done at each place, in the order of the list.
    test
        The command that shows the failing test, and that test's name.
    left
        What is left to do.
    """

    root: Path
    contents: dict[str, str]
    changes: tuple[Change, ...]
    test: tuple[str, str]
    left: tuple[Left, ...] = field(default=())


def draft(of: str, name: str, *, start: Path, title: str | None = None, here: bool = False) -> Draft:
    """Return the changes that add something.

    Parameters
    ----------
    of
        One of :data:`sojourn.scaffold.kinds.KINDS`.
    name
        Its name.
    start
        The present folder.
    title
        Its name in prose; by default made of `name`.
    here
        Write files of a user into the present folder, even if it belongs to the source tree.

    Raises
    ------
    SojournError
        If the name is not one or is taken, or the kind needs the source tree and the folder belongs to none.
    """
    if of not in KINDS:
        raise SojournError(suggest.unknown("kind", of, KINDS))
    found = sources.tree(start)
    if of in OF_SOURCES and (here or found is None or sources.root() is None):
        others = " or ".join(one for one in KINDS if one not in OF_SOURCES)
        where = "this package is installed without them"
        if here or found is None:
            where = "--here writes files of a user" if here else f"{start} is not in a clone of Sojourn's sources"
        raise SojournError(
            f"`new {of}` changes Sojourn's sources, and {where}; run it in a clone without --here, or use: {others}"
        )
    chosen = kind(of)
    _check_form(chosen, name, title)
    root = start if here or found is None else found
    in_tree = not here and found is not None
    values = _values(chosen, name, title, in_tree=in_tree)
    _check_free(chosen, name, root, values, in_tree=in_tree)
    contents: dict[str, str] = {}
    changes = [_change(one, root, values, contents) for one in chosen.places if in_tree or not one.tree]
    left = tuple(Left(fill(one.do, values), fill(one.run, values)) for one in chosen.left)
    return Draft(root, contents, tuple(changes), (fill(chosen.test, values), chosen.fails), left)


def apply(made: Draft) -> None:
    """Write every file of a draft, or none.

    Raises
    ------
    OSError
        If a file cannot be written; all are then as they were.
    """
    folders, kept, staged = [], {}, []
    done: list[Path] = []
    try:
        for name, text in made.contents.items():
            path = made.root / name
            for folder in reversed([one for one in path.parents if not one.exists()]):
                folder.mkdir()
                folders.append(folder)
            if path.exists():
                kept[path] = path.read_bytes()
            partial = path.with_name(path.name + whole_files.PARTIAL)
            staged.append(partial)
            whole_files.write(partial, text.encode())
            if path in kept:
                partial.chmod(path.stat().st_mode)
        for partial in staged:
            path = partial.with_name(partial.name.removesuffix(whole_files.PARTIAL))
            partial.replace(path)
            done.append(path)
    except BaseException:
        for path in done:
            with suppress(OSError):
                if path in kept:
                    whole_files.write(path, kept[path])
                else:
                    path.unlink()
        for partial in staged:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
        for folder in reversed(folders):
            with suppress(OSError):
                folder.rmdir()
        raise


def insert(text: str, place: Place, content: str) -> str | None:
    """Return a file's text with what a place gets; None where the place is not found, or found too often.

    Parameters
    ----------
    text
        Of the file.
    place
        Where.
    content
        What, with its names filled in.
    """
    start, end = 0, len(text)
    if place.within:
        parts = list(re.finditer(place.within, text))
        if len(parts) != 1:
            return None
        start, end = parts[0].span()
    if place.position == "end":
        return text.removesuffix("\n") + "\n" + content
    matches = list(re.compile(place.pattern).finditer(text, start, end))
    if not matches:
        return None
    match place.position:
        case "sorted":
            points = [_in_order(matches, place.pattern, content)]
        case "after":
            points = [matches[-1].end()]
        case "before":
            points = [one.start() for one in matches] if len(matches) == 1 else []
        case _:
            points = [one.end(1) for one in matches] if len(matches) == place.times else []
    if not points:
        return None
    cuts = [0, *points, len(text)]
    return content.join(text[a:b] for a, b in pairwise(cuts))


def _in_order(matches: list[re.Match[str]], pattern: str, content: str) -> int:
    """Return where a line belongs in the longest run of matches that follow each other."""
    runs: list[list[re.Match[str]]] = []
    for one in matches:
        if runs and runs[-1][-1].end() == one.start():
            runs[-1].append(one)
        else:
            runs.append([one])
    longest = max(runs, key=len)
    own = re.search(pattern, content)
    key = _key(own) if own else content
    return next((one.start() for one in longest if _key(one) > key), longest[-1].end())


def _key(match: re.Match[str]) -> str:
    return match[1] if match.re.groups else match[0]


def _change(place: Place, root: Path, values: Mapping[str, str], contents: dict[str, str]) -> Change:
    file, what = fill(place.file, values), fill(place.what, values)
    content = fill(place.content, values)
    if not place.position:
        contents[file] = content
        return Change(file, what, is_new=True)
    path = root / file
    if file not in contents and not path.is_file():
        return Change(file, what, is_new=False, by_hand=content)
    changed = insert(contents.get(file) or path.read_text(encoding="utf-8"), place, content)
    if changed is None:
        return Change(file, what, is_new=False, by_hand=content)
    contents[file] = changed
    return Change(file, what, is_new=False)


def _values(of: Kind, name: str, title: str | None, *, in_tree: bool) -> dict[str, str]:
    words = re.split("[-_]", name)
    snake = "_".join(words)
    if of.needs_tree:
        return {
            "name": name,
            "snake": snake,
            "camel": "".join(word.capitalize() for word in words),
            "title": title or " ".join(word.capitalize() for word in words),
        }
    files = "papers" if of.name == "paper" else "scenarios"
    ends = "" if of.name == "paper" else f"/{name}.toml"
    return {
        "name": name,
        "snake": snake,
        "title": title or " ".join(words).capitalize(),
        "folder": f"{files}/{name}" if in_tree else name,
        "test_file": f"tests/python/test_{of.name}_{snake}.py" if in_tree else f"test_{snake}.py",
        "where": f'Path(__file__).parents[2] / "{files}{ends}"'
        if in_tree
        else "Path(__file__).parent" + (f' / "{name}.toml"' if ends else ""),
        "path": name if in_tree else f"./{name}" if of.name == "paper" else f"{name}.toml",
        "sojourn": ".venv/bin/sojourn" if in_tree else "sojourn",
        "python": ".venv/bin/python" if in_tree else "python",
    }


def _check_form(of: Kind, name: str, title: str | None) -> None:
    form, allowed = _FORMS[of.form]
    if not form.fullmatch(name) or len(name) > of.longest:
        # Words of CamelCase and of names with blanks, joined as the form has them.
        words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
        near = ("_" if of.needs_tree else "-").join(words).lower()[: of.longest].rstrip("-_").lstrip("-_0123456789")
        hint = f" (did you mean `{near}`?)" if form.fullmatch(near) else ""
        raise SojournError(
            f"`{name}` is not a name of {_article(of)}{hint}; allowed: {allowed}, at most {of.longest} characters, "
            f"as in `{of.example}`"
        )
    if of.needs_tree and name in _reserved():
        raise SojournError(
            f"`{name}` is a word of Rust or Python, or a module of Python (did you mean `{_longer(of, name)}`?); "
            f"allowed: any other name, as in `{of.example}`"
        )
    for one in of.refused:
        if re.fullmatch(one.pattern, name):
            raise SojournError(
                f"`{name}` is refused: {one.why} (did you mean `{_longer(of, name)}`?); allowed: any other name, as "
                f"in `{of.example}`"
            )
    if title is not None and not _TITLE.fullmatch(title):
        raise SojournError(
            f"--title {title!r} is refused; allowed: letters, digits, blanks and + . / -, at most 60 characters, as "
            'in "Flow RED"'
        )


def _check_free(of: Kind, name: str, root: Path, values: Mapping[str, str], *, in_tree: bool) -> None:
    found = dict(_taken(of, root)) if in_tree else {}
    camel = {"".join(word.capitalize() for word in re.split("[-_]", one)): one for one in found}
    if not of.needs_tree:
        found |= dict.fromkeys(_packaged(of), "comes with Sojourn")
    # `flow_2` and `flow2` have one name in CamelCase.
    same = name if name in found else camel.get(values.get("camel", ""))
    if same is not None:
        listed = ", ".join(sorted(found))
        raise SojournError(
            f"the name `{same}` is taken ({found[same]}); allowed: any name that is not one of {listed} "
            f"(for example `{_longer(of, name)}`)"
        )
    for place in of.places:
        file = fill(place.file, values)
        if not place.position and (root / file).exists():
            raise SojournError(
                f"{file} exists already, and nothing is replaced; allowed: a name without such a file (for example "
                f"`{_longer(of, name)}`)"
            )


def _longer(of: Kind, name: str) -> str:
    join = "_" if of.needs_tree else "-"
    return f"my{join}{name}" if len(name) + 3 <= of.longest else f"my{join}{of.example}"


def _taken(of: Kind, root: Path) -> Iterator[tuple[str, str]]:
    """Yield the names that are taken in the source tree, and where each is."""
    for one in of.taken:
        if one.file and (root / one.file).is_file():
            text = (root / one.file).read_text(encoding="utf-8")
            yield from ((match[1], one.file) for match in re.finditer(one.pattern, text))
        for path in sorted(root.glob(one.glob)) if one.glob else ():
            match = re.search(one.pattern, path.as_posix())
            if match:
                yield match[1], str(path.relative_to(root))


def _packaged(of: Kind) -> list[str]:
    """Return the names of what comes with the package."""
    if of.name == "scenario":
        from sojourn.model.network import bundled_scenarios

        return list(bundled_scenarios())
    from sojourn.studies.papers import documents

    return documents.names()


def _reserved() -> frozenset[str]:
    return frozenset((*_RUST.split(), *keyword.kwlist, *keyword.softkwlist, *dir(builtins), *sys.stdlib_module_names))


def _article(of: Kind) -> str:
    return f"an {of.name}" if of.name == "aqm" else f"a {of.name}"
