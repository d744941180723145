"""What a student sees in a notebook when a check fails, or when a cell waits for an exercise: never our code."""

from __future__ import annotations

import io
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.validator import Validator

from gpulab.check import layout
from grader.authoring.execution import OwnKernel, kernel_environment

STUB = "def waves(blocks):\n    # YOUR CODE HERE\n    raise NotImplementedError()"


KERNEL = """import numpy as np
from numba import cuda

from gpulab import device_array, empty, trace

@cuda.jit
def copy_kernel(x, out):
    i = cuda.grid(1)
    out[i] = x[i]

def copy(x):
    out = empty(len(x))
    copy_kernel[2, 64](x, out)
    return out"""


def shown(*cells: str) -> list[str]:
    """The error text that each cell shows in a kernel; "" where there is none."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    with kernel_environment() as environment:
        NotebookClient(notebook, timeout=60, allow_errors=True, kernel_manager_class=OwnKernel).execute(env=environment)
    errors = [[one for one in cell.outputs if one.output_type == "error"] for cell in notebook.cells]
    return ["\n".join(found[0].traceback) if found else "" for found in errors]


@pytest.fixture(scope="module")
def failures() -> list[str]:
    return shown(
        "from gpulab import check\nimport gpulab.measuring.speedup",
        'check.equal(3, 4, "warps in 128 threads", {3: "Divide by 32."})',
        "def verify(answer):\n    assert answer == 1, 'six blocks: no kernel was launched'\n\nverify(2)",
        "def mine(n):\n    assert n > 0, 'negative'\n    return n",
        "check.equal(mine(-1), 1, 'what')",
        STUB,
        "raise NotImplementedError()",
        "# Draw the waves of 1 to 100 blocks.\npicture = [waves(n) for n in range(100)]",
        "check.equal(waves(6), 2, 'six blocks')",
        "picture[0] + 1",
        "run = {}\nrun['waves'] = waves(1)",
        "run['waves']",
        "len(SAXPY_CU)",
        "len(undefined)",
        "raise NotImplementedError('this shape')",
        "try:\n    raise KeyError('inner')\nexcept KeyError as inner:\n    outer = IndexError('a circle')\n"
        "    inner.__cause__, outer.__cause__ = outer, inner\n    raise outer",
        KERNEL,
        "with trace.counting():\n    copy(device_array(np.ones(100, np.float32)))",
        "def waves(blocks):\n    return blocks +",
        "import torch\n\nmissing = 'Found no NVIDIA driver on your system.'\nraise RuntimeError(missing)",
        "from gpulab import check\n\ncheck.equal(half(6), 3, 'half of six')",
        "def half(number):\n    return nmber / 2",
        "from gpulab import check\n\ncheck.equal(half(6), 3, 'half of six')",
        "from gpulab import plot",
        "from gpulab.figures import shapes\n\n"
        "exec(compile('def calls(work):\\n    return work(3)', shapes.__file__, 'exec'), vars(shapes))",
        "shapes.calls(half)",
        "def half(number):\n    pass",
        "from gpulab import check\n\ncheck.equal(half(6), 3, 'half of six')",
        "plot.bars({'half': half(6)}, title='t', y='y')",
        "missing = half(6) + machine",
        "def half(number):\n    return number // 2",
        "from gpulab import check\n\ncheck.equal(half(6), 3, 'half of six')",
        "plot.bars({'half': half}, title='t', y='y')",
    )


def test_a_failed_check_shows_its_message_and_no_traceback(failures: list[str]) -> None:
    """What was called, what came back, what was expected, the hint: in this order, and nothing else."""
    assert failures[1].splitlines() == [
        "warps in 128 threads",
        "  you returned: 3",
        "  expected:     4",
        "  Divide by 32.",
    ]


def test_an_assertion_of_the_test_cell_shows_its_message(failures: list[str]) -> None:
    assert failures[2] == "six blocks: no kernel was launched"


def test_a_students_own_error_keeps_its_traceback(failures: list[str]) -> None:
    """An assertion in the student's function, an unknown name, and what a library has not implemented."""
    for text, words in ((failures[4], "negative"), (failures[13], "undefined"), (failures[14], "this shape")):
        assert "Traceback" in text and words in text


def test_an_error_of_the_tracer_shows_the_students_lines_only(failures: list[str]) -> None:
    """The call, the launch, and the line of the kernel; nothing of the tracer's own files."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", failures[17])
    assert "x[100] is out of bounds" in text
    assert re.findall(r"--> *\d+ +(.*)", text) == [
        "copy(device_array(np.ones(100, np.float32)))",
        "copy_kernel[2, 64](x, out)",
        "out[i] = x[i]",
    ]
    assert "gpulab/" not in text


def test_a_syntax_error_shows_the_cell_only(failures: list[str]) -> None:
    """None of IPython's own frames, which read the cell."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", failures[18])
    assert "return blocks +" in text and "SyntaxError: invalid syntax" in text
    assert "Traceback" not in text and "interactiveshell" not in text


def test_a_gpu_that_is_not_there_is_one_line(failures: list[str]) -> None:
    """PyTorch's own error would send a student without a GPU to a driver's download page."""
    assert failures[19] == "No GPU here, and this cell needs one. Read on without it."


def test_a_test_before_its_answer_says_what_is_missing(failures: list[str]) -> None:
    """And so does one whose function was renamed; a name that the answer itself lacks keeps its traceback."""
    assert failures[20].startswith("There is no `half` yet: run the cell with your answer first.")
    assert "Traceback" in failures[22] and "name 'nmber' is not defined" in failures[22]


def test_an_answer_that_the_courses_code_calls_shows_the_students_lines_only(failures: list[str]) -> None:
    text = re.sub(r"\x1b\[[0-9;]*m", "", failures[25])
    assert re.findall(r"--> *\d+ +(.*)", text) == ["shapes.calls(half)", "return nmber / 2"]
    assert "gpulab/" not in text


def test_a_demonstration_that_an_answer_upsets_says_where_to_look(failures: list[str]) -> None:
    """Nothing of the drawing's own files; once the test has passed, errors keep their traceback."""
    assert "This cell uses `half`, whose test failed. Correct your answer first." in failures[28]
    assert "gpulab/" not in failures[28]
    assert "name 'machine' is not defined" in failures[29] and "Correct your answer" not in failures[29]
    assert "gpulab/" in failures[32] and "Correct your answer" not in failures[32]


def test_exceptions_that_cause_each_other_are_shown(failures: list[str]) -> None:
    """As Triton's interpreter chains them; nothing waits for the end of such a chain."""
    assert "a circle" in failures[15]


def test_a_cell_that_waits_for_an_exercise_says_so_in_one_line(failures: list[str]) -> None:
    """Whether it calls the exercise, or needs a variable of a cell that did, or an exercise that is a value."""
    first = "first and run its cell; this cell will then"
    assert failures[7] == f"Solve `waves` {first} draw the waves of 1 to 100 blocks."
    assert failures[8] == failures[9] == failures[10] == failures[11] == f"Solve `waves` {first} run."
    assert failures[12] == f"Solve `SAXPY_CU` {first} run."
    assert failures[6].startswith("Write your answer in place of")


def test_stock_validate_shows_the_message(tmp_path: Path) -> None:
    """nbgrader's Validate button: the message, whole, without a traceback."""
    settings = {"grade": True, "solution": False, "locked": True, "points": 1, "schema_version": 3}
    test = new_code_cell("from gpulab import check\ncheck.equal(3, 4, 'warps', {3: 'Divide by 32.'})")
    test.metadata["nbgrader"] = settings | {"grade_id": "warps_test", "cell_type": "code", "task": False}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=[test], metadata=kernel), tmp_path / "one.ipynb")
    validator = Validator(ignore_checksums=True)
    validator.stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, kernel_environment() as environment:
        for name, value in environment.items():
            patch.setenv(name, value)
        validator.validate_and_print(str(tmp_path / "one.ipynb"))
    told = validator.stream.getvalue()
    assert "The error was:\n\n    warps\n      you returned: 3\n      expected:     4\n      Divide by 32.\n" in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("no form at all.", ["no form at all."]),
        ("w: you returned 1.5, expected 2.5.", ["w", "  you returned: 1.5", "  expected:     2.5"]),
        ("two\n  'a': wrong", ["two", "  'a': wrong"]),
        ("", [""]),
    ],
)
def test_messages_are_laid_out(message: str, expected: list[str]) -> None:
    assert layout.lines(message) == expected


def test_long_lines_are_folded_below_their_label() -> None:
    lines = layout.lines(f"w: you returned [{', '.join(['1'] * 60)}], expected [2].")
    assert max(map(len, lines)) <= layout.WIDTH
    assert lines[2].startswith(" " * len("  you returned: ") + "1")
