"""The part of Python that algorithms are written in: what it lacks is named, the rest is prepared.

The methods of a class become functions whose first argument is the state. ``self.helper(x)`` becomes a call of such a
function, ``queue.uniform()`` one of the host, ``math.exp`` the host's, which is alike on every machine. Before each
statement the present line is written into the state, so that an exception has a place. Each round of a loop is
counted, so that one that does not end is an exception, too.
"""

from __future__ import annotations

import ast
import copy
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any, Final, NoReturn

from sojourn.core import SojournError
from sojourn.plugins.declared import Declaration, members, own

__all__ = ["LINE", "STEPS", "Program", "prepare"]

LINE: Final = "line_"
STEPS: Final = "steps_"
MOST_STEPS: Final = 100_000
"""Rounds of loops in one call of a method."""

_LATER: Final[dict[str, Any]] = {"type_params": []}
"""Fields of nodes that Python 3.12 and later have."""
_HOST: Final = {"uniform": 0, "chance": 1, "waiting": 1}
_MATH_OF_HOST: Final = {"exp": 1, "log": 1, "pow": 2}
_MATH: Final = ("ceil", "fabs", "floor", "isfinite", "isinf", "isnan", "sqrt", "trunc")
_BUILT_IN: Final = ("abs", "bool", "float", "int", "max", "min")
_DEBUG: Final = ("breakpoint", "print")
_NARROW: Final = ("size_bytes", "flow", "source", "destination", "window", "ecn", "dscp")
"""Fields of packets that are narrower than a Python int."""
_TAKES: Final = {"enqueue": 3, "dequeue": 3, "update": 2, "init": 1}

_ALLOWED: Final = (
    "numbers, arithmetic, comparisons, if, while, for ... in range(...), return, fields of self, packet and queue, "
    "other methods of the class, functions of the file, abs, bool, float, int, max, min and functions of math"
)
_NAMES: Final[Mapping[type[ast.AST], str]] = {
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator",
    ast.List: "a list",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.JoinedStr: "an f-string",
    ast.Lambda: "lambda",
    ast.Try: "try",
    ast.With: "with",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Delete: "del",
    ast.FunctionDef: "a function in a method",
    ast.AsyncFunctionDef: "async",
    ast.ClassDef: "a class in a method",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.Match: "match",
    ast.Starred: "*",
    ast.Slice: "a slice",
    ast.NamedExpr: ":=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.MatMult: "@",
    ast.Pow: "**",
}
_STATEMENTS: Final = (
    ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If, ast.While, ast.For, ast.Break, ast.Continue,
    ast.Pass, ast.Expr, ast.Raise, ast.Assert,
)  # fmt: skip
_EXPRESSIONS: Final = (
    ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Subscript, ast.Name,
    ast.Constant, ast.Tuple, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip


@dataclass
class Program:
    """What is compiled.

    Parameters
    ----------
    file
        Where the user wrote it.
    functions
        Their code by name, state first: ``enqueue``, ``scale`` and so on.
    methods
        The names of the class's own methods among them.
    source
        A text of the class with all that it uses: what a run's identity and workers get.
    has_loops
        Whether rounds are counted.
    """

    file: str
    functions: dict[str, ast.FunctionDef]
    methods: tuple[str, ...]
    source: str
    has_loops: bool = False


@dataclass
class _Reader:
    file: str
    methods: dict[str, ast.FunctionDef]
    fields: frozenset[str]
    names: dict[str, Any] = field(default_factory=dict)
    helpers: dict[str, ast.FunctionDef] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)
    pending: list[FunctionType] = field(default_factory=list)
    has_loops: bool = False

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise SojournError(f"{self.file}, line {getattr(node, 'lineno', '?')}: {what}; allowed: {_ALLOWED}")


def prepare(cls: type[Declaration], *, debug: bool) -> Program:
    """Return the functions of an algorithm's class, checked and ready to be compiled.

    Raises
    ------
    SojournError
        A construct that the subset does not have; the message names it, with file and line.
    """
    file = inspect.getsourcefile(cls) or "the class"
    classes = own(cls)
    bodies = [_parsed(one) for one in classes]
    methods: dict[str, ast.FunctionDef] = {}
    for body in bodies:
        methods |= {node.name: node for node in body.body if isinstance(node, ast.FunctionDef)}
    parameters, fields = members(cls)
    reader = _Reader(file, methods, frozenset([*(one.field for one in parameters), *(one.name for one in fields)]))
    for name, count in _TAKES.items():
        if name in methods and len(methods[name].args.args) != count:
            names = ("self", "packet", "queue") if count == 3 else ("self", "queue")[:count]
            reader.refuse(
                methods[name],
                f"{name} takes {', '.join(a.arg for a in methods[name].args.args)}, not {', '.join(names)}",
            )
    if "enqueue" not in methods:
        raise SojournError(f"{file}: {cls.__name__} has no method enqueue(self, packet, queue)")
    functions = {}
    for name, node in methods.items():
        function = getattr(cls, name)
        if not isinstance(function, FunctionType) or node.decorator_list:
            reader.refuse(node, f"the method {name} is decorated")
        reader.names = _globals(function)
        functions[name] = _Rewrite(reader, node, debug=debug).function(own=True)
    done: set[str] = set()
    while reader.pending:
        helper = reader.pending.pop()
        if helper.__name__ in done:
            continue
        done.add(helper.__name__)
        node = _parsed(helper)
        reader.names = _globals(helper)
        reader.helpers[helper.__name__] = node
        functions[helper.__name__] = _Rewrite(reader, node, debug=debug).function(own=False)
    source = _source(bodies, reader)
    return Program(file, functions, tuple(methods), source, reader.has_loops)


def _globals(function: FunctionType) -> dict[str, Any]:
    found = inspect.getclosurevars(function)
    return {**found.globals, **found.nonlocals}


def _parsed(thing: Any) -> Any:
    try:
        lines, first = inspect.getsourcelines(thing)
    except (OSError, TypeError):
        raise SojournError(
            f"{thing.__name__}: its source cannot be read; allowed: a class in a file or in a notebook's cell"
        ) from None
    node = ast.parse(textwrap.dedent("".join(lines))).body[0]
    return ast.increment_lineno(node, first - 1)


def _source(bodies: list[ast.ClassDef], reader: _Reader) -> str:
    """Return a text that stands alone: imports, constants, helpers, classes."""
    words = "from sojourn.plugins import ACCEPT, DROP, MARK, SEND, Algorithm, PacketView, QueueView, parameter"
    constants = [f"{name} = {value!r}" for name, value in sorted(reader.constants.items()) if name not in words]
    helpers = [ast.unparse(node) for _, node in sorted(reader.helpers.items())]
    classes = []
    for k, body in enumerate(bodies):
        # Of what a class may be written with, this text knows one name.
        base: ast.expr = ast.Name("Algorithm") if k == 0 else ast.Name(bodies[k - 1].name)
        nodes = [_plain(node) for node in body.body]
        alone = ast.ClassDef(name=body.name, bases=[base], keywords=[], body=nodes, decorator_list=[], **_LATER)
        classes.append(ast.unparse(ast.fix_missing_locations(alone)))
    head = "from __future__ import annotations\nimport math\nimport sojourn as sj\nfrom math import inf, nan"
    return "\n\n".join([head, words, *constants, *helpers, *classes]) + "\n"


class _Sj(ast.NodeTransformer):
    """Writes ``parameter`` where a module's name stands before it."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return ast.Name(node.attr) if node.attr in ("parameter", "ACCEPT", "DROP", "MARK", "SEND") else node


def _plain(node: ast.stmt) -> ast.stmt:
    copied: ast.stmt = _Sj().visit(ast.parse(ast.unparse(node)).body[0])
    return copied


class _Rewrite(ast.NodeTransformer):
    """Checks one function and rewrites it."""

    def __init__(self, reader: _Reader, node: ast.FunctionDef, *, debug: bool) -> None:
        self._reader, self._debug = reader, debug
        # The source of the class is written from the nodes as they are.
        self._node = node = copy.deepcopy(node)
        self._locals = {argument.arg for argument in node.args.args}
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                self._locals.add(one.id)
        self._self = node.args.args[0].arg if node.args.args else "self"

    def function(self, *, own: bool) -> ast.FunctionDef:
        """Return the function with the state as its first argument, by the name ``self_``."""
        node, reader = self._node, self._reader
        arguments = node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            reader.refuse(node, f"{node.name} has arguments with *, ** or a default")
        if not own:
            self._self = ""
        names = [argument.arg for argument in arguments.args]
        names = names[1:] if own else names
        body = self._body(node.body)
        takes = [ast.arg(arg=name) for name in ("self_", *names)]
        given = ast.arguments(posonlyargs=[], args=takes, kwonlyargs=[], kw_defaults=[], defaults=[])
        made = ast.FunctionDef(name=node.name, args=given, body=body, decorator_list=[], **_LATER)
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            if _is_debug(node) and not self._debug:
                continue
            made += [self._state(node, LINE, ast.Constant(node.lineno)), self.visit(node)]
        return made or [ast.copy_location(ast.Pass(), body[0])]

    @staticmethod
    def _state(at: ast.AST, name: str, value: ast.expr) -> ast.stmt:
        target = ast.Attribute(ast.Name("self_", ast.Load()), name, ast.Store())
        return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], value), at))

    def _count(self, node: ast.stmt) -> list[ast.stmt]:
        """Return what counts a round of a loop."""
        self._reader.has_loops = True
        text = f"self_.{STEPS} = self_.{STEPS} - 1\nif self_.{STEPS} < 0:\n    raise RuntimeError"
        made = ast.parse(text).body
        for statement in made:
            for one in ast.walk(statement):
                ast.copy_location(one, node)
        return [self._state(node, LINE, ast.Constant(node.lineno)), *made]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            self._refuse(node)
        if not isinstance(node, ast.stmt) and not isinstance(node, _EXPRESSIONS):
            self._refuse(node)
        return super().generic_visit(node)

    def _refuse(self, node: ast.AST, where: ast.AST | None = None) -> NoReturn:
        name = _NAMES.get(type(node), type(node).__name__)
        more = " (write x * x, or math.pow(x, y))" if isinstance(node, ast.Pow) else ""
        self._reader.refuse(where or node, f"{name} is not in the subset of Python that is compiled{more}")

    def visit_While(self, node: ast.While) -> ast.AST:
        if node.orelse:
            self._reader.refuse(node, "else after a loop")
        node.test = self.visit(node.test)
        node.body = [*self._count(node), *self._body(node.body)]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        call = node.iter
        is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        if not is_range or node.orelse or not isinstance(node.target, ast.Name):
            self._reader.refuse(node, "a loop over something else than range(...)")
        assert isinstance(call, ast.Call)  # noqa: S101
        call.args = [self.visit(one) for one in call.args]
        node.body = [*self._count(node), *self._body(node.body)]
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.visit(node.test)
        node.body = self._body(node.body)
        node.orelse = self._body(node.orelse) if node.orelse else []
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            self._reader.refuse(node, "a name without a value")
        made: ast.AST = self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))
        return made

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        # The message would be lost: what is reported is the line.
        error = ast.Name("RuntimeError", ast.Load())
        return ast.fix_missing_locations(ast.copy_location(ast.Raise(error, None), node))

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Assert(self.visit(node.test), None), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.Pow | ast.MatMult):
            self._refuse(node.op, node)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for op in node.ops:
            if isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot):
                self._refuse(op, node)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, bool | int | float):
            self._reader.refuse(node, f"{node.value!r} is not a number")
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords:
            self._reader.refuse(node, "an argument by name")
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method(node, function)
        if not isinstance(function, ast.Name):
            self._reader.refuse(node, "a call of an expression")
        name = function.id
        found = self._reader.names.get(name)
        if isinstance(found, FunctionType):
            self._reader.pending.append(found)
            return self._call(node, name, [ast.Name("self_", ast.Load())])
        if (name in _BUILT_IN and found is None) or (self._debug and name in _DEBUG):
            node.args = [
                one if name in _DEBUG and isinstance(one, ast.Constant) else self.visit(one) for one in node.args
            ]
            return node
        return self._reader.refuse(node, f"{name}() cannot be called")

    def _method(self, node: ast.Call, function: ast.Attribute) -> ast.AST:
        owner, name = function.value, function.attr
        if isinstance(owner, ast.Name) and owner.id == self._self and self._self:
            if name not in self._reader.methods:
                self._reader.refuse(node, f"there is no method {name} in the class")
            return self._call(node, name, [ast.Name("self_", ast.Load())])
        if isinstance(owner, ast.Name) and owner.id in self._locals and name in _HOST:
            if len(node.args) != _HOST[name]:
                self._reader.refuse(node, f"{name}() takes {_HOST[name]} arguments")
            return self._call(node, f"host_{name}", [self.visit(owner)])
        if isinstance(owner, ast.Name) and self._reader.names.get(owner.id) is math:
            if name in _MATH_OF_HOST and len(node.args) == _MATH_OF_HOST[name]:
                return self._call(node, f"host_{name}", [])
            if name in _MATH:
                return self._call(node, f"math_{name}", [])
            known = ", ".join(sorted((*_MATH, *_MATH_OF_HOST)))
            self._reader.refuse(node, f"math.{name} is not available (available: {known})")
        return self._reader.refuse(
            node, f"{ast.unparse(function)}() cannot be called (random numbers come from queue.uniform())"
        )

    def _call(self, node: ast.Call, name: str, first: list[Any]) -> ast.AST:
        made = ast.Call(ast.Name(name, ast.Load()), [*first, *(self.visit(one) for one in node.args)], [])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id == self._self and self._self:
            if node.attr not in self._reader.fields:
                self._reader.refuse(node, f"the class declares no field {node.attr}, as in {node.attr}: float = 0.0")
            return ast.copy_location(ast.Attribute(self._named(owner, "self_"), node.attr, node.ctx), node)
        if isinstance(owner, ast.Name) and owner.id not in self._locals:
            value = self._reader.names.get(owner.id)
            if isinstance(value, ModuleType):
                return self._constant(node, ast.unparse(node), getattr(value, node.attr, None), keep=False)
        made: Any = self.generic_visit(node)
        if node.attr in _NARROW and isinstance(node.ctx, ast.Load):
            made = ast.Call(ast.Name("whole", ast.Load()), [made], [])
            made = ast.fix_missing_locations(ast.copy_location(made, node))
        result: ast.AST = made
        return result

    @staticmethod
    def _named(node: ast.Name, name: str) -> ast.Name:
        return ast.copy_location(ast.Name(name, node.ctx), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self._self and self._self:
            return self._named(node, "self_")
        if isinstance(node.ctx, ast.Store) or node.id in self._locals:
            return node
        if node.id not in self._reader.names:
            self._reader.refuse(node, f"the name {node.id} is not defined, or not a number")
        return self._constant(node, node.id, self._reader.names[node.id], keep=True)

    def _constant(self, node: ast.expr, name: str, value: object, *, keep: bool) -> ast.AST:
        if not isinstance(value, bool | int | float):
            self._reader.refuse(node, f"{name} is not a number")
        if keep:
            self._reader.constants[name] = value
        return ast.copy_location(ast.Constant(value), node)


def _is_debug(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _DEBUG


def code(program: Program, names: Mapping[str, Any], wrap: Callable[[Any], Any]) -> dict[str, Any]:
    """Execute the prepared functions; each is passed through `wrap`, and all can call each other."""
    space = dict(names)
    for node in program.functions.values():
        module = ast.fix_missing_locations(ast.Module([node], []))
        exec(compile(module, program.file, "exec"), space)  # noqa: S102
    for name in program.functions:
        space[name] = wrap(space[name])
    return {name: space[name] for name in program.functions}
