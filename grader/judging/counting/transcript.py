"""Writes down, in a student's process, what the host code launches: kernels, grids, and where each array came from.

A transcript holds plain values only and no result: the judge has it carried out again elsewhere, on other inputs
(`replay`). Nothing in it is believed. It can say which launches to make, and that is what the exercise asks for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.cuda_kernels import cuda_kernel
from gpulab.trace.arguments import Arguments, host_array, is_scalar, shape_of
from gpulab.trace.errors import LaunchError
from grader.judging.counting.kernel_forms import function_form

MOST_LAUNCHES = 5_000
"""In one call of an exercise."""

Bytes = NDArray[np.uint8]
_NOTHING: Bytes = np.empty(0, np.uint8)


def arrays_of(arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The arrays and tensors among the arguments of a call, in an order that both sides of a replay agree on."""
    values = [*arguments, *(named[name] for name in sorted(named))]
    return [value for value in values if isinstance(value, np.ndarray) or hasattr(value, "untyped_storage")]


@dataclass
class TranscriptBuffer:
    """A piece of memory that a kernel was given a part of."""

    key: Any
    """Its address."""
    owner: Any
    """Holds the memory, so that its address is not given to another array."""
    content: bytes
    """When it was looked at last: before the first launch, or after a launch."""
    types: set[np.dtype[Any]] = field(default_factory=set)
    launched: int = 0
    """Number of the last launch that was given it, from 1; 0 if none was."""
    changed: int = 0
    """Number of the last launch that changed it."""
    view: NDArray[Any] = field(default_factory=lambda: _NOTHING)
    """The array that lies in it, as it was passed last."""


class Transcript:
    """The launches of one call of an exercise.

    Args:
        arguments: of the call, by position.
        named: those by name.
    """

    def __init__(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        self.launches: list[dict[str, Any]] = []
        self._buffers: list[TranscriptBuffer] = []
        self._seen: dict[int, tuple[Bytes, Any]] = {}
        self._refused: LaunchError | None = None
        """Why the launch that is running cannot be written down; the tracer may have something better to say."""
        for value in arrays_of(arguments, named):
            try:
                key, whole, view = _memory(value)
                self._buffers.append(TranscriptBuffer(key, value, whole.tobytes(), {view.dtype}, view=view.copy()))
            except TypeError:  # NumPy has no such elements, and no kernel takes them
                self._buffers.append(TranscriptBuffer(None, value, b""))
        self._given = len(self._buffers)

    # ---------------------------------------------------------------------------------------------------- one launch

    def before(self, kernel: Any, grid: Any, block: Any, arguments: Sequence[Any], shared_bytes: int) -> None:
        """Notes a launch that is about to run, and what the host has written to its arrays since the last one."""
        function = getattr(kernel, "py_func", None)
        if not isinstance(function, FunctionType) and not isinstance(kernel, cuda_kernel):
            return  # the tracer refuses it
        if len(self.launches) >= MOST_LAUNCHES:
            raise LaunchError(f"More than {MOST_LAUNCHES:,} launches in one call. Let one launch do more work.")
        self._seen = {}
        writes: list[dict[str, Any]] = []
        passed = [self._argument(value, writes) for value in arguments]
        self.launches.append(
            {
                "kernel": self._kernel(kernel if function is None else function),
                "grid": list(shape_of(grid, "grid")),
                "block": list(shape_of(block, "block")),
                "shared_bytes": int(shared_bytes),
                "arguments": passed,
                "host_writes": writes,
            }
        )

    def after(self) -> None:
        """Looks at the arrays of the launch that has just ended.

        Raises:
            LaunchError: the launch cannot be written down.
        """
        if self._refused is not None:
            raise self._refused
        for number, (whole, value) in self._seen.items():
            buffer = self._buffers[number]
            if _address_on_gpu(value) is not None:  # what was looked at before is a copy
                _, whole, view = _memory(value)
                buffer.view = view if number >= self._given else buffer.view
            now = whole.tobytes()
            buffer.launched = len(self.launches)
            if now != buffer.content:
                buffer.content, buffer.changed = now, buffer.launched

    def _kernel(self, function: FunctionType | cuda_kernel) -> dict[str, Any]:
        if isinstance(function, cuda_kernel):
            return {"cpp": function.source, "name": function.name}
        try:
            return function_form(function, device=False)
        except LaunchError as error:
            self._refused = error
            return {}

    def _argument(self, value: Any, writes: list[dict[str, Any]]) -> dict[str, Any]:
        if is_scalar(value) or isinstance(value, tuple):
            return {"value": value}
        try:
            number, view, whole = self._buffer_of(value)
        except TypeError:
            return {"value": None}  # the tracer refuses it
        buffer = self._buffers[number]
        buffer.types.add(view.dtype)
        if number >= self._given:
            buffer.view = view
        self._seen[number] = whole, value
        content = whole.tobytes()
        if content != buffer.content:
            writes.append({"buffer": number, "bytes": len(content), **self._origin(content, view, number)})
            buffer.content = content
        return {"array": {"buffer": number, **_layout(view, whole)}}

    def _buffer_of(self, value: Any) -> tuple[int, NDArray[Any], Bytes]:
        """Number of the buffer that an array lies in, the array and the buffer's bytes.

        Raises:
            TypeError: it is no array that a kernel takes.
        """
        key, whole, view = _memory(value)
        for number, buffer in enumerate(self._buffers):
            if buffer.key == key:
                return number, view, whole
        self._buffers.append(TranscriptBuffer(key, value, b""))
        return len(self._buffers) - 1, view, whole

    def _origin(self, content: bytes, view: NDArray[Any], number: int) -> dict[str, Any]:
        """Where the host took what it has written to a buffer."""
        for place, given in enumerate(self._buffers[: self._given]):
            if given.content == content:
                return {"copy_of": place}
        items = np.frombuffer(content, np.dtype(f"V{view.dtype.itemsize}"))
        if len(items) and (items == items[0]).all():
            return {"filled": items[:1].tobytes()}
        for other, buffer in enumerate(self._buffers):
            if other != number and buffer.content == content:
                return {"copy_of": other}
        for place, given in enumerate(self._buffers[: self._given]):
            whole = len(content) == view.nbytes and view.flags.c_contiguous
            padded = _padded(given.view, view) if whole else None
            if padded is not None:
                return {"copy_of": place, **padded}
        return {"written": content}

    # ------------------------------------------------------------------------------------------------ what came of it

    def result(self, value: Any) -> dict[str, Any] | None:
        """Where in the launches' arrays a returned value stands, as a form of plain values.

        Returns:
            None for a value that no launch wrote.
        """
        if isinstance(value, (list, tuple)):
            items = [self.result(item) for item in value]
            return None if None in items or not items else {"items": items, "tuple": isinstance(value, tuple)}
        try:
            key, whole, view = _memory(value)
        except TypeError:
            return self._number(value)
        for number, buffer in enumerate(self._buffers):
            if buffer.key == key and buffer.launched and whole.tobytes() == buffer.content:
                return {"array": {"buffer": number, **_layout(view, whole)}}
        return self._copy(view)

    def _number(self, value: Any) -> dict[str, Any] | None:
        if not is_scalar(value) or isinstance(value, bool):
            return None
        place = self._copy(np.asarray(value))
        if place is not None and not isinstance(value, np.generic):
            place["python"] = type(value).__name__
        return place

    def _copy(self, array: NDArray[Any]) -> dict[str, Any] | None:
        """The part of a buffer that the host copied, perhaps as another type."""
        if not array.size or array.dtype.kind not in "biufc":
            return None
        results = [buffer for buffer in self._buffers[self._given :] if buffer.launched]
        for buffer in sorted(results, key=lambda one: (-one.changed, -one.launched)):
            for dtype in sorted(buffer.types | {array.dtype}, key=lambda one: one != array.dtype):
                with np.errstate(all="ignore"):
                    converted = array.astype(dtype)
                    if not np.array_equal(converted.astype(array.dtype), array, equal_nan=True):
                        continue
                at = _aligned(buffer.content, converted.tobytes(), dtype.itemsize)
                if at >= 0:
                    form = {"buffer": self._buffers.index(buffer), "offset": at, "shape": list(array.shape)}
                    form |= {"strides": list(np.empty(array.shape, dtype).strides), "type": dtype.str}
                    return {"array": form, "as": array.dtype.str}
            corner = _corner(buffer.view, array.shape)
            if corner is not None and np.array_equal(corner, array, equal_nan=True):
                whole = _memory(buffer.view)[1]
                if whole.tobytes() != buffer.content:
                    continue  # the host has written to it since
                form = {"buffer": self._buffers.index(buffer), **_layout(corner, whole)}
                return {"array": form, "as": array.dtype.str}
        return None


def _corner(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any] | None:
    """The first elements along each axis; None if there are not as many."""
    if array.ndim != len(shape) or any(have < want for have, want in zip(array.shape, shape, strict=True)):
        return None
    corner: NDArray[Any] = array[tuple(slice(0, want) for want in shape)]
    return corner


def _padded(given: NDArray[Any], made: NDArray[Any]) -> dict[str, Any] | None:
    """How the host made an array from an argument, by another type or by padding; None if it did not."""
    corner = _corner(made, given.shape)
    with np.errstate(all="ignore"):
        nan = made.dtype.kind in "fc"
        if corner is None or not np.array_equal(given.astype(made.dtype), corner, equal_nan=nan):
            return None
    outside = np.ones(made.shape, bool)
    outside[tuple(slice(0, want) for want in given.shape)] = False
    rest = made[outside].view(np.dtype(f"V{made.dtype.itemsize}"))
    if rest.size and not (rest == rest[0]).all():
        return None
    forms = {"given": [given.dtype.str, list(given.shape)], "made": [made.dtype.str, list(made.shape)]}
    return {**forms, "filled": rest[:1].tobytes()}


def _aligned(content: bytes, part: bytes, step: int) -> int:
    """Where a part stands in a buffer's content, between elements; -1 if nowhere."""
    at = content.find(part)
    while at > 0 and at % step:
        at = content.find(part, at + 1)
    return at


def _layout(view: NDArray[Any], whole: Bytes) -> dict[str, Any]:
    """A view of a buffer in plain values."""
    start = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0] if view.size else 0
    return {"offset": start, "shape": list(view.shape), "strides": list(view.strides), "type": view.dtype.str}


def _memory(value: Any) -> tuple[Any, Bytes, NDArray[Any]]:
    """Address and bytes of the memory that an array lies in, and the array, of which the host can read both.

    Raises:
        TypeError: it is no array.
    """
    array = host_array(value, Arguments(), {})
    if array is None:
        raise TypeError(type(value).__name__)
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    low, high = np.lib.array_utils.byte_bounds(owner)
    on_gpu = _address_on_gpu(value)
    key: Any = low if on_gpu is None else ("gpu", on_gpu)
    held = memoryview((ctypes.c_ubyte * (high - low)).from_address(low)) if array.size else _NOTHING
    whole = np.frombuffer(held, np.uint8)
    if on_gpu is not None:
        whole = whole.copy()
        moved = array.__array_interface__["data"][0] - low
        array = np.ndarray(array.shape, array.dtype, whole, moved, array.strides)
    return key, whole, array


def _address_on_gpu(value: Any) -> int | None:
    """Of an array's memory; None for one in host memory."""
    if isinstance(value, np.ndarray):
        return None
    if getattr(value, "is_cuda", False):
        return int(value.untyped_storage().data_ptr())
    return int(value.__cuda_array_interface__["data"][0]) if hasattr(value, "copy_to_host") else None
