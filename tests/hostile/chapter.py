"""The chapter that hostile submissions attack: a function, arrays, tensors, a value, shares of points, a time limit.

Its tests are written as a teacher in a hurry writes them: bare asserts, NumPy's and torch's own comparisons, the
expected value computed after the call. What holds must hold because of where they run.
"""

from __future__ import annotations

import copy
from typing import Any

from grader.model.notebooks import Cell, ChapterKey, Role, visible

NAME = "01_hostile"

BUMP_TEST = """\
import random

from gpulab import seed

assert bump(2) == 7, f"bump(2) is {bump(2)}, expected 7"
### BEGIN HIDDEN TESTS
draw = random.Random(seed())
for _ in range(20):
    number = draw.randint(1, 10**6)
    assert bump(number) == 3 * number + 1, f"bump({number})"
### END HIDDEN TESTS
"""
UNIT_TEST = """\
import numpy as np

from gpulab import seed

np.testing.assert_allclose(unit(np.array([3.0, 4.0])), [0.6, 0.8])
### BEGIN HIDDEN TESTS
draw = np.random.default_rng(seed())
for _ in range(5):
    vector = draw.normal(size=8)
    answer = unit(vector)
    np.testing.assert_allclose(answer, vector / np.linalg.norm(vector))
### END HIDDEN TESTS
"""
SOFTMAX_TEST = """\
import torch

from gpulab import seed

answer = softmax(torch.zeros(4))
assert answer.shape == (4,)
assert torch.allclose(answer, torch.full((4,), 0.25)), f"softmax of zeros is {answer}"
### BEGIN HIDDEN TESTS
draw = torch.Generator().manual_seed(seed())
for _ in range(5):
    logits = torch.randn(16, generator=draw)
    answer = softmax(logits)
    assert answer.shape == logits.shape
    assert torch.allclose(answer, torch.softmax(logits, 0))
### END HIDDEN TESTS
"""
WARP_TEST = """\
assert isinstance(WARP, int), "WARP must be an int"
### BEGIN HIDDEN TESTS
assert WARP == 32, f"WARP is {WARP}"
### END HIDDEN TESTS
"""
KINDS_TEST = """\
right = 0
### BEGIN HIDDEN TESTS
truth = {"register": "thread", "shared": "block", "global": "grid", "host": "process"}
right = sum(KINDS.get(name) == scope for name, scope in truth.items())
### END HIDDEN TESTS
right * 0.5
"""
FAST_TEST = """\
import random
import time

from gpulab import seed

assert fast(3) == 14
### BEGIN HIDDEN TESTS
draw = random.Random(seed())
for _ in range(3):
    number = draw.randint(10**6, 10**7)
    started = time.perf_counter()
    answer = fast(number)
    seconds = time.perf_counter() - started
    assert answer == number * (number + 1) * (2 * number + 1) // 6, f"fast({number})"
    assert seconds < 0.25, f"fast({number}) took {seconds:.2f} s"
### END HIDDEN TESTS
"""
HONEST_TEST = """\
import random

from gpulab import seed

number = random.Random(seed()).randint(1, 10**6)
assert honest(number) == number + 1
"""

STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
EXERCISES: dict[str, tuple[float, str, str, str]] = {
    "bump": (2.0, "def bump(x):\n    return 3 * x + 1", f"def bump(x):\n    {STUB}", BUMP_TEST),
    "unit": (2.0, "def unit(v):\n    return v / np.linalg.norm(v)", f"def unit(v):\n    {STUB}", UNIT_TEST),
    "softmax": (2.0, "def softmax(t):\n    return t.softmax(0)", f"def softmax(t):\n    {STUB}", SOFTMAX_TEST),
    "WARP": (1.0, "WARP = 32", STUB, WARP_TEST),
    "KINDS": (
        2.0,
        'KINDS = {"register": "thread", "shared": "block", "global": "grid", "host": "process"}',
        STUB,
        KINDS_TEST,
    ),
    "fast": (2.0, "def fast(n):\n    return n * (n + 1) * (2 * n + 1) // 6", f"def fast(n):\n    {STUB}", FAST_TEST),
    "honest": (1.0, "def honest(x):\n    return x + 1", f"def honest(x):\n    {STUB}", HONEST_TEST),
}
"""Exercise → points, right answer, what the release shows, test. The stubs' bodies are indented by `_indented`."""
RIGHT = {name: answer for name, (_, answer, _, _) in EXERCISES.items()}
POINTS = {f"{name}_test": points for name, (points, _, _, _) in EXERCISES.items()}


def _indented(stub: str) -> str:
    """A stub with every line of its body indented."""
    head, _, body = stub.partition("\n    ")
    return f"{head}\n    " + body.replace("\n", "\n    ") if body else stub


def make_key() -> ChapterKey:
    """The chapter's key; `honest` comes last, so that it tells whether anything survived the attack."""
    cells = [
        Cell("intro", Role.PROSE, "# A chapter under attack"),
        Cell("imports", Role.CODE, "import numpy as np"),
    ]
    released = {}
    for name, (points, answer, stub, test) in EXERCISES.items():
        cells += [
            Cell(name, Role.SOLUTION, answer, grade_id=name),
            Cell(f"{name}_test", Role.TEST, test, grade_id=f"{name}_test", points=points),
        ]
        released[name] = _indented(stub)
    released = {cell.id: released.get(cell.id, visible(cell.source)) for cell in cells}
    return ChapterKey(NAME, tuple(cells), released)


def settings_of(cell: Cell) -> dict[str, Any]:
    """nbgrader's metadata of one of the chapter's cells; empty for ungraded ones."""
    if not cell.grade_id:
        return {}
    test = cell.role is Role.TEST
    settings = {"schema_version": 3, "grade_id": cell.grade_id, "grade": test, "solution": not test, "locked": test}
    return {"nbgrader": {**settings, "task": False, **({"points": cell.points} if test else {})}}


def notebook(sources: dict[str, str]) -> dict[str, Any]:
    """The chapter's notebook, as JSON-ready data.

    Args:
        sources: cell id → source, for the cells that differ from the release.
    """
    key = make_key()
    cells = []
    for cell in key.cells:
        source = sources.get(cell.id, key.released[cell.id])
        code = {"execution_count": None, "outputs": []} if cell.role is not Role.PROSE else {}
        kind = "code" if code else "markdown"
        cells.append(
            {"cell_type": kind, "id": cell.id, "metadata": copy.deepcopy(settings_of(cell)), "source": source, **code}
        )
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
