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

# %% right: mirrors on the way in, dynamic shared memory — from "reference"
# -     tile = cuda.shared.array(128, float32)
# +     tile = cuda.shared.array(0, float32)
# +     t, i = cuda.threadIdx.x, cuda.grid(1)
# +     length = min(cuda.blockDim.x, x.size - cuda.blockIdx.x * cuda.blockDim.x)
# +     if i < x.size:
# +         tile[length - 1 - t] = x[i]
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# -     length = min(128, x.size - start)
# -     if t < length:
# -         tile[t] = x[start + t]

# -     if t < length:
# -         out[start + t] = tile[length - 1 - t]
# +     if i < x.size:
# +         out[i] = tile[t]

# -     block_reverse_kernel[-(-len(x) // 128), 128](x, out)
# +     block_reverse_kernel[-(-len(x) // 128), 128, 0, 4 * 128](x, out)

# %% right: one block for all runs, 64 threads, a barrier before the tile is used again — from "reference"
# +     for start in range(0, x.size, 128):
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# -     length = min(128, x.size - start)
# +         length = min(128, x.size - start)
# -     if t < length:
# +         for t in range(cuda.threadIdx.x, length, cuda.blockDim.x):
# -         tile[t] = x[start + t]
# +             tile[t] = x[start + t]
# -     cuda.syncthreads()
# +         cuda.syncthreads()
# -     if t < length:
# +         for t in range(cuda.threadIdx.x, length, cuda.blockDim.x):
# -         out[start + t] = tile[length - 1 - t]
# +             out[start + t] = tile[length - 1 - t]
# +         cuda.syncthreads()

# -     block_reverse_kernel[-(-len(x) // 128), 128](x, out)
# +     block_reverse_kernel[1, 64](x, out)

# %% right: CUDA C++
from gpulab import cuda_kernel, empty

REVERSE_CU = r"""
extern "C" __global__ void reverse(const float* x, float* out, int n) {
    __shared__ float tile[128];
    int t = threadIdx.x, start = blockIdx.x * 128, length = min(128, n - start);
    if (t < length)
        tile[t] = x[start + t];
    __syncthreads();
    if (t < length)
        out[start + t] = tile[length - 1 - t];
}
"""
reverse = cuda_kernel(REVERSE_CU, "reverse")


def block_reverse(x):
    out = empty(len(x), "float32")
    reverse[-(-len(x) // 128), 128](x, out, len(x))
    return out

# %% right: CUDA C++, dynamic shared memory, its bytes after the default stream — from "CUDA C++": "__shared__ float tile[128];" → "extern __shared__ float tile[];", "128), 128](" → "128), 128, 0, 512]("

# %% wrong: CUDA C++ without a barrier — says "Is a barrier missing?" — from "CUDA C++"
# -     __syncthreads();

# %% wrong: CUDA C++, the last run is not shorter — says "out of bounds" — from "CUDA C++": "min(128, n - start)" → "128"

# %% wrong: CUDA C++ that does not compile — says "expected a" — from "CUDA C++": "tile[128];" → "tile[128]"

# %% wrong: no barrier — says "no barrier between them" — from "reference"
# -     cuda.syncthreads()

# %% wrong: a barrier for the warp only — says "race for tile" — from "reference": "syncthreads" → "syncwarp"

# %% wrong: barrier inside a divergent branch — says "every thread of a block must reach every barrier" — from "reference"
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# +     t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128

# -     cuda.syncthreads()
# +         cuda.syncthreads()
# -     if t < length:

# %% wrong: returns before the barrier — says "do not return before it" — from "reference"
# +     t, i = cuda.threadIdx.x, cuda.grid(1)
# +     if i >= x.size:
# +         return
# +     tile[t] = x[i]
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# -     length = min(128, x.size - start)
# -     if t < length:
# -         tile[t] = x[start + t]

# +     out[i] = tile[min(128, x.size - cuda.blockIdx.x * 128) - 1 - t]
# -     if t < length:
# -         out[start + t] = tile[length - 1 - t]

# %% wrong: two barriers, one in each branch — says "every thread of a block must reach every barrier" — from "reference"
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# +     t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128

# -     cuda.syncthreads()
# +         cuda.syncthreads()
# +     else:
# +         cuda.syncthreads()

# %% wrong: tile one short — says "shared array 'tile' has 127 elements" — from "reference": "array(128," → "array(127,"

# %% wrong: tile of another size — says "shared array 'tile' has 64 elements" — from "reference": "array(128," → "array(64,"

# %% wrong: straight from global to global — says "must go through it" — from "reference"
# -     tile = cuda.shared.array(128, float32)
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# +     t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128

# -         tile[t] = x[start + t]
# -     cuda.syncthreads()
# -     if t < length:
# -         out[start + t] = tile[length - 1 - t]
# +         out[start + t] = x[start + length - 1 - t]

# %% wrong: uses global memory twice, swapping in the result — says "read from global memory" — from "reference"
# -     tile = cuda.shared.array(128, float32)
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# +     t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128

# -         tile[t] = x[start + t]
# +         out[start + t] = x[start + t]

# -         out[start + t] = tile[length - 1 - t]
# +         value = out[start + length - 1 - t]
# +     cuda.syncthreads()
# +     if t < length:
# +         out[start + t] = value

# %% wrong: through the tile, but global memory is read again — says "read from global memory" — from "reference"
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# +     t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128

# -         out[start + t] = tile[length - 1 - t]
# +         mirrored = tile[length - 1 - t]
# +         out[start + t] = mirrored if mirrored == x[start + length - 1 - t] else mirrored

# %% wrong: the result is copied first, then written again — says "written to global memory" — from "reference"
# -     t = cuda.threadIdx.x
# -     start = cuda.blockIdx.x * 128
# +     t, start = cuda.threadIdx.x, cuda.blockIdx.x * 128

#           tile[t] = x[start + t]
# +         out[start + t] = tile[t]

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

# %% wrong: the last, short run is left out — says "The last, shorter run is missing" — from "reference": "[-(-len" → "[max(1, len"

# %% wrong: no guard — says "a guard such as i < n" — from "the last run is turned as if it were whole"
# -     if i < x.size:
# -         tile[t] = x[i]
# +     tile[t] = x[i]

# -     if i < x.size:
# -         out[i] = tile[127 - t]
# +     out[i] = tile[127 - t]

# %% wrong: turns the whole array around — says "whole array reversed" — from "the last run is turned as if it were whole"
# -         out[i] = tile[127 - t]
# +         out[x.size - 1 - i] = tile[t]

# %% wrong: mirrors at the length instead of the last place — says "shared array 'tile' has 128 elements" — from "reference": "1 - " → ""

# %% wrong: runs of 256 — says "128 elements, not 256" — from "reference"
# -     tile = cuda.shared.array(128, float32)
# +     tile = cuda.shared.array(256, float32)

# -     start = cuda.blockIdx.x * 128
# +     start = cuda.blockIdx.x * 256
# -     length = min(128, x.size - start)
# +     length = min(256, x.size - start)

# -     block_reverse_kernel[-(-len(x) // 128), 128](x, out)
# +     block_reverse_kernel[-(-len(x) // 256), 256](x, out)

# %% wrong: float64 result — says "float32 in, float32 out" — from "reference": `"float32` → `"float64`

# %% wrong: the tile holds ints — says "cut to whole numbers" — from "reference": "cuda, float32" → "cuda, int32", " float32)" → " int32)"

# %% wrong: the size of the tile is not a constant — says "numba cannot translate" — from "reference"
# -     tile = cuda.shared.array(128, float32)

#       length = min(128, x.size - start)
# +     tile = cuda.shared.array(length, float32)

# %% wrong: no return — says "is there a return statement" — from "reference"
# -     return out

# %% wrong: in place — says "changed an argument" — from "reference": "        out" → "        x", "return out" → "return x"

# %% wrong: on the host — says "no kernel was launched"
import numpy as np


def block_reverse(x):
    return np.concatenate([x[start : start + 128][::-1] for start in range(0, len(x), 128)])

# %% hostile: the barrier is patched away — earns 0 — from "reference"
#   from gpulab import empty
# +
# +
# + import numba.cuda
# +
# + numba.cuda.syncthreads = lambda: None

# +     tile[t] = x[cuda.grid(1)]
# +     out[cuda.grid(1)] = tile[127 - t]
# -     start = cuda.blockIdx.x * 128
# -     length = min(128, x.size - start)
# -     if t < length:
# -         tile[t] = x[start + t]
# -     cuda.syncthreads()
# -     if t < length:
# -         out[start + t] = tile[length - 1 - t]

# %% hostile: the host reverses, a kernel goes through shared memory for show
import numpy as np
from numba import cuda, float32

from gpulab import device_array, empty, to_numpy


@cuda.jit
def shown(x, out):
    tile = cuda.shared.array(128, float32)
    i = cuda.grid(1)
    if i < x.size:
        tile[cuda.threadIdx.x] = x[i]
        out[i] = tile[cuda.threadIdx.x]


def block_reverse(x):
    shown[-(-len(x) // 128), 128](x, empty(len(x), "float32"))
    host = to_numpy(x)
    return device_array(np.concatenate([host[start : start + 128][::-1] for start in range(0, len(host), 128)]))

# %% right: a block more than needed — from "reference": "-(-len(x) // 128)" → "len(x) // 128 + 1"

# %% wrong: grid rounded down — says "does the grid round up" — from "reference": "-(-len(x) // 128)" → "len(x) // 128"

# %% wrong: absolute values — says "lost their sign" — from "reference": "= tile[length - 1 - t]" → "= abs(tile[length - 1 - t])"

# %% wrong: the short run turned at 127, zeros in the tile — says "the last run is shorter" — from "the last run is turned as if it were whole"
# -     if i < x.size:
# -         tile[t] = x[i]
# +     tile[t] = x[i] if i < x.size else 0

# %% wrong: nothing is turned — says "That is x itself" — from "reference": "tile[length - 1 - t]" → "tile[t]"

# %% wrong: one thread of its block does all the work — says "of the 32 threads of a warp"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    if cuda.threadIdx.x == 0:
        start = cuda.blockIdx.x * 128
        n = min(128, x.size - start)
        for k in range(n):
            tile[k] = x[start + k]
        for k in range(n):
            out[start + k] = tile[n - 1 - k]


def block_reverse(x):
    out = empty(len(x))
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out


# %% hostile: reads mirrored places of global memory, and writes something to shared memory next to it — says "in different orders"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = x[start + length - 1 - t]
        out[start + t] = tile[t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out


# %% hostile: each of 64 threads swaps two elements in its registers, and shared memory is for show — says "in different orders"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    show = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    low, high = t, length - 1 - t
    if low <= high:
        first = x[start + low]
        show[low] = first
        first = show[low]
        if low == high:
            out[start + low] = first
        else:
            last = x[start + high]
            show[high] = last
            out[start + low] = show[high]
            out[start + high] = first


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 64](x, out)
    return out

# %% hostile: reads mirrored places by atomic additions of 0, lane by lane, and shared memory is for show — says "atomic operations on global memory" — from "reference"
# -         tile[t] = x[start + t]
# -     cuda.syncthreads()
# -     if t < length:
# -         out[start + t] = tile[length - 1 - t]
# +         tile[t] = 0
# +         value = tile[t]
# +         for lane in range(32):
# +             if t % 32 == lane:
# +                 value += cuda.atomic.add(x, start + length - 1 - t, float32(0))
# +         out[start + t] = value

# %% hostile: one array for the results of all calls — says "overwrote what an earlier call had returned" — from "reference"
# - def block_reverse(x):
# + ROOM = empty(1 << 20, "float32")
# +
# +
# + def block_reverse(x):

# -     out = empty(len(x), "float32")
# +     out = ROOM[: len(x)]

# %% wrong: an array of each thread's own — says "cuda.shared.array is one array for all" — from "reference": "shared.array" → "local.array"

# %% wrong: no guard around the write — says "Is a guard missing" — from "reference"
# -     if t < length:
# -         out[start + t] = tile[length - 1 - t]
# +     out[start + t] = tile[length - 1 - t]

# %% wrong: the remainder for the length of the last run, even where it is full — says "its length is 128" — from "reference": "min(128, x.size - start)" → "128 if start + 128 < x.size else x.size % 128"

# %% wrong: leaves out the first thread of each run — says "The first element of each run is missing" — from "reference"
# -     if t < length:
# -         out[start + t] = tile[length - 1 - t]
# +     if 0 < t < length:
# +         out[start + t] = tile[length - 1 - t]

# %% wrong: the mirrored place is one too far — says "length - 1 - t" — from "reference": "shared.array(128," → "shared.array(129,", "tile[length - 1 - t]" → "tile[length - t]"

# %% hostile: mirrored places are loaded as constants, which are not counted, and shared memory is for show — says "as if it lay in constant memory"
from gpulab import cuda_kernel, empty

REVERSE_CU = r"""
__device__ float seen(const float* p) { float v; asm volatile("ld.const.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory"); return v; }
extern "C" __global__ void reverse(const float* x, float* out, int n) {
    __shared__ volatile float tile[128];
    int t = threadIdx.x, start = blockIdx.x * 128, length = min(128, n - start);
    tile[t] = 0.0f;
    if (t < length) out[start + t] = seen(x + start + length - 1 - t) + tile[t];
}
"""
reverse = cuda_kernel(REVERSE_CU, "reverse")


def block_reverse(x):
    out = empty(len(x), "float32")
    reverse[-(-len(x) // 128), 128](x, out, len(x))
    return out

# %% hostile: mirrored places in loads of which lane 0 takes a constant, and shared memory is for show — says "in different orders"
from gpulab import cuda_kernel, empty

REVERSE_CU = r"""
__constant__ float table[1] = {0.0f};
__device__ float seen(const float* p) { float v; asm volatile("ld.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory"); return v; }
extern "C" __global__ void reverse(const float* x, float* out, int n) {
    __shared__ volatile float tile[160];
    int t = threadIdx.x, lane = t % 32, me = t / 32 * 31 + lane - 1, start = blockIdx.x * 128, length = min(128, n - start);
    tile[t] = 0.0f;
    float v = seen(lane == 0 || me >= length ? table : x + start + length - 1 - me);
    if (lane && me < length) out[start + me] = v + tile[t];
}
"""
reverse = cuda_kernel(REVERSE_CU, "reverse")


def block_reverse(x):
    out = empty(len(x), "float32")
    reverse[-(-len(x) // 128), 160](x, out, len(x))
    return out

# %% hostile: mirrored places of what a kernel calls a constant copy of its argument, and shared memory is for show — says "in different orders"
from numba import cuda, float32

from gpulab import empty


@cuda.jit
def block_reverse_kernel(x, out):
    tile = cuda.shared.array(128, float32)
    copy = cuda.const.array_like(x)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * 128
    length = min(128, x.size - start)
    if t < length:
        tile[t] = float32(0)
        out[start + t] = copy[start + length - 1 - t] + tile[t]


def block_reverse(x):
    out = empty(len(x), "float32")
    block_reverse_kernel[-(-len(x) // 128), 128](x, out)
    return out
# %% wrong: every block fills its tile from the beginning of x — says "add the start of" — from "reference": "= x[start + t]" → "= x[t]"

# %% wrong: the mirrored place of the first is the length — says "is the last, length - 1" — from "reference": "length - 1 - t" → "length - t"

# %% hostile: the host reverses the runs of long arrays, and the grid covers short ones only — says "no kernel was launched" — from "reference"
# - from gpulab import empty
# + import numpy as np
# +
# + from gpulab import device_array, empty, to_numpy

# -     out = empty(len(x), "float32")
# +     if len(x) > 2048:
# +         runs = np.split(to_numpy(x), range(128, len(x), 128))
# +         return device_array(np.concatenate([run[::-1] for run in runs]))
# +     out = empty(len(x), "float32")

# -     block_reverse_kernel[-(-len(x) // 128), 128](x, out)
# +     block_reverse_kernel[16, 128](x, out)
# %% wrong: moved around by one — says "moved around by one place" — from "reference": "tile[length - 1 - t]" → "tile[(length - t) % length]"

# %% wrong: swaps neighbors — says "swapped in groups of 2" — from "reference": "tile[length - 1 - t]" → "tile[min(t ^ 1, length - 1)]"

# %% wrong: reverses the first half of each run, and copies the second — says "Only half of each run was reversed" — from "reference": "tile[length - 1 - t]" → "tile[length - 1 - t if t < length // 2 else t]"

# %% wrong: blocks of 64 threads for runs of 128 — says "elements were written to shared memory" — from "reference": "128), 128](" → "128), 64]("

# %% wrong: length without min — says "at most 128 elements" — from "reference": `min(128, x.size - start)` → `x.size - start`

# %% wrong: blocks and threads exchanged in the brackets — says "the number of blocks comes first" — from "reference": `[-(-len(x) // 128), 128]` → `[128, -(-len(x) // 128)]`

# %% wrong: mirrored at the end of the array, modulo 128 — says "at the run's own end" — from "reference": `tile[length - 1 - t]` → `tile[(x.size - 1 - start - t) % 128]`

# %% wrong: runs of 256, the last one mirrored as a whole — says "128 elements, not 256" — from "reference": `array(128` → `array(256`, `blockIdx.x * 128` → `blockIdx.x * 256`, `min(128,` → `min(256,`, `length - 1 - t` → `255 - t`, `// 128), 128]` → `// 256), 256]`

# %% wrong: written at the mirrored place of a whole run — says "of the 328 elements" — from "reference": `out[start + t] = tile[length - 1 - t]` → `out[start + 127 - t] = tile[t]`

# %% wrong: two runs per block, in one tile of 128 — says "is it the place of one thread only" — from "reference": `t = cuda.threadIdx.x` → `t = cuda.threadIdx.x % 128`, `start = cuda.blockIdx.x * 128` → `start = cuda.grid(1) // 128 * 128`, `-(-len(x) // 128), 128` → `-(-len(x) // 256), 256`

# %% wrong: every run as long as the last one — says "x[127] belongs there" — from "reference": `min(128, x.size - start)` → `x.size % 128 or 128`

# %% wrong: the halves of each run change places — says "is x[64]: x[127] belongs there" — from "reference": `tile[length - 1 - t]` → `tile[(t + length // 2) % length]`

# %% wrong: a block begins at blockIdx times gridDim — says "128 elements apart" — from "reference": `cuda.blockIdx.x * 128` → `cuda.blockIdx.x * cuda.gridDim.x`

# %% wrong: mirrored in the tile and in the result — says "not both or none" — from "reference": `out[start + t] =` → `out[start + length - 1 - t] =`

# %% wrong: last element of each run not written — says "The last element of each run is missing" — from "reference"
#       cuda.syncthreads()
# -     if t < length:
# +     if t < length - 1:

# %% wrong: both threads of a pair swap it — says "let one of them do it" — from "reference"
# -     if t < length:
# -         out[start + t] = tile[length - 1 - t]
# +     if t < length:
# +         mirrored = tile[length - 1 - t]
# +         tile[length - 1 - t] = tile[t]
# +         tile[t] = mirrored
# +     cuda.syncthreads()
# +     if t < length:
# +         out[start + t] = tile[t]
