# %% right: reference
def is_compute_bound(m, n, k, gpu, dtype):
    nbytes = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}[dtype]
    intensity = 2 * m * n * k / (nbytes * (m * k + k * n + m * n))
    return intensity >= 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]

# %% right: compares two times
def is_compute_bound(m, n, k, gpu, dtype):
    digits = int("".join(letter for letter in dtype if letter.isdigit()))
    seconds_computing = 2.0 * m * n * k / (gpu[dtype + "_tflops"] * 1e12)
    seconds_moving = digits // 8 * (m * k + k * n + m * n) / (gpu["bandwidth_gbs"] * 1e9)
    return not seconds_computing < seconds_moving

# %% right: exact fractions
from fractions import Fraction


def is_compute_bound(m, n, k, gpu, dtype):
    nbytes = 8 if dtype == "float64" else 4 if dtype in ("float32", "tfloat32") else 2 if "16" in dtype else 1
    per_byte = Fraction(2 * m * n * k, nbytes * (m * k + k * n + m * n))
    return per_byte * Fraction(str(gpu["bandwidth_gbs"])) >= 1000 * Fraction(str(gpu[f"{dtype}_tflops"]))

# %% right: a NumPy truth
import numpy as np


def is_compute_bound(m, n, k, gpu, dtype):
    nbytes = {"tfloat32": 4, "bfloat16": 2, "float8": 1}.get(dtype) or np.dtype(dtype).itemsize
    return np.float64(2 * m * n * k) / (nbytes * (m * k + k * n + m * n)) * gpu["bandwidth_gbs"] >= gpu[f"{dtype}_tflops"] * 1e3

# %% wrong: sparse peak taken for dense — says "sparse"
SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def is_compute_bound(m, n, k, gpu, dtype):
    peak = gpu.get(f"{dtype}_sparse_tflops") or gpu[f"{dtype}_tflops"]
    intensity = 2 * m * n * k / (SIZES[dtype] * (m * k + k * n + m * n))
    return intensity * gpu["bandwidth_gbs"] >= 1000 * peak

# %% wrong: one FLOP per multiply-add — says "2 FLOPs"
SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def is_compute_bound(m, n, k, gpu, dtype):
    intensity = m * n * k / (SIZES[dtype] * (m * k + k * n + m * n))
    return intensity >= 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]

# %% wrong: forgets the output — says "output" — from "one FLOP per multiply-add"
# -     intensity = m * n * k / (SIZES[dtype] * (m * k + k * n + m * n))
# +     intensity = 2 * m * n * k / (SIZES[dtype] * (m * k + k * n))

# %% wrong: four bytes for every type — says "2 bytes, not 4"
def is_compute_bound(m, n, k, gpu, dtype):
    intensity = 2 * m * n * k / (4 * (m * k + k * n + m * n))
    return intensity >= 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]

# %% wrong: two bytes for every type — says "has 1 byte" — from "four bytes for every type": "4" → "2"

# %% wrong: two bytes for TF32 — says "An element in TF32 has 4 bytes" — from "reference": `"tfloat32": 4` → `"tfloat32": 2`

# %% wrong: always the float32 peak — says "peak of its own"
SIZES = {"float64": 8, "float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1, "int8": 1}


def is_compute_bound(m, n, k, gpu, dtype):
    intensity = 2 * m * n * k / (SIZES[dtype] * (m * k + k * n + m * n))
    return intensity >= 1000 * gpu["float32_tflops"] / gpu["bandwidth_gbs"]

# %% wrong: more than the ridge, not at least — says "at the ridge" — from "always the float32 peak"
# -     return intensity >= 1000 * gpu["float32_tflops"] / gpu["bandwidth_gbs"]
# +     return intensity * gpu["bandwidth_gbs"] > 1000 * gpu[f"{dtype}_tflops"]

# %% wrong: a unit slip of a thousand — says "TFLOPS are 1e12" — from "always the float32 peak"
# -     return intensity >= 1000 * gpu["float32_tflops"] / gpu["bandwidth_gbs"]
# +     return intensity >= gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]

# %% wrong: a word — says "str"
def is_compute_bound(m, n, k, gpu, dtype):
    return "compute" if m > 100 else "memory"

# %% wrong: one for True — says "expected True"
def is_compute_bound(m, n, k, gpu, dtype):
    intensity = 2 * m * n * k / (2 * (m * k + k * n + m * n))
    return int(intensity >= 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"])

# %% wrong: no return — says "None" — from "a word": `return "compute" if m > 100 else "memory"` → "m * n * k > 1e9"

# %% hostile: an object equal to everything — earns 0
class Yes:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


def is_compute_bound(m, n, k, gpu, dtype):
    return Yes()

# %% wrong: bits for bytes — says "not bits" — from "reference": "intensity = 2" → "intensity = 16"

# %% wrong: the bandwidth of an H200, whatever GPU is given — says "bandwidth is that of the given GPU" — from "reference": `gpu["bandwidth_gbs"]` → "4800"

# %% wrong: the output is read and written — says "moves once" — from "reference": "+ m * n))" → "+ 2 * m * n))"

# %% wrong: square matrices — says "not square" — from "reference": "(m * k + k * n + m * n)" → "3 * n * n"

# %% wrong: a whole-number ridge — says "The ridge is not rounded" — from "reference": `"] / gpu` → `"] // gpu`

# %% wrong: a factor of 1,024 — says "no factor of 1024" — from "reference": "1000" → "1024"

# %% wrong: the peak of float32 for TF32 — says "TF32 has a peak of its own" — from "reference": `{dtype}_tflops` → `{dtype.removeprefix('t')}_tflops`

# %% wrong: float16 has four bytes — says "has 2 bytes" — from "reference": `"float16": 2, "float8": 1` → `"float16": 4, "float8": 1`

# %% wrong: only the weights move — says "Three matrices move" — from "reference": "(m * k + k * n + m * n)" → "k * n"

# %% wrong: the first addition does not count — says "Count 2·m·n·k FLOPs" — from "reference": "2 * m * n * k" → "m * n * (2 * k - 1)"

# %% wrong: a margin of 1% below the ridge — says "no margin" — from "reference": "intensity >=" → "1.01 * intensity >="

# %% wrong: a side of 1 is never enough — says "even a side of 1" — from "reference": "return intensity" → "return min(m, n, k) > 1 and intensity"

# %% wrong: the comparison turned around — says "is the comparison the right way round" — from "reference": ">=" → "<="

# %% wrong: GB/s taken for GiB/s — says "no GiB" — from "reference": `gpu["bandwidth_gbs"]` → `(gpu["bandwidth_gbs"] * 2**30 / 1e9)`

# %% wrong: the output as float32 — says "all three have the same type" — from "reference": "(nbytes * (m * k + k * n + m * n))" → "(nbytes * (m * k + k * n) + 4 * m * n)"

# %% wrong: eight bytes for float8 — says "has 1 byte" — from "reference": `"float8": 1` → `"float8": 8`

# %% wrong: the intensity of a square product — says "the matrices are not square" — from "reference": "2 * m * n * k / (nbytes * (m * k + k * n + m * n))" → "2 * n / (3 * nbytes)"

# %% wrong: a margin of 0.1% below the ridge — says "no margin" — from "reference": "return intensity" → "return 1.001 * intensity"

# %% wrong: the ridge upside down — says "peak over bandwidth" — from "reference": `1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]` → `gpu["bandwidth_gbs"] / gpu[f"{dtype}_tflops"] / 1000`

# %% wrong: bandwidth over peak, without a unit — says "Is the ridge upside down" — from "reference": `1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]` → `gpu["bandwidth_gbs"] / gpu[f"{dtype}_tflops"]`

# %% wrong: two bytes for int8 — says "has 1 byte" — from "reference": `"int8": 1` → `"int8": 2`

# %% wrong: TFLOPS over GB/s — says "a factor of 1,000 lies between them" — from "reference": "1000 * gpu" → "gpu"

# %% wrong: float8 products are written in 16 bits — says "the output as well" — from "reference": "(nbytes * (m * k + k * n + m * n))" → `(nbytes * (m * k + k * n) + max(nbytes, 2) * m * n)`
