"""What a kernel may use inside the tracer: it computes what a GPU would."""

from __future__ import annotations

import math
from typing import Any

import numba
import numba.cuda as renamed
import numpy as np
import pytest
import torch
import trace_kernels as kernels
from numba import cuda, float32, int32
from numba.cuda import atomic, blockDim, blockIdx, grid, shared, syncthreads, threadIdx

from gpulab import trace

LANES = np.arange(32)


pytestmark = pytest.mark.usefixtures("only_the_tracer")


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def lanes(expression: str, count: int = 32, dtype: str = "int64") -> Any:
    """What each thread of a block computes; `t` is its number in the block."""
    scope: dict[str, Any] = {"cuda": cuda, "math": math, "np": np}
    exec(f"@cuda.jit\ndef kernel(out):\n    t = cuda.threadIdx.x\n    out[t] = {expression}\n", scope)
    out = np.zeros(count, dtype)
    trace.run(scope["kernel"], 1, count, out)
    return out


def test_who_am_i() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i, 0] = cuda.threadIdx.x
        out[i, 1] = cuda.blockIdx.x
        out[i, 2] = cuda.blockDim.x
        out[i, 3] = cuda.gridDim.x
        out[i, 4] = cuda.gridsize(1)
        out[i, 5] = cuda.laneid
        out[i, 6] = cuda.warpsize
        out[i, 7] = cuda.threadIdx.y + cuda.threadIdx.z + cuda.gridDim.y

    out = np.zeros((120, 8), np.int32)
    trace.run(kernel, 3, 40, out)
    i = np.arange(120)
    columns = [i % 40, i // 40, 0 * i + 40, 0 * i + 3, 0 * i + 120, i % 40 % 32, 0 * i + 32, 0 * i + 1]
    np.testing.assert_array_equal(out, np.stack(columns, axis=1))


def test_other_ways_to_import_numba() -> None:
    @renamed.jit
    def kernel(x, out):
        tile = shared.array(64, numba.float32)
        i = grid(1)
        tile[threadIdx.x] = x[i]
        syncthreads()
        out[blockIdx.x * blockDim.x + threadIdx.x] = tile[63 - threadIdx.x]
        atomic.add(out, numba.cuda.gridDim.x * 64, 1)

    x, out = np.arange(128, dtype=np.float32), zeros(129)
    trace.run(kernel, 2, 64, x, out)
    np.testing.assert_array_equal(out[:128], x.reshape(2, 64)[:, ::-1].ravel())
    assert out[128] == 128


def test_names_of_the_enclosing_function() -> None:
    scale, offsets = 3, np.array([1.0, 2.0], np.float32)

    @cuda.jit(device=True)
    def scaled(value):
        return scale * value

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = scaled(i) + offsets[i % 2]

    out = zeros(4)
    trace.run(kernel, 1, 4, out)
    np.testing.assert_array_equal(out, [1, 5, 7, 11])


def test_the_kernel_itself_is_not_touched() -> None:
    before = kernels.copy.py_func.__globals__["cuda"]
    trace.run(kernels.copy, 1, 32, zeros(32), zeros(32))
    assert kernels.copy.py_func.__globals__["cuda"] is before is cuda


def test_device_functions_and_their_lines() -> None:
    x, out = np.arange(64, dtype=np.float32), zeros(64)
    result = trace.run(kernels.uses_helpers, 1, 64, x, out)
    np.testing.assert_allclose(out, x, rtol=1e-6)
    (store,) = (count for count in result.lines if count.kind == "store")
    assert (store.array, store.source) == ("out", "out[i] = square(value)")


def test_constants_are_not_counted() -> None:
    out = zeros(6)
    result = trace.run(kernels.uses_constants, 1, 6, out)
    np.testing.assert_array_equal(out, [6, 2, 4, 6, 2, 4])
    assert (result.global_reads, result.shared_reads) == (0, 0)


def test_an_argument_is_no_constant() -> None:
    """For Numba, `const.array_like` of an argument is the argument."""
    x, out = np.arange(6, dtype=np.float32), zeros(6)
    result = trace.run(kernels.uses_constants_of_arguments, 1, 6, x, out)
    np.testing.assert_array_equal(out, x)
    assert result.global_reads == 12


def test_local_arrays_belong_to_one_thread() -> None:
    out = zeros(8)
    result = trace.run(kernels.local_history, 1, 8, out)
    np.testing.assert_array_equal(out, 6 * np.arange(8))
    assert (result.global_writes, result.shared_bytes, result.races) == (8, 0, ())


def test_dynamic_shared_memory_and_its_slices() -> None:
    x, out = np.arange(64, dtype=np.float32), zeros(64)
    result = trace.run(kernels.dynamic_shared, 1, 64, x, out, shared_bytes=512)
    np.testing.assert_array_equal(out, 3 * x[::-1])
    assert result.shared_bytes == 512
    assert result.bank_conflict_degree == 1


def test_slices_rows_and_transposes_are_views() -> None:
    @cuda.jit
    def kernel(a, out):
        i = cuda.threadIdx.x
        row = a[i]
        out[0, i] = row[1] + len(row) + a.T[2, i] + a[1:, 1:][0, 0] + a[i, :][-1:][0] + a.shape[0]
        for value in row:
            out[1, i] += value
        out[2:, i] = a[:2, i]

    a, out = np.arange(16, dtype=np.float32).reshape(4, 4), zeros(4, 4)
    result = trace.run(kernel, 1, 4, a, out)
    np.testing.assert_array_equal(out[0], a[:, 1] + 4 + a[:, 2] + a[1, 1] + a[:, 3] + 4)
    np.testing.assert_array_equal(out[1], a.sum(axis=1))
    np.testing.assert_array_equal(out[2:], a[:2])
    assert {count.array for count in result.lines} == {"a", "out"}
    (first,) = (count for count in result.lines if count.expression == "row[1]")
    # Elements 1, 5, 9 and 13 of the matrix: rows of 16 bytes, two to a sector.
    assert first.worst.addresses == tuple(first.worst.addresses[0] + 16 * lane for lane in range(4))
    assert first.sectors_per_request == 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [("add", 496), ("sub", -496), ("max", 31), ("min", 0), ("or_", 31), ("xor", 0), ("and_", 0)],
)
def test_atomics(name: str, expected: int) -> None:
    scope: dict[str, Any] = {"cuda": cuda}
    exec(f"@cuda.jit\ndef kernel(out):\n    cuda.atomic.{name}(out, 0, cuda.threadIdx.x)\n", scope)
    out = np.zeros(1, np.int32)
    assert trace.run(scope["kernel"], 1, 32, out).global_atomics == 32
    assert out[0] == expected


def test_atomics_return_what_was_there() -> None:
    @cuda.jit
    def kernel(counter, order, lock):
        t = cuda.threadIdx.x
        order[t] = cuda.atomic.add(counter, 0, 1)
        cuda.atomic.cas(lock, 0, 0, t + 1)
        cuda.atomic.exch(lock, (1, 0)[0], t)
        cuda.atomic.inc(lock, 2, 9)
        cuda.atomic.dec(lock, 3, 9)

    counter, order, lock = np.zeros(1, np.int32), np.zeros(32, np.int32), np.zeros(4, np.int32)
    trace.run(kernel, 1, 32, counter, order, lock)
    np.testing.assert_array_equal(np.sort(order), LANES)
    np.testing.assert_array_equal(lock, [1, 31, 32 % 10, 8])


def test_shuffles() -> None:
    np.testing.assert_array_equal(lanes("cuda.shfl_sync(-1, t, 5)"), 0 * LANES + 5)
    np.testing.assert_array_equal(lanes("cuda.shfl_sync(0xffffffff, t, t + 1)"), (LANES + 1) % 32)
    np.testing.assert_array_equal(lanes("cuda.shfl_down_sync(-1, t, 4)"), np.where(LANES < 28, LANES + 4, LANES))
    np.testing.assert_array_equal(lanes("cuda.shfl_up_sync(-1, t, 4)"), np.where(LANES > 3, LANES - 4, LANES))
    np.testing.assert_array_equal(lanes("cuda.shfl_xor_sync(-1, t, 16)"), LANES ^ 16)


def test_shuffle_from_a_lane_that_is_not_there_is_undefined() -> None:
    """A block of 40 has 8 lanes in its second warp."""
    out = lanes("cuda.shfl_down_sync(-1, float(t), 16)", 40, "float32")
    assert np.isnan(out[32:]).all()
    np.testing.assert_array_equal(out[:16], np.arange(16, 32))


def test_votes() -> None:
    np.testing.assert_array_equal(lanes("cuda.ballot_sync(-1, t % 2 == 0)"), 0 * LANES + 0x55555555)
    np.testing.assert_array_equal(lanes("cuda.any_sync(-1, t == 3)"), 1 + 0 * LANES)
    np.testing.assert_array_equal(lanes("cuda.all_sync(-1, t < 31)"), 0 * LANES)
    np.testing.assert_array_equal(lanes("cuda.eq_sync(-1, t < 32)"), 1 + 0 * LANES)
    np.testing.assert_array_equal(lanes("cuda.match_any_sync(-1, t // 16)"), np.where(LANES < 16, 0xFFFF, 0xFFFF0000))
    np.testing.assert_array_equal(lanes("cuda.match_all_sync(-1, 7)[0]"), 0 * LANES + 0xFFFFFFFF)
    np.testing.assert_array_equal(lanes("cuda.activemask()", 40)[32:], [255] * 8)
    np.testing.assert_array_equal(lanes("cuda.lanemask_lt()"), (1 << LANES) - 1)


def test_barriers_that_count() -> None:
    np.testing.assert_array_equal(lanes("cuda.syncthreads_count(t % 4 == 0)", 64), [16] * 64)
    np.testing.assert_array_equal(lanes("cuda.syncthreads_and(t < 63)", 64), [0] * 64)
    np.testing.assert_array_equal(lanes("cuda.syncthreads_or(t == 63)", 64), [1] * 64)


def test_small_functions() -> None:
    np.testing.assert_array_equal(lanes("cuda.popc(t)", 8), [0, 1, 1, 2, 1, 2, 2, 3])
    np.testing.assert_array_equal(lanes("cuda.clz(t)", 4), [32, 31, 30, 30])
    np.testing.assert_array_equal(lanes("cuda.ffs(t)", 5), [0, 1, 2, 1, 3])
    np.testing.assert_array_equal(lanes("cuda.brev(t)", 2), [0, 1 << 31])
    np.testing.assert_array_equal(lanes("cuda.selp(t > 1, t, -t)", 4), [0, -1, 2, 3])
    np.testing.assert_array_equal(lanes("cuda.fma(t, 2, 1)", 4), [1, 3, 5, 7])
    np.testing.assert_allclose(lanes("cuda.cbrt(np.float32(t))", 9, "float32")[8], 2)
    np.testing.assert_array_equal(lanes("min(t, 2) + max(t, 1) + abs(t - 2) + int(2.9)", 4), [5, 5, 6, 8])
    np.testing.assert_allclose(
        lanes("math.exp(-t) * math.sin(t)", 4, "float32"), np.exp(-LANES[:4]) * np.sin(LANES[:4]), 1e-6
    )


def test_warp_and_prefix_algorithms() -> None:
    x = np.random.default_rng(7).random(128, dtype=np.float32)
    out = zeros(4)
    trace.run(kernels.warp_total, 2, 64, x, out)
    np.testing.assert_allclose(out, x.reshape(4, 32).sum(axis=1), rtol=1e-5)
    trace.run(kernels.warp_total_shared, 1, 32, x, out)
    np.testing.assert_allclose(out[0], x[:32].sum(), rtol=1e-5)
    sums = zeros(64)
    trace.run(kernels.prefix_sum, 1, 64, x, sums)
    np.testing.assert_allclose(sums, np.cumsum(x[:64]), rtol=1e-5)


def test_arithmetic_is_that_of_float32() -> None:
    """2^24 + 1 has no float32, and a division by zero is infinite; neither warns."""

    @cuda.jit
    def kernel(x, out):
        out[0] = x[0] + x[1]
        out[1] = x[1] / x[2]
        out[2] = x[2] / x[2]
        out[3] = x[0] * x[0] * x[0] * x[0] * x[0] * x[0]

    x, out = np.array([2**24, 1, 0], np.float32), zeros(4)
    trace.run(kernel, 1, 1, x, out)
    np.testing.assert_array_equal(out, [2**24, np.inf, np.nan, np.inf])


def test_integers_wrap_when_they_are_stored() -> None:
    @cuda.jit
    def kernel(out):
        out[0] = 2**31 + 5
        out[1] = -(2**31) - 1
        out[2] = 3.9

    out = np.zeros(3, np.int32)
    trace.run(kernel, 1, 1, out)
    np.testing.assert_array_equal(out, [-(2**31) + 5, 2**31 - 1, 3])


def test_integers_that_are_read_do_not_overflow() -> None:
    """As in Numba, where they become 64 bits wide."""

    @cuda.jit
    def kernel(x, out):
        out[0] = x[0] * x[0]

    out = np.zeros(1, np.int64)
    trace.run(kernel, 1, 1, np.array([2**20], np.int32), out)
    assert out[0] == 2**40


def test_tensors_are_arguments_and_keep_sharing_memory() -> None:
    base = torch.arange(65, dtype=torch.float32)
    result = trace.run(kernels.copy, 1, 64, base[1:], base[:64])
    torch.testing.assert_close(base[:64], torch.arange(1, 65, dtype=torch.float32))
    assert result.read_sectors_per_request == 5
    assert result.races
    matrix = torch.arange(12, dtype=torch.float64).reshape(3, 4)
    out = torch.zeros(4, 3, dtype=torch.float64)
    trace.run(kernels.transpose_naive, 1, (32, 32), matrix, out)
    torch.testing.assert_close(out, matrix.T)
    trace.run(kernels.transpose_naive, 1, (32, 32), matrix.T, matrix)
    torch.testing.assert_close(out, matrix.T)


def test_device_arrays_of_numba_are_copied_there_and_back() -> None:
    class OnDevice:
        def __init__(self, host: Any) -> None:
            self.memory = host

        def copy_to_host(self) -> Any:
            return self.memory.copy()

        def copy_to_device(self, host: Any) -> None:
            self.memory = host.copy()

    x, out = OnDevice(np.arange(32, dtype=np.float32)), OnDevice(zeros(32))
    trace.run(kernels.copy, 1, 32, x, out)
    np.testing.assert_array_equal(out.memory, np.arange(32))


def test_scalars_of_all_kinds() -> None:
    @cuda.jit
    def kernel(flag, count, ratio, single, pair, out):
        if flag:
            out[0] = count + ratio + single + pair[1]

    out = zeros(1)
    trace.run(kernel, 1, 1, True, 2, 0.5, np.float32(0.25), (1, 10), out)
    assert out[0] == 12.75


def test_shared_arrays_made_in_a_helper_or_a_loop_are_one() -> None:
    @cuda.jit(device=True)
    def scratch():
        return cuda.shared.array(32, int32)

    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        for _ in range(2):
            mine = cuda.shared.array(32, float32)
        mine[t] = t
        scratch()[t] = 2 * t
        cuda.syncthreads()
        out[t] = mine[31 - t] + scratch()[t]

    out = zeros(32)
    result = trace.run(kernel, 1, 32, out)
    np.testing.assert_array_equal(out[::-1][:1], [62])
    # Two calls of `scratch` are two places in the kernel and one in the helper.
    assert result.shared_bytes == 256
