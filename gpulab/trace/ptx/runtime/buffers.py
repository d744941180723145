"""Device memory of a launch: regions of addresses, each a buffer of the host with bounds, a name, and a shape."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.log import GLOBAL, SHARED, View
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import Variable

_ALIGNMENT_BYTES = 512
"""Of a buffer in device memory, as PyTorch's allocator gives it."""

_FUNCTIONS = 0x7FFF << layout.REGION_SHIFT
"""Addresses of functions, as tables of them and virtual methods have: not null, all different, and of no memory."""

Bytes = NDArray[np.uint8]


@dataclass
class Region:
    """A piece of device memory."""

    number: int
    start: int
    """Device address of its first byte."""
    bytes: int
    host: int
    """Address of the first byte on the host."""
    flags: int = 0
    views: list[View] = field(default_factory=list)
    """Arrays in it, by device address."""
    owner: Any = None
    """Keeps the host's memory alive."""

    def view_at(self, address: int) -> View | None:
        """The first array that holds an address, or the first of all."""
        for view in self.views:
            size = view.item_bytes + sum(
                (extent - 1) * max(step, 0) for extent, step in zip(view.shape, view.strides, strict=True)
            )
            if view.address <= address < view.address + size:
                return view
        return self.views[0] if self.views else None


class DeviceMemory:
    """All regions of a launch.

    Args:
        variables: of the PTX module, by region number.
    """

    def __init__(self, variables: list[tuple[int, Variable]], numbers: dict[str, int]) -> None:
        self.regions: dict[int, Region] = {}
        self._owners: dict[int, Region] = {}
        self._spans: dict[int, tuple[int, int]] = {}
        self._functions: dict[str, int] = {}
        self._next = max(numbers.values(), default=layout.FIRST_REGION - 1) + 1
        for number, variable in variables:
            self._add_variable(number, variable, numbers)

    def _add_variable(self, number: int, variable: Variable, numbers: dict[str, int]) -> None:
        memory = np.zeros(max(variable.bytes, 1), np.uint8)
        size = variable.bytes // max(variable.count, 1)
        for place, value in enumerate(variable.values):
            if isinstance(value, str):
                name, _, offset = value.partition("+")
                if name in numbers:
                    value = (numbers[name] << layout.REGION_SHIFT) + layout.REGION_MIDDLE + int(offset or 0)
                else:
                    value = self._functions.setdefault(name, _FUNCTIONS + 16 * len(self._functions))
            raw = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            memory[place * size : (place + 1) * size] = np.frombuffer(raw, np.uint8)
        start = (number << layout.REGION_SHIFT) + layout.REGION_MIDDLE
        constant = layout.READ_ONLY | layout.UNCOUNTED | layout.CONSTANT
        flags = constant if variable.space == "const" else 0
        if variable.name.startswith(("$str", "__cudart", "_ZN08NumbaEnv")):
            flags |= layout.UNCOUNTED | layout.READ_ONLY  # the compiler's own tables: no kernel writes to them
        item = size if size > 1 or variable.count == 1 else 4 if variable.align % 4 == 0 else size
        view = View(plain_name(variable.name), GLOBAL, start, item, (variable.bytes // item,), (item,), item)
        self.regions[number] = Region(number, start, variable.bytes, memory.ctypes.data, flags, [view], memory)

    def add(self, array: NDArray[Any], name: str, flat: bool) -> int:
        """Gives an array a place; arrays that share memory on the host do so here.

        Args:
            array: whose memory the kernel uses.
            name: of the parameter.
            flat: whether an element has one index, as through a C pointer.

        Returns:
            The device address of its first element.
        """
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        low, _ = np.lib.array_utils.byte_bounds(owner)
        first, last = np.lib.array_utils.byte_bounds(array) if array.size else (low, low)
        if low not in self._owners:
            start = (self._next << layout.REGION_SHIFT) + layout.REGION_MIDDLE
            self._owners[low] = Region(self._next, start, 0, low, owner=owner)
            self.regions[self._next] = self._owners[low]
            self._spans[low] = (first, last)
            self._next += 1
        region = self._owners[low]
        origin = (region.number << layout.REGION_SHIFT) + layout.REGION_MIDDLE - low
        self._spans[low] = (min(first, self._spans[low][0]), max(last, self._spans[low][1]))
        begin, end = self._spans[low]
        region.start, region.host, region.bytes = begin + origin, begin, end - begin
        address = int(array.__array_interface__["data"][0]) + origin
        shape, strides = ((array.size,), (array.itemsize,)) if flat else (array.shape, array.strides)
        rows = array.shape if flat and array.ndim == 2 and array.flags.c_contiguous else ()
        region.views.append(View(name, GLOBAL, address, array.itemsize, shape, strides, array.itemsize, rows))
        return address

    def short_addresses(self) -> dict[int, int]:
        """For each region what to add to an address so that buffers follow each other closely, as on a device."""
        found, free = {}, _ALIGNMENT_BYTES
        for number, region in sorted(self.regions.items()):
            middle = (number << layout.REGION_SHIFT) + layout.REGION_MIDDLE
            found[number] = free - middle
            free += -(-(region.start - middle + region.bytes + 1) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        return found


def plain_name(mangled: str) -> str:
    """A variable's name as it stands in the source: `tile` of `_ZZ6matmulE4tile`."""
    parts, rest = [], mangled
    if not rest.startswith("_Z"):
        return mangled
    at = 0
    while at < len(rest):
        if rest[at].isdigit():
            end = at
            while end < len(rest) and rest[end].isdigit():
                end += 1
            length = int(rest[at:end])
            if length and end + length <= len(rest):
                parts.append(rest[end : end + length])
                at = end + length
                continue
            at = end
        else:
            at += 1
    return parts[-1] if parts else mangled


def shared_view(name: str, address: int, size: int, item: int) -> View:
    """A variable in shared memory."""
    return View(name, SHARED, address, item, (max(size // item, 1),), (item,), item)
