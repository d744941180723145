"""What compiles to PTX in a course: atomics, shared and constant memory, calls, shuffles, votes, halves, printf."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpulab import cuda_cpp
from gpulab.trace import TraceError, UnsupportedError
from gpulab.trace.ptx.cpp import launch_source
from gpulab.trace.ptx.launch import Options

SOURCE = r"""
#include <cuda_fp16.h>
__constant__ float weights[3] = {1.0f, 2.0f, 4.0f};
__device__ int counter = 5;
__device__ int table[4] = {3, 1, 4, 1};

extern "C" __global__ void atomics(unsigned* out, float* real, unsigned long long* wide) {
    unsigned t = threadIdx.x;
    atomicAdd(out, t);
    atomicMin((int*)out + 1, (int)t - 7);
    atomicMax(out + 2, t * 3);
    atomicAnd(out + 3, ~(1u << t % 32));
    atomicOr(out + 4, 1u << t % 32);
    atomicXor(out + 5, t);
    atomicInc(out + 6, 9);
    atomicDec(out + 7, 9);
    atomicExch(out + 8, 77u);
    atomicCAS(out + 9, t, t + 1);
    atomicAdd(real, 0.5f);
    atomicAdd(wide, 1ull << 33);
    __shared__ int tile[2];
    if (t < 2) tile[t] = 0;
    __syncthreads();
    atomicAdd(tile + t % 2, 1);
    __syncthreads();
    if (t < 2) out[10 + t] = tile[t];
}
extern "C" __global__ void memories(int* out, const int* in) {
    extern __shared__ int dynamic[];
    int own[5], t = threadIdx.x;
    for (int i = 0; i < 5; i++) own[i] = i * t;
    dynamic[t] = in[t];
    __syncthreads();
    int* anywhere = t % 2 ? dynamic + (t + 1) % blockDim.x : own + t % 5;
    out[t] = *anywhere + (int)weights[t % 3] + table[t % 4];
    if (t == 0) counter += 1;
    if (t == 0) out[blockDim.x] = counter;
}
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ float2 turned(float2 p) { return make_float2(-p.y, p.x); }
extern "C" __global__ void calls(int* out, float2* points) {
    out[threadIdx.x] = fibonacci(threadIdx.x);
    points[threadIdx.x] = turned(points[threadIdx.x]);
}
__device__ __noinline__ int for_ever(int n, int* sink) {
    return n < 0 ? *sink : for_ever(n + 1, sink) + for_ever(n + 2, sink);
}
extern "C" __global__ void deep(int* out) { out[threadIdx.x] = for_ever(threadIdx.x, out); }
extern "C" __global__ void branches(int* out) {
    int t = threadIdx.x, value = 0;
    switch (t % 9) {
        case 0: value = 5; break;
        case 1: value = 17 + t; break;
        case 2: value = t * t;
        case 3: value += 3; break;
        case 4: return;
        case 5: for (int i = 0; i < t; i++) { if (i % 3 == 1) continue; if (i > 20) break; value += i; } break;
        default: value = -t;
    }
    out[t] = value;
}
extern "C" __global__ void together(unsigned* out, const int* in) {
    int t = threadIdx.x, lane = t % 32, value = in[t];
    out[0 * 64 + t] = __shfl_xor_sync(~0u, value, 5);
    out[1 * 64 + t] = __shfl_down_sync(~0u, value, 3);
    out[2 * 64 + t] = __shfl_up_sync(~0u, value, 2, 8);
    out[3 * 64 + t] = __shfl_sync(~0u, value, lane + 9, 16);
    out[4 * 64 + t] = __ballot_sync(~0u, value & 1);
    out[5 * 64 + t] = __any_sync(~0u, value == in[3]) * 2 + __all_sync(~0u, value >= 0);
    out[6 * 64 + t] = __match_any_sync(~0u, value % 3);
    out[7 * 64 + t] = __reduce_add_sync(~0u, value) + __reduce_max_sync(~0u, (unsigned)value);
    if (lane < 20)
        out[8 * 64 + t] = __shfl_xor_sync(0xfffffu, value, 1);
    out[9 * 64 + t] = __syncthreads_count(value % 2) + 1000 * __syncthreads_or(value == in[40])
        + 10000 * __syncthreads_and(value > -1);
}
__device__ __noinline__ int warp_total(int value) {
    for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(~0u, value, d);
    return value;
}
__device__ __noinline__ int fanned(int value, int d) {
    return d ? fanned(value + __shfl_xor_sync(~0u, value, d), d / 2) + 0 * d : value;
}
__device__ __noinline__ void put(int* tile, int value) {
    tile[threadIdx.x] = value;
    __syncthreads();
}
extern "C" __global__ void called_together(int* out, const int* in, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x, value = t < n ? in[t] : 0;
    if (t % 3 == 0) value += 1;
    int total = warp_total(value), all = fanned(value, 16);
    put(tile, t < n ? value : 7);
    out[t] = t % 32 ? all : total;
    out[64 + t] = tile[63 - t];
}
extern "C" __global__ void halves(const half* a, const half* b, half* out, half2* pairs) {
    int t = threadIdx.x;
    out[t] = __hadd(a[t], b[t]);
    out[64 + t] = __hmul(a[t], b[t]);
    out[128 + t] = __hfma(a[t], b[t], a[t]);
    out[192 + t] = __float2half_rz(__half2float(a[t]) * 1.001f);
    out[256 + t] = hexp2(a[t]);
    pairs[t] = __hadd2(__halves2half2(a[t], b[t]), __halves2half2(b[t], a[t]));
}
extern "C" __global__ void prints(const float* x) {
    if (threadIdx.x % 20 == 1)
        printf("thread %2d: %.3f %s %c%% %x %lld\n", threadIdx.x, x[threadIdx.x], "ok", 'z', 255, 1ll << 40);
}
extern "C" __global__ void asserts(const float* x) {
    assert(x[threadIdx.x] < 3.0f);
}
extern "C" __global__ void warp_sum(float* x) {
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) {
#ifdef SYNC
        __syncwarp();
#endif
        float more = threadIdx.x < d ? tile[threadIdx.x + d] : 0.0f;
#ifdef SYNC
        __syncwarp();
#endif
        tile[threadIdx.x] += more;
    }
    x[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void texture(cudaTextureObject_t t, float* out) { out[0] = tex1Dfetch<float>(t, 3); }
"""


def launch(name: str, block: int, *arguments: Any, source: str = SOURCE, shared_bytes: int = 0, seed: int = 0) -> Any:
    return launch_source(source, name, 1, block, arguments, True, shared_bytes, Options(seed=seed))


def test_atomics() -> None:
    t = np.arange(64)
    out = np.array([0, 5, 0, 2**32 - 1, 0, 0, 0, 4, 1, 3, 0, 0], np.uint32)
    real, wide = np.zeros(1, np.float32), np.zeros(1, np.uint64)
    launch("atomics", 64, out, real, wide)
    assert out[0] == t.sum()
    assert out[1].astype(np.int32) == -7
    assert out[2] == 63 * 3
    assert (out[3], out[4]) == (0, 2**32 - 1)
    assert out[5] == np.bitwise_xor.reduce(t)
    assert (out[6], out[7]) == (64 % 10, (4 - 64) % 10)
    assert (out[8], out[9]) == (77, 64)
    assert (real[0], wide[0]) == (32, 64 << 33)
    assert list(out[10:]) == [32, 32]


def test_memories_of_all_kinds() -> None:
    given, out = np.arange(64, dtype=np.int32) * 10, np.zeros(65, np.int32)
    launch("memories", 64, out, given, shared_bytes=256)
    t = np.arange(64)
    reached = np.where(t % 2, given[(t + 1) % 64], t % 5 * t)
    np.testing.assert_array_equal(out[:64], reached + np.array([1, 2, 4])[t % 3] + np.array([3, 1, 4, 1])[t % 4])
    assert out[64] == 6


def test_functions_call_functions_and_themselves() -> None:
    out, points = np.zeros(20, np.int32), np.arange(40, dtype=np.float32).reshape(20, 2)
    launch("calls", 20, out, points)
    assert list(out[:12]) == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    assert list(points[3]) == [-7, 6]


def test_recursion_has_a_limit() -> None:
    with pytest.raises(UnsupportedError, match="more deeply than the memory for calls allows"):
        launch("deep", 32, np.zeros(32, np.int32))


def test_branches_of_all_kinds() -> None:
    out = np.full(64, 99, np.int32)
    launch("branches", 64, out)

    def expected(t: int) -> int:
        which = t % 9
        if which == 5:
            return sum(i for i in range(min(t, 21)) if i % 3 != 1)
        return {0: 5, 1: 17 + t, 2: t * t + 3, 3: 3, 4: 99}.get(which, -t)

    assert list(out) == [expected(t) for t in range(64)]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_warps_compute_together(seed: int) -> None:
    given = np.random.default_rng(3).integers(0, 50, 64).astype(np.int32)
    out = np.zeros((10, 64), np.uint32)
    launch("together", 64, out, given, seed=seed)
    t, rows = np.arange(64), given.reshape(2, 32)
    lane, base = t % 32, t // 32 * 32
    np.testing.assert_array_equal(out[0], given[base + (lane ^ 5)])
    np.testing.assert_array_equal(out[1], given[np.where(lane + 3 < 32, t + 3, t)])
    np.testing.assert_array_equal(out[2], given[np.where(lane % 8 >= 2, t - 2, t)])
    np.testing.assert_array_equal(out[3], given[base + lane // 16 * 16 + (lane + 9) % 16])
    ballots = [sum(int(bit) << place for place, bit in enumerate(row & 1)) for row in rows]
    np.testing.assert_array_equal(out[4], np.repeat(ballots, 32))
    np.testing.assert_array_equal(out[5], np.repeat([2 * (given[3] in row) + 1 for row in rows], 32))
    same = [sum(1 << k for k in range(32) if given[base[i] + k] % 3 == given[i] % 3) for i in t]
    np.testing.assert_array_equal(out[6], same)
    np.testing.assert_array_equal(out[7], np.repeat(rows.sum(axis=1) + rows.max(axis=1), 32))
    np.testing.assert_array_equal(out[8], np.where(lane < 20, given[base + (lane ^ 1)], 0))
    np.testing.assert_array_equal(out[9], (given % 2).sum() + 1000 + 10000)


@pytest.mark.parametrize("seed", range(12))
def test_lanes_meet_inside_a_function_that_is_called_whatever_order_they_arrive_in(seed: int) -> None:
    given, out = np.arange(64, dtype=np.int32) ** 2 % 11, np.zeros(128, np.int32)
    launch("called_together", 64, out, given, np.int32(50), seed=seed)
    number = np.arange(64)
    values = np.where(number < 50, given, 0) + (number % 3 == 0)
    assert (out[:64] == np.repeat(values.reshape(2, 32).sum(1), 32)).all()
    assert (out[64:] == np.where(number < 50, values, 7)[::-1]).all()


@pytest.mark.parametrize("fuel", range(50, 90, 3))
def test_lanes_call_a_function_together_wherever_the_launch_stops_for_a_moment(
    fuel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpulab.trace.ptx.launch._FUEL", fuel)
    monkeypatch.setattr("gpulab.trace.ptx.launch._HURRIED_FUEL", fuel)
    given, out = np.arange(64, dtype=np.int32) ** 2 % 11, np.zeros(128, np.int32)
    launch("called_together", 64, out, given, np.int32(50), seed=1)
    values = np.where(np.arange(64) < 50, given, 0) + (np.arange(64) % 3 == 0)
    assert (out[:64] == np.repeat(values.reshape(2, 32).sum(1), 32)).all()


def test_halves_round_once() -> None:
    draw = np.random.default_rng(4)
    a, b = (draw.standard_normal(64).astype(np.float16) * 10 for _ in range(2))
    a[:3], b[:3] = [np.float16(65504), np.float16(6e-8), np.float16(np.nan)], [np.float16(65504), np.float16(0.5), 1]
    out, pairs = np.zeros((5, 64), np.float16), np.zeros((64, 2), np.float16)
    launch("halves", 64, a, b, out, pairs)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out[0], (wide_a + wide_b).astype(np.float16))
        np.testing.assert_array_equal(out[1], (wide_a * wide_b).astype(np.float16))
        np.testing.assert_array_equal(out[2], (wide_a * wide_b + wide_a).astype(np.float16))
        toward_zero = (a.astype(np.float32) * np.float32(1.001)).astype(np.float64)
        assert (np.abs(out[3][3:]) <= np.abs(toward_zero[3:])).all()
        assert (np.abs(out[3][3:].astype(np.float64) - toward_zero[3:]) < np.spacing(np.abs(out[3][3:]))).all()
        np.testing.assert_allclose(out[4][3:], np.exp2(wide_a[3:]).astype(np.float16), rtol=2e-3)
        np.testing.assert_array_equal(pairs[:, 0], (wide_a + wide_b).astype(np.float16))


def test_printf_is_kept() -> None:
    x = np.arange(64, dtype=np.float32) / 8
    assert "".join(launch("prints", 64, x).printed).splitlines() == [
        "thread  1: 0.125 ok z% ff 1099511627776",
        "thread 21: 2.625 ok z% ff 1099511627776",
        "thread 41: 5.125 ok z% ff 1099511627776",
        "thread 61: 7.625 ok z% ff 1099511627776",
    ]


def test_printf_returns_the_number_of_arguments() -> None:
    source = r"""extern "C" __global__ void k(int* out) {
        out[0] = printf("%d %.*f %s%%\n", 3, 2, 2.0f, "ok");
        out[1] = printf("none\n");
    }"""
    out = np.full(2, 7, np.int32)
    assert "".join(launch("k", 1, out, source=source).printed) == "3 2.00 ok%\nnone\n"
    assert list(out) == [4, 0]


def test_long_integers_become_floats_with_one_rounding() -> None:
    source = r"""#include <cuda_fp16.h>
    extern "C" __global__ void k(const long long* n, double* d, float* f, half* h) {
        int t = threadIdx.x;
        d[t] = __ll2double_ru(n[t]), d[t + 4] = __ll2double_rd(n[t]), d[t + 8] = __ll2double_rz(n[t]);
        d[t + 12] = __ull2double_ru(n[t]);
        f[t] = __ll2float_rd(n[t]), f[t + 4] = __ull2float_ru(n[t]);
        h[t] = __ll2half_rn(n[t]);
    }"""
    n = np.array([2**53 + 1, -(2**53) - 1, 2**24 + 1, -2049], np.int64)
    d, f, h = np.zeros((4, 4)), np.zeros((2, 4), np.float32), np.zeros(4, np.float16)
    launch("k", 4, n, d, f, h, source=source)
    assert list(d[0]) == [2**53 + 2, -(2**53), 2**24 + 1, -2049]
    assert list(d[1]) == [2**53, -(2**53) - 2, 2**24 + 1, -2049]
    assert list(d[2]) == [2**53, -(2**53), 2**24 + 1, -2049]
    assert list(d[3]) == [2**53 + 2, 2**64 - 2**53, 2**24 + 1, 2**64 - 2048]
    assert list(f[0]) == [2**53, -(2**53) - 2**30, 2**24, -2049]
    assert list(f[1]) == [2**53 + 2**30, 2**64 - 2**53, 2**24 + 2, 2**64]
    assert list(h) == [np.inf, -np.inf, np.inf, -2048]


def test_halves_are_compared_two_at_a_time() -> None:
    source = r"""#include <cuda_fp16.h>
    extern "C" __global__ void k(half2 a, half2 b, half2* out, int* all) {
        out[0] = __heq2(a, b), out[1] = __hgt2(a, b), all[0] = __hbge2(a, b), all[1] = __heq2_mask(a, b);
    }"""
    a, b = np.array([1, 3], np.float16), np.array([1, 2], np.float16)
    out, every = np.zeros((2, 2), np.float16), np.zeros(2, np.uint32)
    launch("k", 1, a.view(np.uint32)[0], b.view(np.uint32)[0], out, every, source=source)
    assert out.tolist() == [[1, 0], [0, 1]]
    assert every.tolist() == [1, 0xFFFF]


def test_printf_does_not_fill_the_memory() -> None:
    source = 'extern "C" __global__ void k(int w) { printf("%*d", w, 1); }'
    with pytest.raises(TraceError, match="more than 1,000 characters for one number"):
        launch("k", 1, 1 << 30, source=source)
    with pytest.raises(TraceError, match="prints more than 1,048,576 characters"):
        launch_source(source, "k", 4, 512, [999])


def test_a_failed_assertion_names_thread_and_line() -> None:
    with pytest.raises(TraceError, match=r"assert\(x\[threadIdx\.x\] < 3\.0f\) does not hold.*thread \(24, 0, 0\)"):
        launch("asserts", 64, np.arange(64, dtype=np.float32) / 8)


def test_another_order_of_lanes_shows_a_missing_syncwarp() -> None:
    results, races = set(), set()
    for seed in range(6):
        x = np.arange(32, dtype=np.float32)
        trace = cuda_cpp.trace(SOURCE, "warp_sum", 1, 32, x, seed=seed)
        results.add(float(x[0]))
        races.add(bool(trace.races))
    assert len(results) > 1
    assert races == {True}


def test_with_syncwarp_every_order_gives_the_same() -> None:
    for seed in range(6):
        x = np.arange(32, dtype=np.float32)
        trace = cuda_cpp.trace("#define SYNC\n" + SOURCE, "warp_sum", 1, 32, x, seed=seed)
        assert x[0] == 496
        assert not trace.races


def test_what_is_not_supported_is_refused_by_name_and_line() -> None:
    with pytest.raises(UnsupportedError, match=r"'tex\.1d\.v4\.f32\.s32' \(line \d+\) is not supported") as caught:
        cuda_cpp.trace(SOURCE, "texture", 1, 1, np.uint64(0), np.zeros(1, np.float32))
    assert "tex1Dfetch" in SOURCE.splitlines()[caught.value.line - 1]


WRAPPED = r"""
extern "C" __global__ void distances(const int* x, int* out) {
    __shared__ int sums[256];
    int t = threadIdx.x;
    sums[t] = x[t];
    __syncthreads();
    for (int distance = 1; distance < 256; distance += 2) {
        int left = t >= distance ? sums[t - distance] : 0;
        __syncthreads();
        sums[t] += left;
        __syncthreads();
    }
    out[t] = sums[t];
}
"""


def test_an_address_of_32_bits_wraps_around_with_its_offset() -> None:
    """The compiler unrolls the loop: its register lies before the array, and the offset leads back into it."""
    x, out = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    cuda_cpp.trace(WRAPPED, "distances", 1, 256, x, out)
    expected = x.copy()
    for distance in range(1, 256, 2):
        expected[distance:] += expected[:-distance].copy()
    assert out.tolist() == expected.tolist()
