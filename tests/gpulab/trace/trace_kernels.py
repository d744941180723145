"""Right kernels whose traffic was worked out by hand. The tests say what they are for."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32, float64, int32

TILE = 32
PADDED = TILE + 1
T = 16


@cuda.jit
def copy(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@cuda.jit
def strided(x, out, step):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * step]


@cuda.jit
def broadcast(x, out):
    i = cuda.grid(1)
    out[i] = x[0]


@cuda.jit
def saxpy(alpha, x, y, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


@cuda.jit
def add_bias(matrix, bias, out):
    column, row = cuda.grid(2)
    if row < matrix.shape[0] and column < matrix.shape[1]:
        out[row, column] = matrix[row, column] + bias[column]


@cuda.jit
def scale_rows_walking(matrix, factors, out):
    row = cuda.grid(1)
    if row < matrix.shape[0]:
        for column in range(matrix.shape[1]):
            out[row, column] = matrix[row, column] * factors[row]


@cuda.jit
def transpose_naive(a, b):
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        b[x, y] = a[y, x]


@cuda.jit
def transpose_unpadded(a, b):
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * TILE + tx, cuda.blockIdx.x * TILE + ty
    if y < b.shape[0] and x < b.shape[1]:
        b[y, x] = tile[tx, ty]


@cuda.jit
def transpose_padded(a, b):
    tile = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * TILE + tx, cuda.blockIdx.x * TILE + ty
    if y < b.shape[0] and x < b.shape[1]:
        b[y, x] = tile[tx, ty]


@cuda.jit
def block_reverse(x, out):
    tile = cuda.shared.array(128, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    length = min(128, x.size - cuda.blockIdx.x * 128)
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if i < x.size:
        out[i] = tile[length - 1 - t]


@cuda.jit
def moving_average(x, radius, out):
    tile = cuda.shared.array(128 + 2 * 128, float32)
    first = cuda.blockIdx.x * 128 - radius
    for t in range(cuda.threadIdx.x, 128 + 2 * radius, 128):
        tile[t] = x[min(max(first + t, 0), x.size - 1)]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        total = float32(0)
        for step in range(2 * radius + 1):
            total += tile[cuda.threadIdx.x + step]
        out[i] = total / (2 * radius + 1)


@cuda.jit
def tree_total(x, out):
    part = cuda.shared.array(128, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def matmul_naive(a, b, c):
    x, y = cuda.grid(2)
    if y < c.shape[0] and x < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[y, k] * b[k, x]
        c[y, x] = total


@cuda.jit
def matmul_tiled(a, b, c):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], T):
        inside = y < a.shape[0] and start + tx < a.shape[1]
        tile_a[ty, tx] = a[y, start + tx] if inside else 0.0
        inside = start + ty < b.shape[0] and x < b.shape[1]
        tile_b[ty, tx] = b[start + ty, x] if inside else 0.0
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@cuda.jit
def histogram(x, out):
    private = cuda.shared.array(64, int32)
    bins = out.size
    for b in range(cuda.threadIdx.x, bins, cuda.blockDim.x):
        private[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(private, x[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins, cuda.blockDim.x):
        cuda.atomic.add(out, b, private[b])


@cuda.jit
def histogram_global(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)


@cuda.jit
def warp_total(x, out):
    i = cuda.grid(1)
    value = x[i]
    delta = 16
    while delta > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, delta)
        delta //= 2
    if cuda.laneid == 0:
        out[i // 32] = value


@cuda.jit
def warp_total_shared(x, out):
    part = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncwarp()
    half = 16
    while half > 0:
        value = part[t + half] if t < half else float32(0)
        cuda.syncwarp()
        if t < half:
            part[t] += value
        cuda.syncwarp()
        half //= 2
    if t == 0:
        out[0] = part[0]


@cuda.jit
def prefix_sum(x, out):
    """Two buffers, so that one barrier per step is enough."""
    sums = cuda.shared.array((2, 64), float32)
    t = cuda.threadIdx.x
    sums[0, t] = x[t]
    cuda.syncthreads()
    step, now = 1, 0
    while step < 64:
        sums[1 - now, t] = sums[now, t] + (sums[now, t - step] if t >= step else float32(0))
        now = 1 - now
        step *= 2
        cuda.syncthreads()
    out[t] = sums[now, t]


@cuda.jit
def growing(out):
    """Lane 1 starts to store after a barrier at which lane 0 has stored already."""
    i = cuda.threadIdx.x
    active = 1
    while active <= 32:
        if i < active:
            out[32 * active + i] = active
        cuda.syncthreads()
        active *= 2


@cuda.jit
def shared_stride(out, step):
    words = cuda.shared.array(1024, float32)
    i = cuda.threadIdx.x
    words[i * step % 1024] = i
    cuda.syncthreads()
    out[i] = words[i * step % 1024]


@cuda.jit
def shared_doubles(x, out, step):
    words = cuda.shared.array(64, float64)
    i = cuda.threadIdx.x
    words[i] = x[i]
    cuda.syncthreads()
    out[i] = words[i * step % 64]


# ------------------------------------------------------------------------------------------------- what else there is


@cuda.jit(device=True)
def square(value):
    return value * value


@cuda.jit(device=True)
def store_square(out, i, value):
    out[i] = square(value)


@cuda.jit
def uses_helpers(x, out):
    i = cuda.grid(1)
    store_square(out, i, math.sqrt(x[i]))


TABLE = np.array([3.0, 1.0, 2.0], dtype=np.float32)


@cuda.jit
def uses_constants(out):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    out[i] = table[i % 3] + TABLE[i % 3]


@cuda.jit
def uses_constants_of_arguments(x, out):
    same = cuda.const.array_like(x)
    i = cuda.grid(1)
    out[i] = same[i] + cuda.const.array_like(out[:1])[0]


@cuda.jit
def dynamic_shared(x, out):
    words = cuda.shared.array(0, float32)
    low, high = words[:64], words[64:]
    t = cuda.threadIdx.x
    low[t] = x[t]
    high[t] = 2 * x[t]
    cuda.syncthreads()
    out[t] = low[63 - t] + high[63 - t]


@cuda.jit
def local_history(out):
    seen = cuda.local.array(4, int32)
    for k in range(4):
        seen[k] = k * cuda.threadIdx.x
    total = 0
    for k in range(4):
        total += seen[k]
    out[cuda.threadIdx.x] = total
