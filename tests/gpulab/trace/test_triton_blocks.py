"""What is said of a Triton block that leaves its tensor, from its addresses alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpulab.trace.triton.blocks import ArgumentMemory, beyond, strides_of

MATRIX = ArgumentMemory("a_ptr", 1024, 1024 + 4 * 40 * 70, 4, (40, 70))
ROWS = ArgumentMemory("x_ptr", 0, 4 * 300, 4, (3, 100))


def tile(first: int, down: int, across: int = 1, size: int = 32) -> Any:
    """Addresses of a block in the matrix."""
    i = np.arange(size)
    return 1024 + 4 * (first + down * i[:, None] + across * i[None, :])


def test_strides_that_are_not_the_tensors_are_named() -> None:
    """A row of the tensor may lie along either axis of the block."""
    assert strides_of(tile(0, 70), MATRIX) == strides_of(tile(0, 1, 70), MATRIX) == ""
    assert "from one row of the block to the next, the address moves on by 40" in strides_of(tile(0, 40), MATRIX)
    assert "from one column of the block to the next" in strides_of(tile(0, 1, 40), MATRIX)
    assert strides_of(tile(0, 140, 2), MATRIX) == ""  # neighbors that are apart: nothing is clear


@pytest.mark.parametrize(
    ("first", "rows", "columns", "said"),
    [
        (32 * 70, 40, 70, "in row 63, but a_ptr has 40 rows."),
        (32 * 70 + 64, 8, 70, "in column 95, but a_ptr has 70 columns."),
    ],
)
def test_the_row_or_column_without_a_limit_is_named(first: int, rows: int, columns: int, said: str) -> None:
    """An element beyond a row lies in the next one, so the number of the element would not tell."""
    mask = np.zeros((32, 32), bool)
    mask[: 8 if "column" in said else 32, :] = True
    assert beyond(tile(first, 70), mask, MATRIX, (1, 1, 0), (2, 3, 1)).startswith(said)


def test_a_program_that_begins_elsewhere_is_named() -> None:
    """Rows as long as the block, and more programs than rows."""
    row = 4 * np.arange(100)
    ones = np.ones(100, bool)
    assert "row 2 begins at element 200: x_ptr has 3 rows" in beyond(row + 1024, ones, ROWS, (2, 0, 0), (3, 1, 1))
    later = beyond(row[:64] + 1056, ones[:64], ROWS, (2, 0, 0), (3, 1, 1))
    assert later.startswith("in column 127 of row 2, but x_ptr has 3 rows")
    assert "takes row 3" in beyond(row + 1200, ones, ROWS, (3, 0, 0), (100, 1, 1))
    assert "the grid is (1, 4)" in beyond(row + 1200, ones, ROWS, (0, 1, 0), (1, 4, 1))


def test_a_mask_that_leaves_out_nothing_of_a_vectors_last_block_is_named() -> None:
    vector, block = ArgumentMemory("x_ptr", 0, 4 * 150, 4, (150,)), 4 * (128 + np.arange(64))
    said = beyond(block, np.ones(64, bool), vector, (2, 0, 0), (3, 1, 1))
    assert "nothing of program 2's block, elements 128 to 191" in said and "whole vector with 150" in said


def test_nothing_is_said_where_nothing_is_clear() -> None:
    """Vectors whose mask leaves something out, tensors with gaps, and addresses without a pattern."""
    line, ones = 4 * np.arange(64), np.ones(64, bool)
    vector = ArgumentMemory("x_ptr", 0, 4 * 50, 4, (50,))
    assert beyond(line, np.arange(64) < 60, vector, (0, 0, 0), (1, 1, 1)) == ""
    assert beyond(line, ones, ArgumentMemory("x_ptr", 0, 200, 4), (0, 0, 0), (1, 1, 1)) == ""
    assert beyond(line[::-1] + 1024, ones, ROWS, (0, 0, 0), (3, 1, 1)) == ""
