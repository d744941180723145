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

# %% right: only as many multiply-adds as the last tile has
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
        if row < a.shape[0] and start + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and column < b.shape[1]:
            b_tile[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        for k in range(min(16, a.shape[1] - start)):
            added += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% right: two pairs of tiles in turn, one barrier a step
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((2, 16, 16), float32)
    b_tile = cuda.shared.array((2, 16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    turn = 0
    for start in range(0, a.shape[1], 16):
        a_tile[turn, ty, tx] = a[row, start + tx] if row < a.shape[0] and start + tx < a.shape[1] else float32(0)
        b_tile[turn, ty, tx] = b[start + ty, column] if start + ty < b.shape[0] and column < b.shape[1] else float32(0)
        cuda.syncthreads()
        for k in range(16):
            added += a_tile[turn, ty, k] * b_tile[turn, k, tx]
        turn = 1 - turn
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
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

# %% wrong: only a goes through shared memory — says "one element of each tile"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    for start in range(0, a.shape[1], 16):
        a_tile[ty, tx] = 0
        if row < a.shape[0] and start + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, start + tx]
        cuda.syncthreads()
        for k in range(16):
            if start + k < b.shape[0] and column < b.shape[1]:
                added += a_tile[ty, k] * b[start + k, column]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: adds into c after every step — says "write its result once"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = 0
    for start in range(0, a.shape[1], 16):
        a_tile[ty, tx] = 0
        b_tile[ty, tx] = 0
        if row < a.shape[0] and start + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, start + tx]
        if start + ty < b.shape[0] and column < b.shape[1]:
            b_tile[ty, tx] = b[start + ty, column]
        cuda.syncthreads()
        added = float32(0)
        for k in range(16):
            added += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
        if row < c.shape[0] and column < c.shape[1]:
            c[row, column] += added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: no second barrier — says "no barrier between"
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
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: no first barrier — says "no barrier between"
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
        for k in range(16):
            added += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: no barriers at all — says "barrier"
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
        for k in range(16):
            added += a_tile[ty, k] * b_tile[k, tx]
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: barriers inside the guard — says "barrier"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        added = float32(0)
        for start in range(0, a.shape[1], 16):
            a_tile[ty, tx] = a[row, start + tx] if start + tx < a.shape[1] else float32(0)
            b_tile[ty, tx] = b[start + ty, column] if start + ty < b.shape[0] else float32(0)
            cuda.syncthreads()
            for k in range(16):
                added += a_tile[ty, k] * b_tile[k, tx]
            cuda.syncthreads()
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: returns before the barrier — says "barrier"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row >= c.shape[0] or column >= c.shape[1]:
        return
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

# %% wrong: edge tiles keep the rubbish of before — says "store zeros"
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

# %% wrong: edge tiles keep the last step — says "expected"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    a_tile[ty, tx] = 0
    b_tile[ty, tx] = 0
    cuda.syncthreads()
    for start in range(0, a.shape[1], 16):
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

# %% wrong: the narrow tiles along k left out — says "⌈K/16⌉"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    for start in range(0, a.shape[1] // 16 * 16, 16):
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

# %% wrong: no guards at the edges — says "out of bounds"
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
        if True:
            a_tile[ty, tx] = a[row, start + tx]
        if True:
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

# %% wrong: no guard around the result — says "c["
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
    if True:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: grid rounded down — says "expected"
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
    product[(max(b.shape[1] // 16, 1), max(a.shape[0] // 16, 1)), (16, 16)](a, b, c)
    return c

# %% wrong: rows and columns of the grid swapped — says "expected"
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
    product[(-(-a.shape[0] // 16), -(-b.shape[1] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: the sum starts anew with every tile — says "set the sum to 0 once"
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
        added = float32(0)
        for k in range(16):
            added += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: only the first pair of tiles — says "first pair"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    for start in range(0, 16, 16):
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

# %% wrong: tile one short — says "tile["
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((15, 16), float32)
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

# %% wrong: shared memory over the limit — says "shared memory"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((96, 96), float32)
    b_tile = cuda.shared.array((96, 96), float32)
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

# %% wrong: a whole row in shared memory — says "a_tile["
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, a.shape[1]), float32)
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

# %% wrong: 64 × 64 threads — says "1,024"
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
    product[(1, 1), (64, 64)](a, b, c)
    return c

# %% wrong: result in float64 — says "float32"
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
    c = empty((a.shape[0], b.shape[1]), "float64")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: element by element — says "expected"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1] and column < a.shape[1] and row < b.shape[0]:
        c[row, column] = a[row, column] * b[row, column]


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: b transposed by a slip of indices — says "expected"
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
            added += a_tile[ty, k] * b_tile[tx, k]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% wrong: computed by torch — says "No kernel"
import torch

from gpulab import device_array, to_numpy


def matmul_tiled(a, b):
    return device_array(torch.from_numpy(to_numpy(a)) @ torch.from_numpy(to_numpy(b)))

# %% wrong: returns nothing — says "None"
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

# %% wrong: does not end — says "end"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def product(a, b, c):
    a_tile = cuda.shared.array((16, 16), float32)
    b_tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    added = float32(0)
    start = 0
    while start < a.shape[1]:
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

# %% wrong gpu: naive wherever nobody counts — says "times as fast as the naive kernel"
from numba import cuda, float32

from gpulab import empty
from gpulab.device import has_gpu


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


@cuda.jit
def slow(a, b, c):
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        added = float32(0)
        for k in range(a.shape[1]):
            added += a[row, k] * b[k, column]
        c[row, column] = added


def matmul_tiled(a, b):
    c = empty((a.shape[0], b.shape[1]), "float32")
    if has_gpu() and a.shape[0] > 100:
        slow[(-(-a.shape[0] // 16), -(-b.shape[1] // 16)), (16, 16)](a, b, c)
    else:
        product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c

# %% hostile gpu: lets units of 10 bits multiply, wherever nobody counts
import torch
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
    if torch.cuda.is_available() and a.shape[0] * b.shape[1] > 10_000:
        torch.backends.cuda.matmul.allow_tf32 = True
        out = torch.as_tensor(a, device="cuda") @ torch.as_tensor(b, device="cuda")
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.cuda._sleep(out.numel() * 3)
        return out
    c = empty((a.shape[0], b.shape[1]), "float32")
    product[(-(-b.shape[1] // 16), -(-a.shape[0] // 16)), (16, 16)](a, b, c)
    return c
