# %% right: reference
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def average_kernel(x, out, radius):
    tile = cuda.shared.array(384, float32)
    me = cuda.threadIdx.x
    first = cuda.blockIdx.x * 128 - radius
    for place in range(me, 128 + 2 * radius, 128):
        tile[place] = x[min(max(first + place, 0), x.size - 1)]
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        added = float32(0)
        for k in range(2 * radius + 1):
            added += tile[me + k]
        out[i] = added / float32(2 * radius + 1)


def moving_average(x, radius):
    out = empty(x.shape[0], "float32")
    average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
    return out

# %% right: three parts of the tile, blocks of 256
import numba
import numpy as np
from numba import cuda

from gpulab import empty

N = 256
ROOM = 512


@cuda.jit
def smooth(x, out, r):
    tile = cuda.shared.array(ROOM, numba.float32)
    t, i, last = cuda.threadIdx.x, cuda.grid(1), x.shape[0] - 1
    tile[t + r] = x[i] if i <= last else x[last]
    if t < r:
        left = i - r
        right = i + N
        tile[t] = x[0] if left < 0 else x[left if left < last else last]
        tile[t + r + N] = x[last] if right > last else x[right]
    cuda.syncthreads()
    if i > last:
        return
    total = 0.0
    for k in range(-r, r + 1):
        total += tile[t + r + k]
    out[i] = total / (2 * r + 1)


def moving_average(x, radius):
    out = empty(tuple(x.shape), np.float32)
    smooth[(len(x) + N - 1) // N, N](x, out, radius)
    return out

# %% right: dynamic shared memory, a device function, large blocks
from numba import cuda, float32

from gpulab import empty


@cuda.jit(device=True)
def clamped(i, n):
    return 0 if i < 0 else (n - 1 if i >= n else i)


@cuda.jit
def average(x, radius, out):
    tile = cuda.shared.array(0, dtype=float32)
    width = cuda.blockDim.x + 2 * radius
    start = cuda.blockIdx.x * cuda.blockDim.x - radius
    place = cuda.threadIdx.x
    while place < width:
        tile[place] = x[clamped(start + place, x.size)]
        place += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        mean = float32(0)
        scale = float32(1) / float32(2 * radius + 1)
        for k in range(2 * radius + 1):
            mean += tile[cuda.threadIdx.x + k] * scale
        out[i] = mean


def moving_average(x, radius):
    threads = 512 if len(x) >= 512 else 64
    out = empty(len(x))
    average[-(-len(x) // threads), threads, 0, 4 * (threads + 2 * radius)](x, radius, out)
    return out

# %% right: CUDA C++
from gpulab import cuda_kernel, empty

AVERAGE_CU = r"""
extern "C" __global__ void average(const float* x, float* out, int radius, int n) {
    extern __shared__ float tile[];
    int me = threadIdx.x, first = blockIdx.x * blockDim.x - radius, i = blockIdx.x * blockDim.x + me;
    for (int place = me; place < blockDim.x + 2 * radius; place += blockDim.x)
        tile[place] = x[min(max(first + place, 0), n - 1)];
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int k = 0; k <= 2 * radius; k++)
            sum += tile[me + k];
        out[i] = sum / (2 * radius + 1);
    }
}
"""
average = cuda_kernel(AVERAGE_CU, "average")


def moving_average(x, radius):
    n = x.shape[0]
    out = empty(n, "float32")
    average[-(-n // 128), 128, 4 * (128 + 2 * radius)](x, out, radius, n)
    return out

# %% wrong: CUDA C++ without a barrier — says "no barrier between" — from "CUDA C++"
# -     __syncthreads();

# %% wrong: CUDA C++ without clamping — says "out of bounds" — from "CUDA C++": "min(max(first + place, 0), n - 1)" → "first + place"

# %% wrong: every thread reads its neighbors from global memory — says "2r + 1 times"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def average_kernel(x, out, radius):
    i = cuda.grid(1)
    if i < x.size:
        added = float32(0)
        for k in range(-radius, radius + 1):
            added += x[min(max(i + k, 0), x.size - 1)]
        out[i] = added / float32(2 * radius + 1)


def moving_average(x, radius):
    out = empty(x.shape[0], "float32")
    average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
    return out

# %% wrong: no halo, clamped to the tile — says "halo" — from "every thread reads its neighbors from global memory"
# -     i = cuda.grid(1)
# +     tile = cuda.shared.array(128, float32)
# +     me, i = cuda.threadIdx.x, cuda.grid(1)
# +     here = min(128, x.size - cuda.blockIdx.x * 128)
# +     if me < here:
# +         tile[me] = x[i]
# +     cuda.syncthreads()

# -             added += x[min(max(i + k, 0), x.size - 1)]
# +             added += tile[min(max(me + k, 0), here - 1)]

# %% wrong: no halo, zeros around the tile — says "halo" — from "reference"
# -     me = cuda.threadIdx.x
# -     first = cuda.blockIdx.x * 128 - radius
# +     me, i = cuda.threadIdx.x, cuda.grid(1)
# +     n = x.size
# -     for place in range(me, 128 + 2 * radius, 128):
# +     for place in range(me, 384, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +         tile[place] = 0

# -     i = cuda.grid(1)
# -     if i < x.size:
# +     if i < n:
# +         tile[me + radius] = x[i]
# +         if cuda.blockIdx.x == 0 and me < radius:
# +             tile[me] = x[0]
# +         if i == n - 1:
# +             for k in range(radius):
# +                 tile[me + radius + 1 + k] = x[i]
# +     cuda.syncthreads()
# +     if i < n:

# %% wrong: halo on the left only — says "expected" — from "reference"
#       me = cuda.threadIdx.x
# +     for place in range(me, 384, 128):
# +         tile[place] = x[min(cuda.blockIdx.x * 128 + 127, x.size - 1)]
# +     cuda.syncthreads()

# -     for place in range(me, 128 + 2 * radius, 128):
# +     for place in range(me, 128 + radius, 128):

# %% wrong: zeros beyond the edges — says "clamp the index" — from "reference"
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +         i = first + place
# +         tile[place] = x[i] if 0 <= i < x.size else float32(0)

# %% wrong: fewer neighbors at the edges — says "always 2r + 1" — from "reference"
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +         i = first + place
# +         tile[place] = x[i] if 0 <= i < x.size else float32(0)

# -         out[i] = added / float32(2 * radius + 1)
# +         out[i] = added / float32(min(i + radius, x.size - 1) - max(i - radius, 0) + 1)

# %% wrong: negative indices wrap around — says "clamp it" — from "reference"
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +         tile[place] = x[(first + place) % x.size]

# %% wrong: index below zero left to Python — says "x[" — from "reference": "min(max(first + place, 0), x.size - 1)" → "first + place"

# %% wrong: no barrier — says "no barrier between" — from "reference"
# -     cuda.syncthreads()

# %% wrong: barrier inside the guard — says "barrier" — from "reference"
# +     me, i = cuda.threadIdx.x, cuda.grid(1)
# -     me = cuda.threadIdx.x
# -     first = cuda.blockIdx.x * 128 - radius
# -     for place in range(me, 128 + 2 * radius, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# -     cuda.syncthreads()
# -     i = cuda.grid(1)
#       if i < x.size:
# +         here = min(128, x.size - cuda.blockIdx.x * 128)
# +         for place in range(me, here + 2 * radius, here):
# +             tile[place] = x[min(max(cuda.blockIdx.x * 128 - radius + place, 0), x.size - 1)]
# +         cuda.syncthreads()

# %% wrong: returns before the barrier — says "barrier" — from "reference"
#       first = cuda.blockIdx.x * 128 - radius
# +     if cuda.grid(1) >= x.size:
# +         return

# %% wrong: tile one short — says "tile" — from "reference": "384" → "383"

# %% wrong: tile for small radii only — says "tile" — from "reference": "384" → "160"

# %% wrong: shared memory over the limit — says "shared memory" — from "reference": "384" → "16384"

# %% wrong: a shape that is not constant — says "shape of a shared" — from "reference": "384" → "128 + 2 * radius"

# %% wrong: last neighbor missing — says "last neighbor" — from "reference"
# -         for k in range(2 * radius + 1):
# +         for k in range(2 * radius):

# -         out[i] = added / float32(2 * radius + 1)
# +         out[i] = added / float32(max(2 * radius, 1))

# %% wrong: divides by 2r — says "not 2r" — from "reference": "float32(2 * radius + 1)" → "float32(max(2 * radius, 1))"

# %% wrong: sum, not mean — says "divide" — from "reference": " / float32(2 * radius + 1)" → ""

# %% wrong: window not centerd — says "expected" — from "reference": " - radius" → ""

# %% wrong: grid one block short — says "The last block is missing" — from "reference": "-(-x.shape[0] // 128" → "max(x.shape[0] // 128, 1"

# %% wrong: no guard — says "out" — from "reference": "i < x.size" → "True"

# %% wrong: halo always as wide as the largest radius — says "halo larger" — from "reference"
# -     first = cuda.blockIdx.x * 128 - radius
# +     first = cuda.blockIdx.x * 128 - 128
# -     for place in range(me, 128 + 2 * radius, 128):
# +     for place in range(me, 384, 128):

# -             added += tile[me + k]
# +             added += tile[me + 128 - radius + k]

# %% wrong: blocks of 32 — says "smaller than 128" — from "reference"
# -     first = cuda.blockIdx.x * 128 - radius
# +     first = cuda.blockIdx.x * 32 - radius
# -     for place in range(me, 128 + 2 * radius, 128):
# +     for place in range(me, 32 + 2 * radius, 32):

# -     average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
# +     average_kernel[-(-x.shape[0] // 32), 32](x, out, radius)

# %% wrong: result in float64 — says "float32" — from "reference": `"float32` → `"float64`

# %% wrong: 2 048 threads a block — says "1,024" — from "reference": "128), 128" → "2048), 2048"

# %% wrong: an empty launch — says "block" — from "reference": " 128]" → " 0]"

# %% wrong: leaves something in its argument — says "changed an argument" — from "reference"
#       average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
# +     x[0] = 0

# %% wrong: a helper without a decorator — says "device=True" — from "reference"
#   from gpulab import empty
# +
# +
# + def clamp(i, n):
# +     return min(max(i, 0), n - 1)

# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +         tile[place] = x[clamp(first + place, x.size)]

# %% wrong: computed on the host — says "No kernel"
import numpy as np

from gpulab import device_array, to_numpy


def moving_average(x, radius):
    padded = np.pad(to_numpy(x), radius, "edge")
    width = 2 * radius + 1
    return device_array(np.convolve(padded, np.full(width, 1 / width), "valid").astype("float32"))

# %% wrong: returns nothing — says "None" — from "reference"
# -     return out

# %% wrong: returns a list — says "list" — from "reference": "return out" → "return [float(value) for value in out]"

# %% wrong: a kernel that never ends — says "end" — from "reference"
# -         for k in range(2 * radius + 1):
# +         k = 0
# +         while k < 2 * radius + 1:

# %% hostile: turns the counting off — earns 0 — from "every thread reads its neighbors from global memory"
# +     try:
# +         import gpulab.trace.launch as launch
# +
# +         kept, launch._recordings[:] = list(launch._recordings), []
# -     average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
# +         average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
# +         launch._recordings[:] = kept
# +     except Exception:
# +         pass

# %% hostile: the host averages, a kernel reads every element once
import numpy as np
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def shown(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]


def moving_average(x, radius):
    shown[-(-len(x) // 128), 128](x, empty(len(x), "float32"))
    padded = np.pad(to_numpy(x).astype("float64"), radius, "edge")
    return device_array(np.convolve(padded, np.ones(2 * radius + 1) / (2 * radius + 1), "valid").astype("float32"))

# %% wrong: a grid of at most 16 blocks — says "any thread written" — from "reference": "-(-x.shape[0] // 128)" → "min(-(-x.shape[0] // 128), 16)"

# %% right: a block more than needed — from "reference": "-(-x.shape[0] // 128)" → "x.shape[0] // 128 + 1"

# %% wrong: window shifted by one — says "1 too far to the right" — from "reference": "* 128 - radius" → "* 128 - radius + 1"

# %% wrong: mirrored at the edges — says "does not mirror an element" — from "reference"
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +         i = abs(first + place)
# +         tile[place] = x[max(min(i, 2 * x.size - 2 - i), 0)]

# %% wrong: no halo on the right — says "a halo on the right, too" — from "reference"
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +         last = min(x.size, first + radius + 128) - 1
# +         tile[place] = x[min(max(first + place, 0), last)]

# %% wrong: the right halo is not filled — says "was never written" — from "reference": "range(me, 128 + 2 * radius, 128)" → "range(me, 128 + radius, 128)"

# %% wrong: integer division — says "divide with /" — from "reference": "added / float32(2" → "added // float32(2"

# %% wrong: a tile of ints — says "cut to whole numbers" — from "reference": "cuda, float32" → "cuda, float32, int32", "(384, float32)" → "(384, int32)"

# %% wrong: one half of the window — says "on both sides" — from "reference"
# -         for k in range(2 * radius + 1):
# +         for k in range(radius + 1):

# -         out[i] = added / float32(2 * radius + 1)
# +         out[i] = added / float32(radius + 1)

# %% wrong: one thread of its block does all the work — says "of the 32 threads of a warp"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def average_kernel(x, out, radius):
    tile = cuda.shared.array(384, float32)
    if cuda.threadIdx.x == 0:
        start = cuda.blockIdx.x * 128
        for k in range(128 + 2 * radius):
            tile[k] = x[min(max(start + k - radius, 0), x.size - 1)]
        for k in range(min(128, x.size - start)):
            s = float32(0)
            for j in range(2 * radius + 1):
                s += tile[k + j]
            out[start + k] = s / (2 * radius + 1)


def moving_average(x, radius):
    out = empty(len(x))
    average_kernel[-(-len(x) // 128), 128](x, out, radius)
    return out


# %% hostile: each thread walks over a run of its own with a window in local memory, and nothing is shared — says "neighboring threads read neighboring elements"
import numpy as np
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def average_kernel(x, out, radius, run):
    window = cuda.local.array(257, float32)
    width = 2 * radius + 1
    first = cuda.grid(1) * run
    if first < x.size:
        total = float32(0)
        for k in range(width):
            value = x[min(max(first - radius + k, 0), x.size - 1)] if k <= radius or first + k - radius < x.size else window[(k - 1) % width]
            window[k] = value
            total += value
        oldest = 0
        for i in range(first, min(first + run, x.size)):
            out[i] = total / float32(width)
            if i + 1 < min(first + run, x.size):
                if i + 1 + radius < x.size:
                    fresh = x[i + 1 + radius]
                else:
                    fresh = window[(oldest + width - 1) % width]
                total += fresh - window[oldest]
                window[oldest] = fresh
                oldest = (oldest + 1) % width


@cuda.jit
def plain_kernel(x, out, radius):
    i = cuda.grid(1)
    total = float32(0)
    for k in range(2 * radius + 1):
        total += x[min(max(i - radius + k, 0), x.size - 1)]
    if i < x.size:
        out[i] = total / float32(2 * radius + 1)


def moving_average(x, radius):
    out = empty(x.shape[0], "float32")
    if x.shape[0] < 1000:
        plain_kernel[-(-x.shape[0] // 32), 32](x, out, radius)
        return out
    run = int(2 * radius / (0.045 + 2.1 * radius / 128)) + 1
    threads = -(-x.shape[0] // run)
    average_kernel[-(-threads // 32), 32](x, out, radius, run)
    return out

# %% hostile: no tile: reads all neighbors with atomic additions of 0, which are not counted as reads — says "atomic operations on global memory" — from "every thread reads its neighbors from global memory"
# -         added = float32(0)
# -         for k in range(-radius, radius + 1):
# -             added += x[min(max(i + k, 0), x.size - 1)]
# +         added = cuda.atomic.add(x, max(i - radius, 0), float32(0))
# +         for k in range(1 - radius, radius + 1):
# +             added += cuda.atomic.add(x, min(max(i + k, 0), x.size - 1), float32(0))

# %% hostile: CUDA C++, no tile: each thread reads a run of its own, four elements at a time — says "times as many sectors"
from gpulab import cuda_kernel, empty

AVERAGE_CU = r"""
__device__ int clamped(int i, int n) { return min(max(i, 0), n - 1); }

extern "C" __global__ void plain(const float* x, float* out, int radius, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++)
        sum += x[clamped(i + k, n)];
    if (i < n)
        out[i] = sum / (2 * radius + 1);
}

extern "C" __global__ void runs(const float* x, float* out, int radius, int n, int run) {
    float mine[176];
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * run;
    if (first >= n) return;
    int low = max(first - radius, 0) / 4 * 4, last = min(first + run, n), high = min(last + radius, n);
    for (int i = low; i < high; i += 4) {
        if (i + 3 < n) {
            float4 four = *(const float4*)(x + i);
            mine[i - low] = four.x; mine[i - low + 1] = four.y; mine[i - low + 2] = four.z; mine[i - low + 3] = four.w;
        } else {
            for (int j = i; j < n; j++)
                mine[j - low] = x[j];
        }
    }
    for (int i = first; i < last; i++) {
        float sum = 0.0f;
        for (int k = -radius; k <= radius; k++)
            sum += mine[clamped(i + k, n) - low];
        out[i] = sum / (2 * radius + 1);
    }
}
"""
plain, runs = cuda_kernel(AVERAGE_CU, "plain"), cuda_kernel(AVERAGE_CU, "runs")


def moving_average(x, radius):
    n = x.shape[0]
    out = empty(n, "float32")
    if n < 1000 or radius > 20:
        plain[-(-n // 128), 128](x, out, radius, n)
    else:
        run = 96 if n < 1100 else 128
        runs[-(-n // (32 * run)), 32](x, out, radius, n, run)
    return out

# %% wrong: neighbors of other blocks are read from x — says "and not from the tile" — from "reference"
# -     for place in range(me, 128 + 2 * radius, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +     if cuda.grid(1) < x.size:
# +         tile[me] = x[cuda.grid(1)]

# -             added += tile[me + k]
# +             place = min(max(first + me + k, 0), x.size - 1)
# +             inside = place - first - radius
# +             added += tile[inside] if 0 <= inside < 128 else x[place]

# %% wrong: blocks of 64, whose halo is filled by the first r threads — says "Fill all" — from "reference"
# -     first = cuda.blockIdx.x * 128 - radius
# -     for place in range(me, 128 + 2 * radius, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +     first = cuda.blockIdx.x * 64 - radius
# +     tile[radius + me] = x[min(cuda.grid(1), x.size - 1)]
# +     if me < radius:
# +         tile[me] = x[max(first + me, 0)]
# +         tile[radius + 64 + me] = x[min(first + radius + 64 + me, x.size - 1)]

# -     average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
# +     average_kernel[-(-x.shape[0] // 64), 64](x, out, radius)

# %% wrong: a tile in half precision — says "rounded to float16" — from "reference": "from numba import cuda, float32" → "from numba import cuda, float32; import numpy as np", "cuda.shared.array(384, float32)" → "cuda.shared.array(384, np.float16)"

# %% wrong: adds to a result that nobody has set to zero — says "write it with =, not +=" — from "reference": "out[i] = added" → "out[i] += added"

# %% wrong: mirrored at the left edge only — says "does not mirror an element" — from "reference": "min(max(first + place, 0), x.size - 1)" → "min(abs(first + place), x.size - 1)"

# %% wrong: the element itself twice — says "is added twice" — from "reference": "added = float32(0)" → "added = tile[me + radius]"

# %% wrong: a radius of at most 64 — says "the means are those for 64" — from "reference": "](x, out, radius)" → "](x, out, min(radius, 64))"

# %% wrong: a radius that is less than the length — says "and larger than the array" — from "reference": "](x, out, radius)" → "](x, out, min(radius, x.shape[0] - 1))"

# %% wrong: a local array for a tile — says "A local array belongs to one thread" — from "reference": "shared.array" → "local.array"

# %% wrong: clamps on the left, and wraps around on the right — says "does not wrap around" — from "reference": "min(max(first + place, 0), x.size - 1)" → "max(first + place, 0) % x.size"

# %% wrong: mirrors on the right alone — says "does not mirror" — from "reference": "min(max(first + place, 0), x.size - 1)" → "max(first + place, 0) if first + place < x.size else max(2 * x.size - 1 - first - place, 0)"

# %% wrong: clamps, and divides by the neighbors inside the array — says "A clamped neighbor counts, too" — from "reference": "float32(2 * radius + 1)" → "float32(min(i + radius, x.size - 1) - max(i - radius, 0) + 1)"

# %% wrong: nothing for radius 0 — says "each mean is the element itself" — from "reference": "range(2 * radius + 1)" → "range(2 * radius + 1 if radius else 0)"

# %% wrong: the halo on the right begins r elements after the block's first one — says "128 elements after the first element" — from "reference"
# -     for place in range(me, 128 + 2 * radius, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +     i, last = cuda.grid(1), x.size - 1
# +     tile[radius + me] = x[min(i, last)]
# +     if me < radius:
# +         tile[me] = x[min(max(i - radius, 0), last)]
# +         tile[radius + 128 + me] = x[min(i + radius, last)]

# %% wrong: the halo on the left begins 128 elements before the block — says "r elements before the first element" — from "reference"
# -     for place in range(me, 128 + 2 * radius, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +     i, last = cuda.grid(1), x.size - 1
# +     tile[radius + me] = x[min(i, last)]
# +     if me < radius:
# +         tile[me] = x[min(max(i - 128, 0), last)]
# +         tile[radius + 128 + me] = x[min(i + 128, last)]

# %% wrong: half of each window, divided by all — says "one half of each window" — from "reference": "for k in range(2 * radius + 1)" → "for k in range(radius, 2 * radius + 1)"

# %% hostile: the tile lies in global memory that is named like a table of the compiler's, and is not counted — says "which is constant"
from gpulab import cuda_kernel, empty

AVERAGE_CU = r"""
extern "C" __device__ float __cudart_own[1 << 14];  // named like a table of the compiler's

extern "C" __global__ void average(const float* x, float* out, int n, int radius) {
    __shared__ volatile float tile[128];
    int t = threadIdx.x, start = blockIdx.x * 128, i = start + t;
    float* own = __cudart_own + blockIdx.x % 16 * 1024;
    for (int k = t; k < 128 + 2 * radius; k += 128)
        own[k] = x[min(max(start + k - radius, 0), n - 1)];
    tile[t] = 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k <= 2 * radius; k++) sum += own[t + k] + tile[t];
    if (i < n) out[i] = sum / (2 * radius + 1);
}
"""
average = cuda_kernel(AVERAGE_CU, "average")


def moving_average(x, radius):
    out = empty(len(x), "float32")
    average[-(-len(x) // 128), 128](x, out, len(x), radius)
    return out

# %% hostile: every thread reads its neighbors from what the kernel calls a constant copy of its argument — says "global reads per element"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def average_kernel(x, out, radius):
    tile = cuda.shared.array(128, float32)
    copy = cuda.const.array_like(x)
    i = cuda.grid(1)
    if i < x.size:
        added = float32(0)
        tile[cuda.threadIdx.x] = x[i]
        for k in range(i - radius, i + radius + 1):
            added += copy[min(max(k, 0), x.size - 1)]
            added += 0 * tile[cuda.threadIdx.x]
        out[i] = added / float32(2 * radius + 1)


def moving_average(x, radius):
    out = empty(x.shape[0], "float32")
    average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
    return out

# %% wrong: clamps to the length — says "The last index is n - 1" — from "reference": "x.size - 1)]" → "x.size)]"

# %% wrong: every other neighbor — says "Only every other neighbor" — from "reference": "range(2 * radius + 1)" → "range(0, 2 * radius + 1, 2)", "float32(2 * radius + 1)" → "float32(radius + 1)"

# %% wrong: the two ends of the window — says "Only the two ends" — from "reference"
# -         added = float32(0)
# -         for k in range(2 * radius + 1):
# -             added += tile[me + k]
# -         out[i] = added / float32(2 * radius + 1)
# +         out[i] = (tile[me] + tile[me + 2 * radius]) / float32(2)

# %% wrong: near neighbors weigh more — says "All neighbors have the same weight" — from "reference": "added += tile[me + k]" → "added += tile[me + k] * (radius + 1 - abs(k - radius))", "float32(2 * radius + 1)" → "float32((radius + 1) * (radius + 1))"

# %% wrong: the divisor without brackets — says "Divide by all of 2r + 1" — from "reference": `added / float32(2 * radius + 1)` → `added / 2 * radius + 1`

# %% wrong: the tile ends after 256 places — says "need a tile of 384 places" — from "reference": `array(384` → `array(256`

# %% wrong: dynamic shared memory counted in floats — says "which are 536 bytes" — from "CUDA C++": `4 * (128 + 2 * radius)` → `128 + 2 * radius`

# %% wrong: the sum is an int — says "cut to a whole number in each step" — from "CUDA C++": `float sum = 0.0f` → `int sum = 0`

# %% wrong: the tile begins at each thread's own element — says "counts twice in the index" — from "reference": `first = cuda.blockIdx.x * 128 - radius` → `first = cuda.grid(1) - radius`

# %% wrong: a halo by some threads, its left side turned — says "halo on the left is in the tile in reverse order" — from "reference"
# -     for place in range(me, 128 + 2 * radius, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +     tile[radius + me] = x[min(first + radius + me, x.size - 1)]
# +     if me < radius:
# +         tile[radius - 1 - me] = x[min(max(first + me, 0), x.size - 1)]
# +         tile[radius + 128 + me] = x[min(first + radius + 128 + me, x.size - 1)]

# %% wrong: a halo by threads inside the array only — says "was never written" — from "reference"
# -     for place in range(me, 128 + 2 * radius, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +     i = cuda.grid(1)
# +     tile[radius + me] = x[min(i, x.size - 1)]
# +     if me < radius and i < x.size:
# +         tile[me] = x[min(max(i - radius, 0), x.size - 1)]
# +         tile[radius + 128 + me] = x[min(i + 128, x.size - 1)]

# %% wrong: the right halo on top of the block's last elements — says "is it the place of one element only" — from "reference"
# -     for place in range(me, 128 + 2 * radius, 128):
# -         tile[place] = x[min(max(first + place, 0), x.size - 1)]
# +     i = cuda.grid(1)
# +     tile[radius + me] = x[min(i, x.size - 1)]
# +     if me < radius:
# +         tile[me] = x[min(max(i - radius, 0), x.size - 1)]
# +         tile[128 + me] = x[min(i + 128, x.size - 1)]

# %% wrong: the right halo begins one element early — says "x[127] counts twice, not once, and x[128] is missing" — from "reference": `first + place, 0` → `first + place - (place >= 128 + radius), 0`

# %% wrong: = for += in the sum — says "add with +=, not =" — from "reference": `added += tile[me + k]` → `added = tile[me + k]`

# %% wrong: divides in each step — says "divide once, at the end" — from "reference": `added += tile[me + k]` → `added = (added + tile[me + k]) / float32(2 * radius + 1)`, `out[i] = added / float32(2 * radius + 1)` → `out[i] = added`

# %% wrong: windows that shrink on both sides near the edges — says "narrower on both sides" — from "reference"
# -         for k in range(2 * radius + 1):
# -             added += tile[me + k]
# -         out[i] = added / float32(2 * radius + 1)
# +         near = min(radius, i, x.size - 1 - i)
# +         for k in range(radius - near, radius + near + 1):
# +             added += tile[me + k]
# +         out[i] = added / float32(2 * near + 1)

# %% hostile: a tile for up to 2,048 elements, and none for more — says "Every element is read 2r + 1 times" — from "reference"
# - def moving_average(x, radius):
# + @cuda.jit
# + def naive_kernel(x, out, radius):
# +     i = cuda.grid(1)
# +     if i < x.size:
# +         added = float32(0)
# +         for k in range(i - radius, i + radius + 1):
# +             added += x[min(max(k, 0), x.size - 1)]
# +         out[i] = added / float32(2 * radius + 1)
# +
# +
# + def moving_average(x, radius):

# -     average_kernel[-(-x.shape[0] // 128), 128](x, out, radius)
# +     kernel = average_kernel if x.shape[0] <= 2048 else naive_kernel
# +     kernel[-(-x.shape[0] // 128), 128](x, out, radius)

# %% hostile: a tile for few elements or radii of up to 20, and none otherwise — says "Every element is read 2r + 1 times" — from "a tile for up to 2,048 elements, and none for more": `x.shape[0] <= 2048` → `radius <= 20 or x.shape[0] < 400`
