"""A chapter of two exercises, as a key, without files: what the judge's tests grade against."""

from __future__ import annotations

from dataclasses import replace

from grader.model.needs import Need
from grader.model.notebooks import Cell, ChapterKey, Role, visible

DOUBLE_TEST = """\
import random

from gpulab import seed

answer = double(3)
assert answer == 6, f"double(3): you returned {answer}, expected 6"
### BEGIN HIDDEN TESTS
draw = random.Random(seed())
for _ in range(20):
    number = draw.randint(1, 10**6)
    assert double(number) == 2 * number, f"double({number})"
### END HIDDEN TESTS
"""
SHARES_TEST = """\
right = sum(SHARES.get(name) == number for name, number in {"a": 1, "b": 2, "c": 3, "d": 4}.items())
print(f"{right} of 4")
right * 0.5
"""
GPU_TEST = """\
from gpulab import needs_gpu

needs_gpu()
assert double(2) == 4
"""

DEMO = """\
import statistics

import not_installed_here

FACTOR = 2

def twice(number):
    return FACTOR * number

%matplotlib inline
seen = twice(1)
raise RuntimeError('a demonstration is not run')
"""

DOUBLE_KERNEL = """\
from numba import cuda
from gpulab import empty

@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]

def double(x):
    out = empty(x.shape, x.dtype)
    kernel[2, 64](x, out)
    return out
"""
"""An answer to `double` that launches a kernel."""


def _cells() -> tuple[Cell, ...]:
    return (
        Cell("intro", Role.PROSE, "# A chapter"),
        Cell("imports", Role.CODE, "import math\nhelper = math.sqrt"),
        Cell("demo", Role.CODE, DEMO, tags=frozenset({"demo"})),
        Cell("double", Role.SOLUTION, "def double(x):\n    return 2 * x", grade_id="double"),
        Cell("double_test", Role.TEST, DOUBLE_TEST, grade_id="double_test", points=3.0),
        Cell("double_gpu", Role.TEST, GPU_TEST, grade_id="double_gpu", points=1.0, tags=frozenset({"gpu"})),
        Cell("SHARES", Role.SOLUTION, "SHARES = {}", grade_id="SHARES"),
        Cell("SHARES_test", Role.TEST, SHARES_TEST, grade_id="SHARES_test", points=2.0),
    )


STUBS = {
    "double": "def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()",
    "SHARES": "raise NotImplementedError()",
}


def make_key() -> ChapterKey:
    """The key: `double` (3 points, 1 more on a GPU) and `SHARES` (2 points, half a point each)."""
    released = {cell.id: STUBS.get(cell.id, visible(cell.source)) for cell in _cells()}
    return ChapterKey("01_mini", _cells(), released)


def with_test(source: str, *needs: Need) -> ChapterKey:
    """The key with another test of `double`, which declares these needs."""
    key = make_key()
    test = replace(key.cell("double_test"), source=source, needs=frozenset(needs))
    return replace(key, cells=tuple(test if cell.grade_id == "double_test" else cell for cell in key.cells))


RIGHT = {"double": "def double(x):\n    return x + x", "SHARES": 'SHARES = {"a": 1, "b": 2, "c": 3, "d": 4}'}


def notebook(key: ChapterKey, answers: dict[str, str] | None = None) -> dict:
    """The notebook that a student would send, as JSON-ready data."""
    cells = []
    for cell in key.cells:
        source = (answers or {}).get(cell.grade_id, key.released[cell.id])
        metadata = {"nbgrader": {"grade_id": cell.grade_id, "schema_version": 3}} if cell.grade_id else {}
        kind = "markdown" if cell.role is Role.PROSE else "code"
        cells.append({"cell_type": kind, "id": cell.id, "metadata": metadata, "source": source})
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
