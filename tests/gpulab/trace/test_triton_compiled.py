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


@triton.jit
def another_in_its_text(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    """Adds 1.

    def another_in_its_text(x_ptr, n, BLOCK: tl.constexpr):
        import torch
        x_ptr.handle.data[:] = 0
        '''"""
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) + 1.0, mask=i < n)
    # '''


@triton.jit
def branch_of_the_interpreter(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    if isinstance(i.shape[0], int):
        tl.store(x_ptr + i, 1.0, mask=i < n)
    else:
        tl.store(x_ptr + i, 2.0, mask=i < n)


@triton.jit
def value_of_the_interpreter(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    what = 1.0 if isinstance(i.shape[0], int) else 2.0
    tl.store(x_ptr + i, what, mask=i < n)


@triton.jit
def added_by_the_interpreter(a: tl.tensor, b: tl.tensor) -> Any:
    if isinstance(a.type, tl.tuple_type):
        return a - b
    return a + b if a.dtype == tl.float32 else a


@triton.jit
def decided_alike(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    """Branches on constants, types, and numbers; chains, and a function for a reduction."""
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    if BLOCK > 8 and n > 100:
        x = 0.0 * x
    elif x.dtype == tl.float32:
        x += 1.0 if n > 2 else 5.0
    while n > 3:
        x *= 2.0
        n -= 1
    inside = 0 <= i < BLOCK
    total = tl.reduce(x, 0, added_by_the_interpreter)
    tl.store(x_ptr + i, x + total, mask=inside)


@triton.jit
def decided_by_an_argument_of_1(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    if (n > 1 and tl.program_id(0) == 0) or 1 < n < BLOCK:
        x = x * 2
    if n == 1 or tl.program_id(0) > 0:
        x = x + 1
    tl.store(x_ptr + i, x)


def test_an_argument_of_1_is_a_constant_to_the_compiler_and_decides_for_the_interpreter() -> None:
    for n, expected in (1, 2.0), (2, 2.0):
        x = torch.ones(16)
        decided_by_an_argument_of_1[(1,)](x, n, BLOCK=16)
        assert x.tolist() == [expected] * 16


def test_the_interpreter_runs_the_text_that_was_compiled() -> None:
    x = torch.zeros(4)
    another_in_its_text[(1,)](x, 4, BLOCK=4)
    assert x.tolist() == [1.0] * 4


@pytest.mark.parametrize("kernel", [branch_of_the_interpreter, value_of_the_interpreter])
def test_what_was_not_compiled_is_refused(kernel: Any) -> None:
    x = torch.zeros(4)
    with pytest.raises(trace.LaunchError, match="Triton's compiler leaves this out") as refusal:
        kernel[(1,)](x, 4, BLOCK=4)
    source, first = inspect.getsourcelines(kernel.fn)
    assert "2.0" in source[refusal.value.line - first]
    assert torch.equal(x, torch.zeros(4))


def test_branches_that_both_take_run() -> None:
    x = torch.arange(4.0)
    decided_alike[(1,)](x, 4, BLOCK=4)
    assert x.tolist() == [22.0, 24.0, 26.0, 28.0]


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
    intermediate = compiled._intermediate

    def noted(source: Any, *rest: Any) -> Any:
        made.append(source.constants)
        return intermediate(source, *rest)

    monkeypatch.setattr(compiled, "_intermediate", noted)
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
