"""A kernel that reads global memory that nothing was written to is reported by both tracers, as initcheck does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda

from gpulab import cuda_cpp, empty, trace
from gpulab.trace.ptx.kernels import trace_kernel
from gpulab.unwritten import rubbish, unwritten_bytes

ADD = """
extern "C" __global__ void add(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += x[i];
}
extern "C" __global__ void add_doubles(const double* x, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += x[i];
}
extern "C" __global__ void write_and_read(volatile float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 1.0f;
        out[i] += 1.0f;
    }
}
extern "C" __global__ void count(const int* x, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out + x[i], 1);
}
"""


@cuda.jit
def adds(x: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] += x[i]


@cuda.jit
def writes_first(x: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1.0
        out[i] += x[i]


@pytest.mark.parametrize("run", [trace.run, trace_kernel], ids=["tracer", "ptx"])
def test_adding_to_empty_memory_is_found(run: Any) -> None:
    x = np.ones(100, np.float32)
    (read,) = run(adds, 4, 32, x, empty(100)).unwritten
    assert (read.array, read.index) == ("out", (0,))
    assert "out[0] was never written: thread (0, 0, 0) of block (0, 0, 0) reads it in line" in str(read)
    assert not run(adds, 4, 32, x, np.zeros(100, np.float32)).unwritten
    assert not run(writes_first, 4, 32, x, empty(100)).unwritten


@pytest.mark.parametrize("run", [trace.run, trace_kernel], ids=["tracer", "ptx"])
def test_what_host_or_kernel_has_written_is_no_longer_empty(run: Any) -> None:
    x, out = np.ones(100, np.float32), empty(100)
    out[:40] = 0
    (read,) = run(adds, 4, 32, x, out).unwritten
    assert read.index == (40,)
    assert not run(adds, 4, 32, x, np.zeros(100, np.float32)).unwritten
    filled = empty(100)
    run(writes_first, 4, 32, x, filled)
    assert not run(adds, 4, 32, x, filled).unwritten


def test_in_cpp_with_its_line() -> None:
    (read,) = cuda_cpp.trace(ADD, "add", 4, 32, np.ones(100, np.float32), empty(100), 100).unwritten
    assert (read.array, read.index, read.reader.line) == ("out", (0,), 5)
    (read,) = cuda_cpp.trace(ADD, "add_doubles", 4, 32, np.ones(100), empty(100, "float64"), 100).unwritten
    assert (read.array, read.reader.line) == ("out", 10)
    (read,) = cuda_cpp.trace(ADD, "count", 4, 32, np.arange(100, dtype=np.int32), empty(100, "int32"), 100).unwritten
    assert (read.array, read.reader.verb, read.reader.line) == ("out", "updates", 22)
    assert not cuda_cpp.trace(ADD, "write_and_read", 4, 32, empty(100), 100).unwritten


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "int64", "uint32", "uint64"])
def test_every_element_of_empty_memory_is_known(kind: str) -> None:
    array = rubbish((4, 5), np.dtype(kind))
    if kind.startswith("float"):
        assert np.isnan(array).all()
    array[1, 2] = 0
    mask = unwritten_bytes(array.reshape(-1).view(np.uint8), array.itemsize)
    assert mask is not None
    expected = np.ones(20, bool)
    expected[7] = False
    np.testing.assert_array_equal(mask.reshape(20, -1).all(axis=1), expected)
    assert unwritten_bytes(np.zeros(16, np.uint8), array.itemsize) is None
