"""`cuda.threadIdx` and its like inside a traced kernel: three numbers, which cannot be computed with as one."""

from __future__ import annotations

from typing import Any, NoReturn

from gpulab.trace.errors import Index, UnsupportedError
from gpulab.trace.python.places import kernel_frame, place_of

_AS_ONE_NUMBER = (
    "add radd sub rsub mul rmul floordiv rfloordiv truediv rtruediv mod rmod lshift rlshift rshift rrshift and rand "
    "eq ne lt le gt ge index int float neg bool getitem iter"
)


class Dim3:
    """x, y and z.

    Args:
        name: of the attribute of `cuda`.
        index: the three numbers.
    """

    __slots__ = ("name", "x", "y", "z")
    __array_ufunc__ = None  # a NumPy scalar leaves the operation to this class

    def __init__(self, name: str, index: Index) -> None:
        self.name = name
        self.x, self.y, self.z = index

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        self._refuse()

    def _refuse(self, *_: Any) -> NoReturn:
        place = place_of(kernel_frame())
        what = f"cuda.{self.name} is three numbers ({place})"
        raise UnsupportedError(f"{what}. Write cuda.{self.name}.x, or .y, or .z.", place.line)


for _operation in _AS_ONE_NUMBER.split():
    setattr(Dim3, f"__{_operation}__", Dim3._refuse)
