"""Which wrong index would have written just the elements that an answer has written.

The right one is `blockIdx.x * blockDim.x + threadIdx.x`, for the columns of a matrix, and the same with y for its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_NAMED = 2
"""Wrong indices that write the same elements: where there are more, none of them is named."""
AXES = "xy"


def misindexed(launch: Mapping[str, Any], answer: NDArray[Any], expected: NDArray[Any], *, stride: bool = False) -> str:
    """What the index of a thread seems to be, and what it should be; "" if no known one explains the answer.

    Args:
        launch: as `counting` lists it.
        answer: what it wrote, of one or two dimensions, with NaN where nothing was written.
        expected: the right result.
        stride: whether each thread goes on in steps of the number of all threads, in one dimension.
    """
    if answer.shape != expected.shape or answer.dtype.kind != "f":
        return ""
    written = ~np.isnan(answer)
    if written.all() or not written.any() or not np.allclose(answer[written], expected[written], rtol=1e-5, atol=1e-6):
        return ""
    if answer.ndim == 1:
        return _along_one(launch, written, stride)
    return _along_two(launch, written)


def _threads(launch: Mapping[str, Any]) -> tuple[NDArray[Any], ...]:
    """blockIdx.x, blockIdx.y, threadIdx.x, and threadIdx.y of every thread, each as an array of one dimension."""
    extents = (*launch["grid"][:2], *launch["block"][:2])
    return tuple(one.ravel() for one in np.indices(extents))


def _indices(launch: Mapping[str, Any], axis: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """The right index along an axis, and then wrong ones, each in words and for every thread."""
    *blocks, thread_x, thread_y = _threads(launch)
    threads, grid, block = (thread_x, thread_y), launch["grid"], launch["block"]
    a, b = AXES[axis], AXES[1 - axis]
    yield f"blockIdx.{a} * blockDim.{a} + threadIdx.{a}", blocks[axis] * block[axis] + threads[axis]
    yield f"threadIdx.{a}", threads[axis]
    yield f"blockIdx.{a}", blocks[axis]
    yield f"blockIdx.{a} + threadIdx.{a}", blocks[axis] + threads[axis]
    yield f"blockIdx.{a} * blockDim.{a}", blocks[axis] * block[axis]
    yield f"blockIdx.{a} * gridDim.{a} + threadIdx.{a}", blocks[axis] * grid[axis] + threads[axis]
    yield f"threadIdx.{a} * blockDim.{a} + blockIdx.{a}", threads[axis] * block[axis] + blocks[axis]
    if grid[1] * block[1] > 1:
        yield f"blockIdx.{a} * blockDim.{b} + threadIdx.{a}", blocks[axis] * block[1 - axis] + threads[axis]
        yield f"blockIdx.{b} * blockDim.{a} + threadIdx.{a}", blocks[1 - axis] * block[axis] + threads[axis]
        yield f"blockIdx.{a} * blockDim.{a} + threadIdx.{b}", blocks[axis] * block[axis] + threads[1 - axis]
        other = blocks[1 - axis] * block[1 - axis] + threads[1 - axis]
        yield f"blockIdx.{b} * blockDim.{b} + threadIdx.{b}", other


def _along_one(launch: Mapping[str, Any], written: NDArray[Any], stride: bool) -> str:
    step = launch["grid"][0] * launch["block"][0]
    (right, index), *wrong = _indices(launch, 0)
    same = [words for words, starts in wrong if np.array_equal(_reached(starts, written.size, step, stride), written)]
    if not 0 < len(same) <= MOST_NAMED or np.array_equal(_reached(index, written.size, step, stride), written):
        return ""
    begins = "begins with the element" if stride else "has the number"
    of_what = f"The elements with a value are those of threads whose number is {' or '.join(same)}"
    return f"{of_what}: a thread {begins} {right}."


def _reached(starts: NDArray[Any], size: int, step: int, stride: bool) -> NDArray[Any]:
    """Which of so many elements are written by threads that begin with these."""
    reached = np.zeros(size, bool)
    reached[starts[starts < size]] = True
    if stride:
        for place in range(step, size):
            reached[place] |= reached[place - step]
    return reached


def _along_two(launch: Mapping[str, Any], written: NDArray[Any]) -> str:
    (column_words, column), *columns = _indices(launch, 0)
    (row_words, row), *rows = _indices(launch, 1)
    if _covers(row, column, written):
        return ""
    same = [f"the column is {words}" for words, one in columns if _covers(row, one, written)]
    same += [f"the row is {words}" for words, one in rows if _covers(one, column, written)]
    if not same:  # the same mistake along both axes
        same = [
            f"the column is {wide}, and the row {high}"
            for (wide, one), (high, two) in zip(columns, rows, strict=True)
            if _covers(two, one, written)
        ]
    if not 0 < len(same) <= MOST_NAMED:
        return ""
    expected = f"The column is {column_words}, the row {row_words}."
    return f"The elements with a value are those of threads in which {', or '.join(same)}. {expected}"


def _covers(row: NDArray[Any], column: NDArray[Any], written: NDArray[Any]) -> bool:
    """Whether threads with these rows and columns write just those elements of a matrix."""
    covered, inside = np.zeros_like(written), (row < written.shape[0]) & (column < written.shape[1])
    covered[row[inside], column[inside]] = True
    return np.array_equal(covered, written)
