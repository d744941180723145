# %% right: reference
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    seconds = []
    for _ in range(9):
        synchronize()
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return nbytes / statistics.median(seconds) / 1e9


# %% right: the course's own timer
import torch

from gpulab import device, measure


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.ones(nbytes, dtype=torch.uint8)
    if pinned and torch.cuda.is_available():
        host = host.pin_memory()
    there = host.to(device(), copy=True)
    if direction == "h2d":
        timing = measure(there.copy_, host, runs=9, at_most_s=0.5)
    else:
        timing = measure(host.copy_, there, runs=9, at_most_s=0.5)
    return nbytes / timing.median_ms * 1e-6


# %% right: several transfers between two looks at the clock
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    runs = []
    for _ in range(5):
        synchronize()
        begin = time.perf_counter()
        for _ in range(3):
            target.copy_(source, non_blocking=True)
        synchronize()
        runs.append((time.perf_counter() - begin) / 3)
    return nbytes / (1e9 * sorted(runs)[2])


# %% wrong: bytes a second — says "1e9 bytes"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    seconds = []
    for _ in range(9):
        synchronize()
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return nbytes / statistics.median(seconds)


# %% wrong: MB for GB — says "MB/s"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    seconds = []
    for _ in range(9):
        synchronize()
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    rate = nbytes / statistics.median(seconds)
    return rate / 1e9 if nbytes < 40_000_000 else rate / 1e6


# %% wrong: returns milliseconds — says "a time, not a rate"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    seconds = []
    for _ in range(9):
        synchronize()
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds) * 1e3


# %% wrong: makes the data inside the clock, slowly — says "inside the clock"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        host = torch.randint(256, (nbytes,), dtype=torch.uint8)
        there = host.to(device(), copy=True)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return nbytes / statistics.median(seconds) / 1e9


# %% wrong: what the box says — says "you returned"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    return 63.0 if torch.cuda.is_available() else 15.0


# %% wrong: a text with the unit — says "str"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    return "55 GB/s"


# %% wrong: no return — says "None"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    print(nbytes)


# %% wrong gpu: times the pinning — says "inside the clock"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    seconds = []
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    for _ in range(5):
        pageable = torch.ones(nbytes, dtype=torch.uint8)
        synchronize()
        begin = time.perf_counter()
        host = pageable.pin_memory() if pinned and torch.cuda.is_available() else pageable
        source, target = (host, there) if direction == "h2d" else (there, host)
        target.copy_(source, non_blocking=True)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return nbytes / statistics.median(seconds) / 1e9


# %% wrong gpu: not synchronised — says "not synchronised"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    seconds = []
    for _ in range(9):
        synchronize()
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        seconds.append(time.perf_counter() - begin)
    return nbytes / statistics.median(seconds) / 1e9


# %% wrong gpu: never pins — says "nothing pinned"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8)
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    seconds = []
    for _ in range(9):
        synchronize()
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return nbytes / statistics.median(seconds) / 1e9


# %% wrong gpu: counts read and written — says "counted twice"
import statistics
import time

import torch

from gpulab import device, synchronize


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    seconds = []
    for _ in range(9):
        synchronize()
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        synchronize()
        seconds.append(time.perf_counter() - begin)
    return 2 * nbytes / statistics.median(seconds) / 1e9


# %% hostile: a clock that runs slow — earns 0
import time

import torch

_clock = time.perf_counter
time.perf_counter = lambda: _clock() / 1e6


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8)
    begin = time.perf_counter()
    host.clone()
    return nbytes / (time.perf_counter() - begin) / 1e9

