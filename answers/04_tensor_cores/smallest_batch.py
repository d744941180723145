# %% right: reference
import math

SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def smallest_batch(in_features, out_features, gpu, dtype):
    need = 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] * SIZES[dtype]
    gain = 2 * in_features * out_features - need * (in_features + out_features)
    return math.ceil(need * in_features * out_features / gain) if gain > 0 else None

# %% right: exact fractions
import math
from fractions import Fraction


def smallest_batch(in_features, out_features, gpu, dtype):
    nbytes = 8 if dtype == "float64" else 4 if dtype.endswith("float32") else 2 if dtype.endswith("16") else 1
    ridge = 1000 * Fraction(str(gpu[f"{dtype}_tflops"])) / Fraction(str(gpu["bandwidth_gbs"]))
    inverse = 2 / (ridge * nbytes) - Fraction(1, in_features) - Fraction(1, out_features)
    return None if inverse <= 0 else math.ceil(1 / inverse)

# %% right: asks the limit, then searches by halving
SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def smallest_batch(in_features, out_features, gpu, dtype):
    ridge = 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]

    def intensity(batch):
        moved = batch * in_features + in_features * out_features + batch * out_features
        return 2 * batch * in_features * out_features / (moved * SIZES[dtype])

    if 2 * in_features * out_features / ((in_features + out_features) * SIZES[dtype]) <= ridge:
        return None
    low, high = 0, 1
    while intensity(high) < ridge:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if intensity(middle) >= ridge else (middle, high)
    return high

# %% right: tries batches one by one, up to a point
SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def smallest_batch(in_features, out_features, gpu, dtype):
    flops = 2 * in_features * out_features * gpu["bandwidth_gbs"]
    need = 1000 * gpu[f"{dtype}_tflops"] * SIZES[dtype]
    for batch in range(1, 300_000):
        if batch * flops >= need * (batch * (in_features + out_features) + in_features * out_features):
            return batch
    return None

# %% wrong: linear guess — says "linear guess" — from "reference"
# -     need = 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] * SIZES[dtype]
# +     return math.ceil(1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] * SIZES[dtype] / 2)
# -     gain = 2 * in_features * out_features - need * (in_features + out_features)
# -     return math.ceil(need * in_features * out_features / gain) if gain > 0 else None

# %% wrong: linear guess, rounded down — says "linear guess"
SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def smallest_batch(in_features, out_features, gpu, dtype):
    return int(1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] * SIZES[dtype] / 2)

# %% wrong: sparse peak taken for dense — says "sparse" — from "reference"
# +     peak = gpu.get(f"{dtype}_sparse_tflops") or gpu[f"{dtype}_tflops"]
# -     need = 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] * SIZES[dtype]
# +     need = 1000 * peak / gpu["bandwidth_gbs"] * SIZES[dtype]

# %% wrong: forgets the output — says "output" — from "reference": "(in_features + out_features)" → "in_features"

# %% wrong: rounds down — says "round up"
SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def smallest_batch(in_features, out_features, gpu, dtype):
    need = 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] * SIZES[dtype]
    gain = 2 * in_features * out_features - need * (in_features + out_features)
    return int(need * in_features * out_features / gain) if gain > 0 else None

# %% wrong: one row too many — says "enough" — from "rounds down": " if" → " + 1 if"

# %% wrong: one FLOP per multiply-add — says "counts as 2 FLOPs" — from "reference": "2 * " → ""

# %% wrong: two bytes for every type — says "2 bytes" — from "reference"
# -
# - SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}

# -     need = 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] * SIZES[dtype]
# +     need = 2000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]

# %% wrong: a negative batch where there is none — says "None" — from "reference": " if gain > 0 else None" → ""

# %% wrong: zero where there is none — says "None" — from "reference": "None" → "0"

# %% wrong: a float — says "int" — from "reference"
# -     return math.ceil(need * in_features * out_features / gain) if gain > 0 else None
# +     return float(math.ceil(need * in_features * out_features / gain)) if gain > 0 else None

# %% wrong endless: searches for ever where there is none — says "no answer" — from "linear guess, rounded down"
# -     return int(1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] * SIZES[dtype] / 2)
# +     ridge, batch = 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"], 1
# +     while True:
# +         moved = batch * in_features + in_features * out_features + batch * out_features
# +         if 2 * batch * in_features * out_features / (moved * SIZES[dtype]) >= ridge:
# +             return batch
# +         batch += 1

# %% hostile: leaves by SystemExit — earns 0
def smallest_batch(in_features, out_features, gpu, dtype):
    raise SystemExit(0)

# %% wrong: a search by halves that takes the ridge itself for memory-bound — says "96 is enough" — from "asks the limit, then searches by halving": "intensity(middle) >= ridge" → "intensity(middle) > ridge"

# %% wrong: a unit slip of a thousand — says "TFLOPS are 1e12" — from "reference": "1000 * " → ""

# %% wrong: gigabits — says "not in bits" — from "reference": `gpu["bandwidth_gbs"]` → `gpu["bandwidth_gbs"] * 8`

# %% wrong: tries batches up to 10,000 — says "a large batch is enough" — from "tries batches one by one, up to a point": "300_000" → "10_000"

# %% wrong: a square layer — says "not square" — from "reference": "(in_features + out_features)" → "2 * in_features", "2 * in_features * out_features" → "2 * in_features * in_features", "need * in_features * out_features" → "need * in_features * in_features"

# %% wrong: the peak of float32 for TF32 — says "TF32 has a peak of its own" — from "reference": `{dtype}_tflops` → `{dtype.removeprefix('t')}_tflops`

# %% wrong: multiples of 8 — says "It need not be a multiple of 8" — from "reference": "math.ceil(need * in_features * out_features / gain)" → "8 * math.ceil(need * in_features * out_features / gain / 8)"

# %% wrong: one row, always — says "single row is memory-bound"
def smallest_batch(in_features, out_features, gpu, dtype):
    return 1

# %% wrong: at least 16 rows — says "expected 3" — from "reference": "return math.ceil(" → "return max(16, math.ceil(", "/ gain) if" → "/ gain)) if"

# %% wrong: an int8 has four bytes — says "bytes" — from "reference": `"int8": 1` → `"int8": 4`

# %% wrong: a whole ridge — says "Do not round the ridge" — from "reference": `1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"] *` → `round(1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]) *`

# %% wrong: tries batches up to 100,000 — says "a large batch is enough" — from "tries batches one by one, up to a point": "300_000" → "100_000"

# %% wrong: a plus for a minus — says "subtract r·(in + out)" — from "reference": "out_features - need" → "out_features + need"

# %% wrong: the peak of float32 for every type — says "Each type has a peak of its own" — from "reference": `f"{dtype}_tflops"` → `"float32_tflops"`

# %% wrong: searches by doubling, up to 2**60 — says "compare the limit" — from "asks the limit, then searches by halving"
# -     if 2 * in_features * out_features / ((in_features + out_features) * SIZES[dtype]) <= ridge:
# -         return None

# -         low, high = high, 2 * high
# +         low, high = high, 2 * high
# +         if high > 2**60:
# +             return None

# %% wrong: batches up to 1,000 — says "enough" — from "tries batches one by one, up to a point": "300_000" → "1_001"

# %% wrong: none for a layer narrower than the ridge — says "Do you return None only if" — from "reference": "if gain > 0 else None" → "if gain > 0 and min(in_features, out_features) >= need else None"

# %% wrong: with a bias — says "No bias is counted" — from "reference": "math.ceil(need * in_features * out_features / gain)" → "math.ceil(need * (in_features + 1) * out_features / gain)"

# %% wrong: one row is no batch — says "One row is a batch" — from "reference"
# -     return math.ceil(need * in_features * out_features / gain) if gain > 0 else None
# +     batch = math.ceil(need * in_features * out_features / gain) if gain > 0 else None
# +     return None if batch == 1 else batch

# %% wrong: the ridge — says "That is the ridge" — from "reference": "return math.ceil(need * in_features * out_features / gain) if gain > 0 else None" → "return math.ceil(need / SIZES[dtype])"

# %% wrong: the bracket without its sign — says "The bracket is negative" — from "reference": "/ gain) if gain > 0 else None" → "/ abs(gain)) if gain else None"

# %% wrong: divides by a bracket of 0 — says "Here the bracket is 0" — from "reference": "if gain > 0" → "if gain >= 0"
