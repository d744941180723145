# %% right: reference
import numpy as np
from numba import cuda

from gpulab import empty


@cuda.jit
def saxpy_kernel(alpha, x, y, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = alpha * x[i] + y[i]


def saxpy(alpha, x, y):
    out = empty(len(x), "float32")
    saxpy_kernel[8, 128](np.float32(alpha), x, y, out)
    return out

# %% right: a while loop, the stride from its parts, alpha left as it is — from "reference"
# - import numpy as np

# -     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# +     i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
# +     while i < x.shape[0]:
#           out[i] = alpha * x[i] + y[i]
# +         i += cuda.gridDim.x * cuda.blockDim.x

# -     saxpy_kernel[8, 128](np.float32(alpha), x, y, out)
# +     saxpy_kernel[(8,), (128,)](alpha, x, y, out)

# %% right: from the end to the beginning, with a device function
from numba import cuda, float32

from gpulab import empty


@cuda.jit(device=True)
def scaled(alpha, value):
    return float32(alpha) * value


@cuda.jit
def from_the_end(n, alpha, x, y, out):
    thread = cuda.grid(1)
    for i in range(n - 1 - thread, -1, -1024):
        out[i] = scaled(alpha, x[i]) + y[i]


def saxpy(alpha, x, y):
    n = x.shape[0]
    out = empty((n,), "float32")
    launch = from_the_end[8, 128]
    launch(n, float(alpha), x, y, out)
    return out

# %% right: two elements a round, unrolled by hand — from "reference"
# -     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# +     i, step = cuda.grid(1), cuda.gridsize(1)
# +     while i + step < out.size:
# +         a = x[i]
# +         b = x[i + step]
# +         out[i] = alpha * a + y[i]
# +         out[i + step] = alpha * b + y[i + step]
# +         i += 2 * step
# +     if i < out.size:
#           out[i] = alpha * x[i] + y[i]

# %% right: four elements a round, then the rest — from "reference"
# -     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# +     i, stride = cuda.grid(1), cuda.gridsize(1)
# +     while i + 3 * stride < out.size:
# +         for j in range(i, i + 4 * stride, stride):
# +             out[j] = alpha * x[j] + y[j]
# +         i += 4 * stride
# +     while i < out.size:
#           out[i] = alpha * x[i] + y[i]
# +         i += stride

# %% wrong: one element per thread — says "each thread handles one element" — from "reference"
# - import numpy as np

# -     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# +     i = cuda.grid(1)
# +     if i < out.size:

# -     saxpy_kernel[8, 128](np.float32(alpha), x, y, out)
# +     saxpy_kernel[8, 128](alpha, x, y, out)

# %% wrong: one element per thread, no guard — says "out of bounds" — from "one element per thread"
# -     if i < out.size:
# -         out[i] = alpha * x[i] + y[i]
# +     out[i] = alpha * x[i] + y[i]

# %% wrong: as many blocks as elements need — says "expected 8 × 128" — from "one element per thread": "[8" → "[-(-len(x) // 128)"

# %% wrong: 128 blocks of 8 threads — says "expected 8 × 128" — from "reference"
# - import numpy as np

# -     saxpy_kernel[8, 128](np.float32(alpha), x, y, out)
# +     saxpy_kernel[128, 8](alpha, x, y, out)

# %% wrong: blockDim.x for gridDim.x in the stride — says "With blockDim.x in place of gridDim.x" — from "one element per thread"
# -     i = cuda.grid(1)
# -     if i < out.size:
# +     start = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
# +     for i in range(start, out.size, cuda.blockDim.x * cuda.blockDim.x):

# %% wrong: stride of one block — says "is the stride blockdim.x" — from "one element per thread"
# +     for i in range(cuda.grid(1), out.size, cuda.blockDim.x):
# -     i = cuda.grid(1)
# -     if i < out.size:

# %% wrong: stride of the number of blocks — says "is the stride griddim.x" — from "one element per thread"
# +     for i in range(cuda.grid(1), out.size, cuda.gridDim.x):
# -     i = cuda.grid(1)
# -     if i < out.size:

# %% wrong: starts at threadIdx, every block does everything — says "each element once" — from "one element per thread"
# +     for i in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
# -     i = cuda.grid(1)
# -     if i < out.size:

# %% wrong: every thread walks through a piece of its own — says "a piece of its own" — from "one element per thread"
# +     piece = (out.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
# -     i = cuda.grid(1)
# +     first = cuda.grid(1) * piece
# -     if i < out.size:
# +     for i in range(first, min(first + piece, out.size)):

# %% wrong: stops one early — says "The last element has no thread" — from "stride of one block"
# -     for i in range(cuda.grid(1), out.size, cuda.blockDim.x):
# +     for i in range(cuda.grid(1), out.size - 1, cuda.gridsize(1)):

# %% wrong: runs one too far — says "out of bounds" — from "stops one early": "size - " → "size + "

# %% wrong: the index is an int16 and overflows — says "x[-32768] is out of bounds" — from "stops one early"
# - from numba import cuda
# + from numba import cuda, int16

# -     for i in range(cuda.grid(1), out.size - 1, cuda.gridsize(1)):
# +     i = int16(cuda.grid(1))
# +     while i < out.size:
#           out[i] = alpha * x[i] + y[i]
# +         i = int16(i + cuda.gridsize(1))

# %% wrong: float64 result — says "float32 in, float32 out" — from "stops one early": " - 1" → "", "float32" → "float64"

# %% wrong: alpha belongs to y — says "alpha belongs to x" — from "stops one early"
# -     for i in range(cuda.grid(1), out.size - 1, cuda.gridsize(1)):
# +     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# -         out[i] = alpha * x[i] + y[i]
# +         out[i] = x[i] + alpha * y[i]

# %% wrong: alpha as an integer — says "An int cuts off" — from "stops one early": " - 1" → "", "](alpha," → "](int(alpha),"

# %% wrong: result in y — says "changed an argument" — from "stops one early"
# - def saxpy_kernel(alpha, x, y, out):
# + def saxpy_kernel(alpha, x, y):
# -     for i in range(cuda.grid(1), out.size - 1, cuda.gridsize(1)):
# +     for i in range(cuda.grid(1), y.size, cuda.gridsize(1)):
# -         out[i] = alpha * x[i] + y[i]
# +         y[i] = alpha * x[i] + y[i]

# -     out = empty(len(x), "float32")
# -     saxpy_kernel[8, 128](alpha, x, y, out)
# +     saxpy_kernel[8, 128](alpha, x, y)
# -     return out
# +     return y

# %% wrong: no return — says "is there a return statement" — from "stops one early"
# -     for i in range(cuda.grid(1), out.size - 1, cuda.gridsize(1)):
# +     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):

# -     return out

# %% wrong: on the host — says "no kernel"
import numpy as np


def saxpy(alpha, x, y):
    return np.float32(alpha) * x + y

# %% wrong: one launch for every 1024 elements — says "expected 8 × 128 once" — from "one element per thread"
# - def saxpy_kernel(alpha, x, y, out):
# + def saxpy_kernel(alpha, x, y, out, first):
# -     i = cuda.grid(1)
# +     i = first + cuda.grid(1)

# +     for first in range(0, len(x), 1024):
# -     saxpy_kernel[8, 128](alpha, x, y, out)
# +         saxpy_kernel[8, 128](alpha, x, y, out, first)

# %% hostile: an array that is equal to everything — earns 0
import numpy as np


class Anything(np.ndarray):
    def __eq__(self, other):
        return np.bool_(True)

    def __sub__(self, other):
        return np.zeros(self.shape, "float32")


def saxpy(alpha, x, y):
    return np.zeros(len(x), "float32").view(Anything)

# %% hostile: the host computes, 8 × 128 threads write n elements of something else
import numpy as np
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def shown(x, out):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = x[i]


def saxpy(alpha, x, y):
    shown[8, 128](x, empty(len(x), "float32"))
    return device_array(np.float32(alpha) * to_numpy(x) + to_numpy(y))

# %% hostile: forges the record of a launch through an alias
from gpulab import trace as t

L = t.launch


class Fake:
    def __init__(self, n):
        self.n = n

    def summary(self):
        return {"grid": [8, 1, 1], "block": [128, 1, 1], "global_writes": self.n, "lines": [], "races": []}


def saxpy(alpha, x, y):
    for launches in L._recordings:
        launches.append(Fake(len(x)))
    return (alpha * x + y).astype("float32")

# %% wrong: one thread of the grid does all the work — says "of the 32 threads of a warp"
import numpy as np
from numba import cuda

from gpulab import empty


@cuda.jit
def saxpy_kernel(alpha, x, y, out):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = alpha * x[i] + y[i]


def saxpy(alpha, x, y):
    out = empty(len(x))
    saxpy_kernel[8, 128](np.float32(alpha), x, y, out)
    return out

# %% wrong: each block takes a piece of its own — says "Does each block or warp take a piece of its own?" — from "reference"
# -     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# +     piece = (out.size + cuda.gridDim.x - 1) // cuda.gridDim.x
# +     first = cuda.blockIdx.x * piece
# +     for i in range(first + cuda.threadIdx.x, min(first + piece, out.size), cuda.blockDim.x):

# %% wrong: each block takes a piece of its own, and the last one the rest — says "Does each block or warp take a piece of its own?" — from "reference"
# -     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# +     piece = out.size // cuda.gridDim.x
# +     first = cuda.blockIdx.x * piece
# +     end = first + piece if cuda.blockIdx.x < cuda.gridDim.x - 1 else out.size
# +     for i in range(first + cuda.threadIdx.x, end, cuda.blockDim.x):

# %% wrong: each warp takes a piece of its own — says "Does each block or warp take a piece of its own?" — from "reference"
# -     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# +     piece = (out.size + 31) // 32
# +     first = cuda.grid(1) // 32 * piece
# +     for i in range(first + cuda.laneid, min(first + piece, out.size), 32):

# %% wrong: a list of the sums — says "You returned a list" — from "reference": "return out" → "return list(map(float, out))"

# %% right: selects the device, and records events — from "reference"
# -     out = empty(len(x), "float32")
# +     cuda.select_device(0)
# +     start, end = cuda.event(), cuda.event()
# +     start.record()
# +     out = empty(len(x), "float32")

# -     return out
# +     end.record()
# +     end.synchronize()
# +     return out

# %% wrong: threadIdx without an axis — says "cuda.threadIdx is three numbers" — from "reference": "cuda.grid(1)" → "cuda.threadIdx"

# %% wrong: a grid of no dimension — says "The call is cuda.grid(dimensions)" — from "reference": "cuda.grid(1)" → "cuda.grid()"

# %% wrong: names the arguments of the launch — says "takes them by position" — from "reference"
# -     saxpy_kernel[8, 128](np.float32(alpha), x, y, out)
# +     saxpy_kernel[8, 128](np.float32(alpha), x=x, y=y, out=out)

# %% wrong: no decorator — says "is an ordinary function" — from "reference"
# - @cuda.jit
#   def saxpy_kernel(alpha, x, y, out):

# %% wrong: the stride leaves out a block — says "(gridDim.x - 1) * blockDim.x" — from "reference": "cuda.gridsize(1)" → "(cuda.gridDim.x - 1) * cuda.blockDim.x"

# %% wrong: blocks and threads swapped — says "The number of blocks comes first" — from "reference": "[8, 128]" → "[128, 8]"

# %% wrong: begins with the next element — says "thread 0 begins with it" — from "reference": "cuda.grid(1), " → "cuda.grid(1) + 1, "

# %% wrong: at most 32 rounds — says "The last round is missing" — from "reference": "out.size, cuda" → "min(out.size, 32 * 1024), cuda"

# %% wrong: the alpha of the example — says "not always 2.5" — from "reference": "np.float32(alpha)" → "np.float32(2.5)"

# %% wrong: alpha in float16 — says "rounded to float16" — from "reference": "np.float32(alpha)" → "np.float32(np.float16(alpha))"

# %% wrong: adds alpha and multiplies by y — says "Multiply alpha by x" — from "reference": "alpha * x[i] + y[i]" → "(alpha + x[i]) * y[i]"

# %% wrong: y without its sign — says "below zero" — from "reference": "+ y[i]" → "+ abs(y[i])"

# %% wrong: adds to a result that is not zero — says "+= instead of =" — from "reference": "out[i] = " → "out[i] += "

# %% wrong: the start and the stride count blocks — says "add threadIdx.x" — from "reference": "cuda.grid(1)," → "cuda.blockIdx.x,", "cuda.gridsize(1)" → "cuda.gridDim.x"

# %% wrong: adds alpha to the product — says "Multiply alpha by x" — from "reference": "alpha * x[i] + y[i]" → "alpha + x[i] * y[i]"

# %% wrong: eight rounds — says "a fixed number of rounds" — from "reference": "out.size, cuda" → "min(out.size, 8 * 1024), cuda"

# %% wrong: as many rounds as fit, rounded down — says "n // threads rounds" — from "reference": "out.size, cuda" → "out.size // cuda.gridsize(1) * cuda.gridsize(1), cuda"

# %% wrong: one thread of each block — says "whose number is blockIdx.x * blockDim.x" — from "reference": "cuda.grid(1)," → "cuda.blockIdx.x * cuda.blockDim.x,"

# %% wrong: gridDim.x for blockDim.x in the start — says "whose number is blockIdx.x * gridDim.x + threadIdx.x" — from "reference": "cuda.grid(1)," → "cuda.blockIdx.x * cuda.gridDim.x + cuda.threadIdx.x,"

# %% hostile: one warp of the 32 does the work of all — says "one thread wrote 10 elements" — from "reference"
# -     for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
# -         out[i] = alpha * x[i] + y[i]
# +     if cuda.grid(1) < 32:
# +         for i in range(cuda.grid(1), out.size, 32):
# +             out[i] = alpha * x[i] + y[i]

# %% wrong: the threads of a warp are eight elements apart — says "begin with elements that are far apart" — from "reference": "range(cuda.grid(1)," → "range(cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x,"

# %% wrong: the first element of x for all — says "Every element gets x[0]" — from "reference": "x[i] +" → "x[0] +"

# %% wrong: the number comes last in the launch — says "in the order of the kernel's parameters" — from "reference": "(np.float32(alpha), x, y, out)" → "(x, y, out, np.float32(alpha))"
