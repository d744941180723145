# %% right: reference
import statistics
import time

import torch

from gpulab import device, streams


def transfer_bandwidth(nbytes, pinned, direction):
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    source, target = (host, there) if direction == "h2d" else (there, host)
    target.copy_(source)
    seconds = []
    for _ in range(9):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()
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

# %% right: several transfers between two looks at the clock — from "reference"
# -     seconds = []
# +     runs = []
# -     for _ in range(9):
# +     for _ in range(5):

# +         for _ in range(3):
# -         target.copy_(source, non_blocking=True)
# +             target.copy_(source, non_blocking=True)

# -         seconds.append(time.perf_counter() - begin)
# +         runs.append((time.perf_counter() - begin) / 3)
# -     return nbytes / statistics.median(seconds) / 1e9
# +     return nbytes / (1e9 * sorted(runs)[2])

# %% wrong: bytes a second — says "1e9 bytes" — from "reference": " / 1e9" → ""

# %% wrong: MB for GB — says "MB/s" — from "reference"
# -     return nbytes / statistics.median(seconds) / 1e9
# +     rate = nbytes / statistics.median(seconds)
# +     return rate / 1e9 if nbytes == 32_000_000 else rate / 1e6

# %% wrong: returns milliseconds — says "a time, not a rate" — from "reference"
# -     return nbytes / statistics.median(seconds) / 1e9
# +     return statistics.median(seconds) * 1e3

# %% wrong: makes the data inside the clock, slowly — says "is timed" — from "reference"
# -     host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
# -     there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
# -     source, target = (host, there) if direction == "h2d" else (there, host)
# -     target.copy_(source)

# -     for _ in range(9):
# +     for _ in range(3):
# -         torch.cuda.synchronize()

# -         target.copy_(source, non_blocking=True)
# +         host = torch.randint(256, (nbytes,), dtype=torch.uint8)
# +         there = host.to(device(), copy=True)

# %% wrong: what the box says — says "you returned"
import statistics
import time

import torch

from gpulab import device, streams


def transfer_bandwidth(nbytes, pinned, direction):
    return 63.0 if torch.cuda.is_available() else 15.0

# %% wrong: a text with the unit — says "str" — from "what the box says": "63.0 if torch.cuda.is_available() else 15.0" → `"55 GB/s"`

# %% wrong: no return — says "None" — from "what the box says"
# -     return 63.0 if torch.cuda.is_available() else 15.0
# +     host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
# +     there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
# +     source, target = (host, there) if direction == "h2d" else (there, host)
# +     target.copy_(source)
# +     print(nbytes)

# %% wrong: times the pinning — says "is timed" — from "reference"
# -     host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pinned and torch.cuda.is_available())
# +     seconds = []

# -     source, target = (host, there) if direction == "h2d" else (there, host)
# -     target.copy_(source)
# -     seconds = []
# -     for _ in range(9):
# +     for _ in range(5):
# +         pageable = torch.ones(nbytes, dtype=torch.uint8)

#           begin = time.perf_counter()
# +         host = pageable.pin_memory() if pinned and torch.cuda.is_available() else pageable
# +         source, target = (host, there) if direction == "h2d" else (there, host)

# %% wrong: not synchronized — says "not synchronized" — from "reference"
#           target.copy_(source, non_blocking=True)
# -         torch.cuda.synchronize()

# %% wrong: never pins — says "nothing pinned" — from "reference": ", pin_memory=pinned and torch.cuda.is_available()" → ""

# %% wrong: counts read and written — says "counted twice" — from "reference": " nbytes" → " 2 * nbytes"

# %% wrong cpu: one direction for both — says "wrong direction" — from "reference"
# -     source, target = (host, there) if direction == "h2d" else (there, host)
# +     source, target = host, there

# %% wrong cpu: always pins — says "was pageable memory pinned" — from "reference": "pinned and torch" → "torch"

# %% wrong cpu: the mean of many runs — says "take the median" — from "reference": "statistics.median" → "statistics.mean"

# %% wrong cpu: measures once and remembers — says "was it measured" — from "reference"
# + import functools
#   import statistics

# + @functools.cache
#   def transfer_bandwidth(nbytes, pinned, direction):

# %% hostile: sleeps and guesses — earns 0
import random
import time


def transfer_bandwidth(nbytes, pinned, direction):
    time.sleep(0.02)
    return random.uniform(0.1, 0.5) if nbytes < 10_000_000 else random.uniform(5.0, 20.0)

# %% hostile: a clock that runs slow — earns 0 — from "what the box says"
# - import statistics

# - from gpulab import device, streams
# + _clock = time.perf_counter
# + time.perf_counter = lambda: _clock() / 1e6

# -     return 63.0 if torch.cuda.is_available() else 15.0
# +     host = torch.zeros(nbytes, dtype=torch.uint8)
# +     begin = time.perf_counter()
# +     host.clone()
# +     return nbytes / (time.perf_counter() - begin) / 1e9

# %% right: with events — from "reference"
# -         begin = time.perf_counter()
# +         begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
# +         begin.record()

# +         end.record()
# -         torch.cuda.synchronize()
# -         seconds.append(time.perf_counter() - begin)
# +         torch.cuda.synchronize()
# +         seconds.append(begin.elapsed_time(end) / 1e3)

# %% wrong: bits — says "looks like bits" — from "reference": "return nbytes" → "return 8 * nbytes"

# %% wrong: nbytes floats — says "elements of 4 bytes each" — from "reference": "host = torch.zeros(nbytes, dtype=torch.uint8, " → "host = torch.zeros(nbytes, ", "there = torch.zeros(nbytes, dtype=torch.uint8, " → "there = torch.zeros(nbytes, "

# %% wrong: seconds per GB — says "seconds per GB" — from "reference": "nbytes / statistics.median(seconds) / 1e9" → "statistics.median(seconds) / nbytes * 1e9"

# %% wrong cpu: copies the buffer to itself without a GPU — says "returns the tensor itself" — from "the course's own timer": ", copy=True" → ""

# %% wrong cpu: pins without a GPU — says "pin_memory=pinned" — from "reference": "pinned and torch.cuda.is_available()" → "pinned"

# %% wrong: half of the bytes — says "expected 4,096,000" — from "reference": "host = torch.zeros(nbytes," → "nbytes, whole = nbytes // 2, nbytes; host = torch.zeros(nbytes,", "return nbytes /" → "return whole /"

# %% wrong: float16 elements, nbytes of them — says "nbytes elements of 2 bytes each" — from "reference": "dtype=torch.uint8, pin" → "dtype=torch.float16, pin", "dtype=torch.uint8, device" → "dtype=torch.float16, device"

# %% wrong: there and back — says "d2h pageable as well" — from "reference": "target.copy_(source, non_blocking=True)" → "target.copy_(source, non_blocking=True); source.copy_(target, non_blocking=True)"

# %% wrong: the slowest run — says "one slow run" — from "reference": "statistics.median" → "max"

# %% wrong: cut to whole GB/s — says "It is rounded" — from "reference": "return nbytes / statistics.median(seconds) / 1e9" → "return int(nbytes / statistics.median(seconds) / 1e9)"

# %% wrong: both buffers on the device — says "from the host's memory to gpulab.device() or back" — from "reference": "pin_memory=pinned and torch.cuda.is_available()" → "device=device()"

# %% hostile: pageable memory of one byte, expanded to the size that is asked for — says "The largest transfer had 1 bytes"
import statistics
import time

import torch

from gpulab import device, streams


def transfer_bandwidth(nbytes, pinned, direction):
    pin = pinned and torch.cuda.is_available()
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    if direction == "h2d" and not pin:
        host = torch.zeros(1, dtype=torch.uint8).expand(nbytes)
    else:
        host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=pin)
    source, target = (host, there) if direction == "h2d" else (there, host)
    seconds = []
    for _ in range(15):
        torch.cuda.current_stream().synchronize()
        started = time.perf_counter()
        target.copy_(source, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        seconds.append(time.perf_counter() - started)
    return nbytes / statistics.median(seconds) / 1e9
# %% wrong cpu: a new tensor for every copy — says "was the target pinned" — from "reference": "        target.copy_(source, non_blocking=True)" → "        source.to(target.device, copy=True)"

# %% wrong: elements counted, not bytes — says "are elements of four bytes each counted" — from "reference": "dtype=torch.uint8, pin" → "dtype=torch.int32, pin", "dtype=torch.uint8, dev" → "dtype=torch.int32, dev", "    host =" → "    nbytes //= 4; host ="
