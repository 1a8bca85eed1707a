"""What an algorithm decides with: its functions and the numbers that their names stand for, wherever they come from.

Every name in a method is looked up now: in the function's own scopes, its module, and other modules. A name of a
number becomes a constant, a name of a function becomes a helper, which is looked up in the same way. Comments,
docstrings, annotations and messages of exceptions are left out. The result needs nothing but Sojourn, so it is what
is compiled, what a version is a hash of, and what stores keep.
"""

from __future__ import annotations

import ast
import copy
import inspect
import keyword
import linecache
import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, NoReturn

from sojourn.base.errors import SchemeError
from sojourn.plugins.declared import (
    MOST_CELLS,
    Declaration,
    Declared,
    Field,
    described,
    flags,
    members,
    methods,
    number,
)

ANSWERS: Final = {"ACCEPT": 1, "DROP": 2, "MARK": 3, "SEND": 4}
BUILT_IN: Final = ("abs", "bool", "float", "int", "max", "min")
DEBUG: Final = ("breakpoint", "print")
TEXT: Final = "__sojourn_text__"
"""In a module that was executed from a text: this text."""
_KEPT: Final = (*ANSWERS, *BUILT_IN, *DEBUG, "Algorithm", "RuntimeError", "math", "parameter", "range")
"""Names that mean the same in every frozen text."""
ALLOWED: Final = (
    "numbers, arithmetic, comparisons, if, while, for ... in range(...), return, fields of self, packet and queue, "
    "other methods of the class, functions written with def, abs, bool, float, int, max, min and functions of math"
)
_OURS: Final = ("host_", "math_", "user_")
"""What names begin with that prepared functions call."""
_EMPTY: Final = object()
_SILENT: Final = ("annotation", "ctx", "kind", "returns", "type_comment", "type_params")
"""Fields of nodes that decide nothing, or that versions of Python differ in."""


@dataclass
class Frozen:
    """An algorithm that needs nothing but Sojourn.

    `texts` and `flags` are what the class says besides parameters and fields. Methods and helpers are functions by
    name, `constants` the numbers that they name, and `files` where each function was written.
    """

    file: str
    name: str
    doc: str | None
    texts: Mapping[str, str]
    flags: Mapping[str, bool]
    parameters: tuple[Declared, ...]
    fields: tuple[Field, ...]
    methods: dict[str, ast.FunctionDef] = field(default_factory=dict)
    helpers: dict[str, ast.FunctionDef] = field(default_factory=dict)
    constants: dict[str, bool | int | float] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def source(self) -> str:
        """Return it as a file that :func:`sojourn.plugins.load` takes."""
        body = [ast.unparse(ast.Module([ast.Expr(ast.Constant(inspect.cleandoc(self.doc)))], []))] if self.doc else []
        body += [f"{name} = {text!r}" for name, text in self.texts.items() if text != getattr(Declaration, name)]
        body += [f"{name} = True" for name, is_set in self.flags.items() if is_set]
        body += [f"{one.field} = parameter({_written(one.default)}, {one.doc!r})" for one in self.parameters]
        body += [f"{one.name} = {_written(one.initial)}" for one in self.fields]
        functions = [ast.unparse(node) for node in self.methods.values()]
        parts = [
            f"import math\n\nfrom sojourn.plugins import {', '.join(ANSWERS)}, Algorithm, parameter",
            "\n".join(f"{name} = {_written(value)}" for name, value in self.constants.items()),
            *(ast.unparse(node) for node in self.helpers.values()),
            f"class {self.name}(Algorithm):\n" + textwrap.indent("\n".join(body), "    "),
            *(textwrap.indent(text, "    ") for text in functions),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"


def _written(value: str | float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        written = [_written(one) for one in value]
        return f"[{written[0]}] * {len(written)}" if len(set(written)) == 1 else f"[{', '.join(written)}]"
    if isinstance(value, float) and not math.isfinite(value):
        # No name, which the text might use for something else.
        return "1e999 - 1e999" if math.isnan(value) else "1e999" if value > 0 else "-1e999"
    return repr(value)


def check_source(text: str, what: str) -> None:
    """Refuse a text that is not as :meth:`Frozen.source` writes it, and so would run something when it is imported.

    Its functions are not run before they are compiled, which refuses all that does more than compute.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SchemeError(f"{what} is not a source text: {error}") from None
    for node in body:
        if not (_is_import(node) or _is_declaration(node) or _is_class(node)):
            raise SchemeError(
                f"{what}, line {node.lineno}: Sojourn stores no such text, which runs when it is loaded; allowed: "
                "declarations of constants, of functions and of a class of sojourn.Algorithm"
            )


def _is_import(node: ast.stmt) -> bool:
    match node:
        case ast.Import([ast.alias("math", None)]):
            return True
        case ast.ImportFrom("sojourn.plugins", names, 0):
            return all(one.name in _KEPT and one.asname is None for one in names)
    return False


def _is_class(node: ast.stmt) -> bool:
    match node:
        case ast.ClassDef(bases=[ast.Name("Algorithm")], keywords=[], decorator_list=[], body=body):
            return all(isinstance(one, ast.Pass) or _is_declaration(one) for one in body)
    return False


def _is_declaration(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(ast.Constant(str())):
            return True
        case ast.FunctionDef(decorator_list=[], args=given, returns=None):
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
            defaults = [one for one in (*given.defaults, *given.kw_defaults) if one is not None]
            return all(map(_is_value, defaults)) and all(one is None or one.annotation is None for one in every)
        case ast.Assign([ast.Name()], ast.Call(ast.Name("parameter"), args, [])):
            return all(map(_is_value, args))
        case ast.Assign([ast.Name()], value):
            return _is_value(value)
    return False


def _is_value(node: ast.expr) -> bool:
    """Whether an expression is a constant, or is made from constants in no time."""
    match node:
        case ast.Constant() | ast.Name():
            return True
        case ast.UnaryOp(ast.USub() | ast.UAdd() | ast.Not(), operand):
            return _is_value(operand)
        case ast.List(parts) | ast.Tuple(parts):
            # Not of lists: a short text of many could take any memory.
            return not any(isinstance(one, ast.List | ast.Tuple | ast.BinOp) for one in parts) and all(
                map(_is_value, parts)
            )
        case ast.BinOp(ast.List() as one, ast.Mult(), ast.Constant(int(count))):
            return _is_value(one) and count <= MOST_CELLS
        case ast.BinOp(ast.Constant(float()), ast.Sub(), ast.Constant(float())):
            return True
    return False


def canonical(node: object) -> str:
    """Return a text of a syntax tree that is alike in every version of Python and has no places and annotations."""
    if isinstance(node, ast.AST):
        parts = (f"{name}={canonical(getattr(node, name))}" for name in node._fields if name not in _SILENT)
        return f"{type(node).__name__}({','.join(parts)})"
    return f"[{','.join(map(canonical, node))}]" if isinstance(node, list) else f"{type(node).__name__}:{node!r}"


def freeze(cls: type[Declaration], *, debug: bool) -> Frozen:
    """Look up everything that an algorithm's class decides with; with `debug`, ``print`` and ``breakpoint`` stay.

    Refuses a name that is neither a number nor a function, and a source that cannot be read or has changed since.
    """
    parameters, fields = members(cls)
    known = methods(cls)
    own = [one for name, one in known.items() if vars(cls).get(name) is one] or list(known.values())
    file = own[0].__code__.co_filename if own else "the class"
    name = cls.__name__ if cls.__name__.isidentifier() and not keyword.iskeyword(cls.__name__) else "Plugin"
    frozen = Frozen(file, name, cls.__doc__, described(cls), flags(cls), parameters, fields)
    names = _Names(frozen, {*_KEPT, *known, name})
    for key, function in known.items():
        frozen.methods[key] = _Resolve(names, function, debug=debug).function(key)
        frozen.files[key] = function.__code__.co_filename
    while names.pending:
        key, function = names.pending.pop()
        frozen.helpers[key] = _Resolve(names, function, debug=debug).function(key)
        frozen.files[key] = function.__code__.co_filename
    for table in (frozen.helpers, frozen.constants):
        ordered: Any = sorted(table.items())
        table.clear()
        table.update(ordered)
    return frozen


def refuse(file: str, node: ast.AST, what: str) -> NoReturn:
    """Say what the subset lacks, and where."""
    raise SchemeError(f"{file}, line {getattr(node, 'lineno', '?')}: {what}; allowed: {ALLOWED}")


class _Names:
    """Gives a name of its own to every number and every helper."""

    def __init__(self, frozen: Frozen, taken: set[str]) -> None:
        self._frozen, self._taken = frozen, taken
        self._constants: dict[tuple[str, str], list[str]] = {}
        self._helpers: list[tuple[FunctionType, str]] = []
        self.pending: list[tuple[str, FunctionType]] = []

    def constant(self, name: str, value: bool | int | float, avoid: set[str]) -> str:
        if ANSWERS.get(name) == value and type(value) is int:
            return name
        made = self._constants.setdefault((name, canonical(value)), [])
        for one in made:
            if one not in avoid:
                return one
        made.append(self._free(name, avoid))
        self._frozen.constants[made[-1]] = value
        return made[-1]

    def helper(self, function: FunctionType, avoid: set[str]) -> str:
        for known, name in self._helpers:
            if known is function and name not in avoid:
                return name
        name = self._free(function.__name__, avoid)
        self._helpers.append((function, name))
        self.pending.append((name, function))
        return name

    def _free(self, name: str, avoid: set[str]) -> str:
        chosen, k = name, 2
        while chosen in self._taken or chosen in avoid:
            chosen, k = f"{name}_{k}", k + 1
        self._taken.add(chosen)
        return chosen


class _Resolve(ast.NodeTransformer):
    """Looks up the names of one function."""

    def __init__(self, names: _Names, function: FunctionType, *, debug: bool) -> None:
        self._names, self._debug, self._function = names, debug, function
        self._file = function.__code__.co_filename
        self._node = node = _parsed(function)
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        self._locals = {one.arg for one in given if one}
        self._locals |= {
            one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        }
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self._cells = {name: _content(cell) for name, cell in cells}

    def function(self, name: str) -> ast.FunctionDef:
        """Return it by this name."""
        node, arguments = self._node, self._node.args
        is_plain = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs)
        if not is_plain or arguments.defaults or self._function.__defaults__ or self._function.__kwdefaults__:
            refuse(self._file, node, f"{node.name} has arguments with *, ** or a default")
        for one in sorted(self._locals):
            if one.startswith(_OURS) or one in ("self_", "whole", *ANSWERS):
                refuse(self._file, node, f"{node.name} has a variable {one}, which is a name of Sojourn's")
        arguments.args = [ast.arg(arg=one.arg) for one in arguments.args]
        node.name, node.returns, node.decorator_list = name, None, []
        node.body = self._body(node.body) or [ast.copy_location(ast.Pass(), node)]
        return ast.fix_missing_locations(node)

    def _body(self, body: list[Any]) -> list[Any]:
        return [
            self.visit(one)
            for one in body
            if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            and (self._debug or not _is_debug(one))
        ]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name in ("body", "orelse", "finalbody"):
            listed = getattr(node, name, None)
            if isinstance(listed, list) and listed:
                made = self._body(listed)
                setattr(node, name, made or ([ast.copy_location(ast.Pass(), node)] if name == "body" else []))
        for name, value in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(value, list):
                continue
            if isinstance(value, list):
                value[:] = [self.visit(one) if isinstance(one, ast.AST) else one for one in value]
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            refuse(self._file, node, "a name without a value")
        return self.generic_visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        # The message would be lost: what is reported is the line.
        return ast.copy_location(ast.Raise(ast.Name("RuntimeError", ast.Load()), None), node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Assert(self.visit(node.test), None), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        if isinstance(function, ast.Name) and function.id not in self._locals and self._has(function.id):
            found = self._found(function.id)
            if not isinstance(found, FunctionType):
                refuse(self._file, node, f"{function.id}() cannot be called")
            node.func = ast.copy_location(ast.Name(self._names.helper(found, self._locals), ast.Load()), function)
        elif isinstance(function, ast.Attribute):
            owner = function.value
            is_outside = isinstance(owner, ast.Name) and owner.id not in self._locals
            if is_outside and isinstance(owner, ast.Name) and self._found(owner.id) is math:
                owner.id = "math"
            elif not isinstance(owner, ast.Name):
                function.value = self.visit(owner) if not _is_dotted(owner) else owner
        elif not isinstance(function, ast.Name):
            node.func = self.visit(function)
        node.args = [self.visit(one) for one in node.args]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id not in self._locals:
            found = self._found(owner.id)
            if isinstance(found, ModuleType):
                return self._constant(node, ast.unparse(node), node.attr, getattr(found, node.attr, None))
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load) or node.id in self._locals or not self._has(node.id):
            return node
        return self._constant(node, node.id, node.id, self._found(node.id))

    def _constant(self, node: ast.expr, written: str, name: str, value: object) -> ast.expr:
        found = number(value)
        if found is None:
            more = (
                " (a field of the class can be a list: `values: list = [...]`)" if hasattr(value, "__len__") else ""
            )
            refuse(self._file, node, f"{written} is not a number{more}")
        return ast.copy_location(ast.Name(self._names.constant(name, found, self._locals), ast.Load()), node)

    def _has(self, name: str) -> bool:
        # Python knows a name such as __k in a class by another name.
        return name in self._cells or (
            name in self._function.__code__.co_names and name in self._function.__globals__
        )

    def _found(self, name: str) -> object:
        return self._cells[name] if name in self._cells else self._function.__globals__.get(name)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _is_dotted(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_dotted(node.value))


def _is_debug(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in DEBUG


def _parsed(function: FunctionType) -> ast.FunctionDef:
    """Return the code of a function, which must be what its file says now."""
    name, code, space = function.__name__, function.__code__, function.__globals__
    where = f"{code.co_filename}, line {code.co_firstlineno}"
    linecache.checkcache(code.co_filename)
    # What was loaded from a file has the text that was executed.
    is_loaded = space.get("__file__") == code.co_filename and TEXT in space
    text = space[TEXT] if is_loaded else "".join(linecache.getlines(code.co_filename, space))
    if not text:
        raise SchemeError(
            f"{where}: the source of {name} cannot be read; allowed: a class in a file or in a notebook's cell"
        )
    written, marks = _read(code.co_filename, text)
    nodes = [one for one in written if one.name == code.co_name and _first(one) == code.co_firstlineno]
    # pytest writes assertions of a test's file anew.
    if "@pytest_ar" not in code.co_names and _mark(code) not in marks:
        raise SchemeError(
            f"{where}: {name} is not what the file says now; allowed: a file that is as it was when it was loaded "
            "or imported (start again, or import it again)"
        )
    if len(nodes) != 1:
        raise SchemeError(f"{where}: {name} is not written with def; allowed: def NAME(...): with its body below it")
    return copy.deepcopy(nodes[0])


@lru_cache(maxsize=16)
def _read(file: str, text: str) -> tuple[tuple[ast.FunctionDef, ...], frozenset[object]]:
    """Return the functions of a text, and what tells whether a function is one of them."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        tree: Any = compile(text, file, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        whole = compile(text, file, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return (), frozenset()
    functions = tuple(one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
    return functions, frozenset(_mark(one) for one in _codes(whole))


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _mark(code: CodeType) -> object:
    consts = tuple(_mark(one) if isinstance(one, CodeType) else f"{type(one)}{one!r}" for one in code.co_consts)
    names = (code.co_names, code.co_varnames, code.co_freevars)
    return (code.co_name, code.co_firstlineno, code.co_code, names, consts)
