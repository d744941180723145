# %% right: reference
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% right: mirrors on the way in, dynamic shared memory
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(0, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    length = min(cuda.blockDim.x, x.size - cuda.blockIdx.x * cuda.blockDim.x)
    if i < x.size:
        tile[length - 1 - t] = x[i]
    cuda.syncthreads()
    if i < x.size:
        out[i] = tile[t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128, 0, 4 * 128](x, out)
    return out

# %% right: one block for all runs, 64 threads, a barrier before the tile is used again
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    for start in range(0, x.size, 128):
        length = min(128, x.size - start)
        for t in range(cuda.threadIdx.x, length, cuda.blockDim.x):
            tile[t] = x[start + t]
        cuda.syncthreads()
        for t in range(cuda.threadIdx.x, length, cuda.blockDim.x):
            out[start + t] = tile[length - 1 - t]
        cuda.syncthreads()


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[1, 64](x, out)
    return out

# %% wrong: no barrier — says "no barrier between them"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: a barrier for the warp only — says "race for tile"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncwarp()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: barrier inside a divergent branch — says "every thread of a block must reach every barrier"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
        cuda.syncthreads()
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: returns before the barrier — says "do not return before it"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i >= x.size:
        return
    tile[t] = x[i]
    cuda.syncthreads()
    out[i] = tile[min(128, x.size - cuda.blockIdx.x * 128) - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: two barriers, one in each branch — says "every thread of a block must reach every barrier"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: tile one short — says "shared array 'tile' has 127 elements"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(127, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: tile of another size — says "shared array 'tile' has 64 elements"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: straight from global to global — says "must go through it"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        out[start + t] = x[start + length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: uses global memory twice, swapping in the result — says "must go through it"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        out[start + t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        value = out[start + length - 1 - t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = value


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: through the tile, but global memory is read again — says "read from global memory"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        mirrored = tile[length - 1 - t]
        out[start + t] = mirrored if mirrored == x[start + length - 1 - t] else mirrored


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: the result is copied first, then written again — says "written to global memory"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
        out[start + t] = tile[t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: the last run is turned as if it were whole — says "the last run is shorter"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if i < x.size:
        out[i] = tile[127 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: the last, short run is left out — says "elements differ"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[max(1, len(x) // 128), 128](x, out)
    return out

# %% wrong: no guard — says "out of bounds"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    cuda.syncthreads()
    out[i] = tile[127 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: turns the whole array around — says "each run of 128 by itself"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if i < x.size:
        out[x.size - 1 - i] = tile[t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: mirrors at the length instead of the last place — says "shared array 'tile' has 128 elements"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: runs of 256 — says "each run of 128"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 256
    length = min(256, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 256), 256](x, out)
    return out

# %% wrong: float64 result — says "float32 in, float32 out"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float64")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: the tile holds ints — says "elements differ"
from numba import cuda, int32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: the size of the tile is not a constant — says "numba cannot translate"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    tile = cuda.shared.array(length, float32)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out

# %% wrong: no return — says "is there a return statement"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        out[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)

# %% wrong: in place — says "changed an argument"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + t]
    cuda.syncthreads()
    if t < length:
        x[start + t] = tile[length - 1 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return x

# %% wrong: on the host — says "no kernel was launched"
import numpy as np


def block_reverse(x):
    return np.concatenate([x[start : start + 128][::-1] for start in range(0, len(x), 128)])

# %% hostile: the barrier is patched away — earns 0
from numba import cuda, float32

from gpulab import empty


import numba.cuda

numba.cuda.syncthreads = lambda: None


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    out[cuda.grid(1)] = tile[127 - t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out
