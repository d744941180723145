"""Reads of a thread's local array that nothing was written to are found, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import cuda, float32

from gpulab import cuda_cpp
from gpulab.trace.launch import recording
from gpulab.trace.ptx.kernels import trace_kernel
from gpulab.trace.result import UnwrittenRead

SOURCE = r"""
struct Padded { double d; int i; };
struct Bits { unsigned a : 3; unsigned b : 5; unsigned c : 24; };

extern "C" __global__ void starts_late(float* x, int k) {
    float own[8], other[4];
    for (int i = 0; i < 4; i++) other[i] = x[i];
    for (int i = 1; i < k; i++) own[i] = x[i];
    float sum = other[k % 4];
    for (int i = 0; i < k; i++)
        sum += own[i];
    x[threadIdx.x] = sum;
}
__device__ __noinline__ float filled(const float* p, int k) {
    float mine[4], sum = 0.0f;
    for (int i = 0; i < k; i++) mine[i] = p[i];
    for (int i = 0; i < 4; i++)
        sum += mine[i * k % 4];
    return sum;
}
extern "C" __global__ void filled_twice(float* x, int k) {
    float own[8];
    for (int i = 0; i < 8; i++) own[i] = x[i];
    x[threadIdx.x] = filled(own, 4) + filled(own, k);
}
__device__ __noinline__ float last(const float* p, int i) {
    return p[i];
}
extern "C" __global__ void by_pointer(float* x, int k) {
    float own[8];
    for (int i = 0; i < k; i++) own[i] = x[i];
    x[threadIdx.x] = last(own, 7 + 0 * k) + last(own, k - 1);
}
extern "C" __global__ void only_if_needed(float* x, int k) {
    float own[8], value = 0.0f;
    for (int i = 1; i < k; i++) own[i] = x[i];
    if (threadIdx.x > 40)
        value = own[0] * 2;
    x[threadIdx.x] = value + own[k - 1];
}
extern "C" __global__ void copies_padding(double* x, int k) {
    Padded first[4], second[4], one;
    one.d = x[0];
    one.i = k;
    for (int i = 0; i < k; i++) first[i] = one;
    for (int i = 0; i < k; i++) second[i] = first[k - i - 1];
    x[threadIdx.x] = second[k - 1].d + second[0].i;
}
extern "C" __global__ void sets_bits(unsigned* x, int k) {
    Bits all[4];
    for (int i = 0; i < k; i++) all[i].b = x[i];
    for (int i = 0; i < k; i++) all[i].a = x[i + 1];
    x[threadIdx.x] = all[k / 2].b;
}
"""


def finds(name: str, x: Any, k: int, block: int = 32) -> list[UnwrittenRead]:
    return list(cuda_cpp.trace(SOURCE, name, 1, block, x, k).unwritten)


def test_line_array_index_and_thread_are_named() -> None:
    (read,) = finds("starts_late", np.zeros(64, np.float32), 5)
    assert (read.array, read.index, read.reader.line, read.reader.thread) == ("own", (0,), 11, (0, 0, 0))
    assert str(read) == (
        "own[0] was never written: thread (0, 0, 0) of block (0, 0, 0) reads it in line 11 (sum += own[i];)"
    )


def test_a_function_starts_afresh_at_each_call() -> None:
    assert not finds("filled_twice", np.zeros(64, np.float32), 4)
    (read,) = finds("filled_twice", np.zeros(64, np.float32), 3)
    assert (read.array, read.reader.line) == ("mine", 18)


def test_reads_through_a_pointer_are_found() -> None:
    assert not finds("by_pointer", np.zeros(64, np.float32), 8)
    (read,) = finds("by_pointer", np.zeros(64, np.float32), 7)
    assert (read.array, read.index, read.reader.line) == ("p", (7,), 27)


def test_a_value_that_is_read_in_advance_and_not_used_is_no_find() -> None:
    x = np.zeros(64, np.float32)
    assert not finds("only_if_needed", x, 5)
    (read,) = finds("only_if_needed", x, 5, block=64)
    assert (read.array, read.reader.line, read.reader.thread) == ("own", 38, (41, 0, 0))


@pytest.mark.parametrize("k", [3, 4])
def test_padding_and_other_bits_of_a_word_are_no_find(k: int) -> None:
    assert not finds("copies_padding", np.zeros(64), k)
    assert not finds("sets_bits", np.zeros(64, np.uint32), k)


@cuda.jit
def starts_late(x: Any, first: Any, k: Any) -> None:
    own = cuda.local.array(8, float32)
    table = cuda.local.array((2, 4), float32)
    for i in range(first, k):
        own[i] = x[i]
        table[0, i % 4] = x[i]
    total = float32(0)
    for i in range(k):
        total += own[i] + table[0][i % 4]
    x[cuda.grid(1)] = total


@pytest.mark.parametrize(("k", "expected"), [(4, {"own": (0,), "table": (0, 0)}), (5, {"own": (0,)})])
def test_the_python_tracer_finds_it(k: int, expected: dict[str, tuple[int, ...]]) -> None:
    with recording() as traces:
        starts_late[1, 32](cuda.to_device(np.zeros(32, np.float32)), 1, k)
    assert {read.array: read.index for read in traces[0].unwritten} == expected


def test_what_numba_makes_of_it_has_zeros_there() -> None:
    """Its compiler fills local arrays, which nobody promises: the tracer says so, the PTX has nothing unwritten."""
    x = np.ones(32, np.float32)
    trace = trace_kernel(starts_late, 1, 32, x, 1, 2)
    assert not trace.unwritten
    assert x[0] == 2
