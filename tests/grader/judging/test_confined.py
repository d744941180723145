"""Work of ours on what a student made: done in a confined process, when a test asks for it, and nowhere else."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from leftovers import left_behind
from minikey import RIGHT, make_key

from gpulab import confined as calls
from gpulab.cuda_cpp import CudaCompileError
from grader.judging import confined
from grader.judging.judge_client import BadValue
from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.results import CellResult
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import Tier
from grader.sandbox.probe import best_tier

WORK = '''
"""Functions that a test has called elsewhere; a module of this name is on nobody's disk but the judge's."""
import os, signal, sys, time


def readable(path):
    try:
        with open(path) as file:
            return file.read(20)
    except OSError as error:
        return type(error).__name__


def who():
    return os.getpid()


def refuses(text):
    raise ValueError(f"refuses {text}")


def refuses_in_our_own_words(text):
    from gpulab.cuda_cpp import CudaCompileError

    raise CudaCompileError(f"line 1: {text}")


def hangs():
    time.sleep(600)


def crashes():
    os.abort()


def meets(text):
    raise RuntimeError(text)


def fills():
    return b"x" * 300_000_000


def no_value():
    return object()


def doubled(array):
    return 2 * array
'''
TEST = """\
import sys
sys.path.insert(0, {folder!r})
import work_of_ours as work
from gpulab import confined

assert double(3) == 6
{body}
"""
MARKER = "confined_marker"
QUICK = Limits(cell_seconds=10, call_seconds=5, test_seconds=20, value_bytes=10_000_000)


@pytest.fixture(scope="module")
def parent():
    parent = client.SubmissionServer((*fork_server.LIGHT_MODULES, MARKER), box_modules=(MARKER,))
    yield parent
    assert left_behind(MARKER, parent.pids) == []
    parent.close()


@pytest.fixture
def judged(parent: client.SubmissionServer, tmp_path: Path):
    """What a test cell that uses the facility comes to; the next cell's answer is right."""

    def run(body: str) -> CellResult:
        (tmp_path / "work_of_ours.py").write_text(WORK)
        key = make_key()
        source = TEST.format(folder=str(tmp_path), body=body)
        cells = tuple(replace(cell, source=source) if cell.id == "double_test" else cell for cell in key.cells)
        key = replace(key, cells=cells)
        result = grade(from_answers(key, RIGHT), key, student="s", seed=1, limits=QUICK, parent=parent)
        by_name = {cell.grade_id: cell for cell in result.cells}
        assert by_name["SHARES_test"].verdict.value == "passed"
        return by_name["double_test"]

    return run


def test_the_function_sees_what_a_student_sees(judged, tmp_path: Path) -> None:
    """Not the course, not the judge's files; and each call has a process of its own."""
    if best_tier() < Tier.FILES:
        pytest.skip("no confinement of tier 1 here")
    secret = client.PACKAGES / "pyproject.toml"
    assert secret.exists()
    cell = judged(
        f"assert work.readable({str(secret)!r}).startswith('[')\n"
        f"seen = confined.call(work.readable, {str(secret)!r}, what='Reading')\n"
        "assert seen in ('FileNotFoundError', 'PermissionError'), seen\n"
        "import os\n"
        "assert confined.call(work.who, what='Asking') != os.getpid()\n"
    )
    assert cell.verdict.value == "passed", cell.message


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("work.hangs, what='Compiling it', seconds=1", "Compiling it did not end within 1 s"),
        ("work.crashes, what='Compiling it'", "Compiling it ended its process"),
        ("work.fills, what='Reading it'", "a value of more than 10 MB"),
        ("work.no_value, what='Reading it'", "a value of type object"),
    ],
)
def test_what_goes_wrong_there_costs_the_row_only(call: str, words: str, judged) -> None:
    cell = judged(f"confined.call({call})")
    assert (cell.verdict.value, cell.earned) == ("failed", 0.0)
    assert words in cell.message


@pytest.mark.parametrize("fate", ["os._exit(9)", "time.sleep(600)"])
def test_a_process_that_never_gets_the_function_is_our_fault(fate: str, judged, tmp_path: Path) -> None:
    """Nothing of the student's has run there by then."""
    (tmp_path / "work_that_never_starts.py").write_text(
        f"import os, time\nif __file__.startswith('<'):\n    {fate}\ndef one():\n    return 1\n"
    )
    cell = judged("import work_that_never_starts\nconfined.call(work_that_never_starts.one, what='Reading', seconds=2)")
    assert cell.verdict.value == "harness error", cell.message


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("CUDA error: out of memory", "harness error"),
        ("No CUDA GPUs are available", "harness error"),
        ("CUDA_ERROR_DEVICE_UNAVAILABLE: CUDA-capable device(s) is/are busy or unavailable.", "harness error"),
        ("the text of a cell says CUDA error: out of memory", "failed"),
    ],
)
def test_a_gpu_that_fails_there_costs_no_points(text: str, verdict: str, judged) -> None:
    """What a kernel does wrong is told by gpulab's own exceptions."""
    cell = judged(f"confined.call(work.meets, {text!r}, what='Running it')")
    assert cell.verdict.value == verdict, cell.message


def test_exceptions_come_back_as_they_were(judged) -> None:
    """Built-in ones and gpulab's, so that a test can expect them."""
    cell = judged(
        "from gpulab.cuda_cpp import CudaCompileError\n"
        "for function, kind in ((work.refuses, ValueError), (work.refuses_in_our_own_words, CudaCompileError)):\n"
        "    try:\n"
        "        confined.call(function, 'this', what='Reading')\n"
        "    except kind as error:\n"
        "        assert str(error).endswith('this'), error\n"
        "    else:\n"
        "        raise AssertionError('nothing was raised')\n"
    )
    assert cell.verdict.value == "passed", cell.message


def test_arrays_travel_both_ways(judged) -> None:
    cell = judged(
        "import numpy as np\n"
        "found = confined.call(work.doubled, np.arange(3.0), what='Doubling')\n"
        "assert isinstance(found, np.ndarray) and found.tolist() == [0.0, 2.0, 4.0], found"
    )
    assert cell.verdict.value == "passed", cell.message


@pytest.mark.parametrize(
    "answer",
    [
        ["raised", "os", "system", "true"], ["raised", "gpulab.cuda_cpp", "compile", "x"], ["raised", 1, 2, 3],
        ["raised", "gpulab.cuda_cpp", "NoSuch", "x"], ["value"], [], "value", None, {"value": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_lie_from_there_calls_nothing(answer: object) -> None:
    """An answer names an exception of gpulab's, or it is refused."""
    with pytest.raises(BadValue, match="Reading gave something that cannot be read"):
        confined._value(answer, "Reading")


def test_an_answer_becomes_the_value_or_the_exception() -> None:
    assert confined._value(["value", [1, 2]], "Reading") == [1, 2]
    with pytest.raises(CudaCompileError, match="line 1"):
        confined._value(["raised", "gpulab.cuda_cpp", "CudaCompileError", "line 1"], "Reading")


def test_in_a_notebook_the_function_is_simply_called() -> None:
    assert calls.call(os.getpid, what="Asking") == os.getpid()
