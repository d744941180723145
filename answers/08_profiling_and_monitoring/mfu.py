# %% right: reference
def mfu(step_ms, flops, gpu, dtype):
    flops_per_second = flops / (step_ms / 1e3)
    return flops_per_second / (gpu[f"{dtype}_tflops"] * 1e12)

# %% right: the ideal time over the real one
def mfu(step_ms, flops, gpu, dtype):
    ideal_ms = 1e3 * flops / (1e12 * gpu[dtype + "_tflops"])
    return ideal_ms / step_ms

# %% right: a NumPy scalar
import numpy as np


def mfu(step_ms, flops, gpu, dtype):
    return np.float64(flops) / (np.float64(step_ms) * gpu[f"{dtype}_tflops"] * 1e9)

# %% wrong: the sparse peak — says "sparse peak"
def mfu(step_ms, flops, gpu, dtype):
    peak = gpu.get(f"{dtype}_sparse_tflops") or gpu[f"{dtype}_tflops"]
    return flops / (step_ms / 1e3) / (peak * 1e12)

# %% wrong: ms taken for s — says "in ms, not in s" — from "reference": "step_ms / 1e3" → "step_ms"

# %% wrong: ms multiplied by 1000 — says "divide it by 1000" — from "reference": "step_ms / 1e3" → "step_ms * 1e3"

# %% wrong: TFLOPS taken for GFLOPS — says "1e12" — from "reference": "* 1e12" → "* 1e9"

# %% wrong: TFLOPS taken for FLOPS — says "in TFLOPS" — from "reference": " * 1e12" → ""

# %% wrong: no units at all — says "both"
def mfu(step_ms, flops, gpu, dtype):
    return flops / step_ms / gpu[f"{dtype}_tflops"]

# %% wrong: a percentage — says "percentage" — from "reference": "return " → "return 100 * "

# %% wrong: the TFLOPS reached — says "divide them by the peak" — from "no units at all": `gpu[f"{dtype}_tflops"]` → `1e9`

# %% wrong: always the float32 peak — says "own peak" — from "reference": `f"{dtype}_tflops"` → `"float32_tflops"`

# %% wrong: counts the backward pass again — says "backward pass" — from "reference": "return " → "return 3 * "

# %% wrong: upside down — says "upside down"
def mfu(step_ms, flops, gpu, dtype):
    return step_ms * gpu[f"{dtype}_tflops"] * 1e9 / flops

# %% wrong: the highest peak of any type — says "that of an 8-bit type"
def mfu(step_ms, flops, gpu, dtype):
    peak = max(value for key, value in gpu.items() if key.endswith("_tflops") and "sparse" not in key and value)
    return flops / step_ms / 1e9 / peak

# %% wrong: a text — says "str" — from "reference": `flops_per_second / (gpu[f"{dtype}_tflops"] * 1e12)` → `f"{flops_per_second / gpu[dtype + '_tflops'] / 1e12:.0%}"`

# %% wrong: no return — says "None" — from "reference": "return " → "share = "

# %% hostile: a number that is equal to every number — earns 0
class Share(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__

    def __sub__(self, other):
        return 0.0


def mfu(step_ms, flops, gpu, dtype):
    return Share(0.5)

# %% wrong: the peak of one type for all — says "Each type has its own peak" — from "reference": `gpu[f"{dtype}_tflops"]` → `gpu["bfloat16_tflops"]`

# %% wrong: a factor of 2 for multiply-adds — says "need no factor of 2" — from "reference": "flops / (step_ms / 1e3)" → "2 * flops / (step_ms / 1e3)"

# %% hostile: raises what PyTorch raises when a GPU fails — says "Your code raised RuntimeError"
def mfu(*arguments):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


# %% wrong: a tera of 2**40 — says "not 2**40"
def mfu(step_ms, flops, gpu, dtype):
    return flops / (step_ms / 1000) / (gpu[f"{dtype}_tflops"] * 2**40)


# %% wrong: whole quotients — says "Do not round"
def mfu(step_ms, flops, gpu, dtype):
    return flops // (step_ms / 1000) / 1e12 // gpu[f"{dtype}_tflops"]


# %% wrong: the time taken for µs — says "a ms is 1e-3 s"
def mfu(step_ms, flops, gpu, dtype):
    return flops / (step_ms / 1e6) / (gpu[f"{dtype}_tflops"] * 1e12)


# %% wrong: half the peak — says "Twice the right value"
def mfu(step_ms, flops, gpu, dtype):
    return flops / (step_ms / 1000) / (gpu[f"{dtype}_tflops"] / 2 * 1e12)


# %% wrong: half — says "Half the right value" — from "reference": "return flops_per_second" → "return flops_per_second / 2"

# %% wrong: times the time — says "do not multiply" — from "reference": "flops / (step_ms / 1e3)" → "flops * (step_ms / 1e3)"

# %% wrong: six times — says "they count as they are" — from "reference": "return flops_per_second" → "return 6 * flops_per_second"

# %% wrong: parentheses are missing — says "put parentheses" — from "reference": `(gpu[f"{dtype}_tflops"] * 1e12)` → `gpu[f"{dtype}_tflops"] * 1e12`

# %% wrong: the largest peak of all — says "the row's largest peak" — from "reference": `gpu[f"{dtype}_tflops"]` → `max(peak for name, peak in gpu.items() if name.endswith("_tflops") and peak)`

# %% wrong: no share above 1 — says "A share may be above 1" — from "reference": "return flops_per_second" → "return min(1.0, flops_per_second", "* 1e12)" → "* 1e12))"

# %% wrong: an H200's peak for all — says "That is the peak of an H200" — from "reference": `gpu[f"{dtype}_tflops"]` → "989.4"

# %% wrong: the peak in whole TFLOPS — says "Do not round the peak" — from "reference": `gpu[f"{dtype}_tflops"]` → `int(gpu[f"{dtype}_tflops"])`

# %% wrong: the backward pass alone — says "they count as they are" — from "reference": "return flops_per_second" → "return 2 / 3 * flops_per_second"

# %% wrong: the share that is lost — says "the share that is lost" — from "reference": "return flops_per_second" → "return 1 - flops_per_second"

# %% wrong: the backward pass again, halved — says "they count as they are" — from "reference": "return flops_per_second" → "return 1.5 * flops_per_second"

# %% wrong: whole seconds — says "640 ms are 0.64 s" — from "reference": "step_ms / 1e3" → "step_ms // 1e3"

# %% wrong: rounded seconds — says "Do not round the time" — from "reference": "(step_ms / 1e3)" → "round(step_ms / 1e3)"

# %% wrong: the key is the type — says "The key of the peak" — from "reference": `f"{dtype}_tflops"` → `dtype`

# %% wrong: whole TFLOPS — says "Do not round the TFLOPS" — from "reference"
# -     return flops_per_second / (gpu[f"{dtype}_tflops"] * 1e12)
# +     return flops_per_second // 1e12 / gpu[f"{dtype}_tflops"]

# %% wrong: TFLOPS taken for MFLOPS — says "A million times too large" — from "reference": "* 1e12" → "* 1e6"

# %% wrong: whole ms — says "Do not round the time." — from "reference": `(step_ms / 1e3)` → `(int(step_ms) / 1e3)`
