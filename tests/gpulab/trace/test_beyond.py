"""An access beyond the end of an array is explained where the index is the thread's own number, and only there."""

import numpy as np
import pytest
from numba import cuda

from gpulab import cuda_kernel, trace
from gpulab.trace.beyond import ELEMENT, PLACE, note_on

ELEMENTS = "'x' has 300 elements, 0 to 299. It was"
SHAPE = "'x' has shape (20, 70), and 70 is outside axis 1. It was"


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (f"x[300] is out of bounds: {ELEMENTS} thread (44, 0, 0) of block (2, 0, 0), line 3: x[i].", ELEMENT),
        (f"x[300] is out of bounds: {ELEMENTS} thread (300, 0, 0) of block (0, 0, 0), line 3.", ELEMENT),
        (f"x[0, 70] is out of bounds: {SHAPE} thread (6, 0, 0) of block (2, 0, 0), line 3.", PLACE),
        (f"x[300] is out of bounds: {ELEMENTS} thread (0, 0, 0) of block (2, 0, 0), line 3.", ""),  # of 150 threads
        (f"x[20, 0] is out of bounds: {SHAPE} thread (20, 0, 0) of block (0, 0, 0), line 3.", ""),  # x is no row
        (f"x[-3] is out of bounds: {ELEMENTS} thread (0, 0, 0) of block (0, 0, 0), line 3.", ""),
        ("x[9] is out of bounds: shared array 'x' has 9 elements. It was thread (9, 0, 0) of block (0, 0, 0), l.", ""),
        ("list index out of range", ""),
    ],
)
def test_note(error: str, note: str) -> None:
    assert note_on(error) == note


@cuda.jit
def no_guard(x):
    x[cuda.grid(1)] = 0


def test_counting_adds_it() -> None:
    """A test cell need not know of it."""
    with pytest.raises(trace.OutOfBoundsError) as caught, trace.counting():
        no_guard[2, 64](np.zeros(100, np.float32))
    assert caught.value.__notes__ == [ELEMENT]


ROW = 'extern "C" __global__ void row(float* c, int k) { c[threadIdx.x * k] = 0; }'


def test_a_matrix_beyond_a_pointer_says_where_its_rows_begin() -> None:
    """In CUDA C++, an element of a matrix has one index: often, it is computed with the length of another's rows."""
    with pytest.raises(trace.OutOfBoundsError) as caught:
        cuda_kernel(ROW, "row")[1, 8](np.zeros((8, 20), np.float32), 25)
    assert "in 8 rows of 20: (row, column) is at row * 20 + column." in str(caught.value)
    with pytest.raises(trace.OutOfBoundsError, match=r"'c' has 160 elements, 0 to 159\. It was thread"):
        cuda_kernel(ROW, "row")[1, 8](np.zeros(160, np.float32), 25)


def test_a_launch_with_its_numbers_exchanged() -> None:
    """Many blocks of few threads, of which a warp or more makes the number of blocks."""
    for launch, told in (([128, 3], "128 blocks of 3 threads"), ([3, 128], ""), ([33, 3], ""), ([128, 32], "")):
        with trace.counting() as launches:
            no_guard[*launch](np.zeros(1 << 13, np.float32))
        assert trace.exchanged(launches).startswith(f"The launch has {told}" if told else "")
        assert bool(trace.exchanged(launches)) == bool(told)
