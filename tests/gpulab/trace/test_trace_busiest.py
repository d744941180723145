"""The busiest thread: what both tracers count of it, and the launches that it lets `even_threads` refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda, float32

from gpulab import cuda_kernel, trace

N = 1024


pytestmark = pytest.mark.usefixtures("only_the_tracer")


def floats(count: int) -> Any:
    return np.random.default_rng(7).random(count, dtype=np.float32)


@cuda.jit
def some_copy(x: Any, out: Any, working: int) -> None:
    first = cuda.grid(1)
    if first < working:
        for i in range(first, x.size, working):
            out[i] = x[i]


SOME_COPY_CU = r"""
extern "C" __global__ void some_copy(const float* x, float* out, int working, int n) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (first < working)
        for (int i = first; i < n; i += working)
            out[i] = x[i];
}
"""


@pytest.mark.parametrize("working", [1, 32, 256, 500, 512])
@pytest.mark.parametrize("cpp", [False, True])
def test_the_busiest_thread_is_known(working: int, cpp: bool) -> None:
    """In Numba and in CUDA C++: it has read and written its share, and a few threads must not do the work of all."""
    x, out = floats(N), np.zeros(N, np.float32)
    with trace.counting() as launches:
        if cpp:
            cuda_kernel(SOME_COPY_CU, "some_copy")[4, 128](x, out, working, N)
        else:
            some_copy[4, 128](x, out, working)
    np.testing.assert_array_equal(out, x)
    assert launches[0]["busiest_reads"] == launches[0]["busiest_writes"] == -(-N // working)
    assert launches[0]["busiest_shared_reads"] == 0
    if working < 256:
        with pytest.raises(AssertionError, match=f"one thread wrote {N // working} elements; if all 512 did, 2 would"):
            trace.even_threads([launches], "copy")
    else:
        trace.even_threads([launches], "copy")


def test_one_call_with_even_threads_is_enough_and_a_single_warp_is_not() -> None:
    """A grid may cover one shape with few of its threads. A warp may write a few elements for each of its threads."""
    x, calls = floats(N), []
    for blocks, threads, working, n in ((4, 128, 1, N), (4, 128, 512, N), (1, 32, 32, N), (1, 32, 32, 256)):
        with trace.counting() as launches:
            some_copy[blocks, threads](x[:n], np.zeros(n, np.float32), working)
        calls.append(launches)
    trace.even_threads(calls[:2], "copy")
    trace.even_threads(calls[3:], "copy")
    for single in (calls[2], 5 * calls[3]):
        with pytest.raises(AssertionError, match=r"1\d{3} elements were written by 32 threads at a time"):
            trace.even_threads([single], "copy")


SHARED_READS_CU = r"""
extern "C" __global__ void reads(const float* x, float* out) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[64 * blockIdx.x + t];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k <= t; k++)
        sum += tile[k];
    out[64 * blockIdx.x + t] = sum;
}
"""


@cuda.jit
def shared_reads(x: Any, out: Any) -> None:
    tile = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    cuda.syncthreads()
    added = float32(0)
    for k in range(t + 1):
        added += tile[k]
    out[i] = added


@pytest.mark.parametrize("cpp", [False, True])
def test_reads_of_shared_memory_are_counted_for_each_thread_of_a_block(cpp: bool) -> None:
    """The last thread reads all 64, in each of two blocks anew."""
    x, out = np.ones(128, np.float32), np.zeros(128, np.float32)
    with trace.counting() as launches:
        (cuda_kernel(SHARED_READS_CU, "reads") if cpp else shared_reads)[2, 64](x, out)
    np.testing.assert_array_equal(out, [*range(1, 65)] * 2)
    assert launches[0]["busiest_shared_reads"] == 64
