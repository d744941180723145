"""Tensor-core instructions against linear algebra; fragments of `mma.sync` as the PTX ISA describes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpulab import cuda_cpp
from gpulab.trace import BarrierError, OutOfBoundsError, TraceError

WMMA = r"""
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;

template <typename In, typename Out, int M, int N, int K>
__device__ void product(const In* a, const In* b, Out* d) {
    wmma::fragment<wmma::matrix_a, M, N, K, In, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, In, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Out> fd;
    wmma::load_matrix_sync(fd, d, N, wmma::mem_row_major);
    wmma::load_matrix_sync(fa, a, K);
    wmma::load_matrix_sync(fb, b, K);
    wmma::mma_sync(fd, fa, fb, fd);
    wmma::store_matrix_sync(d, fd, N, wmma::mem_row_major);
}
extern "C" __global__ void square(const half* a, const half* b, float* d) { product<half, float, 16, 16, 16>(a, b, d); }
extern "C" __global__ void tall(const half* a, const half* b, float* d) { product<half, float, 32, 8, 16>(a, b, d); }
extern "C" __global__ void wide(const half* a, const half* b, half* d) { product<half, half, 8, 32, 16>(a, b, d); }
extern "C" __global__ void bytes(const signed char* a, const signed char* b, int* d) {
    product<signed char, int, 32, 8, 16>(a, b, d);
}
extern "C" __global__ void doubles(const double* a, const double* b, double* d) {
    product<double, double, 8, 8, 4>(a, b, d);
}
"""


def drawn(shape: tuple[int, int], kind: str) -> Any:
    draw = np.random.default_rng(sum(shape))
    if kind == "int8":
        return draw.integers(-128, 128, shape).astype(np.int8)
    return draw.standard_normal(shape).astype(kind)


@pytest.mark.parametrize(
    ("name", "m", "n", "k", "kind", "result"),
    [
        ("square", 16, 16, 16, "float16", "float32"),
        ("tall", 32, 8, 16, "float16", "float32"),
        ("wide", 8, 32, 16, "float16", "float16"),
        ("bytes", 32, 8, 16, "int8", "int32"),
        ("doubles", 8, 8, 4, "float64", "float64"),
    ],
)
def test_wmma_multiplies_and_adds(name: str, m: int, n: int, k: int, kind: str, result: str) -> None:
    a, b = drawn((m, k), kind), drawn((n, k), kind)
    d = drawn((m, n), result if result != "int32" else "int8").astype(result)
    wide = np.int64 if result == "int32" else np.float64
    expected = a.astype(wide) @ b.T.astype(wide) + d.astype(wide)
    trace = cuda_cpp.trace(WMMA, name, 1, 32, a, b, d)
    np.testing.assert_allclose(
        d.astype(wide), expected, rtol={"float16": 2e-3, "float32": 1e-5}.get(result, 1e-12), atol=1e-3
    )
    assert not trace.races
    assert trace.global_reads == m * k + n * k + m * n
    assert trace.global_writes == m * n


def test_a_tile_outside_its_array_is_found() -> None:
    a, b, d = np.zeros(255, np.float16), np.zeros(256, np.float16), np.zeros(256, np.float32)
    with pytest.raises(OutOfBoundsError, match=r"a\[.*\] is out of bounds: 'a' has 255 elements.*load_matrix_sync"):
        cuda_cpp.trace(WMMA, "square", 1, 32, a, b, d)


def test_half_a_warp_is_not_enough() -> None:
    a = np.zeros(256, np.float16)
    with pytest.raises(BarrierError, match="needs all 32 lanes of a warp; here are 16"):
        cuda_cpp.trace(WMMA, "square", 1, 16, a, a.copy(), np.zeros(256, np.float32))


LANES = r"""
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void copied(const float* from, float* to, int pointer, int lead) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> tile;
    int lane = threadIdx.x;
    wmma::load_matrix_sync(tile, from + (lane >= pointer) * 16, 16 + (lane >= lead) * 8, wmma::mem_row_major);
    wmma::store_matrix_sync(to + (lane >= pointer - 32) * 16, tile, 16, wmma::mem_row_major);
}
"""


@pytest.mark.parametrize(
    ("pointer", "lead", "seen"),
    [
        (16, 32, "load.*the same pointer in all 32 lanes of a warp; lane 16 has another .*load_matrix_sync"),
        (32, 8, "load.*the same leading dimension in all 32 lanes of a warp; lane 8 has another"),
        (48, 32, "store.*the same pointer in all 32 lanes of a warp; lane 16 has another .*store_matrix_sync"),
    ],
)
def test_all_lanes_give_the_same_arguments(pointer: int, lead: int, seen: str) -> None:
    with pytest.raises(TraceError, match=seen):
        cuda_cpp.trace(LANES, "copied", 1, 32, np.zeros(512, np.float32), np.zeros(512, np.float32), pointer, lead)


def test_no_tile_is_stored_in_constants() -> None:
    """Constants are not counted, so threads could tell each other there what they have read."""
    source = LANES.replace("namespace nvcuda;", "namespace nvcuda;\n__constant__ float table[256] = {1.0f};")
    source = source.replace("(to + (lane", "((lead == 32 ? const_cast<float*>(table) : to) + (lane")
    given = np.zeros(512, np.float32), np.zeros(512, np.float32)
    cuda_cpp.trace(source, "copied", 1, 32, *given, 32, 33)
    with pytest.raises(OutOfBoundsError, match="writes to 'table', which is constant"):
        cuda_cpp.trace(source, "copied", 1, 32, *given, 32, 32)


MMA = r"""
extern "C" __global__ void halves(const unsigned short* a, const unsigned short* b, float* d) {
    // a: 16 x 16 by row, b: 16 x 8 by row, d: 16 x 8. Indexes as in the PTX ISA, "Matrix Fragments for mma.m16n8k16".
    int lane = threadIdx.x, group = lane >> 2, member = lane % 4;
    unsigned ra[4], rb[2];
    for (int i = 0; i < 8; i += 2) {
        int row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
        int column = member * 2 + (i & 1) + (i >= 4 ? 8 : 0);
        ra[i / 2] = a[row * 16 + column] | (unsigned)a[row * 16 + column + 1] << 16;
    }
    for (int i = 0; i < 4; i += 2) {
        int row = member * 2 + (i & 1) + (i >= 2 ? 8 : 0);
        rb[i / 2] = b[row * 8 + group] | (unsigned)b[(row + 1) * 8 + group] << 16;
    }
    float c[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++)
        d[(group + (i < 2 ? 0 : 8)) * 8 + member * 2 + (i & 1)] = c[i];
}
extern "C" __global__ void small_floats(const unsigned* a, const unsigned* b, float* d) {
    int lane = threadIdx.x, group = lane >> 2, member = lane % 4;
    unsigned ra[4] = {a[group * 8 + member], a[(group + 8) * 8 + member],
                      a[group * 8 + member + 4], a[(group + 8) * 8 + member + 4]};
    unsigned rb[2] = {b[member * 8 + group], b[(member + 4) * 8 + group]};
    float c[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++)
        d[(group + (i < 2 ? 0 : 8)) * 8 + member * 2 + (i & 1)] = c[i];
}
extern "C" __global__ void bytes(const signed char* a, const signed char* b, int* d) {
    // a: 16 x 32 by row, b: 32 x 8 by row.
    int lane = threadIdx.x, group = lane >> 2, member = lane % 4;
    unsigned ra[4] = {0, 0, 0, 0}, rb[2] = {0, 0};
    for (int i = 0; i < 16; i++) {
        int row = (i < 4 || (i >= 8 && i < 12)) ? group : group + 8;
        int column = member * 4 + (i & 3) + (i >= 8 ? 16 : 0);
        ra[i / 4] |= (unsigned)(unsigned char)a[row * 32 + column] << 8 * (i & 3);
    }
    for (int i = 0; i < 8; i++) {
        int row = member * 4 + (i & 3) + (i >= 4 ? 16 : 0);
        rb[i / 4] |= (unsigned)(unsigned char)b[row * 8 + group] << 8 * (i & 3);
    }
    int c[4] = {1, 1, 1, 1};
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++)
        d[(group + (i < 2 ? 0 : 8)) * 8 + member * 2 + (i & 1)] = c[i];
}
extern "C" __global__ void with_ldmatrix(const unsigned short* a, const unsigned short* b, float* d) {
    __shared__ __align__(16) unsigned short sa[256], sb[128];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) sa[i] = a[i];
    for (int i = lane; i < 128; i += 32) sb[i] = b[i];
    __syncwarp();
    unsigned ra[4], rb[2];
    unsigned pa = __cvta_generic_to_shared(sa + lane % 16 * 16 + lane / 16 * 8);
    unsigned pb = __cvta_generic_to_shared(sb + lane % 16 * 8);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb));
    float c[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++)
        d[(lane / 4 + (i < 2 ? 0 : 8)) * 8 + lane % 4 * 2 + (i & 1)] = c[i];
}
"""


@pytest.mark.parametrize(
    ("name", "k", "kind", "tolerance"),
    [
        ("halves", 16, "float16", 1e-5),
        ("with_ldmatrix", 16, "float16", 1e-5),
        ("small_floats", 8, "float32", 1e-5),
        ("bytes", 32, "int8", 0),
    ],
)
def test_mma_fragments_are_those_of_the_isa(name: str, k: int, kind: str, tolerance: float) -> None:
    a, b = drawn((16, k), kind), drawn((k, 8), kind)
    if kind == "float32":  # tensor cores read the upper 19 bits
        a, b = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32) for x in (a, b))
    wide = np.int64 if kind == "int8" else np.float64
    d = np.zeros((16, 8), np.int32 if kind == "int8" else np.float32)
    bits = {"float16": np.uint16, "float32": np.uint32, "int8": np.int8}[kind]
    trace = cuda_cpp.trace(MMA, name, 1, 32, a.view(bits), b.view(bits), d)
    np.testing.assert_allclose(d, a.astype(wide) @ b.astype(wide) + 1, atol=tolerance)
    assert not trace.races


def test_lanes_that_do_not_multiply_are_told_in_the_words_of_the_source() -> None:
    guarded = WMMA.replace("    wmma::mma_sync", "    if (threadIdx.x == 0)\n        wmma::mma_sync")
    a = np.zeros(256, np.float16)
    words = (
        r"\(0, 0, 0\) waits at wmma::mma_sync in line .*wait at wmma::store_matrix_sync.*All 32 lanes of a warp must"
    )
    with pytest.raises(BarrierError, match=words):
        cuda_cpp.trace(guarded, "square", 1, 32, a, a.copy(), np.zeros(256, np.float32))
