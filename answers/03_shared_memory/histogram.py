# %% right: reference, zeros handed in as well
import numpy as np
from numba import cuda, int32

from gpulab import device_array


@cuda.jit
def count(x, counts):
    private = cuda.shared.array(1024, int32)
    me, bins = cuda.threadIdx.x, counts.size
    for place in range(me, bins, 128):
        private[place] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(private, x[i], 1)
    cuda.syncthreads()
    for place in range(me, bins, 128):
        cuda.atomic.add(counts, place, private[place])


def histogram(x, bins):
    counts = device_array(np.zeros(bins, np.int32))
    count[min(-(-x.shape[0] // 1024), 512), 128](x, counts)
    return counts

# %% right: dynamic shared memory, as large as the bins, empty bins skipped
import numpy as np
from numba import cuda, int32

from gpulab import device_array


@cuda.jit
def count(x, bins, counts):
    mine = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    while t < bins:
        mine[t] = 0
        t += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < len(x):
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, bins, cuda.blockDim.x):
        if mine[b]:
            cuda.atomic.add(counts, b, mine[b])


def histogram(x, bins):
    counts = device_array(np.zeros(bins, dtype="int32"))
    threads = 256
    count[(len(x) + threads - 1) // threads, threads, 0, 4 * bins](x, bins, counts)
    return counts

# %% right: one block, atomics in shared memory, plain writes
from numba import cuda, int32

from gpulab import empty


@cuda.jit
def count(x, counts):
    mine = cuda.shared.array(1024, int32)
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 1024, width):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(t, x.shape[0], width):
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, counts.shape[0], width):
        counts[b] = mine[b]


def histogram(x, bins):
    counts = empty(bins, "int32")
    count[1, 512](x, counts)
    return counts

# %% right: CUDA C++
import numpy as np

from gpulab import cuda_kernel, device_array

COUNT_CU = r"""
extern "C" __global__ void count(const int* x, int* counts, int n, int bins) {
    __shared__ int mine[1024];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        mine[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&mine[x[i]], 1);
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        if (mine[bin])
            atomicAdd(&counts[bin], mine[bin]);
}
"""
count = cuda_kernel(COUNT_CU, "count")


def histogram(x, bins):
    n, counts = x.shape[0], device_array(np.zeros(bins, np.int32))
    count[min(-(-n // 1024), 512), 128](x, counts, n, bins)
    return counts

# %% wrong: CUDA C++ without atomics — says "no barrier between" — from "CUDA C++": "atomicAdd(&mine[x[i]], 1)" → "mine[x[i]] += 1"

# %% wrong: CUDA C++, the private histogram is not set to zero — says "shared memory is not zero" — from "CUDA C++": "mine[bin] = 0;" → ";"

# %% wrong: a global atomic per element — says "global atomic per element"
import numpy as np
from numba import cuda, int32

from gpulab import device_array


@cuda.jit
def count(x, counts):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)


def histogram(x, bins):
    counts = device_array(np.zeros(bins, np.int32))
    count[min(-(-x.shape[0] // 1024), 512), 128](x, counts)
    return counts

# %% wrong: a global atomic per element, many small blocks — says "global atomic per element" — from "a global atomic per element"
# -     count[min(-(-x.shape[0] // 1024), 512), 128](x, counts)
# +     count[-(-x.shape[0] // 2), 2](x, counts)

# %% wrong: the private histogram is not set to zero — says "not zero at the start" — from "reference, zeros handed in as well"
# -     for place in range(me, bins, 128):
# -         private[place] = 0
# -     cuda.syncthreads()

# %% wrong: no barrier after setting to zero — says "no barrier between" — from "reference, zeros handed in as well"
#           private[place] = 0
# -     cuda.syncthreads()

# %% wrong: no barrier before handing in — says "no barrier between" — from "reference, zeros handed in as well"
#           cuda.atomic.add(private, x[i], 1)
# -     cuda.syncthreads()

# %% wrong: counts without atomics — says "cuda.atomic.add" — from "reference, zeros handed in as well"
# -         cuda.atomic.add(private, x[i], 1)
# +         private[x[i]] += 1

# %% wrong: hands in without atomics — says "nothing orders two blocks" — from "reference, zeros handed in as well"
# -         cuda.atomic.add(counts, place, private[place])
# +         counts[place] += private[place]

# %% wrong: every block replaces the result — says "race" — from "reference, zeros handed in as well"
# -         cuda.atomic.add(counts, place, private[place])
# +         counts[place] = private[place]

# %% wrong: only as many bins as threads — says "more bins than threads" — from "reference, zeros handed in as well"
#       me, bins = cuda.threadIdx.x, counts.size
# -     for place in range(me, bins, 128):
# +     for place in range(me, 1024, 128):

#       cuda.syncthreads()
# -     for place in range(me, bins, 128):
# +     place = me
# +     if place < bins:

# %% wrong: drops the tail — says "tail" — from "reference, zeros handed in as well"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +     for i in range(cuda.grid(1), x.size // 128 * 128 if x.size > 128 else x.size, cuda.gridsize(1)):

# %% wrong: one element a thread in a grid for eight — says "values are counted" — from "reference, zeros handed in as well"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +     i = cuda.grid(1)
# +     if i < x.size:

# %% wrong: barrier inside the guard — says "barrier" — from "reference, zeros handed in as well"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +     i = cuda.grid(1)
# +     if i < x.size:
#           cuda.atomic.add(private, x[i], 1)
# -     cuda.syncthreads()
# +         cuda.syncthreads()

# -     count[min(-(-x.shape[0] // 1024), 512), 128](x, counts)
# +     count[-(-x.shape[0] // 128), 128](x, counts)

# %% wrong: no guard — says "x[" — from "reference, zeros handed in as well"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# -         cuda.atomic.add(private, x[i], 1)
# +     cuda.atomic.add(private, x[cuda.grid(1)], 1)

# -     count[min(-(-x.shape[0] // 1024), 512), 128](x, counts)
# +     count[-(-x.shape[0] // 128), 128](x, counts)

# %% wrong: room for 256 bins only — says "private[" — from "reference, zeros handed in as well": "(1024" → "(256"

# %% wrong: a histogram for every thread, over the limit — says "shared memory" — from "reference, zeros handed in as well"
# -     private = cuda.shared.array(1024, int32)
# +     private = cuda.shared.array((128, 1024), int32)

# -         private[place] = 0
# +         private[me, place] = 0

# -         cuda.atomic.add(private, x[i], 1)
# +         cuda.atomic.add(private, (me, x[i]), 1)

# -         cuda.atomic.add(counts, place, private[place])
# +         cuda.atomic.add(counts, place, private[me, place])

# %% wrong: result not set to zero — says "was never written" — from "reference, zeros handed in as well"
# - from gpulab import device_array
# + from gpulab import device_array, empty

# -     counts = device_array(np.zeros(bins, np.int32))
# +     counts = empty(bins, "int32")

# %% wrong: result in int64 — says "int32" — from "reference, zeros handed in as well": ".int32" → ".int64"

# %% wrong: result in float32 — says "float32" — from "reference, zeros handed in as well": ".int32" → ".float32"

# %% wrong: shares, not counts — says "expected" — from "reference, zeros handed in as well"
# -     return counts
# +     return (counts / x.shape[0])

# %% wrong: every thread hands in every bin — says "expected" — from "reference, zeros handed in as well"
#       cuda.syncthreads()
# -     for place in range(me, bins, 128):
# +     for place in range(bins):

# %% wrong: counted by NumPy on the host — says "no kernel read"
import numpy as np

from gpulab import device_array, to_numpy


def histogram(x, bins):
    return device_array(np.bincount(to_numpy(x), minlength=bins).astype(np.int32))

# %% wrong: returns nothing — says "None" — from "reference, zeros handed in as well"
# -     return counts

# %% wrong: an empty launch — says "threads" — from "reference, zeros handed in as well": " 128]" → " 0]"

# %% hostile: raises SystemExit as if all were well — earns 0
def histogram(x, bins):
    raise SystemExit(0)

# %% hostile: replaces the check — earns 0
import gpulab.check

gpulab.check.equal = gpulab.check.close = lambda *arguments, **named: None


def histogram(x, bins):
    return None

# %% hostile: the host counts, a kernel reads everything and writes to shared memory
import numpy as np
from numba import cuda, int32

from gpulab import device_array, to_numpy


@cuda.jit
def shown(x, counts):
    private = cuda.shared.array(128, int32)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        private[cuda.threadIdx.x] = x[i]
    if cuda.grid(1) == 0:
        cuda.atomic.add(counts, 0, 0)


def histogram(x, bins):
    counts = device_array(np.zeros(bins, np.int32))
    shown[1, 128](x, counts)
    return device_array(np.bincount(to_numpy(x), minlength=bins).astype(np.int32))

# %% wrong: adds the values — says "each element adds 1" — from "reference, zeros handed in as well": "private, x[i], 1" → "private, x[i], x[i]"

# %% wrong: bins off by one — says "one bin too far to the right" — from "reference, zeros handed in as well": "private, x[i], 1" → "private, (x[i] + 1) % bins, 1"

# %% wrong: the last bin is not handed in — says "The last bin is missing" — from "reference, zeros handed in as well"
# -         cuda.atomic.add(counts, place, private[place])
# +         if place < bins - 1:
# +             cuda.atomic.add(counts, place, private[place])

# %% wrong: hands in whether a value occurs — says "add its whole count" — from "reference, zeros handed in as well": "counts, place, private[place]" → "counts, place, min(private[place], 1)"

# %% wrong: every block counts all values — says "the first index is cuda.grid(1)" — from "reference, zeros handed in as well": "range(cuda.grid(1), x.size, cuda.gridsize(1))" → "range(me, x.size, 128)"

# %% wrong: one thread of the grid does all the work — says "of the 32 threads of a warp"
import numpy as np
from numba import cuda, int32

from gpulab import device_array


@cuda.jit
def histogram_kernel(x, counts):
    private = cuda.shared.array(1024, int32)
    for k in range(counts.size):
        private[k] = 0
    for i in range(x.size):
        private[x[i]] += 1
    for k in range(counts.size):
        counts[k] = private[k]


def histogram(x, bins):
    counts = device_array(np.zeros(bins, np.int32))
    histogram_kernel[1, 1](x, counts)
    return counts


# %% hostile: one thread per bin reads all values and counts its own, without atomics, and shared memory is for show — says "read each value once"
from numba import cuda, int32

from gpulab import empty


@cuda.jit
def histogram_kernel(x, counts):
    show = cuda.shared.array(32, int32)
    bin_number = cuda.grid(1)
    show[cuda.threadIdx.x] = 0
    count = 0
    for i in range(x.size):
        if x[i] == bin_number:
            count += 1
    if bin_number < counts.size:
        counts[bin_number] = count


def histogram(x, bins):
    counts = empty(bins, "int32")
    histogram_kernel[-(-bins // 32), 32](x, counts)
    return counts


# %% hostile: each warp counts by ballots, bin after bin, and shared memory is for show — says "cuda.atomic.add"
import numpy as np
from numba import cuda, int32

from gpulab import device_array


@cuda.jit
def ballot_kernel(x, counts):
    show = cuda.shared.array(32, int32)
    show[cuda.threadIdx.x] = 0
    values = cuda.local.array(8, int32)
    for k in range(8):
        i = cuda.blockIdx.x * 256 + 32 * k + cuda.threadIdx.x
        values[k] = x[i] if i < x.size else -1
    for bin_number in range(counts.size):
        count = 0
        for k in range(8):
            count += cuda.popc(cuda.ballot_sync(0xFFFFFFFF, values[k] == bin_number))
        if cuda.threadIdx.x == 0:
            cuda.atomic.add(counts, bin_number, count)


@cuda.jit
def atomic_kernel(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, x[i], 1)


def histogram(x, bins):
    counts = device_array(np.zeros(bins, np.int32))
    if x.shape[0] >= 1000 and bins < 10:
        ballot_kernel[-(-x.shape[0] // 256), 32](x, counts)
    else:
        atomic_kernel[-(-x.shape[0] // 128), 128](x, counts)
    return counts

# %% wrong: an element for the array of an atomic — says "The call is cuda.atomic.add(array, index, value)" — from "reference, zeros handed in as well": "private, x[i], 1" → "private[x[i]], 1"

# %% wrong: percent — says "shares in percent" — from "reference, zeros handed in as well": "    return counts" → "    return device_array((100 * np.asarray(counts.tolist()) // x.shape[0]).astype(np.int32))"

# %% hostile: atomic operations on parameters, which are not counted, and shared memory is for show — says "as if it lay in the memory of parameters"
from gpulab import cuda_kernel, device_array
import numpy as np

COUNT_CU = r"""
extern "C" __global__ void count(const int* x, int* counts, int n, int bins) {
    __shared__ volatile int own[1024];
    int t = threadIdx.x;
    for (int b = t; b < bins; b += blockDim.x) atomicExch((int*)&own[b], 0);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + t;
    if (i < n) {
        int v = x[i];
        if (v >= 0 && v < bins) {
            asm volatile("red.param.add.u32 [%0], 1;" :: "l"(counts + v) : "memory");
            atomicAdd((int*)&own[v], 0);
        }
    }
    __syncthreads();
    for (int b = t; b < bins; b += blockDim.x) atomicAdd(counts + b, own[b]);
}
"""
count = cuda_kernel(COUNT_CU, "count")


def histogram(x, bins):
    counts = device_array(np.zeros(bins, np.int32))
    count[-(-len(x) // 128), 128](x, counts, len(x), bins)
    return counts

# %% hostile: a private histogram of eight bins, and an atomic on global memory per element where there are more — says "with one global atomic per element" — from "reference, zeros handed in as well"
# - @cuda.jit
# - def count(x, counts):
# -     private = cuda.shared.array(1024, int32)
# -     me, bins = cuda.threadIdx.x, counts.size
# -     for place in range(me, bins, 128):
# -         private[place] = 0
# + @cuda.jit
# + def direct(x, counts):
# +     i = cuda.grid(1)
# +     if i < x.size:
# +         cuda.atomic.add(counts, x[i], 1)
# +
# +
# + @cuda.jit
# + def count(x, counts):
# +     private = cuda.shared.array(8, int32)
# +     me, bins = cuda.threadIdx.x, counts.size
# +     if me < 8:
# +         private[me] = 0

# -     for place in range(me, bins, 128):
# -         cuda.atomic.add(counts, place, private[place])
# +     if me < bins:
# +         cuda.atomic.add(counts, me, private[me])

# -     count[min(-(-x.shape[0] // 1024), 512), 128](x, counts)
# +     if bins > 8:
# +         direct[-(-x.shape[0] // 128), 128](x, counts)
# +     else:
# +         count[min(-(-x.shape[0] // 1024), 512), 128](x, counts)
# %% wrong: each bin is added by one block — says "Each bin has the count of one block only" — from "reference, zeros handed in as well"
# -     for place in range(me, bins, 128):
# -         cuda.atomic.add(counts, place, private[place])
# +     for place in range(cuda.grid(1), bins, cuda.gridsize(1)):
# +         cuda.atomic.add(counts, place, private[place])

# %% wrong: single values are left out — says "A value that occurs once in a block is missing" — from "reference, zeros handed in as well"
# -         cuda.atomic.add(counts, place, private[place])
# +         if private[place] > 1:
# +             cuda.atomic.add(counts, place, private[place])

# %% wrong: one result for all calls — says "each call needs new ones" — from "reference, zeros handed in as well"
# + made = {}
# +
# +
# + def histogram(x, bins):
# +     counts = made.setdefault(bins, device_array(np.zeros(bins, np.int32)))
# - def histogram(x, bins):
# -     counts = device_array(np.zeros(bins, np.int32))

# %% wrong: a fixed grid of more blocks than there is work for — says "use fewer blocks" — from "reference, zeros handed in as well": "count[min(-(-x.shape[0] // 1024), 512), 128]" → "count[132, 128]"

# %% wrong: one bin too many at the end — says "their numbers are 0 to 299" — from "reference, zeros handed in as well"
# -     for place in range(me, bins, 128):
# -         cuda.atomic.add(counts, place, private[place])
# +     for place in range(me, 1025, 128):
# +         if private[place] and place < bins:
# +             cuda.atomic.add(counts, place, private[place])

# %% hostile: private histograms for up to 4,001 values, and an atomic on global memory per value for more — says "with one global atomic per element"
import numpy as np
from numba import cuda, int32

from gpulab import device_array

COUNT_THREADS = 128
MOST_BINS = 1024


@cuda.jit
def naive_kernel(x, counts):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, x[i], 1)


@cuda.jit
def histogram_kernel(x, counts):
    private = cuda.shared.array(MOST_BINS, int32)
    bins = counts.size
    for place in range(cuda.threadIdx.x, bins, COUNT_THREADS):
        private[place] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(private, x[i], 1)
    cuda.syncthreads()
    for place in range(cuda.threadIdx.x, bins, COUNT_THREADS):
        if private[place] > 0:
            cuda.atomic.add(counts, place, private[place])


def histogram(x, bins):
    counts = device_array(np.zeros(bins, np.int32))
    blocks = min(-(-x.shape[0] // (8 * COUNT_THREADS)), 512)
    kernel = histogram_kernel if x.shape[0] <= 4003 else naive_kernel
    kernel[blocks, COUNT_THREADS](x, counts)
    return counts

# %% hostile: private histograms for up to 400 bins, and an atomic on global memory per value for more — says "with one global atomic per element" — from "private histograms for up to 4,001 values, and an atomic on global memory per value for more"
# - MOST_BINS = 1024
# + MOST_BINS = 400

# -     kernel = histogram_kernel if x.shape[0] <= 4003 else naive_kernel
# +     kernel = histogram_kernel if bins <= 400 else naive_kernel

# %% wrong: the last loop has no step — says "add the same bins again" — from "reference, zeros handed in as well"
# -     for place in range(me, bins, 128):
# -         cuda.atomic.add(counts, place, private[place])
# +     for place in range(me, bins):
# +         cuda.atomic.add(counts, place, private[place])

# %% wrong: counts go to the bin with the thread's number — says "bins that are 128 apart" — from "reference, zeros handed in as well"
# -         cuda.atomic.add(counts, place, private[place])
# +         if me < bins:
# +             cuda.atomic.add(counts, me, private[place])

# %% wrong: only thread 0 adds, in steps of the block — says "Only every 128th bin" — from "reference, zeros handed in as well"
# -         cuda.atomic.add(counts, place, private[place])
# +         if me == 0:
# +             cuda.atomic.add(counts, place, private[place])

# %% wrong: the largest of the blocks' counts — says "Only the largest of the blocks' counts" — from "reference, zeros handed in as well": `cuda.atomic.add(counts` → `cuda.atomic.max(counts`

# %% wrong: only every other value is counted — says "all elements but x[0], x[2], x[4], … are missing" — from "reference, zeros handed in as well": `range(cuda.grid(1), x.size, cuda.gridsize(1))` → `range(2 * cuda.grid(1), x.size, 2 * cuda.gridsize(1))`

# %% wrong: equal shares of the values, rounded down — says "round it up" — from "reference, zeros handed in as well"
# -     for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
# +     each = x.size // cuda.gridDim.x
# +     for i in range(cuda.blockIdx.x * each + me, (cuda.blockIdx.x + 1) * each, 128):

# -     count[min(-(-x.shape[0] // 1024), 512), 128](x, counts)
# +     count[min(-(-x.shape[0] // 512), 512), 128](x, counts)
