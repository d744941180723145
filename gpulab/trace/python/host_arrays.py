"""Numba's own device arrays and streams where there is no GPU: `cuda.to_device`, `copy_to_host`, `cuda.stream`.

They lie in host memory and launches run on them in the tracer. Host code can copy them, index them and ask their
shape; it cannot compute with them, as it could not on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.unwritten import rubbish

Array = NDArray[Any]


class HostArray(np.ndarray[Any, Any]):
    """Takes the place of `numba.cuda`'s DeviceNDArray."""

    __array_ufunc__ = None  # type: ignore[assignment] # no arithmetic: a DeviceNDArray has none

    def copy_to_host(self, ary: Array | None = None, stream: Any = 0) -> Array:
        """A copy in an ordinary array, or in `ary`."""
        if ary is None:
            return np.array(self.view(np.ndarray))
        np.copyto(ary, self.view(np.ndarray))
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrites this array with another one of its shape."""
        np.copyto(self.view(np.ndarray), np.asarray(ary))


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """As `cuda.to_device`: a copy of an array, also where `copy` is False, or a copy into `to`."""
    if to is not None:
        to.copy_to_device(obj)
        return to
    return np.array(obj, order="A").view(HostArray)


def device_array(
    shape: int | tuple[int, ...], dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> HostArray:
    """As `cuda.device_array`: memory that nothing was written to. It holds rubbish, so that reading it shows."""
    made = np.empty(shape, dtype, order="F" if order == "F" else "C")
    made[...] = rubbish((), made.dtype)
    return made.view(HostArray)


def device_array_like(ary: Any, stream: Any = 0) -> HostArray:
    """As `cuda.device_array_like`: the same shape and type, and rubbish in it."""
    return device_array(ary.shape, ary.dtype)


class HostStream:
    """Takes the place of a stream of `numba.cuda`'s: whatever it is given is done at once."""

    def synchronize(self) -> None:
        """Does nothing."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[HostStream]:
        """The stream itself."""
        yield self


def stream() -> HostStream:
    """As `cuda.stream`."""
    return HostStream()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "to_device": to_device,
    "device_array": device_array,
    "device_array_like": device_array_like,
    "stream": stream,
}
"""Name in `numba.cuda` → what takes its place without a GPU."""
