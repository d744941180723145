"""What the counts of a Triton launch say about elements that no program stored."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from gpulab import trace
from gpulab.trace.errors import LaunchError

trace.use_triton()


@triton.jit
def fill_kernel(out_ptr: tl.tensor, n: int, stride: int, BLOCK: tl.constexpr) -> None:
    """Each program stores a block of ones, `stride` after the one before."""
    i = tl.program_id(0) * stride + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.full((BLOCK,), 1.0, tl.float32), mask=i < n)


@triton.jit
def dot_kernel(out_ptr: tl.tensor, m: int, n: int, T: tl.constexpr) -> None:
    """Each program stores a tile of a product."""
    row, column = tl.program_id(0) * T + tl.arange(0, T), tl.program_id(1) * T + tl.arange(0, T)
    tile = tl.full((T, T), 1.0, tl.float32)
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(out_ptr + row[:, None] * n + column[None, :], tl.dot(tile, tile), mask=inside)


@pytest.mark.parametrize(
    ("shape", "programs", "stride", "block", "told"),
    [
        ((1000,), 3, 256, 256, r"3 programs of 256 elements ran: it takes triton\.cdiv\(n, BLOCK\) of them"),
        ((1000,), 1, 512, 512, r"1 program of 512 elements ran: it takes"),
        ((1000,), 4, 0, 256, r"Others were stored more than once: do the addresses differ"),
        ((1000,), 4, 1, 256, r"Others were stored more than once: do the addresses differ"),
        ((3, 100), 3, 100, 64, r"Each program stores 64 elements, but a row has 100: is the block large enough, or"),
        ((3, 100), 1, 100, 128, r"No program stores them: are there enough programs"),
        ((2, 8, 16), 1, 128, 128, r"Only \[0\] of the result was stored: does the grid have programs for all"),
    ],
)
def test_the_counts_tell_why_elements_are_missing(
    shape: tuple[int, ...], programs: int, stride: int, block: int, told: str
) -> None:
    """Too few programs, a block that is too small, and addresses that coincide each have a text of their own."""
    with trace.counting() as launches:
        out = torch.empty(shape)
        fill_kernel[(programs,)](out, out.numel(), stride, BLOCK=block)
    with pytest.raises(AssertionError, match=told):
        trace.all_written(out, "fill", trace.one_kernel(launches, "fill"))


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        ((3, 2), r"2 × 3 tiles of 32 × 32, but the grid is \(3, 2\): are its axes in the order"),
        ((1, 2), r"2 × 3 tiles of 32 × 32, but the grid is \(1, 2\): round the number of programs up"),
        ((4, 1), r"No program stores them: are there enough programs"),
        ((6, 1), r"a program for each of the 2 × 3 tiles: are the row and the column .* computed from 3 tiles across"),
    ],
)
def test_a_grid_of_tiles_is_compared_with_the_result(grid: tuple[int, int], told: str) -> None:
    """Swapped axes and numbers of programs that are rounded down differ."""
    with trace.counting() as launches:
        out = torch.empty(50, 70)
        dot_kernel[grid](out, 50, 70, T=32)
    with pytest.raises(AssertionError, match=told):
        trace.all_written(out, "dot", trace.one_kernel(launches, "dot"))


def test_what_was_stored_elsewhere_is_not_called_a_duplicate() -> None:
    """Nothing at all, another tensor, and a block that a mask cuts have other causes than too few programs."""
    texts = []
    for returned, limit in ((0, 0), (1, 1000), (0, 999)):
        with trace.counting() as launches:
            outs = torch.empty(1000), torch.empty(1000)
            fill_kernel[(1,)](outs[0], limit, 1024, BLOCK=1024)
        with pytest.raises(AssertionError) as caught:
            trace.all_written(outs[returned], "fill", trace.one_kernel(launches, "fill"))
        texts.append(str(caught.value))
    assert "No program stores anything" in texts[0]
    assert "into another tensor" in texts[1]
    assert "The block of 1,024 elements reaches beyond them: is the mask false from element 999 on" in texts[2]


def test_one_element_too_many_is_told_from_a_wrong_address() -> None:
    """A mask with <= is true for the first element behind the tensor."""
    with pytest.raises(trace.OutOfBoundsError, match=r"The last one is element 999: does the mask compare with <="):
        fill_kernel[(4,)](torch.empty(1000), 1001, 256, BLOCK=256)


def test_a_grid_of_no_programs_asks_about_rounding() -> None:
    """What is rounded down can become 0."""
    with pytest.raises(LaunchError, match=r"Was the number rounded down\? triton\.cdiv rounds up"):
        fill_kernel[(100 // 256,)](torch.empty(100), 100, 256, BLOCK=256)
