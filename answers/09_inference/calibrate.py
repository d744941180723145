# %% right: reference
import numpy as np


def calibrate(batches, method, percentile=99.9):
    magnitudes = np.concatenate([np.abs(batch).ravel() for batch in batches])
    limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile)
    return float(limit) / 127

# %% right: the maximum batch by batch, the percentile of all, as a quantile
import numpy as np


def calibrate(batches, method, percentile=99.9):
    if method == "max":
        return max(float(np.abs(batch).max()) for batch in batches) / 127
    together = np.abs(np.hstack([batch.flatten() for batch in batches]).astype(np.float64))
    return np.quantile(together, percentile / 100) / 127

# %% right: in torch
import torch


def calibrate(batches, method, percentile=99.9):
    together = torch.cat([torch.from_numpy(batch.copy()).flatten().double().abs() for batch in batches])
    share = 1.0 if method == "max" else percentile / 100
    return torch.quantile(together, share).item() / 127

# %% right: in float32 to the end
import numpy as np


def calibrate(batches, method, percentile=99.9):
    magnitudes = np.abs(np.concatenate([batch.flatten() for batch in batches]))
    return np.percentile(magnitudes, 100 if method == "max" else percentile) / np.float32(127)

# %% right: plain Python
def calibrate(batches, method, percentile=99.9):
    magnitudes = sorted(abs(float(value)) for batch in batches for value in batch.ravel())
    if method == "max":
        return magnitudes[-1] / 127
    place = (len(magnitudes) - 1) * percentile / 100
    below = int(place)
    above = min(below + 1, len(magnitudes) - 1)
    return (magnitudes[below] + (place - below) * (magnitudes[above] - magnitudes[below])) / 127

# %% wrong: per batch, the mean — says "per batch"
import numpy as np


def calibrate(batches, method, percentile=99.9):
    limits = [np.abs(b).max() if method == "max" else np.percentile(np.abs(b), percentile) for b in batches]
    return float(np.mean(limits)) / 127

# %% wrong: per batch, the largest percentile — says "per batch" — from "per batch, the mean": "np.mean" → "max"

# %% wrong: the last batch — says "per batch"
import numpy as np


def calibrate(batches, method, percentile=99.9):
    for batch in batches:
        limit = np.abs(batch).max() if method == "max" else np.percentile(np.abs(batch), percentile)
    return float(limit) / 127

# %% wrong: returns in the loop — says "per batch" — from "the last batch": "    return" → "        return"

# %% wrong: one scale for each batch — says "one scale per batch"
import numpy as np


def calibrate(batches, method, percentile=99.9):
    return [float(np.abs(b).max() if method == "max" else np.percentile(np.abs(b), percentile)) / 127 for b in batches]

# %% wrong: signed maximum — says "signed maximum"
import numpy as np


def calibrate(batches, method, percentile=99.9):
    together = np.concatenate([batch.ravel() for batch in batches])
    return float(together.max() if method == "max" else np.percentile(together, percentile)) / 127

# %% wrong: signed percentile only — says "signed numbers" — from "signed maximum": "(together." → "(np.abs(together)."

# %% wrong: absolute value of the signed maximum — says "signed maximum" — from "signed maximum"
# -     return float(together.max() if method == "max" else np.percentile(together, percentile)) / 127
# +     return abs(float(together.max() if method == "max" else np.percentile(together, percentile))) / 127

# %% wrong: divided by 128 — says "127 steps away"
import numpy as np


def calibrate(batches, method, percentile=99.9):
    together = np.concatenate([np.abs(batch).ravel() for batch in batches])
    return float(together.max() if method == "max" else np.percentile(together, percentile)) / 128

# %% wrong: from lowest to highest over 255 — says "offset" — from "signed maximum"
# -     return float(together.max() if method == "max" else np.percentile(together, percentile)) / 127
# +     if method == "max":
# +         return float(together.max() - together.min()) / 255
# +     return float(np.percentile(together, percentile) - np.percentile(together, 100 - percentile)) / 255

# %% wrong: the limit, not the scale — says "That is the limit" — from "divided by 128": " / 128" → ""

# %% wrong: upside down — says "upside down" — from "divided by 128"
# -     return float(together.max() if method == "max" else np.percentile(together, percentile)) / 128
# +     return 127 / float(together.max() if method == "max" else np.percentile(together, percentile))

# %% wrong: always 99.9 % — says "Is percentile used?" — from "divided by 128": "percentile)) / 128" → "99.9)) / 127"

# %% wrong: method ignored — says "That is the maximum" — from "one scale for each batch"
# -     return [float(np.abs(b).max() if method == "max" else np.percentile(np.abs(b), percentile)) / 127 for b in batches]
# +     return float(max(np.abs(batch).max() for batch in batches)) / 127

# %% wrong: percent taken for a share — says "already in percent" — from "divided by 128": ")) / 128" → " / 100)) / 127"

# %% wrong: zeros left out — says "Zeros count" — from "signed maximum"
# -     together = np.concatenate([batch.ravel() for batch in batches])
# +     together = np.concatenate([np.abs(batch).ravel() for batch in batches])
# +     together = together[together > 0]

# %% wrong: stacks the batches as if they had one shape — says "shape" — from "signed maximum"
# -     together = np.concatenate([batch.ravel() for batch in batches])
# +     together = np.abs(np.stack(batches))

# %% wrong: changes its argument — says "changed an argument" — from "signed maximum"
#   def calibrate(batches, method, percentile=99.9):
# +     for batch in batches:
# +         np.abs(batch, out=batch)

# %% wrong: no return — says "None" — from "one scale for each batch"
# -     return [float(np.abs(b).max() if method == "max" else np.percentile(np.abs(b), percentile)) / 127 for b in batches]
# +     print(max(np.abs(batch).max() for batch in batches) / 127)

# %% wrong: a limit over 255 — says "255 steps lie between" — from "reference": "/ 127" → "/ 255"

# %% hostile: a dict with NaN and half of a surrogate pair
def calibrate(*arguments):
    return {"scale": float("nan"), "zero_point": "\ud800\x1b[2J"}

# %% wrong: a place in the sorted list, cut off — says "between two"
import numpy as np


def calibrate(batches, method, percentile=99.9):
    ordered = np.sort(np.concatenate([np.abs(batch).ravel() for batch in batches]))
    if method == "max":
        return float(ordered[-1]) / 127
    return float(ordered[min(int(len(ordered) * percentile / 100), len(ordered) - 1)]) / 127

# %% wrong: a place from 0 to n - 1 in the sorted list, cut off — says "between two" — from "a place in the sorted list, cut off": "min(int(len(ordered) * percentile / 100), len(ordered) - 1)" → "int((len(ordered) - 1) * percentile / 100)"

# %% wrong: the nearest place in the sorted list — says "between two" — from "a place in the sorted list, cut off": "min(int(len(ordered) * percentile / 100), len(ordered) - 1)" → "round((len(ordered) - 1) * percentile / 100)"

# %% wrong: the next higher number — says "between two" — from "reference"
# -     limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile)
# +     limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile, method="higher")

# %% wrong: the percentile of distinct values — says "count as often" — from "reference"
# -     limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile)
# +     limit = magnitudes.max() if method == "max" else np.percentile(np.unique(magnitudes), percentile)

# %% wrong: a limit over 256 — says "127 steps away" — from "reference": "/ 127" → "/ 256"

# %% wrong: the percentile of the first batch — says "the first one's" — from "reference"
# -     limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile)
# +     limit = magnitudes.max() if method == "max" else np.percentile(np.abs(batches[0]), percentile)

# %% wrong: the percentile of the last batch — says "the last one's" — from "the percentile of the first batch": "[0]" → "[-1]"

# %% wrong: the percentile from the other end — says "0 is at 25" — from "reference"
# -     limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile)
# +     limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, 100 - percentile)

# %% wrong: a percentile of 0 taken for none — says "That is the maximum" — from "reference": "np.percentile(magnitudes, percentile)" → "(np.percentile(magnitudes, percentile) or magnitudes.max())"

# %% wrong: a percentile below 1 is taken for a share — says "half a percent" — from "reference"
#   def calibrate(batches, method, percentile=99.9):
# +     percentile *= 100 if percentile < 1 else 1

# %% wrong: another kind of percentile — says "another kind of percentile" — from "reference": "np.percentile(magnitudes, percentile)" → `np.percentile(magnitudes, percentile, method="weibull")`


# %% wrong: max is called maximum — says "with method max, the limit is the largest" — from "reference": `"max"` → `"maximum"`

# %% wrong: cut to a whole number — says "keep the fraction" — from "reference": "float(limit) / 127" → "float(limit) // 127"

# %% wrong: half of the range — says "half of the way from the lowest" — from "reference": "np.abs(batch).ravel()" → "batch.ravel()", "magnitudes.max()" → "(magnitudes.max() - magnitudes.min()) / 2"

# %% wrong: per batch, a mean weighted by size — says "a weighted mean" — from "reference": "np.percentile(magnitudes, percentile)" → "np.average([np.percentile(np.abs(b), percentile) for b in batches], weights=[b.size for b in batches])"

# %% wrong: the percentile of one maximum per batch — says "one maximum per batch" — from "reference": "np.percentile(magnitudes, percentile)" → "np.percentile([np.abs(b).max() for b in batches], percentile)"

# %% wrong: the percentile as a whole number — says "percentile was cut to a whole number" — from "reference": "np.percentile(magnitudes, percentile)" → "np.percentile(magnitudes, int(percentile))"

# %% wrong: the limit rounded up — says "The limit was rounded to a whole number" — from "reference": "float(limit)" → "float(np.ceil(limit))"

# %% wrong: the last batch is left out — says "The last batch is left out" — from "reference": "for batch in batches" → "for batch in batches[:-1] or batches"

# %% wrong: per batch, the median — says "and then the median" — from "reference": "np.percentile(magnitudes, percentile)" → "np.median([np.percentile(np.abs(b), percentile) for b in batches])"

# %% wrong: a limit over 7 — says "those of 4 bits" — from "reference": "/ 127" → "/ 7"

# %% wrong: the percentile of one percentile per batch — says "then the percentile of these" — from "reference"
# -     magnitudes = np.concatenate([np.abs(batch).ravel() for batch in batches])
# -     limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile)
# +     if method == "percentile":
# +         each = [np.percentile(np.abs(batch), percentile) for batch in batches]
# +         return np.percentile(each, percentile) / 127
# +     limit = max(np.abs(batch).max() for batch in batches)

# %% wrong: the percentile of what is above 0 — says "Zeros and negative numbers are left out" — from "reference"
# -     magnitudes = np.concatenate([np.abs(batch).ravel() for batch in batches])
# -     limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile)
# +     together = np.concatenate([batch.ravel() for batch in batches])
# +     limit = np.abs(together).max() if method == "max" else np.percentile(together[together > 0], percentile)

# %% wrong: batches joined as they are — says "ravel each of them first"
def calibrate(batches, method, percentile=99.9):
    magnitudes = np.abs(np.concatenate(batches))
    limit = magnitudes.max() if method == "max" else np.percentile(magnitudes, percentile)
    return limit / 127

# %% wrong: the root of the mean square — says "the root of the mean square" — from "reference": "magnitudes.max()" → "np.sqrt((magnitudes**2).mean())"

# %% wrong: the mean of the magnitudes — says "from the mean of the magnitudes" — from "reference": ".max()" → ".mean()"

# %% wrong: a scale in float16 — says "rounded to float16"
import numpy as np


def calibrate(batches, method, percentile=99.9):
    every = np.concatenate([np.abs(batch).ravel() for batch in batches])
    limit = every.max() if method == "max" else np.percentile(every, percentile)
    return float(np.float16(limit / 127))

# %% wrong: the lowest number alone — says "the largest magnitude may be above 0, too"
import numpy as np


def calibrate(batches, method, percentile=99.9):
    numbers = np.concatenate([batch.ravel() for batch in batches])
    limit = -numbers.min() if method == "max" else np.percentile(np.abs(numbers), percentile)
    return float(limit) / 127

# %% wrong: multiplies by 127 — says "divided by 127, not multiplied" — from "reference": "/ 127" → "* 127"

# %% wrong: squares for magnitudes — says "from the square of x" — from "reference": "np.abs(batch).ravel()" → "np.square(batch).ravel()"

# %% wrong: the sum of the maxima — says "the sum of one maximum per batch" — from "reference": "magnitudes.max()" → "sum(np.abs(batch).max() for batch in batches)"
