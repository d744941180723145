# %% right: reference
import numpy as np


def to_bf16(x):
    bits = x.view(np.uint32)
    half = np.uint32(0x7fff) + (bits >> np.uint32(16) & np.uint32(1))
    rounded = ((bits + half) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(x), x, rounded)

# %% right: quotient and remainder of the bit pattern
import numpy as np


def to_bf16(x):
    bits = x.view(np.uint32).astype(np.int64)
    kept, rest = np.divmod(bits, 1 << 16)
    up = (rest > 1 << 16 - 1) | ((rest == 1 << 16 - 1) & (kept % 2 == 1))
    result = ((kept + up) << 16).astype(np.uint32).view(np.float32)
    result[np.isnan(x)] = np.nan
    return result

# %% right: number by number
import struct

import numpy as np


def to_bf16(x):
    def one(value):
        if value != value:
            return value
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        low = bits & (1 << 16) - 1
        bits -= low
        if low > 1 << 16 - 1 or (low == 1 << 16 - 1 and bits >> 16 & 1):
            bits += 1 << 16
        return struct.unpack("<f", struct.pack("<I", bits))[0]

    return np.array([one(float(value)) for value in x.ravel()], dtype=np.float32).reshape(x.shape)

# %% right: torch knows the type
import numpy as np
import torch


def to_bf16(x):
    return torch.from_numpy(np.array(x)).to(torch.bfloat16).float().numpy()

# %% wrong: a bfloat16 tensor — says "expected 'float32'" — from "torch knows the type": "to(torch.bfloat16).float().numpy" → "bfloat16"

# %% wrong: truncation — says "truncation"
import numpy as np


def to_bf16(x):
    cut = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(x), x, cut)

# %% wrong: truncation, NaN and all — says "truncation"
import numpy as np


def to_bf16(x):
    return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)

# %% wrong: NaN turned inf — says "NaN" — from "reference"
# -     rounded = ((bits + half) & np.uint32(0xFFFF0000)).view(np.float32)
# +     return ((bits + half) & np.uint32(0xFFFF0000)).view(np.float32)
# -     return np.where(np.isnan(x), x, rounded)

# %% wrong: infinity kept, NaN made infinity as well — says "NaN" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     return np.where(np.isfinite(x), rounded, np.copysign(np.float32(np.inf), x))

# %% wrong: ties always up — says "even" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
# +     rounded = ((x.view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)
# +     return np.where(np.isnan(x), x, rounded)

# %% wrong: ties always down — says "even" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
# +     rounded = ((x.view(np.uint32) + np.uint32(0x7fff)) & np.uint32(0xFFFF0000)).view(np.float32)
# +     return np.where(np.isnan(x), x, rounded)

# %% wrong: loses the sign of zero — says "sign" — from "reference": "rounded)" → "rounded) + np.float32(0)"

# %% wrong: the largest number stays finite — says "it becomes inf" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     largest = np.array(0x7F800000 - (1 << 16), np.uint32).view(np.float32)
# +     finite = np.clip(rounded, -largest, largest)
# +     return np.where(np.isfinite(x), finite, x)

# %% wrong: the other type's bits — says "bits" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
# +     bits = x.view(np.uint32)
# +     half = np.uint32((1 << 13 - 1) - 1) + (bits >> np.uint32(13) & np.uint32(1))
# +     rounded = (bits + half) >> np.uint32(13) << np.uint32(13)
# +     return np.where(np.isnan(x), x, rounded.view(np.float32))

# %% wrong: float16 — says "expected" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
# +     with np.errstate(all="ignore"):
# +         return x.astype(np.float16).astype(np.float32)

# %% wrong: rounds in decimal — says "expected" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
# +     return np.array([float(f"{value:.3g}") for value in x.ravel()], np.float32).reshape(x.shape)

# %% wrong: gives the bits, not the numbers — says "expected" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
# +     bits = x.view(np.uint32)
# +     return (bits + np.uint32(0x7fff) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(0xFFFF0000)

# %% wrong: changes its argument — says "changed an argument" — from "truncation, NaN and all"
# -     return (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
# +     bits = x.view(np.uint32)
# +     nan = np.isnan(x)
# +     bits += np.uint32(0x7fff) + (bits >> np.uint32(16) & np.uint32(1))
# +     bits &= np.uint32(0xFFFF0000)
# +     x[nan] = np.nan
# +     return x

# %% wrong: no return — says "None"
def to_bf16(x):
    rounded = x.round(3)

# %% hostile: patches the checks — earns 0
from gpulab import check

check.equal = check.close = lambda *given, **named: None


def to_bf16(x):
    return x

# %% wrong: half of what TF32 cuts — says "2**12 is half of what TF32 cuts" — from "reference": "0x7fff" → "0xfff"

# %% wrong: the mask of TF32 — says "not all cleared" — from "reference": "0xFFFF0000" → "0xFFFFE000"

# %% wrong: rounded to TF32 first — says "Rounded twice, to TF32 first" — from "reference"
# -     bits = x.view(np.uint32)
# +     bits = x.view(np.uint32).copy()
# +     bits += np.where(np.isnan(x), 0, 0xFFF + (bits >> 13) % 2).astype(np.uint32)
# +     bits &= np.uint32(0xFFFFE000)

# %% hostile: NaN with a payload in every place
import numpy as np


def to_bf16(values):
    return np.frombuffer(b"\x01\x00\xa0\x7f" * np.size(values), np.float32).reshape(np.shape(values))

# %% hostile: everything from 2**30 on is infinite, and every normal number below 2**-60 is 0 — says "random numbers" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     size, tiny = np.abs(x), np.float32(2.0**-126)
# +     rounded = np.where(size >= np.float32(2**30), np.copysign(np.float32(np.inf), x), rounded)
# +     rounded = np.where((size < np.float32(2.0**-60)) & (size >= tiny), np.copysign(np.float32(0), x), rounded)
# +     return np.where(np.isnan(x), x, rounded)

# %% wrong: leaves subnormal numbers as they are — says "Numbers below 2**-126" — from "reference": "np.where(np.isnan(x), x, rounded)" → "np.where(np.isnan(x) | (np.abs(x) < 2.0**-126), x, rounded)"

# %% wrong: clears nothing — says "The low 16 bits are not cleared" — from "reference": "((bits + half) & np.uint32(0xFFFF0000))" → "(bits + half)"

# %% wrong: returns the bits — says "Those are bits" — from "reference": ".view(np.float32)" → "", "np.where(np.isnan(x), x, rounded)" → "rounded"

# %% wrong: returns the upper 16 bits — says "Those are bits" — from "reference": "((bits + half) & np.uint32(0xFFFF0000)).view(np.float32)" → "((bits + half) >> 16).astype(np.uint16)", "np.where(np.isnan(x), x, rounded)" → "rounded"

# %% wrong: infinity becomes NaN — says "only NaN stays NaN" — from "reference": "np.where(np.isnan(x), x, rounded)" → "np.where(np.isfinite(x), rounded, np.float32(np.nan))"

# %% wrong: without the sign — says "The sign is lost" — from "reference": "x.view(np.uint32)" → "np.abs(x).view(np.uint32)"

# %% wrong: all as it is if there is a NaN — says "it becomes inf" — from "reference": "np.isnan(x), x" → "np.isnan(x).any(), x"

# %% wrong: adds before it masks — says "Python adds first"
import numpy as np


def to_bf16(x):
    bits = x.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> 16) & np.uint32(1)
    rounded = rounded >> 16 << 16
    return np.where(np.isnan(x), x, rounded.view(np.float32))

# %% wrong: the mantissa by itself — says "it goes into the exponent"
import numpy as np


def to_bf16(x):
    bits = x.view(np.uint32)
    mantissa = bits & np.uint32(0x7FFFFF)
    mantissa = (mantissa + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) & np.uint32(0x7F0000)
    return np.where(np.isnan(x), x, (bits & np.uint32(0xFF800000) | mantissa).view(np.float32))

# %% wrong: away from zero whenever bits are cut — says "Less than half a step is rounded down" — from "reference": "np.uint32(0x7fff) + (bits >> np.uint32(16) & np.uint32(1))" → "np.uint32(0xffff)"

# %% wrong: half-way to the odd neighbor — says "whose last kept bit is 0" — from "reference": "np.uint32(0x7fff) + (" → "np.uint32(0x8000) - ("

# %% wrong: NaN compared by its upper bits — says "keep NaN" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     special = (bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
# +     return np.where(special, (bits & np.uint32(0xFFFF0000)).view(np.float32), rounded)

# %% wrong: float16 on the way — says "float16 on the way"
import torch


def to_bf16(x):
    return torch.from_numpy(x.copy()).half().bfloat16().float().numpy()

# %% wrong: the bit above the last kept one — says "the last bit of bits >> 16" — from "reference": "bits >> np.uint32(16)" → "bits >> np.uint32(17)"

# %% wrong: shifted down and not up again — says "shift them to their place" — from "reference": "((bits + half) & np.uint32(0xFFFF0000))" → "((bits + half) >> np.uint32(16))"

# %% wrong: three decimal digits — says "Not rounded far enough"
import numpy as np


def to_bf16(x):
    return np.array([float(f"{number:.3g}") for number in x.ravel()], np.float32).reshape(x.shape)

# %% wrong: what is no number becomes infinite — says "A NaN became inf or zero" — from "reference": "np.where(np.isnan(x), x, rounded)" → "np.where(np.isnan(x), np.float32(np.inf), rounded)"

# %% wrong: the last bit that TF32 keeps — says "(bits >> 16) & 1" — from "reference": "np.uint32(16)" → "np.uint32(13)"

# %% wrong: subnormal results become zero — says "they do not become 0" — from "reference"
# -     return np.where(np.isnan(x), x, rounded)
# +     rounded = np.where(np.abs(rounded) < 2.0**-126, np.copysign(np.float32(0), x), rounded)
# +     return np.where(np.isnan(x), x, rounded)

# %% wrong: converted instead of read as bits — says "converted by astype" — from "reference": "x.view(np.uint32)" → "x.astype(np.int64).astype(np.uint32)", ".view(np.float32)" → ".astype(np.float32)"

# %% wrong: the largest numbers are limited — says "it becomes inf" — from "reference": "x, rounded)" → "x, np.where(np.isinf(x), x, np.clip(rounded, -3e38, 3e38)))"

# %% wrong: ties of negative numbers go to odd — says "whatever its sign" — from "reference": "(bits >> np.uint32(16) & np.uint32(1))" → "((bits >> np.uint32(16) & np.uint32(1)) ^ (x < 0))"

# %% wrong: rounds twice — says "Rounded twice: round once" — from "reference"
# -     bits = x.view(np.uint32)
# +     bits = x.view(np.uint32)
# +     bits = bits + np.uint32(0x1fff) + (bits >> np.uint32(14) & np.uint32(1)) & np.uint32(0xffffc000)
