"""Python's arithmetic where a GPU's differs: casts that wrap around, functions that give inf and NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_IN_NUMPY = {"pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "acosh": "arccosh",
             "atanh": "arctanh"}  # fmt: skip
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


def device_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `math` that gives inf or NaN where Python raises: `math.exp(800)`, `math.sqrt(-1)`."""
    name = function.__name__

    def called(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (OverflowError, ValueError):
            other = getattr(np, _IN_NUMPY.get(name, name), None)
            if other is None:
                raise
            with np.errstate(all="ignore"):
                return float(other(*(np.float64(argument) for argument in arguments)))

    return called


class DeviceMath:
    """Stands in for the module `math` inside a kernel."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(math, name)
        return device_function(value) if callable(value) else value


class WrappingType:
    """Stands in for an integer type: calling it keeps the lower bits, as a cast on a GPU does.

    Args:
        name: such as `int8`.
        original: Numba's or NumPy's type.
    """

    def __init__(self, name: str, original: Any) -> None:
        self._name, self._original = name, original
        self._bits = int(name.removeprefix("u").removeprefix("int"))

    def __call__(self, value: Any = 0) -> Any:
        """The cast."""
        try:
            whole = int(value)
        except (TypeError, ValueError, OverflowError):  # not a number here: the original says so
            return self._original(value)
        kept = whole & ((1 << self._bits) - 1)
        if not self._name.startswith("u") and kept >> self._bits - 1:
            kept -= 1 << self._bits
        return getattr(np, self._name)(kept)

    def __str__(self) -> str:
        return self._name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def wrapping(value: Any) -> WrappingType | None:
    """A stand-in for Numba's and NumPy's integer types; None for anything else."""
    if isinstance(value, type) and issubclass(value, np.integer) and value.__name__ in _INTEGERS:
        return WrappingType(value.__name__, value)
    if type(value).__name__ == "Integer" and str(value) in _INTEGERS:  # numba.types.Integer
        return WrappingType(str(value), value)
    return None


class WrappingModule:
    """Stands in for `numpy` inside a kernel: its integer types wrap around, the rest is as it is."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(np, name)
        return wrapping(value) or value
