"""The share of a chapter's measuring cells that call the field's API themselves."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.authoring.direct_shares import direct_share, told

IMPORTS = """
import numpy as np
import torch
from numba import cuda
from gpulab import plot, predict
from gpulab.chapters.architecture import pictures, workers
from gpulab.chapters.architecture.workers import starts
"""


@pytest.mark.parametrize(
    ("source", "counts"),
    [
        ("torch.add(x, y)", (1, 1)),
        ("plot.bars({'a': np.add(a, b)}, title='t')", (1, 1)),
        ("def mine(n):\n    return n\n\nmine(3)", (1, 1)),
        ("kernel[8, 128](x)", (0, 0)),
        ("@cuda.jit\ndef kernel(x):\n    x[0] = 1\n\nkernel[8, 128](x)", (1, 1)),
        ("pictures.draw_starts(starts())", (0, 1)),
        ("workers.turns(duration_ms=60)", (0, 1)),
        ("torch.ones(3), workers.turns()", (0, 1)),
        ("pictures.draw_scenes(rows)", (0, 0)),
        ("predict('a', guess=...)", (0, 0)),
        ("%%cuda A\nfoo", (0, 0)),
        ("import asyncio\nawait asyncio.sleep(1)", (1, 1)),
    ],
)
def test_a_cell_counts_by_what_it_calls(source: str, counts: tuple[int, int]) -> None:
    cells = [new_code_cell(IMPORTS), new_markdown_cell("torch.add(x, y)"), new_code_cell(source)]
    assert direct_share(new_notebook(cells=cells)) == counts


def test_an_exercise_counts_as_the_page_and_graded_cells_do_not_count() -> None:
    """A demonstration that calls the student's function shows what stands on the page."""
    exercise, test = new_code_cell("def copy():\n    return 1"), new_code_cell("import torch\ntorch.ones(copy())")
    exercise.metadata["nbgrader"] = {"grade_id": "copy", "solution": True}
    test.metadata["nbgrader"] = {"grade_id": "copy_test", "grade": True, "points": 1}
    notebook = new_notebook(cells=[exercise, test, new_code_cell("copy()")])
    assert direct_share(notebook) == (1, 1)
    assert told(notebook) == "1 of 1 measuring cells call the field's API directly (100%)"
    assert told(new_notebook()) == "0 of 0 measuring cells call the field's API directly"
