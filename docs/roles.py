"""An extension of griffe: docstrings as the site has them.

The roles of Sphinx, ``:meth:`check```, are code. Functions that are made from the schema have docstrings only when
the package is imported, and signatures in stub files.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

MADE = ("sojourn.model.elements", "sojourn.model.traffic")
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`[~.]?([^`]*)`")


class Roles(griffe.Extension):
    """Rewrites each docstring before it is read, and finds those of functions made from the schema."""

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        """Take the docstring of a function that has none in the sources."""
        if func.module.path in MADE and func.docstring is None and not func.name.startswith("_"):
            found: Any = import_module(func.module.path)
            for name in func.path.removeprefix(f"{func.module.path}.").split("."):
                found = getattr(found, name)
            func.docstring = griffe.Docstring(inspect.getdoc(found) or "", parent=func)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
