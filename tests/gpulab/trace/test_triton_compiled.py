"""Without a GPU, too, Triton's compiler refuses what it would refuse on one, before the interpreter runs a kernel."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

pytest.importorskip("triton")
import torch
import triton
import triton.language as tl

from gpulab import trace
from gpulab.trace.triton import compiled

trace.use_triton()


@triton.jit
def doubled(x: tl.tensor) -> Any:
    return 2 * x


@triton.jit
def product(a: tl.tensor, b: tl.tensor) -> Any:
    return tl.dot(a, b)


@triton.jit
def becomes_a_block(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    total = 0.0
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + start + i, mask=start + i < n, other=0.0)
    tl.store(x_ptr + i, total, mask=i < n)


@triton.jit
def becomes_float(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    largest = 0
    for start in range(0, n, BLOCK):
        largest = tl.maximum(largest, tl.max(tl.load(x_ptr + start + i, mask=start + i < n, other=0.0)))
    tl.store(x_ptr, largest)


@triton.jit
def differs_by_branch(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    if n > 2:  # noqa: SIM108
        x = tl.load(x_ptr + i, mask=i < n)
    else:
        x = 1.0
    tl.store(x_ptr + i, x, mask=i < n)


@triton.jit
def factors_do_not_fit(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    a = tl.zeros((16, 32), tl.float32)
    made = product(a, tl.zeros((16, 16), tl.float32))
    tl.store(x_ptr + i, tl.sum(made), mask=i < n)


@triton.jit
def three_lanes(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK - 1)
    tl.store(x_ptr + i, 1.0, mask=i < n)


@triton.jit
def whole_block_at_one_place(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr, tl.load(x_ptr + i, mask=i < n))


@triton.jit
def usual(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    """A loop that begins at this program, a device function, and a branch on what is known when it is compiled."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(tl.program_id(0), n, BLOCK):
        total += tl.load(x_ptr + start + i, mask=start + i < n, other=0.0)
    if BLOCK == 4:
        total = doubled(total)
    tl.store(x_ptr + i, total, mask=i < n)


@pytest.mark.parametrize(
    ("kernel", "words", "line"),
    [
        (becomes_a_block, "Loop-carried variable total has initial type fp32", "for start"),
        (becomes_float, "Loop-carried variable largest has initial type int32", "for start"),
        (differs_by_branch, "Mismatched type for x between then block", "if n"),
        (factors_do_not_fit, "equal reduction dimensions", "made = product"),
        (three_lanes, "power of 2", "i = "),
        (whole_block_at_one_place, "Value argument cannot be block type", "tl.store"),
    ],
    ids=lambda one: one.fn.__name__ if hasattr(one, "fn") else "",
)
def test_a_compilers_refusal_has_its_words_and_the_line(kernel: Any, words: str, line: str) -> None:
    x = torch.zeros(4)
    with pytest.raises(trace.LaunchError) as refusal:
        kernel[(1,)](x, 4, BLOCK=4)
    message = str(refusal.value)
    number = refusal.value.line
    assert message.startswith(f"Triton's compiler refuses kernel '{kernel.fn.__name__}', line {number}, `{line}")
    assert words in message
    assert "\n" not in message
    source, first = inspect.getsourcelines(kernel.fn)
    assert source[number - first].lstrip().startswith(line)
    assert torch.equal(x, torch.zeros(4)), "the interpreter ran it"


def test_a_kernel_is_compiled_once_for_its_types_and_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(compiled, "_intermediate", lambda source, *_: made.append(source.constants))
    compiled._taken.clear()
    for size, block in ((32, 4), (48, 4), (32, 8)):
        usual[(1,)](torch.zeros(size), size, BLOCK=block, num_warps=2)
    assert len(made) == 2


def test_the_types_are_those_of_the_arguments(recwarn: pytest.WarningsRecorder) -> None:
    """Sums of float32 elements stay float32 in a loop, sums of float64 elements do not. There is no warning."""
    x = torch.ones(10)
    usual[(1,)](x, 10, BLOCK=4)
    assert x[:4].tolist() == [6.0, 6.0, 4.0, 4.0]
    with pytest.raises(trace.LaunchError, match="Loop-carried variable total"):
        usual[(1,)](x.double(), 10, BLOCK=4)
    assert not recwarn.list
