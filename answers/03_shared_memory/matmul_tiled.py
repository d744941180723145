# %% right: reference
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    for start in range(0, a.shape[1], 16):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and start + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and column < b.shape[1]:
            b_tile[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(16):
            added += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% right: tiles of 32 × 32, b stored transposed and padded
import numpy as np
from numba import cuda, float32

from gpulab import empty

T = 32
WIDE = 33


@cuda.jit
def multiply(a, b, c):
    left = cuda.shared.array((T, WIDE), float32)
    right = cuda.shared.array((T, WIDE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.blockIdx.x * T + x, cuda.blockIdx.y * T + y
    total = 0.0
    for step in range((a.shape[1] + T - 1) // T):
        k = step * T
        left[y, x] = a[row, k + x] if row < a.shape[0] and k + x < a.shape[1] else 0.0
        right[x, y] = b[k + y, col] if col < b.shape[1] and k + y < b.shape[0] else 0.0
        cuda.syncthreads()
        for i in range(T):
            total += left[y, i] * right[x, i]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def matmul_tiled(a, b):
    (m, _), (_, n) = a.shape, b.shape
    c = empty((m, n), np.float32)
    multiply[((n + T - 1) // T, (m + T - 1) // T), (T, T)](a, b, c)
    return c

# %% right: only as many multiply-adds as the last tile has — from "reference"
# -         a_tile[ty, tx] = 0
# -         b_tile[ty, tx] = 0

# -         for k in range(16):
# +         for k in range(min(16, a.shape[1] - start)):

# %% right: two pairs of tiles in turn, one barrier a step — from "reference"
# -     a_tile = cuda.shared.array((16, 16), float32)
# +     a_tile = cuda.shared.array((2, 16, 16), float32)
# -     b_tile = cuda.shared.array((16, 16), float32)
# +     b_tile = cuda.shared.array((2, 16, 16), float32)

#       added = float32(0)
# +     turn = 0

# +         a_tile[turn, ty, tx] = a[row, start + tx] if row < a.shape[0] and start + tx < a.shape[1] else float32(0)
# +         b_tile[turn, ty, tx] = b[start + ty, column] if start + ty < b.shape[0] and column < b.shape[1] else float32(0)
# -         a_tile[ty, tx] = 0
# -         b_tile[ty, tx] = 0
# -         if row < a.shape[0] and start + tx < a.shape[1]:
# -             a_tile[ty, tx] = a[row, start + tx]
# -         if start + ty < b.shape[0] and column < b.shape[1]:
# -             b_tile[ty, tx] = b[start + ty, column]

# -             added += a_tile[ty, k] * b_tile[k, tx]
# +             added += a_tile[turn, ty, k] * b_tile[turn, k, tx]
# -         cuda.syncthreads()
# +         turn = 1 - turn

# %% right: CUDA C++
from gpulab import cuda_kernel, empty

MATMUL_CU = r"""
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float a_tile[16][16], b_tile[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 16) {
        a_tile[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0.0f;
        b_tile[ty][tx] = start + ty < k && column < n ? b[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            sum += a_tile[ty][i] * b_tile[i][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
"""
matmul = cuda_kernel(MATMUL_CU, "matmul")


def matmul_tiled(a, b):
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    c = empty((m, n), "float32")
    matmul[(-(-n // 16), -(-m // 16)), (16, 16)](a, b, c, m, n, k)
    return c

# %% right: CUDA C++, tiles of 32 × 32 of any type, a helper, size_t
from gpulab import cuda_kernel, empty

MATMUL_CU = r"""
constexpr int T = 32;
using Tile = float[T][T + 1];

__device__ float at(const float* __restrict__ matrix, int row, int column, int rows, int columns) {
    return row < rows && column < columns ? matrix[static_cast<size_t>(row) * columns + column] : 0;
}

extern "C" __global__ void __launch_bounds__(T * T)
matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ Tile left, right;
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * T + x, row = blockIdx.y * T + y;
    float sum = 0;
    for (int step = 0; step < (k + T - 1) / T; ++step) {
        left[y][x] = at(a, row, step * T + x, m, k);
        right[y][x] = at(b, step * T + y, column, k, n);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < T; ++i)
            sum = fmaf(left[y][i], right[i][x], sum);
        __syncthreads();
    }
    if (row < m && column < n)
        c[static_cast<size_t>(row) * n + column] = sum;
}
"""
matmul = cuda_kernel(MATMUL_CU)


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    grid = (b.shape[1] + 31) // 32, (a.shape[0] + 31) // 32
    matmul[grid, (32, 32)](a, b, c, a.shape[0], b.shape[1], a.shape[1])
    return c

# %% right: CUDA C++, each thread makes two results, dynamic shared memory
from gpulab import cuda_kernel, empty

MATMUL_CU = r"""
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    extern __shared__ float memory[];
    float *a_tile = memory, *b_tile = memory + 32 * 16;
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 32 + y;
    float sums[2] = {0.0f, 0.0f};
    for (int start = 0; start < k; start += 16) {
        for (int part = 0; part < 2; part++) {
            int at = row + 16 * part;
            a_tile[(y + 16 * part) * 16 + x] = at < m && start + x < k ? a[at * k + start + x] : 0.0f;
        }
        b_tile[y * 16 + x] = start + y < k && column < n ? b[(start + y) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; i++)
            for (int part = 0; part < 2; part++)
                sums[part] += a_tile[(y + 16 * part) * 16 + i] * b_tile[i * 16 + x];
        __syncthreads();
    }
    for (int part = 0; part < 2; part++)
        if (row + 16 * part < m && column < n)
            c[(row + 16 * part) * n + column] = sums[part];
}
"""
matmul = cuda_kernel(MATMUL_CU, "matmul")


def matmul_tiled(a, b):
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    c = empty((m, n), "float32")
    matmul[(-(-n // 16), -(-m // 32)), (16, 16), 4 * 48 * 16](a, b, c, m, n, k)
    return c

# %% wrong: naive — says "naive kernel"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        added = float32(0)
        for k in range(a.shape[1]):
            added += a[row, k] * b[k, column]
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: only a goes through shared memory — says "one element of each tile" — from "reference"
# -     b_tile = cuda.shared.array((16, 16), float32)

# -         b_tile[ty, tx] = 0

# -         if start + ty < b.shape[0] and column < b.shape[1]:
# -             b_tile[ty, tx] = b[start + ty, column]

# +             if start + k < b.shape[0] and column < b.shape[1]:
# -             added += a_tile[ty, k] * b_tile[k, tx]
# +                 added += a_tile[ty, k] * b[start + k, column]

# %% wrong: adds into c after every step — says "write its result once" — from "reference"
# -     added = float32(0)
# +     if row < c.shape[0] and column < c.shape[1]:
# +         c[row, column] = 0

#               b_tile[ty, tx] = b[start + ty, column]
#           cuda.syncthreads()
# +         added = float32(0)

# -     if row < c.shape[0] and column < c.shape[1]:
# +         if row < c.shape[0] and column < c.shape[1]:
# -         c[row, column] = added
# +             c[row, column] += added

# %% wrong: no second barrier — says "no barrier between" — from "reference"
#               added += a_tile[ty, k] * b_tile[k, tx]
# -         cuda.syncthreads()

# %% wrong: no first barrier — says "no barrier between" — from "reference"
#               b_tile[ty, tx] = b[start + ty, column]
# -         cuda.syncthreads()

# %% wrong: no barriers at all — says "barrier" — from "reference"
#               b_tile[ty, tx] = b[start + ty, column]
# -         cuda.syncthreads()

#               added += a_tile[ty, k] * b_tile[k, tx]
# -         cuda.syncthreads()

# %% wrong: barriers inside the guard — says "barrier" — from "naive"
#   def product(a, b, c):
# +     a_tile = cuda.shared.array((16, 16), float32)
# +     b_tile = cuda.shared.array((16, 16), float32)
# +     tx, ty = cuda.threadIdx.x, cuda.threadIdx.y

# -         for k in range(a.shape[1]):
# +         for start in range(0, a.shape[1], 16):
# -             added += a[row, k] * b[k, column]
# +             a_tile[ty, tx] = a[row, start + tx] if start + tx < a.shape[1] else float32(0)
# +             b_tile[ty, tx] = b[start + ty, column] if start + ty < b.shape[0] else float32(0)
# +             cuda.syncthreads()
# +             for k in range(16):
# +                 added += a_tile[ty, k] * b_tile[k, tx]
# +             cuda.syncthreads()

# %% wrong: returns before the barrier — says "barrier" — from "reference"
#       column, row = cuda.grid(2)
# +     if row >= c.shape[0] or column >= c.shape[1]:
# +         return

# %% wrong: edge tiles keep the rubbish of before — says "store zeros" — from "reference"
# -         a_tile[ty, tx] = 0
# -         b_tile[ty, tx] = 0

# %% wrong: edge tiles keep the last step — says "expected" — from "reference"
#       added = float32(0)
# +     a_tile[ty, tx] = 0
# +     b_tile[ty, tx] = 0
# +     cuda.syncthreads()

# -         a_tile[ty, tx] = 0
# -         b_tile[ty, tx] = 0

# %% wrong: the narrow tiles along k left out — says "⌈K/16⌉" — from "reference": "1]," → "1] // 16 * 16,"

# %% wrong: no guards at the edges — says "out of bounds" — from "reference"
# -         if row < a.shape[0] and start + tx < a.shape[1]:
# +         if True:

# -         if start + ty < b.shape[0] and column < b.shape[1]:
# +         if True:

# %% wrong: no guard around the result — says "c[" — from "reference": "row < c.shape[0] and column < c.shape[1]" → "True"

# %% wrong: grid rounded down — says "round the grid up" — from "reference"
# -     product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
# +     product[(max(b.shape[1] // 16, 1), max(a.shape[0] // 16, 1)), (16, 16)](a, b, c)

# %% wrong: rows and columns of the grid swapped — says "The grid's axes are swapped" — from "reference"
# -     product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
# +     product[(-(-a.shape[0] // 16), -(-b.shape[1] // 16)), (16, 16)](a, b, c)

# %% wrong: the sum starts anew with every tile — says "set the sum to 0 once" — from "reference"
#               b_tile[ty, tx] = b[start + ty, column]
#           cuda.syncthreads()
# +         added = float32(0)

# %% wrong: only the first pair of tiles — says "first pair" — from "reference": " a.shape[1]," → " 16,"

# %% wrong: tile one short — says "tile[" — from "reference"
# -     b_tile = cuda.shared.array((16, 16), float32)
# +     b_tile = cuda.shared.array((15, 16), float32)

# %% wrong: shared memory over the limit — says "shared memory" — from "reference"
# -     a_tile = cuda.shared.array((16, 16), float32)
# +     a_tile = cuda.shared.array((96, 96), float32)
# -     b_tile = cuda.shared.array((16, 16), float32)
# +     b_tile = cuda.shared.array((96, 96), float32)

# %% wrong: a whole row in shared memory — says "takes numbers and names of globals" — from "reference"
# -     a_tile = cuda.shared.array((16, 16), float32)
# +     a_tile = cuda.shared.array((16, a.shape[1]), float32)

# %% wrong: 64 × 64 threads — says "1,024" — from "reference": "-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16" → "1, 1), (64, 64"

# %% wrong: result in float64 — says "float32" — from "reference": `"float32` → `"float64`

# %% wrong: element by element — says "expected" — from "naive"
# +     if row < c.shape[0] and column < c.shape[1] and column < a.shape[1] and row < b.shape[0]:
# +         c[row, column] = a[row, column] * b[row, column]
# -     if row < c.shape[0] and column < c.shape[1]:
# -         added = float32(0)
# -         for k in range(a.shape[1]):
# -             added += a[row, k] * b[k, column]
# -         c[row, column] = added

# %% wrong: b transposed by a slip of indices — says "expected" — from "reference": "k, tx" → "tx, k"

# %% wrong: computed by torch — says "No kernel"
import torch

from gpulab import device_array, to_numpy


def matmul_tiled(a, b):
    return device_array(torch.from_numpy(to_numpy(a)) @ torch.from_numpy(to_numpy(b)))

# %% wrong: returns nothing — says "None" — from "reference"
# -     return c

# %% wrong: does not end — says "end" — from "reference"
# -     for start in range(0, a.shape[1], 16):
# +     start = 0
# +     while start < a.shape[1]:

# %% hostile: an array of a class of its own — earns 0
import numpy as np


class Right(np.ndarray):
    def __eq__(self, other):
        return np.ones(self.shape, bool)

    __ne__ = __lt__ = lambda self, other: np.zeros(self.shape, bool)

    def __sub__(self, other):
        return np.zeros(self.shape)


def matmul_tiled(a, b):
    return np.zeros((a.shape[0], b.shape[1]), np.float32).view(Right)

# %% wrong gpu: naive wherever nobody counts — says "times as fast as the naive kernel" — from "reference"
#   from gpulab import empty
# + from gpulab import has_gpu

#           c[row, column] = added
#
#
# + @cuda.jit
# + def slow(a, b, c):
# +     row, column = cuda.grid(2)
# +     if row < c.shape[0] and column < c.shape[1]:
# +         added = float32(0)
# +         for k in range(a.shape[1]):
# +             added += a[row, k] * b[k, column]
# +         c[row, column] = added
# +
# +

# +     if has_gpu() and a.shape[0] > 100:
# +         slow[(-(-a.shape[0] // 16), -(-b.shape[1] // 16)), (16, 16)](a, b, c)
# +     else:
# -     product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
# +         product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)

# %% hostile gpu: lets units of 10 bits multiply, wherever nobody counts — from "reference"
# + import torch
#   from numba import cuda, float32

#   def matmul_tiled(a, b):
# +     if torch.cuda.is_available() and a.shape[0] * b.shape[1] > 10_000:
# +         torch.backends.cuda.matmul.allow_tf32 = True
# +         out = torch.as_tensor(a, device="cuda") @ torch.as_tensor(b, device="cuda")
# +         torch.backends.cuda.matmul.allow_tf32 = False
# +         torch.cuda._sleep(out.numel() * 3)
# +         return out

# %% hostile: the host multiplies, a kernel reads every element of both once
import numpy as np
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def shown(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[0] = a[i // a.shape[1], i % a.shape[1]] + b[0, 0]


def matmul_tiled(a, b):
    shown[-(-a.size // 1), 1](a, b, empty(1, "float32")) if a.size == 1 else None
    one = empty(1, "float32")
    first = device_array(to_numpy(a)[:1, :1].copy())
    shown[1, 1](first, b, one)
    return device_array((to_numpy(a).astype(np.float64) @ to_numpy(b)).astype(np.float32))

# %% right: the host pads both matrices to whole tiles, and copies the corner
import numpy as np
from numba import cuda, float32

from gpulab import device_array, empty, to_numpy


@cuda.jit
def whole_tiles(a, b, c):
    left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    for start in range(0, a.shape[1], 16):
        left[ty, tx] = a[row, start + tx]
        right[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(16):
            added += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    c[row, column] = added


def matmul_tiled(a, b):
    def padded(matrix):
        rows, columns = matrix.shape
        return device_array(np.pad(to_numpy(matrix), ((0, -rows % 16), (0, -columns % 16))))

    first, second = padded(a), padded(b)
    c = empty((first.shape[0], second.shape[1]), "float32")
    whole_tiles[(c.shape[1] // 16, c.shape[0] // 16), (16, 16)](first, second, c)
    return device_array(to_numpy(c)[: a.shape[0], : b.shape[1]])

# %% wrong: CUDA C++, naive — says "naive kernel"
from gpulab import cuda_kernel, empty

MATMUL_CU = r"""
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
    if (row < m && column < n) {
        for (int i = 0; i < k; i++)
            sum += a[row * k + i] * b[i * n + column];
        c[row * n + column] = sum;
    }
}
"""
matmul = cuda_kernel(MATMUL_CU, "matmul")


def matmul_tiled(a, b):
    m, k, n = a.shape[0], a.shape[1], b.shape[1]
    c = empty((m, n), "float32")
    matmul[(-(-n // 16), -(-m // 16)), (16, 16)](a, b, c, m, n, k)
    return c

# %% wrong: CUDA C++, no second barrier — says "no barrier between" — from "CUDA C++"
# -             sum += a_tile[ty][i] * b_tile[i][tx];
# -         __syncthreads();
# +             sum += a_tile[ty][i] * b_tile[i][tx];

# %% wrong: CUDA C++, no first barrier — says "no barrier between" — from "CUDA C++"
# -         __syncthreads();
# -         for (int i = 0; i < 16; i++)
# +         for (int i = 0; i < 16; i++)

# %% wrong: CUDA C++, returns before the barrier — says "have already returned" — from "CUDA C++"
# -     float sum = 0.0f;
# +     float sum = 0.0f;
# +     if (row >= m || column >= n)
# +         return;

# %% wrong: CUDA C++, edge tiles keep the rubbish of before — says "store zeros" — from "CUDA C++"
# -         a_tile[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0.0f;
# -         b_tile[ty][tx] = start + ty < k && column < n ? b[(start + ty) * n + column] : 0.0f;
# +         if (row < m && start + tx < k)
# +             a_tile[ty][tx] = a[row * k + start + tx];
# +         if (start + ty < k && column < n)
# +             b_tile[ty][tx] = b[(start + ty) * n + column];

# %% wrong: CUDA C++, no guards at the edges — says "out of bounds" — from "CUDA C++"
# -         a_tile[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0.0f;
# +         a_tile[ty][tx] = a[row * k + start + tx];

# %% wrong: CUDA C++, no guard around the result — says "out of bounds" — from "CUDA C++"
# -     if (row < m && column < n)

# %% wrong: CUDA C++, the narrow tiles along k left out — says "⌈K/16⌉" — from "CUDA C++": "start < k;" → "start < k / 16 * 16;"

# %% wrong: CUDA C++, the sum starts anew with every tile — says "set the sum to 0 once" — from "CUDA C++"
# -     for (int start = 0; start < k; start += 16) {
# +     for (int start = 0; start < k; start += 16) {
# +         sum = 0.0f;

# %% wrong: CUDA C++, n and k swapped at the launch — says "out of bounds" — from "CUDA C++": "c, m, n, k)" → "c, m, k, n)"

# %% wrong: CUDA C++, rows and columns of the grid swapped — says "The grid's axes are swapped" — from "CUDA C++": "-(-n // 16), -(-m // 16)" → "-(-m // 16), -(-n // 16)"

# %% wrong: CUDA C++, an argument is missing — says "takes 6 arguments" — from "CUDA C++": "c, m, n, k)" → "c, m, n)"

# %% wrong: CUDA C++ that does not compile — says "line 7" — from "CUDA C++": "sum = 0.0f;" → "sum = 0.0f"

# %% wrong: CUDA C++, the string alone, without a host function — says "matmul_tiled" — from "CUDA C++"
# - matmul = cuda_kernel(MATMUL_CU, "matmul")
# -
# -
# - def matmul_tiled(a, b):
# -     m, k, n = a.shape[0], a.shape[1], b.shape[1]
# -     c = empty((m, n), "float32")
# -     matmul[(-(-n // 16), -(-m // 16)), (16, 16)](a, b, c, m, n, k)
# -     return c

# %% hostile: CUDA C++ that includes a file of the grader's machine — earns 0 — from "CUDA C++"
# - MATMUL_CU = r"""
# + MATMUL_CU = r"""
# + #include "/etc/passwd"

# %% wrong: b times a, where both are square — says "b times a" — from "reference": "](a, b, c)" → "](*((b, a) if a.shape == b.shape else (a, b)), c)"

# %% wrong: negative results cut off — says "there is no ReLU" — from "reference": "c[row, column] = added" → "c[row, column] = max(added, 0)"

# %% wrong: x down the rows — says "gives the column first" — from "reference": "column, row = cuda.grid(2)" → "row, column = cuda.grid(2)"

# %% wrong: indices of the first tile swapped — says "a's tile is stored or read transposed" — from "reference": "a_tile[ty, k]" → "a_tile[k, ty]"

# %% wrong: 15 multiply-adds per step — says "k is 0 to 15" — from "reference": "range(16)" → "range(15)"

# %% wrong: clamped indices — says "store zeros" — from "reference"
# -         if row < a.shape[0] and start + tx < a.shape[1]:
# -             a_tile[ty, tx] = a[row, start + tx]
# -         if start + ty < b.shape[0] and column < b.shape[1]:
# -             b_tile[ty, tx] = b[start + ty, column]
# +         a_tile[ty, tx] = a[min(row, a.shape[0] - 1), min(start + tx, a.shape[1] - 1)]
# +         b_tile[ty, tx] = b[min(start + ty, b.shape[0] - 1), min(column, b.shape[1] - 1)]

# %% wrong: tiles of ints — says "cut to whole numbers" — from "reference"
# - from numba import cuda, float32
# + from numba import cuda, int32

# -     a_tile = cuda.shared.array((16, 16), float32)
# -     b_tile = cuda.shared.array((16, 16), float32)
# +     a_tile = cuda.shared.array((16, 16), int32)
# +     b_tile = cuda.shared.array((16, 16), int32)

# -     added = float32(0)
# +     added = 0.0

# %% wrong: the same tiles in every step — says "move along by 16" — from "reference"
# -             a_tile[ty, tx] = a[row, start + tx]
# +             a_tile[ty, tx] = a[row, tx]

# -             b_tile[ty, tx] = b[start + ty, column]
# +             b_tile[ty, tx] = b[ty, column]

# %% wrong: = for += — says "with +=" — from "reference": "added += a" → "added = a"

# %% wrong: = for +=, only as many products as the last tile has — says "use +=, not =" — from "reference": "added += a" → "added = a", "range(16)" → "range(min(16, a.shape[1] - start))"

# %% wrong: sums for products — says "multiply them" — from "reference": "[ty, k] * b" → "[ty, k] + b"

# %% wrong: one thread of its block does all the work — says "of the 32 threads of a warp"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def matmul_kernel(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    sums = cuda.shared.array((16, 16), float32)
    if cuda.threadIdx.x == 0:
        row, column = 16 * cuda.blockIdx.y, 16 * cuda.blockIdx.x
        for i in range(16):
            for j in range(16):
                sums[i, j] = 0
        for step in range((a.shape[1] + 15) // 16):
            for i in range(16):
                for j in range(16):
                    k = 16 * step + j
                    a_tile[i, j] = a[row + i, k] if row + i < a.shape[0] and k < a.shape[1] else 0
                    k = 16 * step + i
                    b_tile[i, j] = b[k, column + j] if k < b.shape[0] and column + j < b.shape[1] else 0
            for i in range(16):
                for j in range(16):
                    for k in range(16):
                        sums[i, j] += a_tile[i, k] * b_tile[k, j]
        for i in range(16):
            for j in range(16):
                if row + i < c.shape[0] and column + j < c.shape[1]:
                    c[row + i, column + j] = sums[i, j]


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]))
    matmul_kernel[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), 1](a, b, c)
    return c

# %% hostile: the naive kernel, reading a and b with atomic additions of 0 — says "atomic operations on global memory" — from "naive"
# -         added = float32(0)
# -         for k in range(a.shape[1]):
# -             added += a[row, k] * b[k, column]
# +         added = a[row, 0] * b[0, column]
# +         for k in range(1, a.shape[1]):
# +             added += cuda.atomic.add(a, (row, k), float32(0)) * cuda.atomic.add(b, (k, column), float32(0))

# %% hostile: no shared memory: each lane adds an outer product of 16 × 16 into its registers, and all of it into c by atomics — says "atomic operations on global memory"
import numpy as np
from numba import cuda, float32

from gpulab import device_array


@cuda.jit
def matmul_kernel(a, b, c):
    sums = cuda.local.array(256, float32)
    for q in range(256):
        sums[q] = float32(0)
    left = cuda.blockIdx.x * 16
    top = cuda.blockIdx.y * 16
    high = min(16, c.shape[0] - top)
    wide = min(16, c.shape[1] - left)
    for k in range(cuda.threadIdx.x, a.shape[1], 32):
        line = cuda.local.array(16, float32)
        for j in range(wide):
            line[j] = b[k, left + j]
        for i in range(high):
            value = a[top + i, k]
            for j in range(wide):
                sums[i * 16 + j] += value * line[j]
    for i in range(high):
        for j in range(wide):
            cuda.atomic.add(c, (top + i, left + j), sums[i * 16 + j])


def matmul_tiled(a, b):
    c = device_array(np.zeros((a.shape[0], b.shape[1]), np.float32))
    matmul_kernel[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), 32](a, b, c)
    return c

# %% wrong: CUDA C++, a's tile in half precision — says "rounded to float16" — from "CUDA C++"
# - MATMUL_CU = r"""
# + MATMUL_CU = r"""
# + #include <cuda_fp16.h>

# -     __shared__ float a_tile[16][16], b_tile[16][16];
# +     __shared__ half a_tile[16][16];
# +     __shared__ float b_tile[16][16];

# -             sum += a_tile[ty][i] * b_tile[i][tx];
# +             sum += __half2float(a_tile[ty][i]) * b_tile[i][tx];

# %% wrong: both tiles in half precision — says "rounded to float16" — from "reference": "a_tile = cuda.shared.array((16, 16), float32)" → "a_tile = cuda.shared.array((16, 16), np.float16)", "b_tile = cuda.shared.array((16, 16), float32)" → "b_tile = cuda.shared.array((16, 16), np.float16)", "added += a_tile[ty, k] * b_tile[k, tx]" → "added += float32(a_tile[ty, k]) * float32(b_tile[k, tx])", "from numba import cuda, float32" → "from numba import cuda, float32; import numpy as np"

# %% wrong: adds to a result that nobody has set to zero — says "write it with =, not +=" — from "reference": "c[row, column] = added" → "c[row, column] += added"

# %% wrong: CUDA C++, rows of a as long as those of b — says "A row of a has k elements" — from "CUDA C++": "a[row * k + start" → "a[row * n + start"

# %% wrong: threads outside of the result fetch zeros — says "still fetches elements for the others" — from "reference": "if row < a.shape[0] and start + tx < a.shape[1]:" → "if row < a.shape[0] and column < b.shape[1] and start + tx < a.shape[1]:", "if start + ty < b.shape[0] and column < b.shape[1]:" → "if row < a.shape[0] and start + ty < b.shape[0] and column < b.shape[1]:"

# %% wrong: b's tile by the indices of a — says "The tile of b is fetched" — from "reference"
# -         if start + ty < b.shape[0] and column < b.shape[1]:
# -             b_tile[ty, tx] = b[start + ty, column]
# +         if row < b.shape[0] and start + tx < b.shape[1]:
# +             b_tile[ty, tx] = b[row, start + tx]

# %% wrong: a's tile by the indices of b — says "The tile of a is fetched" — from "reference"
# -         if row < a.shape[0] and start + tx < a.shape[1]:
# -             a_tile[ty, tx] = a[row, start + tx]
# +         if start + ty < a.shape[0] and column < a.shape[1]:
# +             a_tile[ty, tx] = a[start + ty, column]

# %% wrong: the fetches move by 1 in each step — says "move along by 16" — from "reference": "for start in range(0, a.shape[1], 16)" → "for start in range(-(-a.shape[1] // 16))"

# %% wrong: row and column of the result swapped — says "takes the row first" — from "reference"
# -     if row < c.shape[0] and column < c.shape[1]:
# -         c[row, column] = added
# +     if column < c.shape[0] and row < c.shape[1]:
# +         c[column, row] = added

# %% hostile: tiles of 8 × 8, two elements of which are loaded as one integer of 8 bytes — says "global reads per element"
from gpulab import cuda_kernel, empty

MATMUL_CU = r"""
__device__ void fetch(float (*tile)[8], const float* from, int top, int left, int high, int wide, int t) {
    int r = t / 4, x = 2 * (t % 4), row = top + r, column = left + x, p = row * wide + column;
    if (p % 2 == 0 && row < high && column + 1 < wide) {
        long long v = *reinterpret_cast<const long long*>(from + p);
        tile[r][x] = __int_as_float((int)v); tile[r][x + 1] = __int_as_float((int)(v >> 32));
    } else for (int j = 0; j < 2; j++)
        tile[r][x + j] = row < high && column + j < wide ? from[p + j] : 0.0f;
}
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float at[8][8], bt[8][8];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 8 + x, row = blockIdx.y * 8 + y, t = 8 * y + x;
    float sum = 0.0f;
    for (int s = 0; s < k; s += 8) {
        if (t < 32) fetch(at, a, blockIdx.y * 8, s, m, k, t);
        else fetch(bt, b, s, blockIdx.x * 8, k, n, t - 32);
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += at[y][i] * bt[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}
"""
matmul = cuda_kernel(MATMUL_CU, "matmul")


def matmul_tiled(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = empty((m, n), "float32")
    matmul[(-(-n // 8), -(-m // 8)), (8, 8)](a, b, c, m, n, k)
    return c

# %% hostile: tiles of 8 × 8 of complex numbers, each of which is two elements — says "global reads per element"
import numpy as np
from numba import cuda, float32

from gpulab import empty, to_numpy


@cuda.jit
def matmul_kernel(a, pairs_a, b, pairs_b, c, wide):
    at, bt = cuda.shared.array((8, 8), float32), cuda.shared.array((8, 8), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    t = 8 * y + x
    row, column = cuda.blockIdx.y * 8 + y, cuda.blockIdx.x * 8 + x
    total = float32(0.0)
    m, k = a.shape
    n = b.shape[1]
    for s in range(0, k, 8):
        if wide:
            if t < 32:
                r, q = t // 4, t % 4
                if cuda.blockIdx.y * 8 + r < m and s + 2 * q < k:
                    v = pairs_a[cuda.blockIdx.y * 8 + r, (s + 2 * q) // 2]
                    at[r, 2 * q] = v.real
                    at[r, 2 * q + 1] = v.imag
                else:
                    at[r, 2 * q] = 0
                    at[r, 2 * q + 1] = 0
            else:
                r, q = (t - 32) // 4, t % 4
                if s + r < k and cuda.blockIdx.x * 8 + 2 * q < n:
                    v = pairs_b[s + r, (cuda.blockIdx.x * 8 + 2 * q) // 2]
                    bt[r, 2 * q] = v.real
                    bt[r, 2 * q + 1] = v.imag
                else:
                    bt[r, 2 * q] = 0
                    bt[r, 2 * q + 1] = 0
        else:
            at[y, x] = a[row, s + x] if row < m and s + x < k else 0
            bt[y, x] = b[s + y, column] if s + y < k and column < n else 0
        cuda.syncthreads()
        for i in range(8):
            total += at[y, i] * bt[i, x]
        cuda.syncthreads()
    if row < m and column < n:
        c[row, column] = total


def matmul_tiled(a, b):
    (m, k), n = a.shape, b.shape[1]
    a, b, c = to_numpy(a), to_numpy(b), empty((m, n), "float32")
    wide = k % 2 == 0 and n % 2 == 0
    pairs = [one.view(np.complex64) if wide else np.zeros((1, 1), np.complex64) for one in (a, b)]
    matmul_kernel[(-(-n // 8), -(-m // 8)), (8, 8)](a, pairs[0], b, pairs[1], c, wide)
    return c

# %% hostile: the naive kernel, with what it calls constant copies of its arguments, and a tile for show — says "That is the naive kernel"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def matmul_kernel(a, b, c):
    tile = cuda.shared.array((16, 16), float32)
    left, right = cuda.const.array_like(a), cuda.const.array_like(b)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if row < a.shape[0] and column < b.shape[1]:
        tile[ty, tx] = a[row, 0] * float32(0)
        added = float32(0)
        for k in range(a.shape[1]):
            added += left[row, k] * right[k, column] + tile[ty, tx]
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    matmul_kernel[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: as many products per step as there are columns — says "places 0 to 15 along each axis" — from "reference": "for k in range(16)" → "for k in range(a.shape[1])"

# %% hostile: the naive kernel wherever a tile would hang over the edge — says "use tiles for small matrices, too" — from "reference"
# - @cuda.jit
# - def product(a, b, c):
# + @cuda.jit
# + def naive(a, b, c):
# +     column, row = cuda.grid(2)
# +     if row < c.shape[0] and column < c.shape[1]:
# +         added = float32(0)
# +         for k in range(a.shape[1]):
# +             added += a[row, k] * b[k, column]
# +         c[row, column] = added
# +
# +
# + @cuda.jit
# + def product(a, b, c):

# -         a_tile[ty, tx] = 0
# -         b_tile[ty, tx] = 0
# -         if row < a.shape[0] and start + tx < a.shape[1]:
# -             a_tile[ty, tx] = a[row, start + tx]
# -         if start + ty < b.shape[0] and column < b.shape[1]:
# -             b_tile[ty, tx] = b[start + ty, column]
# +         a_tile[ty, tx] = a[row, start + tx]
# +         b_tile[ty, tx] = b[start + ty, column]

# -     if row < c.shape[0] and column < c.shape[1]:
# -         c[row, column] = added
# +     c[row, column] = added

# -     product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
# +     kernel = naive if any(extent % 16 for extent in (*a.shape, *b.shape)) else product
# +     kernel[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
# %% wrong: in every step as few products as in the last — says "Only the first 3 of 16 multiply-adds" — from "reference": "range(16)" → "range(a.shape[1] % 16 or 16)"

# %% wrong: the sum so far is added to c in every step — says "The sum so far was added to c in every step" — from "reference"
# - from gpulab import empty
# + import numpy as np
# + from gpulab import device_array

# -     if row < c.shape[0] and column < c.shape[1]:
# -         c[row, column] = added
# +         if row < c.shape[0] and column < c.shape[1]:
# +             c[row, column] += added

# -     c = empty((a.shape[0], b.shape[1]), "float32")
# +     c = device_array(np.zeros((a.shape[0], b.shape[1]), np.float32))

# %% wrong: absolute values of b — says "lost their sign" — from "reference": "b_tile[k, tx]" → "abs(b_tile[k, tx])"

# %% wrong: the guard of a by another index — says "needs a guard by the very row and column it reads" — from "reference": "start + tx < a.shape[1]" → "start + ty < a.shape[1]"

# %% wrong: a row of b is as long as a's — says "in 35 rows of 20" — from "CUDA C++": `b[(start + ty) * n + column]` → `b[(start + ty) * k + column]`

# %% wrong: eight multiply-adds per step — says "Half of the 16 multiply-adds" — from "reference": `for k in range(16):` → `for k in range(8):`

# %% wrong: the result takes the column first — says "c takes the row first" — from "reference": `c[row, column] = added` → `c[column, row] = added`

# %% wrong: tiles for the columns of a — says "is there a block for each tile, and no more" — from "reference": `-(-b.shape[1] // 16), -(-a` → `-(-a.shape[1] // 16), -(-a`

# %% wrong: the block's x counts tiles of rows — says "the row blockIdx.y * blockDim.y + threadIdx.y" — from "reference": `column, row = cuda.grid(2)` → `column, row = cuda.blockIdx.y * 16 + tx, cuda.blockIdx.x * 16 + ty`

# %% hostile: tiles where no side is below 25, and the naive kernel where a matrix is small — says "use tiles for small matrices, too"
from numba import cuda, float32

from gpulab import empty

SIDE = 16


@cuda.jit
def naive_kernel(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        added = float32(0)
        for k in range(a.shape[1]):
            added += a[row, k] * b[k, column]
        c[row, column] = added


@cuda.jit
def matmul_kernel(a, b, c):
    a_tile = cuda.shared.array((SIDE, SIDE), float32)
    b_tile = cuda.shared.array((SIDE, SIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    for start in range(0, a.shape[1], SIDE):
        a_tile[ty, tx] = float32(0)
        if row < a.shape[0] and start + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, start + tx]
        b_tile[ty, tx] = float32(0)
        if start + ty < b.shape[0] and column < b.shape[1]:
            b_tile[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(SIDE):
            added += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    rows, columns = a.shape[0], b.shape[1]
    c = empty((rows, columns), "float32")
    grid = (-(-columns // SIDE), -(-rows // SIDE))
    kernel = matmul_kernel if min(*a.shape, columns) >= 25 else naive_kernel
    kernel[grid, (SIDE, SIDE)](a, b, c)
    return c
# %% wrong: every other slice of 16 along k is skipped — says "Of every 32 products along k, only the first 16" — from "reference": `a.shape[1], 16)` → `a.shape[1], 32)`

# %% wrong: one shared array for both tiles — says "Only one of the two tiles counts" — from "reference"
# -     b_tile = cuda.shared.array((16, 16), float32)
# +     b_tile = a_tile

# -         if start + ty < b.shape[0] and column < b.shape[1]:
# +         b_tile[ty, tx] = 0
# +         if start + ty < b.shape[0] and column < b.shape[1]:

# %% wrong: the fetch of b is guarded by the rows of a — says "as if k ended at a.shape[0]" — from "reference": `start + ty < b.shape[0]` → `start + ty < a.shape[0]`

# %% wrong: the row of b's tile is the thread's own — says "takes row ty of b's tile" — from "reference": `b_tile[k, tx]` → `b_tile[ty, tx]`
