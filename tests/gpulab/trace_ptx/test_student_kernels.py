"""C++ as students write it: templates, unions, bit-fields, `goto`, locks, halves, cooperative groups, and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpulab import cuda_cpp
from gpulab.trace import LaunchError, UnsupportedError
from gpulab.trace.ptx.cpp import launch_source

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda/std/array>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

template <typename T, int N> struct Tile {
    T values[N][N + 1];
    __device__ T& at(int row, int column) { return values[row][column]; }
};
template <typename T> __device__ void turned(const T* __restrict__ in, T* __restrict__ out) {
    __shared__ Tile<T, 8> tile;
    int row = threadIdx.y, column = threadIdx.x;
    tile.at(row, column) = in[row * 8 + column];
    __syncthreads();
    out[row * 8 + column] = tile.at(column, row);
}
extern "C" __global__ void templates(const float* in, float* out) { turned<float>(in, out); }

union Word { float real; unsigned whole; unsigned char bytes[4]; };
extern "C" __global__ void unions(const float* x, unsigned* out) {
    Word words[2];
    words[threadIdx.x % 2].real = x[threadIdx.x];
    words[1 - threadIdx.x % 2].whole = 7;
    out[threadIdx.x] = words[threadIdx.x % 2].bytes[3] + words[threadIdx.x & 1].whole;
}
struct Bits { unsigned low : 5; int middle : 7; unsigned high : 20; };
extern "C" __global__ void bit_fields(unsigned* out) {
    Bits all[3], one;
    one.low = threadIdx.x;
    one.middle = -(int)threadIdx.x;
    one.high = threadIdx.x * 1000;
    all[threadIdx.x % 3] = one;
    Bits& back = all[threadIdx.x % 3];
    out[threadIdx.x] = back.low + back.middle + back.high;
}
extern "C" __global__ void jumps(int* out) {
    int i = 0, t = threadIdx.x;
again:
    if (i >= t) goto end;
    i += 2;
    if (i % 6 == 0) goto skip;
    out[t] += i;
skip:
    if (i < 40) goto again;
end:
    out[t] -= i;
}
extern "C" __global__ void falls_through(int* out) {
    int value = 0;
    switch (threadIdx.x & 7) {
        case 7: value += 7;
        case 6: value += 6;
        case 5: value += 5; break;
        case 3:
        case 2: value = 9;
        default: value += 100;
    }
    out[threadIdx.x] = value;
}
__device__ void atomicMaximum(float* where, float value) {
    int *place = (int*)where, old = *place, expected;
    do {
        expected = old;
        old = atomicCAS(place, expected, __float_as_int(fmaxf(value, __int_as_float(expected))));
    } while (old != expected);
}
extern "C" __global__ void maximum(const float* x, float* out) {
    atomicMaximum(out, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
extern "C" __global__ void sets_first(int* out) {
    int old = out[0];
    if (threadIdx.x == 40) out[0] = 3;
    atomicCAS(out, old, 5);
}
extern "C" __global__ void locked(int* lock, int* count) {
    bool done = false;
    while (!done)
        if (atomicCAS(lock, 0, 1) == 0) {
            *count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
}
extern "C" __global__ void waits_for_lock(int* lock, int* count) {
    while (atomicCAS(lock, 0, 1) != 0) { }
    *count += 1;
    __threadfence();
    atomicExch(lock, 0);
}
extern "C" __global__ void pairs(const half2* x, half2* out, float factor) {
    half2 v = x[threadIdx.x], sum = __hfma2(v, __float2half2_rn(factor), __hmul2(v, v));
    out[threadIdx.x] = h2sqrt(__habs2(sum));
}
extern "C" __global__ void groups(const float* x, float* out) {
    auto block = cg::this_thread_block();
    auto half = cg::tiled_partition<16>(block);
    float sum = cg::reduce(half, x[block.thread_rank()], cg::plus<float>());
    block.sync();
    out[block.thread_rank()] = sum + cg::coalesced_threads().size() + half.meta_group_rank();
}
struct Point { float x; int y; double z; };
extern "C" __global__ void modern(Point p, float* out) {
    constexpr float weights[] = {0.25f, 0.5f, 0.25f};
    cuda::std::array<float, 4> own{};
    auto weighted = [=](int j) { float sum = p.x + p.y + p.z; for (float w : weights) sum += w * j; return sum; };
    own[threadIdx.x % 4] = weighted(threadIdx.x);
    out[threadIdx.x] = own[threadIdx.x % 4];
}
extern "C" __global__ void prints() {
    printf("%f %s %llu %5.2e|%-6d|%+d %#x %hd %hhu %zu %g %%|%5s|%.2s\n", 1.5f, threadIdx.x ? "odd" : "even",
           18446744073709551615ull, 1234.5, 7, 3, 255, (short)70000, (unsigned char)300, sizeof(float), 1e-7, "ab",
           "xyz");
}
__device__ __noinline__ float one(float x) { return x + 1; }
__device__ __noinline__ float two(float x) { return x * 2; }
typedef float (*Function)(float);
__device__ Function table[2] = {one, two};
extern "C" __global__ void by_pointer(float* x) {
    x[threadIdx.x] = table[threadIdx.x % 2](x[threadIdx.x]);
}
extern "C" __global__ void whole_grid(float* x) {
    cg::this_grid().sync();
    x[0] = 1;
}
extern "C" __global__ void allocates(float* x) {
    float* own = new float[4];
    own[threadIdx.x % 4] = 1;
    x[threadIdx.x] = own[threadIdx.x % 4];
    delete[] own;
}
extern "C" __global__ void __launch_bounds__(64) bounded(float* x) { x[threadIdx.x] = 1; }
__global__ void plain(float* x) { x[threadIdx.x] = 1; }
template <typename T> __global__ void general(T* x) { x[threadIdx.x] = 1; }
template __global__ void general<float>(float*);
"""


def run(name: str, block: Any, *arguments: Any, grid: int = 1) -> Any:
    return cuda_cpp.trace(SOURCE, name, grid, block, *arguments)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def test_templates_with_structures_in_shared_memory() -> None:
    x, out = np.arange(64, dtype=np.float32).reshape(8, 8), np.zeros((8, 8), np.float32)
    trace = run("templates", (8, 8), x, out)
    np.testing.assert_array_equal(out, x.T)
    assert (trace.races, trace.unwritten) == ((), ())


def test_unions_and_bit_fields() -> None:
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.uint32)
    assert not run("unions", 32, x, out).unwritten
    np.testing.assert_array_equal(out, x.view(np.uint32) + (x.view(np.uint32) >> 24))
    assert not run("bit_fields", 32, out).unwritten
    np.testing.assert_array_equal(out, np.arange(32) * 1000)


def test_goto_and_fall_through() -> None:
    out = np.zeros(32, np.int32)
    run("jumps", 32, out)
    ends = [t + t % 2 for t in range(32)]
    assert list(out) == [sum(i for i in range(2, end + 1, 2) if i % 6) - end for end in ends]
    run("falls_through", 8, out)
    assert list(out[:8]) == [100, 100, 109, 109, 100, 5, 11, 18]


def test_a_loop_of_compare_and_swap_is_no_race() -> None:
    """It reads the first value plainly, as in the CUDA C++ Programming Guide; the comparison decides."""
    x, out = np.arange(256, dtype=np.float32), np.full(1, -1.0, np.float32)
    assert not run("maximum", 64, x, out, grid=4).races
    assert out[0] == 255
    races = run("sets_first", 64, np.zeros(1, np.int32)).races
    assert line_of("out[0] = 3") in {line for race in races for line in race.lines}


@pytest.mark.parametrize("name", ["locked", "waits_for_lock"])
def test_locks_that_lanes_of_a_warp_share(name: str) -> None:
    """Threads go on independently, as since Volta."""
    count = np.zeros(1, np.int32)
    run(name, 64, np.zeros(1, np.int32), count, grid=2)
    assert count[0] == 128


def test_halves_groups_and_the_standard_library() -> None:
    x, out = np.arange(64, dtype=np.float16), np.zeros(64, np.float16)
    run("pairs", 32, x, out, 2.0)
    wide = x.astype(np.float64)
    expected = np.sqrt((2 * wide + (wide * wide).astype(np.float16)).astype(np.float16).astype(np.float64))
    np.testing.assert_array_equal(out, expected.astype(np.float16))
    values, sums = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    assert not run("groups", 64, values, sums).races
    np.testing.assert_array_equal(sums, np.repeat(values.reshape(4, 16).sum(1) + 32 + np.arange(4), 16))
    point = np.array([(2, 3, 4)], [("x", "f4"), ("y", "i4"), ("z", "f8")])[0]
    run("modern", 64, point, sums)
    np.testing.assert_array_equal(sums, 9 + values)


def test_printf_of_all_kinds() -> None:
    lines = "".join(launch_source(SOURCE, "prints", 1, 2, []).printed).splitlines()
    rest = "18446744073709551615 1.23e+03|7     |+3 0xff 4464 44 4 1e-07 %|   ab|xy"
    assert lines == [f"1.500000 even {rest}", f"1.500000 odd {rest}"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("by_pointer", "table[threadIdx.x % 2](", "call through a pointer"),
        ("whole_grid", "this_grid().sync()", "grid-wide synchronization"),
        ("allocates", "new float[4]", "malloc in a kernel"),
    ],
)
def test_what_does_not_run_is_refused_by_name_and_line(name: str, text: str, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words) as caught:
        run(name, 32, np.zeros(32, np.float32))
    assert caught.value.line == line_of(text)


@pytest.mark.parametrize(
    ("name", "block", "words"),
    [
        ("bounded", 65, "compiled for at most 64 threads per block"),
        (
            "plain",
            32,
            r'Write extern "C" __global__ void plain\(…\): without it C\+\+ gives the kernel the name _Z5plain',
        ),
        ("general", 32, r'It is a template: make it a __device__ function, and call that from an extern "C" kernel'),
        ("genral", 32, "There is no kernel 'genral' in the source. Its kernels: .*, plain"),
    ],
)
def test_launches_that_a_gpu_refuses(name: str, block: int, words: str) -> None:
    with pytest.raises(LaunchError, match=words):
        run(name, block, np.zeros(128, np.float32))
