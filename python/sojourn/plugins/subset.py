"""The part of Python that algorithms are written in: what it lacks is named, the rest is prepared.

The methods of a class become functions whose first argument is the state. ``self.helper(x)`` becomes a call of such a
function, ``queue.uniform()`` one of the host, ``math.exp`` the host's, which is alike on every machine. Before each
statement the present line is written into the state, so that an exception has a place. Each round of a loop is
counted, so that one that does not end is an exception, too.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from sojourn.base.errors import SchemeError
from sojourn.plugins.declared import Declaration
from sojourn.plugins.frozen import ANSWERS, BUILT_IN, DEBUG, Frozen, canonical, freeze, refuse

LINE: Final = "line_"
STEPS: Final = "steps_"
MOST_STEPS: Final = 100_000
"""Rounds of loops in one call of a method."""

_LATER: Final[dict[str, Any]] = {"type_params": []}
"""Fields of nodes that Python 3.12 and later have."""
_HOST: Final = {"uniform": 0, "chance": 1, "waiting": 1}
_MATH_OF_HOST: Final = {"exp": 1, "log": 1, "pow": 2}
_MATH: Final = ("ceil", "fabs", "floor", "isfinite", "isinf", "isnan", "sqrt", "trunc")
_NARROW: Final = ("size_bytes", "flow", "source", "destination", "window", "ecn", "dscp")
"""Fields of packets that are narrower than a Python int."""
_TAKES: Final = {"enqueue": 3, "dequeue": 3, "update": 2, "init": 1}

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
    """What is compiled: methods and helpers by name, the state as their first argument.

    `identity` is a text that differs wherever decisions can: the functions with their numbers, parameters and fields.
    """

    frozen: Frozen
    functions: dict[str, ast.FunctionDef]
    identity: str = ""
    has_loops: bool = False

    @property
    def file(self) -> str:
        """Where the user wrote it."""
        return self.frozen.file


@dataclass
class _Reader:
    frozen: Frozen
    fields: frozenset[str]
    numbers: Mapping[str, bool | int | float]
    has_loops: bool = False


def prepare(cls: type[Declaration], *, debug: bool) -> Program:
    """Return the functions of an algorithm's class, checked and ready to be compiled."""
    frozen = freeze(cls, debug=debug)
    if "enqueue" not in frozen.methods:
        raise SchemeError(f"{frozen.file}: {cls.__name__} has no method enqueue(self, packet, queue)")
    fields = frozenset([*(one.field for one in frozen.parameters), *(one.name for one in frozen.fields)])
    reader = _Reader(frozen, fields, {**ANSWERS, **frozen.constants})
    for name, count in _TAKES.items():
        node = frozen.methods.get(name)
        if node is not None and len(node.args.args) != count:
            names = ("self", "packet", "queue") if count == 3 else ("self", "queue")[:count]
            takes = ", ".join(one.arg for one in node.args.args)
            refuse(frozen.files[name], node, f"{name} takes {takes}, not {', '.join(names)}")
    functions = {
        name: _Rewrite(reader, node, debug=debug).function(own=name in frozen.methods)
        for name, node in (*frozen.methods.items(), *frozen.helpers.items())
    }
    return Program(frozen, functions, _identity(frozen, functions), reader.has_loops)


def _identity(frozen: Frozen, functions: Mapping[str, ast.FunctionDef]) -> str:
    lines: list[tuple[object, ...]] = [(name, frozen.texts[name]) for name in ("name", "limit", "period")]
    lines += frozen.flags.items()
    lines += [("parameter", one.field, one.kind, one.initial) for one in frozen.parameters]
    lines += [("field", one.name, one.type, one.initial) for one in frozen.fields]
    bare = {name: _WithoutLines().visit(copy.deepcopy(node)) for name, node in sorted(functions.items())}
    lines += [(name, name in frozen.methods, canonical(node)) for name, node in bare.items()]
    return "\n".join(map(repr, lines))


class _WithoutLines(ast.NodeTransformer):
    """Takes out what writes the present line into the state."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        target = node.targets[0]
        return None if isinstance(target, ast.Attribute) and target.attr == LINE else node


class _Rewrite(ast.NodeTransformer):
    """Checks one function and rewrites it."""

    def __init__(self, reader: _Reader, node: ast.FunctionDef, *, debug: bool) -> None:
        self._reader, self._debug = reader, debug
        self._file = reader.frozen.files[node.name]
        # The source of the class is written from the nodes as they are.
        self._node = node = copy.deepcopy(node)
        self._locals = {argument.arg for argument in node.args.args}
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                self._locals.add(one.id)
        self._self = node.args.args[0].arg if node.args.args else "self"

    def function(self, *, own: bool) -> ast.FunctionDef:
        """Return the function with the state as its first argument, by the name ``self_``."""
        node = self._node
        if not own:
            self._self = ""
        names = [argument.arg for argument in node.args.args]
        names = names[1:] if own else names
        body = self._body(node.body)
        takes = [ast.arg(arg=name) for name in ("self_", *names)]
        given = ast.arguments(posonlyargs=[], args=takes, kwonlyargs=[], kw_defaults=[], defaults=[])
        made = ast.FunctionDef(name=f"user_{node.name}", args=given, body=body, decorator_list=[], **_LATER)
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in body:
            made += [*self._line(node), self.visit(node)]
        return made

    def _line(self, node: ast.stmt) -> list[ast.stmt]:
        """Return what writes the present line, which is the caller's in a function of another file."""
        is_here = self._file == self._reader.frozen.file
        return [self._state(node, LINE, ast.Constant(node.lineno))] if is_here else []

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
        return [*self._line(node), *made]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            self._refuse(node)
        if not isinstance(node, ast.stmt) and not isinstance(node, _EXPRESSIONS):
            self._refuse(node)
        return super().generic_visit(node)

    def _refuse(self, node: ast.AST, where: ast.AST | None = None) -> NoReturn:
        name = _NAMES.get(type(node), type(node).__name__)
        more = " (write x * x, or math.pow(x, y))" if isinstance(node, ast.Pow) else ""
        refuse(self._file, where or node, f"{name} is not in the subset of Python that is compiled{more}")

    def visit_While(self, node: ast.While) -> ast.AST:
        if node.orelse:
            refuse(self._file, node, "else after a loop")
        node.test = self.visit(node.test)
        node.body = [*self._count(node), *self._body(node.body)]
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        call = node.iter
        is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        if not is_range or node.orelse or not isinstance(node.target, ast.Name):
            refuse(self._file, node, "a loop over something else than range(...)")
        assert isinstance(call, ast.Call)  # noqa: S101
        call.args = [self.visit(one) for one in call.args]
        node.body = [*self._count(node), *self._body(node.body)]
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.visit(node.test)
        node.body = self._body(node.body)
        node.orelse = self._body(node.orelse) if node.orelse else []
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

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
            refuse(self._file, node, f"{node.value!r} is not a number")
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node.keywords:
            refuse(self._file, node, "an argument by name")
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method(node, function)
        if not isinstance(function, ast.Name):
            refuse(self._file, node, "a call of an expression")
        name = function.id
        if name in self._reader.frozen.helpers and name not in self._locals:
            return self._call(node, f"user_{name}", [ast.Name("self_", ast.Load())])
        if name not in self._locals and (name in BUILT_IN or (self._debug and name in DEBUG)):
            node.args = [
                one if name in DEBUG and isinstance(one, ast.Constant) else self.visit(one) for one in node.args
            ]
            return node
        return refuse(self._file, node, f"{name}() cannot be called")

    def _method(self, node: ast.Call, function: ast.Attribute) -> ast.AST:
        owner, name = function.value, function.attr
        if isinstance(owner, ast.Name) and owner.id == self._self and self._self:
            if name not in self._reader.frozen.methods:
                refuse(self._file, node, f"there is no method {name} in the class")
            return self._call(node, f"user_{name}", [ast.Name("self_", ast.Load())])
        if isinstance(owner, ast.Name) and owner.id in self._locals and name in _HOST:
            if len(node.args) != _HOST[name]:
                refuse(self._file, node, f"{name}() takes {_HOST[name]} arguments")
            return self._call(node, f"host_{name}", [self.visit(owner)])
        if isinstance(owner, ast.Name) and owner.id == "math" and owner.id not in self._locals:
            if name in _MATH_OF_HOST and len(node.args) == _MATH_OF_HOST[name]:
                return self._call(node, f"host_{name}", [])
            if name in _MATH:
                return self._call(node, f"math_{name}", [])
            known = ", ".join(sorted((*_MATH, *_MATH_OF_HOST)))
            refuse(self._file, node, f"math.{name} is not available (available: {known})")
        return refuse(
            self._file, node, f"{ast.unparse(function)}() cannot be called (random numbers come from queue.uniform())"
        )

    def _call(self, node: ast.Call, name: str, first: list[Any]) -> ast.AST:
        made = ast.Call(ast.Name(name, ast.Load()), [*first, *(self.visit(one) for one in node.args)], [])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id == self._self and self._self:
            if node.attr not in self._reader.fields:
                refuse(self._file, node, f"the class declares no field {node.attr}, as in {node.attr}: float = 0.0")
            return ast.copy_location(ast.Attribute(self._named(owner, "self_"), node.attr, node.ctx), node)
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
        value = self._reader.numbers.get(node.id)
        if value is None:
            refuse(self._file, node, f"the name {node.id} is not defined, or not a number")
        return ast.copy_location(ast.Constant(value), node)


def code(program: Program, names: Mapping[str, Any], wrap: Callable[[Any], Any]) -> dict[str, Any]:
    """Execute the prepared functions; each is passed through `wrap`, and all can call each other."""
    space = dict(names)
    for node in program.functions.values():
        module = ast.fix_missing_locations(ast.Module([node], []))
        exec(compile(module, program.file, "exec"), space)  # noqa: S102
    for node in program.functions.values():
        space[node.name] = wrap(space[node.name])
    return {name: space[node.name] for name, node in program.functions.items()}
