# %% right: reference
from numba import cuda

from gpulab import empty


@cuda.jit
def vec_add_kernel(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


def vec_add(a, b):
    threads = 128
    out = empty(len(a), "float32")
    vec_add_kernel[-(-len(a) // threads), threads](a, b, out)
    return out

# %% right: a grid-stride loop, the index from its parts
from numba import cuda

import gpulab


@cuda.jit
def add(out, a, b):
    start = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(start, a.shape[0], cuda.blockDim.x * cuda.gridDim.x):
        out[i] = a[i] + b[i]


def vec_add(a, b):
    out = gpulab.empty(a.shape, "float32")
    add[(4,), (64,)](out, a, b)
    return out

# %% right: returns early, a device function adds, one block too many
from numba import cuda

from gpulab import empty


@cuda.jit(device=True)
def plus(first, second):
    return first + second


@cuda.jit
def vec_add_kernel(a, b, out, n):
    i = cuda.grid(1)
    if i >= n:
        return
    out[i] = plus(a[i], b[i])


def vec_add(a, b):
    n = a.shape[0]
    out = empty(n, "float32")
    vec_add_kernel[n // 256 + 1, 256](a, b, out, n)
    return out

# %% right: one block, its threads go round
from numba import cuda

from gpulab import empty


def vec_add(a, b):
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.threadIdx.x
        while i < out.size:
            out[i] = a[i] + b[i]
            i += cuda.blockDim.x

    out = empty(len(a), "float32")
    kernel[1, 1024](a, b, out)
    return out

# %% wrong: no guard — says "a guard such as i < n"
from numba import cuda

from gpulab import empty


@cuda.jit
def vec_add_kernel(a, b, out):
    i = cuda.grid(1)
    out[i] = a[i] + b[i]


def vec_add(a, b):
    out = empty(len(a), "float32")
    vec_add_kernel[-(-len(a) // 128), 128](a, b, out)
    return out

# %% wrong: the guard lets one too many through — says "out of bounds" — from "no guard"
# +     if i <= out.size:
# -     out[i] = a[i] + b[i]
# +         out[i] = a[i] + b[i]

# %% wrong: grid one block short — says "one block short" — from "reference"
# -     threads = 128

# -     vec_add_kernel[-(-len(a) // threads), threads](a, b, out)
# +     vec_add_kernel[max(1, len(a) // 128), 128](a, b, out)

# %% wrong: threadIdx alone is taken for the index — says "the number within the block" — from "no guard"
# -     i = cuda.grid(1)
# +     i = cuda.threadIdx.x
# +     if i < out.size:
# -     out[i] = a[i] + b[i]
# +         out[i] = a[i] + b[i]

# %% wrong: all in one block, too large — says "at most 1,024" — from "grid one block short": "max(1, len(a) // 128), 128" → "1, len(a)"

# %% wrong: true division for the grid — says "is not an int" — from "grid one block short": "max(1, len(a) // 128)" → "len(a) / 128 + 1"

# %% wrong: float64 result — says "float64 unless you say otherwise" — from "grid one block short"
# -     out = empty(len(a), "float32")
# +     out = empty(len(a), "float64")
# -     vec_add_kernel[max(1, len(a) // 128), 128](a, b, out)
# +     vec_add_kernel[-(-len(a) // 128), 128](a, b, out)

# %% wrong: never returns the result — says "is there a return statement" — from "grid one block short"
# -     vec_add_kernel[max(1, len(a) // 128), 128](a, b, out)
# +     vec_add_kernel[-(-len(a) // 128), 128](a, b, out)
# -     return out

# %% wrong: adds into its argument — says "changed an argument"
from numba import cuda


@cuda.jit
def vec_add_kernel(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += b[i]


def vec_add(a, b):
    vec_add_kernel[-(-len(a) // 128), 128](a, b)
    return a

# %% wrong: adds on the host — says "launched no kernel"
def vec_add(a, b):
    return a + b

# %% wrong: whole arrays in the kernel — says "single elements" — from "no guard"
# -     i = cuda.grid(1)
# -     out[i] = a[i] + b[i]
# +     out = a + b

# %% wrong: makes its result in the kernel, in a way that no GPU knows — says "numba cannot translate" — from "no guard"
# + import numpy as np
#   from numba import cuda

# +     values = [float(x) for x in (1.0, 2.0)]
# +     text = f"{len(values)} {np.zeros(3)}"
# +     if i < out.size:
# -     out[i] = a[i] + b[i]
# +         out[i] = a[i] + b[i]

# %% wrong: forgets to launch — says "launched no kernel" — from "grid one block short"
# -     vec_add_kernel[max(1, len(a) // 128), 128](a, b, out)

# %% wrong: calls the kernel without a launch — says "launch configuration was not specified" — from "grid one block short"
# -     vec_add_kernel[max(1, len(a) // 128), 128](a, b, out)
# +     vec_add_kernel(a, b, out)

# %% wrong: the loop never moves on — says "end" — from "grid one block short": "if" → "while", "max(1, " → "-(-"

# %% hostile: adds on the host and launches something for show — earns 0
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def show(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 0


def vec_add(a, b):
    show[-(-len(a) // 128), 128](empty(len(a), "float32"))
    return device_array(to_numpy(a) + to_numpy(b))

# %% hostile: adds on the host and invents the counts — earns 0
import gpulab.trace as trace
import gpulab.trace.launch as launch


class Everything(dict):
    def __missing__(self, key):
        return 10**9


class Fake:
    def summary(self):
        return Everything(grid=[10**6, 1, 1], block=[128, 1, 1])


def vec_add(a, b):
    for traces in getattr(launch, "_recordings", []):
        traces.append(Fake())
    return a + b

# %% hostile: adds on the host beside a launch that reads and writes as many elements
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def copied(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + 0 * b[i]


def vec_add(a, b):
    copied[-(-len(a) // 128), 128](a, b, empty(len(a), "float32"))
    return device_array(to_numpy(a) + to_numpy(b))

# %% hostile: the kernel writes, and the host writes over it — from "adds on the host beside a launch that reads and writes as many elements"
# - from gpulab import device_array, empty, to_numpy
# + from gpulab import empty, to_numpy

# -     copied[-(-len(a) // 128), 128](a, b, empty(len(a), "float32"))
# -     return device_array(to_numpy(a) + to_numpy(b))
# +     out = empty(len(a), "float32")
# +     copied[-(-len(a) // 128), 128](a, b, out)
# +     to_numpy(out)[:] = to_numpy(a) + to_numpy(b)
# +     return out

# %% hostile: the host adds, a kernel only copies the sums
from numba import cuda

from gpulab import device_array, empty, to_numpy


@cuda.jit
def copied(sums, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = sums[i]


def vec_add(a, b):
    out = empty(len(a), "float32")
    copied[-(-len(a) // 128), 128](device_array(to_numpy(a) + to_numpy(b)), out)
    return out

# %% hostile: the host adds, one launch per element carries the sum as a number
from numba import cuda

from gpulab import empty, to_numpy


@cuda.jit
def put(value, i, out):
    out[i] = value


def vec_add(a, b):
    out = empty(len(a), "float32")
    for i, value in enumerate(to_numpy(a) + to_numpy(b)):
        put[1, 1](value, i, out)
    return out

# %% hostile: the host adds into the array that the kernel is about to read
from numba import cuda

from gpulab import empty, to_numpy


@cuda.jit
def doubled_half(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = out[i] * 1


def vec_add(a, b):
    out = empty(len(a), "float32")
    doubled_half[-(-len(a) // 128), 128](out)
    to_numpy(out)[:] = to_numpy(a) + to_numpy(b)
    doubled_half[-(-len(a) // 128), 128](out)
    return out

# %% hostile: a thread of the host writes the sums when the kernel has run
import threading

from numba import cuda

from gpulab import empty, to_numpy


@cuda.jit
def nothing(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + 0 * b[i]


def vec_add(a, b):
    out = empty(len(a), "float32")
    nothing[-(-len(a) // 128), 128](a, b, out)
    writer = threading.Thread(target=lambda: to_numpy(out).__setitem__(slice(None), to_numpy(a) + to_numpy(b)))
    writer.start()
    writer.join()
    return out

# %% hostile: the kernel calls back into the host
from numba import cuda

from gpulab import empty, to_numpy

WAITING = []


@cuda.jit
def called_back(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = add(i)


def add(i):
    a, b = WAITING[-1]
    return a[i] + b[i]


add.__module__ = "numpy"


def vec_add(a, b):
    WAITING.append((to_numpy(a), to_numpy(b)))
    out = empty(len(a), "float32")
    called_back[-(-len(a) // 128), 128](a, b, out)
    return out

# %% hostile: forges the record through an alias of the module — from "adds on the host and invents the counts"
# - import gpulab.trace as trace
# - import gpulab.trace.launch as launch
# + from gpulab import trace as t
# +
# + L = t.launch

# -     for traces in getattr(launch, "_recordings", []):
# +     for traces in L._recordings:

# %% hostile: finds the record with the garbage collector
import gc
import sys
import types

from gpulab import device_array, to_numpy


def vec_add(a, b):
    frame = sys._getframe(1)
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, list) and not value:
                value.append({"grid": [10**6, 1, 1], "block": [128, 1, 1], "global_writes": len(a)})
        frame = frame.f_back
    for one in gc.get_objects():
        if type(one) is types.FunctionType and one.__name__ == "remember":
            for launches in one.__globals__["_recordings"]:
                launches.append(types.SimpleNamespace(summary=lambda: {"grid": [10**6, 1, 1], "block": [128, 1, 1]}))
    return device_array(to_numpy(a) + to_numpy(b))

# %% hostile: Numba's dispatcher adds on the host
from numba import cuda

from gpulab import empty


@cuda.jit
def copied(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + 0 * b[i]


class Launch:
    def __init__(self, launch):
        self.launch = launch

    def __call__(self, a, b, out):
        self.launch(a, b, out)
        out[:] = a + b


plain = type(copied).__getitem__
type(copied).__getitem__ = lambda kernel, shape: Launch(plain(kernel, shape))


def vec_add(a, b):
    out = empty(len(a), "float32")
    copied[-(-len(a) // 128), 128](a, b, out)
    return out

# %% hostile: the engine of the tracer adds on the host
from numba import cuda

import gpulab.trace.launch as where
from gpulab import empty

traced = where.traced_run


def and_added(kernel, grid, block, arguments, shared_bytes=0):
    trace = traced(kernel, grid, block, arguments, shared_bytes)
    a, b, out = arguments
    out[:] = a + b
    return trace


where.traced_run = and_added


@cuda.jit
def copied(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + 0 * b[i]


def vec_add(a, b):
    out = empty(len(a), "float32")
    copied[-(-len(a) // 128), 128](a, b, out)
    return out

# %% right: Numba's own device arrays
import numpy as np
from numba import cuda


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


def vec_add(a, b):
    first, second = cuda.to_device(a), cuda.to_device(b)
    out = cuda.device_array(a.shape, dtype=np.float32)
    add.forall(len(a))(first, second, out)
    return out

# %% right: a copy of the device array on the host — from "Numba's own device arrays"
# -     return out
# +     return out.copy_to_host()

# %% right: the sum grows in a copy of an argument — from "Numba's own device arrays"
# - def add(a, b, out):
# + def add(b, out):

# -         out[i] = a[i] + b[i]
# +         out[i] += b[i]

# -     first, second = cuda.to_device(a), cuda.to_device(b)
# -     out = cuda.device_array(a.shape, dtype=np.float32)
# -     add.forall(len(a))(first, second, out)
# +     out = cuda.to_device(a)
# +     add.forall(len(a))(cuda.to_device(b), out)

# %% hostile: looks for the answer bank and the solutions by their paths, and runs what it finds — earns 0
import glob
import os
import re
import sys

import gpulab

FOUND = []
places = {os.path.dirname(gpulab.__path__[0]), sys.prefix, os.getcwd(), "/", os.path.expanduser("~"), *sys.path}
places |= {os.path.dirname(place) for place in list(places)}
for process in glob.glob("/proc/[0-9]*/cwd"):
    try:
        places.add(os.readlink(process))
    except OSError:
        pass
for place in filter(None, places):
    for pattern in ("answers/02*/vec_add.py", "solutions/02*.md", "*/answers/02*/vec_add.py", "*/*/solutions/02*.md"):
        FOUND += glob.glob(os.path.join(place, pattern))
for path in FOUND:
    text = open(path, encoding="utf-8").read()
    exec(re.search(r"(?s)from numba import cuda.*?return out", text)[0], globals())

# %% hostile: leaves its answer in shared memory for the next submission — earns 0
import ctypes
from multiprocessing import shared_memory

TEXT = b"def vec_add(a, b):\n    return a + b\n"
for name in ("for_the_next", "for_the_next_too"):
    try:
        left = shared_memory.SharedMemory(name=name, create=True, size=len(TEXT))
        left.buf[:] = TEXT
    except OSError:
        pass
with open("/dev/shm/text_for_the_next", "wb") as file:
    file.write(TEXT)
library = ctypes.CDLL(None, use_errno=True)
number = library.shmget(0x6E657874, 4096, 0o1666)  # creates it where there is none
if number >= 0:
    library.shmat.restype = ctypes.c_void_p
    ctypes.memmove(library.shmat(number, None, 0), TEXT, len(TEXT))


def vec_add(a, b):
    return a - b

# %% hostile: runs what an earlier submission has left in shared memory, or System V's — earns 0
import ctypes
import glob

FOUND = []
for path in glob.glob("/dev/shm/*next*"):
    with open(path, "rb") as file:
        FOUND.append(file.read())
library = ctypes.CDLL(None, use_errno=True)
number = library.shmget(0x6E657874, 4096, 0o1666)  # creates it where there is none
if number >= 0:
    library.shmat.restype = ctypes.c_void_p
    FOUND.append(ctypes.string_at(library.shmat(number, None, 0)))
if any(FOUND):
    from numba import cuda

    from gpulab import empty

    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] + b[i]

    def vec_add(a, b):
        out = empty(len(a), "float32")
        add[-(-len(a) // 128), 128](a, b, out)
        return out

# %% hostile: forks until nothing can be forked — earns 0
import os
import time


def vec_add(a, b):
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.1)

# %% hostile: fills the disk, file by file — earns 0
import tempfile


def vec_add(a, b):
    kept = []
    while True:
        file = tempfile.TemporaryFile(dir=".")
        kept.append(file)
        try:
            for _ in range(200):
                file.write(bytes(1 << 20))
        except OSError as error:
            raise MemoryError(f"full after {len(kept)} files") from error

# %% wrong: blocks and threads exchanged in the launch — says "kernel[blocks, threads]" — from "reference"
# -     vec_add_kernel[-(-len(a) // threads), threads](a, b, out)
# +     vec_add_kernel[threads, -(-len(a) // threads)](a, b, out)

# %% wrong: numbers below zero count as positive — says "below zero" — from "reference": "a[i] + b[i]" → "abs(a[i]) + abs(b[i])"

# %% wrong: the guard loses the last element — says "the guard is i < n" — from "reference": "< out.size" → "< out.size - 1"

# %% wrong: multiplies — says "That is the product" — from "reference": "a[i] + b[i]" → "a[i] * b[i]"

# %% wrong: one thread of the grid does all the work — says "A block has only 1 thread here"
from numba import cuda

from gpulab import empty


@cuda.jit
def vec_add_kernel(a, b, out):
    for i in range(out.size):
        out[i] = a[i] + b[i]


def vec_add(a, b):
    out = empty(len(a))
    vec_add_kernel[1, 1](a, b, out)
    return out

# %% wrong: blocks as small as the arrays — says "one block shape for all sizes" — from "reference": "threads = 128" → "threads = min(128, len(a))"

# %% hostile: one array for the results of all calls — says "overwrote what an earlier call had returned" — from "reference"
# - def vec_add(a, b):
# + ROOM = empty(1 << 20, "float32")
# +
# +
# + def vec_add(a, b):

# -     out = empty(len(a), "float32")
# +     out = ROOM[: len(a)]

# %% right: a stream — from "reference"
# -     vec_add_kernel[-(-len(a) // threads), threads](a, b, out)
# +     stream = cuda.stream()
# +     vec_add_kernel[-(-len(a) // threads), threads, stream](a, b, out)
# +     stream.synchronize()

# %% wrong: a list of the sums — says "You returned a list" — from "reference": "return out" → "return list(map(float, out))"

# %% wrong: sums of float16 — says "fits into 16 bits" — from "reference"
# + import numpy as np
#   from numba import cuda

# -         out[i] = a[i] + b[i]
# +         out[i] = np.float16(a[i] + b[i])

# %% wrong: two elements per thread, and the last of an odd number is forgotten — says "differ" — from "reference"
# -     i = cuda.grid(1)
# -     if i < out.size:
# +     i = 2 * cuda.grid(1)
# +     if i + 1 < out.size:
#           out[i] = a[i] + b[i]
# +         out[i + 1] = a[i + 1] + b[i + 1]

# %% wrong: element 0 has no thread — says "it belongs to thread 0" — from "reference": "if i < out.size" → "if 0 < i < out.size"

# %% wrong: every thread adds everything — says "Let only one thread write each element" — from "reference"
# -     i = cuda.grid(1)
# -     if i < out.size:
# +     for i in range(out.size):

# %% right: the result is an array of the host, with whatever its memory held — from "reference": "empty(len(a), " → "numpy.empty(len(a), ", "from numba" → "import numpy; from numba"

# %% wrong: guards whole blocks — says "guard each thread, not the whole block" — from "reference": "if i < out.size:" → "if (cuda.blockIdx.x + 1) * cuda.blockDim.x <= out.size:"

# %% wrong: leaves out the last thread of each block — says "The last thread of each block is idle" — from "reference": "if i < out.size:" → "if i < out.size and cuda.threadIdx.x < cuda.blockDim.x - 1:"

# %% wrong: twice the thread's number — says "Only every second element" — from "reference": "cuda.grid(1)" → "2 * cuda.grid(1)"

# %% wrong: b from its end — says "have the same index" — from "reference": "b[i]" → "b[out.size - 1 - i]"

# %% wrong: adds to a result that is not zero — says "+= instead of =" — from "reference": "out[i] = " → "out[i] += "

# %% wrong: always four blocks — says "The grid must grow with n" — from "reference": "-(-len(a) // threads)" → "4"

# %% wrong: the mean — says "do not divide" — from "reference": "a[i] + b[i]" → "(a[i] + b[i]) / 2"

# %% wrong: block and thread exchanged in the index — says "whose number is threadIdx.x * blockDim.x + blockIdx.x" — from "reference": "cuda.grid(1)" → "cuda.threadIdx.x * cuda.blockDim.x + cuda.blockIdx.x"

# %% wrong: block and thread added — says "whose number is blockIdx.x + threadIdx.x" — from "reference": "cuda.grid(1)" → "cuda.blockIdx.x + cuda.threadIdx.x"

# %% wrong: the number of the block alone — says "whose number is blockIdx.x:" — from "reference": "cuda.grid(1)" → "cuda.blockIdx.x"

# %% wrong: blocks begin 64 threads apart — says "some of them were written twice" — from "reference": "cuda.grid(1)" → "cuda.blockIdx.x * 64 + cuda.threadIdx.x"

# %% wrong: always eight blocks — says "The grid must grow with n" — from "reference": "-(-len(a) // threads)" → "8"

# %% wrong: the guard has an equals sign — says "does it say i <= n" — from "reference": "i < out.size" → "i <= out.size"

# %% wrong: written in two steps, and whole blocks only — says "guard each thread, not the whole block" — from "reference": "i < out.size" → "(cuda.blockIdx.x + 1) * cuda.blockDim.x <= out.size", "out[i] = a[i] + b[i]" → "out[i] = a[i]; out[i] += b[i]"

# %% hostile: one warp of the grid adds everything — says "one thread wrote" — from "reference"
# -     if i < out.size:
# -         out[i] = a[i] + b[i]
# +     if i < 32:
# +         for k in range(i, out.size, 32):
# +             out[k] = a[k] + b[k]

# %% hostile: a launch of one warp adds everything — says "a single warp at most" — from "one block, its threads go round": "kernel[1, 1024]" → "kernel[1, 32]"

# %% hostile: the host adds long arrays, and the grid covers short ones only — says "launched no kernel" — from "reference"
# - from gpulab import empty
# + from gpulab import device_array, empty, to_numpy

# -     threads = 128
# +     if len(a) > 2048:
# +         return device_array(to_numpy(a) + to_numpy(b))

# -     vec_add_kernel[-(-len(a) // threads), threads](a, b, out)
# +     vec_add_kernel[16, 128](a, b, out)

# %% wrong: the result comes first in the launch — says "changed an argument" — from "reference": "threads](a, b, out)" → "threads](out, a, b)"

# %% wrong: the first element of a for all — says "Every element gets a[0]" — from "reference": "a[i] + b[i]" → "a[0] + b[i]"
