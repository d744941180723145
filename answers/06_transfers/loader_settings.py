# %% right: reference
import math


def loader_settings(sample_ms, batch_size, step_ms, cores):
    needed = math.ceil(sample_ms * batch_size / step_ms)
    workers = min(max(needed, 1), cores)
    return {"num_workers": workers, "pin_memory": True, "persistent_workers": True, "prefetch_factor": 2}

# %% right: tries one after another
def loader_settings(sample_ms, batch_size, step_ms, cores):
    workers = 1
    while workers < cores and sample_ms * batch_size > step_ms * workers:
        workers += 1
    return dict(prefetch_factor=4, persistent_workers=True, pin_memory=True, num_workers=workers)

# %% right: with NumPy
import numpy as np


def loader_settings(sample_ms, batch_size, step_ms, cores):
    workers = int(np.clip(-(-(sample_ms * batch_size) // step_ms), 1, cores))
    return {"num_workers": np.int64(workers), "pin_memory": np.True_, "persistent_workers": True, "prefetch_factor": 1}

# %% wrong: rounds down — says "round up"
def loader_settings(sample_ms, batch_size, step_ms, cores):
    workers = max(1, min(cores, int(sample_ms * batch_size // step_ms)))
    return {"num_workers": workers, "pin_memory": True, "persistent_workers": True, "prefetch_factor": 2}

# %% wrong: more workers than cores — says "get in each other's way" — from "reference"
# -     needed = math.ceil(sample_ms * batch_size / step_ms)
# +     workers = max(1, math.ceil(sample_ms * batch_size / step_ms))
# -     workers = min(max(needed, 1), cores)

# %% wrong: all cores — says "fewest"
def loader_settings(sample_ms, batch_size, step_ms, cores):
    return {"num_workers": cores, "pin_memory": True, "persistent_workers": True, "prefetch_factor": 2}

# %% wrong: one image per step — says "16 images" — from "reference"
# +     workers = min(max(math.ceil(sample_ms / step_ms), 1), cores)
# -     needed = math.ceil(sample_ms * batch_size / step_ms)
# -     workers = min(max(needed, 1), cores)

# %% wrong: one more to be safe — says "enough" — from "reference"
# +     workers = min(math.ceil(sample_ms * batch_size / step_ms) + 1, cores)
# -     needed = math.ceil(sample_ms * batch_size / step_ms)
# -     workers = min(max(needed, 1), cores)

# %% wrong: one too many where it comes out even — says "no remainder"
def loader_settings(sample_ms, batch_size, step_ms, cores):
    workers = min(int(sample_ms * batch_size // step_ms) + 1, cores)
    return {"num_workers": workers, "pin_memory": True, "persistent_workers": True, "prefetch_factor": 2}

# %% wrong: nothing to pin — says "transferred while you compute"
import math


def loader_settings(sample_ms, batch_size, step_ms, cores):
    workers = min(max(math.ceil(sample_ms * batch_size / step_ms), 1), cores)
    return {"num_workers": workers, "pin_memory": False, "persistent_workers": True, "prefetch_factor": 2}

# %% wrong: workers started anew every epoch — says "again in every epoch" — from "nothing to pin"
# -     return {"num_workers": workers, "pin_memory": False, "persistent_workers": True, "prefetch_factor": 2}
# +     return {"num_workers": workers, "pin_memory": True, "persistent_workers": False, "prefetch_factor": 2}

# %% wrong: nothing prepared ahead — says "an int ≥ 1" — from "nothing to pin"
# -     return {"num_workers": workers, "pin_memory": False, "persistent_workers": True, "prefetch_factor": 2}
# +     return {"num_workers": workers, "pin_memory": True, "persistent_workers": True, "prefetch_factor": 0}

# %% wrong: a key is missing — says "the keys" — from "nothing to pin"
# -     workers = min(max(math.ceil(sample_ms * batch_size / step_ms), 1), cores)
# +     return {"num_workers": min(max(math.ceil(sample_ms * batch_size / step_ms), 1), cores), "pin_memory": True}
# -     return {"num_workers": workers, "pin_memory": False, "persistent_workers": True, "prefetch_factor": 2}

# %% wrong: the number alone — says "expected a dict" — from "nothing to pin"
# -     workers = min(max(math.ceil(sample_ms * batch_size / step_ms), 1), cores)
# +     return min(max(math.ceil(sample_ms * batch_size / step_ms), 1), cores)
# -     return {"num_workers": workers, "pin_memory": False, "persistent_workers": True, "prefetch_factor": 2}

# %% hostile: leaves as if all were well — earns 0
import os


def loader_settings(sample_ms, batch_size, step_ms, cores):
    os._exit(0)

# %% wrong: the quotient upside down — says "upside down" — from "reference": "sample_ms * batch_size / step_ms" → "step_ms / (sample_ms * batch_size)"

# %% wrong: leaves a core free — says "none has to stay free" — from "reference": "max(needed, 1), cores)" → "max(needed, 1), max(cores - 1, 1))"

# %% hostile: a dict that grows while it is read
class Grows(dict):
    def items(self):
        number = 0
        while True:
            number += 1
            yield number, number

    __iter__ = items


def loader_settings(*arguments):
    return Grows(num_workers=1)


# %% wrong: adds 0.999 instead of rounding up — says "at least 1"
import math
def loader_settings(sample_ms, batch_size, step_ms, cores):
    workers = int(sample_ms * batch_size / step_ms + 0.999)
    return {"num_workers": min(workers, cores), "pin_memory": True, "persistent_workers": True, "prefetch_factor": 2}


# %% wrong: divided by the prefetch factor — says "batches ahead"
import math
def loader_settings(sample_ms, batch_size, step_ms, cores):
    prefetch = 4
    workers = math.ceil(sample_ms * batch_size / step_ms / prefetch)
    return {"num_workers": max(1, min(workers, cores)), "pin_memory": True, "persistent_workers": True, "prefetch_factor": prefetch}


# %% wrong: a single worker is started anew — says "again in every epoch"
import math
def loader_settings(sample_ms, batch_size, step_ms, cores):
    workers = math.ceil(sample_ms * batch_size / step_ms)
    return {"num_workers": max(1, min(workers, cores)), "pin_memory": True, "persistent_workers": workers > 1, "prefetch_factor": 2}


# %% right: floor division of the negative
def loader_settings(sample_ms, batch_size, step_ms, cores):
    workers = int(-(-(sample_ms * batch_size) // step_ms))
    workers = min(max(workers, 1), cores)
    return {"num_workers": workers, "pin_memory": True, "persistent_workers": True, "prefetch_factor": max(2, workers)}

# %% wrong: a batch's time rounded to whole ms — says "Round up" — from "reference": "math.ceil(sample_ms * batch_size / step_ms)" → "math.ceil(round(sample_ms * batch_size) / step_ms)"

# %% wrong: the step in whole ms — says "do not round it" — from "reference": "/ step_ms" → "/ int(step_ms)"

# %% wrong: the step rounded to whole ms — says "do not round it" — from "reference": "/ step_ms" → "/ round(step_ms)"

# %% wrong: never more than 32 — says "only upper limit" — from "reference": "max(needed, 1), cores)" → "max(needed, 1), cores, 32)"

# %% wrong: a power of two — says "return the fewest that keep up" — from "reference": "math.ceil(sample_ms * batch_size / step_ms)" → "2 ** math.ceil(math.log2(max(1, sample_ms * batch_size / step_ms)))"

# %% wrong: half of the cores — says "All 4 cores may be used" — from "reference": "max(needed, 1), cores)" → "max(needed, 1), cores // 2)"

# %% wrong: one worker where the cores are too few — says "use all of them" — from "reference": "min(max(needed, 1), cores)" → "needed if needed <= cores else 1"

# %% wrong: the work in seconds — says "both in ms" — from "reference": "sample_ms * batch_size" → "sample_ms / 1000 * batch_size"

# %% wrong: only the work that exceeds a step — says "subtract nothing" — from "reference": "sample_ms * batch_size / step_ms" → "(sample_ms * batch_size - step_ms) / step_ms"

# %% wrong: the time of an image rounded up — says "do not round it" — from "reference": "math.ceil(sample_ms * batch_size" → "math.ceil(math.ceil(sample_ms) * batch_size"

# %% wrong: whole milliseconds per image — says "do not round it" — from "reference": "math.ceil(sample_ms * batch_size" → "math.ceil(int(sample_ms) * batch_size"

# %% wrong: a tenth more than needed — says "fewest that keep up" — from "reference": "math.ceil(" → "math.ceil(1.1 * "

# %% wrong: at least two workers — says "One worker is enough" — from "reference": "max(needed, 1)" → "max(needed, 2)"

# %% wrong: whole images per worker and step — says "so 16 fall behind" — from "reference": "math.ceil(sample_ms * batch_size / step_ms)" → "math.ceil(batch_size / max(step_ms // sample_ms, 1))"

# %% wrong: divided by the cores — says "not divided by the cores" — from "reference": "sample_ms * batch_size / step_ms" → "sample_ms * batch_size / step_ms / cores"

# %% wrong: not rounded — says "Workers are whole processes" — from "reference": "math.ceil(sample_ms * batch_size / step_ms)" → "sample_ms * batch_size / step_ms"

# %% wrong: rounded up for each image — says "Round up once: the work of a batch" — from "reference": "math.ceil(sample_ms * batch_size / step_ms)" → "math.ceil(sample_ms / step_ms) * batch_size"

# %% wrong: at least as many as the cores — says "That is the number of cores, a limit" — from "reference": "min(max(needed, 1), cores)" → "max(needed, 1, cores)"

# %% wrong: the time of an image left out — says "Is sample_ms left out?" — from "reference": "sample_ms * batch_size" → "batch_size"

# %% wrong: the two limits swapped — says "Are the two limits swapped?" — from "reference": "min(max(needed, 1), cores)" → "min(max(needed, cores), 1)"

# %% wrong: whole images in a step, rounded first — says "Divide a batch's work" — from "reference": "sample_ms * batch_size / step_ms" → "batch_size / (step_ms // sample_ms)"

# %% wrong: None for pinned memory — says "It is True on every machine" — from "reference": `"pin_memory": True` → `"pin_memory": None`
