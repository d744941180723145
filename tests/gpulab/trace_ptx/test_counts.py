"""Counts of PTX launches: worked out by hand, against the Python tracer, and against those of another emulator."""

from __future__ import annotations

import numpy as np
import pytest

from gpulab import cuda_cpp
from gpulab.trace.pictures import chosen, request_figure
from gpulab.trace.ptx.cpp import launch_source

from . import recorded

SOURCE = r"""
extern "C" __global__ void stride(const float* x, float* out, int step) {
    out[threadIdx.x] = x[threadIdx.x * step];
}
extern "C" __global__ void columns(float* out, int pad) {
    extern __shared__ float tile[];
    tile[threadIdx.x * pad] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x * pad];
}
extern "C" __global__ void vectors(const float4* x, float4* out) { out[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void pairs(const float* x, float* out) {
    reinterpret_cast<long long*>(out)[threadIdx.x] = reinterpret_cast<const long long*>(x)[threadIdx.x];
}
__constant__ float table[2] = {1.0f, 2.0f};
extern "C" __global__ void mixed_lanes(const float* x, const double* wide, float* out, int constant) {
    const void* first = constant ? (const void*)table : (const void*)wide;
    const void* from = threadIdx.x ? (const void*)(x + 2 * threadIdx.x) : first;
    double v;
    asm volatile("ld.f64 %0, [%1];" : "=d"(v) : "l"(from) : "memory");
    out[threadIdx.x] = (float)v;
}
extern "C" __global__ void doubles(double* out) {
    __shared__ double tile[64];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
extern "C" __global__ void lanes(volatile float* x) {
    if (threadIdx.x % 4 == 1)
        x[threadIdx.x] = 1.0f;
    else
        x[threadIdx.x] = 2.0f;
    for (int i = 0; i < threadIdx.x % 3; i++)
        x[threadIdx.x] += 1.0f;
}
extern "C" __global__ void blocks_race(float* x) { x[threadIdx.x] += blockIdx.x; }
extern "C" __global__ void blocks_share(int* x) { atomicAdd(x + threadIdx.x % 2, 1); }
extern "C" __global__ void mixed_race(int* x) {
    atomicAdd(x, 1);
    if (threadIdx.x == 40) x[0] = 5;
}
"""


@pytest.mark.parametrize(("step", "sectors"), [(1, 4), (2, 8), (4, 16), (8, 32), (0, 1)])
def test_sectors_of_a_stride(step: int, sectors: int) -> None:
    trace = cuda_cpp.trace(SOURCE, "stride", 1, 32, np.zeros(256, np.float32), np.zeros(32, np.float32), step)
    assert (trace.global_reads, trace.global_read_requests, trace.most_read_sectors) == (32, 1, sectors)
    assert trace.most_write_sectors == 4


@pytest.mark.parametrize(("pad", "degree"), [(1, 1), (2, 2), (32, 32), (33, 1), (16, 16)])
def test_bank_conflicts_of_a_stride(pad: int, degree: int) -> None:
    trace = cuda_cpp.trace(SOURCE, "columns", 1, 32, np.zeros(32, np.float32), pad, shared_bytes=4 * 33 * 32)
    assert trace.bank_conflict_degree == degree
    assert trace.shared_bytes == 4224


def test_vectors_are_one_request_of_four_elements_each() -> None:
    trace = cuda_cpp.trace(SOURCE, "vectors", 1, 32, np.zeros(128, np.float32), np.zeros(128, np.float32))
    assert (trace.global_reads, trace.global_read_requests, trace.most_read_sectors) == (128, 1, 16)
    assert {(line.element_bytes, line.worst.item_bytes) for line in trace.lines} == {(4, 16)}


def test_two_elements_that_are_loaded_as_one_number_are_two() -> None:
    trace = cuda_cpp.trace(SOURCE, "pairs", 1, 32, np.zeros(64, np.float32), np.zeros(64, np.float32))
    assert (trace.global_reads, trace.global_writes, trace.global_read_requests) == (64, 64, 1)
    assert {(line.elements, line.element_bytes, line.worst.item_bytes) for line in trace.lines} == {(64, 4, 8)}


@pytest.mark.parametrize(("constant", "reads"), [(True, 62), (False, 63)])
def test_what_one_lane_loads_beside_the_others_does_not_hide_theirs(constant: bool, reads: int) -> None:
    """Constants are not counted, and a double of an array of doubles is one element: only where they are loaded."""
    given = np.zeros(64, np.float32), np.zeros(2), np.zeros(32, np.float32)
    assert cuda_cpp.trace(SOURCE, "mixed_lanes", 1, 32, *given, constant).global_reads == reads


def test_doubles_are_served_by_half_warps() -> None:
    trace = cuda_cpp.trace(SOURCE, "doubles", 1, 64, np.zeros(64))
    assert trace.bank_conflict_degree == 1
    assert {line.element_bytes for line in trace.lines} == {8}


def test_lanes_on_different_ways_ask_apart_and_meet_again() -> None:
    trace = cuda_cpp.trace(SOURCE, "lanes", 1, 32, np.zeros(32, np.float32))
    # Two stores for the two ways; then two turns of the loop, of lanes with 1 and 2 (21), and with 2 (10).
    assert (trace.global_writes, trace.global_write_requests) == (32 + 21 + 10, 4)
    assert not trace.races


def test_blocks_that_update_one_element_race_and_atomics_do_not() -> None:
    lines = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), 1)}
    (race, _) = cuda_cpp.trace(SOURCE, "blocks_race", 3, 32, np.zeros(32, np.float32)).races
    assert SOURCE.splitlines()[race.lines[0] - 1].startswith('extern "C" __global__ void blocks_race')
    assert race.lines[0] == race.lines[1]
    assert race.first.block != race.second.block
    trace = cuda_cpp.trace(SOURCE, "blocks_share", 3, 64, np.zeros(2, np.int32))
    assert not trace.races
    assert trace.global_atomics == 192
    (mixed,) = cuda_cpp.trace(SOURCE, "mixed_race", 1, 64, np.zeros(1, np.int32)).races
    update, write = lines["atomicAdd(x, 1);"], lines["if (threadIdx.x == 40) x[0] = 5;"]
    assert mixed.lines == (update, write)
    assert f"thread (40, 0, 0) of block (0, 0, 0) writes it in line {write}" in str(mixed)


@pytest.mark.parametrize(("name", "line"), [("stride", 3), ("columns", 7)])
def test_pictures_are_drawn_of_it(name: str, line: int) -> None:
    x = np.zeros(256, np.float32)
    arguments = [x, np.zeros(32, np.float32), 8] if name == "stride" else [x, 8]
    launched = cuda_cpp.trace(SOURCE, name, 1, 32, *arguments, shared_bytes=4096)
    assert SOURCE.splitlines()[line - 1].strip() in {count.source for count in launched.lines}
    figure = request_figure(launched, chosen(launched, line))
    (axes,) = figure.axes
    assert axes.get_xlabel().startswith("byte of a 128-byte line" if name == "stride" else "bank of shared memory")


def test_counting_changes_no_result() -> None:
    x, first, second = np.arange(256, dtype=np.float32), np.zeros(32, np.float32), np.zeros(32, np.float32)
    for out, counted in ((first, False), (second, True)):
        launch_source(SOURCE, "stride", 1, 32, [x, out, 3], counted)
    np.testing.assert_array_equal(first, second)


# ----------------------------------------------------------------------------------------------------- Numba's kernels


@pytest.mark.skipif(recorded.recording() is None, reason="the recording of 53 launches is not here")
def test_counts_are_those_of_another_emulator() -> None:
    place = recorded.recording()
    assert place is not None
    assert len(recorded.recorded_counts(place)) == recorded.LAUNCHES
    assert not recorded.differences(place)
