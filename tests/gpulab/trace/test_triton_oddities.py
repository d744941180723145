"""Where a Triton kernel makes its first NaN, and what its masked loads put in place of elements."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from gpulab import trace

trace.use_triton()


@triton.jit
def softmax_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, OTHER: tl.constexpr, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=OTHER)
    weights = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + i, weights / tl.sum(weights, axis=0), mask=i < n)


@triton.jit
def exponential_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.exp(x), mask=i < n)


def test_the_first_nan_is_named_with_its_line() -> None:
    """The padding of +inf makes it; the NaN of the load is none that an operation has made."""
    with trace.counting() as launches:
        softmax_kernel[(1,)](torch.ones(5), torch.empty(5), 5, OTHER=float("inf"), BLOCK=8)
    assert "`weights = tl.exp(x - tl.max(x, axis=0))`): it is inf - inf." in trace.nan_of(launches[-1])
    assert launches[-1]["paddings"] == {"x_ptr": float("inf")}


def test_a_sound_kernel_has_nothing_to_tell() -> None:
    """Padding of -inf, and exponents of at most 0."""
    with trace.counting() as launches:
        softmax_kernel[(1,)](torch.ones(5), torch.empty(5), 5, OTHER=float("-inf"), BLOCK=8)
    assert trace.nan_of(launches[-1]) == launches[-1]["rising"] == ""


def test_a_load_without_other_is_told_last() -> None:
    """Its NaN may be harmless: what overflows is told first."""
    with trace.counting() as launches:
        exponential_kernel[(1,)](torch.zeros(5), torch.empty(5), 5, BLOCK=8)
        exponential_kernel[(1,)](torch.full((5,), 100.0), torch.empty(5), 5, BLOCK=8)
    told = [trace.nan_of(one) for one in launches if one["kind"] == "triton"]
    assert "is a load without other=" in told[0]
    assert "exp gets 100 there, and gives inf" in told[1]
