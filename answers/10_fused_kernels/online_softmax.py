# %% right: reference
def online_softmax(blocks):
    running_max, running_sum = -np.inf, 0.0
    for block in blocks:
        larger = max(running_max, block.max())
        running_sum *= np.exp(running_max - larger)
        running_sum += np.exp(block - larger).sum()
        running_max = larger
    lse = running_max + np.log(running_sum)
    return np.concatenate([np.exp(block - lse) for block in blocks]), float(lse)

# %% right: weights rescaled on the way
def online_softmax(blocks):
    m, s, weights = -np.inf, 0.0, np.zeros(0)
    for block in blocks:
        new = np.maximum(m, block.max())
        factor = np.exp(m - new)
        e = np.exp(block - new)
        weights = np.concatenate([weights * factor, e])
        s = s * factor + e.sum()
        m = new
    return weights / s, m + np.log(s)

# %% right: by logaddexp
def online_softmax(blocks):
    lse = -np.inf
    for block in blocks:
        lse = np.logaddexp(lse, np.logaddexp.reduce(block))
    return np.exp(np.concatenate(blocks) - lse), float(lse)

# %% wrong: rescaling forgotten — says "old sum must be rescaled"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        s += np.exp(block - m).sum()
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log(s))

# %% wrong: weights not rescaled — says "earlier blocks belong to an earlier maximum"
def online_softmax(blocks):
    m, s, parts = -np.inf, 0.0, []
    for block in blocks:
        new = max(m, block.max())
        parts.append(np.exp(block - new))
        s = s * np.exp(m - new) + parts[-1].sum()
        m = new
    return np.concatenate(parts) / s, float(m + np.log(s))

# %% wrong: neither rescaled — says "sum and weights must be rescaled"
def online_softmax(blocks):
    m, s, parts = -np.inf, 0.0, []
    for block in blocks:
        m = max(m, block.max())
        parts.append(np.exp(block - m))
        s += parts[-1].sum()
    return np.concatenate(parts) / s, float(m + np.log(s))

# %% wrong: each block by itself — says "sum of 1 of its own"
def online_softmax(blocks):
    row = np.concatenate(blocks)
    lse = row.max() + np.log(np.exp(row - row.max()).sum())
    parts = [np.exp(b - b.max()) / np.exp(b - b.max()).sum() for b in blocks]
    return np.concatenate(parts), float(lse)

# %% wrong: the log-sum-exp without its maximum — says "maximum plus the logarithm"
def online_softmax(blocks):
    row = np.concatenate(blocks)
    e = np.exp(row - row.max())
    return e / e.sum(), float(np.log(e.sum()))

# %% wrong: the sum instead of the log-sum-exp — says "maximum plus the logarithm" — from "the log-sum-exp without its maximum": "np.log(e.sum())" → "e.sum()"

# %% wrong: the maximum instead of the log-sum-exp — says "maximum plus the logarithm" — from "the log-sum-exp without its maximum": "np.log(e.sum())" → "row.max()"

# %% wrong: not divided — says "not divided" — from "the log-sum-exp without its maximum": "e / e.sum(), float(np.log(e.sum()))" → "e, float(row.max() + np.log(e.sum()))"

# %% wrong: not stabilized — says "not stabilized"
def online_softmax(blocks):
    with np.errstate(all="ignore"):
        e = np.exp(np.concatenate(blocks))
        return e / e.sum(), float(np.log(e.sum()))

# %% wrong: the running maximum starts at 0 — says "at −np.inf"
def online_softmax(blocks):
    m, s = 0.0, 0.0
    with np.errstate(all="ignore"):
        for block in blocks:
            new = max(m, block.max())
            s = s * np.exp(m - new) + np.exp(block - new).sum()
            m = new
        return np.concatenate([np.exp(b - m) / s for b in blocks]), float(m + np.log(s))

# %% wrong: the maximum of the first block for all — says "not by the largest element"
def online_softmax(blocks):
    row, m = np.concatenate(blocks), blocks[0].max()
    with np.errstate(all="ignore"):
        e = np.exp(row - m)
        return e / e.sum(), float(m + np.log(e.sum()))

# %% wrong: rescaled by the wrong sign — says "upside down"
def online_softmax(blocks):
    m, s = -1e9, 0.0
    with np.errstate(all="ignore"):
        for block in blocks:
            new = max(m, block.max())
            s = (s * np.exp(new - m) if s else 0.0) + np.exp(block - new).sum()
            m = new
        return np.concatenate([np.exp(b - m) / s for b in blocks]), float(m + np.log(s))

# %% wrong: a list of blocks — says "online_softmax of blocks"
def online_softmax(blocks):
    row = np.concatenate(blocks)
    lse = row.max() + np.log(np.exp(row - row.max()).sum())
    return [np.exp(b - lse) for b in blocks], float(lse)

# %% wrong: only the weights — says "online_softmax of blocks" — from "the log-sum-exp without its maximum": "e.sum(), float(np.log(e.sum()))" → "e.sum()"

# %% wrong: the smallest of a block — says "not by the largest element" — from "reference": "block.max()" → "block.min()"


# %% wrong: the sum of the last block only — says "The old sum is lost"
import numpy as np
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for b in blocks:
        new = max(m, b.max())
        s = np.exp(b - new).sum()
        m = new
    return np.concatenate([np.exp(b - m) / s for b in blocks]), float(m + np.log(s))


# %% right: element by element
import math
import numpy as np
def online_softmax(blocks):
    m, s = float("-inf"), 0.0
    for b in blocks:
        for v in b:
            v = float(v)
            if v > m:
                s = s * math.exp(m - v) + 1.0
                m = v
            else:
                s += math.exp(v - m)
    out = []
    for b in blocks:
        for v in b:
            out.append(math.exp(v - m) / s)
    return np.array(out), m + math.log(s)

# %% wrong: a maximum that is reached again loses the sum — says "The old sum is lost" — from "reference"
# -         running_sum *= np.exp(running_max - larger)
# +         running_sum = running_sum * np.exp(running_max - larger) if running_max != block.max() else 0.0

# %% hostile: one array for the results of all calls — says "overwrote what an earlier call had returned" — from "reference"
# - def online_softmax(blocks):
# + ROOM = np.empty(1 << 20)
# +
# +
# + def online_softmax(blocks):

# -     return np.concatenate([np.exp(block - lse) for block in blocks]), float(lse)
# +     weights = ROOM[: sum(map(len, blocks))]
# +     weights[:] = np.concatenate([np.exp(block - lse) for block in blocks])
# +     return weights, float(lse)

# %% wrong: the page's two passes — says "in two passes" — from "reference"
# -     running_max, running_sum = -np.inf, 0.0
# -     for block in blocks:
# -         larger = max(running_max, block.max())
# -         running_sum *= np.exp(running_max - larger)
# -         running_sum += np.exp(block - larger).sum()
# -         running_max = larger
# -     lse = running_max + np.log(running_sum)
# -     return np.concatenate([np.exp(block - lse) for block in blocks]), float(lse)
# +     return softmax_in_two_passes(blocks)

# %% wrong: the maximum of all blocks, then the sum block by block — says "in two passes"
def online_softmax(blocks):
    m, s = max(block.max() for block in blocks), 0.0
    for block in blocks:
        s += np.exp(block - m).sum()
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log(s))

# %% wrong: PyTorch's log-sum-exp of the whole row — says "in two passes"
def online_softmax(blocks):
    row = torch.from_numpy(np.concatenate(blocks))
    return row.softmax(0).numpy(), float(row.logsumexp(0))

# %% right: blocks summed by their own maxima, then merged — from "reference"
# -         running_sum += np.exp(block - larger).sum()
# +         running_sum += np.exp(block - block.max()).sum() * np.exp(block.max() - larger)

# %% wrong: equal elements of a block count once — says "count as often as they occur" — from "reference": "np.exp(block - larger)" → "np.exp(np.unique(block) - larger)"

# %% wrong: SciPy's logsumexp of the whole row — says "in two passes"
from scipy.special import logsumexp, softmax


def online_softmax(blocks):
    row = np.concatenate(blocks)
    return softmax(row), float(logsumexp(row))

# %% wrong: the running sum starts at 1 — says "here 1 is added" — from "reference": "running_max, running_sum = -np.inf, 0.0" → "running_max, running_sum = blocks[0].max(), 1.0"

# %% wrong: the first block is left out — says "The exponentials of the first block" — from "reference": "running_max, running_sum = -np.inf, 0.0" → "running_max, running_sum = blocks[0].max(), 0.0", "    for block in blocks:" → "    for block in blocks[1:]:"

# %% wrong: the mean of each block — says "not their mean" — from "reference": "np.exp(block - larger).sum()" → "np.exp(block - larger).mean()"

# %% wrong: log10 — says "The logarithm is np.log" — from "reference"
# -     lse = running_max + np.log(running_sum)
# -     return np.concatenate([np.exp(block - lse) for block in blocks]), float(lse)
# +     lse = running_max + np.log(running_sum)
# +     weights = np.concatenate([np.exp(block - lse) for block in blocks])
# +     return weights, float(running_max + np.log10(running_sum))

# %% wrong: the weights block by block — says "np.concatenate" — from "reference": "np.concatenate([np.exp(block - lse) for block in blocks])" → "[np.exp(block - lse) for block in blocks]"

# %% right: the maxima and sums of all blocks first, in one pass, and combined after it
def online_softmax(blocks):
    tops = [block.max() for block in blocks]
    sums = [np.exp(block - top).sum() for block, top in zip(blocks, tops)]
    lse = max(tops) + np.log(np.dot(sums, np.exp(np.array(tops) - max(tops))))
    return np.concatenate([np.exp(block - lse) for block in blocks]), float(lse)

# %% wrong: each block's weights by its own maximum — says "subtract that of the row"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - block.max()) / s for block in blocks]), float(m + np.log(s))

# %% wrong: the maximum plus the sum — says "maximum plus the logarithm" — from "reference": "float(lse)" → "float(running_max + running_sum)"

# %% wrong: the block's sum by its own maximum — says "not always the block's own" — from "reference": "np.exp(block - larger).sum()" → "np.exp(block - block.max()).sum()"

# %% wrong: the sum rescaled after the block was added — says "add the block's exponentials after that"
def online_softmax(blocks):
    running_max, running_sum = -np.inf, 0.0
    for block in blocks:
        larger = max(running_max, block.max())
        running_sum += np.exp(block - larger).sum()
        running_sum *= np.exp(running_max - larger) if running_max > -np.inf else 1.0
        running_max = larger
    weights = np.concatenate([np.exp(block - running_max) for block in blocks])
    return weights / running_sum, float(running_max + np.log(running_sum))

# %% wrong: the weights of the last block only — says "of the last block only" — from "reference": "for block in blocks])" → "for block in blocks[-1:]])"

# %% wrong: the factor squared — says "rescaled once" — from "reference": `np.exp(running_max - larger)` → `np.exp(running_max - larger) ** 2`

# %% wrong: rescales the block's own sum as well — says "Rescale the old sum first" — from "reference"
# -         running_sum *= np.exp(running_max - larger)
# -         running_sum += np.exp(block - larger).sum()
# +         running_sum += np.exp(block - block.max()).sum()
# +         running_sum *= np.exp(running_max - larger)

# %% wrong: adds a block only if its maximum is larger — says "whatever their maximum" — from "reference"
# -         running_sum *= np.exp(running_max - larger)
# -         running_sum += np.exp(block - larger).sum()
# -         running_max = larger
# +         if larger > running_max:
# +             running_sum *= np.exp(running_max - larger)
# +             running_sum += np.exp(block - larger).sum()
# +             running_max = larger

# %% wrong: the two results exchanged — says "Return the weights first" — from "reference": `return np.concatenate([np.exp(block - lse) for block in blocks]), float(lse)` → `return float(lse), np.concatenate([np.exp(block - lse) for block in blocks])`

# %% wrong: weights divided by the log-sum-exp — says "not by the log-sum-exp" — from "reference": `np.exp(block - lse) for` → `np.exp(block - running_max) / lse for`

# %% wrong: the maximum times the logarithm — says "maximum plus the logarithm" — from "reference": `float(lse)` → `float(running_max * np.log(running_sum))`

# %% wrong: log1p — says "here 3 + 0.4519"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log1p(s))

# %% wrong: the logarithm of maximum plus sum — says "here 3 + 0.4519"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(np.log(m + s))

# %% wrong: weights without the maximum — says "here the maximum is not subtracted"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block) / s for block in blocks]), float(m + np.log(s))

# %% wrong: weights divided by the sum twice — says "The log-sum-exp is right. The weight of x is exp"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s / s for block in blocks]), float(m + np.log(s))

# %% wrong: blocks of weights in reverse order — says "the right weights in another order"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in reversed(blocks)]), float(m + np.log(s))

# %% wrong: weights in float32 — says "has too few digits: they should be float64"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]).astype(np.float32), float(m + np.log(s))

# %% wrong: the factor is the quotient of the maxima — says "not the quotient of the maxima"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * (m / larger if np.isfinite(m) else 0.0) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log(s))

# %% wrong: the factor is the difference of the maxima — says "the factor exp(old − new) is 1"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * (m - larger if np.isfinite(m) else 0.0) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log(s))

# %% wrong: the old maximum is subtracted from the block — says "not the old one"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - (m if np.isfinite(m) else larger)).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log(s))

# %% wrong: the first block is counted twice — says "counted twice"
def online_softmax(blocks):
    m, s = blocks[0].max(), np.exp(blocks[0] - blocks[0].max()).sum()
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log(s))

# %% wrong: a new maximum adds 1 — says "also if its maximum is the new one"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp(m - larger) + (1 if larger > m else np.exp(block - larger).sum())
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log(s))

# %% wrong: the factor has half the exponent — says "your sum is"
def online_softmax(blocks):
    m, s = -np.inf, 0.0
    for block in blocks:
        larger = max(m, block.max())
        s = s * np.exp((m - larger) / 2) + np.exp(block - larger).sum()
        m = larger
    return np.concatenate([np.exp(block - m) / s for block in blocks]), float(m + np.log(s))
