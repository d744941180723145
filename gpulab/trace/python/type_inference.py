"""Asks Numba whether it can translate a kernel for a GPU, without a GPU and without its driver.

Without it a laptop would accept every Python that runs: lists, strings, `np.zeros` in a kernel. What Numba says about
it is made short by `compile_messages`.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gpulab.measuring.devices import has_gpu
from gpulab.trace.arguments import is_scalar
from gpulab.trace.errors import LaunchError, TraceError
from gpulab.trace.python.binding import global_names
from gpulab.trace.python.compile_messages import compile_error

ARCHITECTURE = (8, 0)
"""Compute capability that is compiled for where there is no GPU."""

_KEPT = 256
_compiled: dict[Any, TypedKernel] = {}


@dataclass(frozen=True)
class TypedKernel:
    """A kernel that Numba could translate."""

    kernel: str
    arguments: tuple[str, ...]
    """Numba's types."""
    float64_lines: tuple[int, ...]
    """Lines that compute in float64: because of a float64 argument, a Python float among the arguments, or a constant
    such as 0.1. Most GPUs do that at 1/32 or 1/64 of the speed of float32."""
    ptx: str


class CompilerMissingError(TraceError):
    """Numba's compiler for GPUs is not installed."""


def typecheck(kernel: Any, *arguments: Any) -> TypedKernel:
    """Compiles a kernel for these arguments, as its launch on a GPU would.

    Args:
        kernel: decorated with `@cuda.jit`.
        arguments: of the launch: arrays and numbers.

    Raises:
        CompileError: Numba cannot; with the student's own line.
        LaunchError: it is no kernel, or an argument is none that a kernel takes.
        CompilerMissingError: there is no compiler to ask.
    """
    function = getattr(kernel, "py_func", None)
    if not isinstance(function, FunctionType):
        raise LaunchError(f"{kernel!r} is no kernel. Write @cuda.jit above the function.")
    types = tuple(map(_type_of, arguments))
    key = (_fingerprint(function), types)
    if key not in _compiled:
        # A kernel defined inside a host function is a new one at every call, with the same code.
        if len(_compiled) >= _KEPT:
            _compiled.clear()
        _compiled[key] = _compile(function, types)
    return _compiled[key]


def _compile(function: FunctionType, types: tuple[Any, ...]) -> TypedKernel:
    from numba import cuda

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about debug information of code that is in no file
        try:
            ptx, _ = cuda.compile(
                function, cuda.types.void(*types), cc=_architecture(), device=False, abi="numba", lineinfo=True
            )
        except (ImportError, OSError) as error:  # among them CudaSupportError and NvvmSupportError
            what = "Numba's compiler is not complete here, so the kernel was not checked"
            raise CompilerMissingError(f"{what}: {error}. pip install 'numba-cuda[cu13]' brings it.") from error
        except Exception as error:
            # Whatever kind Numba raises: it is about this kernel. Its own words stay in the chain.
            raise compile_error(function, error) from error
    return TypedKernel(function.__name__, tuple(map(str, types)), _float64_lines(ptx), ptx)


def _architecture() -> tuple[int, int]:
    """The compute capability to compile for."""
    if not has_gpu():
        return ARCHITECTURE
    import torch

    return torch.cuda.get_device_capability()


def _type_of(value: Any) -> Any:
    """Numba's type of an argument; arrays as they are on the device, whatever NumPy says about being read-only."""
    from numba.cuda import types
    from numba.cuda.np.numpy_support import from_dtype
    from numba.cuda.typing.typeof import typeof

    if hasattr(value, "untyped_storage"):  # a tensor
        dtype = np.dtype(str(value.dtype).rpartition(".")[2])
        return types.Array(from_dtype(dtype), value.ndim, "C" if value.is_contiguous() else "A")
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return types.Array(from_dtype(value.dtype), value.ndim, layout)
    if is_scalar(value) or isinstance(value, tuple) or hasattr(value, "copy_to_host"):
        return typeof(value)
    raise LaunchError(f"A {type(value).__name__} cannot be a kernel's argument: it takes arrays and numbers.")


def _fingerprint(function: FunctionType, depth: int = 3) -> Any:
    """Equal for two functions that compile to the same."""
    code = function.__code__
    outer = {name: function.__globals__[name] for name in global_names(code) if name in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            outer[name] = cell.cell_contents
        except ValueError:
            continue
    return code, tuple((name, _value_print(value, depth)) for name, value in sorted(outer.items()))


def _value_print(value: Any, depth: int) -> Any:
    if isinstance(value, (bool, int, float, complex, str, np.generic)):
        return type(value), value
    helper = getattr(value, "py_func", None)
    if isinstance(helper, FunctionType) and depth:
        return _fingerprint(helper, depth - 1)
    return value.__name__ if isinstance(value, ModuleType) else id(value)


def _float64_lines(ptx: str) -> tuple[int, ...]:
    found, line = set(), 0
    for text in ptx.splitlines():
        location = re.match(r"\s*\.loc\s+\d+\s+(\d+)", text)
        if location:
            line = int(location[1])
        elif re.match(r"\s*(?:@!?%p\d+\s+)?(?!ld|st|mov|cvt|\.)[a-z]\w*[\w.]*\.f64\b", text) and line:
            found.add(line)
    return tuple(sorted(found))
