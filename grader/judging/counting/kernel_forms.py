"""Kernels in plain values: where a function stands in its cell, and what its global and free names mean there."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gpulab.trace.arguments import is_scalar
from gpulab.trace.errors import LaunchError
from gpulab.trace.python.binding import global_names

MODULES = (
    "math", "cmath", "operator", "numpy", "numba", "numba.types", "numba.cuda", "numba.cuda.types",
    "numba.cuda.libdevice", "numba.cuda.random", "numba.cuda.fp16",
)  # fmt: skip
"""What a kernel may name besides constants and device functions; a replay imports no others."""


def function_form(function: FunctionType, device: bool, depth: int = 0) -> dict[str, Any]:
    """Where a function stands in its cell and what its global and free names mean there, in plain values.

    Raises:
        LaunchError: it names something that a kernel cannot be given anywhere else.
    """
    code = function.__code__
    if depth > 20:
        raise LaunchError(f"'{function.__name__}' calls itself. Kernels have no recursion here: use a loop.")
    outer = {name: function.__globals__[name] for name in global_names(code) if name in function.__globals__}
    inner: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            inner[name] = cell.cell_contents

    def forms(names: Mapping[str, Any]) -> dict[str, Any]:
        return {name: _name_form(function, name, value, depth) for name, value in names.items()}

    return {
        "name": code.co_name,
        "line": code.co_firstlineno,
        "device": device,
        "globals": forms(outer),
        "free": forms(inner),
        "defaults": [_name_form(function, "a default", value, depth) for value in function.__defaults__ or ()],
    }


def _name_form(function: FunctionType, name: str, value: Any, depth: int) -> dict[str, Any]:
    if isinstance(getattr(value, "py_func", None), FunctionType):
        return {"function": function_form(value.py_func, True, depth + 1)}
    if isinstance(value, ModuleType) and value.__name__ in MODULES:
        return {"module": value.__name__}
    known = _known_names().get(id(value))
    if known is not None:
        return {"member": list(known)}
    if value is None or is_scalar(value) or isinstance(value, (str, np.ndarray)):
        return {"value": value}
    if isinstance(value, (tuple, list)) and all(is_scalar(item) or isinstance(item, tuple) for item in value):
        return {"value": value}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    what = f"Kernel '{function.__name__}' uses '{name}', a {type(value).__name__}"
    raise LaunchError(f"{what}. A kernel may use numbers, arrays, types, device functions, and the modules of Numba.")


@functools.cache
def _known_names() -> dict[int, tuple[str, str]]:
    """Identity of each public thing in `MODULES` → module and name."""
    found: dict[int, tuple[str, str]] = {}
    for module, name, value in _members():
        if not isinstance(value, (bool, int, float, str)):
            found.setdefault(id(value), (module, name))
    return found


def _members() -> Iterator[tuple[str, str, Any]]:
    for module in MODULES:
        with contextlib.suppress(ImportError):
            names = vars(importlib.import_module(module)).items()
            yield from ((module, name, value) for name, value in list(names) if not name.startswith("_"))
