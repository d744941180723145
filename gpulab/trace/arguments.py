"""What a launch is given: grid and block as three ints each, and arguments as the kernel will see them."""

from __future__ import annotations

import inspect
import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from gpulab.trace.errors import Index, LaunchError
from gpulab.trace.log import GLOBAL, Log
from gpulab.trace.python.memory import Array, traced
from gpulab.unwritten import unwritten_bytes

THREADS_LIMIT = 1024
_BLOCK_LIMITS = (1024, 1024, 64)
_GRID_LIMITS = (2**31 - 1, 65_535, 65_535)
_ALIGNMENT_BYTES = 512
"""Of a buffer in device memory, as PyTorch's allocator gives it."""

_NO_NUMBERS = "Argument '{name}' is an array of {kind}. The tracer takes arrays of NumPy's integers and floats."


def shape_of(given: Any, what: str) -> Index:
    """Grid or block as x, y, z.

    Args:
        given: an int, or a tuple or list of one to three ints.
        what: `grid` or `block`.

    Raises:
        LaunchError: a GPU does not launch that.
    """
    extents = list(given) if isinstance(given, (tuple, list)) else [given]
    if not 1 <= len(extents) <= 3:
        raise LaunchError(f"{what} {given!r} has {len(extents)} dimensions. It has one, two or three.")
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, numbers.Integral):
            raise LaunchError(f"{what} {given!r}: {extent!r} is not an int. Divide with //: -(-n // threads).")
    x, y, z = (int(extent) for extent in (*extents, 1, 1)[:3])
    of_what, limits = ("blocks", _GRID_LIMITS) if what == "grid" else ("threads", _BLOCK_LIMITS)
    if min(x, y, z) < 1:
        down = " Was a division rounded down to 0?" if 0 in (x, y, z) else ""
        raise LaunchError(f"{what} {given!r} has no {of_what}. A launch needs at least one along each axis.{down}")
    if what == "block" and x * y * z > THREADS_LIMIT:
        raise LaunchError(f"block {given!r} has {x * y * z:,} threads. A block has at most {THREADS_LIMIT:,}.")
    for axis, extent, limit in zip("xyz", (x, y, z), limits, strict=True):
        if extent > limit:
            raise LaunchError(f"{what} {given!r} has {extent:,} {of_what} along {axis}. The limit is {limit:,}.")
    return x, y, z


def refuse_names(kernel: str, named: Mapping[str, Any]) -> None:
    """Refuses a launch that gives arguments by name, which no GPU knows.

    Raises:
        LaunchError: there are some.
    """
    if named:
        given = ", ".join(f"{name}=…" for name in named)
        raise LaunchError(
            f"The launch of '{kernel}' passes arguments by name: {given}. A kernel takes them by position only."
        )


@dataclass
class Arguments:
    """The kernel's arguments, as the tracer passes them, and what is left to do when it has run."""

    values: list[Any] = field(default_factory=list)
    copies_back: list[Callable[[], None]] = field(default_factory=list)
    unwritten: list[tuple[int, Any]] = field(default_factory=list)
    """Buffers that hold elements that nothing was written to: address, and for each byte whether it is one."""

    def finish(self) -> None:
        """Copies results to where the arguments came from, if that is another device."""
        for copy in self.copies_back:
            copy()


def traced_arguments(function: FunctionType, given: Sequence[Any], log: Log) -> Arguments:
    """Arrays become traced arrays, numbers stay.

    Args:
        function: the kernel; its parameters give the arrays' names.
        given: NumPy arrays, torch tensors, Numba's device arrays, numbers, tuples of numbers.
        log: that the arrays write to.

    Raises:
        LaunchError: too few or too many, or one that no kernel takes.
    """
    names = list(inspect.signature(function).parameters)
    if len(names) != len(given):
        wanted = f"{len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})"
        raise LaunchError(f"Kernel '{function.__name__}' takes {wanted}, the launch gives {len(given)}.")
    result, buffers = Arguments(), _Buffers()
    hosts: dict[int, Any] = {}
    for name, value in zip(names, given, strict=True):
        try:
            array = host_array(value, result, hosts)
        except TypeError:  # NumPy has no such elements
            raise LaunchError(_NO_NUMBERS.format(name=name, kind=str(value.dtype).rpartition(".")[2])) from None
        if array is not None:
            if array.dtype.kind not in "biufc" or array.dtype.byteorder == ">":
                raise LaunchError(_NO_NUMBERS.format(name=name, kind=array.dtype))
            result.values.append(traced(array, name, log, GLOBAL, buffers.address_of(array)))
            mask = (
                unwritten_bytes(array.reshape(-1).view(np.uint8), array.itemsize) if array.flags.c_contiguous else None
            )
            if mask is not None:
                result.unwritten.append((buffers.address_of(array), mask))
        elif is_scalar(value) or (isinstance(value, tuple) and all(map(is_scalar, value))):
            result.values.append(value)
        else:
            kind = type(value).__name__
            message = f"Argument '{name}' is a {kind}. A kernel takes arrays and numbers."
            if isinstance(value, (list, tuple)):
                message += " Make an array of it: gpulab.device_array(…)."
            raise LaunchError(message)
    return result


def is_scalar(value: Any) -> bool:
    """Whether it is a number, of Python's or NumPy's."""
    return isinstance(value, (bool, numbers.Number, np.generic)) and not isinstance(value, np.str_)


class _Buffers:
    """Gives every piece of memory an address of its own; views of one array share it, misaligned ones stay so."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}
        self._free = _ALIGNMENT_BYTES
        self._alive: list[Array] = []

    def address_of(self, array: Array) -> int:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        low, high = np.lib.array_utils.byte_bounds(owner)
        if low not in self._known:
            self._alive.append(owner)
            self._known[low] = self._free
            self._free += -(-(high - low + 1) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        start: int = array.__array_interface__["data"][0]
        return self._known[low] + start - low


def host_array(value: Any, result: Arguments, hosts: dict[int, Any]) -> Array | None:
    """The argument as a NumPy array whose memory the kernel may use; None if it is no array."""
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_tensor(torch, value, result, hosts)
    if hasattr(value, "copy_to_host") and hasattr(value, "copy_to_device"):  # Numba's device arrays
        host: Array = np.asarray(value.copy_to_host())
        result.copies_back.append(lambda: value.copy_to_device(host))
        return host
    return None


def _of_tensor(torch: Any, tensor: Any, result: Arguments, hosts: dict[int, Any]) -> Array:
    """A view of the tensor's whole storage, so that tensors that share one still do."""
    flat = tensor.detach().as_strided((tensor.untyped_storage().nbytes() // tensor.element_size(),), (1,), 0)
    key = tensor.untyped_storage().data_ptr()
    if key not in hosts:
        hosts[key] = flat.cpu().numpy()
        if flat.is_cuda:
            host = hosts[key]
            result.copies_back.append(lambda: flat.copy_(torch.from_numpy(host)))
    whole = hosts[key].view(flat[:0].cpu().numpy().dtype)
    strides = [step * tensor.element_size() for step in tensor.stride()]
    offset = tensor.storage_offset() * tensor.element_size()
    return np.ndarray(tuple(tensor.shape), whole.dtype, whole, offset, strides)
