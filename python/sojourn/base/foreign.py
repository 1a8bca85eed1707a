"""Reading files that somebody else may have written: ordinary files of a bounded length, inside their folder.

Every file that a user names, and every file in a folder of results, is opened here. What is refused is an `OSError`
whose ``strerror`` says why, so callers handle it as they handle a missing file:

* what is no ordinary file: a FIFO would block, and a device has no end. ``/dev/stdin`` and ``/dev/fd/N`` are allowed,
  because the user's shell has opened them;
* what is longer than a limit, by default :data:`LONGEST`;
* with `within`, what is outside of that folder once symbolic links are followed.

Compressed files are bounded by what becomes of them: :func:`unpacked` and :func:`table`.
"""

from __future__ import annotations

import bz2
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sojourn._native import SojournError
from sojourn.base import nesting
from sojourn.base.systems import BINARY
from sojourn.base.wording import one_line

if TYPE_CHECKING:
    import pyarrow as pa

LONGEST: Final = 64 << 20
"""Most bytes of a file that is read as a whole, and of what is unpacked."""
LARGEST_TABLE: Final = 4 << 30
"""Most bytes of a table of Parquet in memory."""
_LONGEST_LINE: Final = 1 << 20
_NUMBER: Final = 8
"""Bytes of a number in memory."""

_PROSE: Final = "description"
_IN_PROSE: Final = str.maketrans("\n\t", "  ")

_NOT_ORDINARY: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

Name: TypeAlias = str | os.PathLike[str]


def locate(path: Name, *, within: Name | None = None, most: int | None = LONGEST) -> Path:
    """Return where a file is, for what opens it itself: an ordinary file, its links followed.

    `within` is a folder that the file must be in, `most` the most bytes (None for any number). What is refused raises
    an OSError.
    """
    place = Path(path)
    if _is_given(place):
        return place
    try:
        place = Path(os.path.realpath(place, strict=True))
        inside = within is None or place.is_relative_to(os.path.realpath(within))
        found = place.stat()
    except ValueError:
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from None
    except OSError as error:
        error.filename = str(path)
        raise
    if not inside:
        raise OSError(errno.EXDEV, "it is a link that leads out of its folder; allowed: a file there", str(path))
    _check(path, found, most)
    return place


@contextmanager
def opened(path: Name, *, within: Name | None = None, most: int | None = LONGEST) -> Iterator[io.BufferedReader]:
    """Open a file to read it, as :func:`locate` allows it."""
    place = locate(path, within=within, most=most)
    given = _is_given(place)
    flags = 0
    if not given and sys.platform != "win32":
        # A FIFO that has taken the file's place meanwhile does not block, and a link is not followed.
        flags = os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
    with os.fdopen(os.open(place, os.O_RDONLY | BINARY | flags), "rb") as file:
        if not given:
            _check(path, os.fstat(file.fileno()), most)
        yield file


def read_bytes(path: Name, *, within: Name | None = None, most: int = LONGEST) -> bytes:
    """Return the content of a file."""
    with opened(path, within=within, most=most) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise _too_long(path, most)
    return content


def read_text(path: Name, *, within: Name | None = None, most: int = LONGEST, encoding: str = "utf-8-sig") -> str:
    r"""Return the text of a file; its lines end with ``\n``."""
    content = read_bytes(path, within=within, most=most)
    return content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")


def document(path: Name, *, within: Name | None = None, most: int = LONGEST) -> Any:
    """Return a document in JSON, its names checked by :func:`check_names`."""
    found = nesting.loads_json(read_text(path, within=within, most=most), path)
    check_names(found, path)
    return found


def check_names(document: object, what: object) -> None:
    r"""Refuse a document with a text, other than a description, that is not one line, as scenarios do.

    Examples
    --------
    >>> check_names({"description": "two\nlines", "links": [{"name": "up"}]}, "the scenario")
    """
    if isinstance(document, Mapping):
        for key, value in document.items():
            check_names(key, what)
            check_names(value.translate(_IN_PROSE) if key == _PROSE and isinstance(value, str) else value, what)
    elif isinstance(document, list | tuple):
        for value in document:
            check_names(value, what)
    elif isinstance(document, str) and (why := one_line(document)):
        raise SojournError(f"{what}: {document!r} {why}")


def lines(path: Name, *, within: Name | None = None) -> Iterator[str]:
    """Yield the lines of a file of any length, each up to 1 MiB."""
    with opened(path, within=within, most=None) as file:
        text = io.TextIOWrapper(file, encoding="utf-8")
        while line := text.readline(_LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE:
                raise OSError(errno.EFBIG, f"a line is longer than {_LONGEST_LINE} characters", str(path))
            yield line


def unpacked(content: bytes, path: Name) -> bytes:
    """Return what bzip2 has packed, up to :data:`LONGEST` bytes."""
    try:
        with bz2.BZ2File(io.BytesIO(content)) as file:
            found = file.read(LONGEST + 1)
    except EOFError:
        raise OSError(errno.EINVAL, "it is cut off", str(path)) from None
    if len(found) > LONGEST:
        raise _too_long(path, LONGEST)
    return found


def table(path: Name, *, within: Name | None = None, **which: Any) -> pa.Table:
    """Return a table of Parquet whose texts are lines of text, as the names of scenarios are.

    `which` are columns and filters, as ``pyarrow.parquet.read_table`` has them. A file that is refused, would need
    more than :data:`LARGEST_TABLE` bytes, or has a text of several lines raises an OSError.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with opened(path, within=within, most=LARGEST_TABLE) as file:
        about = pq.ParquetFile(file)
        metadata = about.metadata
        size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        if max(size, metadata.num_rows * metadata.num_columns * _NUMBER) > LARGEST_TABLE:
            raise _too_large(path)
        # A text that all rows share is in the file once; so it is in memory, until its length is known.
        texts = [field.name for field in about.schema_arrow if pa.types.is_string(field.type)]
        found = pq.read_table(file, read_dictionary=[] if "filters" in which else texts, **which)
    room = LARGEST_TABLE
    for name in texts:
        if name not in found.column_names:
            continue
        column = found[name]
        for chunk in column.chunks:
            if pa.types.is_dictionary(chunk.type):
                room -= pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0
        if room < 0:
            raise _too_large(path)
        for text in column.unique().to_pylist():
            if why := one_line(text or ""):
                raise OSError(errno.EINVAL, f"column {name}: {text!r} {why}", str(path))
        if pa.types.is_dictionary(column.type):
            place = found.schema.get_field_index(name)
            found = found.set_column(place, about.schema_arrow.field(name), column.cast(pa.string()))
    return found


def _is_given(place: Path) -> bool:
    """Whether a path is a descriptor of this process."""
    return str(place) == "/dev/stdin" or str(place.parent) == "/dev/fd"


def _check(path: Name, found: os.stat_result, most: int | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = _NOT_ORDINARY.get(stat.S_IFMT(found.st_mode), "no file")
        number = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
        raise OSError(number, f"it is {kind}; allowed: an ordinary file", str(path))
    if most is not None and found.st_size > most:
        raise _too_long(path, most)


def _too_long(path: Name, most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is longer than {most} bytes; allowed: up to that", str(path))


def _too_large(path: Name) -> OSError:
    return OSError(errno.EFBIG, f"its table is larger than {LARGEST_TABLE} bytes; allowed: up to that", str(path))
