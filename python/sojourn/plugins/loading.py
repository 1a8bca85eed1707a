"""Adds algorithms to this process: Python files, classes and libraries; versions are part of a run's identity.

An algorithm that was added is called ``my_pie@5f1d83a90c42`` in canonical texts: the name, and 12 digits of a hash of
the interface's version with the source, the compiler's version and its target, or with the bytes of a library. So all
that compares canonical texts (identities of runs, stores, resumed plans) tells two versions apart. ``my_pie`` alone
means the newest.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import importlib.util
import linecache
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sojourn import _native, core
from sojourn.core import SojournError
from sojourn.plugins import compiled, subset, table
from sojourn.plugins.declared import Declaration, described

__all__ = ["Shipped", "add_class", "add_shipped", "load", "shipped_in"]

_LIBRARIES: Final = (".so", ".dylib")
_VERSIONED: Final = re.compile(r"\b[a-z][a-z0-9_]*@[0-9a-f]{12}\b")
_LONGEST: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Shipped:
    """An algorithm as stores keep it and workers get it.

    Parameters
    ----------
    name
        With its version.
    kind
        ``python`` or ``library``.
    content
        A source text, or the bytes of a library in base 64.
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


def _version(*parts: str | bytes) -> str:
    digest = hashlib.sha256(str(table.VERSION).encode())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:12]


def _added(name: str, version: str, kind: str, content: str) -> str:
    full = f"{name}@{version}"
    _LOADED[full] = Shipped(full, kind, content)
    core.aqms.cache_clear()
    return full


def add_class(cls: type[Declaration], *, debug: bool = False) -> str:
    """Add an algorithm's class and return its name with its version.

    Raises
    ------
    SojournError
        It is not what can be compiled.
    """
    program = subset.prepare(cls, debug=debug)
    how = "uncompiled" if debug else compiled.target()
    version = _version("python", how, program.source)
    name = described(cls)["name"]
    if f"{name}@{version}" in _LOADED and not debug:
        return f"{name}@{version}"
    chosen = table.layout(cls)
    functions, keep = (compiled.uncompiled if debug else compiled.compiled)(program, chosen)
    try:
        _native.plugin_add_table(table.address(cls, chosen, program.file, functions, keep), version)
    except SojournError as error:
        raise SojournError(f"{program.file}: {error}") from None
    return _added(name, version, "python", program.source)


def load(path: str | Path, *, debug: bool = False) -> tuple[str, ...]:
    """Add the algorithms of a file: a Python file with subclasses of :class:`sojourn.Algorithm`, or a shared library.

    Parameters
    ----------
    path
        ``.py`` or ``.so``.
    debug
        Run those of a Python file uncompiled.

    Returns
    -------
    tuple of str
        Their names, with their versions.

    Raises
    ------
    SojournError
        The file cannot be read, has no algorithm, or one that is not allowed.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise SojournError(f"there is no file {str(file)!r}; allowed: a .py file or a shared library (.so)")
    if file.suffix in _LIBRARIES:
        data = file.read_bytes()
        if len(data) > _LONGEST:
            raise SojournError(f"{file} is longer than {_LONGEST} bytes; allowed: up to that")
        version = _version("library", data)
        copied = str(_copy(file, data, version))
        try:
            name = _native.plugin_add_library(copied, version)
        except SojournError as error:
            # The loader names the file, too.
            why = str(error).replace(f"{copied}: {copied}", copied).replace(copied, str(file))
            raise SojournError(why) from None
        return (_added(name, version, "library", base64.b64encode(data).decode()),)
    if file.suffix != ".py":
        raise SojournError(f"{file} is no plug-in; allowed: a .py file or a shared library (.so)")
    classes = _classes(file)
    if not classes:
        raise SojournError(f"{file} has no algorithm; allowed: a file with a subclass of sojourn.Algorithm")
    try:
        return tuple(add_class(one, debug=debug) for one in classes)
    except SojournError as error:
        # What the compiler refuses has its file and line.
        if str(error).startswith(str(file.resolve())):
            raise
        raise SojournError(f"{file}: {error}") from None


def _copy(file: Path, data: bytes, version: str) -> Path:
    """Return a copy by another name: a loader does not load a library again that was built anew in its place."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-plugin-"))
    copied = folder / f"{version}-{file.name}"
    copied.write_bytes(data)
    _TEMPORARY.append(folder)
    return copied


_TEMPORARY: Final[list[Path]] = []
"""Folders with libraries that are loaded."""


@atexit.register
def _remove() -> None:
    for folder in _TEMPORARY:
        shutil.rmtree(folder, ignore_errors=True)


def _classes(file: Path) -> list[type[Declaration]]:
    name = f"sojourn_plugin_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise SojournError(f"{file} cannot be imported; allowed: a file of Python")
    module = importlib.util.module_from_spec(spec)
    # For inspect, which looks a class's module up.
    sys.modules[name] = module
    linecache.checkcache(str(file))
    try:
        # Not from a cache of bytecode, which has a resolution of a second.
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), module.__dict__)  # noqa: S102
    except SojournError as error:
        raise SojournError(f"{file}: {error}") from None
    except SyntaxError as error:
        raise SojournError(f"{file}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        raise SojournError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error
    found: list[Any] = [
        one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Declaration)
    ]
    return [one for one in found if one.__module__ == name]


def shipped_in(texts: Iterable[str | None]) -> tuple[Shipped, ...]:
    """Return the algorithms that were added and that canonical texts name."""
    names = {name for text in texts if text for name in _VERSIONED.findall(text)}
    return tuple(_LOADED[name] for name in sorted(names) if name in _LOADED)


def add_shipped(listed: Iterable[Shipped]) -> None:
    """Add algorithms of a store, or of the process that sends work.

    Raises
    ------
    SojournError
        One becomes another version here: its compiler or the processor is another.
    """
    for one in listed:
        if one.name in _LOADED:
            continue
        with tempfile.TemporaryDirectory(prefix="sojourn-plugin-") as folder:
            file = Path(folder) / one.file_name
            file.write_bytes(one.data)
            names = load(file)
        if one.name not in names:
            here = compiled.target() if one.kind == "python" else "the library"
            raise SojournError(
                f"{one.name} is {', '.join(names)} here ({here}): results would not be those that are asked for; "
                "allowed: the same versions of Sojourn and Numba, and the same processor"
            )
