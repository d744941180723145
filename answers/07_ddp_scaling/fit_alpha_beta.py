# %% right: reference
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    sizes, times = np.array(nbytes, dtype=float), np.array(seconds, dtype=float)
    away = sizes - sizes.mean()
    slope = (away * times).sum() / (away * away).sum()
    steps = 2 * (world_size - 1)
    return float((times.mean() - slope * sizes.mean()) / steps), float(slope * world_size / steps)

# %% right: polyfit
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    slope, intercept = np.polyfit(nbytes, seconds, 1)
    return intercept / (2 * (world_size - 1)), slope * world_size / (2 * (world_size - 1))

# %% right: lstsq on the formula itself — from "polyfit"
# -     slope, intercept = np.polyfit(nbytes, seconds, 1)
# -     return intercept / (2 * (world_size - 1)), slope * world_size / (2 * (world_size - 1))
# +     steps = 2 * (world_size - 1)
# +     columns = np.array([[steps, steps * n / world_size] for n in nbytes], dtype=float)
# +     (alpha, beta), *_ = np.linalg.lstsq(columns, np.array(seconds), rcond=None)
# +     return float(alpha), float(beta)

# %% wrong: intercept and slope as they are — says "Those are intercept and slope" — from "polyfit"
# -     return intercept / (2 * (world_size - 1)), slope * world_size / (2 * (world_size - 1))
# +     return intercept, slope

# %% wrong: beta first — says "The other way round" — from "polyfit"
# -     return intercept / (2 * (world_size - 1)), slope * world_size / (2 * (world_size - 1))
# +     return slope * world_size / (2 * (world_size - 1)), intercept / (2 * (world_size - 1))

# %% wrong: whole vectors in every step — says "chunk" — from "polyfit": "* world_size " → ""

# %% wrong: p − 1 steps — says "expected" — from "polyfit"
# -     return intercept / (2 * (world_size - 1)), slope * world_size / (2 * (world_size - 1))
# +     return intercept / (world_size - 1), slope * world_size / (world_size - 1)

# %% wrong: through the first and the last point — says "least squares takes all"
def fit_alpha_beta(nbytes, seconds, world_size):
    steps = 2 * (world_size - 1)
    slope = (seconds[-1] - seconds[0]) / (nbytes[-1] - nbytes[0])
    return (seconds[0] - slope * nbytes[0]) / steps, slope * world_size / steps

# %% wrong: relative differences — says "counted in seconds" — from "polyfit"
# +     steps = 2 * (world_size - 1)
# -     slope, intercept = np.polyfit(nbytes, seconds, 1)
# +     slope, intercept = np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))
# -     return intercept / (2 * (world_size - 1)), slope * world_size / (2 * (world_size - 1))
# +     return intercept / steps, slope * world_size / steps

# %% wrong: bandwidth in place of beta — says "expected" — from "polyfit"
# -     return intercept / (2 * (world_size - 1)), slope * world_size / (2 * (world_size - 1))
# +     return intercept / (2 * (world_size - 1)), 2 * (world_size - 1) / (slope * world_size)

# %% hostile: leaves by SystemExit — earns 0
def fit_alpha_beta(nbytes, seconds, world_size):
    raise SystemExit(0)
