"""Where a Triton kernel makes its first NaN, where exp overflows, and what its masked loads put in place of elements.

None of it is an error: padding may be NaN, as long as no result depends on it. Tests ask for it when a result is wrong.
"""

from __future__ import annotations

import functools
import linecache
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIGNS = {"add": "+", "subtract": "-", "multiply": "×", "divide": "/", "true_divide": "/"}
"""NumPy's names of operators."""
EXPONENTIALS = ("exp", "exp2")
ABOVE_0 = 0.01
"""What rounding does not explain, if the largest number was subtracted."""


@dataclass
class Oddities:
    """Of one launch."""

    nan: str = ""
    """Where the first NaN was made of numbers, and how."""
    overflow: str = ""
    """Where exp first gave inf."""
    rising: str = ""
    """Where exp first got a number above 0."""
    undefined: str = ""
    """The first load of floats without `other` whose mask was false somewhere."""
    paddings: dict[str, float] = field(default_factory=dict)
    """What `other` was where a mask was false, by the name of the kernel's parameter; the last one."""

    def loaded(self, name: str, place: str, mask: Any, other: Any) -> None:
        """Notes a load of floats whose mask is false somewhere.

        Args:
            name: of the tensor.
            place: in the kernel.
            mask: of the block.
            other: the block that stands for what is not loaded; None if there is none.
        """
        if other is None:
            undefined = "where its mask is false, the value is undefined (here it is NaN)"
            self.undefined = self.undefined or f"{place} is a load without other=: {undefined}."
        else:
            self.paddings[name] = float(np.broadcast_to(other, np.shape(mask))[~np.asarray(mask)].flat[0])

    def computed(self, found: Any, operands: tuple[Any, ...], operation: str, place: Callable[[], str]) -> None:
        """Notes what one operation on blocks made.

        Args:
            found: its result.
            operands: what it was given.
            operation: NumPy's name for it.
            place: of the line in the kernel, asked for only where something is found.
        """
        if found.dtype.kind != "f":
            return
        floats = [np.broadcast_to(one, found.shape) for one in operands if np.asarray(one).dtype.kind == "f"]
        if not self.rising and operation in EXPONENTIALS and floats and (floats[0] > ABOVE_0).any():
            self.rising = f"{place()}: {operation} gets {float(np.nanmax(floats[0])):.4g} there."
        if not self.overflow and operation in EXPONENTIALS and floats and np.isinf(found).any():
            largest = f"{float(floats[0][np.isinf(found)].flat[0]):.4g}"
            self.overflow = f"{place()}: {operation} gets {largest} there, and gives inf."
        if self.nan or not (bad := np.isnan(found)).any():
            return
        for one in floats:
            bad &= ~np.isnan(one)
        if bad.any():
            shown = [f"{float(one[bad].flat[0]):.4g}" for one in floats]
            shown = [f"({one})" if one.startswith("-") and number else one for number, one in enumerate(shown)]
            sign = SIGNS.get(operation)
            how = f" {sign} ".join(shown) if sign and len(shown) == 2 else f"{operation} of {' and '.join(shown)}"
            self.nan = f"The first NaN is made in {place()[0].lower()}{place()[1:]}: it is {how}."

    def multiplied(self, found: Any, operands: tuple[Any, ...], place: Callable[[], str]) -> None:
        """Notes a NaN that `tl.dot` made of numbers."""
        if not self.nan and np.isnan(found).any() and not any(np.isnan(one).any() for one in operands):
            self.nan = f"The first NaN is made in {place()[0].lower()}{place()[1:]}: tl.dot multiplies 0 and inf there."


def place_of(file: str, line: int) -> str:
    """A line of a kernel, with its text."""
    source = linecache.getline(file, line).strip()
    return f"Line {line} (`{source}`)" if source else f"Line {line}"


def nan_of(launch: Mapping[str, Any]) -> str:
    """Where the NaNs of a wrong result come from, as sentences; nothing if the launch made none.

    Args:
        launch: as `one_kernel` gives it.
    """
    found = [launch.get(name, "") for name in ("overflow", "nan", "undefined")]
    return next((one for one in found if one), "")


def install(interpreter: Any, running: list[Any], line: Callable[[str], int]) -> None:
    """Has every operation on blocks of floats looked at.

    Args:
        interpreter: Triton's module.
        running: the launch that the interpreter is in, as `Programs`.
        line: of a file, that is being run.
    """
    builder = type(interpreter.interpreter_builder)

    def watching(operator: Any) -> Any:
        @functools.wraps(operator)
        def applied(self: Any, *operands: Any) -> Any:
            found = operator(self, *operands)
            if running:
                launch, blocks = running[-1], tuple(one.data for one in operands if hasattr(one, "data"))
                name = getattr(operands[-1], "__name__", "operation")
                launch.oddities.computed(found.data, blocks, name, lambda: place_of(launch.file, line(launch.file)))
            return found

        return applied

    for name in ("unary_op", "binary_op", "ternary_op"):
        setattr(builder, name, watching(getattr(builder, name)))
