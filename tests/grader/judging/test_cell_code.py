"""Test cells are compiled in one process and run in others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grader.judging.cell_code import compiled, packed, unpacked

CELL = "import math\nscore = answer(4)\nround(math.sqrt(score), 1)"


def test_a_cell_arrives_as_it_was_compiled() -> None:
    """Its names, its statements, and the value that it ends in."""
    code = unpacked(packed(CELL))
    assert code.names == {"math", "score", "answer", "round"}
    names = {"answer": lambda number: number * number}
    exec(code.body, names)
    assert code.value is not None
    assert (names["score"], eval(code.value, names)) == (16, 4.0)


@pytest.mark.parametrize("source", ["", "# nothing", "x = 1", "if True:\n    3"])
def test_a_cell_that_ends_in_no_expression_has_no_value(source: str) -> None:
    assert unpacked(packed(source)).value is None


@pytest.mark.parametrize("source", ["def broken(:", "x = '\0'"])
def test_what_is_no_python_says_so_where_it_runs(source: str) -> None:
    """As any error of a test's does; compiling it must not end the driver."""
    with pytest.raises((SyntaxError, ValueError)):
        exec(unpacked(packed(source)).body, {})


def test_it_is_compiled_once() -> None:
    assert compiled(CELL) is compiled(CELL)


def test_it_asserts_whatever_python_the_driver_was_started_with() -> None:
    """Under PYTHONOPTIMIZE, asserts are left out of what is compiled: every wrong answer would pass."""
    program = "from grader.judging.cell_code import packed\nprint(packed('assert answer == 3\\nassert answer'))"
    done = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=True)
    with pytest.raises(AssertionError):
        exec(unpacked(done.stdout).body, {"answer": 4})
