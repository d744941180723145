# %% right: reference
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int8)

# %% right: clips first, then rounds
import numpy as np


def quantize(x, scale):
    limit = np.float32(127 * scale)
    return np.rint(np.clip(x, -limit, limit) / scale).astype(np.int8)

# %% right: in torch
import torch


def quantize(x, scale):
    steps = torch.round(torch.from_numpy(x.copy()) / scale)
    return steps.clamp(-127, 127).to(torch.int8)

# %% right: number by number
import math

import numpy as np


def quantize(x, scale):
    def one(value):
        steps = value / scale
        if abs(steps) >= 127:
            return int(math.copysign(127, steps))
        return round(steps)

    return np.array([one(float(value)) for value in x.ravel()], dtype=np.int8).reshape(x.shape)

# %% wrong: wraps around — says "wraps around"
import warnings

import numpy as np


def quantize(x, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.rint(x / scale).astype(np.int64).astype(np.int8)

# %% wrong: clipped after it has wrapped — says "-128"
import warnings

import numpy as np


def quantize(x, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = np.rint(np.clip(x / scale, -128, 128)).astype(np.int64)
        return np.minimum(steps, 127).astype(np.int8)

# %% wrong: truncates — says "truncates"
import numpy as np


def quantize(x, scale):
    return np.clip(x / scale, -127, 127).astype(np.int8)

# %% wrong: truncates and wraps around — says "truncates"
import warnings

import numpy as np


def quantize(x, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (x / scale).astype(np.int64).astype(np.int8)

# %% wrong: whole steps by floor division — says "rounds down"
import numpy as np


def quantize(x, scale):
    return np.clip(x // scale, -127, 127).astype(np.int8)

# %% wrong: down to -128 — says "-128 has no opposite"
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -128, 127).astype(np.int8)

# %% wrong: halves away from zero — says "even neighbour, not away"
import numpy as np


def quantize(x, scale):
    steps = x / scale
    return np.clip(np.trunc(steps + np.copysign(0.5, steps)), -127, 127).astype(np.int8)

# %% wrong: halves up — says "even neighbour, not always up"
import numpy as np


def quantize(x, scale):
    return np.clip(np.floor(x / scale + 0.5), -127, 127).astype(np.int8)

# %% wrong: converts to int32 before it clips — says "clip before you convert"
import warnings

import numpy as np


def quantize(x, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.clip(np.rint(x / scale).astype(np.int32), -127, 127).astype(np.int8)

# %% wrong: multiplies with the scale — says "Divide by the scale"
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x * scale), -127, 127).astype(np.int8)

# %% wrong: leaves floats — says "float32 instead of int8"
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127)

# %% wrong: int32 — says "expected int8"
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int32)

# %% wrong: reads the steps back as numbers — says "instead of int8"
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127) * scale

# %% wrong: a flat list — says "expected a NumPy array"
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int8).ravel().tolist()

# %% wrong: loses the shape — says "shape"
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int8).ravel()

# %% wrong: changes its argument — says "changed an argument"
import numpy as np


def quantize(x, scale):
    x /= scale
    return np.clip(np.rint(x), -127, 127).astype(np.int8)

# %% wrong: no return — says "None"
import numpy as np


def quantize(x, scale):
    np.clip(np.rint(x / scale), -127, 127).astype(np.int8)

# %% hostile: an object equal to everything — earns 0
class Agreeable:
    dtype = "int8"

    def __eq__(self, other):
        return True

    __hash__ = None


def quantize(x, scale):
    return Agreeable()
