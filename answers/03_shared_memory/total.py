# %% right: reference
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit
def total_kernel(x, result):
    tile = cuda.shared.array(256, float32)
    me = cuda.threadIdx.x
    mine = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        mine += x[i]
    tile[me] = mine
    cuda.syncthreads()
    half = 128
    while half > 0:
        if me < half:
            tile[me] += tile[me + half]
        cuda.syncthreads()
        half //= 2
    if me == 0:
        cuda.atomic.add(result, 0, tile[0])


def total(x):
    result = device_array(np.zeros(1, np.float32))
    total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
    return float(to_numpy(result)[0])

# %% right: shuffles within warps, one number a warp in shared memory
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit(device=True)
def warp_sum(value):
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, delta)
    return value


@cuda.jit
def add_up(x, result):
    sums = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    value = float32(0)
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        value += x[i]
    value = warp_sum(value)
    if t % 32 == 0:
        sums[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        value = sums[t] if t < cuda.blockDim.x // 32 else float32(0)
        value = warp_sum(value)
        if t == 0:
            cuda.atomic.add(result, 0, value)


def total(x):
    result = device_array(np.array([0], dtype="float32"))
    add_up[16, 128](x, result)
    return to_numpy(result)[0]

# %% right: one element a thread, neighbors added first, a guard for the tail
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit
def pairs(x, result):
    tile = cuda.shared.array(shape=64, dtype=float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i] if i < len(x) else 0
    stride = 1
    while stride < 64:
        cuda.syncthreads()
        if t % (2 * stride) == 0:
            tile[t] += tile[t + stride]
        stride *= 2
    if t == 0:
        cuda.atomic.add(result, 0, tile[0])


def total(x):
    result = device_array(np.zeros(1, np.float32))
    pairs[(len(x) + 63) // 64, 64](x, result)
    return to_numpy(result).item()

# %% right: a block of any size, halves rounded up
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit
def uneven(x, result):
    tile = cuda.shared.array(96, float32)
    t = cuda.threadIdx.x
    mine = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        mine += x[i]
    tile[t] = mine
    alive = 96
    while alive > 1:
        cuda.syncthreads()
        half = (alive + 1) // 2
        if t + half < alive:
            tile[t] += tile[t + half]
        alive = half
    if t == 0:
        cuda.atomic.add(result, 0, tile[0])


def total(x):
    result = device_array(np.zeros(1, np.float32))
    uneven[5, 96](x, result)
    return float(to_numpy(result)[0])

# %% right: CUDA C++, shuffles first
import numpy as np

from gpulab import cuda_kernel, device_array, to_numpy

TOTAL_CU = r"""
extern "C" __global__ void sum(const float* x, float* result, int n) {
    __shared__ float warps[8];
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        mine += x[i];
    for (int distance = 16; distance > 0; distance /= 2)
        mine += __shfl_down_sync(0xFFFFFFFF, mine, distance);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < 8; warp++)
            mine += warps[warp];
        atomicAdd(result, mine);
    }
}
"""
sum_kernel = cuda_kernel(TOTAL_CU, "sum")


def total(x):
    n, result = x.shape[0], device_array(np.zeros(1, np.float32))
    sum_kernel[min(-(-n // 256), 1024), 256](x, result, n)
    return float(to_numpy(result)[0])

# %% wrong: CUDA C++ without a barrier — says "no barrier between" — from "CUDA C++, shuffles first"
# -     __syncthreads();

# %% wrong: an atomic per element — says "The limit is one per block"
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit
def total_kernel(x, result):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(result, 0, x[i])


def total(x):
    result = device_array(np.zeros(1, np.float32))
    total_kernel[-(-x.shape[0] // 256), 256](x, result)
    return float(to_numpy(result)[0])

# %% wrong: an atomic per element, in shared memory — says "atomic per element" — from "an atomic per element"
#   def total_kernel(x, result):
# +     block_sum = cuda.shared.array(1, float32)
#       i = cuda.grid(1)
# +     if cuda.threadIdx.x == 0:
# +         block_sum[0] = 0
# +     cuda.syncthreads()

# -         cuda.atomic.add(result, 0, x[i])
# +         cuda.atomic.add(block_sum, 0, x[i])
# +     cuda.syncthreads()
# +     if cuda.threadIdx.x == 0:
# +         cuda.atomic.add(result, 0, block_sum[0])

# %% wrong: an atomic per element, in blocks of one thread — says "atomic per element" — from "an atomic per element"
# -     i = cuda.grid(1)
# -     if i < x.size:
# -         cuda.atomic.add(result, 0, x[i])
# +     cuda.atomic.add(result, 0, x[cuda.blockIdx.x])

# -     total_kernel[-(-x.shape[0] // 256), 256](x, result)
# +     total_kernel[x.shape[0], 1](x, result)

# %% wrong: an atomic per thread — says "The limit is one per block" — from "an atomic per element"
# -     i = cuda.grid(1)
# -     if i < x.size:
# +     mine = float32(0)
# +     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +         mine += x[i]
# -         cuda.atomic.add(result, 0, x[i])
# +     cuda.atomic.add(result, 0, mine)

# -     total_kernel[-(-x.shape[0] // 256), 256](x, result)
# +     total_kernel[4, 128](x, result)

# %% wrong: drops the tail — says "tail" — from "reference"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# -         mine += x[i]
# +     i = cuda.grid(1)
# +     if i < x.size // 256 * 256 or x.size < 256:
# +         mine = x[i] if i < x.size else mine

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[max(x.shape[0] // 256, 1), 256](x, result)

# %% wrong: grid one block short — says "tail" — from "reference"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +     i = cuda.grid(1)
# +     if i < x.size:
# -         mine += x[i]
# +         mine = x[i]

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[max(x.shape[0] // 256, 1), 256](x, result)

# %% wrong: a fixed grid, one element a thread — says "are missing" — from "reference"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +     i = cuda.grid(1)
# +     if i < x.size:
# -         mine += x[i]
# +         mine = x[i]

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[2, 256](x, result)

# %% wrong: blockDim.x for gridsize in the stride — says "expected" — from "reference": "gridsize(1)" → "blockDim.x"

# %% wrong: no guard — says "x[" — from "reference"
# +     mine = x[cuda.grid(1)]
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# -         mine += x[i]

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[-(-x.shape[0] // 256), 256](x, result)

# %% wrong: no barrier in the tree — says "no barrier between" — from "reference"
# -         cuda.syncthreads()

# %% wrong: no barrier before the tree — says "no barrier between" — from "reference"
# -     cuda.syncthreads()

# %% wrong: barrier inside the divergent branch — says "barrier" — from "reference"
# -         cuda.syncthreads()
# +             cuda.syncthreads()

# %% wrong: threads without an element go home — says "barrier" — from "reference"
#       me = cuda.threadIdx.x
# +     if cuda.grid(1) >= x.size:
# +         return

# %% wrong: adds without an atomic — says "nothing orders two blocks. Add the blocks' sums to the result with an atomic operation" — from "reference"
# -         cuda.atomic.add(result, 0, tile[0])
# +         result[0] += tile[0]

# %% wrong: the last block wins — says "race" — from "reference": "cuda.atomic.add(result, 0, tile[0])" → "result[0] = tile[0]"

# %% wrong: every thread hands in the sum — says "only one of them" — from "reference": "me == 0" → "True"

# %% wrong: the tree stops too early — says "too early" — from "reference": "> 0:" → "> 1:"

# %% wrong: the tree starts with the whole block — says "tile[" — from "reference": "128" → "256"

# %% wrong: a block that is no power of two — says "be a power of two" — from "reference"
# -     tile = cuda.shared.array(256, float32)
# +     tile = cuda.shared.array(100, float32)

# -     half = 128
# +     half = 50

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[min(-(-x.shape[0] // 100), 1024), 100](x, result)

# %% wrong: shared tile one short — says "tile" — from "reference": "(256" → "(255"

# %% wrong: shared memory over the limit — says "shared memory" — from "reference": "(256" → "(65536"

# %% wrong: result not set to zero — says "expected" — from "reference"
# - from gpulab import device_array, to_numpy
# + from gpulab import device_array, empty, to_numpy

# -     result = device_array(np.zeros(1, np.float32))
# +     result = empty(1, "float32")

# %% wrong: counts elements — says "how many elements there are" — from "reference": "x[i]" → "float32(1)"

# %% wrong: absolute values — says "lost their sign" — from "reference": "x[i]" → "abs(x[i])"

# %% wrong: returns the array — says "take the number out" — from "reference": "float(to_numpy(result)[0])" → "result"

# %% wrong: returns an int of it, halved by a slip — says "expected" — from "reference"
# -     return float(to_numpy(result)[0])
# +     return int(to_numpy(result)[0]) // 2

# %% wrong: no return — says "is there a return statement" — from "reference": "return " → ""

# %% wrong: summed on the host — says "no kernel was launched"
import numpy as np

from gpulab import to_numpy


def total(x):
    return float(np.sum(to_numpy(x), dtype=np.float64))

# %% wrong: summed on the host beside an idle kernel — says "did not read all" — from "summed on the host"
#   import numpy as np
# + from numba import cuda

# +
# +
# + @cuda.jit
# + def idle(x):
# +     pass
#
#
#   def total(x):
# +     idle[64, 32](x)

# %% wrong: no element for the first thread — says "expected" — from "reference": "1)," → "1) + 1,"

# %% wrong: a loop that never ends — says "end" — from "reference": "//= 2" → "= max(half // 2, 1)"

# %% hostile: an object equal to everything — earns 0
class Anything:
    def __eq__(self, other):
        return True

    __le__ = __ge__ = __lt__ = __gt__ = __eq__
    __sub__ = __rsub__ = __abs__ = __mul__ = __rmul__ = __add__ = __radd__ = lambda self, *other: self
    __hash__ = None

    def __float__(self):
        return 1.0


def total(x):
    return Anything()

# %% hostile: takes the expected sum from its caller — earns 0
import sys


def total(x):
    frame = sys._getframe(1)
    while frame is not None:
        if "launches" in frame.f_locals:
            frame.f_locals["launches"].append({"races": [], "global_atomics": 0, "blocks": 1, "global_reads": 10**9, "shared_atomics": 0})
        frame = frame.f_back
    return float(x.sum()) + 1

# %% hostile: the host adds, and hands the sum to a kernel that reads everything
import numpy as np
from numba import cuda

from gpulab import device_array, to_numpy


@cuda.jit
def put(x, value, result):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        if x[i] > 3e38:
            result[0] = 0
    if cuda.grid(1) == 0:
        cuda.atomic.add(result, 0, value)


def total(x):
    result = device_array(np.zeros(1, np.float32))
    put[4, 128](x, np.float32(to_numpy(x).sum(dtype=np.float64)), result)
    return float(to_numpy(result)[0])

# %% right: Numba's own device array — from "reference"
# - from gpulab import device_array, to_numpy

# -     result = device_array(np.zeros(1, np.float32))
# +     result = cuda.to_device(np.zeros(1, np.float32))

# -     return float(to_numpy(result)[0])
# +     return float(result.copy_to_host()[0])

# %% wrong: a fixed grid of 64 blocks, one element a thread — says "are missing" — from "a fixed grid, one element a thread": "[2, 256]" → "[64, 256]"

# %% wrong: starts at the thread's own number — says "the first index is cuda.grid(1)" — from "reference": "range(cuda.grid(1)," → "range(cuda.threadIdx.x,"

# %% wrong: only the first block adds — says "the sum of the first block only" — from "reference": "me == 0" → "cuda.grid(1) == 0"

# %% wrong: adds its own sum — says "add tile[0]" — from "reference": "0, tile[0])" → "0, mine)"

# %% wrong: the tree begins at a quarter — says "the first distance is 128" — from "reference": "half = 128" → "half = 64"

# %% wrong: a tile of ints — says "cut to whole numbers" — from "reference": "cuda, float32" → "cuda, float32, int32", "(256, float32)" → "(256, int32)"

# %% wrong: the mean — says "do not divide" — from "reference": "(result)[0])" → "(result)[0]) / x.shape[0]"

# %% wrong: one thread of the grid does all the work — says "of the 32 threads of a warp"
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit
def total_kernel(x, result):
    s = float32(0)
    for i in range(x.size):
        s += x[i]
    result[0] = s


def total(x):
    result = device_array(np.zeros(1, np.float32))
    total_kernel[1, 1](x, result)
    return float(to_numpy(result)[0])

# %% hostile: halves the array in global memory, launch by launch: no shared memory, no barrier, no atomic — says "reads of shared memory"
from numba import cuda

from gpulab import empty, to_numpy


@cuda.jit
def halve_kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        other = i + out.size
        out[i] = x[i] + x[other] if other < x.size else x[i]


def total(x):
    while True:
        out = empty((x.shape[0] + 1) // 2, "float32")
        halve_kernel[-(-out.shape[0] // 256), 256](x, out)
        x = out
        if x.shape[0] == 1:
            return float(to_numpy(x)[0])

# %% hostile: no tree: every thread of a block adds up the whole tile, one element after another — says "in shared memory; the limit is" — from "reference"
# -     tile = cuda.shared.array(256, float32)
# +     tile = cuda.shared.array(64, float32)

# -     half = 128
# -     while half > 0:
# -         if me < half:
# -             tile[me] += tile[me + half]
# -         cuda.syncthreads()
# -         half //= 2
# -     if me == 0:
# -         cuda.atomic.add(result, 0, tile[0])
# +     added = float32(0)
# +     for k in range(64):
# +         added += tile[k]
# +     if me == 0:
# +         cuda.atomic.add(result, 0, added)

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[min(-(-x.shape[0] // 1024), 64), 64](x, result)

# %% wrong: one thread of each block adds up the tile alone — says "in shared memory; the limit is" — from "reference"
# -     tile = cuda.shared.array(256, float32)
# +     tile = cuda.shared.array(32, float32)

# -     half = 128
# -     while half > 0:
# -         if me < half:
# -             tile[me] += tile[me + half]
# -         cuda.syncthreads()
# -         half //= 2
#       if me == 0:
# -         cuda.atomic.add(result, 0, tile[0])
# +         for k in range(1, 32):
# +             mine += tile[k]
# +         cuda.atomic.add(result, 0, mine)

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[min(-(-x.shape[0] // 512), 8), 32](x, result)

# %% wrong: an atomic per thread, in shared memory — says "per thread makes" — from "reference"
# -     tile = cuda.shared.array(256, float32)
# +     tile = cuda.shared.array(1, float32)

# -     tile[me] = mine
# -     cuda.syncthreads()
# -     half = 128
# -     while half > 0:
# -         if me < half:
# -             tile[me] += tile[me + half]
# -         cuda.syncthreads()
# -         half //= 2
# +     if me == 0:
# +         tile[0] = 0
# +     cuda.syncthreads()
# +     cuda.atomic.add(tile, 0, mine)
# +     cuda.syncthreads()

# %% wrong: a block is one warp that adds up by shuffles, without shared memory — says "reads of shared memory" — from "reference"
# -     tile = cuda.shared.array(256, float32)

# -     tile[me] = mine
# -     cuda.syncthreads()
# -     half = 128
# -     while half > 0:
# -         if me < half:
# -             tile[me] += tile[me + half]
# -         cuda.syncthreads()
# -         half //= 2
# -     if me == 0:
# -         cuda.atomic.add(result, 0, tile[0])
# +     for distance in (16, 8, 4, 2, 1):
# +         mine += cuda.shfl_down_sync(0xFFFFFFFF, mine, distance)
# +     if me == 0:
# +         cuda.atomic.add(result, 0, mine)

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[min(-(-x.shape[0] // 128), 64), 32](x, result)

# %% hostile: a tile of ints that holds four times each sum, as if all numbers were quarters — says "expected" — from "reference": "cuda, float32" → "cuda, float32, int32", "(256, float32)" → "(256, int32)", "mine = float32(0)" → "mine = int32(0)", "mine += x[i]" → "mine += int32(float32(4) * x[i])", "0, tile[0])" → "0, float32(tile[0]) / float32(4))"

# %% right: the blocks' sums in an array, which one block adds up in a second launch — from "reference"
# -     if me == 0:
# -         cuda.atomic.add(result, 0, tile[0])
# +     if me == 0:
# +         result[cuda.blockIdx.x] = tile[0]

# -     result = device_array(np.zeros(1, np.float32))
# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# -     return float(to_numpy(result)[0])
# +     blocks = min(-(-x.shape[0] // 256), 1024)
# +     sums, result = device_array(np.zeros(blocks, np.float32)), device_array(np.zeros(1, np.float32))
# +     total_kernel[blocks, 256](x, sums)
# +     total_kernel[1, 256](sums, result)
# +     return float(to_numpy(result)[0])

# %% right: a large block, a tree with gaps, elements added up in a tile of float64 — from "reference"
# - from numba import cuda, float32
# + from numba import cuda, float64

# -     tile = cuda.shared.array(256, float32)
# +     tile = cuda.shared.array(1024, float64)

# -     mine = float32(0)
# +     tile[me] = 0

# -         mine += x[i]
# -     tile[me] = mine
# +         tile[me] += x[i]

# -     half = 128
# -     while half > 0:
# -         if me < half:
# -             tile[me] += tile[me + half]
# -         cuda.syncthreads()
# -         half //= 2
# +     step = 1
# +     while step < 1024:
# +         if me % (2 * step) == 0:
# +             tile[me] += tile[me + step]
# +         cuda.syncthreads()
# +         step *= 2

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[2, 1024](x, result)

# %% wrong: an array of each thread's own — says "cuda.local.array gives each thread" — from "reference": "shared.array" → "local.array"

# %% wrong: every thread adds up everything — says "Every thread adds up all elements" — from "reference": "range(cuda.grid(1), x.size, cuda.gridsize(1))" → "range(x.size)"

# %% wrong: value and distance of a shuffle swapped — says "is not a distance between lanes" — from "shuffles within warps, one number a warp in shared memory": "value, delta)" → "delta, value)"

# %% wrong: one result for all calls — says "each call needs a new result" — from "reference"
# + result = device_array(np.zeros(1, np.float32))
# +
# +
# + def total(x):
# - def total(x):
# -     result = device_array(np.zeros(1, np.float32))

# %% wrong: the mean of the blocks' sums — says "That is the mean of the blocks' sums" — from "reference": "result, 0, tile[0])" → "result, 0, tile[0] / cuda.gridDim.x)"

# %% wrong: a stretch of elements for each thread — says "neighboring threads read neighboring elements" — from "reference"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +     each = -(-x.size // cuda.gridsize(1))
# +     first = cuda.grid(1) * each
# +     for i in range(first, min(first + each, x.size)):

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[-(-x.shape[0] // 4096), 256](x, result)

# %% wrong: eight elements per thread in a grid that is rounded down — says "adds at most 8" — from "reference"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# -         mine += x[i]
# +     for k in range(8):
# +         i = cuda.blockIdx.x * 2048 + k * 256 + me
# +         if i < x.size:
# +             mine += x[i]

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[max(1, x.shape[0] // 2048), 256](x, result)

# %% hostile: no tree: one thread adds up the tile of the only block, and all elements where there are few — says "one thread read 256 elements in shared memory"
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit
def few(x, result):
    mine = float32(0)
    for i in range(x.size):
        mine += x[i]
    result[0] = mine


@cuda.jit
def many(x, result):
    tile = cuda.shared.array(256, float32)
    me = cuda.threadIdx.x
    mine = float32(0)
    for i in range(me, x.size, 256):
        mine += x[i]
    tile[me] = mine
    cuda.syncthreads()
    if me == 0:
        for place in range(1, 256):
            mine += tile[place]
        result[0] = mine + float32(0) * tile[0]


def total(x):
    result = device_array(np.zeros(1, np.float32))
    if len(x) < 1000:
        few[1, 1](x, result)
    else:
        many[1, 256](x, result)
    return float(to_numpy(result)[0])

# %% hostile: one thread for few elements, and blocks of several sizes — says "Choose one block size" — from "reference"
# - @cuda.jit
# - def total_kernel(x, result):
# + @cuda.jit
# + def few(x, result):
# +     mine = float32(0)
# +     for i in range(x.size):
# +         mine += x[i]
# +     result[0] = mine
# +
# +
# + @cuda.jit
# + def total_kernel(x, result):

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     if len(x) < 30:
# +         few[1, 1](x, result)
# +     else:
# +         total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)

# %% hostile: one thread adds up the tile of 32 sums of the only block — says "elements in shared memory; the limit is"
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit
def total_kernel(x, result):
    tile = cuda.shared.array(32, float32)
    me = cuda.threadIdx.x
    mine = float32(0)
    for i in range(me, x.size, 32):
        mine += x[i]
    tile[me] = mine
    cuda.syncthreads()
    if me == 0:
        mine = float32(0)
        for place in range(min(32, x.size)):
            mine += tile[place]
        result[0] = mine


def total(x):
    result = device_array(np.zeros(1, np.float32))
    total_kernel[1, 32](x, result)
    return float(to_numpy(result)[0])

# %% hostile: an atomic per element where there are few of them — says "The limit is one per block" — from "reference"
# - @cuda.jit
# - def total_kernel(x, result):
# + @cuda.jit
# + def few(x, result):
# +     i = cuda.grid(1)
# +     if i < x.size:
# +         cuda.atomic.add(result, 0, x[i])
# +
# +
# + @cuda.jit
# + def total_kernel(x, result):

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     kernel = few if len(x) < 500 else total_kernel
# +     kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)

# %% hostile: blocks of 32 threads of which 14 work, and one adds up their sums — says "one thread read"
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy


@cuda.jit
def total_kernel(x, result):
    tile = cuda.shared.array(32, float32)
    me = cuda.threadIdx.x
    mine = float32(0)
    if me < 14:
        for i in range(cuda.blockIdx.x * 14 + me, x.size, 14 * cuda.gridDim.x):
            mine += x[i]
        tile[me] = mine
    cuda.syncthreads()
    if me == 0:
        mine = float32(0)
        for place in range(14):
            mine += tile[place]
        cuda.atomic.add(result, 0, mine)


def total(x):
    result = device_array(np.zeros(1, np.float32))
    total_kernel[-(-len(x) // (224 if len(x) > 600 else 14)), 32](x, result)
    return float(to_numpy(result)[0])
# %% wrong: the distance goes down by one — says "The distance halves in each step" — from "reference": "half //= 2" → "half -= 1"

# %% wrong: the last round of the loop is left out — says "The last round of the loop is missing" — from "reference"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +     for i in range(cuda.grid(1), x.size - cuda.gridsize(1) + 1, cuda.gridsize(1)):

# -     total_kernel[min(-(-x.shape[0] // 256), 1024), 256](x, result)
# +     total_kernel[-(-x.shape[0] // 4096), 256](x, result)

# %% wrong: the tree keeps the larger sum — says "keeps the larger of two sums" — from "reference": "tile[me] += tile[me + half]" → "tile[me] = max(tile[me], tile[me + half])"

# %% right: the blocks' sums in an array, which a small block adds up in a second kernel — from "the blocks' sums in an array, which one block adds up in a second launch"
# - def total(x):
# + @cuda.jit
# + def last_kernel(sums, result):
# +     tile = cuda.shared.array(64, float32)
# +     me = cuda.threadIdx.x
# +     mine = float32(0)
# +     for i in range(me, sums.size, 64):
# +         mine += sums[i]
# +     tile[me] = mine
# +     cuda.syncthreads()
# +     half = 32
# +     while half > 0:
# +         if me < half:
# +             tile[me] += tile[me + half]
# +         cuda.syncthreads()
# +         half //= 2
# +     if me == 0:
# +         result[0] = tile[0]
# +
# +
# + def total(x):

# -     total_kernel[1, 256](sums, result)
# +     last_kernel[1, 64](sums, result)

# %% wrong: all threads add in each step — says "only threads below the distance add" — from "reference": `if me < half:` → `if half > 0:`

# %% wrong: the first distance is the number of threads — says "first distance is half the threads" — from "reference": `half = 128` → `half = 256`

# %% wrong: a tile of float16 — says "fewer than 32 bits" — from "reference": `cuda.shared.array(256, float32)` → `cuda.shared.array(256, np.float16)`

# %% wrong: adds to the result after each step — says "after each step of the tree" — from "reference"
#           half //= 2
# -     if me == 0:
# -         cuda.atomic.add(result, 0, tile[0])
# +         if me == 0:
# +             cuda.atomic.add(result, 0, tile[0])

# %% wrong: shuffles of half a warp — says "Half of each warp is missing" — from "CUDA C++, shuffles first": `int distance = 16` → `int distance = 8`

# %% wrong: a tile of float16 in a single block, whose sum it cannot hold — says "float16 ends at 65,504" — from "reference": `cuda.shared.array(256, float32)` → `cuda.shared.array(256, np.float16)`, `min(-(-x.shape[0] // 256), 1024)` → `1`

# %% hostile: a tree for up to 5,000 elements, and one thread per block for more — says "of the 32 threads of a warp"
import numpy as np
from numba import cuda, float32

from gpulab import device_array, to_numpy

SUM_THREADS = 256


@cuda.jit
def naive_kernel(x, result):
    if cuda.threadIdx.x == 0:
        mine = float32(0)
        for i in range(cuda.blockIdx.x, x.size, cuda.gridDim.x):
            mine += x[i]
        cuda.atomic.add(result, 0, mine)


@cuda.jit
def total_kernel(x, result):
    tile = cuda.shared.array(SUM_THREADS, float32)
    me = cuda.threadIdx.x
    mine = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        mine += x[i]
    tile[me] = mine
    cuda.syncthreads()
    half = SUM_THREADS // 2
    while half > 0:
        if me < half:
            tile[me] += tile[me + half]
        cuda.syncthreads()
        half //= 2
    if me == 0:
        cuda.atomic.add(result, 0, tile[0])


def total(x):
    result = device_array(np.zeros(1, np.float32))
    blocks = min(-(-x.shape[0] // SUM_THREADS), 1024)
    kernel = total_kernel if x.shape[0] <= 5000 else naive_kernel
    kernel[blocks, SUM_THREADS](x, result)
    return float(to_numpy(result)[0])
# %% wrong: the tree stops at 32 — says "steps with the distances 32, 64 and 128" — from "reference": `while half > 0` → `while half >= 32`

# %% wrong: the distance is divided by 4 — says "steps with the distances 2, 8, 32 and 128" — from "reference": `half //= 2` → `half //= 4`

# %% wrong: the loop begins one stride later — says "x[0] to x[511] are missing" — from "reference": `range(cuda.grid(1), x.size` → `range(cuda.grid(1) + cuda.gridsize(1), x.size`, `1024), 256]` → `2), 256]`

# %% wrong: the partner is mirrored within the threads that add — says "above the threads that add" — from "reference": `tile[me + half]` → `tile[half - me]`
