"""A test cell keeps its names to itself where a student's function reads a variable of the same name."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from gpulab.check.own_names import is_test
from grader.authoring.execution import OwnKernel, kernel_environment
from grader.model.course import Chapter, Course

Cell = list[Any]
"""The outputs of a cell."""
ANSWER = """import numpy as np
from numba import cuda

def flat(arrays):
    return np.concatenate(arrays)

def total(arrays):
    return flat(arrays).sum()"""
TEST = """import numpy as np

from gpulab import check

flat = np.arange(3)
def tried(arrays):
    check.equal(total(arrays), sum(map(sum, arrays)), 'total')
tried([flat, flat])
3.5"""


def run(*cells: str) -> list[Cell]:
    """The outputs of each cell in a kernel."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    with kernel_environment() as environment:
        NotebookClient(notebook, timeout=60, allow_errors=True, kernel_manager_class=OwnKernel).execute(env=environment)
    return [cell.outputs for cell in notebook.cells]


@pytest.fixture(scope="module")
def outputs() -> list[Cell]:
    return run(
        "import gpulab",
        ANSWER,
        TEST,
        "flat([[1], [2]]).tolist(), 'tried' in globals()",
        TEST.replace("3.5", "check.equal(total([flat]), 4, 'arange')"),
        "from gpulab import check\n" + ANSWER.replace("total", "doubled").replace(".sum()", ".sum() * 2"),
        "'doubled' in globals(), int(doubled([[1], [2, 3]]))",
        "from gpulab import check\nflat = 7",
        "callable(flat)",
        "class Mean:\n    def of(self, x):\n        return self.made(steps, x)\n\n    def made(self, n, x):\n"
        "        return x / n\n\nsteps = 4\nmean = Mean().of",
        "from gpulab import check\nsteps = 5\ncheck.equal(mean(8), 2.0, 'mean')",
        "steps",
        "@cuda.jit\ndef fill(out):\n    out[0] = level\n\nlevel = 3",
        "from gpulab import check\nlevel = 9",
        "level",
    )


def text(outputs: Cell) -> str:
    """What the only output of a cell shows."""
    (output,) = outputs
    return "\n".join(output.traceback) if output.output_type == "error" else output.data["text/plain"]


def test_a_helper_function_may_be_named_like_a_variable_of_the_test(outputs: list[Cell]) -> None:
    assert text(outputs[2]) == "3.5"  # and the value of the cell's last line is shown


def test_the_helper_function_is_there_after_the_test_and_the_names_of_the_test_are_not(outputs: list[Cell]) -> None:
    assert text(outputs[3]) == "([1, 2], False)"


def test_a_failed_check_looks_like_any_other(outputs: list[Cell]) -> None:
    assert text(outputs[4]).splitlines() == ["arange", "  you returned: 3", "  expected:     4"]


def test_an_answer_that_imports_check_still_defines_its_functions(outputs: list[Cell]) -> None:
    assert text(outputs[6]) == "(True, 12)"


def test_a_test_does_not_replace_what_other_answers_read(outputs: list[Cell]) -> None:
    assert outputs[7] == [] and text(outputs[8]) == "True"


def test_methods_and_kernels_read_variables_too(outputs: list[Cell]) -> None:
    assert outputs[10] == [] and text(outputs[11]) == "4"
    assert text(outputs[14]) == "3"


def test_a_test_without_such_a_name_runs_as_it_is() -> None:
    *_, last = run("import gpulab", "from gpulab import check\nlimit = 5", "limit")
    assert text(last) == "5"


@pytest.mark.parametrize("chapter", Course(Path(__file__).parents[3]).chapters(), ids=lambda chapter: chapter.name)
def test_each_test_of_the_course_is_taken_for_one_and_no_other_cell(chapter: Chapter) -> None:
    cells = [cell for cell in nbformat.read(chapter.release, 4).cells if cell.cell_type == "code"]
    for cell in cells:
        if not cell.source.startswith("%"):
            assert is_test(ast.parse(cell.source)) == bool(cell.metadata.get("nbgrader", {}).get("grade")), cell.source
