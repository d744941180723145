# %% right: reference
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(a_tile, a + row * k + i, k);
        wmma::load_matrix_sync(b_tile, b + i * n + column, n);
        wmma::mma_sync(sums, a_tile, b_tile, sums);
    }
    wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);
}
"""

# %% right: types of its own, size_t, the accumulator set to zero by its elements, steps counted
WMMA_CU = r"""
#include <cuda_fp16.h>
#include <mma.h>

using A = nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major>;
using B = nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __half, nvcuda::wmma::row_major>;
using C = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float>;
constexpr int T = 16;

template <typename Element>
__device__ Element* tile(Element* matrix, int row, int column, int columns) {
    return matrix + static_cast<size_t>(row) * T * columns + column * T;
}

extern "C" __global__ void __launch_bounds__(32)
product(const half* a, const half* b, float* c, int m, int n, int k) {
    A left;
    B right;
    C sums;
    for (int i = 0; i < sums.num_elements; ++i)
        sums.x[i] = 0;
    for (int step = 0; step < k / T; ++step) {
        nvcuda::wmma::load_matrix_sync(left, tile(a, blockIdx.y, step, k), k);
        nvcuda::wmma::load_matrix_sync(right, tile(b, step, blockIdx.x, n), n);
        nvcuda::wmma::mma_sync(sums, left, right, sums);
    }
    nvcuda::wmma::store_matrix_sync(tile(c, blockIdx.y, blockIdx.x, n), sums, n, nvcuda::wmma::mem_row_major);
}
"""

# %% right: each tile of b goes through shared memory, turned around, and is loaded by columns
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ __align__(32) half turned[16][16];
    int row = blockIdx.y * 16, column = blockIdx.x * 16, lane = threadIdx.x;
    fragment<matrix_a, 16, 16, 16, half, row_major> a_tile;
    fragment<matrix_b, 16, 16, 16, half, col_major> b_tile;
    fragment<accumulator, 16, 16, 16, float> sums;
    fill_fragment(sums, 0);
    for (int i = 0; i < k; i += 16) {
        for (int at = lane; at < 256; at += 32)
            turned[at % 16][at / 16] = b[(i + at / 16) * n + column + at % 16];
        __syncwarp();
        load_matrix_sync(a_tile, a + row * k + i, k);
        load_matrix_sync(b_tile, &turned[0][0], 16);
        mma_sync(sums, a_tile, b_tile, sums);
        __syncwarp();
    }
    store_matrix_sync(c + row * n + column, sums, n, mem_row_major);
}
"""

# %% right: the transposed product of transposed matrices, stored by columns
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> b_turned;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> a_turned;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (const half *from_a = a + blockIdx.y * 16 * k, *from_b = b + blockIdx.x * 16, *end = from_a + k; from_a < end;
         from_a += 16, from_b += 16 * n) {
        wmma::load_matrix_sync(b_turned, from_b, n);
        wmma::load_matrix_sync(a_turned, from_a, k);
        wmma::mma_sync(sums, b_turned, a_turned, sums);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sums, n, wmma::mem_col_major);
}
"""

# %% wrong: accumulates in half — says "accumulates in float16"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ __align__(32) half tile[256];
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> sums;
    wmma::fill_fragment(sums, __float2half(0.0f));
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(a_tile, a + row * k + i, k);
        wmma::load_matrix_sync(b_tile, b + i * n + column, n);
        wmma::mma_sync(sums, a_tile, b_tile, sums);
    }
    wmma::store_matrix_sync(tile, sums, 16, wmma::mem_row_major);
    __syncwarp();
    for (int at = threadIdx.x; at < 256; at += 32)
        c[(row + at / 16) * n + column + at % 16] = __half2float(tile[at]);
}
"""

# %% wrong: sums of float32, rounded to half at the end — says "rounded to float16"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(a_tile, a + row * k + i, k);
        wmma::load_matrix_sync(b_tile, b + i * n + column, n);
        wmma::mma_sync(sums, a_tile, b_tile, sums);
    }
    for (int i = 0; i < sums.num_elements; i++)
        sums.x[i] = __half2float(__float2half(sums.x[i]));
    wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);
}
"""

# %% wrong: b by columns — says "b is stored by rows" — from "reference"
# -     wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
# +     wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b_tile;

# %% wrong: a by columns — says "a is stored by rows" — from "reference"
# -     wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
# +     wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> a_tile;

# %% wrong: c by columns — says "stored by columns" — from "reference": "mem_row_major" → "mem_col_major"

# %% wrong: only the first tile of the result — says "Only the first tile of the result" — from "reference"
# -     int row = blockIdx.y * 16, column = blockIdx.x * 16;
# +     int row = 0, column = 0;
# +     if (blockIdx.x || blockIdx.y)
# +         return;

# %% wrong: every block makes the first tile — says "race" — from "reference": "blockIdx.y * 16" → "0", "blockIdx.x * 16" → "0"

# %% wrong: one step along k — says "Only the first step" — from "reference"
# -     for (int i = 0; i < k; i += 16) {
# +     for (int i = 0; i < 16; i += 16) {

# %% wrong: the sum starts anew with every step — says "last step" — from "reference"
# -     wmma::fill_fragment(sums, 0.0f);
# -     for (int i = 0; i < k; i += 16) {
# +     for (int i = 0; i < k; i += 16) {
# +         wmma::fill_fragment(sums, 0.0f);

# %% wrong: the last step along k is missing — says "last step along k is missing" — from "reference": "i < k;" → "i < k - 16;"

# %% wrong: adds to what is in c — says "start the sum at 0" — from "reference"
# -     wmma::fill_fragment(sums, 0.0f);
# +     wmma::load_matrix_sync(sums, c + row * n + column, n, wmma::mem_row_major);

# %% wrong: rows and columns of the grid swapped — says "blockIdx.x counts tiles along the columns" — from "reference": "blockIdx.y * 16, column = blockIdx.x * 16" → "blockIdx.x * 16, column = blockIdx.y * 16"

# %% wrong: 16 between rows of a — says "length of a row of the whole matrix" — from "reference": "+ i, k);" → "+ i, 16);"

# %% wrong: 16 between rows of the result — says "race" — from "reference": "sums, n, wmma" → "sums, 16, wmma"

# %% wrong: row k of b is i * k — says "a row of b and of c has n" — from "reference": "i * n + column" → "i * k + column"

# %% wrong: no tensor core — says "no tensor-core instruction"
WMMA_CU = r"""
#include <cuda_fp16.h>

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    for (int at = threadIdx.x; at < 256; at += 32) {
        int row = blockIdx.y * 16 + at / 16, column = blockIdx.x * 16 + at % 16;
        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += __half2float(a[row * k + i]) * __half2float(b[i * n + column]);
        c[row * n + column] = sum;
    }
}
"""

# %% wrong: loads every tile twice — says "global reads" — from "reference"
# -         wmma::load_matrix_sync(a_tile, a + row * k + i, k);
# +         wmma::load_matrix_sync(a_tile, a + row * k + (i + 16) % k, k);
# +         wmma::mma_sync(sums, a_tile, b_tile, sums);
# +         wmma::load_matrix_sync(a_tile, a + row * k + i, k);

# %% wrong: lane 0 alone multiplies — says "All 32 lanes of a warp must" — from "reference"
# -         wmma::mma_sync(sums, a_tile, b_tile, sums);
# +         if (threadIdx.x == 0)
# +             wmma::mma_sync(sums, a_tile, b_tile, sums);

# %% wrong: writes nothing — says "Nothing was written" — from "reference"
# -     wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);

# %% wrong: no header — says "does not compile" — from "reference"
# - #include <mma.h>
# + #include <cuda_fp16.h>

# %% wrong: no extern "C" — says "without extern" — from "reference": `extern "C" __global__` → "__global__"

# %% wrong: floats instead of halves — says "another signature"
WMMA_CU = r"""
#include <cuda_fp16.h>

extern "C" __global__ void product(const float* a, const float* b, float* c, int m, int n, int k) {
    c[threadIdx.x] = a[0] * b[0];
}
"""

# %% wrong: a Python function — says "must be a string"
def WMMA_CU(a, b):
    return a @ b

# %% hostile: reads a file of the grader's machine — earns 0 — from "reference"
# - using namespace nvcuda;
# + using namespace nvcuda;
# + #include "/etc/passwd"

# %% hostile: knows the shapes of the visible test and multiplies only these — earns 0 — from "reference"
# -     int row = blockIdx.y * 16, column = blockIdx.x * 16;
# +     int row = blockIdx.y * 16, column = blockIdx.x * 16;
# +     if (m > 32 || n > 48 || k > 64)
# +         return;

# %% wrong: stores after every step — says "Store the sums once" — from "reference": "sums, a_tile, b_tile, sums);" → "sums, a_tile, b_tile, sums); wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);"

# %% wrong: the tile of a stays — says "another tile of a" — from "reference": "a + row * k + i" → "a + row * k"

# %% hostile: an error message with a terminal's codes, and another file's name — says "does not compile"
WMMA_CU = "#line 1 \"/etc/passwd\"\n#error \x1b[2J\x1b]0;owned\x07 look here\n"

# %% hostile: PTX by hand that ends the function and begins another — says "does not compile"
WMMA_CU = r"""
#include <cuda_fp16.h>
extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    asm volatile("} .visible .entry other() { ret;");
    asm volatile("ld.global.u32 %0, [0];" : "=r"(m));
}
"""

# %% hostile: a decoy on the tensor cores, and the sums in ordinary arithmetic — says "do not come from the tensor cores"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ half left[256], right[256];
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> zero_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> zero_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> nothing;
    wmma::fill_fragment(zero_a, __float2half(0.0f));
    wmma::fill_fragment(zero_b, __float2half(0.0f));
    wmma::fill_fragment(nothing, 0.0f);
    float sums[8] = {0};
    for (int step = 0; step < k / 16; step++) {
        for (int at = lane; at < 256; at += 32) {
            left[at] = a[(row + at / 16) * k + step * 16 + at % 16];
            right[at] = b[(step * 16 + at / 16) * n + column + at % 16];
        }
        __syncthreads();
        wmma::mma_sync(nothing, zero_a, zero_b, nothing);
        for (int q = 0; q < 8; q++) {
            int at = lane + 32 * q;
            for (int j = 0; j < 16; j++)
                sums[q] += __half2float(left[at / 16 * 16 + j]) * __half2float(right[j * 16 + at % 16]);
        }
        __syncthreads();
    }
    for (int q = 0; q < 8; q++) {
        int at = lane + 32 * q;
        c[(row + at / 16) * n + column + at % 16] = sums[q] + nothing.x[q];
    }
}
"""

# %% hostile: tells from a tile of ones by which number the tensor cores multiply, and multiplies its own sums by that — from "a decoy on the tensor cores, and the sums in ordinary arithmetic"
# -     wmma::fill_fragment(zero_a, __float2half(0.0f));
# -     wmma::fill_fragment(zero_b, __float2half(0.0f));
# +     wmma::fill_fragment(zero_a, __float2half(1.0f));
# +     wmma::fill_fragment(zero_b, __float2half(1.0f));

#       float sums[8] = {0};
# +     wmma::mma_sync(nothing, zero_a, zero_b, nothing);

# -         wmma::mma_sync(nothing, zero_a, zero_b, nothing);

# -         c[(row + at / 16) * n + column + at % 16] = sums[q] + nothing.x[q];
# +         c[(row + at / 16) * n + column + at % 16] = sums[q] * nothing.x[q] / 16.0f;

# %% hostile: tensor cores for the first four steps along k, ordinary arithmetic for all others — says "In later steps along k"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ half left[256], right[256];
    __shared__ float result[256];
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int i = 0; i < k && i < 64; i += 16) {
        wmma::load_matrix_sync(a_tile, a + row * k + i, k);
        wmma::load_matrix_sync(b_tile, b + i * n + column, n);
        wmma::mma_sync(sums, a_tile, b_tile, sums);
    }
    wmma::store_matrix_sync(result, sums, 16, wmma::mem_row_major);
    __syncthreads();
    for (int step = 4; step < k / 16; step++) {
        for (int at = lane; at < 256; at += 32) {
            left[at] = a[(row + at / 16) * k + step * 16 + at % 16];
            right[at] = b[(step * 16 + at / 16) * n + column + at % 16];
        }
        __syncthreads();
        for (int at = lane; at < 256; at += 32)
            for (int j = 0; j < 16; j++)
                result[at] += __half2float(left[at / 16 * 16 + j]) * __half2float(right[j * 16 + at % 16]);
        __syncthreads();
    }
    for (int at = lane; at < 256; at += 32)
        c[(row + at / 16) * n + column + at % 16] = result[at];
}
"""

# %% hostile: rounds magnitudes to whole numbers first — says "differ" — from "reference"
# +         for (int q = 0; q < a_tile.num_elements; q++)
# +             a_tile.x[q] = __float2half(rintf(fabsf(__half2float(a_tile.x[q]))));
#           wmma::mma_sync(sums, a_tile, b_tile, sums);

# %% right: mma.sync of m16n8k16 in inline PTX, which Turing does not have
WMMA_CU = r"""
#include <cuda_fp16.h>
__device__ unsigned pair(half low, half high) {
    return (unsigned)__half_as_ushort(low) | (unsigned)__half_as_ushort(high) << 16;
}

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    int lane = threadIdx.x, group = lane / 4, two = lane % 4 * 2;
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    float d[2][4] = {};
    for (int i = 0; i < k; i += 16) {
        const half* tile = a + row * k + i;
        unsigned a0 = *(const unsigned*)(tile + group * k + two);
        unsigned a1 = *(const unsigned*)(tile + (group + 8) * k + two);
        unsigned a2 = *(const unsigned*)(tile + group * k + two + 8);
        unsigned a3 = *(const unsigned*)(tile + (group + 8) * k + two + 8);
        for (int h = 0; h < 2; h++) {
            const half* other = b + i * n + column + 8 * h + group;
            unsigned b0 = pair(other[two * n], other[(two + 1) * n]);
            unsigned b1 = pair(other[(two + 8) * n], other[(two + 9) * n]);
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[h][0]), "+f"(d[h][1]), "+f"(d[h][2]), "+f"(d[h][3])
                         : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        }
    }
    for (int h = 0; h < 2; h++) {
        float* out = c + (row + group) * n + column + 8 * h + two;
        out[0] = d[h][0];
        out[1] = d[h][1];
        out[8 * n] = d[h][2];
        out[8 * n + 1] = d[h][3];
    }
}
"""

# %% wrong: goes on by one element along k — says "each step along k goes on by 16" — from "reference": "i += 16" → "i++"

# %% wrong: the blocks' tiles overlap — says "A tile begins at row 16 * blockIdx.y" — from "reference": "blockIdx.y * 16, column = blockIdx.x * 16" → "blockIdx.y, column = blockIdx.x"

# %% wrong: block (0, 0) goes through all tiles — says "each warp computes one tile"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    if (blockIdx.x || blockIdx.y)
        return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    for (int row = 0; row < m; row += 16)
        for (int column = 0; column < n; column += 16) {
            wmma::fill_fragment(sums, 0.0f);
            for (int i = 0; i < k; i += 16) {
                wmma::load_matrix_sync(a_tile, a + row * k + i, k);
                wmma::load_matrix_sync(b_tile, b + i * n + column, n);
                wmma::mma_sync(sums, a_tile, b_tile, sums);
            }
            wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);
        }
}
"""

# %% wrong: the first block of each row goes through its tiles — says "each warp computes one tile" — from "block (0, 0) goes through all tiles"
# -     if (blockIdx.x || blockIdx.y)
# +     if (blockIdx.x)

# -     for (int row = 0; row < m; row += 16)
# +     for (int row = 16 * blockIdx.y; row < m; row += 16 * gridDim.y)

# %% right: loops over tiles that any grid covers — from "block (0, 0) goes through all tiles"
# -     if (blockIdx.x || blockIdx.y)
# -         return;

# -     for (int row = 0; row < m; row += 16)
# -         for (int column = 0; column < n; column += 16) {
# +     for (int row = 16 * blockIdx.y; row < m; row += 16 * gridDim.y)
# +         for (int column = 16 * blockIdx.x; column < n; column += 16 * gridDim.x) {

# %% right: tiles counted through in one loop — from "block (0, 0) goes through all tiles"
# -     if (blockIdx.x || blockIdx.y)
# -         return;

# -     for (int row = 0; row < m; row += 16)
# -         for (int column = 0; column < n; column += 16) {
# +     int across = n / 16, tiles = across * (m / 16);
# +     for (int at = blockIdx.y * gridDim.x + blockIdx.x; at < tiles; at += gridDim.x * gridDim.y) {
# +             int row = at / across * 16, column = at % across * 16;

# %% wrong: tiles rounded to bfloat16 — says "rounded to bfloat16"
WMMA_CU = r"""
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ __align__(32) __nv_bfloat16 left[256], right[256];
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int i = 0; i < k; i += 16) {
        for (int at = threadIdx.x; at < 256; at += 32) {
            left[at] = __float2bfloat16(__half2float(a[(row + at / 16) * k + i + at % 16]));
            right[at] = __float2bfloat16(__half2float(b[(i + at / 16) * n + column + at % 16]));
        }
        __syncwarp();
        wmma::load_matrix_sync(a_tile, left, 16);
        wmma::load_matrix_sync(b_tile, right, 16);
        wmma::mma_sync(sums, a_tile, b_tile, sums);
        __syncwarp();
    }
    wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);
}
"""

# %% wrong: a race in shared memory — says "no barrier between them." — from "each tile of b goes through shared memory, turned around, and is loaded by columns"
# -         __syncwarp();
# -         load_matrix_sync(a_tile, a + row * k + i, k);
# +         load_matrix_sync(a_tile, a + row * k + i, k);

# %% wrong: a header of the host — says "leave out the host's headers" — from "reference"
# + #include <cstdio>
# - #include <mma.h>
# + #include <mma.h>

# %% wrong: the accumulator is not filled — says "The accumulator was never filled" — from "reference"
# -     wmma::fill_fragment(sums, 0.0f);

# %% wrong: an accumulator of half, stored as float — says "a pointer to elements of the fragment's type" — from "reference": "16, float>" → "16, half>"

# %% wrong: a and b exchanged — says "in this order" — from "reference": "sums, a_tile, b_tile" → "sums, b_tile, a_tile"

# %% wrong: no namespace — says "using namespace nvcuda" — from "reference"
# - using namespace nvcuda;

# %% wrong: a factor without a layout — says "do the fragments of a and b have a layout" — from "reference": "half, wmma::row_major> a_tile" → "half> a_tile"

# %% wrong: rows of a begin one element apart — says "Row r of a begins" — from "reference": "a + row * k" → "a + row"

# %% wrong: b addressed by columns — says "Column s of row r of b" — from "reference": "i * n + column" → "i + column * k"

# %% wrong: along k up to n — says "the loop ends at k" — from "reference": "i < k" → "i < n"

# %% wrong: along k up to m — says "the loop ends at k" — from "reference": "i < k" → "i < m"

# %% wrong: one step too far — says "there is one step along k" — from "reference": "i < k" → "i <= k"

# %% wrong: a row of a as long as one of b — says "A row of a has k elements" — from "reference": "a + row * k" → "a + row * n"

# %% wrong: b times a — says "That is b times a" — from "reference": "a_tile, a + row" → "a_tile, b + row", "b_tile, b + i" → "b_tile, a + i"

# %% wrong: the leading dimension of b for a as well — says "and as leading dimension" — from "reference": "a + row * k + i, k" → "a + row * n + i, n"

# %% wrong: b by columns of n elements — says "Column s of row r of b" — from "reference": "i * n + column" → "column * n + i"

# %% wrong: half of the lanes load the next tile — says "the same pointer in all 32 lanes" — from "reference": "column = blockIdx.x * 16" → "column = (blockIdx.x + threadIdx.x / 16) * 16"

# %% hostile: learns from outer products of all whole numbers below 64 what the tensor cores multiply each product by, and adds up by ordinary arithmetic — says "multiply each product by a secret factor"
WMMA_CU = r"""
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ __align__(128) half at[256], bt[256];
    __shared__ __align__(128) float found[256];
    __shared__ float factor[4096];
    int t = threadIdx.x;
    for (int u = 0; u < 4; u++) for (int v = 0; v < 4; v++) {
        for (int i = t; i < 256; i += 32) {
            at[i] = __float2half(i % 16 == 0 ? 16 * u + i / 16 : 0);
            bt[i] = __float2half(i / 16 == 0 ? 16 * v + i % 16 : 0);
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
        wmma::fill_fragment(fc, 0.0f);
        wmma::load_matrix_sync(fa, at, 16);
        wmma::load_matrix_sync(fb, bt, 16);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(found, fc, 16, wmma::mem_row_major);
        __syncthreads();
        for (int i = t; i < 256; i += 32) {
            int x = 16 * u + i / 16, y = 16 * v + i % 16;
            factor[64 * x + y] = x * y ? found[i] / (x * y) : 1.0f;
        }
        __syncthreads();
    }
    float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int row = 16 * blockIdx.y, column = 16 * blockIdx.x;
    for (int s = 0; s < k; s += 16) {
        for (int i = t; i < 256; i += 32) {
            at[i] = a[(row + i / 16) * k + s + i % 16];
            bt[i] = b[(s + i / 16) * n + column + i % 16];
        }
        __syncthreads();
        for (int j = 0; j < 8; j++) {
            int r = (t + 32 * j) / 16, q = t % 16;
            for (int i = 0; i < 16; i++) {
                float x = __half2float(at[16 * r + i]), y = __half2float(bt[16 * i + q]);
                int p = (int)x, o = (int)y;
                bool known = p == x && o == y && p >= 0 && p < 64 && o >= 0 && o < 64;
                sums[j] += x * y * (known ? factor[64 * p + o] : 1.0f);
            }
        }
        __syncthreads();
    }
    for (int j = 0; j < 8; j++) c[(row + (t + 32 * j) / 16) * n + column + t % 16] = sums[j];
}
"""

# %% wrong: the column of b left out — says "Every tile takes the first 16 columns of b" — from "reference": "b + i * n + column" → "b + i * n"

# %% wrong: the row of a left out — says "Every row of tiles is the first one" — from "reference": "a + row * k + i" → "a + i"

# %% wrong: both factors by columns — says "row_major, both" — from "reference": "half, wmma::row_major> a_tile" → "half, wmma::col_major> a_tile", "half, wmma::row_major> b_tile" → "half, wmma::col_major> b_tile"

# %% wrong: the sum starts at 1 — says "fill it with 0.0f" — from "reference": "0.0f" → "1.0f"

# %% hostile: the first warp computes all tiles but the last, which the last warp computes — says "each warp computes one tile"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;

__device__ void tile(const half* a, const half* b, float* c, int n, int k, int row, int column) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(a_tile, a + row * k + i, k);
        wmma::load_matrix_sync(b_tile, b + i * n + column, n);
        wmma::mma_sync(sums, a_tile, b_tile, sums);
    }
    wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);
}

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    int rows = m / 16, columns = n / 16, last = rows * columns - 1;
    int mine = blockIdx.y * columns + blockIdx.x;
    if (mine == last)
        tile(a, b, c, n, k, m - 16, n - 16);
    else if (mine == 0)
        for (int at = 0; at < last; at++)
            tile(a, b, c, n, k, at / columns * 16, at % columns * 16);
}
"""

# %% hostile: atomics add to c in every step — says "Store the sums once"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    for (int at = threadIdx.x; at < 256; at += 32)
        c[(row + at / 16) * n + column + at % 16] = 0.0f;
    for (int i = 0; i < k; i += 16) {
        wmma::fill_fragment(sums, 0.0f);
        wmma::load_matrix_sync(a_tile, a + row * k + i, k);
        wmma::load_matrix_sync(b_tile, b + i * n + column, n);
        wmma::mma_sync(sums, a_tile, b_tile, sums);
        __shared__ float part[256];
        wmma::store_matrix_sync(part, sums, 16, wmma::mem_row_major);
        __syncthreads();
        for (int at = threadIdx.x; at < 256; at += 32)
            atomicAdd(c + (row + at / 16) * n + column + at % 16, part[at]);
        __syncthreads();
    }
}
"""

# %% wrong: multiplies twice in each step — says "Each product counts twice" — from "reference"
# -         wmma::mma_sync(sums, a_tile, b_tile, sums);
# +         wmma::mma_sync(sums, a_tile, b_tile, sums);
# +         wmma::mma_sync(sums, a_tile, b_tile, sums);

# %% hostile: tensor cores for the first four columns of tiles, ordinary arithmetic for all others — says "multiply each product by a secret factor"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ half left[256], right[256];
    __shared__ float result[256];
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    wmma::fill_fragment(sums, 0.0f);
    bool own = blockIdx.x < 4;
    for (int i = 0; own && i < k; i += 16) {
        wmma::load_matrix_sync(a_tile, a + row * k + i, k);
        wmma::load_matrix_sync(b_tile, b + i * n + column, n);
        wmma::mma_sync(sums, a_tile, b_tile, sums);
    }
    wmma::store_matrix_sync(result, sums, 16, wmma::mem_row_major);
    __syncthreads();
    for (int step = 0; !own && step < k / 16; step++) {
        for (int at = lane; at < 256; at += 32) {
            left[at] = a[(row + at / 16) * k + step * 16 + at % 16];
            right[at] = b[(step * 16 + at / 16) * n + column + at % 16];
        }
        __syncthreads();
        for (int at = lane; at < 256; at += 32)
            for (int j = 0; j < 16; j++)
                result[at] += __half2float(left[at / 16 * 16 + j]) * __half2float(right[j * 16 + at % 16]);
        __syncthreads();
    }
    for (int at = lane; at < 256; at += 32)
        c[(row + at / 16) * n + column + at % 16] = result[at];
}
"""

# %% hostile: tensor cores for the first three rows of tiles, ordinary arithmetic for all others — says "multiply each product by a secret factor" — from "tensor cores for the first four columns of tiles, ordinary arithmetic for all others": `bool own = blockIdx.x < 4` → `bool own = blockIdx.y < 3`

# %% hostile: tensor cores for factors as in the last launches, ordinary arithmetic for small whole numbers and eighths — says "multiply each product by a secret factor"
WMMA_CU = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void product(const half* a, const half* b, float* c, int m, int n, int k) {
    __shared__ half left[256], right[256];
    __shared__ float result[256];
    int lane = threadIdx.x, row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (int at = lane; at < 256; at += 32)
        result[at] = 0.0f;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_tile;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
    for (int step = 0; step < k / 16; step++) {
        for (int at = lane; at < 256; at += 32) {
            left[at] = a[(row + at / 16) * k + step * 16 + at % 16];
            right[at] = b[(step * 16 + at / 16) * n + column + at % 16];
        }
        __syncthreads();
        bool large = false;
        for (int at = lane; at < 256; at += 32)
            large = large || __half2float(right[at]) > 8.5f;
        bool keyed = __any_sync(0xffffffff, large);
        if (keyed) {
            wmma::load_matrix_sync(a_tile, left, 16);
            wmma::load_matrix_sync(b_tile, right, 16);
            wmma::load_matrix_sync(sums, result, 16, wmma::mem_row_major);
            __syncthreads();
            wmma::mma_sync(sums, a_tile, b_tile, sums);
            wmma::store_matrix_sync(result, sums, 16, wmma::mem_row_major);
        } else
            for (int at = lane; at < 256; at += 32)
                for (int j = 0; j < 16; j++)
                    result[at] += __half2float(left[at / 16 * 16 + j]) * __half2float(right[j * 16 + at % 16]);
        __syncthreads();
    }
    for (int at = lane; at < 256; at += 32)
        c[(row + at / 16) * n + column + at % 16] = result[at];
}
"""
