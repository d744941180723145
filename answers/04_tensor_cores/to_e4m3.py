# %% right: reference
import numpy as np


def to_e4m3(x):
    finite = np.clip(x, np.float32(-448), np.float32(448))
    _, exponent = np.frexp(finite)
    step = np.ldexp(np.float32(1), np.maximum(exponent - 1, -6) - 3)
    return np.rint(finite / step) * step

# %% right: the nearest of all numbers
import numpy as np

PATTERNS = np.arange(127)
SCALE = np.where(PATTERNS < 8, 2.0**-9 * PATTERNS, 2.0 ** (PATTERNS // 8 - 7.0) * (1 + PATTERNS % 8 / 8))


def to_e4m3(x):
    size = np.minimum(np.abs(x.astype(np.float64)), 448)
    known = np.nan_to_num(size)
    above = np.searchsorted(SCALE, known)
    below = np.maximum(above - 1, 0)
    up, down = SCALE[above] - known, known - SCALE[below]
    nearest = np.where((up < down) | ((up == down) & (above % 2 == 0)), SCALE[above], SCALE[below])
    return np.where(np.isnan(x), np.nan, np.copysign(nearest, x)).astype(np.float32)

# %% right: number by number
import math

import numpy as np


def to_e4m3(x):
    def one(value):
        if math.isnan(value):
            return value
        size = min(abs(value), 448.0)
        exponent = max(math.frexp(size)[1] - 1, -6) if size else -6
        step = 2.0 ** (exponent - 3)
        return math.copysign(round(size / step) * step, value)

    return np.array([one(float(value)) for value in x.ravel()], dtype=np.float32).reshape(x.shape)

# %% right: torch knows the type
import numpy as np
import torch


def to_e4m3(x):
    return torch.from_numpy(np.array(x)).clamp(-448, 448).to(torch.float8_e4m3fn).float().numpy()

# %% wrong: wraps to NaN — says "NaN" — from "reference"
# -     return np.rint(finite / step) * step
# +     return np.where(np.abs(x) > 464, np.float32(np.nan), np.rint(finite / step) * step)

# %% wrong: infinity becomes NaN — says "infinity saturates" — from "reference"
# -     return np.rint(finite / step) * step
# +     return np.where(np.isinf(x), np.float32(np.nan), np.rint(finite / step) * step)

# %% wrong: infinity kept — says "infinity saturates" — from "reference"
# -     return np.rint(finite / step) * step
# +     return np.where(np.isinf(x), x, np.rint(finite / step) * step)

# %% wrong: no largest number — says "448 is the largest" — from "reference": "np.clip(x, np.float32(-448), np.float32(448))" → "np.where(np.isinf(x), np.copysign(np.float32(448), x), x)"

# %% wrong: no subnormals — says "no subnormals" — from "reference"
# -     return np.rint(finite / step) * step
# +     return np.where(np.abs(x) < 2.0**-6, np.copysign(np.float32(0), x), np.rint(finite / step) * step)

# %% wrong: the exponent goes on below — says "the exponent stays" — from "reference": "np.maximum(exponent - 1, -6) - 3" → "exponent - 4"

# %% wrong: E5M2 — says "E5M2"
import numpy as np
import torch


def to_e4m3(x):
    return torch.from_numpy(np.array(x)).to(torch.float8_e5m2).float().numpy()

# %% wrong: E5M2, saturating by hand — says "expected" — from "reference": "np.maximum(exponent - 1, -6) - 3" → "np.maximum(exponent - 1, -14) - 2", "(-448)" → "(-57344)", "(448)" → "(57344)"

# %% wrong: the smallest normal number of another bias — says "2**-6" — from "reference": "-6)" → "-7)"

# %% wrong: frexp's exponent taken as it is — says "exponent of np.frexp is one larger" — from "reference": "exponent - 1, -6" → "exponent, -6"

# %% wrong: truncation — says "truncation" — from "reference": "np.rint" → "np.trunc"

# %% wrong: ties up — says "not always up" — from "reference": "np.rint(finite / step)" → "np.copysign(np.floor(np.abs(finite / step) + np.float32(0.5)), x)"

# %% wrong: ties down — says "not always down" — from "reference": "np.rint(finite / step)" → "np.copysign(np.ceil(np.abs(finite / step) - np.float32(0.5)), x)"

# %% wrong: stops at 240 — says "240" — from "reference": "(-448)" → "(-240)", "(448)" → "(240)"

# %% wrong: stops at 480 — says "480" — from "reference": "(-448)" → "(-480)", "(448)" → "(480)"

# %% wrong: NaN saturates — says "NaN stays NaN" — from "reference": "np.clip(x, np.float32(-448), np.float32(448))" → "np.fmax(np.fmin(x, np.float32(448)), np.float32(-448))"

# %% wrong: NaN becomes 0 — says "NaN stays NaN" — from "reference": "np.clip(x," → "np.clip(np.where(np.isnan(x), np.float32(0), x),"

# %% wrong: loses the sign of zero — says "sign" — from "reference": "return np.rint(finite / step) * step" → "return np.rint(finite / step) * step + np.float32(0)"

# %% wrong: nothing rounded — says "nothing was rounded"
def to_e4m3(x):
    return x

# %% wrong: changes its argument — says "changed an argument" — from "reference"
# -     return np.rint(finite / step) * step
# +     x[:] = np.rint(finite / step) * step
# +     return x

# %% wrong: no return — says "None" — from "reference": "return " → "rounded = "

# %% hostile: patches the checks — earns 0
from gpulab import check

check.equal = check.close = lambda *given, **named: None


def to_e4m3(x):
    return x

# %% wrong: rounded down — says "Rounded down" — from "reference": "np.rint" → "np.floor"

# %% wrong: a float64 array — says "expected 'float32'" — from "reference": "return np.rint(finite / step) * step" → "return (np.rint(finite / step) * step).astype(float)"

# %% wrong: through float16 — says "Rounded twice, to a 16-bit type first" — from "reference": "np.clip(x, " → "np.clip(x.astype(np.float16).astype(np.float32), "

# %% wrong: through bfloat16 — says "Rounded twice, to a 16-bit type first" — from "reference": "import numpy as np" → "import numpy as np, torch", "np.clip(x, " → "np.clip(torch.from_numpy(x.copy()).bfloat16().float().numpy(), "

# %% wrong: limits positive numbers only — says "and so do negative numbers" — from "reference": "np.clip(x, np.float32(-448), np.float32(448))" → "np.minimum(x, np.float32(448))"

# %% wrong: without the sign — says "The sign is lost" — from "reference": "np.clip(x, np.float32(-448), np.float32(448))" → "np.minimum(np.abs(x), np.float32(448))"

# %% wrong: the step of the largest for all — says "Each number has a step of its own" — from "reference": "np.frexp(finite)" → "np.frexp(np.nanmax(np.abs(finite), initial=0))"

# %% wrong: numbers of steps — says "multiply by the step again" — from "reference": "np.rint(finite / step) * step" → "np.rint(finite / step)"

# %% wrong: eighths of the fraction — says "begins at 0.5"
import numpy as np


def to_e4m3(x):
    fraction, exponent = np.frexp(np.clip(x, np.float32(-448), np.float32(448)))
    return np.ldexp(np.rint(fraction * 8) / 8, exponent)

# %% wrong: away from zero whenever a step is not full — says "Less than half a step" — from "reference": "np.rint(finite / step)" → "np.copysign(np.ceil(np.abs(finite / step)), finite)"

# %% wrong: always to the larger number — says "Less than half a step" — from "reference": "np.rint" → "np.ceil"

# %% wrong: the exponent of the number before it was limited — says "limit first" — from "reference": "np.frexp(finite)" → "np.frexp(x)"

# %% wrong: E5M2 that ends at its own largest number — says "That is E5M2"
import torch


def to_e4m3(x):
    return torch.from_numpy(x.copy()).clamp(-57344, 57344).to(torch.float8_e5m2).float().numpy()

# %% wrong: the smallest step for all numbers — says "only below 2**-5" — from "reference": "np.ldexp(np.float32(1), np.maximum(exponent - 1, -6) - 3)" → "np.float32(2.0**-9)"

# %% wrong: exponents down to -9, the exponent of the smallest step — says "The lowest exponent is -6" — from "reference": "-6)" → "-9)"

# %% wrong: number by number, in one dimension only — says "x may have any shape"
import math

import numpy as np


def to_e4m3(x):
    found = np.empty(len(x), np.float32)
    for at, number in enumerate(x):
        limited = number if number != number else min(max(number, -448.0), 448.0)
        step = 2.0 ** (max(math.frexp(limited)[1] - 1, -6) - 3)
        found[at] = math.copysign(np.rint(abs(limited) / step) * step, number)
    return found

# %% wrong: limits what is beyond 480 — says "What rounds to 480" — from "reference": "np.clip(x, np.float32(-448), np.float32(448))" → "np.where(np.abs(x) > 480, np.copysign(np.float32(448), x), x)"

# %% wrong: exponents from a logarithm that is rounded up — says "the steps are twice too large" — from "reference"
# -     _, exponent = np.frexp(finite)
# +     exponent = np.ceil(np.log2(np.maximum(np.abs(np.nan_to_num(finite)), 1e-30))).astype(int)

# -     step = np.ldexp(np.float32(1), np.maximum(exponent - 1, -6) - 3)
# +     step = np.ldexp(np.float32(1), np.maximum(exponent, -6) - 3)
