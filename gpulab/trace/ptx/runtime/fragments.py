"""Which lane holds which element of a matrix: fragments of `mma` (PTX ISA, "Matrix Fragments") and of `wmma`."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indexes = NDArray[np.int64]

BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8, "s8": 1, "u8": 1, "s32": 4}
"""Of an element in a register."""


@dataclass(frozen=True)
class Shape:
    """m × n × k of one matrix instruction."""

    m: int
    n: int
    k: int

    @staticmethod
    def of(modifiers: tuple[str, ...]) -> Shape:
        """The shape that is named; raises KeyError if there is none."""
        for modifier in modifiers:
            found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", modifier)
            if found:
                return Shape(*map(int, found.groups()))
        raise KeyError("shape")

    def extents(self, matrix: str) -> tuple[int, int]:
        """Rows and columns of `a`, `b`, `c` or `d`."""
        return {"a": (self.m, self.k), "b": (self.k, self.n)}.get(matrix, (self.m, self.n))


@functools.cache
def mma_fragment(matrix: str, shape: Shape, kind: str) -> tuple[Indexes, Indexes]:
    """Rows and columns of the elements that a lane holds, shape (32, elements), of `mma.sync`.

    Raises:
        KeyError: there is no such fragment here.
    """
    known = {
        (16, 8, 16): {"f16", "bf16", "s8", "u8"},
        (16, 8, 8): {"f16", "bf16", "tf32"},
        (16, 8, 4): {"tf32"},
        (16, 8, 32): {"s8", "u8"},
        (8, 8, 16): {"s8", "u8"},
        (8, 8, 4): {"f64"},
    }
    lane = np.arange(32)[:, None]
    group, member = lane // 4, lane % 4
    extents = shape.extents(matrix)
    if matrix in ("c", "d"):
        if kind not in ("f16", "f32", "s32", "f64"):
            raise KeyError(kind)
        number = np.arange(extents[0] * extents[1] // 32)[None]
        return group + 8 * (number // 2), member * 2 + number % 2
    if kind not in known[shape.m, shape.n, shape.k]:
        raise KeyError(kind)
    together = max(1, 4 // BYTES[kind])  # neighbors along k that share a register
    number = np.arange(extents[0] * extents[1] // 32)[None]
    register = number // together
    if matrix == "a":
        tall = shape.m // 8
        rows = group + 8 * (register % tall)
        return rows, member * together + number % together + 4 * together * (register // tall)
    return member * together + number % together + 4 * together * register, group + 0 * number


@functools.cache
def wmma_fragment(matrix: str, shape: Shape, count: int) -> tuple[Indexes, Indexes]:
    """Rows and columns of the elements that a lane holds, shape (32, count), of `wmma`; CUDA leaves the order open.

    Where the fragments have more places than the matrix has elements, elements occur several times, as on a GPU.
    """
    rows, columns = shape.extents(matrix)
    number = np.arange(32 * count).reshape(32, count) % (rows * columns)
    return number // columns, number % columns


def wmma_count(matrix: str, shape: Shape, kind: str) -> int:
    """Elements of a `wmma` fragment in each lane; f16 operands have 16 in every shape.

    Raises:
        KeyError: there is no such fragment here.
    """
    if (shape.m, shape.n, shape.k) not in {(16, 16, 16), (32, 8, 16), (8, 32, 16), (16, 16, 8), (8, 8, 4)}:
        raise KeyError("shape")
    if kind not in BYTES:
        raise KeyError(kind)
    rows, columns = shape.extents(matrix)
    return 16 if matrix in "ab" and kind == "f16" else rows * columns // 32
