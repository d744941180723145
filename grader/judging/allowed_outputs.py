"""Which classes the output of a timed call may have: none of the student's own.

An object of such a class can put its work off until it is looked at, which happens off the clock for all outputs of a
round but one. Which classes are not the student's own is settled before the first line of the student's code runs.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from grader.processes.wire import NotPlain

KINDS = (
    ("builtins", "int"),
    ("builtins", "float"),
    ("builtins", "bool"),
    ("numpy", "ndarray"),
    ("numpy", "generic"),
    ("torch", "Tensor"),
    ("torch.nn", "Parameter"),
    ("numba.cuda.cudadrv.devicearray", "DeviceNDArray"),
)
"""Classes that may be returned; of the abstract one among them, NumPy's own subclasses."""


def kinds() -> frozenset[type]:
    """These classes, of the libraries that are imported by now."""
    found: set[type] = {type(None)}
    for module, name in KINDS:
        if module.partition(".")[0] in sys.modules:
            with suppress(ImportError, AttributeError):
                found |= _with_subclasses(getattr(importlib.import_module(module), name), module == "numpy")
    return frozenset(found)


def _with_subclasses(kind: type, also: bool) -> set[type]:
    inner: list[type] = kind.__subclasses__() if also else []
    return {kind}.union(*(_with_subclasses(one, True) for one in inner if one.__module__ == "numpy"))


def finished(function: Callable[..., Any], allowed: frozenset[type]) -> Callable[..., Any]:
    """The function, raising `NotPlain` for any other output; lists and tuples may hold several."""

    def call(*arguments: Any) -> Any:
        output = function(*arguments)
        _check(output, allowed)
        return output

    return call


def _check(output: Any, allowed: frozenset[type]) -> None:
    if type(output) in (tuple, list):
        for part in output:
            _check(part, allowed)
    elif type(output) not in allowed:
        raise NotPlain(f"a value of type {type(output).__name__}")
