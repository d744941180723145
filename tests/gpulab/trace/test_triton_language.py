"""A Triton kernel keeps to Triton's language, and its result is the kernel's own while a judge watches."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.language import exp
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor

from gpulab import trace
from gpulab.trace.triton import origins

trace.use_triton()

BLOCK_SIZE = tl.constexpr(64)
FACTOR = tl.constexpr(2)
BASE = tl.constexpr(0)
NUMBER = 2
TABLE = [1.0, 2.0]
LISTED = tl.constexpr(tuple(range(100)))
CALLED: list[str] = []


def host() -> None:
    CALLED.append("host")


HIDDEN = tl.constexpr(host)


@triton.jit
def doubled(x: tl.tensor) -> Any:
    return x * FACTOR


@triton.jit
def calls_a_device_function_of_the_hosts(x: tl.tensor) -> Any:
    host()
    return x


@triton.jit
def usual(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, FN: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + i, mask=i < n, other=-float("inf")).to(out_ptr.dtype.element_ty)
    x = FN(tl.where(i < n, tl.exp(x) * math.pi / math.sqrt(BLOCK_SIZE), 0.0))
    for _ in range(tl.cdiv(n, BLOCK_SIZE)):
        x = tl.maximum(x, min(0.0, 1.0))
    tl.store(out_ptr + i, x, mask=i < n)


@triton.jit
def constants_first(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    x = tl.load(BASE + x_ptr + i, mask=i < n, other=0.0)
    y = FACTOR * x + FACTOR / (FACTOR + x) - (FACTOR - x)
    y = tl.where((FACTOR < x) & (FACTOR != i), y, -FACTOR)  # noqa: SIM300
    y += ((FACTOR * i) // FACTOR + FACTOR // (i + 1) + FACTOR % (i + 1) + (FACTOR << i)).to(tl.float32)
    tl.store(out_ptr + i, y, mask=i < n)


@triton.jit
def names_a_function(x_ptr: tl.tensor) -> None:
    host()
    tl.store(x_ptr, 1.0)


@triton.jit
def names_a_list(x_ptr: tl.tensor) -> None:
    tl.store(x_ptr, TABLE[0])


@triton.jit
def names_a_hidden_function(x_ptr: tl.tensor) -> None:
    HIDDEN()
    tl.store(x_ptr, 1.0)


@triton.jit
def names_a_long_constant(x_ptr: tl.tensor) -> None:
    tl.store(x_ptr, LISTED[3])


@triton.jit
def names_numpy(x_ptr: tl.tensor) -> None:
    tl.store(x_ptr, np.sqrt(2.0))


@triton.jit
def goes_through_attributes(x_ptr: tl.tensor) -> None:
    tl.store(x_ptr, x_ptr.handle.data[0])


@triton.jit
def goes_through_classes(x_ptr: tl.tensor) -> None:
    x_ptr.__class__.__init__.__globals__["sys"].exit()


@triton.jit
def calls_what_is_in_a_tuple(x_ptr: tl.tensor) -> None:
    (host,)[0]()


@triton.jit
def calls_another(x_ptr: tl.tensor) -> None:
    tl.store(x_ptr, calls_a_device_function_of_the_hosts(1.0))


@triton.jit
def imports(x_ptr: tl.tensor) -> None:
    import os

    os.abort()


@triton.jit
def evaluates(x_ptr: tl.tensor) -> None:
    eval("host()")


@triton.jit
def names_a_number(x_ptr: tl.tensor) -> None:
    tl.store(x_ptr, NUMBER)


@triton.jit
def names_a_builtin(x_ptr: tl.tensor) -> None:
    tl.store(x_ptr, exp(1.0))


@triton.jit
def names_what_only_a_compiler_links(x_ptr: tl.tensor) -> None:
    tl.store(x_ptr, libdevice.fma(1.0, 2.0, 3.0))


@triton.jit
def forgets_parentheses(x_ptr: tl.tensor) -> None:
    i = tl.arange(0, 4)
    tl.store(x_ptr + i, 1.0, mask=0 < i & i < 3)


@triton.jit
def has_parentheses(x_ptr: tl.tensor) -> None:
    i = tl.arange(0, 4)
    tl.store(x_ptr + i, 1.0, mask=0 < (i & 3) < 3)


@triton.jit
def leaves_a_loop(x_ptr: tl.tensor, n: int) -> None:
    while True:
        if n > 0:
            break


@triton.jit
def skips_a_step(x_ptr: tl.tensor, n: int) -> None:
    for step in range(n):
        if step == 1:
            continue
        tl.store(x_ptr + step, 1.0)


@triton.jit
def takes_anything(x_ptr: tl.tensor, what: tl.constexpr) -> None:
    tl.store(x_ptr, 1.0)


@triton.jit
def copy(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def test_the_language_is_accepted() -> None:
    """Constants, numbers, modules of Triton's, device functions (named, and passed), Python's few names."""
    x, out = torch.rand(100), torch.zeros(100)
    usual[(2,)](x, out, 100, FN=doubled)
    torch.testing.assert_close(out, 2 * torch.pi * torch.exp(x) / 8)


def test_a_constant_stands_before_an_operator() -> None:
    """Triton's interpreter alone makes a constant of the tensor, which nothing takes."""
    x, out, i = torch.rand(8) * 4, torch.zeros(8), torch.arange(8)
    constants_first[(1,)](x, out, 8, BLOCK=8)
    expected = 2 * x + 2 / (2 + x) - (2 - x)
    expected = torch.where((x > 2) & (i != 2), expected, -2) + (2 * i) // 2 + 2 // (i + 1) + 2 % (i + 1) + (2 << i)
    torch.testing.assert_close(out, expected)


@triton.jit
def two_rows(x_ptr: tl.tensor, out_ptr: tl.tensor, rows: int, width: int, BLOCK: tl.constexpr) -> None:
    column = tl.arange(0, BLOCK)
    for i in range(2):
        row = 2 * tl.program_id(0) + i
        inside = (row < rows) & (column < width)
        x = tl.load(x_ptr + row * width + column, mask=inside & (row != 1), other=-1.0)
        tl.store(out_ptr + row * width + column, x, mask=inside)


def test_a_mask_combines_a_block_with_a_single_number() -> None:
    """In Triton's interpreter alone, a comparison has the type of what it compares."""
    x, out = torch.rand(3, 5), torch.zeros(4, 5)
    two_rows[(2,)](x, out, 3, 5, BLOCK=8)
    expected = torch.zeros(4, 5)
    expected[:3] = x
    expected[1] = -1
    torch.testing.assert_close(out, expected)


@triton.jit
def described_by_the_host(x: tl.tensor, out_ptr: tl.tensor, n: int) -> None:
    out = tl.make_tensor_descriptor(out_ptr, shape=[n], strides=[1], block_shape=[BLOCK_SIZE])
    at = tl.program_id(0) * BLOCK_SIZE
    out.store([at], 2 * x.load([at]))


def test_tensor_descriptors_are_taken() -> None:
    """Made in the kernel or by the host; what lies beyond the edge is not counted."""
    x, out = torch.rand(100), torch.zeros(100)
    with trace.counting() as launches, origins.watching([x], {}) as watched:
        described_by_the_host[(2,)](TensorDescriptor.from_tensor(x, [64]), out, 100)
        result = watched.result(out)
    assert torch.equal(result, 2 * x)
    assert watched.notes == []
    (launch,) = (one for one in launches if one["kind"] == "triton")
    assert (launch["reads"], launch["writes"]) == ({"x": 400}, {"out_ptr": 400})


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (names_a_function, "`host` is a function of the host's"),
        (names_a_list, "`TABLE` is of type list"),
        (names_a_hidden_function, "`HIDDEN` is a function of the host's"),
        (names_a_long_constant, "`LISTED` is"),
        (names_numpy, "`np.sqrt` is a function of the host's"),
        (goes_through_attributes, ".data is not an attribute"),
        (goes_through_classes, "is not an attribute"),
        (calls_what_is_in_a_tuple, "by their names"),
        (calls_another, "`host` is a function of the host's"),
        (imports, "Triton does not support `import`"),
        (
            names_a_number,
            "`NUMBER` is a global number that may change: define it outside the kernel as NUMBER = tl.constexpr(…)",
        ),
        (
            names_a_builtin,
            "`exp` must be called through its module: tl.exp.",
        ),
        (names_what_only_a_compiler_links, "without a GPU, `libdevice.fma` does not exist"),
        (
            forgets_parentheses,
            "`&` is computed before comparisons, so this compares with i & i: write (…) & (…), with parentheses",
        ),
        (leaves_a_loop, "Triton does not support `break`"),
        (skips_a_step, "Triton does not support `continue`"),
        (evaluates, "`eval` is not a name that a kernel knows"),
    ],
    ids=lambda one: one.fn.__name__ if hasattr(one, "fn") else None,
)
def test_what_a_compiler_would_refuse_does_not_run(kernel: Any, words: str) -> None:
    with pytest.raises(trace.LaunchError) as refusal:
        kernel[(1,)](torch.empty(4), *([] if len(kernel.arg_names) == 1 else [2]))
    assert words in str(refusal.value)
    assert not CALLED


def test_an_operator_of_bits_may_stand_between_comparisons() -> None:
    x = torch.zeros(4)
    has_parentheses[(1,)](x)
    assert x.tolist() == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("given", [host, [1.0], 2**64, tuple(range(9)), (1, host), tl.constexpr(host), {}, np.ones(2)])
def test_an_argument_is_a_tensor_or_one_number(given: Any) -> None:
    with pytest.raises(trace.LaunchError, match="It takes tensors and single numbers"):
        takes_anything[(1,)](torch.empty(4), given)


@pytest.mark.parametrize("given", [1, 2.5, True, None, "add", (3, 4), tl.float32, torch.float32, doubled])
def test_usual_arguments_are_taken(given: Any) -> None:
    takes_anything[(1,)](torch.empty(4), given)


# ------------------------------------------------------------------------------------- what a call returned, and whose


def watched(function: Any, x: torch.Tensor) -> tuple[Any, list[str]]:
    """What a judge sees of a call, and its notes."""
    with trace.counting(), origins.watching([x], {}) as seen:
        value = function(x)
    return seen.result(value), seen.notes


def copied(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    copy[(1,)](x, out, len(x), BLOCK=64)
    return out


def test_a_kernels_result_is_given_on() -> None:
    x = torch.rand(50)
    found, notes = watched(copied, x)
    assert torch.equal(found, x)
    assert not notes


def test_a_view_and_several_results_are_given_on() -> None:
    x = torch.rand(50)
    found, notes = watched(lambda x: (copied(x)[10:].view(4, 10), x), x)
    assert torch.equal(found[0], x[10:].view(4, 10))
    assert torch.equal(found[1], x)
    assert not notes


def test_what_the_host_writes_afterwards_does_not_count() -> None:
    def written(x: torch.Tensor) -> torch.Tensor:
        out = copied(x)
        out.numpy()[:] = 7
        return out

    x = torch.rand(50)
    found, _ = watched(written, x)
    assert torch.equal(found, x)


@pytest.mark.parametrize("which", ["out", "x"])
def test_what_a_thread_writes_meanwhile_does_not_count(which: str) -> None:
    """The kernel works on memory that nobody else has: a race changes nothing, or it is noted."""
    wrong = np.arange(50, dtype=np.float32)

    def raced(x: torch.Tensor) -> torch.Tensor:
        out, begun, over = torch.empty_like(x), threading.Event(), threading.Event()

        def write() -> None:
            while not over.is_set():
                {"out": out, "x": x}[which].numpy()[:] = wrong
                begun.set()

        thread = threading.Thread(target=write)
        thread.start()
        begun.wait()
        try:
            copy[(1,)](x, out, len(x), BLOCK=64)
        finally:
            over.set()
            thread.join()
        return out

    x = torch.rand(50)
    right = x.clone()
    found, notes = watched(raced, x)
    assert torch.equal(found, right) or ["that are neither" in note for note in notes] == [True]
    assert which == "x" or torch.equal(found, right)


@pytest.mark.parametrize("other", [lambda x: torch.from_numpy(x.numpy() * 2), lambda x: x.numpy() * 2])
def test_another_array_is_noted(other: Any) -> None:
    def swapped(x: torch.Tensor) -> Any:
        copied(x)
        return other(x)

    _, notes = watched(swapped, torch.rand(50))
    assert ["not a tensor that the kernel was given" in note for note in notes] == [True]


def test_values_of_the_hosts_are_noted() -> None:
    _, notes = watched(lambda x: copied(torch.from_numpy(np.exp(x.numpy()))), torch.rand(50))
    assert ["values in x_ptr that are neither" in note for note in notes] == [True]


def test_fills_and_unwritten_memory_are_nobodys_values() -> None:
    for given in (torch.zeros(50), torch.full((50,), 3.0), torch.rand(50)):
        assert not watched(lambda x, given=given: copied(x if given.unique().numel() > 1 else given), given)[1]
    assert not watched(lambda x: copied(torch.empty(50, dtype=torch.int64)), torch.rand(50))[1]


def test_what_a_launch_left_may_be_given_to_the_next() -> None:
    x = torch.rand(50)
    found, notes = watched(lambda x: copied(copied(x) if len(x) else x), x)
    assert torch.equal(found, x)
    assert not notes


def test_without_a_launch_a_value_is_left_alone() -> None:
    assert watched(lambda x: 3, torch.rand(2)) == (3, [])
