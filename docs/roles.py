"""An extension of griffe: the roles of Sphinx in docstrings, ``:meth:`check```, are code in the site."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`[~.]?([^`]*)`")


class Roles(griffe.Extension):
    """Rewrites each docstring before it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
