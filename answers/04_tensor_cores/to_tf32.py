# %% right: reference
import numpy as np


def to_tf32(x):
    bits = x.view(np.uint32)
    half = np.uint32(0xfff) + (bits >> np.uint32(13) & np.uint32(1))
    rounded = ((bits + half) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isnan(x), x, rounded)

# %% right: quotient and remainder of the bit pattern
import numpy as np


def to_tf32(x):
    bits = x.view(np.uint32).astype(np.int64)
    kept, rest = np.divmod(bits, 1 << 13)
    up = (rest > 1 << 13 - 1) | ((rest == 1 << 13 - 1) & (kept % 2 == 1))
    result = ((kept + up) << 13).astype(np.uint32).view(np.float32)
    result[np.isnan(x)] = np.nan
    return result

# %% right: number by number
import struct

import numpy as np


def to_tf32(x):
    def one(value):
        if value != value:
            return value
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        low = bits & (1 << 13) - 1
        bits -= low
        if low > 1 << 13 - 1 or (low == 1 << 13 - 1 and bits >> 13 & 1):
            bits += 1 << 13
        return struct.unpack("<f", struct.pack("<I", bits))[0]

    return np.array([one(float(value)) for value in x.ravel()], dtype=np.float32).reshape(x.shape)

# %% wrong: truncation — says "truncation"
import numpy as np


def to_tf32(x):
    cut = (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isnan(x), x, cut)

# %% wrong: truncation, NaN and all — says "truncation"
import numpy as np


def to_tf32(x):
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)

# %% wrong: NaN turned inf — says "NaN" — from "reference"
# -     rounded = ((bits + half) & np.uint32(0xFFFFE000)).view(np.float32)
# +     return ((bits + half) & np.uint32(0xFFFFE000)).view(np.float32)
# -     return np.where(np.isnan(x), x, rounded)

# %% wrong: infinity kept, NaN made infinity as well — says "NaN" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     return np.where(np.isfinite(x), rounded, np.copysign(np.float32(np.inf), x))

# %% wrong: ties always up — says "even" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
# +     rounded = ((x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
# +     return np.where(np.isnan(x), x, rounded)

# %% wrong: ties always down — says "even" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
# +     rounded = ((x.view(np.uint32) + np.uint32(0xfff)) & np.uint32(0xFFFFE000)).view(np.float32)
# +     return np.where(np.isnan(x), x, rounded)

# %% wrong: loses the sign of zero — says "sign" — from "reference": "rounded)" → "rounded) + np.float32(0)"

# %% wrong: the largest number stays finite — says "it becomes inf" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     largest = np.array(0x7F800000 - (1 << 13), np.uint32).view(np.float32)
# +     finite = np.clip(rounded, -largest, largest)
# +     return np.where(np.isfinite(x), finite, x)

# %% wrong: the other type's bits — says "bits" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
# +     bits = x.view(np.uint32)
# +     half = np.uint32((1 << 16 - 1) - 1) + (bits >> np.uint32(16) & np.uint32(1))
# +     rounded = (bits + half) >> np.uint32(16) << np.uint32(16)
# +     return np.where(np.isnan(x), x, rounded.view(np.float32))

# %% wrong: float16 — says "float16 ends at 65,504" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
# +     with np.errstate(all="ignore"):
# +         return x.astype(np.float16).astype(np.float32)

# %% wrong: rounds in decimal — says "expected" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
# +     return np.array([float(f"{value:.3g}") for value in x.ravel()], np.float32).reshape(x.shape)

# %% wrong: gives the bits, not the numbers — says "view(np.float32)" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
# +     bits = x.view(np.uint32)
# +     return (bits + np.uint32(0xfff) + (bits >> np.uint32(13) & np.uint32(1))) & np.uint32(0xFFFFE000)

# %% wrong: changes its argument — says "changed an argument" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
# +     bits = x.view(np.uint32)
# +     nan = np.isnan(x)
# +     bits += np.uint32(0xfff) + (bits >> np.uint32(13) & np.uint32(1))
# +     bits &= np.uint32(0xFFFFE000)
# +     x[nan] = np.nan
# +     return x

# %% wrong: no return — says "None"
def to_tf32(x):
    rounded = x.round(3)

# %% hostile: replaces the assertion error — earns 0
import builtins

builtins.AssertionError = type("Fine", (Exception,), {})


def to_tf32(x):
    return x

# %% right: whole steps in float64
import numpy as np


def to_tf32(x):
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        _, exponent = np.frexp(np.where(np.isfinite(wide), wide, 1.0))
        step = np.ldexp(1.0, np.maximum(exponent, -125) - 11)
        return (np.rint(wide / step) * step).astype(np.float32)

# %% wrong: one bit too many — says "One bit too many is kept" — from "reference": "0xfff" → "0x7ff", "np.uint32(13)" → "np.uint32(12)", "0xFFFFE000" → "0xFFFFF000"

# %% wrong: the low bits left as they come — says "not cleared" — from "reference": "((bits + half) & np.uint32(0xFFFFE000))" → "(bits + half)"

# %% wrong: subnormal numbers flushed to zero — says "they do not become 0" — from "reference": "np.isnan(x), x, rounded" → "np.isnan(x), x, np.where(np.abs(x) < 2.0**-126, np.copysign(np.float32(0), x), rounded)"

# %% wrong: a float64 array — says "return a float32 array" — from "whole steps in float64": ".astype(np.float32)" → ""

# %% hostile: everything from 2**30 on is infinite, and every normal number below 2**-60 is 0 — says "random numbers" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     size, tiny = np.abs(x), np.float32(2.0**-126)
# +     rounded = np.where(size >= np.float32(2**30), np.copysign(np.float32(np.inf), x), rounded)
# +     rounded = np.where((size < np.float32(2.0**-60)) & (size >= tiny), np.copysign(np.float32(0), x), rounded)
# +     return np.where(np.isnan(x), x, rounded)

# %% wrong: leaves subnormal numbers as they are — says "Numbers below 2**-126" — from "reference": "np.where(np.isnan(x), x, rounded)" → "np.where(np.isnan(x) | (np.abs(x) < 2.0**-126), x, rounded)"

# %% wrong: converts the values to integers — says "astype converts the values" — from "reference": "x.view(np.uint32)" → "x.astype(np.uint32)", "((bits + half) & np.uint32(0xFFFFE000)).view(" → "((bits + half) & np.uint32(0xFFFFE000)).astype("

# %% wrong: converts the values, reads them as bits — says "astype converts the values" — from "reference": "x.view(np.uint32)" → "x.astype(np.uint32)"

# %% wrong: without the sign — says "The sign is lost" — from "reference": "x.view(np.uint32)" → "np.abs(x).view(np.uint32)"

# %% wrong: negative numbers as NaN — says "because its first bit is set" — from "reference": "np.isnan(x)" → "bits > 0x7F800000"

# %% wrong: the largest float32 stays — says "it becomes inf" — from "reference": "np.isnan(x), x" → "np.isnan(x) | np.isinf(rounded) & np.isfinite(x), x"

# %% wrong: adds before it masks — says "Python adds first"
import numpy as np


def to_tf32(x):
    bits = x.view(np.uint32)
    rounded = bits + np.uint32(0xFFF) + (bits >> 13) & np.uint32(1)
    rounded = rounded >> 13 << 13
    return np.where(np.isnan(x), x, rounded.view(np.float32))

# %% wrong: the mantissa by itself — says "it goes into the exponent"
import numpy as np


def to_tf32(x):
    bits = x.view(np.uint32)
    mantissa = bits & np.uint32(0x7FFFFF)
    mantissa = (mantissa + np.uint32(0xFFF) + ((bits >> 13) & np.uint32(1))) & np.uint32(0x7FE000)
    return np.where(np.isnan(x), x, (bits & np.uint32(0xFF800000) | mantissa).view(np.float32))

# %% wrong: away from zero whenever bits are cut — says "Less than half a step is rounded down" — from "reference": "np.uint32(0xfff) + (bits >> np.uint32(13) & np.uint32(1))" → "np.uint32(0x1fff)"

# %% wrong: always to the larger number — says "Less than half a step is rounded down" — from "reference"
# -     half = np.uint32(0xfff) + (bits >> np.uint32(13) & np.uint32(1))
# +     half = np.where(np.signbit(x), np.uint32(0), np.uint32(0x1fff))

# %% wrong: NaN compared by its upper bits — says "keep NaN" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     special = (bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
# +     return np.where(special, (bits & np.uint32(0xFFFFE000)).view(np.float32), rounded)

# %% wrong: the bit above the last kept one — says "the last bit of bits >> 13" — from "reference": "bits >> np.uint32(13)" → "bits >> np.uint32(14)"

# %% wrong: a step from the logarithm, also of 0 — says "0 has no logarithm"
import numpy as np


def to_tf32(x):
    with np.errstate(all="ignore"):
        step = 2.0 ** (np.floor(np.log2(np.abs(x).astype(np.float64))) - 10)
        return (np.rint(x / step) * step).astype(np.float32)

# %% wrong: what is no number becomes infinite — says "A NaN became inf or zero" — from "reference": "np.where(np.isnan(x), x, rounded)" → "np.where(np.isnan(x), np.float32(np.inf), rounded)"

# %% wrong: a subnormal number keeps 10 bits of its own — says "are rounded, too"
import numpy as np


def to_tf32(x):
    wide = x.astype(np.float64)
    step = np.ldexp(1.0, np.frexp(wide)[1] - 11)
    with np.errstate(all="ignore"):
        return (np.rint(wide / step) * step).astype(np.float32)

# %% wrong: subnormal results become zero — says "they do not become 0" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     rounded = np.where(np.abs(rounded) < 2.0**-126, np.copysign(np.float32(0), x), rounded)
# +     return np.where(np.isnan(x), x, rounded)

# %% wrong: the largest numbers are limited — says "it becomes inf" — from "reference": "x, rounded)" → "x, np.clip(rounded, -3e38, 3e38))"

# %% wrong: ties of negative numbers go to odd — says "whatever its sign" — from "reference": "(bits >> np.uint32(13) & np.uint32(1))" → "((bits >> np.uint32(13) & np.uint32(1)) ^ (x < 0))"

# %% wrong: rounds twice — says "Rounded twice: round once" — from "reference"
# -     bits = x.view(np.uint32)
# +     bits = x.view(np.uint32)
# +     bits = bits + np.uint32(0x3ff) + (bits >> np.uint32(11) & np.uint32(1)) & np.uint32(0xfffff800)
