# %% right: reference
import statistics
import time

import torch

from gpulab import device, synchronize


def matmul_tflops(n, dtype):
    left, right = (torch.randn(n, n, device=device()).to(getattr(torch, dtype)) for _ in range(2))
    torch.mm(left, right)
    seconds = []
    for _ in range(15):
        synchronize()
        begin = time.perf_counter()
        torch.mm(left, right)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return 2 * n**3 / statistics.median(seconds) / 1e12

# %% right: the course's own timer
import torch

from gpulab import device, measure


def matmul_tflops(n, dtype):
    left, right = (torch.randn(n, n, device=device()).to(getattr(torch, dtype)) for _ in range(2))
    return 2 * n**3 / measure(torch.mm, left, right, runs=11, at_most_s=0.5).median_ms / 1e9

# %% right: torch.utils.benchmark, and the @ sign
import torch
from torch.utils.benchmark import Timer

from gpulab import device


def matmul_tflops(n, dtype):
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    left, right = (torch.rand(n, n, device=device()).sub(0.5).to(getattr(torch, dtype)) for _ in range(2))
    timer = Timer("left @ right", globals={"left": left, "right": right}, num_threads=torch.get_num_threads())
    return 2e-12 * n * n * n / timer.blocked_autorange(min_run_time=0.1).median

# %% right: several products between two looks at the clock
import time

import numpy as np
import torch

from gpulab import device, synchronize


def matmul_tflops(n, dtype):
    left, right = (torch.randn(n, n).to(device(), getattr(torch, dtype)) for _ in range(2))
    for _ in range(2):
        out = left @ right
    rates = []
    for _ in range(7):
        synchronize()
        start = time.perf_counter()
        for _ in range(3):
            torch.mm(left, right, out=out)
        synchronize()
        rates.append(3 * 2 * n**3 / (time.perf_counter() - start))
    return np.median(rates) / 1e12

# %% wrong: FLOPS for TFLOPS — says "1e12" — from "reference": "15" → "9", " / 1e12" → ""

# %% wrong: GFLOPS for TFLOPS — says "GFLOPS" — from "reference": "15" → "9", "1e12" → "1e9"

# %% wrong: n squared operations — says "FLOPs" — from "reference": "15" → "9", "3" → "2"

# %% wrong: returns seconds — says "a time, not a rate" — from "reference"
# -     for _ in range(15):
# +     for _ in range(9):

# -     return 2 * n**3 / statistics.median(seconds) / 1e12
# +     return statistics.median(seconds)

# %% wrong: makes the matrices inside the clock, slowly — says "is timed"
import time

import numpy as np
import torch

from gpulab import device, synchronize


def matmul_tflops(n, dtype):
    draw = np.random.default_rng(7)
    draws = 1 if device().type == "cuda" else 12
    start = time.perf_counter()
    for _ in range(4):
        drawn = (sum(draw.standard_normal((n, n)) for _ in range(draws)) for _ in range(2))
        left, right = (torch.from_numpy(matrix).to(device(), getattr(torch, dtype)) for matrix in drawn)
        torch.mm(left, right)
    synchronize()
    return 4 * 2 * n**3 / (time.perf_counter() - start) / 1e12

# %% wrong: a figure from a datasheet — says "you returned"
def matmul_tflops(n, dtype):
    return {"float32": 67.0, "bfloat16": 989.4, "float16": 989.4}[dtype]

# %% wrong: a text with the unit — says "str"
def matmul_tflops(n, dtype):
    return "0.1 TFLOPS"

# %% wrong: no return — says "None"
import torch


def matmul_tflops(n, dtype):
    torch.randn(n, n) @ torch.randn(n, n)

# %% wrong: one FLOP per multiply-add — says "2 FLOPs" — from "reference": "15" → "9", "2 * " → ""

# %% wrong: not synchronized — says "not synchronized" — from "reference"
# -     for _ in range(15):
# +     for _ in range(9):

#           torch.mm(left, right)
# -         synchronize()

# %% wrong: zeros as data — says "zeros" — from "reference": "randn" → "zeros", "15" → "9"

# %% wrong: makes the matrices inside the clock — says "is timed" — from "reference"
# -     left, right = (torch.randn(n, n, device=device()).to(getattr(torch, dtype)) for _ in range(2))
# -     torch.mm(left, right)

# -     for _ in range(15):
# +     for _ in range(9):

#           begin = time.perf_counter()
# +         left, right = (torch.randn(n, n, device=device()).to(getattr(torch, dtype)) for _ in range(2))

# %% wrong: TF32 switched on — says "TF32" — from "reference"
#   def matmul_tflops(n, dtype):
# +     torch.set_float32_matmul_precision("high")

# -     for _ in range(15):
# +     for _ in range(9):

# %% wrong: float32 whatever is asked for — says "no product of" — from "reference": "getattr(torch, dtype)" → "torch.float32"

# %% wrong cpu: the mean of many runs — says "take the median" — from "reference": "statistics.median" → "statistics.mean"

# %% wrong cpu: measures once and remembers — says "did you measure one" — from "reference"
# + import functools
#   import statistics

# + @functools.cache
#   def matmul_tflops(n, dtype):

# %% hostile: sleeps and guesses — earns 0
import random
import time


def matmul_tflops(n, dtype):
    time.sleep(0.02)
    return random.uniform(1e-5, 1e-3) if n < 256 else random.uniform(0.1, 1.0)

# %% hostile: a clock that runs slow — earns 0
import time

import torch

_clock = time.perf_counter
time.perf_counter = lambda: _clock() / 1e6


def matmul_tflops(n, dtype):
    left, right = (torch.randn(n, n).to(getattr(torch, dtype)) for _ in range(2))
    start = time.perf_counter()
    torch.mm(left, right)
    return 2 * n**3 / (time.perf_counter() - start) / 1e12

# %% wrong: ones as data — says "Constant data" — from "reference": "randn(n, n" → "ones(n, n", "15" → "9"

# %% wrong: a single cold product — says "measure more than once" — from "reference"
# -     torch.mm(left, right)
# -     seconds = []
# -     for _ in range(15):
# +     seconds = []
# +     for _ in range(1):

# %% wrong: milliseconds — says "in milliseconds" — from "reference": "seconds.append(time.perf_counter() - begin)" → "seconds.append(1e3 * (time.perf_counter() - begin))", "15" → "9"

# %% wrong: the time of all runs — says "divide it by their number"
import time

import torch

from gpulab import device, synchronize


def matmul_tflops(n, dtype):
    left, right = (torch.randn(n, n, device=device()).to(getattr(torch, dtype)) for _ in range(2))
    torch.mm(left, right)
    synchronize()
    begin = time.perf_counter()
    for _ in range(10):
        torch.mm(left, right)
    synchronize()
    return 2 * n**3 / (time.perf_counter() - begin) / 1e12

# %% wrong: the sum of all times — says "divide it by their number" — from "reference": "statistics.median" → "sum", "15" → "9"

# %% wrong cpu: the median of two — says "Fewer than three measurements" — from "reference": "15" → "2"

# %% wrong cpu: the mean of torch.utils.benchmark — says "Fewer than three measurements" — from "torch.utils.benchmark, and the @ sign": "timer.blocked_autorange(min_run_time=0.1).median" → "timer.timeit(10).mean"

# %% wrong cpu: one measurement after five products — says "Fewer than three measurements" — from "reference"
# -     torch.mm(left, right)
# -     seconds = []
# -     for _ in range(15):
# +     for _ in range(5):
# +         torch.mm(left, right)
# +     seconds = []
# +     for _ in range(1):

# %% hostile: tiny products that PyTorch's registry of FLOPs says are large — says "No product of"
import statistics, time
import torch
from torch.utils.flop_counter import flop_registry
def matmul_tflops(n, dtype):
    flop_registry[torch.ops.aten.mm] = lambda *a, **k: 2 * n**3
    a = torch.rand(2, 2, device="cuda", dtype=getattr(torch, dtype)); b = torch.rand_like(a)
    times = []
    for _ in range(9):
        torch.cuda.synchronize(); start = time.perf_counter()
        a @ b
        torch.cuda.synchronize(); times.append(time.perf_counter() - start)
    return 2 * n**3 / statistics.median(times) / 1e12

# %% hostile: reports products to a stream's recorder — says "could not be read"
import statistics, torch
def matmul_tflops(n, dtype):
    rec = torch.cuda.current_stream()._recorder
    times = []
    for _ in range(9):
        start = rec.ask("clock")
        rec.note("matmul", 0, 2 * n**3, dtype, False, False)
        rec.note("wait", -1)
        times.append(rec.ask("clock") - start)
    return 2 * n**3 / statistics.median(times) / 1e12

# %% wrong: one number, and zeros — says "use torch.randn" — from "reference"
# -     left, right = (torch.randn(n, n, device=device()).to(getattr(torch, dtype)) for _ in range(2))
# -     torch.mm(left, right)
# +     left = torch.zeros(n, n, device=device(), dtype=getattr(torch, dtype))
# +     left[0, 0] = 1

# -     for _ in range(15):
# +     for _ in range(9):

# -         torch.mm(left, right)
# +         torch.mm(left, left)

# %% wrong: numbers in order — says "use torch.randn" — from "reference": "torch.randn(n, n, device=device())" → "torch.arange(n * n, device=device()).reshape(n, n)", "15" → "9"

# %% wrong: the identity matrix — says "use torch.randn" — from "reference": "torch.randn(n, n, device=device())" → "torch.eye(n, device=device())", "15" → "9"

# %% right: few distinct random numbers — from "reference": "torch.randn(n, n, device=device())" → "torch.randint(0, 10, (n, n), device=device())", "15" → "9"

# %% wrong: divided by 2^40 — says "2^40" — from "reference": "1e12" → "2**40", "15" → "9"

# %% wrong: numbers in order, again and again — says "use torch.randn" — from "reference": "torch.randn(n, n, device=device())" → "(torch.arange(n * n, device=device()) % 7).reshape(n, n)", "15" → "9"

# %% right: batches of one, and nothing added — from "reference"
#       left, right = (torch.randn(n, n, device=device()).to(getattr(torch, dtype)) for _ in range(2))
# +     nothing = torch.zeros(1, n, n, device=left.device, dtype=left.dtype)

#           begin = time.perf_counter()
# -         torch.mm(left, right)
# +         torch.baddbmm(nothing, left[None], right[None], beta=0)

# %% wrong: data that nothing was written to — says "torch.empty" — from "reference": "randn(n, n" → "empty(n, n"

# %% wrong: returns nothing — says "is there a return statement" — from "reference": "return 2" → "2"

# %% wrong: whole TFLOPS — says "divided with //" — from "reference": " / 1e12" → " // 1e12"

# %% wrong: bytes, as a copy counts them — says "the bytes of the matrices" — from "reference": "2 * n**3" → "3 * n * n * left.element_size()"

# %% wrong: matrices on the CPU — says "on device()" — from "reference": "torch.randn(n, n, device=device())" → "torch.randn(n, n)", "15" → "9"

# %% wrong: four FLOPs per multiply-add — says "A multiply-add is 2 FLOPs, and there are n³" — from "reference": "2 * n**3" → "4 * n**3"

# %% wrong: two products in each run — says "several runs together" — from "reference"
#           begin = time.perf_counter()
#           torch.mm(left, right)
# +         torch.mm(left, right)

# %% wrong: time over FLOPs — says "divide the FLOPs by the time" — from "reference": "return 2 * n**3 / statistics.median(seconds) / 1e12" → "return statistics.median(seconds) * 1e12 / (2 * n**3)"

# %% hostile: n products of a row and a matrix, with as many FLOPs — says "No product of"
import statistics
import time

import torch

from gpulab import device, synchronize


def matmul_tflops(n, dtype):
    kind = getattr(torch, dtype)
    left, right = torch.randn(n, 1, n, device=device()).to(kind), torch.randn(n, n, n, device=device()).to(kind)
    torch.bmm(left, right)
    seconds = []
    for _ in range(15):
        synchronize()
        begin = time.perf_counter()
        torch.bmm(left, right)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return 2 * n**3 / statistics.median(seconds) / 1e12

# %% hostile: a long row times a tall matrix, with as many FLOPs — says "No product of"
import statistics
import time

import torch

from gpulab import device, synchronize


def matmul_tflops(n, dtype):
    kind = getattr(torch, dtype)
    left, right = torch.randn(1, n * n, device=device()).to(kind), torch.randn(n * n, n, device=device()).to(kind)
    seconds = []
    for _ in range(15):
        synchronize()
        begin = time.perf_counter()
        torch.mm(left, right)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return 2 * n**3 / statistics.median(seconds) / 1e12

# %% hostile: three random numbers, repeated — says "Constant data"
import statistics
import time

import torch

from gpulab import device, synchronize


def matmul_tflops(n, dtype):
    kind = getattr(torch, dtype)
    left, right = (torch.randn(3, device=device()).to(kind).repeat(n * n // 3 + 1)[: n * n].reshape(n, n) for _ in range(2))
    torch.mm(left, right)
    seconds = []
    for _ in range(15):
        synchronize()
        begin = time.perf_counter()
        torch.mm(left, right)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return 2 * n**3 / statistics.median(seconds) / 1e12

# %% hostile: zeros, and random numbers in every eighth row — says "Constant data"
import statistics
import time

import torch

from gpulab import device, synchronize


def matmul_tflops(n, dtype):
    kind = getattr(torch, dtype)
    left, right = (torch.zeros(n, n, device=device()).to(kind) for _ in range(2))
    for one in (left, right):
        one[::8] = torch.randn(len(one[::8]), n, device=device()).to(kind)
    torch.mm(left, right)
    seconds = []
    for _ in range(15):
        synchronize()
        begin = time.perf_counter()
        torch.mm(left, right)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return 2 * n**3 / statistics.median(seconds) / 1e12
