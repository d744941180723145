"""Memory that a kernel makes itself: shared arrays of a block, local arrays of a thread, constants."""

from __future__ import annotations

from sys import _getframe
from types import CodeType
from typing import Any

import numpy as np

from gpulab.trace.errors import LaunchError, UnsupportedError
from gpulab.trace.log import SHARED, STORE
from gpulab.trace.python.elements import numpy_type
from gpulab.trace.python.engine import Engine, OwnUnwritten
from gpulab.trace.python.memory import Array, TracedArray, traced
from gpulab.trace.python.places import assigned_name, kernel_frame, place_of
from gpulab.unwritten import rubbish

SHARED_LIMIT_BYTES = 48 * 1024
"""What a block may have without asking the driver for more, on every GPU that the course knows."""

_DYNAMIC_ADDRESS = 1 << 20
"""Where dynamic shared memory starts, in the tracer's numbering: behind everything static, in bank 0."""


class SharedMemory:
    """`cuda.shared` inside a kernel.

    Args:
        engine: the launch.
        dynamic_bytes: what the launch asked for.
    """

    def __init__(self, engine: Engine, dynamic_bytes: int) -> None:
        self._engine = engine
        self._arrays: dict[int, tuple[TracedArray, Array]] = {}
        self._dynamic = rubbish((dynamic_bytes,), np.dtype(np.uint8))
        self.static_bytes = 0
        self._check("as the launch asks for", 0)

    @property
    def used_bytes(self) -> int:
        """Static and dynamic, of one block."""
        return self.static_bytes + self._dynamic.nbytes

    def renew(self) -> None:
        """Fills everything with rubbish again: a new block starts."""
        for _, data in self._arrays.values():
            data[...] = rubbish(data.shape, data.dtype)
        self._dynamic[...] = 0xFF  # NaN for floats

    def array(self, shape: int | tuple[int, ...], dtype: Any, alignment: int | None = None) -> TracedArray:
        """One array for all threads of the block that pass here; shape 0 is all of the dynamic memory."""
        site = self._engine.log.places.number_at(_getframe(1))
        if site not in self._arrays:
            name = assigned_name(_getframe(1)) or "shared"
            self._arrays[site] = self._new(_shape(shape), numpy_type(dtype), name)
        return self._arrays[site][0]

    def _new(self, shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> tuple[TracedArray, Array]:
        log = self._engine.log
        if shape == (0,):
            count = self._dynamic.nbytes // dtype.itemsize
            if not count:
                place = place_of(kernel_frame())
                raise LaunchError(
                    f"'{name}' ({place}) takes its size from the launch, and the launch gives none. "
                    "Write kernel[grid, block, 0, bytes](…).",
                    place.line,
                )
            data = self._dynamic[: count * dtype.itemsize].view(dtype)
            return traced(data, name, log, SHARED, _DYNAMIC_ADDRESS), data
        address = -(-self.static_bytes // 16) * 16
        data = rubbish(shape, dtype)
        self.static_bytes = address + data.nbytes
        place = place_of(kernel_frame())
        self._check(f"with '{name}' of shape {shape} ({place})", place.line)
        return traced(data, name, log, SHARED, address), data

    def _check(self, asking: str, line: int) -> None:
        if self.used_bytes > SHARED_LIMIT_BYTES:
            raise LaunchError(
                f"{self.used_bytes:,} bytes of shared memory per block, {asking}: the limit is {SHARED_LIMIT_BYTES:,}. "
                "Use smaller tiles.",
                line,
            )


class LocalMemory:
    """`cuda.local` inside a kernel."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def array(self, shape: int | tuple[int, ...], dtype: Any, alignment: int | None = None) -> TracedArray:
        """An array of one thread; it is not counted, but elements are missed that were read and never written to."""
        name, log = assigned_name(kernel_frame()) or "local", self._engine.log
        data = rubbish(_shape(shape), numpy_type(dtype))
        fresh = bytearray(b"\1") * data.size

        def watch(kind: int, at: int, code: CodeType, position: int) -> None:
            element = at // data.itemsize
            if kind == STORE:
                fresh[element] = 0
            elif fresh[element]:
                place = int(log.places.numbers_of(code)[position // 2])
                index = tuple(map(int, np.unravel_index(element, data.shape)))
                self._engine.unwritten.setdefault(
                    (place, name), OwnUnwritten(name, index, place, log.block, log.thread)
                )

        return traced(data, name, log, None).watched(watch)


class ConstantMemory:
    """`cuda.const` inside a kernel."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def array_like(self, values: Any) -> TracedArray:
        """A constant copy of a global array, whose reads are not counted.

        An array that the kernel was given or has made is not a constant: it is returned as it is, as on a GPU.
        """
        if isinstance(values, TracedArray):
            return values
        return constant(values, assigned_name(kernel_frame()) or "const", self._engine)


def constant(values: Any, name: str, engine: Engine) -> TracedArray:
    """An array that a kernel may only read."""
    data = np.array(values)
    data.flags.writeable = False
    return traced(data, name, engine.log, None)


def _shape(shape: Any) -> tuple[int, ...]:
    extents = shape if isinstance(shape, tuple) else (shape,)
    if not extents or not all(isinstance(extent, (int, np.integer)) and extent >= 0 for extent in extents):
        place = place_of(kernel_frame())
        raise UnsupportedError(
            f"{shape!r} is not a shape ({place}). It must be constant: an int, or a tuple of ints.", place.line
        )
    return tuple(int(extent) for extent in extents)
