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

# %% right: CUDA events where there is a GPU, clocks imported by name
import statistics
from time import perf_counter

import torch

from gpulab import device

DEVICE = device()


def milliseconds(work):
    if DEVICE.type != "cuda":
        start = perf_counter()
        work()
        return 1e3 * (perf_counter() - start)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def copy_bandwidth(nbytes):
    source = torch.ones(nbytes, dtype=torch.uint8, device=DEVICE)
    target = torch.empty_like(source)
    for _ in range(3):
        target.copy_(source)
    return 2 * nbytes / statistics.median(milliseconds(lambda: target.copy_(source)) for _ in range(11)) / 1e6

# %% right: clones for a third of a second, best of all runs
import time

import torch

from gpulab import device


def copy_bandwidth(nbytes):
    source = torch.ones(nbytes // 4, device=device())
    source.clone()
    best, began = float("inf"), time.monotonic()
    while time.monotonic() - began < 0.3:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = time.perf_counter_ns()
        copy = source.clone()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        best = min(best, time.perf_counter_ns() - start)
    assert torch.equal(copy, source)
    return 2 * nbytes / best

# %% wrong: bytes per second — says "1e9 bytes" — from "reference"
# -     target = torch.empty_like(source)
# -     target.copy_(source)
# +     target = torch.zeros_like(source)

# -     for _ in range(20):
# +     for _ in range(9):

# -     return 2 * nbytes / statistics.median(times) / 1e9
# +     return 2 * nbytes / statistics.median(times)

# %% wrong: MB for GB — says "MB/s" — from "bytes per second": "times)" → "times) / 1e6"

# %% wrong: returns milliseconds — says "a time, not a rate" — from "bytes per second"
# -     return 2 * nbytes / statistics.median(times)
# +     return statistics.median(times) * 1e3

# %% wrong: makes the data inside the clock — says "is timed" — from "reference"
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

# %% wrong: copies one byte at a time — says "no copy within the memory"
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

# %% hostile: the ceiling that the course's library has measured
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

# %% wrong: not synchronized — says "not synchronized" — from "reference"
# -     target = torch.empty_like(source)
# +     target = torch.zeros_like(source)
# -     target.copy_(source)

#           target.copy_(source)
# -         synchronize()

# %% wrong: counts one direction — says "read and written" — from "bytes per second"
# -     for _ in range(9):
# +     for _ in range(20):

# -     return 2 * nbytes / statistics.median(times)
# +     return nbytes / statistics.median(times) / 1e9

# %% wrong: times the allocation — says "allocation" — from "reference"
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

# %% wrong cpu: one run — says "Fewer than three measurements"
import time

import torch

from gpulab import device, synchronize


def copy_bandwidth(nbytes):
    source = torch.ones(nbytes, dtype=torch.uint8, device=device())
    target = torch.empty_like(source)
    target.copy_(source)
    synchronize()
    start = time.perf_counter()
    target.copy_(source)
    synchronize()
    return 2 * nbytes / (time.perf_counter() - start) / 1e9

# %% wrong cpu: the mean of many runs — says "take the median" — from "reference": "statistics.median" → "statistics.mean"

# %% wrong cpu: a cold first copy — says "cold" — from "one run"
#       target = torch.empty_like(source)
# -     target.copy_(source)
#       synchronize()

# %% wrong cpu: GiB for GB — says "GiB" — from "reference": "1e9" → "2**30"

# %% wrong: copies on the host — says "no copy within the memory" — from "reference": ", device=device()" → ""

# %% wrong: NumPy on the host — says "no copy within the memory"
import time

import numpy as np


def copy_bandwidth(nbytes):
    source = np.ones(nbytes, np.uint8)
    target = source.copy()
    times = []
    for _ in range(9):
        start = time.perf_counter()
        target[:] = source
        times.append(time.perf_counter() - start)
    return 2 * nbytes / np.median(times) / 1e9

# %% wrong cpu: a part of the copy, scaled up — says "had another size" — from "reference"
#   def copy_bandwidth(nbytes):
# +     nbytes = nbytes // 10

# %% wrong cpu: measures once and remembers — says "was it measured" — from "reference"
# + import functools
#   import statistics

# + @functools.cache
#   def copy_bandwidth(nbytes):

# %% hostile: sleeps and guesses — earns 0
import random
import time


def copy_bandwidth(nbytes):
    time.sleep(0.02)
    return random.uniform(1.0, 3.0)

# %% hostile: sweeps through guesses — earns 0
import itertools
import time

GUESSES = itertools.cycle([2.0 * 1.5**step for step in range(12)])


def copy_bandwidth(nbytes):
    time.sleep(6 * nbytes / 1e9)
    return next(GUESSES) * (1 + 1e-6 * time.perf_counter())

# %% hostile cpu: the figure of the call before — earns 0 — from "reference"
# + last = []
#
#   def copy_bandwidth(nbytes):
# +     if last:
# +         last.append(last[-1] * 1.0001)
# +         return last[-1]

# -     return 2 * nbytes / statistics.median(times) / 1e9
# +     last.append(2 * nbytes / statistics.median(times) / 1e9)
# +     return last[-1]

# %% hostile: looks for the rates behind the clock — earns 0
import gc
import time

from gpulab import device


def copy_bandwidth(nbytes):
    found = [one for one in gc.get_objects() if type(one).__name__ in ("Machine", "Case", "Cost")]
    known = [getattr(one, "figure", None) or getattr(one, "unit_s", None) for one in found]
    inner = [cell.cell_contents for cell in time.perf_counter.__closure__ or ()]
    rates = [rate for rate in known + [getattr(one, "copy_gbs", None) for one in inner] if isinstance(rate, float)]
    return rates[0] if rates else 1.0 + time.perf_counter() % 1

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

# %% hostile: operations that no machine knows, and a copy of fewer than no bytes
import gc


def copy_bandwidth(nbytes):
    from gpulab.virtual_gpu.operations import OperationRecorder

    for one in gc.get_objects():
        if type(one) is OperationRecorder:
            return one.ask("copy", 0, -(10**30)) or one.ask("elapsed", [], {"event": 3})
    return 0.0

# %% wrong cpu: the median of two — says "Fewer than three measurements" — from "reference": "20" → "2"

# %% wrong cpu: the mean of torch.utils.benchmark — says "Fewer than three measurements" — from "torch.utils.benchmark": "blocked_autorange(min_run_time=0.1).median" → "timeit(10).mean"

# %% wrong cpu: the mean of ten after ten — says "take the median" — from "reference"
# -     target.copy_(source)
# -     times = []
# -     for _ in range(20):
# +     for _ in range(10):
# +         target.copy_(source)
# +     times = []
# +     for _ in range(10):

#           times.append(time.perf_counter() - start)
# -     return 2 * nbytes / statistics.median(times) / 1e9
# +     return 2 * nbytes / statistics.mean(times) / 1e9

# %% wrong: fills the target inside the clock — says "creation of the data" — from "reference"
#           start = time.perf_counter()
# +         target.fill_(1)

# %% hostile: reports copies to what stands behind the clock — says "could not be read"
import time, statistics
def copy_bandwidth(nbytes):
    rec = next(c.cell_contents for c in time.perf_counter.__closure__ if hasattr(c.cell_contents, "note"))
    times = []
    for _ in range(20):
        rec.note("wait", -1)
        start = rec.ask("clock")
        rec.note("copy", 0, nbytes)
        rec.note("wait", -1)
        times.append(rec.ask("clock") - start)
    return 2 * nbytes / statistics.median(times) / 1e9

# %% hostile: says that eight bytes are as many as it was asked for — says "No copy within the memory"
import torch, time, statistics
def copy_bandwidth(nbytes):
    m = torch.utils._python_dispatch._get_current_dispatch_mode_stack()[-1]
    g = type(m).__torch_dispatch__.__globals__
    a = torch.ones(8, dtype=torch.uint8, device="cuda")
    b = torch.empty_like(a)
    g["_bytes"] = lambda tensors: nbytes
    times = []
    for _ in range(9):
        torch.cuda.synchronize(); start = time.perf_counter()
        b.copy_(a)
        torch.cuda.synchronize(); times.append(time.perf_counter() - start)
    return 2 * nbytes / statistics.median(times) / 1e9

# %% wrong: copies a tensor to itself — says "No copy within the memory" — from "reference": "target = torch.empty_like(source)" → "target = source"

# %% hostile: copies one byte again and again — says "No copy within the memory"
import torch, time, statistics
def copy_bandwidth(nbytes):
    source = torch.ones(1, dtype=torch.uint8, device="cuda").expand(nbytes)
    target = torch.empty(nbytes, dtype=torch.uint8, device="cuda")
    times = []
    for _ in range(9):
        torch.cuda.synchronize(); start = time.perf_counter()
        target.copy_(source)
        torch.cuda.synchronize(); times.append(time.perf_counter() - start)
    return 2 * nbytes / statistics.median(times) / 1e9

# %% wrong: a tensor of float32 — says "four times as many bytes" — from "reference": "dtype=torch.uint8" → "dtype=torch.float32"

# %% right: asks an event and a stream until they are done — from "reference"
#   def copy_bandwidth(nbytes):
# +     on_gpu = device().type == "cuda"

# -         synchronize()
# -         times.append(time.perf_counter() - start)
# +         if on_gpu:
# +             done = torch.cuda.Event()
# +             done.record()
# +             while not done.query() or not torch.cuda.current_stream().query():
# +                 pass
# +         times.append(time.perf_counter() - start)

# %% wrong: the milliseconds of events taken for seconds — says "a time in milliseconds" — from "reference"
# -         synchronize()
# -         start = time.perf_counter()
# +         start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
# +         start.record()

# -         synchronize()
# -         times.append(time.perf_counter() - start)
# +         end.record()
# +         end.synchronize()
# +         times.append(start.elapsed_time(end))

# %% wrong cpu: adds nothing — says "In the timed runs, no copy was seen" — from "reference"
#           start = time.perf_counter()
# -         target.copy_(source)
# +         torch.add(source, 0, out=target)

# %% wrong cpu: joins one tensor — says "use target.copy_(source)" — from "reference"
#           start = time.perf_counter()
# -         target.copy_(source)
# +         torch.cat([source], out=target)

# %% wrong cpu: copies a list of tensors — says "counts as another kernel" — from "reference"
#           start = time.perf_counter()
# -         target.copy_(source)
# +         torch._foreach_copy_([target], [source])

# %% wrong: the source stays on the host — says "both the source and the target" — from "reference"
# -     source = torch.ones(nbytes, dtype=torch.uint8, device=device())
# -     target = torch.empty_like(source)
# +     source = torch.ones(nbytes, dtype=torch.uint8)
# +     target = torch.empty_like(source, device=device())

# %% wrong cpu: seconds over bytes — says "Upside down" — from "reference": "2 * nbytes / statistics.median(times) / 1e9" → "statistics.median(times) / (2 * nbytes) * 1e9"

# %% wrong cpu: the slowest run — says "the slowest run" — from "reference": "statistics.median" → "max"
