# %% right: reference
import numpy as np


def mma(a, b, c):
    return a.astype(np.float32) @ b.astype(np.float32) + c

# %% right: sums of outer products — from "reference"
# +     total = c.copy()
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     for column, row in zip(a.T.astype(np.float32), b.astype(np.float32)):
# +         total += np.outer(column, row)
# +     return total

# %% right: torch
import numpy as np
import torch


def mma(a, b, c):
    wide = [torch.from_numpy(np.array(x)).float() for x in (a, b, c)]
    return torch.addmm(wide[2], wide[0], wide[1])

# %% right: plain loops — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     result = np.array(c, dtype=np.float32)
# +     for i in range(a.shape[0]):
# +         for j in range(b.shape[1]):
# +             result[i, j] = result[i, j] + np.dot(a[i].astype(np.float32), b[:, j].astype(np.float32))
# +     return result

# %% right: einsum with a wide type — from "reference": "a.astype(np.float32) @ b.astype(" → `np.einsum("ik,kj->ij", a, b, dtype=`

# %% wrong: multiplies the float16 arrays as they are — says "float16 accumulation" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     return (a @ b).astype(np.float32) + c

# %% wrong: a running sum in float16 — says "float16 accumulation" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     total = np.zeros(c.shape, np.float16)
# +     for k in range(a.shape[1]):
# +         total = total + np.outer(a[:, k], b[k])
# +     return total.astype(np.float32) + c

# %% wrong: everything in float16, from c on — says "float16 accumulation" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     total = c.astype(np.float16)
# +     for k in range(a.shape[1]):
# +         total += a[:, k : k + 1] * b[k : k + 1]
# +     return total.astype(np.float32)

# %% wrong: sums in another order, still float16 — says "float16" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     total = np.zeros(c.shape, np.float16)
# +     for k in reversed(range(a.shape[1])):
# +         total = total + np.outer(a[:, k], b[k])
# +     return total.astype(np.float32) + c

# %% wrong: products in float16 — says "float16" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     return (a[:, :, None] * b[None]).astype(np.float32).sum(axis=1) + c

# %% wrong: the result rounded to float16 — says "float16" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     return (a.astype(np.float32) @ b.astype(np.float32) + c).astype(np.float16)

# %% wrong: c made short — says "float16" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     return (a @ b) + c.astype(np.float16)

# %% wrong: bfloat16 sums — says "float16" — from "torch"
# -     wide = [torch.from_numpy(np.array(x)).float() for x in (a, b, c)]
# +     a, b, c = (torch.from_numpy(np.array(x)).bfloat16() for x in (a, b, c))
# -     return torch.addmm(wide[2], wide[0], wide[1])
# +     return (a @ b + c).float()

# %% wrong: forgets c — says "C is added as well" — from "reference": " + c" → ""

# %% wrong: a float64 result — says "float32" — from "reference": "float32) @ b.astype(np.float32" → "float64) @ b.astype(np.float64"

# %% wrong: no return — says "None" — from "reference": "return " → ""

# %% wrong: adds into c — says "changed an argument" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     c += a.astype(np.float32) @ b.astype(np.float32)
# +     return c

# %% hostile: an array that is close to everything — earns 0
import numpy as np


class Close(np.ndarray):
    def __eq__(self, other):
        return np.ones(self.shape, bool)

    def __array_ufunc__(self, *given, **named):
        return np.zeros(self.shape)


def mma(a, b, c):
    return np.zeros(c.shape, np.float32).view(Close)

# %% wrong: products in float16, sums in float32 — says "keep the product as float32" — from "reference": "a.astype(np.float32) @ b.astype(np.float32)" → "(a[:, :, None] * b[None]).sum(axis=1, dtype=np.float32)"

# %% wrong: c subtracted — says "C is added, not subtracted" — from "reference": "+ c" → "- c"

# %% hostile: 200 MB of one number that takes no memory until it is sent
import numpy as np


def mma(*arguments):
    return np.broadcast_to(np.float32("nan"), (50_000_000,))

# %% hostile: adds up magnitudes, and takes the sign of c — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     wide = np.abs(a).astype(np.float32) @ np.abs(b).astype(np.float32) + np.abs(c)
# +     return np.where(c < 0, -wide, wide)

# %% wrong: the first row of c everywhere — says "adds the first row of c" — from "reference": "+ c" → "+ c[0]"

# %% wrong: c twice — says "That adds c twice" — from "reference": "+ c" → "+ 2 * c"

# %% wrong: whole steps of 16 only, unless there is none — says "products are missing" — from "reference"
# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     k = a.shape[1] // 16 * 16 or a.shape[1]
# +     return a[:, :k].astype(np.float32) @ b[:k].astype(np.float32) + c

# %% wrong: bfloat16 inputs — says "As bfloat16, a and b lose three bits" — from "reference"
#   import numpy as np
# + import torch

# -     return a.astype(np.float32) @ b.astype(np.float32) + c
# +     a, b = (torch.from_numpy(factor).bfloat16().float().numpy() for factor in (a, b))
# +     return a @ b + c

# %% wrong: b transposed where it is square — says "Nothing is transposed" — from "reference": "@ b.astype" → "@ (b.T if b.shape[0] == b.shape[1] > 1 else b).astype"

# %% wrong: c transposed where it is square — says "c is not transposed" — from "reference": "+ c" → "+ (c.T if c.shape[0] == c.shape[1] else c)"

# %% wrong: without the last product — says "One of the 4096 products is missing" — from "reference": "return a.astype(np.float32) @ b.astype(np.float32) + c" → "return a[:, :-1].astype(np.float32) @ b[:-1].astype(np.float32) + c"

# %% wrong: element by element — says "Rows of a times columns of b" — from "reference": " @ " → " * "

# %% wrong: b before a — says "Rows of a times columns of b" — from "reference": "a.astype(np.float32) @ b.astype(np.float32)" → "b.astype(np.float32) @ a.astype(np.float32)"

# %% wrong: times c — says "not multiplied" — from "reference": "return a.astype(np.float32) @ b.astype(np.float32) + c" → "return (a.astype(np.float32) @ b.astype(np.float32)) * c"

# %% wrong: outer products for each row of a — says "Only one of the 4096 products"
import numpy as np


def mma(a, b, c):
    total = c.copy()
    for i in range(len(a)):
        total += np.outer(a[:, i], b[i]).astype(np.float32)
    return total

# %% wrong: as whole numbers — says "lose their fractions" — from "reference": "return a.astype(np.float32) @ b.astype(np.float32) + c" → "return (a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.float32)"

# %% wrong: the size of a — says "Signs count" — from "reference": "return a" → "return abs(a)"

# %% wrong: one entry for all — says "you used only the first ones" — from "reference": "a.astype(np.float32) @ b.astype(np.float32)" → "a[:1].astype(np.float32) @ b[:, :1].astype(np.float32)"

# %% wrong: the first row of a for all — says "a row of a of its own" — from "reference": "a.astype" → "a[:1].astype"

# %% wrong: the transposed product — says "a first, and nothing transposed" — from "reference": "a.astype(np.float32) @ b.astype(np.float32)" → "b.T.astype(np.float32) @ a.T.astype(np.float32)"
