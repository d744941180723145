# %% right: reference
import numpy as np


def underflow_fraction(gradients, scale):
    alive = gradients[gradients != 0]
    if alive.size == 0:
        return 0.0
    with np.errstate(over="ignore"):
        stored = (alive * np.float32(scale)).astype(np.float16)
    return float((stored == 0).mean())

# %% right: in torch
import torch


def underflow_fraction(gradients, scale):
    given = torch.as_tensor(gradients)
    stored = (given * scale).half()
    lost = ((stored == 0) & (given != 0)).sum().item()
    return lost / max(int((given != 0).sum()), 1)

# %% right: one at a time
import numpy as np


def underflow_fraction(gradients, scale):
    lost = kept = 0
    for value in gradients.ravel():
        if value != 0:
            kept += 1
            lost += np.float16(np.float32(value) * np.float32(scale)) == 0
    return lost / kept if kept else 0.0

# %% wrong: zeros counted as lost — says "zero to begin with"
import numpy as np


def underflow_fraction(gradients, scale):
    return float(((gradients * np.float32(scale)).astype(np.float16) == 0).mean())

# %% wrong: divided by all — says "zero to begin with" — from "zeros counted as lost"
# -     return float(((gradients * np.float32(scale)).astype(np.float16) == 0).mean())
# +     stored = (gradients * np.float32(scale)).astype(np.float16)
# +     return float(((stored == 0) & (gradients != 0)).sum() / gradients.size)

# %% wrong: scale forgotten — says "too late or not at all"
import numpy as np


def underflow_fraction(gradients, scale):
    alive = gradients[gradients != 0]
    return float((alive.astype(np.float16) == 0).mean()) if alive.size else 0.0

# %% wrong: subnormals counted as lost — says "Subnormal" — from "zeros counted as lost"
# -     return float(((gradients * np.float32(scale)).astype(np.float16) == 0).mean())
# +     alive = np.abs(gradients[gradients != 0] * np.float32(scale))
# +     return float((alive < 2.0**-14).mean()) if alive.size else 0.0

# %% wrong: compares with the smallest number — says "Subnormal" — from "zeros counted as lost"
# -     return float(((gradients * np.float32(scale)).astype(np.float16) == 0).mean())
# +     alive = np.abs(gradients[gradients != 0] * np.float32(scale))
# +     return float((alive < 2.0**-24).mean()) if alive.size else 0.0

# %% right: a mean in float32, as in the function for BF16
import torch


def underflow_fraction(gradients, scale):
    alive = torch.from_numpy(gradients[gradients != 0])
    stored = (alive * scale).half()
    return (stored == 0).float().mean().item() if len(alive) else 0.0

# %% wrong: zeros of all over those that were none — says "zero to begin with" — from "zeros counted as lost"
# -     return float(((gradients * np.float32(scale)).astype(np.float16) == 0).mean())
# +     stored = (gradients * np.float32(scale)).astype(np.float16)
# +     return float((stored == 0).sum() / max(np.count_nonzero(gradients), 1))

# %% wrong: without the size — says "only if its absolute value" — from "reference": "(stored == 0)" → "(alive * np.float32(scale) <= 2.0**-25)"

# %% wrong: positive gradients only — says "Negative gradients count" — from "reference": "gradients != 0" → "gradients > 0"

# %% wrong: infinite ones count as lost — says "Infinite gradients are not zero" — from "reference": "(stored == 0)" → "((stored == 0) | np.isinf(stored))"

# %% wrong: the first row of an array — says "in every row" — from "reference": "gradients[gradients != 0]" → "gradients[0][gradients[0] != 0] if gradients.ndim > 1 else gradients[gradients != 0]"

# %% wrong: exactly half of the smallest number is kept — says "rounded to 0" — from "reference": "(stored == 0)" → "(np.abs(alive * np.float32(scale)) < 2.0**-25)"

# %% wrong: 1 for nothing but zeros — says "return 0.0" — from "reference": "return 0.0" → "return 1.0"

# %% wrong: percent — says "in percent" — from "scale forgotten": "(alive" → "100 * ((alive * np.float32(scale))"

# %% wrong: no answer for nothing but zeros — says "nothing but zeros" — from "scale forgotten"
# + import warnings
# +
#   import numpy as np

# -     return float((alive.astype(np.float16) == 0).mean()) if alive.size else 0.0
# +     with warnings.catch_warnings():
# +         warnings.simplefilter("ignore")
# +         return float(((alive * np.float32(scale)).astype(np.float16) == 0).mean())

# %% wrong: changes its argument — says "changed an argument" — from "zeros counted as lost"
# -     return float(((gradients * np.float32(scale)).astype(np.float16) == 0).mean())
# +     alive = gradients != 0
# +     gradients *= np.float32(scale)
# +     return float((gradients.astype(np.float16)[alive] == 0).mean()) if alive.any() else 0.0

# %% wrong: gives up where the gradients add up to zero — says "may add up to 0"
import numpy as np


def underflow_fraction(gradients, scale):
    if gradients.sum() == 0:
        return 0.0
    alive = gradients[gradients != 0]
    with np.errstate(over="ignore"):
        return float(((alive * np.float32(scale)).astype(np.float16) == 0).mean())

# %% wrong: gives up where the largest gradient is zero — says "none need be positive" — from "gives up where the gradients add up to zero": "sum" → "max"

# %% hostile: NaN, which is no further off than any limit — says "not a finite number"
def underflow_fraction(*arguments):
    return float("nan")

# %% hostile: a tensor on the meta device
import torch


def underflow_fraction(gradients, scale):
    return torch.empty((), device="meta") if scale > 1 else torch.empty(0).sum() * torch.nan

# %% wrong: in bfloat16 — says "bfloat16"
import torch


def underflow_fraction(gradients, scale):
    alive = torch.from_numpy(gradients[gradients != 0])
    return ((alive * scale).bfloat16() == 0).float().mean().item() if len(alive) else 0.0

# %% wrong: the scale itself in float16 — says "FP16 does not hold this scale" — from "reference": "np.float32(scale)" → "np.float32(np.float16(scale))"

# %% wrong: rounded to three digits — says "do not round" — from "reference": "float((stored == 0).mean())" → "round(float((stored == 0).mean()), 3)"

# %% wrong: asks after the multiplication which ones are zero — says "zero before it" — from "reference"
# -         stored = (alive * np.float32(scale)).astype(np.float16)
# +         scaled = gradients * np.float32(scale)
# +         stored = scaled[scaled != 0].astype(np.float16)
# -     return float((stored == 0).mean())
# +     return float((stored == 0).mean()) if stored.size else 0.0

# %% wrong: equal gradients count once — says "count one by one" — from "reference": "gradients[gradients != 0]" → "np.unique(gradients[gradients != 0])"

# %% wrong: a whole number — says "cut to a whole number" — from "reference": "float((stored == 0).mean())" → "int((stored == 0).sum()) // alive.size"

# %% wrong: leaves out what becomes infinite — says "count among those that are not zero" — from "reference": "float((stored == 0).mean())" → "float((stored == 0).sum() / np.isfinite(stored).sum())"

# %% wrong: NaN for nothing but zeros — says "nothing is lost: return 0.0" — from "reference": "return 0.0" → "return float('nan')"

# %% wrong: over those that survive — says "not by those that survive" — from "reference": "float((stored == 0).mean())" → "float((stored == 0).sum() / max((stored != 0).sum(), 1))"

# %% wrong: scaled twice — says "Is the scale applied twice" — from "reference": "(alive * np.float32(scale))" → "(alive * np.float32(scale) * np.float32(scale))"

# %% wrong: small gradients taken for zeros — says "Tiny gradients are treated as zero" — from "reference": "gradients != 0" → "~np.isclose(gradients, 0)"

# %% wrong: one number after another, in one dimension only — says "The array may have any shape"
import numpy as np


def underflow_fraction(gradients, scale):
    alive = [value for value in gradients if value != 0]
    lost = sum(np.float16(value * np.float32(scale)) == 0 for value in alive)
    return float(lost / max(len(alive), 1))

# %% wrong: in bfloat16, as in the example — says "as in bfloat16"
import torch


def underflow_fraction(gradients, scale):
    alive = torch.from_numpy(gradients[gradients != 0])
    stored = (alive * scale).to(torch.bfloat16)
    return (stored == 0).float().mean().item() if len(alive) else 0.0

# %% wrong: never converted — says "Is the result still float32" — from "reference": ".astype(np.float16)" → ""

# %% wrong: never averaged — says "expected 0.75" — from "reference": "float((stored == 0).mean())" → "stored == 0"

# %% wrong: the share rounded — says "Do not round it" — from "reference": "float((stored == 0).mean())" → "float(round((stored == 0).mean()))"

# %% wrong: tiny gradients are zero at the start — says "treated as zero at the start"
import numpy as np


def underflow_fraction(gradients, scale):
    alive = gradients[gradients.astype(np.float16) != 0]
    return float(((alive * np.float32(scale)).astype(np.float16) == 0).mean()) if alive.size else 0.0

# %% wrong: leaves out what is zero after the conversion — says "Are zeros left out after the multiplication"
import numpy as np


def underflow_fraction(gradients, scale):
    stored = (gradients * np.float32(scale)).astype(np.float16)
    alive = stored[stored != 0]
    return float((alive == 0).mean()) if alive.size else 0.0

# %% wrong: never converted, and in float64 — says "Is the result still float32" — from "reference": "np.float32(scale)).astype(np.float16)" → "np.float64(scale))"

# %% wrong: 1 as soon as one is lost — says "as soon as one is lost" — from "reference": "(stored == 0).mean()" → "(stored == 0).any()"

# %% wrong: the mean of each row's share — says "not the mean of each row's share"
import numpy as np


def underflow_fraction(gradients, scale):
    rows = gradients.reshape(-1, gradients.shape[-1])
    shares = []
    for row in rows:
        alive = row[row != 0]
        if alive.size:
            shares.append(((alive * np.float32(scale)).astype(np.float16) == 0).mean())
    return float(np.mean(shares)) if shares else 0.0

# %% wrong: a share of the sum — says "Count the gradients" — from "reference": "(stored == 0).mean()" → "np.abs(alive[stored == 0]).sum() / np.abs(alive).sum()"
