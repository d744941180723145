"""Counts of memory accesses are taken in a process that holds the exercise's own cell alone."""

from __future__ import annotations

from minikey import DOUBLE_KERNEL, with_test

from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.results import CellResult, SubmissionResult
from grader.model.submission import from_answers

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
    assert (cell(run(DOUBLE_KERNEL)).verdict.value, cell(run(DOUBLE_KERNEL)).message) == ("passed", "")


def test_accesses_are_counted() -> None:
    wasteful = DOUBLE_KERNEL.replace("2 * x[i]", "x[i] + x[i]")
    assert cell(run(wasteful)).message == "200 reads"


def test_what_another_cell_did_to_the_counter_does_not_count() -> None:
    """A patch in any other cell is not there when counts are taken."""
    patch = "import gpulab.trace\ngpulab.trace.counting = None\nSHARES = {}"
    wasteful = DOUBLE_KERNEL.replace("2 * x[i]", "x[i] + x[i]")
    assert cell(run(wasteful, other=patch)).message == "200 reads"


def test_a_helper_in_another_cell_is_told() -> None:
    helper, rest = DOUBLE_KERNEL.split("def double")
    result = run("def double" + rest, other=helper + "SHARES = {}")
    assert "NameError" in cell(result).message
    assert "its own cell" in cell(result).message


def test_what_a_demonstration_defines_is_there() -> None:
    assert cell(run(DOUBLE_KERNEL.replace("2 * x[i]", "FACTOR * x[i]"))).verdict.value == "passed"


DECOY = DOUBLE_KERNEL.replace("return out", "import numpy\n    return numpy.array(2 * x)").replace(
    "= 2 * x[i]", "= x[i]"
)
OVERWRITTEN = DOUBLE_KERNEL.replace("return out", "out[:] = 2 * x\n    return out").replace("= 2 * x[i]", "= x[i]")
HANDED_OVER = DOUBLE_KERNEL.replace("kernel[2, 64](x, out)", "kernel[2, 64](numpy.array(2 * x), out)").replace(
    "2 * x[i]", "x[i]"
)
FORGED = """\
from gpulab import trace as t
L = t.launch

class Record:
    def summary(self):
        return {"global_reads": 100}

def double(x):
    for launches in L._recordings:
        launches.append(Record())
    return 2 * x
"""
REWRITTEN = "from dataclasses import replace\nimport gpulab.trace.launch as L\ntraced = L.traced_run\n" + (
    "L.traced_run = lambda *given: replace(traced(*given), global_reads=100)\n"
)


def test_a_changed_argument_may_come_from_the_order_of_a_launch() -> None:
    """The result stands first in the launch: the kernel writes into what was to be read."""
    said = cell(run(DOUBLE_KERNEL.replace("kernel[2, 64](x, out)", "kernel[2, 64](out, x)"))).message
    assert "changed an argument" in said
    assert "in another order than that of the kernel's parameters." in said


def test_the_host_computes_beside_a_launch() -> None:
    """The message comes only where the values are right; wrong values are reported as such."""
    message = cell(run(DECOY)).message
    assert "returned the right values, but not from an array that its kernels wrote" in message
    assert "right values" not in cell(run(DECOY.replace("numpy.array(2", "numpy.array(3"))).message


def test_the_host_writes_over_what_a_kernel_wrote() -> None:
    assert "not from an array that its kernels wrote" in cell(run(OVERWRITTEN)).message


def test_the_host_hands_its_results_to_a_kernel() -> None:
    assert "values that the host had computed" in cell(run("import numpy\n" + HANDED_OVER)).message


def test_what_the_host_left_in_memory_that_no_kernel_reads_does_not_matter() -> None:
    """As with `numpy.empty`, which holds other bytes each time."""
    left = DOUBLE_KERNEL.replace("kernel[2", "out[:] = numpy.random.random(len(out))\n    kernel[2")
    assert cell(run("import numpy\n" + left)).verdict.value == "passed"


def test_a_forged_record_counts_for_nothing() -> None:
    assert cell(run(FORGED)).message == "0 launches"


def test_a_counter_that_the_cell_rewrites_is_not_the_one_that_counts() -> None:
    wasteful = DOUBLE_KERNEL.replace("2 * x[i]", "x[i] + x[i]")
    assert cell(run(REWRITTEN + wasteful)).message == "200 reads"


def test_a_result_may_be_copied_to_the_host() -> None:
    for copied in (
        "out.copy()",
        "out[:100]",
        "(out,)[0].reshape(10, 10).reshape(-1)",
        "cuda.to_device(out).copy_to_host()",
    ):
        result = cell(run(DOUBLE_KERNEL.replace("return out", f"return {copied}")))
        assert (result.verdict.value, result.message) == ("passed", ""), copied


def test_a_kernel_may_use_what_its_cell_defines() -> None:
    """Constants, arrays, types, device functions, defaults, and what surrounds it."""
    source = """\
import math
import numpy as np
from numba import cuda, float32
from numba.cuda import grid

FACTORS = np.array([2, 3], np.float32)

@cuda.jit(device=True)
def times(value, factor=FACTORS.size):
    return float32(value) * factor

def double(x):
    first, names = 0, ("x", "y")

    @cuda.jit
    def kernel(x, out):
        i = grid(1)
        if i < x.size:
            out[i] = times(x[i]) / FACTORS[first] * math.sqrt(4.0)

    out = cuda.device_array_like(x)
    kernel.forall(x.size)(x, out)
    return out
"""
    assert (cell(run(source)).verdict.value, cell(run(source)).message) == ("passed", "")
