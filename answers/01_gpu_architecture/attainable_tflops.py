# %% right: reference
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return min(peak_tflops, intensity * bandwidth_gbs / 1000)

# %% right: by the ridge
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    ridge = peak_tflops * 1e12 / (bandwidth_gbs * 1e9)
    if intensity >= ridge:
        return peak_tflops
    return peak_tflops * intensity / ridge

# %% right: NumPy, from the slower of two times
import numpy as np


def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    flops = 1e12
    seconds = np.maximum(flops / (peak_tflops * 1e12), flops / intensity / (bandwidth_gbs * 1e9))
    return flops / seconds / 1e12

# %% wrong: unit slip of 1000 — says "1000" — from "reference": " / 1000" → ""

# %% wrong: max for min — says "the lower one stops" — from "reference": "min" → "max"

# %% wrong: everything in GFLOPS — says "1000"
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return min(peak_tflops * 1000, intensity * bandwidth_gbs)

# %% wrong: only the memory's roof — says "the peak is a roof, too"
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return intensity * bandwidth_gbs / 1000

# %% wrong: only the peak — says "the lower one stops" — from "only the memory's roof": "intensity * bandwidth_gbs / 1000" → "peak_tflops"

# %% wrong: prints instead of returning — says "None"
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    print(min(peak_tflops, intensity * bandwidth_gbs / 1000))

# %% wrong: a text with the unit — says "str"
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return f"{min(peak_tflops, intensity * bandwidth_gbs / 1000)} TFLOPS"

# %% wrong: divides by the bandwidth — says "multiply intensity and bandwidth" — from "reference": "* bandwidth_gbs / 1000" → "/ bandwidth_gbs"

# %% hostile: a float that is close to everything — earns 0
class Close(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__
    __hash__ = float.__hash__


def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return Close(1.0)

# %% wrong: a million for a thousand — says "1000 of them are one TFLOPS"
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return min(peak_tflops, intensity * bandwidth_gbs * 1e9 / 1e6)

# %% wrong: both roofs in series — says "The lower of the two roofs decides"
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return 1 / (1 / peak_tflops + 1000 / (intensity * bandwidth_gbs))

# %% wrong: everything in FLOP/s — says "That is in FLOP/s" — from "reference": "return" → "return 1e12 *"

# %% wrong: a share of the peak — says "not a share of the peak" — from "reference": "return" → "return 1 / peak_tflops *"

# %% wrong: rounds to six decimals — says "Do not round" — from "reference": "min(" → "round(min(", "1000)" → "1000), 6)"

# %% right: in float32
import numpy as np


def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return np.minimum(np.float32(peak_tflops), np.float32(intensity) * np.float32(bandwidth_gbs) / 1000)

# %% wrong: rounds to two decimals — says "do not round" — from "reference": "min(" → "round(min(", "1000)" → "1000), 2)"

# %% wrong: a million for a thousand, once — says "not by 1e6" — from "reference": "/ 1000" → "/ 1e6"

# %% wrong: the ridge — says "That is the ridge" — from "reference": "min(peak_tflops, intensity * bandwidth_gbs / 1000)" → "peak_tflops * 1000 / bandwidth_gbs"

# %% wrong: the peak from one FLOP per byte on — says "the memory's roof is lower below the ridge"
def attainable_tflops(intensity, peak_tflops, bandwidth_gbs):
    return peak_tflops if intensity > 1 else intensity * bandwidth_gbs / 1000

# %% wrong: converts the peak as well — says "in TFLOPS already" — from "reference": "min(peak_tflops," → "min(peak_tflops / 1000,"

# %% wrong: the numbers of an H200 — says "not the numbers of an H200" — from "reference": "min(peak_tflops, intensity * bandwidth_gbs" → "min(67, intensity * 4800"

# %% wrong: half of the bandwidth for reads — says "do not halve the bandwidth" — from "reference": "/ 1000" → "/ 2000"

# %% wrong: leaves out the intensity — says "Multiply by the intensity" — from "reference": "intensity * " → ""

# %% wrong: an intensity of 1 or more — says "can be less than 1" — from "reference": "intensity * " → "max(intensity, 1) * "

# %% wrong: divides by the bytes of a float — says "counts bytes already" — from "reference": "/ 1000" → "/ 4000"

# %% wrong: the time of one operation — says "the time of one FLOP" — from "reference": "min(peak_tflops, intensity * bandwidth_gbs / 1000)" → "max(1 / (peak_tflops * 1e12), 1 / (intensity * bandwidth_gbs * 1e9))"

# %% wrong: the intensity multiplies the lower of both rates — says "the peak stays as it is" — from "reference": "min(peak_tflops, intensity * bandwidth_gbs / 1000)" → "intensity * min(peak_tflops, bandwidth_gbs / 1000)"

# %% wrong: the intensity multiplies the peak — says "the peak stays as it is" — from "reference": "min(peak_tflops, intensity * bandwidth_gbs / 1000)" → "min(peak_tflops * intensity, bandwidth_gbs / 1000)"

# %% wrong: nothing below the ridge — says "which is not 0" — from "by the ridge": "return peak_tflops * intensity / ridge" → "return 0.0"

# %% wrong: the inverse of the rate — says "not a time per TFLOP" — from "reference": "return min(peak_tflops, intensity * bandwidth_gbs / 1000)" → "return 1 / min(peak_tflops, intensity * bandwidth_gbs / 1000)"
