"""Adds algorithms to this process: Python files, classes and libraries; versions are part of a run's identity.

An algorithm that was added is called ``my_pie@5f1d83a90c42`` in canonical texts: the name, and 12 digits of a hash of
the interface's version with what it decides with (:mod:`sojourn.plugins.frozen`), the compiler's version and its
target, or with the bytes of a library. So all that compares canonical texts (identities of runs, stores, resumed
plans) tells two versions apart. ``my_pie`` alone means the one that the user added last.

Stores, run folders and workers get a text with all that an algorithm decides with. It is shown to be the same
algorithm when that is added, and again in a process of its own before a run is kept.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

from sojourn import _native
from sojourn.base import core, foreign
from sojourn.base.core import SojournError
from sojourn.base.errors import SchemeError
from sojourn.plugins import compiled, subset, table
from sojourn.plugins.declared import Declaration
from sojourn.plugins.frozen import TEXT, check_source

_Content = TypeVar("_Content")

_LIBRARIES: Final = (".so", ".dylib")
_VERSIONED: Final = re.compile(r"\b[a-z][a-z0-9_]*@[0-9a-f]{12}\b")
_PACKETS: Final = 20_000
"""That another process has to decide on alike."""
_TIME_LIMIT_S: Final = 300


@dataclass(frozen=True, slots=True)
class Shipped:
    """An algorithm as stores keep it and workers get it.

    The name has its version. The kind is ``python``, ``debug`` (Python that is not compiled) or ``library``; the
    content is a source text, or the bytes of a library in base 64.
    """

    name: str
    kind: str
    content: str

    @property
    def data(self) -> bytes:
        """The bytes of its file."""
        return base64.b64decode(self.content) if self.kind == "library" else self.content.encode()

    @property
    def file_name(self) -> str:
        """The name of its file, with the version: ``my_pie-5f1d83a90c42.py``."""
        return self.name.replace("@", "-") + (".so" if self.kind == "library" else ".py")


_LOADED: Final[dict[str, Shipped]] = {}
"""Everything that this process added, by name with version."""
_NEWEST: Final[dict[str, str]] = {}
"""What a name without a version means."""
_ADD: Final[dict[str, Callable[[], object]]] = {}
"""What makes a version the one that its name alone means."""
_REPEATED: Final[set[str]] = set()
"""What was shown to load and decide alike in a process of its own."""


def _version(*parts: str | bytes) -> str:
    digest = hashlib.sha256(str(table.VERSION).encode())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:12]


def _added(shipped: Shipped, add: Callable[[], object]) -> str:
    _LOADED[shipped.name] = shipped
    _ADD[shipped.name] = add
    _NEWEST[shipped.name.partition("@")[0]] = shipped.name
    core.aqms.cache_clear()
    return shipped.name


def _again(full: str) -> None:
    """Make a version that was added the one that its name alone means."""
    name = full.partition("@")[0]
    if _NEWEST[name] != full:
        _ADD[full]()
        _NEWEST[name] = full
        core.aqms.cache_clear()


def add_class(cls: type[Declaration], *, debug: bool = False) -> str:
    """Add an algorithm's class and return its name with its version."""
    program = subset.prepare(cls, debug=debug)
    name, kind = program.frozen.texts["name"], "debug" if debug else "python"
    version = _version(kind, "uncompiled" if debug else compiled.target(), program.identity)
    full = f"{name}@{version}"
    if full not in _ADD:
        source = program.frozen.source()
        _check_copy(program, source, debug=debug)
        chosen = table.layout(program.frozen)
        functions, keep = (compiled.uncompiled if debug else compiled.compiled)(program, chosen)
        add = partial(_native.plugin_add_table, table.address(program.frozen, chosen, functions, keep), version)
        try:
            add()
        except SojournError as error:
            raise SchemeError(f"{program.file}: {error}") from None
        return _added(Shipped(full, kind, source), add)
    _again(full)
    return full


def _check_copy(program: subset.Program, source: str, *, debug: bool) -> None:
    """Refuse an algorithm that would be another one where it is read from the text that stores keep."""
    try:
        [copy] = _classes(_executed(f"the stored copy of {program.file}", source))
        is_same = subset.prepare(copy, debug=debug).identity == program.identity
        why = "decides otherwise"
    except (SojournError, ValueError) as error:
        is_same, why = False, str(error)
    if not is_same:
        raise SchemeError(
            f"{program.file}: {program.frozen.name} cannot be stored, because its copy would not be the same: {why}"
        )


def load(path: str | Path, *, debug: bool = False, guard: Callable[[], object] | None = None) -> tuple[str, ...]:
    """Add the algorithms of a file: a Python file with subclasses of :class:`sojourn.Algorithm`, or a shared library.

    Parameters
    ----------
    path
        ``.py`` or ``.so``.
    debug
        Run those of a Python file uncompiled.
    guard
        Called before the first code of the file is executed.

    Returns
    -------
    tuple of str
        Their names, with their versions.

    Raises
    ------
    SojournError
        The file cannot be read, has no algorithm, or one that is not allowed.
    """
    file = known(path)
    if file.suffix in _LIBRARIES:
        copy, version = copied(file)
        content = base64.b64encode(foreign.read_bytes(copy)).decode()
        add = partial(_native.plugin_add_library, copy, version)
        if guard is not None:
            guard()
        try:
            name = add()
        except SojournError as error:
            raise SchemeError(without_copy(str(error), file)) from None
        return (_added(Shipped(f"{name}@{version}", "library", content), add),)
    classes = _classes(_imported(file, guard))
    if not classes:
        raise SchemeError(f"{file} has no algorithm; allowed: a file with a subclass of sojourn.Algorithm")
    try:
        names = tuple(add_class(one, debug=debug) for one in classes)
    except SojournError as error:
        # What the compiler refuses has its file and line.
        if str(error).startswith(str(file)):
            raise
        raise SchemeError(f"{file}: {error}") from None
    bare = [name.partition("@")[0] for name in names]
    if twice := next((name for name in bare if bare.count(name) > 1), None):
        raise SchemeError(f'{file} has two algorithms {twice}; allowed: a name for each, as in name = "{twice}_2"')
    return names


class Named:
    """Loads files one after the other, and refuses two with algorithms of one name: the name would mean the last."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[str, str]] = {}

    def load(self, path: str | Path) -> None:
        """Add the algorithms of a file, as :func:`load` does."""
        for full in load(path):
            name = full.partition("@")[0]
            other, known = self._files.setdefault(name, (str(path), full))
            if known != full:
                raise SchemeError(f"{path} and {other} both have an algorithm {name}; allowed: a name for each")


def known(path: str | Path) -> Path:
    """Return a file that may be a plug-in."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise SchemeError(f"there is no file {str(file)!r}; allowed: a .py file or a shared library (.so)")
    if file.suffix not in (*_LIBRARIES, ".py"):
        raise SchemeError(f"{file} is no plug-in; allowed: a .py file or a shared library (.so)")
    return file


def copied(path: str | Path) -> tuple[str, str]:
    """Return a copy of a library, and its version: a loader does not load one again that was built anew there."""
    file = known(path)
    data = _of(file, foreign.read_bytes)
    version = _version("library", data)
    folder = Path(tempfile.mkdtemp(prefix=_COPIES))
    copy = folder / f"{version}-{file.name}"
    copy.write_bytes(data)
    _TEMPORARY.append(folder)
    return str(copy), version


def without_copy(why: str, file: str | Path) -> str:
    """Return the loader's message with a library's own name in place of its copy's; the loader names it twice."""
    place = rf"\S*{_COPIES}[^/\s]*/[0-9a-f]{{12}}-{re.escape(Path(file).name)}"
    return re.sub(rf"(?:{place}: )?{place}", lambda _: str(file), why)


_COPIES: Final = "sojourn-plugin-"
_TEMPORARY: Final[list[Path]] = []
"""Folders with libraries that are loaded."""


@atexit.register
def _remove() -> None:
    for folder in _TEMPORARY:
        shutil.rmtree(folder, ignore_errors=True)


def _of(file: Path, read: Callable[[Path], _Content]) -> _Content:
    """Return the content of a file that a user names."""
    try:
        return read(file)
    except OSError as error:
        raise SchemeError(f"cannot read {str(file)!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SchemeError(f"cannot read {str(file)!r}: it is not UTF-8 text") from None


def _imported(file: Path, guard: Callable[[], object] | None = None) -> ModuleType:
    # Not from a cache of bytecode, which has a resolution of a second.
    text = _of(file, foreign.read_text)
    try:
        if guard is not None:
            guard()
        return _executed(str(file), text)
    except SojournError as error:
        raise SchemeError(f"{file}: {error}") from None
    except SyntaxError as error:
        raise SchemeError(f"{file}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        raise SchemeError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error


def _executed(file: str, text: str) -> ModuleType:
    """Return a text as a module."""
    module = ModuleType(f"sojourn_plugin_{hashlib.sha256(file.encode()).hexdigest()[:12]}")
    module.__file__ = file
    setattr(module, TEXT, text)
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102
    return module


def _classes(module: ModuleType) -> list[type[Declaration]]:
    found: list[Any] = [
        one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Declaration)
    ]
    return [one for one in dict.fromkeys(found) if one.__module__ == module.__name__]


def shipped_in(texts: Iterable[str | None]) -> tuple[Shipped, ...]:
    """Return the algorithms that were added and that canonical texts name."""
    names = {name for text in texts if text for name in _VERSIONED.findall(text)}
    return tuple(_LOADED[name] for name in sorted(names) if name in _LOADED)


def add_shipped(listed: Iterable[Shipped]) -> None:
    """Add algorithms of a store, or of the process that sends work, unless the compiler or processor is another."""
    before = dict(_NEWEST)
    for one in listed:
        if one.name not in _LOADED:
            _add_shipped(one)
    # What a name means without a version is the user's choice.
    for full in before.values():
        _again(full)


def _add_shipped(one: Shipped) -> None:
    if not _VERSIONED.fullmatch(one.name) or one.kind not in ("python", "debug", "library"):
        # The name becomes that of a file.
        raise SchemeError(
            f"{one.name!r} of kind {one.kind!r} is no stored copy; allowed: a name such as my_pie@5f1d83a90c42"
        )
    if one.kind != "library":
        # The text may be of whoever made the store.
        check_source(one.content, f"the stored copy of {one.name}")
    with tempfile.TemporaryDirectory(prefix="sojourn-plugin-") as folder:
        file = Path(folder) / one.file_name
        file.write_bytes(one.data)
        try:
            names = load(file, debug=one.kind == "debug")
        except SojournError as error:
            why = str(error).replace(str(file), one.file_name)
            raise SchemeError(f"the stored copy of {one.name} cannot be loaded: {why}") from None
    if one.name not in names:
        here = "the library" if one.kind == "library" else compiled.target()
        raise SchemeError(
            f"{one.name} is {', '.join(names)} here ({here}): results would not be those that are asked for; "
            "allowed: the same versions of Sojourn and Numba, and the same processor"
        )


def repeat(listed: Iterable[Shipped]) -> None:
    """Show that algorithms load from what is kept of them, in a process of its own, and decide as they do here."""
    new = [one for one in listed if one.name not in _REPEATED]
    if not new:
        return
    names = ", ".join(one.name for one in new)
    command = [sys.executable, "-c", "from sojourn.plugins.loading import _child; _child()"]
    try:
        given = json.dumps([astuple(one) for one in new])
        child = subprocess.run(  # noqa: S603
            command, input=given, capture_output=True, text=True, check=False, timeout=_TIME_LIMIT_S
        )
        why = (child.stderr.strip().splitlines() or [f"the process ended with {child.returncode}"])[-1]
        is_loaded = child.returncode == 0
    except subprocess.TimeoutExpired:
        is_loaded, why = False, f"it takes longer than {_TIME_LIMIT_S} s"
    if not is_loaded:
        raise SchemeError(
            f"{names}: what a store would keep cannot be used in another process, so nothing is run: {why}"
        )
    for one, decided in zip(new, json.loads(child.stdout.splitlines()[-1]), strict=True):
        if decided != _decided(one):
            raise SchemeError(
                f"{one.name} decides otherwise in another process, so its runs could not be repeated and nothing is "
                "run; allowed: an algorithm that depends on nothing but its parameters, packets and queue"
            )
        _REPEATED.add(one.name)


def _decided(one: Shipped) -> str:
    # Without the compiler a method may print, or stop in a debugger.
    found = {} if one.kind == "debug" else json.loads(_native.plugin_decisions(one.name, _PACKETS, 1, 0))
    # The place of a fault has the name of a file.
    return json.dumps({name: value for name, value in found.items() if name != "fault"})


def _child() -> None:
    listed = [Shipped(*one) for one in json.load(sys.stdin)]
    try:
        add_shipped(listed)
    except SojournError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    print(json.dumps([_decided(one) for one in listed]))
