# %% right: reference
import statistics
import time

import torch

from gpulab import device, synchronize


def copy_bandwidth(nbytes):
    source = torch.ones(nbytes, dtype=torch.uint8, device=device())
    target = torch.empty_like(source)
    target.copy_(source)
    times = []
    for _ in range(20):
        synchronize()
        start = time.perf_counter()
        target.copy_(source)
        synchronize()
        times.append(time.perf_counter() - start)
    return 2 * nbytes / statistics.median(times) / 1e9

# %% right: the course's own timer
import torch

from gpulab import device, measure


def copy_bandwidth(nbytes):
    source = torch.ones(nbytes, dtype=torch.uint8, device=device())
    target = torch.zeros_like(source)
    milliseconds = measure(target.copy_, source, runs=11, at_most_s=0.5).median_ms
    return nbytes * 2 / milliseconds * 1e-6

# %% right: torch.utils.benchmark
import torch
from torch.utils.benchmark import Timer

from gpulab import device


def copy_bandwidth(nbytes):
    source = torch.ones(nbytes, dtype=torch.uint8, device=device())
    target = torch.zeros_like(source)
    timer = Timer("target.copy_(source)", globals={"target": target, "source": source}, num_threads=torch.get_num_threads())
    return 2 * nbytes / timer.blocked_autorange(min_run_time=0.1).median / 1e9

# %% right: NumPy without a GPU, several copies between two looks at the clock
import time

import numpy as np
import torch

from gpulab import device, synchronize


def copy_bandwidth(nbytes):
    if device().type == "cuda":
        source = torch.ones(nbytes, dtype=torch.uint8, device="cuda")
        target = source.clone()
        copy = lambda: target.copy_(source)
    else:
        source = np.ones(nbytes, np.uint8)
        target = source.copy()
        copy = lambda: np.copyto(target, source)
    copy()
    runs = []
    for _ in range(7):
        synchronize()
        start = time.perf_counter()
        for _ in range(4):
            copy()
        synchronize()
        runs.append((time.perf_counter() - start) / 4)
    return np.float64(2 * nbytes / 1e9 / np.median(runs))

# %% wrong: bytes per second — says "1e9 bytes"
import statistics
import time

import torch

from gpulab import device, synchronize


def copy_bandwidth(nbytes):
    source = torch.ones(nbytes, dtype=torch.uint8, device=device())
    target = torch.zeros_like(source)
    times = []
    for _ in range(9):
        synchronize()
        start = time.perf_counter()
        target.copy_(source)
        synchronize()
        times.append(time.perf_counter() - start)
    return 2 * nbytes / statistics.median(times)

# %% wrong: MB for GB — says "expected" — from "bytes per second": "times)" → "times) / 1e6"

# %% wrong: returns milliseconds — says "GB/s" — from "bytes per second"
# -     return 2 * nbytes / statistics.median(times)
# +     return statistics.median(times) * 1e3

# %% wrong: makes the data inside the clock — says "allocation" — from "reference"
#   import time
#
# + import numpy as np

# +     draw = np.random.default_rng(7)
# -     source = torch.ones(nbytes, dtype=torch.uint8, device=device())
# -     target = torch.empty_like(source)
# -     target.copy_(source)

# -     for _ in range(20):
# +     for _ in range(2):
# -         synchronize()

# -         target.copy_(source)
# +         source = torch.from_numpy(draw.standard_normal(nbytes // 8)).to(device())
# +         source.clone()

# %% wrong: copies one byte at a time — says "too slow"
import time


def copy_bandwidth(nbytes):
    sample = bytes(1_000_000)
    start = time.perf_counter()
    target = [byte for byte in sample]
    elapsed = (time.perf_counter() - start) * nbytes / len(sample)
    return 2 * nbytes / elapsed / 1e9

# %% wrong: a figure from a datasheet — says "measured"
import torch

from gpulab import device


def copy_bandwidth(nbytes):
    return 4800.0 if device().type == "cuda" else 25.0

# %% wrong: the ceiling that the course's library has measured — says "was it measured"
from gpulab import machine


def copy_bandwidth(nbytes):
    return machine.ceilings().copy_gbs


# %% wrong: a text with the unit — says "str"
def copy_bandwidth(nbytes):
    return "25 GB/s"

# %% wrong: no return — says "None" — from "a figure from a datasheet"
# -     return 4800.0 if device().type == "cuda" else 25.0
# +     source = torch.ones(nbytes, dtype=torch.uint8, device=device())
# +     source.clone()

# %% wrong gpu: not synchronised — says "not synchronised" — from "reference"
# -     target = torch.empty_like(source)
# +     target = torch.zeros_like(source)
# -     target.copy_(source)

#           target.copy_(source)
# -         synchronize()

# %% wrong gpu: counts one direction — says "read and written" — from "bytes per second"
# -     for _ in range(9):
# +     for _ in range(20):

# -     return 2 * nbytes / statistics.median(times)
# +     return nbytes / statistics.median(times) / 1e9

# %% wrong gpu: times the allocation — says "allocation" — earns 0 — from "reference"
# -     source = torch.ones(nbytes, dtype=torch.uint8, device=device())
# -     target = torch.empty_like(source)
# -     target.copy_(source)

# -     for _ in range(20):
# +     for _ in range(10):
# +         if device().type == "cuda":
# +             torch.cuda.empty_cache()

#           start = time.perf_counter()
# +         source = torch.zeros(nbytes, dtype=torch.uint8, device=device())
# +         target = torch.empty_like(source)

#           times.append(time.perf_counter() - start)
# +         del source, target

# %% hostile: a clock that runs slow — earns 0
import time

import torch

_clock = time.perf_counter
time.perf_counter = lambda: _clock() / 1e6


def copy_bandwidth(nbytes):
    source = torch.ones(nbytes, dtype=torch.uint8)
    target = torch.zeros_like(source)
    start = time.perf_counter()
    target.copy_(source)
    return 2 * nbytes / (time.perf_counter() - start) / 1e9
