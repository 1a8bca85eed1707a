"""Compiles an algorithm with Numba, or wraps it uncompiled, to functions of ``sojourn_aqm.h``."""

from __future__ import annotations

import ctypes
import math
import re
import sys
import traceback
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from sojourn.base import extras
from sojourn.base.errors import SchemeError
from sojourn.plugins.subset import MOST_STEPS, STEPS, Program, code
from sojourn.plugins.table import DONE, LOOPED, PACKET, QUEUE, RAISED, Layout, host

_METHODS: Final = {"init": 2, "set_params": 2, "enqueue": 3, "dequeue": 3, "update": 2}
"""The number of addresses that each takes."""
_POINTER: Final = ctypes.c_void_p

Functions = tuple[dict[str, int | None], list[object]]


def _numba() -> Any:
    try:
        import numba
    except ImportError:
        raise SchemeError(
            f"an algorithm in Python is compiled by Numba, which is not installed; install it with "
            f"`{extras.install('numba')}`, or run the algorithm uncompiled with debug=True"
        ) from None
    return numba


@cache
def target() -> str:
    """Return the compiler's version and the processor that it compiles for."""
    numba = _numba()
    import llvmlite
    from llvmlite import binding

    # NUMBA_CPU_NAME and NUMBA_CPU_FEATURES choose another processor than this one.
    chosen, features = numba.config.CPU_NAME or binding.get_host_cpu_name(), numba.config.CPU_FEATURES
    more = f" {features}" if features else ""
    llvm = ".".join(map(str, binding.llvm_version_info))
    return f"numba {numba.__version__}, llvmlite {llvmlite.__version__}, LLVM {llvm}, {chosen}{more}"


@cache
def _primitives() -> dict[str, Any]:
    """Return what prepared functions call, compiled."""
    numba = _numba()
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def _at(_typing: Any, record: Any) -> Any:
        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.ptrtoint(arguments[0], cgutils.intp_t)

        return types.intp(record), build

    def _pointer(_typing: Any, address: Any) -> Any:
        del address

        def build(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], cgutils.voidptr_t)

        return types.voidptr(types.intp), build

    at: Any = intrinsic(_at)
    pointer: Any = intrinsic(_pointer)

    addresses, real = host(), ctypes.c_double
    uniform = ctypes.CFUNCTYPE(real, _POINTER)(addresses["uniform"])
    chance = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, real)(addresses["chance"])
    waiting = ctypes.CFUNCTYPE(ctypes.c_ssize_t, _POINTER, ctypes.c_uint64)(addresses["waiting"])
    exp = ctypes.CFUNCTYPE(real, real)(addresses["exp"])
    log = ctypes.CFUNCTYPE(real, real)(addresses["log"])
    power = ctypes.CFUNCTYPE(real, real, real)(addresses["pow"])
    packet, carray = PACKET, numba.carray
    jit = numba.njit(error_model="python", boundscheck=True, inline="never")

    @jit
    def host_uniform(queue):  # type: ignore[no-untyped-def]
        return uniform(pointer(at(queue)))

    @jit
    def host_chance(queue, p):  # type: ignore[no-untyped-def]
        return chance(pointer(at(queue)), float(p)) != 0

    @jit
    def host_waiting(queue, index):  # type: ignore[no-untyped-def]
        if index < 0 or index >= queue.packets:
            raise IndexError
        found = waiting(pointer(at(queue)), index)
        if found == 0:
            raise IndexError
        return carray(pointer(found), 1, packet)[0]

    @jit
    def host_exp(x):  # type: ignore[no-untyped-def]
        return exp(float(x))

    @jit
    def host_log(x):  # type: ignore[no-untyped-def]
        return log(float(x))

    @jit
    def host_pow(x, y):  # type: ignore[no-untyped-def]
        return power(float(x), float(y))

    own = {one.__name__: one for one in (host_uniform, host_chance, host_waiting, host_exp, host_log, host_pow)}
    return {**own, **_math(), "whole": np.int64}


def compiled_once() -> None:
    """Compile a function, so that the compiler has done what it does at its first use."""
    _primitives()
    _numba().njit(lambda x: x + 1)(1)


def _math() -> dict[str, Any]:
    names = ("ceil", "fabs", "floor", "isfinite", "isinf", "isnan", "sqrt", "trunc")
    return {f"math_{name}": getattr(math, name) for name in names}


def compiled(program: Program, chosen: Layout) -> Functions:
    """Compile; bounds of indices and divisions by zero are checked."""
    numba = _numba()
    from numba import types
    from numba.core.errors import NumbaError

    jit = numba.njit(error_model="python", boundscheck=True)
    functions = code(program, _primitives(), jit)
    state, packet, queue = (numba.from_dtype(one) for one in (chosen.state, PACKET, QUEUE))
    arguments = {"enqueue": (state, packet, queue), "dequeue": (state, packet, queue), "update": (state, queue)}
    try:
        for name in ("enqueue", "dequeue", "update", "init"):
            if name in program.frozen.methods:
                found = functions[name].compile(arguments.get(name, (state,)))
                del found
                _check_type(program, name, functions[name])
        kept = []
        for name, function in _hosted(program, chosen, functions, numba.carray).items():
            signature = types.int32(*[types.voidptr] * _METHODS[name])
            kept.append(
                (name, numba.cfunc(signature, nopython=True, error_model="python", boundscheck=True)(function))
            )
    except NumbaError as error:
        raise SchemeError(_numba_message(program, error)) from None
    return {**dict.fromkeys(_METHODS), **{name: one.address for name, one in kept}}, [kept, functions]


def _check_type(program: Program, name: str, function: Any) -> None:
    result = function.nopython_signatures[0].return_type
    text = str(result)
    if name in ("init", "update"):
        return
    line = program.functions[name].lineno
    if text == "none" or text.startswith("OptionalType"):
        raise SchemeError(
            f"{program.file}, line {line}: {name} can end without an answer; allowed: `return ACCEPT`, DROP, MARK or "
            "SEND on every path"
        )
    if not text.startswith(("int", "uint", "Literal[int]")):
        raise SchemeError(
            f"{program.file}, line {line}: {name} answers with {text}; allowed: ACCEPT, DROP, MARK or SEND"
        )


def _numba_message(program: Program, error: Exception) -> str:
    """Return what Numba said in a line, with the place in the user's file."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = re.findall(rf"{re.escape(program.file)}\W+(?:line )?(\d+)", text)
    where = f"{program.file}, line {lines[-1]}" if lines else program.file
    skipped = ("Failed in", "During", "File", "[1", "Enable", "This error", "-", "^", "There are", "overload")
    kept = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(skipped)]
    return f"{where}: the types do not fit: {' '.join(kept[:2])}"


def _hosted(
    program: Program, chosen: Layout, functions: dict[str, Any], carray: Any
) -> dict[str, Callable[..., int]]:
    """Return functions that a host can call, which give ``RAISED`` where the user's would raise.

    `carray` makes an array of an address, a length and a type.
    """
    lines = ["def build(carray, state_type, packet_type, queue_type, value_type, user):"]
    steps = f"self_.{STEPS} = {MOST_STEPS}" if program.has_loops else "pass"
    failed = f"return {LOOPED} if self_.{STEPS} < 0 else {RAISED}" if program.has_loops else f"return {RAISED}"
    calls = {
        "enqueue": (
            "state, packet, queue",
            "return user_enqueue(self_, carray(packet, 1, packet_type)[0], carray(queue, 1, queue_type)[0])",
        ),
        "dequeue": (
            "state, packet, queue",
            "return user_dequeue(self_, carray(packet, 1, packet_type)[0], carray(queue, 1, queue_type)[0])",
        ),
        "update": ("state, queue", f"user_update(self_, carray(queue, 1, queue_type)[0]); return {DONE}"),
        "init": ("state, given", f"user_init(self_); return {DONE}"),
    }
    set_fields = [f"        self_.{one.field} = {_taken(k, one.type)}" for k, one in enumerate(chosen.parameters)]
    initial = []
    for one in chosen.fields:
        if isinstance(one.initial, tuple):
            initial += [f"        self_.{one.name}[{k}] = {value!r}" for k, value in enumerate(one.initial) if value]
        else:
            initial.append(f"        self_.{one.name} = {one.initial!r}")
    given = "given_ = carray(given, 1, value_type)[0]" if chosen.parameters else "pass"
    made = [name for name in _METHODS if name in ("init", "set_params") or name in program.frozen.methods]
    for name in made:
        is_own = name in calls and name in program.frozen.methods
        takes, call = calls[name] if is_own else ("state, given", f"return {DONE}")
        lines += [
            f"    user_{name} = user.get({name!r})",
            f"    def {name}({takes}):",
            "        self_ = carray(state, 1, state_type)[0]",
            f"        {steps}",
        ]
        if name in ("init", "set_params"):
            lines += [f"        {given}", *set_fields, *(initial if name == "init" else [])]
        lines += ["        try:", f"            {call}", "        except Exception:", f"            {failed}"]
    lines.append(f"    return {{{', '.join(f'{name!r}: {name}' for name in made)}}}")
    space: dict[str, Any] = {"inf": math.inf, "nan": math.nan}
    exec("\n".join(lines), space)  # noqa: S102
    value = np.dtype(
        [(f"v{k}", "f8" if one.type == "f8" else "i8") for k, one in enumerate(chosen.parameters)] or [("v0", "i8")]
    )
    plain: dict[str, Callable[..., int]] = space["build"](carray, chosen.state, PACKET, QUEUE, value, functions)
    return plain


def _taken(index: int, type_: str) -> str:
    return f"given_.v{index} != 0" if type_ == "?" else f"given_.v{index}"


class _Cells:
    """An array of the state in plain Python numbers."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: int) -> Any:
        return self._array[index].item()

    def __setitem__(self, index: int, value: float) -> None:
        self._array[index] = value


class _View:
    """Memory of the host as an object with plain Python numbers."""

    def __init__(self, address: int, type_: np.dtype[Any]) -> None:
        memory: Any = (ctypes.c_char * type_.itemsize).from_address(address)
        object.__setattr__(self, "_row", np.frombuffer(memory, type_, 1)[0:1])
        object.__setattr__(self, "address_", address)

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._row[name][0]
        except ValueError:
            raise AttributeError(f"there is no {name}") from None
        return _Cells(value) if isinstance(value, np.ndarray) else value.item()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in (self._row.dtype.names or ()):
            raise AttributeError(f"there is no field {name}; declare it in the class")
        self._row[name][0] = value


def uncompiled(program: Program, chosen: Layout) -> Functions:
    """Wrap the methods as they are, for a debugger; the first exception prints its traceback."""
    addresses, real = host(), ctypes.c_double
    uniform = ctypes.CFUNCTYPE(real, _POINTER)(addresses["uniform"])
    chance = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, real)(addresses["chance"])
    waiting = ctypes.CFUNCTYPE(_POINTER, _POINTER, ctypes.c_uint64)(addresses["waiting"])

    def host_waiting(queue: _View, index: int) -> _View:
        found = waiting(queue.address_, index) if 0 <= index < queue.packets else None
        if not found:
            raise IndexError(f"no packet waits at {index}")
        return _View(found, PACKET)

    names: dict[str, Any] = {
        "host_uniform": lambda queue: uniform(queue.address_),
        "host_chance": lambda queue, p: chance(queue.address_, p) != 0,
        "host_waiting": host_waiting,
        "host_exp": ctypes.CFUNCTYPE(real, real)(addresses["exp"]),
        "host_log": ctypes.CFUNCTYPE(real, real)(addresses["log"]),
        "host_pow": ctypes.CFUNCTYPE(real, real, real)(addresses["pow"]),
        **_math(),
        "whole": int,
    }
    functions = code(program, names, lambda function: function)
    is_printed = False

    def printing(function: Callable[..., int | None]) -> Callable[..., int]:
        def call(*arguments: _View) -> int:
            nonlocal is_printed
            try:
                return int(function(*arguments) or 0)
            except BaseException as error:
                if not is_printed:
                    traceback.print_exc(file=sys.stderr)
                    is_printed = True
                # Whatever it was, the host hears of it.
                raise RuntimeError from error

        return call

    shown = {name: printing(function) for name, function in functions.items()}
    plain = _hosted(program, chosen, shown, lambda address, _, type_: [_View(address, type_)])
    made: dict[str, Any] = {
        name: ctypes.CFUNCTYPE(ctypes.c_int32, *[_POINTER] * _METHODS[name])(one) for name, one in plain.items()
    }
    found: dict[str, int | None] = dict.fromkeys(_METHODS)
    found |= {name: ctypes.cast(one, _POINTER).value for name, one in made.items()}
    return found, [made, functions]
