"""Tensor-core instructions in Python, a whole warp at a time: rows of operands to rows of results.

Products are exact and summed in float64, then rounded once to the type of the result: at least as precise as a GPU,
whose order of summation is not documented. Integers wrap around, or saturate with `.satfinite`.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.errors import BarrierError, OutOfBoundsError, TraceError
from gpulab.trace.ptx.failures import access_message, index_of, place_of
from gpulab.trace.ptx.instructions.matrix import types_of
from gpulab.trace.ptx.instructions.memory import space_of
from gpulab.trace.ptx.runtime import collective, layout
from gpulab.trace.ptx.runtime.fragments import BYTES, Shape, mma_fragment, wmma_count, wmma_fragment
from gpulab.trace.ptx.runtime.machine import runtime_function
from gpulab.trace.ptx.text.syntax import Instruction

if TYPE_CHECKING:
    from gpulab.trace.ptx.launch import PtxLaunch

Values = NDArray[Any]


def compute(launch: PtxLaunch, warp: int, mask: int, one: Instruction, number: int) -> None:
    """Carries out a matrix instruction for a warp, from rows of operands to rows of results."""
    if mask != (1 << 32) - 1:
        _whole_warp(launch, warp, one, mask)
    rows = launch.operands.reshape(32, 32)
    if one.opcode == "ldmatrix":
        result = _load_rows(launch, warp, one, number, rows[1] + rows[2])
    elif one.opcode == "wmma" and one.modifiers[0] in ("load", "store"):
        starts, strides = rows[1] + rows[2], rows[3] & 0xFFFFFFFF
        _same_everywhere(launch, one, starts, "pointer")
        _same_everywhere(launch, one, strides, "leading dimension")
        tile = _Tile(launch, warp, one, number, int(starts[0]), int(strides[0]))
        if one.modifiers[0] == "store":
            tile.store(rows[4:])
            return
        result = tile.load()
    else:
        result = _multiply(one, rows, launch.options.tensor_key)
    first = collective.RESULT // 32
    rows[first : first + len(result)] = result


def _whole_warp(launch: PtxLaunch, warp: int, one: Instruction, mask: int) -> None:
    place = place_of(launch, one)
    message = f"{one.name} needs all 32 lanes of a warp; here are {mask.bit_count()} ({place})."
    raise BarrierError(message, place.line)


def _same_everywhere(launch: PtxLaunch, one: Instruction, values: Values, what: str) -> None:
    """What a GPU loads or stores is not defined where lanes disagree (PTX ISA, `wmma.load`)."""
    others = np.flatnonzero(values != values[0])
    if len(others):
        place = place_of(launch, one)
        message = f"{one.name} needs the same {what} in all 32 lanes of a warp; lane {others[0]} has another ({place})."
        raise TraceError(message, place.line)


def _unpack(rows: Values, kind: str, count: int) -> Values:
    """Elements of fragments, shape (32, count), from rows of registers."""
    if kind == "f64":
        return np.ascontiguousarray(rows[:count].T).view(np.float64)
    registers = -(-count * BYTES[kind] // 4)
    words = np.ascontiguousarray((rows[:registers] & 0xFFFFFFFF).astype(np.uint32).T)
    if kind == "tf32":
        return (words & 0xFFFFE000).view(np.float32).astype(np.float64)
    if kind == "bf16":
        halves = words.view(np.uint16)[:, :count].astype(np.uint32) << 16
        return halves.view(np.float32).astype(np.float64)
    numpy_kind = {"f16": np.float16, "f32": np.float32, "s32": np.int32, "s8": np.int8, "u8": np.uint8}[kind]
    found = words.view(numpy_kind)[:, :count]
    return found.astype(np.int64 if kind[0] in "su" else np.float64)


def _pack(elements: Values, kind: str) -> Values:
    """Rows of registers from elements of fragments, shape (32, count)."""
    if kind == "f64":
        return np.ascontiguousarray(elements.astype(np.float64)).view(np.int64).T
    if kind == "bf16":
        raise KeyError(kind)
    numpy_kind = {"f16": np.float16, "f32": np.float32, "s32": np.int32, "tf32": np.float32}[kind]
    with np.errstate(all="ignore"):
        raw = np.ascontiguousarray(elements.astype(numpy_kind))
    return raw.view(np.uint32).astype(np.int64).T


def product(a: Values, b: Values, key: int = 0) -> Values:
    """The product of two matrices; with a key, each product of two elements is multiplied by a number of its own.

    The number is the same for the same product, so the order and the arrangement of the tiles do not matter. It follows
    from all bits of the product and of the key: what some products are multiplied by does not tell it of others, and
    there are too many products for a table of all.
    """
    if not key:
        return a @ b
    products = a[:, :, None] * b[None]
    found: Values = (products * _numbers_of(products, key)).sum(axis=1)
    return found


def _numbers_of(products: Values, key: int) -> Values:
    """1 to 8 for each product, the same for both signs: its bits and the key, mixed as SplitMix64 does."""
    mixed = np.abs(products).astype(np.float64).view(np.uint64) + np.uint64(key * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ mixed >> np.uint64(shift)) * np.uint64(factor)
    return 1 + ((mixed ^ mixed >> np.uint64(31)) % np.uint64(8)).astype(np.float64)


def _multiply(one: Instruction, rows: Values, key: int) -> Values:
    shape, kinds = Shape.of(one.modifiers), types_of(one)
    wide = "f64" in one.modifiers
    place, matrices = 1, {}
    for matrix in "abc":
        kind = kinds[matrix]
        extents = shape.extents(matrix)
        if one.opcode == "wmma":
            count = wmma_count(matrix, shape, kind)
            where = wmma_fragment(matrix, shape, count)
        else:
            where = mma_fragment(matrix, shape, kind)
            count = where[0].shape[1]
        found = _unpack(rows[place:], kind, count)
        whole = np.zeros(extents, found.dtype)
        whole[where] = found
        matrices[matrix] = whole
        place += count if wide else -(-count * BYTES[kind] // 4)
    with np.errstate(all="ignore"):
        total = product(matrices["a"], matrices["b"], key) + matrices["c"]
    if kinds["d"] == "s32" and "satfinite" in one.modifiers:
        total = np.clip(total, -(1 << 31), (1 << 31) - 1)
    count = shape.m * shape.n // 32
    where = wmma_fragment("d", shape, count) if one.opcode == "wmma" else mma_fragment("d", shape, kinds["d"])
    return _pack(total[where], kinds["d"])


def _fail(launch: PtxLaunch, warp: int, number: int, address: int, lane: int = 0) -> OutOfBoundsError:
    site = launch.code.sites[launch.code.matrix_sites[number]]
    place = place_of(launch, site.instruction)
    row = launch.slots_at(warp, layout.WARP_SLOTS)
    thread = index_of(int(row[layout.W_NUMBER]) * 32 + lane, launch.block)
    block = index_of(int(launch.context[layout.BLOCK_NUMBER]), launch.grid)
    who = f"It was the warp of thread {thread} of block {block}, {place}."
    return OutOfBoundsError(f"{access_message(launch, site, address)} {who}", place.line, thread, block)


def _host(
    launch: PtxLaunch, warp: int, number: int, space: str, address: int, size: int, lane: int, write: bool = False
) -> int:
    """Where `size` bytes at an address lie on the host."""
    region, offset = address >> layout.REGION_SHIFT, address
    if space == "shared" or (space == "" and region == layout.SHARED_REGION):
        offset = address if space == "shared" else address - layout.SHARED_BASE
        if not 0 <= offset <= launch.shared_bytes - size:
            raise _fail(launch, warp, number, address, lane)
        return int(launch.context[layout.SHARED_HOST]) + offset
    known = launch.memory.regions.get(region)
    if known is None or not 0 <= address - known.start <= known.bytes - size:
        raise _fail(launch, warp, number, address, lane)
    if write and known.flags & layout.READ_ONLY:  # constants are not counted: threads could tell each other there
        raise _fail(launch, warp, number, address, lane)
    return known.host + address - known.start


def _note(launch: PtxLaunch, warp: int, number: int, addresses: Values, mask: int) -> None:
    """Counts one request."""
    if not launch.code.counted:
        return
    row = np.ascontiguousarray(addresses, np.int64)
    observe = runtime_function("observe")
    observe(launch.context.ctypes.data, warp, launch.code.matrix_sites[number], mask, row.ctypes.data)


class _Tile:
    """A matrix in memory that a warp loads or stores.

    A GPU does it in requests of 8 lines of 16 bytes each, for 4-byte words, as its fragments are; so it is counted.
    """

    def __init__(self, launch: PtxLaunch, warp: int, one: Instruction, number: int, start: int, stride: int) -> None:
        self._launch, self._warp, self._number = launch, warp, number
        self.matrix, self.kind = one.modifiers[1], one.modifiers[-1]
        self.shape = Shape.of(one.modifiers)
        self._size = BYTES[self.kind]
        rows, columns = self.shape.extents(self.matrix)
        self._by_row = "row" in one.modifiers
        self._lines, self._length = (rows, columns) if self._by_row else (columns, rows)
        self._step = (stride or self._length) * self._size
        self._start, self._space = start, space_of(one)
        if start % min(32, self._length * self._size) or self._step % min(16, self._length * self._size):
            raise _fail(launch, warp, number, start | 1)

    def _each_line(self, write: bool = False) -> list[tuple[int, int]]:
        """Device and host address of each line."""
        size = self._length * self._size
        found = []
        for line in range(self._lines):
            address = self._start + line * self._step
            host = _host(self._launch, self._warp, self._number, self._space, address, size, 0, write)
            found.append((address, host))
        return found

    def _note(self) -> None:
        word = max(4, self._size)
        words = self._length * self._size // word
        lane = np.arange(32)
        for line in range(0, self._lines, 8):
            for first in range(0, words, 4):
                rows, places = line + lane // 4, first + lane % 4
                inside = (rows < self._lines) & (places < words)
                mask = int(sum(1 << int(number) for number in lane[inside]))
                addresses = self._start + rows * self._step + places * word
                _note(self._launch, self._warp, self._number, addresses, mask)

    def load(self) -> Values:
        """Rows of registers."""
        dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[self._size]
        lines = [
            np.frombuffer(ctypes.string_at(host, self._length * self._size), dtype) for _, host in self._each_line()
        ]
        self._note()
        whole = np.stack(lines)
        whole = whole if self._by_row else whole.T
        count = wmma_count(self.matrix, self.shape, self.kind)
        elements = np.ascontiguousarray(whole[wmma_fragment(self.matrix, self.shape, count)])
        word = np.uint64 if self._size == 8 else np.uint32
        return elements.view(word).astype(np.int64).T

    def store(self, rows: Values) -> None:
        """From rows of registers."""
        count = wmma_count("d", self.shape, self.kind)
        if self._size == 8:
            elements = np.ascontiguousarray(rows[:count].T).view(np.uint64)
        else:
            registers = count * self._size // 4
            words = np.ascontiguousarray((rows[:registers] & 0xFFFFFFFF).astype(np.uint32).T)
            elements = words.view({2: np.uint16, 4: np.uint32}[self._size])
        whole = np.zeros(self.shape.extents("d"), elements.dtype)
        whole[wmma_fragment("d", self.shape, count)] = elements
        whole = np.ascontiguousarray(whole if self._by_row else whole.T)
        lines = self._each_line(write=True)
        for (_, host), line in zip(lines, whole, strict=True):
            ctypes.memmove(host, line.tobytes(), line.nbytes)
        self._note()


def _load_rows(launch: PtxLaunch, warp: int, one: Instruction, number: int, addresses: Values) -> Values:
    """`ldmatrix`: lanes 8 i to 8 i + 7 name the rows of matrix i."""
    matrices = next(int(modifier[1:]) for modifier in one.modifiers if modifier in ("x1", "x2", "x4"))
    space = space_of(one)
    lane = np.arange(32)
    found = np.zeros((matrices, 32), np.int64)
    for matrix in range(matrices):
        lines = []
        for line in range(8):
            source = 8 * matrix + line
            address = int(addresses[source])
            if address % 16:
                raise _fail(launch, warp, number, address, source)
            host = _host(launch, warp, number, space, address, 16, source)
            lines.append(np.frombuffer(ctypes.string_at(host, 16), np.uint16))
        _note(launch, warp, number, addresses, 0xFF << 8 * matrix)
        whole = np.stack(lines).astype(np.int64)
        whole = whole.T if "trans" in one.modifiers else whole
        row, column = lane // 4, 2 * (lane % 4)
        found[matrix] = whole[row, column] | whole[row, column + 1] << 16
    return found
