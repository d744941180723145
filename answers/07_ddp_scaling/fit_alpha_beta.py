# %% right: reference
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    steps, sizes = 2 * (world_size - 1), np.array(nbytes, dtype=float)
    columns = np.stack([np.full(len(sizes), steps), steps * sizes / world_size], axis=1)
    times = np.array(seconds, dtype=float)
    columns /= times[:, None]
    scale = np.linalg.norm(columns, axis=0)
    alpha, beta = np.linalg.lstsq(columns / scale, np.ones(len(sizes)), rcond=None)[0] / scale
    return float(alpha), float(beta)

# %% right: polyfit with weights
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    steps = 2 * (world_size - 1)
    slope, intercept = np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))
    return intercept / steps, slope * world_size / steps

# %% right: the weighted line by its formula
def fit_alpha_beta(nbytes, seconds, world_size):
    weights = [1 / second**2 for second in seconds]
    total = sum(weights)
    x = sum(w * n for w, n in zip(weights, nbytes)) / total
    y = sum(w * t for w, t in zip(weights, seconds)) / total
    above = sum(w * (n - x) * (t - y) for w, n, t in zip(weights, nbytes, seconds))
    slope = above / sum(w * (n - x) ** 2 for w, n in zip(weights, nbytes))
    steps = 2 * (world_size - 1)
    return (y - slope * x) / steps, slope * world_size / steps

# %% wrong: least squares in seconds — says "Minimize relative errors" — from "polyfit with weights": ", w=1 / np.array(seconds)" → ""

# %% wrong: least squares in seconds on the formula itself — says "Minimize relative errors"
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    steps = 2 * (world_size - 1)
    columns = np.array([[steps, steps * n / world_size] for n in nbytes], dtype=float)
    (alpha, beta), *_ = np.linalg.lstsq(columns, np.array(seconds), rcond=None)
    return float(alpha), float(beta)

# %% wrong: intercept and slope as they are — says "Those are intercept and slope" — from "polyfit with weights": "intercept / steps, slope * world_size / steps" → "intercept, slope"

# %% wrong: beta first — says "The order is (alpha, beta)" — from "polyfit with weights": "intercept / steps, slope * world_size / steps" → "slope * world_size / steps, intercept / steps"

# %% wrong: whole vectors in every step — says "chunk" — from "polyfit with weights": "slope * world_size / steps" → "slope / steps"

# %% wrong: p − 1 steps — says "2(p - 1) steps" — from "polyfit with weights": "2 * (world_size - 1)" → "world_size - 1"

# %% wrong: through the first and the last point — says "squares of all relative errors"
def fit_alpha_beta(nbytes, seconds, world_size):
    steps = 2 * (world_size - 1)
    slope = (seconds[-1] - seconds[0]) / (nbytes[-1] - nbytes[0])
    return (seconds[0] - slope * nbytes[0]) / steps, slope * world_size / steps

# %% wrong: bandwidth in place of beta — says "bytes per second" — from "polyfit with weights": "slope * world_size / steps" → "steps / (slope * world_size)"

# %% hostile: leaves by SystemExit — earns 0
def fit_alpha_beta(nbytes, seconds, world_size):
    raise SystemExit(0)

# %% hostile: a pair of NaN
def fit_alpha_beta(*arguments):
    return float("nan"), float("nan")

# %% wrong: two steps for every ring — says "not 2." — from "polyfit with weights": "2 * (world_size - 1)" → "2"

# %% wrong: elements of four bytes — says "not elements" — from "polyfit with weights": "np.polyfit(nbytes," → "np.polyfit([size / 4 for size in nbytes],"

# %% wrong: weighted by the times — says "w is 1 / time" — from "polyfit with weights": "w=1 / np.array" → "w=np.array"

# %% wrong: least squares of logarithms — says "differences of logarithms"
import numpy as np
from scipy.optimize import least_squares


def fit_alpha_beta(nbytes, seconds, world_size):
    steps = 2 * (world_size - 1)
    sizes, times = np.array(nbytes, dtype=float), np.array(seconds)

    def errors(logs):
        alpha, beta = np.exp(logs)
        return np.log(steps * (alpha + beta * sizes / world_size)) - np.log(times)

    found = least_squares(errors, np.log([1e-4, 1e-9]), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    return tuple(np.exp(found.x))

# %% wrong: divided by the formula's time — says "divide by the measured" — from "least squares of logarithms": "np.log(steps * (alpha + beta * sizes / world_size)) - np.log(times)" → "times / (steps * (alpha + beta * sizes / world_size)) - 1"

# %% right: an array, as lstsq returns it
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    steps, times = 2 * (world_size - 1), np.array(seconds)
    columns = np.stack([np.full(len(times), steps), steps * np.array(nbytes) / world_size], axis=1)
    return np.linalg.lstsq(columns / times[:, None], np.ones(len(times)), rcond=None)[0]

# %% wrong: of equal sizes, only the last counts — says "A size may occur twice" — from "polyfit with weights"
#   def fit_alpha_beta(nbytes, seconds, world_size):
# +     nbytes, seconds = (list(one) for one in zip(*dict(zip(nbytes, seconds)).items()))

# %% wrong: alpha is never below 0 — says "Alpha may be negative" — from "polyfit with weights": "intercept / steps, slope" → "max(0.0, intercept / steps), slope"

# %% wrong: the slope is divided by no steps — says "divide it by them, too" — from "polyfit with weights": "slope * world_size / steps" → "slope * world_size"

# %% wrong: the intercept is divided by no steps — says "2(p - 1) latencies" — from "polyfit with weights": "intercept / steps, " → "intercept, "

# %% wrong: p steps — says "not p." — from "polyfit with weights": "2 * (world_size - 1)" → "world_size"

# %% wrong: for two ranks — says "right for two ranks only" — from "polyfit with weights": "intercept / steps, slope * world_size / steps" → "intercept / 2, slope"

# %% wrong: alpha times p — says "alpha is per message" — from "polyfit with weights": "intercept / steps, " → "intercept * world_size / steps, "

# %% wrong: milliseconds — says "not in milliseconds" — from "polyfit with weights": "intercept / steps, " → "1e3 * intercept / steps, "

# %% wrong: whole microseconds — says "Do not round" — from "polyfit with weights": "intercept / steps, " → "round(intercept / steps, 6), "

# %% wrong: sizes and times sorted, each by itself — says "do not sort them" — from "polyfit with weights"
#   def fit_alpha_beta(nbytes, seconds, world_size):
# +     nbytes, seconds = sorted(nbytes), sorted(seconds)

# %% wrong: the first measurement is left out — says "leave none out" — from "polyfit with weights"
#   def fit_alpha_beta(nbytes, seconds, world_size):
# +     nbytes, seconds = nbytes[1:], seconds[1:]

# %% wrong: bits — says "do not convert them to bits" — from "polyfit with weights": "np.polyfit(nbytes," → "np.polyfit([8 * size for size in nbytes],"

# %% wrong: parentheses are missing — says "put parentheses around 2"
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    slope, intercept = np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))
    return intercept / 2 * (world_size - 1), slope * world_size / 2 * (world_size - 1)

# %% wrong: only the formula is divided by the times — says "the other side is 1" — from "reference": "np.ones(len(sizes))" → "times"

# %% wrong: means over pairs of neighbors — says "means over pairs of neighbors"
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    sizes, times = np.array(nbytes, dtype=float), np.array(seconds, dtype=float)
    slope = np.mean(np.diff(times) / np.diff(sizes))
    steps = 2 * (world_size - 1)
    return float(np.mean(times - slope * sizes)) / steps, float(slope) * world_size / steps

# %% wrong: the sum of absolute relative errors — says "the smallest sum of absolute errors, too"
import itertools


def fit_alpha_beta(nbytes, seconds, world_size):
    points = list(zip(nbytes, seconds))  # such a line goes through two points
    lines = [((b - d) / (a - c), b - a * (b - d) / (a - c)) for (a, b), (c, d) in itertools.combinations(points, 2) if a != c]
    slope, intercept = min(lines, key=lambda line: sum(abs(line[0] * n + line[1] - t) / t for n, t in points))
    steps = 2 * (world_size - 1)
    return intercept / steps, slope * world_size / steps

# %% wrong: beta of p - 1 steps — says "The slope has 2(p - 1) steps in it, not p - 1" — from "polyfit with weights": "slope * world_size / steps" → "2 * slope * world_size / steps"

# %% wrong: alpha of p - 1 steps — says "The intercept has 2(p - 1) latencies in it, not p - 1" — from "polyfit with weights": "intercept / steps, " → "2 * intercept / steps, "

# %% wrong: parentheses are missing in beta — says "put parentheses around 2" — from "polyfit with weights": "slope * world_size / steps" → "slope * world_size / 2 * (world_size - 1)"

# %% wrong: chunks of a (p - 1)th — says "the slope is 2(p - 1) / p times beta" — from "polyfit with weights": "slope * world_size / steps" → "slope * (world_size - 1) / steps"

# %% wrong: sizes over times — says "fit time(size)" — from "polyfit with weights"
# -     slope, intercept = np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))
# +     turned, start = np.polyfit(seconds, nbytes, 1, w=1 / np.array(seconds))
# +     slope, intercept = 1 / turned, -start / turned

# %% wrong: a parabola — says "That is a parabola" — from "polyfit with weights"
# -     slope, intercept = np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))
# +     _, slope, intercept = np.polyfit(nbytes, seconds, 2, w=1 / np.array(seconds))

# %% wrong: beta of the largest vector alone — says "has latencies in it" — from "polyfit with weights"
# -     slope, intercept = np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))
# +     slope = max(seconds) / max(nbytes)
# +     intercept = min(seconds) - slope * min(nbytes)

# %% wrong: multiplied by p twice — says "Is it multiplied by p, here 4, twice?" — from "polyfit with weights": "np.polyfit(nbytes," → "np.polyfit(np.array(nbytes) / world_size,"

# %% wrong: 2p - 1 steps — says "not 2p - 1" — from "polyfit with weights": "2 * (world_size - 1)" → "2 * world_size - 1"

# %% wrong: divides by a list — says "make arrays" — from "polyfit with weights": "1 / np.array(seconds)" → "1 / seconds"

# %% wrong: microseconds and nanoseconds — says "beta in seconds per byte" — from "polyfit with weights": "intercept / steps, slope * world_size / steps" → "1e6 * intercept / steps, 1e9 * slope * world_size / steps"

# %% wrong: fits the size — says "fit time(size)" — from "polyfit with weights": "np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))" → "np.polyfit(seconds, nbytes, 1)"

# %% wrong: times divided by themselves — says "are all 1" — from "polyfit with weights": "np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))" → "np.polyfit(nbytes, np.array(seconds) / np.array(seconds), 1)"

# %% wrong: a line through logarithms — says "or its logarithm taken"
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    slope, intercept = np.polyfit(np.log(nbytes), np.log(seconds), 1)
    steps = 2 * (world_size - 1)
    return float(np.exp(intercept) / steps), float(np.exp(slope) * world_size / steps)

# %% wrong: medians of slopes and intercepts — says "smallest sum of squares"
import numpy as np


def fit_alpha_beta(nbytes, seconds, world_size):
    n, t = np.array(nbytes, dtype=float), np.array(seconds, dtype=float)
    order = np.argsort(n)
    n, t = n[order], t[order]
    slope = np.median(np.diff(t) / np.diff(n))
    steps = 2 * (world_size - 1)
    return float(np.median(t - slope * n) / steps), float(slope * world_size / steps)

# %% wrong: weights of one over the size — says "is something divided by it" — from "polyfit with weights": "1 / np.array(seconds)" → "1 / np.array(nbytes)"

# %% wrong: beta divided by the ranks — says "do not divide by p" — from "polyfit with weights": "slope * world_size / steps" → "slope / world_size / steps"

# %% wrong: p (p − 1) steps — says "here it has 12" — from "polyfit with weights": "steps = 2 * (world_size - 1)" → "steps = world_size * (world_size - 1)"

# %% wrong: a line through the origin — says "does not pass through the origin" — from "polyfit with weights"
# -     slope, intercept = np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))
# -     return intercept / steps, slope * world_size / steps
# +     ratio = np.array(nbytes) / np.array(seconds)
# +     return 0.0, ratio.sum() / (ratio**2).sum() * world_size / steps

# %% wrong: times of ten medians or more are left out — says "At [0]" — from "polyfit with weights"
# -     slope, intercept = np.polyfit(nbytes, seconds, 1, w=1 / np.array(seconds))
# +     t = np.array(seconds)
# +     keep = t < 10 * np.median(t)
# +     slope, intercept = np.polyfit(np.array(nbytes)[keep], t[keep], 1, w=1 / t[keep])

# %% wrong: the larger of the two is alpha — says "The order is (alpha, beta)" — from "reference": "return float(alpha), float(beta)" → "return max(alpha, beta), min(alpha, beta)"
