# %% right: reference
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def turn(x, out):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
    for step in range(0, 32, 8):
        if row + step < x.shape[0] and column < x.shape[1]:
            tile[ty + step, tx] = x[row + step, column]
    cuda.syncthreads()
    column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    for step in range(0, 32, 8):
        if row + step < out.shape[0] and column < out.shape[1]:
            out[row + step, column] = tile[tx, ty + step]


def transpose_tiled(x):
    rows, columns = x.shape
    out = empty((columns, rows), "float32")
    turn[(-(-columns // 32), -(-rows // 32)), (32, 8)](x, out)
    return out

# %% right: one thread an element, turned while storing into the tile — from "reference"
# +     column, row = cuda.grid(2)
# -     column, row = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
# -     for step in range(0, 32, 8):
# -         if row + step < x.shape[0] and column < x.shape[1]:
# +     if row < x.shape[0] and column < x.shape[1]:
# -             tile[ty + step, tx] = x[row + step, column]
# +         tile[tx, ty] = x[row, column]

# -     for step in range(0, 32, 8):
# -         if row + step < out.shape[0] and column < out.shape[1]:
# +     if row < out.shape[0] and column < out.shape[1]:
# -             out[row + step, column] = tile[tx, ty + step]
# +         out[row, column] = tile[ty, tx]

# -     turn[(-(-columns // 32), -(-rows // 32)), (32, 8)](x, out)
# +     turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)

# %% right: no padding, columns of the tile swapped by exclusive or
import numpy as np
from numba import cuda, float32

from gpulab import empty

T = 32


@cuda.jit
def swizzled(source, target):
    tile = cuda.shared.array(1024, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    bx, by = cuda.blockIdx.x, cuda.blockIdx.y
    for j in range(ty, T, cuda.blockDim.y):
        if by * T + j < source.shape[0] and bx * T + tx < source.shape[1]:
            tile[j * T + (tx ^ j)] = source[by * T + j, bx * T + tx]
    cuda.syncthreads()
    for j in range(ty, T, cuda.blockDim.y):
        if bx * T + j < source.shape[1] and by * T + tx < source.shape[0]:
            target[bx * T + j, by * T + tx] = tile[tx * T + (j ^ tx)]


def transpose_tiled(x):
    rows, columns = tuple(x.shape)
    out = empty((columns, rows), np.float32)
    swizzled[((columns + 31) // 32, (rows + 31) // 32), (32, 4)](x, out)
    return out

# %% right: tiles dealt out in a loop, dynamic shared memory
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def turn(x, out, across, tiles):
    tile = cuda.shared.array(0, float32)
    lane, line = cuda.threadIdx.x, cuda.threadIdx.y
    for number in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
        top, left = number // across * 32, number % across * 32
        if top + line < x.shape[0] and left + lane < x.shape[1]:
            tile[line * 33 + lane] = x[top + line, left + lane]
        cuda.syncthreads()
        if left + line < out.shape[0] and top + lane < out.shape[1]:
            out[left + line, top + lane] = tile[lane * 33 + line]
        cuda.syncthreads()


def transpose_tiled(x):
    down, across = (-(-extent // 32) for extent in x.shape)
    out = empty((x.shape[1], x.shape[0]), "float32")
    turn[-(-down * across // 4), (32, 32), 0, 4 * 32 * 33](x, out, across, down * across)
    return out

# %% right: CUDA C++
from gpulab import cuda_kernel, empty

TURN_CU = r"""
extern "C" __global__ void turn(const float* x, float* out, int rows, int columns) {
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int step = 0; step < 32; step += 8)
        if (row + step < rows && column < columns)
            tile[threadIdx.y + step][threadIdx.x] = x[(size_t)(row + step) * columns + column];
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
    for (int step = 0; step < 32; step += 8)
        if (row + step < columns && column < rows)
            out[(size_t)(row + step) * rows + column] = tile[threadIdx.x][threadIdx.y + step];
}
"""
turn = cuda_kernel(TURN_CU, "turn")


def transpose_tiled(x):
    rows, columns = x.shape
    out = empty((columns, rows), "float32")
    turn[(-(-columns // 32), -(-rows // 32)), (32, 8)](x, out, rows, columns)
    return out

# %% wrong: CUDA C++ without padding — says "conflict" — from "CUDA C++": "[33]" → "[32]"

# %% wrong: CUDA C++ without a barrier — says "no barrier between" — from "CUDA C++"
# -     __syncthreads();

# %% wrong: naive, reads along rows — says "the writes take"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def turn(x, out):
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        out[column, row] = x[row, column]


def transpose_tiled(x):
    rows, columns = x.shape
    out = empty((columns, rows), "float32")
    turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)
    return out

# %% wrong: naive, writes along rows — says "the reads take" — from "naive, reads along rows"
# -     if row < x.shape[0] and column < x.shape[1]:
# +     if row < out.shape[0] and column < out.shape[1]:
# -         out[column, row] = x[row, column]
# +         out[row, column] = x[column, row]

# -     turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)
# +     turn[(-(-rows // 32), -(-columns // 32)), (32, 32)](x, out)

# %% wrong: unpadded tile — says "pad the tile"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def turn(x, out):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        tile[ty, tx] = x[row, column]
    cuda.syncthreads()
    column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = tile[tx, ty]


def transpose_tiled(x):
    rows, columns = x.shape
    out = empty((columns, rows), "float32")
    turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)
    return out

# %% wrong: padded by two — says "bank conflicts of degree 2" — from "unpadded tile": ", 32)," → ", 34),"

# %% wrong: padded in the wrong dimension — says "bank conflicts" — from "unpadded tile": "((32," → "((33,"

# %% wrong: tiles of 16 × 16, padded — says "use tiles of 32 × 32" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((16, 17), float32)

# -     column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
# +     column, row = cuda.blockIdx.y * 16 + tx, cuda.blockIdx.x * 16 + ty

# -     turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)
# +     turn[(-(-columns // 16), -(-rows // 16)), (16, 16)](x, out)

# %% wrong: reads through the tile, and writes down columns — says "There is a tile, but a warp" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
# -     if row < out.shape[0] and column < out.shape[1]:
# +     if row < x.shape[0] and column < x.shape[1]:
# -         out[row, column] = tile[tx, ty]
# +         out[column, row] = tile[ty, tx]

# %% wrong: the block stays where it was — says "stays where it was" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
# +     column, row = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty

# %% wrong: tiles move and do not turn — says "not transposed" — from "unpadded tile": ", 32)," → ", 33),", "[tx, ty" → "[ty, tx"

# %% wrong: a copy — says "itself, not transposed" — from "naive, reads along rows": "[column, row" → "[row, column", "columns, rows" → "rows, columns"

# %% wrong: the elements in the old order, in the new shape — says "itself, not transposed" — from "naive, reads along rows"
# -         out[column, row] = x[row, column]
# +         place = row * x.shape[1] + column
# +         out[place // out.shape[1], place % out.shape[1]] = x[row, column]

# %% wrong: result in the shape of the input — says "shape" — from "unpadded tile": ", 32)," → ", 33),", "columns, rows" → "rows, columns"

# %% wrong: x along rows in the grid — says "the grid is swapped" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)
# +     turn[(-(-rows // 32), -(-columns // 32)), (32, 32)](x, out)

# %% wrong: grid rounded down — says "round the grid up" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)
# +     turn[(max(columns // 32, 1), max(rows // 32, 1)), (32, 32)](x, out)

# %% wrong: no guard while reading — says "x[" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     if row < x.shape[0] and column < x.shape[1]:
# +     if True:

# %% wrong: no guard while writing — says "Guard the write by the shape of out" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     if row < out.shape[0] and column < out.shape[1]:
# +     if True:

# %% wrong: the guard of x for writing as well — says "by the shape of out alone" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     if row < out.shape[0] and column < out.shape[1]:
# +     if row < x.shape[0] and column < x.shape[1] and row < out.shape[0] and column < out.shape[1]:

# %% wrong: no barrier — says "no barrier between" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     cuda.syncthreads()

# %% wrong: barrier inside the guard — says "barrier" — from "unpadded tile": ", 32)," → ", 33),", "    cuda" → "        cuda"

# %% wrong: threads outside return before the barrier — says "barrier" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     if row < x.shape[0] and column < x.shape[1]:
# +     if row >= x.shape[0] or column >= x.shape[1]:
# +         return
# -         tile[ty, tx] = x[row, column]
# +     tile[ty, tx] = x[row, column]

# %% wrong: shared tile one short — says "tile[" — from "unpadded tile": "((32, 32)" → "((31, 33)"

# %% wrong: shared memory over the limit — says "shared memory" — from "unpadded tile": "((32, 32)" → "((128, 129)"

# %% wrong: TILE + 1 as an extent — says "shape of a shared" — from "unpadded tile"
#   from gpulab import empty
#
# + TILE = 32
# +

# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((TILE, TILE + 1), float32)

# %% wrong: 64 × 64 threads — says "1,024" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)
# +     turn[(-(-columns // 64), -(-rows // 64)), (64, 64)](x, out)

# %% wrong: result in float64 — says "float32" — from "unpadded tile": ", 32)," → ", 33),", `"float32` → `"float64`

# %% wrong: only a view of the other strides — says "a view such as out.T"
def transpose_tiled(x):
    return x.T

# %% wrong: transposed on the host — says "no kernel wrote"
from gpulab import device_array, to_numpy


def transpose_tiled(x):
    return device_array(to_numpy(x).T)

# %% wrong: returns nothing — says "None" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     return out

# %% wrong: one tile only — says "launch one for each tile" — from "unpadded tile": ", 32)," → ", 33),", "(-(-columns // 32), -(-rows // 32))" → "1"

# %% hostile: infinite recursion on the host — earns 0 — from "only a view of the other strides": "x.T" → "transpose_tiled(x)"

# %% hostile: leaves the process with a good exit code — earns 0
import os


def transpose_tiled(x):
    os._exit(0)

# %% wrong gpu: a single block turns all the tiles — says "as fast as the naive kernel" — from "tiles dealt out in a loop, dynamic shared memory"
# -     tile = cuda.shared.array(0, float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     for number in range(cuda.blockIdx.x, tiles, cuda.gridDim.x):
# +     for number in range(tiles):

# -             tile[line * 33 + lane] = x[top + line, left + lane]
# +             tile[line, lane] = x[top + line, left + lane]

# -             out[left + line, top + lane] = tile[lane * 33 + line]
# +             out[left + line, top + lane] = tile[lane, line]

# -     turn[-(-down * across // 4), (32, 32), 0, 4 * 32 * 33](x, out, across, down * across)
# +     turn[1, (32, 32)](x, out, across, down * across)

# %% hostile gpu: writes to an address that is nobody's
import numpy as np
from numba import cuda

from gpulab import empty


@cuda.jit
def astray(out):
    out[cuda.grid(1) + 1_000_000_000_000] = np.float32(1)


def transpose_tiled(x):
    out = empty(x.shape[0] * x.shape[1], "float32")
    astray[1, 32](out)
    return out.reshape(x.shape[1], x.shape[0])

# %% hostile gpu: a kernel that never ends
from numba import cuda

from gpulab import empty


@cuda.jit
def endless(flag):
    while flag[0] == flag[0] or flag[0] != flag[0]:
        flag[1] += 1


def transpose_tiled(x):
    endless[1, 32](empty(2, "int32"))
    return empty((x.shape[1], x.shape[0]), "float32")

# %% hostile gpu: keeps nearly all of the GPU's memory, and copies nothing
import torch

from gpulab import empty

kept = []


def transpose_tiled(x):
    if torch.cuda.is_available() and not kept:
        free_bytes, _ = torch.cuda.mem_get_info()
        kept.append(torch.empty(int(0.9 * free_bytes), dtype=torch.uint8, device="cuda"))
    return empty((x.shape[1], x.shape[0]), "float32")

# %% hostile gpu: patches the clocks and the waiting, and gives back an empty matrix
import time

import torch

from gpulab import device, empty
from gpulab import speedup

time.perf_counter = time.monotonic = time.time = lambda: 0.0
torch.cuda.synchronize = device.synchronize = speedup.synchronize = lambda *_: None
speedup.projection = lambda output, seed: [0.0, 0.0]


def transpose_tiled(x):
    return empty((x.shape[1], x.shape[0]), "float32")

# %% hostile: the host transposes, a kernel copies what it made
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def copied(source, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = source[row, column]


def transpose_tiled(x):
    turned = device_array(to_numpy(x).T.copy())
    rows, columns = turned.shape
    out = empty((rows, columns), "float32")
    copied[(-(-columns // 32), -(-rows // 8)), (32, 8)](turned, out)
    return out

# %% wrong: absolute values — says "lost their sign" — from "reference": "= tile[tx, ty + step]" → "= abs(tile[tx, ty + step])"

# %% wrong: a tile of ints — says "cut to whole numbers" — from "reference": "cuda, float32" → "cuda, int32", "33), float32" → "33), int32"

# %% wrong: grid rounded down, whatever the size — says "round the grid up" — from "reference": "(-(-columns // 32), -(-rows // 32))" → "(columns // 32, rows // 32)"

# %% wrong: one thread of each block does all the work — says "of the 32 threads of a warp"
from numba import cuda

from gpulab import empty


@cuda.jit
def transpose_kernel(x, out):
    if cuda.threadIdx.x == 0:
        row = cuda.blockIdx.x
        for column in range(x.shape[1]):
            out[column, row] = x[row, column]


def transpose_tiled(x):
    out = empty((x.shape[1], x.shape[0]))
    transpose_kernel[x.shape[0], 1](x, out)
    return out

# %% hostile: no tile: reads down the columns with atomic additions of 0, which are not counted as reads — says "reads of global memory" — from "naive, writes along rows"
# -         out[row, column] = x[column, row]
# +         out[row, column] = cuda.atomic.add(x, (column, row), float32(0))

# %% hostile: no tile: writes down the columns, and cheap writes next to them bring the average down — says "writes to global memory"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def transpose_kernel(x, out, scratch):
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        value = x[row, column]
        out[column, row] = value
        if cuda.threadIdx.x % 32 < 8:
            place = ((cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x) * 8 + cuda.threadIdx.y) * 8
            for k in range(12):
                scratch[place + cuda.threadIdx.x] = value


def transpose_tiled(x):
    out = empty((x.shape[1], x.shape[0]), "float32")
    grid = (-(-x.shape[1] // 32), -(-x.shape[0] // 8))
    transpose_kernel[grid, (32, 8)](x, out, empty(64 * grid[0] * grid[1], "float32"))
    return out

# %% wrong: a copy, returned as a transposed view — says "a view such as out.T"
from numba import cuda

from gpulab import empty


@cuda.jit
def copy_kernel(x, out):
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        out[row, column] = x[row, column]


def transpose_tiled(x):
    rows, columns = x.shape
    out = empty((rows, columns), "float32")
    copy_kernel[(-(-columns // 32), -(-rows // 8)), (32, 8)](x, out)
    return out.T

# %% wrong: a copy through a tile, returned as a transposed view — says "a view such as out.T" — from "reference"
# -     column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty

# -         if row + step < out.shape[0] and column < out.shape[1]:
# -             out[row + step, column] = tile[tx, ty + step]
# +         if row + step < x.shape[0] and column < x.shape[1]:
# +             out[row + step, column] = tile[ty + step, tx]

# -     out = empty((columns, rows), "float32")
# +     out = empty((rows, columns), "float32")

# -     return out
# +     return out.T

# %% wrong: a local array for a tile — says "A local array belongs to one thread" — from "reference": "shared.array" → "local.array"

# %% wrong: threadIdx without axes — says "cuda.threadIdx is three numbers" — from "reference": "tx, ty = cuda.threadIdx.x, cuda.threadIdx.y" → "tx, ty = cuda.threadIdx"

# %% wrong: writes only where the same thread has read — says "by the shape of out alone" — from "unpadded tile"
# -     tile = cuda.shared.array((32, 32), float32)
# +     tile = cuda.shared.array((32, 33), float32)

# -     if row < x.shape[0] and column < x.shape[1]:
# +     inside = row < x.shape[0] and column < x.shape[1]
# +     if inside:

# -     if row < out.shape[0] and column < out.shape[1]:
# +     if inside and row < out.shape[0] and column < out.shape[1]:

# %% wrong: both numbers of tiles from the rows — says "x from the columns of x" — from "reference": "-(-columns // 32)" → "-(-rows // 32)"

# %% hostile: the result is stored down the columns as parameters, which are not counted, and a tidy copy is for show — says "as if it lay in"
from gpulab import cuda_kernel, empty

TRANSPOSE_CU = r"""
__device__ void put(float* p, float v) { asm volatile("st.param.f32 [%0], %1;" :: "l"(p), "f"(v) : "memory"); }

extern "C" __global__ void transpose(const float* x, float* out, int high, int wide) {
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    for (int step = 0; step < 32; step += 8) {
        int row = blockIdx.y * 32 + threadIdx.y + step;
        if (row < high && column < wide) tile[threadIdx.y + step][threadIdx.x] = x[row * wide + column];
    }
    for (int step = 0; step < 32; step += 8) {
        int row = blockIdx.y * 32 + threadIdx.y + step;
        if (row < high && column < wide) {
            float v = tile[threadIdx.y + step][threadIdx.x];
            out[row * wide + column] = 0.0f;
            asm volatile("" ::: "memory");
        }
    }
}
"""
SECOND_CU = r"""
__device__ float seen(const float* p) { float v; asm volatile("ld.const.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory"); return v; }
__device__ void put(float* p, float v) { asm volatile("st.param.f32 [%0], %1;" :: "l"(p), "f"(v) : "memory"); }
extern "C" __global__ void turn(const float* x, float* out, int high, int wide) {
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row < high && column < wide) put(out + column * high + row, seen(x + row * wide + column));
}
"""
show = cuda_kernel(TRANSPOSE_CU.replace("float v = tile", "volatile float v = tile"), "transpose")
turn = cuda_kernel(SECOND_CU, "turn")


def transpose_tiled(x):
    high, wide = x.shape
    out = empty((wide, high), "float32")
    show[(-(-wide // 32), -(-high // 32)), (32, 8)](x, out, high, wide)
    turn[(-(-wide // 32), -(-high // 8)), (32, 8)](x, out, high, wide)
    return out

# %% wrong: each step writes the same rows of the tile — says "the first 8 of 32 rows are repeated" — from "reference": "tile[tx, ty + step]" → "tile[tx, ty]"

# %% wrong: each step reads the same rows of x — says "the first 8 of 32 rows are repeated" — from "reference": "x[row + step, column]" → "x[row, column]"

# %% wrong: columns of the tile from its end — says "the columns of the result are in reverse order" — from "reference": "tile[tx, ty + step]" → "tile[31 - tx, ty + step]"

# %% wrong: a row of x is as long as x has rows — says "is at row * columns + column" — from "CUDA C++": `(row + step) * columns + column]` → `(row + step) * rows + column]`

# %% wrong: a row of the result is as long as x has columns — says "in 70 rows of 45" — from "CUDA C++": `out[(size_t)(row + step) * rows + column]` → `out[(size_t)(row + step) * columns + column]`

# %% wrong: only the row takes the other number of the block — says "a tile of its own, in row and in column" — from "reference"
# -     column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
# +     row = cuda.blockIdx.x * 32 + ty

# %% wrong: the row first from cuda.grid(2) — says "cuda.grid(2) gives the column first" — from "reference"
# -     column, row = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 32 + ty
# -     for step in range(0, 32, 8):
# -         if row + step < x.shape[0] and column < x.shape[1]:
# -             tile[ty + step, tx] = x[row + step, column]
# +     row, column = cuda.grid(2)
# +     if row < x.shape[0] and column < x.shape[1]:
# +         tile[ty, tx] = x[row, column]
#       cuda.syncthreads()
# -     column, row = cuda.blockIdx.y * 32 + tx, cuda.blockIdx.x * 32 + ty
# -     for step in range(0, 32, 8):
# -         if row + step < out.shape[0] and column < out.shape[1]:
# -             out[row + step, column] = tile[tx, ty + step]
# +     row, column = cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx
# +     if row < out.shape[0] and column < out.shape[1]:
# +         out[row, column] = tile[tx, ty]

# -     turn[(-(-columns // 32), -(-rows // 32)), (32, 8)](x, out)
# +     turn[(-(-columns // 32), -(-rows // 32)), (32, 32)](x, out)

# %% hostile: a tile for matrices of up to 70 × 77, and none for larger ones — says "sectors per request"
from numba import cuda, float32

from gpulab import empty

TILE = 32


@cuda.jit
def naive_kernel(x, out):
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        out[column, row] = x[row, column]


@cuda.jit
def transpose_kernel(x, out):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    for step in range(0, TILE, cuda.blockDim.y):
        if row + step < x.shape[0] and column < x.shape[1]:
            tile[ty + step, tx] = x[row + step, column]
    cuda.syncthreads()
    column, row = cuda.blockIdx.y * TILE + tx, cuda.blockIdx.x * TILE + ty
    for step in range(0, TILE, cuda.blockDim.y):
        if row + step < out.shape[0] and column < out.shape[1]:
            out[row + step, column] = tile[tx, ty + step]


def transpose_tiled(x):
    high, wide = x.shape
    out = empty((wide, high), "float32")
    if high > 70 or wide > 77:
        naive_kernel[(-(-wide // 32), -(-high // 8)), (32, 8)](x, out)
    else:
        transpose_kernel[(-(-wide // TILE), -(-high // TILE)), (TILE, 8)](x, out)
    return out
# %% wrong: the tile is addressed by the row and column of the matrix — says "corner of the block's own tile" — from "reference": `tile[ty + step, tx] =` → `tile[row + step, column] =`
