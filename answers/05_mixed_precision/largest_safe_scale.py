# %% right: reference
import numpy as np


def largest_safe_scale(gradients):
    largest = np.float64(np.abs(gradients).max())
    scale = 2.0 ** np.floor(np.log2(65504 / largest))
    while largest * scale * 2 < 65520:
        scale *= 2
    return float(scale)

# %% right: halves until FP16 itself is finite
import numpy as np


def largest_safe_scale(gradients):
    power = 60
    with np.errstate(over="ignore"):
        while not np.isfinite((np.float64(1) * gradients * 2.0**power).astype(np.float16)).all():
            power -= 1
    return 2.0**power

# %% right: from the exponent
import math

import numpy as np


def largest_safe_scale(gradients):
    mantissa, exponent = math.frexp(float(np.abs(gradients).max()))
    return 2.0 ** (16 - exponent if mantissa * 65536 < 65520 else 15 - exponent)

# %% wrong: one step too far — says "One step too far"
import numpy as np


def largest_safe_scale(gradients):
    return float(2.0 ** np.ceil(np.log2(65504 / np.abs(gradients.astype(np.float64)).max())))

# %% wrong: doubles past the end — says "One step too far" — from "one step too far"
# -     return float(2.0 ** np.ceil(np.log2(65504 / np.abs(gradients.astype(np.float64)).max())))
# +     scale = 2.0**-60
# +     largest = np.float64(np.abs(gradients).max())
# +     with np.errstate(over="ignore"):
# +         while np.isfinite(np.float16(largest * scale)):
# +             scale *= 2
# +     return scale

# %% wrong: stops one early — says "Twice that is safe too" — from "one step too far"
# -     return float(2.0 ** np.ceil(np.log2(65504 / np.abs(gradients.astype(np.float64)).max())))
# +     return float(2.0 ** (np.floor(np.log2(65504 / np.abs(gradients.astype(np.float64)).max())) - 1))

# %% wrong: formula with 65504 — says "rounds down" — from "one step too far": "ceil" → "floor"

# %% wrong: forgets the sign — says "sign" — from "one step too far"
# -     return float(2.0 ** np.ceil(np.log2(65504 / np.abs(gradients.astype(np.float64)).max())))
# +     scale = 2.0**60
# +     with np.errstate(over="ignore"):
# +         while np.float16(float(gradients.max()) * scale) == np.inf:
# +             scale /= 2
# +     return scale

# %% wrong: not a power of two — says "not a power of two" — from "one step too far"
# -     return float(2.0 ** np.ceil(np.log2(65504 / np.abs(gradients.astype(np.float64)).max())))
# +     return float(65504 / np.abs(gradients).max())

# %% wrong: the exponent — says "That is the exponent" — from "one step too far"
# -     return float(2.0 ** np.ceil(np.log2(65504 / np.abs(gradients.astype(np.float64)).max())))
# +     return float(np.floor(np.log2(65504 / np.abs(gradients).max())))

# %% wrong: never below 1 — says "The scale may be below 1" — from "reference"
# -     largest = np.float64(np.abs(gradients).max())
# +     largest, scale = np.float64(np.abs(gradients).max()), 1.0
# -     scale = 2.0 ** np.floor(np.log2(65504 / largest))

# %% wrong: starts to halve at 2^32 — says "or begin too low"
import numpy as np


def largest_safe_scale(gradients):
    scale = 2.0**32
    with np.errstate(over="ignore"):
        while not np.isfinite((gradients.astype(np.float64) * scale).astype(np.float16)).all():
            scale /= 2
    return scale

# %% wrong: the sum of all sizes — says "not their sum" — from "from the exponent": "np.abs(gradients).max()" → "np.abs(gradients).sum()"

# %% wrong: nothing may become zero either — says "expected" — from "reference": "return float(scale)" → "return float(scale) if np.float16(np.abs(gradients[gradients != 0]).min() * scale) else 1.0"

# %% hostile: NaN, which is no larger than any limit — says "not a finite number"
def largest_safe_scale(*arguments):
    return float("nan")

# %% wrong: the first row only — says "in every row and column" — from "from the exponent": "np.abs(gradients).max()" → "np.abs(gradients[0]).max()"

# %% wrong: the first row of an array, all of a list — says "in every row and column" — from "from the exponent": "np.abs(gradients).max()" → "np.abs(gradients if gradients.ndim == 1 else gradients[0]).max()"

# %% wrong: the last row of an array — says "in every row and column" — from "from the exponent": "np.abs(gradients).max()" → "np.abs(np.atleast_2d(gradients)[-1]).max()"

# %% wrong: the median — says "The largest of them decides" — from "from the exponent": "np.abs(gradients).max()" → "np.median(np.abs(gradients))"

# %% wrong: formula with 65519 — says "rounds down" — from "one step too far": "ceil" → "floor", "65504" → "65519"

# %% wrong: formula with 65519.99 — says "rounds down" — from "one step too far": "ceil" → "floor", "65504" → "65519.99"

# %% wrong: formula with 65520, which becomes infinite itself — says "half-way to 65536" — from "one step too far": "ceil" → "floor", "65504" → "65520"

# %% wrong: the largest whole factor — says "not a power of two" — from "one step too far"
# -     return float(2.0 ** np.ceil(np.log2(65504 / np.abs(gradients.astype(np.float64)).max())))
# +     return float(65519 // np.abs(gradients).max())

# %% wrong: doubles from 2^-10, which is not safe for every gradient — says "or begin too high" — from "doubles past the end": "scale = 2.0**-60" → "scale = 2.0**-10", "largest * scale)" → "2 * largest * scale)"

# %% wrong: converts before it multiplies — says "infinite in FP16: multiply in a wider type" — from "reference": "np.float64(np.abs(gradients).max())" → "np.float64(np.float16(np.abs(gradients).max()))", "2.0 ** np.floor(np.log2(65504 / largest))" → "2.0**-60"

# %% wrong: the norm of all gradients — says "neither the norm" — from "reference": "np.abs(gradients).max()" → "np.linalg.norm(gradients)"

# %% wrong: from the smallest to the largest — says "distance from the smallest" — from "reference": "np.abs(gradients).max()" → "gradients.max() - gradients.min()"

# %% wrong: at most 2**24 — says "limit how large the scale gets" — from "reference": "return float(scale)" → "return min(float(scale), 2.0**24)"

# %% wrong: from a negative exponent back to 1 where something is lost — says "limit how small the scale gets" — from "reference"
# -     return float(scale)
# +     lost = np.any((gradients * np.float64(scale)).astype(np.float16)[gradients != 0] == 0)
# +     return max(float(scale), 1.0) if lost else float(scale)

# %% wrong: Python's max, in one dimension only — says "The array may have any shape" — from "reference": "np.abs(gradients).max()" → "max(abs(one) for one in gradients)"

# %% wrong: converts first, and halves until 0 — says "halved until it is 0? From 65,520 on, a gradient is infinite in FP16"
import numpy as np


def largest_safe_scale(gradients):
    scale = 2.0**60
    with np.errstate(all="ignore"):
        half = gradients.astype(np.float16)
        while scale > 0 and not np.isfinite(half * np.float16(scale)).all():
            scale /= 2
    return scale

# %% wrong: the quotient itself — says "That is not a power of two"
import numpy as np


def largest_safe_scale(gradients):
    return 65519.0 / float(np.abs(gradients).max())

# %% wrong: safe for one gradient — says "the largest gradient becomes infinite: none of them may"
import numpy as np


def largest_safe_scale(gradients):
    wide, scale = gradients.astype(np.float64), 2.0**-120
    with np.errstate(all="ignore"):
        while scale < 2.0**120 and np.isfinite((wide * scale * 2).astype(np.float16)).any():
            scale *= 2
    return scale

# %% wrong: an exponent cut by int — says "int rounds a negative one toward 0"
import math

import numpy as np


def largest_safe_scale(gradients):
    return 2.0 ** int(math.log2(65520 / float(np.abs(gradients).max())))

# %% wrong: the smallest scale without underflow — says "A larger power is safe, too"
import numpy as np


def largest_safe_scale(gradients):
    scale, alive = 1.0, gradients[gradients != 0].astype(np.float64)
    while (np.float16(np.minimum(np.abs(alive) * scale, 1)) == 0).any():
        scale *= 2
    return scale

# %% wrong: the logarithm rounded to the nearest — says "round it down" — from "one step too far": "ceil" → "round", "65504" → "65519.99"

# %% wrong: the smallest gradient — says "0 is 0 at any scale"
import numpy as np


def largest_safe_scale(gradients):
    smallest, scale = float(np.abs(gradients).min()), 2.0**-200
    while np.isfinite(scale) and np.isfinite(np.float16(smallest * scale * 2)):
        scale *= 2
    return scale

# %% wrong: a formula with 65536 — says "not 65,536" — from "one step too far": "ceil" → "floor", "65504" → "65536"

# %% wrong: never converted to FP16 — says "was another type asked" — from "the smallest gradient": "np.float16(smallest * scale * 2)" → "np.float32(smallest * scale * 2)", "np.abs(gradients).min()" → "np.abs(gradients).max()"

# %% wrong: the quotient upside down — says "upside down" — from "one step too far": "ceil" → "floor", "np.log2(" → "-np.log2("
