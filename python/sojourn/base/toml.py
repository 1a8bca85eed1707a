"""Writing a scenario document as TOML: plain text that a person edits and the loader takes back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def dumps(document: Mapping[str, Any]) -> str:
    """Write a document as TOML.

    Keys whose value is None are left out. Lists of tables become ``[[name]]`` blocks,
    tables inside a block become ``[name.key]`` blocks or inline tables when they hold plain values.

    Examples
    --------
    >>> print(dumps({"name": "x", "links": [{"from": "a", "start": {"every": "1 s"}}]}), end="")
    name = "x"
    <BLANKLINE>
    [[links]]
    from = "a"
    start = { every = "1 s" }
    """
    return "\n".join(_block(document, ())).lstrip("\n") + "\n"


def _block(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterable[str]:
    entries = [(key, value) for key, value in table.items() if value is not None]
    blocks = [(key, value) for key, value in entries if _is_block(value)]
    for key, value in entries:
        if not _is_block(value):
            yield f"{_key(key)} = {inline(value)}"
    for key, value in blocks:
        here = (*path, key)
        header = ".".join(map(_key, here))
        if isinstance(value, Mapping):
            yield f"\n[{header}]"
            yield from _block(value, here)
        else:
            for element in value:
                yield f"\n[[{header}]]"
                yield from _block(element, here)


def _is_block(value: Any) -> bool:
    """Return whether a value needs a separate block and does not fit on one line."""
    if isinstance(value, Mapping):
        return "kind" in value and len(value) > 2
    return _is_list(value) and bool(value) and all(isinstance(element, Mapping) for element in value)


def inline(value: Any) -> str:
    """Write a value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case int():
            return str(value)
        # Python writes infinity and what is no number as TOML does.
        case float():
            return repr(value)
        case Mapping():
            inside = ", ".join(f"{_key(k)} = {inline(v)}" for k, v in value.items() if v is not None)
            return f"{{ {inside} }}" if inside else "{}"
        case _ if _is_list(value):
            return f"[{', '.join(map(inline, value))}]"
        case _:
            raise TypeError(f"{value!r} has no form in TOML")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _quoted(key)


def _quoted(text: str) -> str:
    # JSON's escapes are TOML's too, but JSON leaves DEL alone and TOML forbids it.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
