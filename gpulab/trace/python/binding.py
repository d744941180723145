"""Makes, of a kernel's plain Python function, one that sees the tracer where it says `cuda`.

The student's function is not touched: a second one has its code and other globals. Device functions that it
calls are treated alike; an undecorated function that it calls is refused, as Numba would.
"""

from __future__ import annotations

import builtins
import dis
import functools
import math
import types
from typing import Any, NoReturn

import numpy as np

from gpulab.trace.arithmetic import DeviceMath, WrappingModule, device_function, wrapping
from gpulab.trace.errors import UnsupportedError
from gpulab.trace.python.engine import Engine
from gpulab.trace.python.intrinsics import Cuda
from gpulab.trace.python.places import kernel_frame, place_of
from gpulab.trace.python.scratch import constant
from gpulab.trace.python.while_loops import TURNS, counting


class Binder:
    """Replaces, for one launch, what a kernel's global names stand for.

    Args:
        cuda: the stand-in for `numba.cuda`.
        engine: the launch.
    """

    def __init__(self, cuda: Cuda, engine: Engine) -> None:
        import numba.cuda

        self._cuda, self._engine = cuda, engine
        self._module, self._numba = numba.cuda, numba
        self._bound: dict[int, types.FunctionType] = {}
        self._open: list[types.FunctionType] = []
        # `from numba.cuda import grid` leaves no trace of the module: those names are known by what they stand for.
        names = [name for name in dir(cuda) if not name.startswith("_")]
        self._stand_ins = {
            id(getattr(numba.cuda, n)): getattr(cuda, n) for n in names if hasattr(numba.cuda, n) and n != "laneid"
        }

    def bind(self, function: types.FunctionType) -> types.FunctionType:
        """A function with the same code, whose `cuda` is the tracer.

        Raises:
            UnsupportedError: it calls itself.
        """
        if function in self._open:
            name = function.__name__
            line = function.__code__.co_firstlineno
            raise UnsupportedError(
                f"'{name}' (line {line}) calls itself. Kernels have no recursion here: use a loop.", line
            )
        if id(function) not in self._bound:
            self._open.append(function)
            old = function.__globals__
            scope: dict[str, Any] = {"__builtins__": builtins, "__name__": old.get("__name__", "__main__")}
            scope |= {"range": self._engine.loops.ranged, TURNS: self._engine.loops.turns}
            scope |= {name: self._stand_in(name, old[name]) for name in global_names(function.__code__) if name in old}
            cells = tuple(map(self._cell, function.__code__.co_freevars, function.__closure__ or ()))
            bound = types.FunctionType(
                counting(function.__code__), scope, function.__name__, function.__defaults__, cells
            )
            self._bound[id(function)] = bound
            self._open.pop()
        return self._bound[id(function)]

    @property
    def codes(self) -> frozenset[types.CodeType]:
        """Of all functions that were bound: the student's."""
        return frozenset(function.__code__ for function in self._bound.values())

    def _cell(self, name: str, cell: types.CellType) -> types.CellType:
        try:
            return types.CellType(self._stand_in(name, cell.cell_contents))
        except ValueError:  # empty: the variable is not set yet
            return cell

    def _stand_in(self, name: str, value: Any) -> Any:
        if value is self._module:
            return self._cuda
        if value is self._numba:
            return _Numba(self._cuda, value)
        if id(value) in self._stand_ins:
            return self._stand_ins[id(value)]
        if value is math:
            return DeviceMath()
        if value is np:
            return WrappingModule()
        if isinstance(value, types.BuiltinFunctionType) and value.__module__ == math.__name__:
            return device_function(value)
        narrow = wrapping(value)
        if narrow is not None:
            return narrow
        if isinstance(getattr(value, "py_func", None), types.FunctionType):
            return self.bind(value.py_func)
        if isinstance(value, np.ndarray):
            return constant(value, name, self._engine)
        if isinstance(value, types.FunctionType) and value.__module__ == "numba.cuda.libdevice":
            return functools.partial(self._cuda.libdevice.refuse, value.__name__)
        if isinstance(value, types.FunctionType) and not _known(value):
            return functools.partial(_undecorated, name)
        return value


class _Numba:
    """Stands in for the module `numba`: `numba.cuda` is the tracer, the rest is as it is."""

    def __init__(self, cuda: Cuda, module: Any) -> None:
        self.cuda = cuda
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        return wrapping(value) or value


@functools.lru_cache(maxsize=256)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """The names that are looked up as globals; `co_names` would hold attributes, too."""
    loads = {"LOAD_GLOBAL", "LOAD_NAME"}
    names = {str(one.argval) for one in dis.get_instructions(code) if one.opname in loads}
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return tuple(sorted(names.union(*map(global_names, inner))))


def _known(function: types.FunctionType) -> bool:
    """Belongs to a library that Numba translates calls of."""
    return str(function.__module__).partition(".")[0] in ("numba", "numpy", math.__name__)


def _undecorated(name: str, *_: Any) -> NoReturn:
    place = place_of(kernel_frame())
    message = f"'{name}' is an ordinary Python function ({place}). Kernels call those with @cuda.jit(device=True)."
    raise UnsupportedError(message, place.line)
