"""An access beyond the end of an array is explained where the index is the thread's own number, and only there."""

import numpy as np
import pytest
from numba import cuda

from gpulab import trace
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
