"""Arrays as a kernel sees them: every element read or written is logged, every index is checked.

`TracedArray` serves any number of dimensions; `Vector` and `Matrix` are the same, faster. A float element comes out as
a NumPy scalar of its type, so that float32 arithmetic rounds as on a GPU and dividing by zero gives infinity; integers
and booleans come out as Python's own, which never overflow.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from sys import _getframe
from types import CodeType, FrameType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.log import ATOMIC, KINDS, LOAD, STORE, Log, View
from gpulab.trace.python.faults import out_of_bounds, refusal, shown

Array = NDArray[Any]
AccessCallback = Callable[[int, int, CodeType, int], None]
"""Takes the kind of an access, its distance from the first element in bytes, the code that made it, and where there."""


class TracedArray:
    """An array of any number of dimensions.

    Args:
        data: what it holds; written through.
        name: for messages and tables.
        log: that its accesses go to.
        space: `GLOBAL`, `SHARED`, or None for memory of one thread and constants, which is not logged.
        address: of its first element in bytes, in an address space of the tracer's own.
    """

    __array_ufunc__ = None  # or NumPy scalars would read the whole array to multiply with it
    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("_address", "_data", "_items", "_loads", "_log", "_name", "_note", "_space", "_stores", "_watch")

    def __init__(self, data: Array, name: str, log: Log, space: int | None, address: int = 0) -> None:
        self._data = data
        self._name = name
        self._log = log
        self._space = space
        self._address = address
        # A memoryview gives Python's own integers, and quickly; it has no float16 and no complex numbers.
        self._items: Any = data.data if data.dtype.kind in "biu" else data
        self._note: Callable[[tuple[Any, ...]], Any] = _forget
        self._loads = self._stores = 0
        self._watch: AccessCallback | None = None
        if space is not None:
            view = View(name, space, address, self._scale(), data.shape, data.strides, data.itemsize)
            number = log.add_view(view)
            self._note = log.entries.extend
            self._loads, self._stores = KINDS * number + LOAD, KINDS * number + STORE

    def watched(self, watch: AccessCallback) -> TracedArray:
        """The array itself, whose accesses are passed on although its memory is not logged; its views do the same."""
        address, scale = self._address, self._scale()

        def note(entry: tuple[Any, ...]) -> None:
            kind, at, code, position = entry
            watch(kind, address + at * scale, code, position)

        self._watch, self._note = watch, note
        self._loads, self._stores = LOAD, STORE
        return self

    def _scale(self) -> int:
        return 1

    def _at(self, index: tuple[int, ...]) -> int:
        """What is logged for an element: its distance from the first one in bytes."""
        return sum(map(operator.mul, index, self._data.strides))

    # ------------------------------------------------------------------------------------------ what a kernel may ask

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self._data.shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._data.size

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self._data.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self._data.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next, along each axis."""
        return self._data.strides

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._data.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._data.nbytes

    @property
    def T(self) -> TracedArray:
        """The transposed view; nothing is read."""
        return self._view(self._data.T)

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        for index in range(len(self._data)):
            yield self._get(index, _getframe(1))

    def __getitem__(self, index: Any) -> Any:
        return self._get(index, _getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._set(index, value, _getframe(1))

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        self._refuse(
            f"{self._name}.{attribute}", "A kernel works on single elements, and may use only the shape of an array."
        )

    def __repr__(self) -> str:
        return f"<{self._name}: array of shape {self.shape}, {self.dtype}>"

    # -------------------------------------------------------------------------------------------------- how it is done

    def _get(self, index: Any, frame: FrameType) -> Any:
        element = self._element(index, frame)
        if element is None:
            return self._view(self._data[index])
        self._note((self._loads, self._at(element), frame.f_code, frame.f_lasti))
        return self._items[element]

    def _set(self, index: Any, value: Any, frame: FrameType) -> None:
        element = self._element(index, frame)
        if element is None:
            self._fill(index, value, frame)
            return
        self._note((self._stores, self._at(element), frame.f_code, frame.f_lasti))
        self._put(element, value, frame)

    def _update(self, index: Any, change: Callable[[Any], Any], frame: FrameType) -> Any:
        """An atomic operation: what the element was before it became `change` of that."""
        if self._space is None:
            self._refuse("an atomic operation on memory of one thread", "Atomics work on global and shared arrays.")
        element = self._element(index, frame)
        if element is None:
            self._refuse(f"an atomic operation on {self._name}[{shown(index)}]", "It needs one index for each axis.")
        self._note((self._loads - LOAD + ATOMIC, self._at(element), frame.f_code, frame.f_lasti))
        before = self._items[element]
        self._put(element, change(before), frame)
        return before

    def _put(self, element: tuple[int, ...], value: Any, frame: FrameType) -> None:
        if isinstance(value, TracedArray):
            self._refuse(f"{self._name}[{shown(element)}] = {value!r}", "One element takes one value.")
        if not self._data.flags.writeable:
            self._refuse(
                f"writing to {self._name}", "It is constant, or belongs to an array that NumPy marks read-only."
            )
        try:
            self._data[element] = value
        except OverflowError:  # a GPU keeps the lowest bits
            bits = 8 * self._data.itemsize
            self._data[element] = np.array(int(value) % 2**bits, dtype=f"u{bits // 8}").view(self._data.dtype)
        except (TypeError, ValueError):
            self._refuse(f"{self._name}[{shown(element)}] = {value!r}", f"Its elements are {self._data.dtype}.")

    def _fill(self, index: Any, value: Any, frame: FrameType) -> None:
        target = self._view(self._data[index])
        if isinstance(value, TracedArray) and value.shape != target.shape:
            what = f"{self._name}[{shown(index)}] has shape {target.shape}, what is assigned {value.shape}"
            self._refuse(what, "Both sides need the same shape.")
        for element in np.ndindex(target.shape):
            target._set(element, value._get(element, frame) if isinstance(value, TracedArray) else value, frame)

    def _view(self, data: Array) -> TracedArray:
        moved = data.__array_interface__["data"][0] - self._data.__array_interface__["data"][0] if data.size else 0
        found = traced(data, self._name, self._log, self._space, self._address + moved)
        return found if self._watch is None else found.watched(self._watch)

    def _element(self, index: Any, frame: FrameType) -> tuple[int, ...] | None:
        """The index of one element, checked; None when it names a slice or a row."""
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) - sum(part is None or part is Ellipsis for part in parts) > self._data.ndim:
            what = f"{self._name}[{shown(index)}]: {len(parts)} indexes"
            self._refuse(what, f"'{self._name}' has {self._data.ndim} dimension{'s' if self._data.ndim > 1 else ''}.")
        if any(part is Ellipsis or part is None for part in parts):
            return None
        checked = []
        for axis, part in enumerate(parts):
            if isinstance(part, slice):
                continue
            try:
                number = operator.index(part)
            except TypeError:
                element = f"{self._name}[{shown(index)}]"
                self._refuse(f"{element}: {shown(part)} is not an int", "Divide with //, or convert with int(…).")
            if not 0 <= number < self._data.shape[axis]:
                shape, space, log = self._data.shape, self._space, self._log
                raise out_of_bounds(self._name, shape, space, index, axis, number, frame, log)
            checked.append(number)
        return tuple(checked) if len(checked) == self._data.ndim else None

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise refusal(what, remedy, self._log)


class Vector(TracedArray):
    """An array of one dimension."""

    __slots__ = ("_length",)

    def __init__(self, data: Array, name: str, log: Log, space: int | None, address: int = 0) -> None:
        super().__init__(data, name, log, space, address)
        self._length = len(data)

    def _scale(self) -> int:
        return self._data.strides[0]

    def _at(self, index: tuple[int, ...]) -> int:
        return index[0]

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and 0 <= index < self._length:
            frame = _getframe(1)
            self._note((self._loads, index, frame.f_code, frame.f_lasti))
            return self._items[index]
        return self._get(index, _getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        frame = _getframe(1)
        if type(index) is int and 0 <= index < self._length:
            try:
                self._data[index] = value
            except (TypeError, ValueError, OverflowError):
                pass  # the slow way wraps what is too large and says what is wrong with the rest
            else:
                self._note((self._stores, index, frame.f_code, frame.f_lasti))
                return
        self._set(index, value, frame)


class Matrix(TracedArray):
    """An array of two dimensions."""

    __slots__ = ("_columns", "_down", "_right", "_rows")

    def __init__(self, data: Array, name: str, log: Log, space: int | None, address: int = 0) -> None:
        super().__init__(data, name, log, space, address)
        self._rows, self._columns = data.shape
        self._down, self._right = data.strides

    def __getitem__(self, index: Any) -> Any:
        if type(index) is tuple and len(index) == 2:
            row, column = index
            if type(row) is type(column) is int and 0 <= row < self._rows and 0 <= column < self._columns:
                frame = _getframe(1)
                self._note((self._loads, row * self._down + column * self._right, frame.f_code, frame.f_lasti))
                return self._items[index]
        return self._get(index, _getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        frame = _getframe(1)
        if type(index) is tuple and len(index) == 2:
            row, column = index
            if type(row) is type(column) is int and 0 <= row < self._rows and 0 <= column < self._columns:
                try:
                    self._data[index] = value
                except (TypeError, ValueError, OverflowError):
                    pass
                else:
                    self._note((self._stores, row * self._down + column * self._right, frame.f_code, frame.f_lasti))
                    return
        self._set(index, value, frame)


def traced(data: Array, name: str, log: Log, space: int | None, address: int = 0) -> TracedArray:
    """The fastest kind of traced array for these dimensions; the arguments are those of `TracedArray`."""
    kind = {1: Vector, 2: Matrix}.get(data.ndim, TracedArray)
    return kind(data, name, log, space, address)


def _forget(entry: tuple[Any, ...]) -> None:
    """Takes the place of the log for memory that is not traced."""


def _whole_array(self: TracedArray, *_: Any) -> NoReturn:
    self._refuse(
        f"arithmetic on the whole array '{self._name}'",
        "A kernel works on single elements: write [i] after it. If it is meant to be a number, does the launch pass "
        "its arguments in the order of the kernel's parameters?",
    )


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    for _side in ("", "r", "i"):
        setattr(TracedArray, f"__{_side}{_name}__", _whole_array)
for _name in ("neg", "abs", "bool", "float", "int", "lt", "le", "gt", "ge", "eq", "ne"):
    setattr(TracedArray, f"__{_name}__", _whole_array)
