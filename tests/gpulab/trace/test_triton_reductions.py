"""Reductions in Triton kernels without a GPU: with functions, along axes, and as methods."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from gpulab import trace

trace.use_triton()


@triton.jit
def welford(
    count: tl.tensor,
    mean: tl.tensor,
    squares: tl.tensor,
    its_count: tl.tensor,
    its_mean: tl.tensor,
    its_squares: tl.tensor,
) -> Any:
    both = count + its_count
    share = tl.where(both > 0, its_count / both, 0.0)
    delta = its_mean - mean
    return both, mean + delta * share, squares + its_squares + delta * delta * count * share


@triton.jit
def second(left: tl.tensor, right: tl.tensor) -> Any:
    return right


@triton.jit
def larger_of_two(left: tl.tensor, right: tl.tensor) -> Any:
    if left > right:
        return left
    return right


@triton.jit
def reduced_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, LARGER: tl.constexpr, BLOCK: tl.constexpr) -> None:
    i, j = tl.arange(0, BLOCK), tl.arange(0, 4)[None, :]
    x = tl.load(x_ptr + i[:, None] * 4 + j, mask=i[:, None] >= 0)
    if LARGER:
        tl.store(out_ptr + i, tl.reduce(x, 1, larger_of_two))
        tl.store(out_ptr + BLOCK + j, tl.reduce(x, 0, larger_of_two, keep_dims=True))
        tl.store(out_ptr + BLOCK + 4, tl.reduce(x, None, larger_of_two))
    else:
        tl.store(out_ptr + i, tl.reduce(x, 1, second))
        tl.store(out_ptr + BLOCK + j, tl.reduce(x, 0, second, keep_dims=True))
        tl.store(out_ptr + BLOCK + 4, tl.reduce(x, None, second))


@triton.jit
def methods_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr, x.sum(axis=0))
    tl.store(out_ptr + 1, x.max(0))
    tl.store(out_ptr + 2, x.argmax(axis=0))
    tl.store(out_ptr + 3, x.min(axis=0))
    tl.store(out_ptr + 4 + i, x.cumsum(axis=0))
    tl.store(out_ptr + 8 + i, x.softmax())


@triton.jit
def variance_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    count, mean, squares = tl.reduce(((i < n).to(tl.float32), x, tl.zeros_like(x)), 0, welford)
    tl.store(out_ptr, count)
    tl.store(out_ptr + 1, mean)
    tl.store(out_ptr + 2, squares / count)


def test_a_reduction_with_a_function_is_quick() -> None:
    """On whole blocks: element by element, 4,096 of them take seconds."""
    x, out = torch.rand(4096) + 3, torch.empty(3)
    begin = time.thread_time()
    variance_kernel[(1,)](x, out, 4001, BLOCK=4096)
    assert time.thread_time() - begin < 1
    expected = [4001.0, x[:4001].mean().item(), x[:4001].var(correction=0).item()]
    torch.testing.assert_close(out, torch.tensor(expected))


def test_reductions_are_methods_too() -> None:
    """As the compiler takes them; all of a block's are there in the interpreter."""
    x, out = torch.tensor([1.0, 4.0, 2.0, 0.0]), torch.empty(12)
    methods_kernel[(1,)](x, out, BLOCK=4)
    assert out.tolist() == [7.0, 4.0, 1.0, 0.0, 1.0, 5.0, 7.0, 7.0, *x.softmax(0).tolist()]


@pytest.mark.parametrize(("larger", "expected"), [(False, lambda x, axis: x.select(axis, -1)), (True, torch.amax)])
def test_a_reduction_keeps_order_and_shape(larger: bool, expected: Any) -> None:
    """Along either axis or all of them; a function with a branch is called element by element."""
    x, out = torch.rand(8, 4), torch.empty(13)
    reduced_kernel[(1,)](x, out, LARGER=larger, BLOCK=8)
    torch.testing.assert_close(out[:8], expected(x, 1))
    torch.testing.assert_close(out[8:12], expected(x, 0))
    torch.testing.assert_close(out[12], expected(x.flatten(), 0))
