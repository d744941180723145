"""Kernels with one race each. The tests say between which lines."""

from __future__ import annotations

from numba import cuda, float32, int32
from trace_kernels import T


@cuda.jit
def reverse_without_barrier(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    out[t] = tile[127 - t]


@cuda.jit
def tree_without_barrier(x, out):
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        half //= 2
    if t == 0:
        out[0] = part[0]


@cuda.jit
def total_without_atomic(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0] += x[i]


@cuda.jit
def matmul_one_barrier(a, b, c):
    tile_a = cuda.shared.array((T, T), float32)
    tile_b = cuda.shared.array((T, T), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for start in range(0, a.shape[1], T):
        tile_a[ty, tx] = a[y, start + tx]
        tile_b[ty, tx] = b[start + ty, x]
        cuda.syncthreads()
        for k in range(T):
            total += tile_a[ty, k] * tile_b[k, tx]
    c[y, x] = total


@cuda.jit
def shift_in_place(x):
    i = cuda.grid(1)
    if i + 1 < x.size:
        x[i] = x[i + 1]


@cuda.jit
def last_block_wins(out):
    out[cuda.threadIdx.x] = cuda.blockIdx.x


@cuda.jit
def histogram_no_barrier(x, out):
    private = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    private[t] = 0
    cuda.atomic.add(private, x[t], 1)
    cuda.syncthreads()
    out[t] = private[t]


@cuda.jit
def prefix_sum_one_buffer(x, out):
    sums = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    sums[t] = x[t]
    cuda.syncthreads()
    step = 1
    while step < 64:
        if t >= step:
            sums[t] += sums[t - step]
        cuda.syncthreads()
        step *= 2
    out[t] = sums[t]


@cuda.jit
def warp_total_without_syncwarp(x, out):
    part = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    half = 16
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        half //= 2
    if t == 0:
        out[0] = part[0]


@cuda.jit
def shuffle_is_no_fence(x, out):
    """A shuffle brings a warp together and does not order its memory."""
    part = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.shfl_sync(0xFFFFFFFF, t, 0)
    out[t] = part[31 - t]
