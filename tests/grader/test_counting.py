"""Counts of memory accesses are taken in a process that holds the exercise's own cell alone."""

from __future__ import annotations

from minikey import with_test

from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.results import CellResult, SubmissionResult
from grader.model.submission import from_answers

KERNEL = """\
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
TEST = """\
import numpy
from gpulab import trace

x = numpy.arange(100, dtype=numpy.float32)
with trace.counting() as launches:
    answer = double(x)
numpy.testing.assert_array_equal(answer, 2 * x)
assert len(launches) == 1, f"{len(launches)} launches"
reads = launches[0]["global_reads"]
assert reads == 100, f"{reads} reads"
"""


def run(solution: str, other: str = "") -> SubmissionResult:
    key = with_test(TEST, Need.COUNTING)
    submission = from_answers(key, {"double": solution, "SHARES": other} if other else {"double": solution})
    return grade(submission, key, student="s", seed=1, limits=Limits(), only=frozenset({"double_test"}))


def cell(result: SubmissionResult) -> CellResult:
    (only,) = result.cells
    return only


def test_launches_come_back_with_the_value() -> None:
    assert (cell(run(KERNEL)).verdict.value, cell(run(KERNEL)).message) == ("passed", "")


def test_accesses_are_counted() -> None:
    wasteful = KERNEL.replace("2 * x[i]", "x[i] + x[i]")
    assert cell(run(wasteful)).message == "200 reads"


def test_what_another_cell_did_to_the_counter_does_not_count() -> None:
    """A patch in any other cell is not there when counts are taken."""
    patch = "import gpulab.trace\ngpulab.trace.counting = None\nSHARES = {}"
    wasteful = KERNEL.replace("2 * x[i]", "x[i] + x[i]")
    assert cell(run(wasteful, other=patch)).message == "200 reads"


def test_a_helper_in_another_cell_is_told() -> None:
    helper, rest = KERNEL.split("def double")
    result = run("def double" + rest, other=helper + "SHARES = {}")
    assert "NameError" in cell(result).message
    assert "its own cell" in cell(result).message
