"""An error of the GPU that stays with the process that met it costs its own exercise only."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from minikey import make_key

from gpulab.doctor import hardware
from gpulab.doctor.hardware import Gpu
from grader.judging import faults
from grader.judging.session import grade
from grader.machine import gpu_memory
from grader.model.limits import Limits
from grader.model.notebooks import ChapterKey
from grader.model.results import SubmissionResult
from grader.model.submission import from_answers

ILLEGAL = "CUDA error: an illegal memory access was encountered"
STICKY = f"""\
broken = False
def double(x):
    global broken
    broken = broken or x < 0
    if broken and x >= 0:
        raise RuntimeError({ILLEGAL!r})
    return 2 * x
"""
"""Like a kernel that reads beyond its array for a negative number: later calls fail too."""


def key_with(double_test: str, shares_test: str) -> ChapterKey:
    key = make_key()
    sources = {"double_test": double_test, "SHARES_test": shares_test}
    cells = tuple(replace(cell, source=sources.get(cell.grade_id, cell.source)) for cell in key.cells)
    return replace(key, cells=cells)


def graded(key: ChapterKey, **answers: str) -> tuple[dict[str, str], SubmissionResult]:
    result = grade(from_answers(key, answers), key, student="someone", seed=1, limits=Limits(cell_seconds=5))
    return {cell.grade_id: cell.verdict.value for cell in result.cells}, result


def test_the_next_exercise_gets_a_process_of_its_own() -> None:
    """Four exercises that leave a broken GPU behind would use up the restarts, so none is counted."""
    key = key_with("double(-1)\nassert double(3) == 6", "assert double(3) == 6")
    verdicts, result = graded(key, double=STICKY, SHARES="SHARES = {}")
    assert verdicts["double_test"] == "failed"
    assert ILLEGAL in result.cells[0].message
    assert verdicts["SHARES_test"] == "passed"
    assert result.usage.restarts == 0


def test_an_error_that_was_not_reported_until_the_next_exercise_is_not_the_next_ones() -> None:
    key = key_with("assert double(-1) == -2", "assert double(3) == 6")
    verdicts, _ = graded(key, double=STICKY, SHARES="SHARES = {}")
    assert (verdicts["double_test"], verdicts["SHARES_test"]) == ("passed", "passed")


def test_an_error_in_a_cell_is_not_run_into_again() -> None:
    """The process is renewed, and the cell that failed is left out when the others run again."""
    code = f"import builtins\nbuiltins.times = getattr(builtins, 'times', 0) + 1\nraise RuntimeError({ILLEGAL!r})"
    key = key_with("assert double(3) == 6", "import os\nassert SHARES == 0, SHARES")
    shares = "import builtins\nSHARES = getattr(builtins, 'times', 0)"
    verdicts, _ = graded(key, double=code, SHARES=shares)
    assert verdicts["SHARES_test"] == "passed"


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (f"AcceleratorError: {ILLEGAL}", True),
        ("CudaAPIError: [700] Call to cuMemcpyDtoH results in CUDA_ERROR_ILLEGAL_ADDRESS", True),
        ("RuntimeError: CUDA error: device-side assert triggered", True),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", True),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB", False),
        ("RuntimeError: CUDA error: out of memory", False),
        ("CudaAPIError: [2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY", False),
        ("ValueError: shapes do not fit", False),
    ],
)
def test_which_errors_stay(text: str, stays: bool) -> None:
    assert faults.may_stay(text) is stays


def test_a_turn_lasts_until_a_killed_process_is_off_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver needs a moment to stop a kernel without end; the next one's time must not begin before."""
    gone_at = time.monotonic() + 0.3
    me = os.getpid()
    monkeypatch.setattr(gpu_memory, "used_bytes", lambda: {me: 1} if time.monotonic() < gone_at else {})
    assert gpu_memory.holders((me,)) == set()  # no GPU here: nothing is asked
    monkeypatch.setattr(hardware, "gpus", lambda: (Gpu("NVIDIA H200", 143_000.0, 0, 0, "580.95"),))
    assert gpu_memory.holders((me,)) == {me}
    assert not gpu_memory.wait_until_off({me}, seconds=0.05)
    assert gpu_memory.wait_until_off({me})
    assert time.monotonic() >= gone_at
