"""Triton kernels without a GPU: what is counted, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from gpulab import trace
from gpulab.trace.errors import OutOfBoundsError
from gpulab.trace.triton import accesses

trace.use_triton()


@triton.jit
def add_kernel(x_ptr: tl.tensor, y_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + y, mask=i < n)


@triton.jit
def unguarded_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


@triton.jit
def from_bytes_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr.to(tl.pointer_type(tl.float32)) + i, mask=i < n)
    tl.store(out_ptr.to(tl.pointer_type(tl.float32)) + i, x, mask=i < n)


@triton.jit
def row_sum_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + i, mask=i < n)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))


@triton.jit
def dot_kernel(a_ptr: tl.tensor, b_ptr: tl.tensor, out_ptr: tl.tensor, TYPE: tl.constexpr) -> None:
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    sums = tl.zeros((16, 16), dtype=TYPE)
    sums = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), sums, out_dtype=TYPE)
    tl.store(out_ptr + at, sums.to(tl.float32))


@triton.jit
def alone_kernel(x_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    if tl.program_id(0) == 1:
        for start in range(0, n, BLOCK):
            i = start + tl.arange(0, BLOCK)
            tl.store(x_ptr + i, 1.0, mask=i < n)


@triton.jit
def idle_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, BLOCK: tl.constexpr) -> None:
    if tl.program_id(0) < 3:
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        first = tl.load(x_ptr + tl.arange(0, BLOCK))
        tl.store(out_ptr + i, first, mask=i < n)


@triton.jit
def again_kernel(x_ptr: tl.tensor, y_ptr: tl.tensor, out_ptr: tl.tensor, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    own = tl.program_id(0) * BLOCK + i
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + own) + tl.load(y_ptr + own)
    if tl.program_id(0) == 1:
        x += tl.load(x_ptr + i, mask=i < 2, other=0.0)
    tl.store(out_ptr + own, x + y)


@triton.jit
def count_kernel(total_ptr: tl.tensor) -> None:
    tl.atomic_add(total_ptr, 1)


@triton.jit
def endless_kernel(x_ptr: tl.tensor) -> None:
    while tl.load(x_ptr) >= 0:
        tl.store(x_ptr, 1.0)


def added(n: int, block: int = 64) -> list[dict[str, Any]]:
    x, y = torch.rand(2, n)
    with trace.counting() as launches:
        out = torch.empty(n)
        add_kernel[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block)
    torch.testing.assert_close(out, x + y)
    return launches


def test_bytes_are_counted_by_argument_and_line() -> None:
    """Masked-out places are not: 1,000 float32 elements are 4,000 bytes, whatever the block size."""
    *_, launch = added(1000)
    assert launch["kernel"] == "add_kernel"
    assert (launch["programs"], launch["grid"]) == (16, [16, 1, 1])
    assert launch["reads"] == {"x_ptr": 4000, "y_ptr": 4000}
    assert launch["writes"] == {"out_ptr": 4000}
    assert [line["bytes_read"] for line in launch["lines"]] == [4000, 4000, 0]
    assert launch["lines"][0]["source"] == "x = tl.load(x_ptr + i, mask=i < n)"
    assert launch["largest_block"] == 64
    assert (launch["writers"], launch["most_written"]) == (16, 256)


def test_bytes_are_those_that_pointers_point_to() -> None:
    """Whatever the tensor is of: a kernel may be given float32 as bytes."""
    x, out = torch.rand(100), torch.empty(100)
    with trace.counting() as launches:
        from_bytes_kernel[(2,)](x.view(torch.uint8), out.view(torch.uint8), 100, BLOCK=64)
    assert torch.equal(out, x)
    assert (launches[-1]["bytes_read"], launches[-1]["bytes_written"]) == (400, 400)
    assert launches[-1]["most_written"] == 256
    with pytest.raises(OutOfBoundsError, match="x_ptr"), trace.counting():
        from_bytes_kernel[(2,)](x.view(torch.uint8)[:-2], out.view(torch.uint8), 100, BLOCK=64)


def test_who_stores_is_counted() -> None:
    """One program of four that stores everything is distinguished from four that share the work."""
    with trace.counting() as launches:
        alone_kernel[(4,)](torch.empty(200), 200, BLOCK=64)
    assert (launches[-1]["programs"], launches[-1]["writers"], launches[-1]["most_written"]) == (4, 1, 800)


def test_programs_that_load_and_store_nothing_are_counted() -> None:
    """Of four programs two store, one only loads, and one does neither."""
    with trace.counting() as launches:
        idle_kernel[(4,)](torch.ones(64), torch.empty(100), 100, BLOCK=64)
    assert (launches[-1]["programs"], launches[-1]["writers"], launches[-1]["idle_readers"]) == (4, 2, 1)


def test_what_a_program_loads_again_is_counted() -> None:
    """One of two programs loads two elements of x twice, which both load; each loads its own part of y twice."""
    x, y, out = torch.ones(8), torch.ones(16), torch.empty(16)
    with trace.counting() as launches:
        again_kernel[(2,)](x, y, out, BLOCK=8)
    assert launches[-1]["most_loaded"] == {"x_ptr": 2, "y_ptr": 2}
    assert launches[-1]["most_readers"] == {"x_ptr": 2, "y_ptr": 1}


def test_eager_kernels_and_allocations_are_listed_in_order() -> None:
    """A view costs nothing, an expanded operand its stored elements, and reserved memory no bytes."""
    x = torch.rand(10, 20)
    with trace.counting() as launches:
        out = torch.empty(20, 10)
        torch.relu(x.T + x.T[:, :1].expand(20, 10) * 2)
    assert out.isnan().all()
    kinds = [(one["kind"], one["kernel"], one["bytes_read"], one["bytes_written"]) for one in launches]
    assert kinds[0] == ("allocation", "aten::empty", 0, 0)
    assert kinds[1:] == [
        ("torch", "aten::mul", 80, 800),
        ("torch", "aten::add", 1600, 800),
        ("torch", "aten::relu", 800, 800),
    ]


def test_what_torch_empty_left_is_found() -> None:
    """Elements that no program stored are named, by the bits that `torch.empty` holds while launches are counted."""
    with trace.counting():
        out = torch.empty(1000)
        add_kernel[(3,)](torch.ones(1000), torch.ones(1000), out, 1000, BLOCK=256)
    with pytest.raises(AssertionError, match=r"232 of 1,000 elements were never written; the first is element 768"):
        trace.all_written(out, "add")
    trace.all_written(torch.full((3,), torch.nan), "a NaN that was computed")


def test_an_access_outside_its_tensor_names_element_and_line() -> None:
    """On a GPU it would read and overwrite other memory; here nothing is touched."""
    with pytest.raises(
        trace.OutOfBoundsError, match=r"loads element 1023 of x_ptr, which has 1000 elements \(line \d+.* need a mask"
    ):
        unguarded_kernel[(4,)](torch.rand(1000), torch.empty(1024), BLOCK=256)


def test_a_mask_that_is_true_outside_of_the_tensor_is_named() -> None:
    """Such a kernel needs no mask but another limit in it, or another address."""
    x = torch.rand(1000)
    with pytest.raises(trace.OutOfBoundsError, match="true there: it leaves out nothing of program 3's block"):
        add_kernel[(4,)](x, x, torch.empty(1000), 1024, BLOCK=256)
    with pytest.raises(trace.OutOfBoundsError, match=r"stores element 1023 of out_ptr.* need a mask, such as"):
        unguarded_kernel[(4,)](torch.rand(1024), x, BLOCK=256)


def test_a_masked_load_without_other_gives_nan() -> None:
    """What a GPU leaves undefined shows in the result."""
    out = torch.empty(2)
    row_sum_kernel[(2,)](torch.ones(2, 5), out, 5, BLOCK=8)
    assert out.isnan().all()
    row_sum_kernel[(2,)](torch.ones(2, 8), out, 8, BLOCK=8)
    assert out.tolist() == [8.0, 8.0]


@pytest.mark.parametrize(("kind", "name"), [(tl.float32, "float32"), (tl.float16, "float16")])
def test_the_type_of_sums_is_seen(kind: Any, name: str) -> None:
    """`tl.dot` in float16 is told from float32, with its size and work."""
    a, b, out = torch.rand(16, 16).half(), torch.rand(16, 16).half(), torch.empty(16, 16)
    with trace.counting() as launches:
        dot_kernel[(1,)](a, b, out, TYPE=kind)
    assert launches[0]["dots"] == [{"factors": "float16", "sums": name}]
    assert (launches[0]["largest_dot"], launches[0]["dot_flops"]) == (256, 2 * 16**3)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32])
def test_factors_of_any_type_are_multiplied_as_numbers(kind: torch.dtype) -> None:
    a, b, out = torch.rand(16, 16).to(kind), torch.rand(16, 16).to(kind), torch.empty(16, 16)
    dot_kernel[(1,)](a, b, out, TYPE=tl.float32)
    torch.testing.assert_close(out, a.float() @ b.float())


@triton.jit
def mixed_kernel(a_ptr: tl.tensor, b_ptr: tl.tensor, out_ptr: tl.tensor, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    a, b = tl.load(a_ptr + i), tl.load(b_ptr + i)
    tl.store(out_ptr + i, a * b - a)
    tl.store(out_ptr + BLOCK + i, tl.maximum(-a, b))
    tl.store(out_ptr + 2 * BLOCK + i, tl.where(a < b, a, b), mask=(a < b) | (b == a) | (b < a))
    tl.store(out_ptr + 3 * BLOCK + i, (a.to(tl.float32) / 3).to(a.dtype))
    tl.store(out_ptr + 4 * BLOCK + i, tl.abs(a) + tl.sum(b, axis=0).to(a.dtype))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_blocks_of_16_bits_are_computed_with_as_numbers(kind: torch.dtype) -> None:
    a, b = (torch.randn(256, generator=torch.Generator().manual_seed(one)).to(kind) for one in (1, 2))
    out = torch.empty(5, 256, dtype=kind)
    mixed_kernel[(1,)](a, b, out, BLOCK=256)
    right = [a * b - a, torch.maximum(-a, b), torch.minimum(a, b), (a.float() / 3).to(kind)]
    for found, wanted in zip(out, right, strict=False):
        assert torch.equal(found, wanted)
    torch.testing.assert_close(out[4], a.abs() + b.float().sum().to(kind))


def test_an_atomic_reads_and_writes() -> None:
    total = torch.zeros(1, dtype=torch.int32)
    with trace.counting() as launches:
        count_kernel[(5,)](total)
    assert total.item() == 5
    assert (launches[0]["bytes_read"], launches[0]["bytes_written"]) == (20, 20)


def test_an_endless_kernel_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its size, and what to do."""
    monkeypatch.setattr(accesses, "SECONDS", 0.2)
    with pytest.raises(
        trace.EndlessKernelError, match=r"stopped after 0.2 s .* 1 program, blocks of at most 1 elements"
    ):
        endless_kernel[(1,)](torch.zeros(1))


def test_autotuning_takes_the_first_configuration() -> None:
    """There is no clock that would tell about a GPU."""
    configs = [triton.Config({"BLOCK": size}) for size in (32, 64)]
    tuned = triton.autotune(configs=configs, key=["n"])(add_kernel)
    x = torch.rand(100)
    with trace.counting() as launches:
        tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, x, torch.empty(100), 100)
    assert launches[-1]["programs"] == 4
    assert tuned.best_config.kwargs == {"BLOCK": 32}


def test_a_grid_that_is_none_is_refused() -> None:
    x = torch.rand(1)
    with pytest.raises(trace.LaunchError, match=r"add_kernel was launched with the grid \(0,\)"):
        add_kernel[(0,)](x, x, torch.empty(1), 1, BLOCK=64)
    for number in (1, lambda meta: meta["BLOCK"] // 64):
        with pytest.raises(trace.LaunchError, match=r"1, a number: .*add_kernel\[\(1,\)\]\(…\), with the comma"):
            add_kernel[number](x, x, torch.empty(1), 1, BLOCK=64)


def test_a_call_without_a_grid_is_told_how_to_launch() -> None:
    x = torch.zeros(4)
    with pytest.raises(trace.LaunchError, match=r"add_kernel was called without a grid: .*add_kernel\[\(programs,\)\]"):
        add_kernel(x, x, x, 4, BLOCK=4)


def test_a_warm_up_is_no_launch() -> None:
    x = torch.rand(64)
    with trace.counting() as launches:
        add_kernel.warmup(x, x, torch.empty(64), 64, BLOCK=64, grid=(1,))
    assert [one["kind"] for one in launches] == ["allocation"]


@triton.jit
def truths_kernel(x_ptr: tl.tensor, out_ptr: tl.tensor, n: int, WIDE: tl.constexpr, BLOCK: tl.constexpr) -> None:
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n and i >= 2 and WIDE, other=-1.0)
    x = tl.where(i == 3 or (i > 4 and not i > 5), 10.0, x)
    if WIDE and n > 3:
        x += 1.0
    if WIDE is None or n > 100 or not WIDE:
        x += 100.0
    tl.store(out_ptr + i, max(min(x, 8.0, 9.0), 0.5))


def test_truths_of_blocks_are_taken_element_by_element() -> None:
    """`and`, `or`, `not`, `min` and `max`, as the compiler has them; to Python every block is true."""
    out = torch.empty(8)
    truths_kernel[(1,)](torch.arange(8.0), out, 7, WIDE=True, BLOCK=8)
    assert out.tolist() == [0.5, 0.5, 3.0, 8.0, 5.0, 8.0, 7.0, 0.5]
    truths_kernel[(1,)](torch.arange(8.0), out, 7, WIDE=False, BLOCK=8)
    assert out.tolist() == [8.0] * 8


def test_one_kernel_names_what_else_ran() -> None:
    """No kernel, eager kernels next to it, several kernels: each has its own message."""
    own = {"kind": "triton", "kernel": "k"}
    eager = {"kind": "torch", "kernel": "aten::relu"}
    reserved = {"kind": "allocation", "kernel": "aten::empty"}
    assert trace.one_kernel([reserved, own], "f") is own
    with pytest.raises(AssertionError, match="no Triton kernel was launched"):
        trace.one_kernel([eager], "f")
    with pytest.raises(AssertionError, match="PyTorch launched 1 of its own: aten::relu"):
        trace.one_kernel([own, eager], "f")
    with pytest.raises(AssertionError, match="PyTorch launched 2 of its own: 2 × aten::relu"):
        trace.one_kernel([eager, own, eager], "f")
    with pytest.raises(AssertionError, match="2 kernels were launched"):
        trace.one_kernel([own, own], "f")


def test_the_language_is_as_before_after_a_launch() -> None:
    """What the interpreter replaces in `triton.language` is put back: a GPU's compiler needs the original."""
    before = tl.core.load, tl.load, tl.sum
    added(10)
    assert (tl.core.load, tl.load, tl.sum) == before


def test_a_launch_can_be_read_as_a_table() -> None:
    text = trace.table_of(added(1000))
    assert text.splitlines()[0] == "add_kernel, 16 programs: 8,000 bytes read, 4,000 written"
    assert "y = tl.load(y_ptr + i, mask=i < n)" in text.splitlines()[2]
