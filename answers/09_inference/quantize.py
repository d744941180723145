# %% right: reference
import numpy as np


def quantize(x, scale):
    return np.clip(np.rint(x / scale), -127, 127).astype(np.int8)

# %% right: clips first, then rounds — from "reference"
# -     return np.clip(np.rint(x / scale), -127, 127).astype(np.int8)
# +     limit = np.float32(127 * scale)
# +     return np.rint(np.clip(x, -limit, limit) / scale).astype(np.int8)

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

# %% wrong: clipped after it has wrapped — says "-128" — from "wraps around"
# -         return np.rint(x / scale).astype(np.int64).astype(np.int8)
# +         steps = np.rint(np.clip(x / scale, -128, 128)).astype(np.int64)
# +         return np.minimum(steps, 127).astype(np.int8)

# %% wrong: truncates — says "truncates" — from "reference": "np.rint(x / scale)" → "x / scale"

# %% wrong: truncates and wraps around — says "truncates" — from "wraps around": "np.rint" → ""

# %% wrong: whole steps by floor division — says "rounds down" — from "reference": "np.rint(x / scale)" → "x // scale"

# %% wrong: down to -128 — says "-128 has no opposite" — from "reference": "-127" → "-128"

# %% wrong: halves away from zero — says "even neighbor, not away" — from "reference"
# -     return np.clip(np.rint(x / scale), -127, 127).astype(np.int8)
# +     steps = x / scale
# +     return np.clip(np.trunc(steps + np.copysign(0.5, steps)), -127, 127).astype(np.int8)

# %% wrong: halves up — says "even neighbor, not always up" — from "reference": "rint(x / scale" → "floor(x / scale + 0.5"

# %% wrong: converts to int32 before it clips — says "clip before you convert" — from "wraps around"
# -         return np.rint(x / scale).astype(np.int64).astype(np.int8)
# +         return np.clip(np.rint(x / scale).astype(np.int32), -127, 127).astype(np.int8)

# %% wrong: multiplies with the scale — says "Divide by the scale" — from "reference": "x / " → "x * "

# %% wrong: leaves floats — says "float32 instead of int8" — from "reference": ".astype(np.int8)" → ""

# %% wrong: int32 — says "expected int8" — from "reference": "int8" → "int32"

# %% wrong: reads the steps back as numbers — says "do not multiply them by the scale again" — from "reference": ".astype(np.int8)" → " * scale"

# %% wrong: a flat list — says "expected a NumPy array" — from "reference": "int8)" → "int8).ravel().tolist()"

# %% wrong: loses the shape — says "shape" — from "reference": "int8)" → "int8).ravel()"

# %% wrong: changes its argument — says "changed an argument" — from "reference"
# +     x /= scale
# -     return np.clip(np.rint(x / scale), -127, 127).astype(np.int8)
# +     return np.clip(np.rint(x), -127, 127).astype(np.int8)

# %% wrong: no return — says "None" — from "reference": "return " → ""

# %% hostile: an object equal to everything — earns 0
class Agreeable:
    dtype = "int8"

    def __eq__(self, other):
        return True

    __hash__ = None


def quantize(x, scale):
    return Agreeable()

# %% hostile: times that are none: NaT, in an array of the right shape
import numpy as np


def quantize(x, scale):
    return np.full(x.shape, "NaT", "m8[ns]")

# %% wrong: truncates, down to -128 — says "truncates" — from "reference": "np.rint(x / scale), -127" → "x / scale, -128"

# %% wrong: halves away from zero, down to -128 — says "-128 has no opposite" — from "halves away from zero": "-127" → "-128"

# %% wrong: takes the scale for the limit — says "one step" — from "reference": "x / scale" → "x / scale * 127"

# %% wrong: unsigned, with 0 at 128 — says "int8 has a sign" — from "reference": "np.rint(x / scale), -127, 127).astype(np.int8)" → "np.rint(x / scale) + 128, 0, 255).astype(np.uint8)"

# %% wrong: clips at 128 — says "cannot hold 128" — from "reference": "-127, 127).astype" → "-128, 128).astype(np.int32).astype"

# %% wrong: converts to int64 before it clips — says "An integer has wrapped" — from "converts to int32 before it clips": "int32" → "int64"

# %% wrong: rounds to one decimal place first — says "rounded twice" — from "reference": "np.rint(x / scale)" → "np.rint(np.round(x / scale, 1))"

# %% wrong: adds 0.5 and cuts — says "adding 0.5 is wrong below 0" — from "reference": "np.rint(x / scale)" → "x / scale + 0.5"

# %% wrong: clips after it has converted — says "wraps around: clip first" — from "wraps around": "np.rint(x / scale).astype(np.int64).astype(np.int8)" → "np.clip(np.rint(x / scale).astype(np.int64).astype(np.int8), -127, 127)"

# %% wrong: limits times the scale — says "do not depend on the scale" — from "reference": "-127, 127)" → "-127 * scale, 127 * scale)"

# %% wrong: rounded before it is divided — says "Divide by the scale, then round" — from "reference": "np.rint(x / scale)" → "np.rint(x) / scale"

# %% wrong: a scale of its own — says "The scale is an argument" — from "reference": "x / scale" → "x / np.abs(x).max() * 127"

# %% wrong: magnitudes — says "The sign is lost" — from "reference": "x / scale" → "np.abs(x) / scale"

# %% wrong: uint8 — says "uint8 has none" — from "reference": "np.int8" → "np.uint8"

# %% wrong: clipped from above only — says "What is below -127 wraps around" — from "reference": "np.clip(np.rint(x / scale), -127, 127)" → "np.minimum(np.rint(x / scale), 127)"

# %% wrong: clipped from below only — says "What is above 127 wraps around" — from "reference": "np.clip(np.rint(x / scale), -127, 127)" → "np.maximum(np.rint(x / scale), -127)"

# %% wrong: the scale as a whole number — says "Then 0.25 is 0" — from "reference": "x / scale" → "x / np.float32(int(scale))"

# %% wrong: infinity becomes 0 — says "Infinity is beyond ±127, too" — from "reference": "x / scale" → "np.where(np.isfinite(x), x, 0) / scale"

# %% wrong: one axis only — says "x may have any shape, here (2, 2)"
import numpy as np


def quantize(x, scale):
    return np.array([max(-127, min(127, round(one / scale))) for one in x], np.int8)

# %% right: clipped to 127 scales before the division — from "reference": "np.rint(x / scale), -127, 127" → "np.rint(np.clip(x, -127 * scale, 127 * scale) / scale), -127, 127"

# %% right: a helper function that is called like one of the test
import numpy as np


def wrapped(steps):
    return np.maximum(np.minimum(steps, 127), -127)


def quantize(x, scale):
    return np.round(wrapped(x / scale)).astype(np.int8)

# %% wrong: clips x before it is divided — says "Clip the steps, after the division" — from "reference": "x / scale" → "np.clip(x, -127, 127) / scale"

# %% wrong: the reciprocal of the scale as a whole number — says "Was 1 / scale cut to a whole number" — from "reference": "np.rint(x / scale)" → "np.nan_to_num(np.rint(np.clip(x, -1e30, 1e30) * int(1 / scale)))"

# %% wrong: rounds to even numbers — says "Only a half goes to the even neighbor" — from "reference": "np.rint(x / scale)" → "2 * np.rint(x / scale / 2)"

# %% wrong: subtracts the smallest — says "do not subtract the minimum" — from "reference": "x / scale" → "(x - x.min()) / scale"

# %% wrong: rounds to two decimal places before the division — says "here x was rounded before" — from "reference": "x / scale" → "np.round(x, 2) / scale"

# %% wrong: clipped to what a uint8 holds — says "What is below 0 is cut off" — from "reference": "-127, 127).astype(np.int8)" → "0, 255).astype(np.uint8)"

# %% wrong: negative numbers become 0 — says "What is below 0 is cut off" — from "reference": "-127, 127" → "0, 127"

# %% wrong: clips at 128, which wraps around — says "the highest is 127" — from "reference": "-127, 127" → "-127, 128"

# %% wrong: multiplies by the scale again, and cuts off — says "do not multiply them by the scale again" — from "reference": "return np.clip(np.rint(x / scale), -127, 127)" → "return (np.clip(np.rint(x / scale), -127, 127) * scale)"

# %% wrong: Python's round — says "Python's round takes one number" — from "reference": "np.rint(" → "round("

# %% wrong: the ends of 4 bits — says "the ends of 4 bits" — from "reference": "-127, 127" → "-7, 7"

# %% wrong: divides by the scale twice — says "divided by the scale twice" — from "reference": "x / scale" → "x / scale / scale"

# %% wrong: the limits times the scale, then rounds — says "the limits do not depend on the scale" — from "reference": "np.clip(np.rint(x / scale), -127, 127)" → "np.rint(np.clip(x / scale, -127 * scale, 127 * scale))"
