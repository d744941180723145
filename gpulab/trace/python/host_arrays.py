"""Numba's own device arrays, streams and events where there is no GPU: `cuda.to_device`, `copy_to_host`, `cuda.stream`.

They lie in host memory and launches run on them in the tracer. Host code can copy them, index them and ask their
shape; it cannot compute with them, as it could not on a GPU. What only a GPU could answer is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.errors import UnsupportedError
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


def host_and_device_array(
    shape: int | tuple[int, ...], dtype: Any = np.float64, strides: Any = None, order: str = "C", **how: Any
) -> Array:
    """As `cuda.pinned_array`, `mapped_array` and `managed_array`: host code can compute with it."""
    return device_array(shape, dtype, strides, order).view(np.ndarray)


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


class HostEvent:
    """Takes the place of an event of `numba.cuda`'s: whatever was launched before it has ended.

    Args:
        timing: whether `elapsed_time` will be asked for.
    """

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self._seconds = 0.0

    def record(self, stream: Any = 0) -> None:
        """Remembers the time."""
        self._seconds = time.perf_counter()

    def wait(self, stream: Any = 0) -> None:
        """Does nothing."""

    def synchronize(self) -> None:
        """Does nothing."""

    def query(self) -> bool:
        """True: it has ended."""
        return True

    def elapsed_time(self, evtend: HostEvent) -> float:
        """Milliseconds from this event to another one."""
        return (evtend._seconds - self._seconds) * 1e3


def select_device(device_id: int) -> None:
    """As `cuda.select_device` on a machine with one GPU.

    Raises:
        UnsupportedError: it is another one.
    """
    if device_id != 0:
        raise UnsupportedError(f"cuda.select_device({device_id}): the only device here is 0.")


def needs_gpu(name: str) -> Callable[..., NoReturn]:
    """What refuses a function of `numba.cuda` that only a GPU can answer."""

    def refused(*_: Any, **named: Any) -> NoReturn:
        raise UnsupportedError(f"cuda.{name} needs a GPU, and there is none here. Do without it.")

    return refused


_REFUSED = ("get_current_device", "current_context", "list_devices")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "to_device": to_device,
    "device_array": device_array,
    "device_array_like": device_array_like,
    "stream": stream,
    "default_stream": stream,
    "event": HostEvent,
    "event_elapsed_time": HostEvent.elapsed_time,
    "pinned_array": host_and_device_array,
    "mapped_array": host_and_device_array,
    "managed_array": host_and_device_array,
    "select_device": select_device,
    "synchronize": lambda: None,
    "close": lambda: None,
    **{name: needs_gpu(name) for name in _REFUSED},
}
"""Name in `numba.cuda` → what takes its place without a GPU."""
