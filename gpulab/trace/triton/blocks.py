"""What the addresses of a block say about a mistake: its strides, its rows and columns, and where a program begins.

All of it is read from the tensor's shape and the addresses alone, so it is true whatever the kernel looks like.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

Place = tuple[int, int, int]


@dataclass(frozen=True)
class ArgumentMemory:
    """Where the elements of one tensor argument lie."""

    name: str
    """Of the kernel's parameter."""
    start: int
    """First byte."""
    end: int
    """The byte after the last element."""
    item_bytes: int
    shape: tuple[int, ...] = ()
    """Of a contiguous tensor; else empty."""


def strides_of(addresses: Any, memory: ArgumentMemory) -> str:
    """What is unusual about the strides of a two-dimensional block; nothing if they are those of the tensor.

    Args:
        addresses: of all elements of the block, in bytes.
        memory: the tensor that they lie in, or next to.
    """
    block, shape = np.asarray(addresses), memory.shape
    if block.ndim != 2 or min(block.shape) < 2 or len(shape) < 2 or min(shape[-2:]) < 2:
        return ""
    down, across = (int(block[at] - block[0, 0]) // memory.item_bytes for at in ((1, 0), (0, 1)))
    width = shape[-1]
    if {down, across} == {1, width} or 1 not in (down, across) or min(down, across) < 1:
        return ""
    step, what = (down, "row") if across == 1 else (across, "column")
    has = f"a row of {memory.name} has {width} elements"
    return f"from one {what} of the block to the next, the address moves on by {step}, but {has}"


def beyond(addresses: Any, mask: Any, memory: ArgumentMemory, program: Place, grid: Place) -> str:
    """Why a block whose mask is true outside of its tensor leaves it; nothing where that is not clear.

    It follows "The mask is true there": a sentence, or, in lower case, where that is.

    Args:
        addresses: of all elements of the block, in bytes.
        mask: which of them take part.
        memory: the tensor that they lie next to.
        program: its place in the grid.
        grid: of the launch.
    """
    block = np.asarray(addresses).astype(np.int64) - memory.start
    if not memory.shape or block.size < 2 or (block % memory.item_bytes).any():
        return ""
    block = block // memory.item_bytes
    taking = np.broadcast_to(mask, block.shape)
    axes = max((number + 1 for number, extent in enumerate(grid) if extent > 1), default=1)
    if int(block[taking].min()) >= math.prod(memory.shape) and (block.ndim == 2 or axes > 1):
        return _outside(program, grid, axes)
    if block.ndim == 2 and min(block.shape) > 1:
        if strides := strides_of(addresses, memory):
            return f"{strides[0].upper()}{strides[1:]}: is the stride right?"
        return _tile(block, taking, memory)
    line, taking = block.reshape(-1), taking.reshape(-1)
    if axes > 1 or (np.diff(line) != 1).any():
        return ""
    why = _line(int(line[0]), int(line[taking].max()), line.size, memory, program[0], grid[0])
    return why or (_vector(line, taking, memory, program[0]) if len(memory.shape) == 1 else "")


def _outside(program: Place, grid: Place, axes: int) -> str:
    """Of a block without an element inside its tensor."""
    shown, size = tuple(program[:axes]), tuple(grid[:axes])
    if axes > 1:
        order = "are its axes in the order in which the kernel uses them, or are there too many programs?"
        return f"The whole block of program {shown} lies beyond the tensor, and the grid is {size}: {order}"
    lies = f"The whole block of program {program[0]} lies beyond the tensor"
    return f"{lies}: is the address right, and are {grid[0]} programs too many?"


def _tile(block: Any, taking: Any, memory: ArgumentMemory) -> str:
    """Of a two-dimensional block with the tensor's own strides: in which row or column its mask should be false."""
    rows, columns = memory.shape[-2:]
    down, across = int(block[1, 0] - block[0, 0]), int(block[0, 1] - block[0, 0])
    expected = block[0, 0] + down * np.arange(block.shape[0])[:, None] + across * np.arange(block.shape[1])[None, :]
    if (block != expected).any() or block[0, 0] < 0 or {down, across} != {1, columns} or columns < 2:
        return ""
    if across != 1:
        block, taking = block.T, taking.T
    first_row, first_column = divmod(int(block[0, 0]) % (rows * columns), columns)
    taken = int(taking.any(axis=1).nonzero()[0].max()) + 1
    if len(memory.shape) > 2 and first_row % block.shape[0] and taken <= rows < first_row + taken:
        parts = f"a part of {memory.name} has {rows} × {columns} = {rows * columns} elements"
        return (
            f"The block begins at element {block[0, 0]}, in row {first_row} of a part: {parts}. Where should it begin?"
        )
    row = first_row + taken - 1
    column = first_column + int(taking.any(axis=0).nonzero()[0].max())
    outside = [
        f"in {what} {place}, but {memory.name} has {count} {what}s"
        for what, place, count in (("row", row, rows), ("column", column, columns))
        if place >= count
    ]
    if not outside:
        return ""
    limits = f"A mask needs a limit for the rows, here {rows}, and one for the columns, here {columns}, joined by &."
    return f"{' and '.join(outside)}. {limits}"


def _vector(line: Any, taking: Any, memory: ArgumentMemory, program: int) -> str:
    """Of a block that holds the last element of a vector, and whose mask leaves nothing out."""
    count = memory.shape[0]
    if (taking == (line >= count)).all() and line[0] < count:
        outside = f"It is true in just those places that lie outside of the {count} elements"
        return f"{outside}: is the comparison the right way round?"
    if not (taking.all() and line[0] < count <= line[-1]):
        return ""
    leaves = f"it leaves out nothing of program {program}'s block, elements {line[0]} to {line[-1]}"
    asked = f"Does it compare the number of an element in the whole vector with {count}, and is that the address?"
    return f"{leaves}. {asked}"


def _line(first: int, last: int, size: int, memory: ArgumentMemory, program: int, programs: int) -> str:
    """Of a one-dimensional block of one of the programs in a row."""
    if len(memory.shape) < 2:
        return ""
    rows, width = math.prod(memory.shape[:-1]), memory.shape[-1]
    has = f"{memory.name} has {rows} row{'s' * (rows > 1)} of {width}"
    begin = program * width
    if begin < first < begin + width <= last and (first - begin) % size == 0:  # a later block of the row
        return f"in column {last - begin} of row {program}, but {has}."
    if program and first != begin and first % program == 0 and program < rows:
        row = f"row {program} begins at element {begin}"
        return f"Program {program} begins at element {first}, but {row}: {has}."
    if first != begin:
        return ""
    if program >= rows:
        return f"Program {program} takes row {program}, but {has}, and {programs} programs run."
    if last - first >= width:
        return f"in column {last - first}, but {has}."
    return ""
