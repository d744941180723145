# %% right: reference
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    travel = (bytes_in + bytes_out) / (link_gbs * 1e9)
    return travel + launch_us * 1e-6 + flops / (gpu_gflops * 1e9) < flops / (cpu_gflops * 1e9)

# %% right: in microseconds, NumPy's bool
import numpy as np


def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    stations = np.array([bytes_in / link_gbs / 1e3, launch_us, flops / gpu_gflops / 1e3, bytes_out / link_gbs / 1e3])
    return stations.sum() < flops / cpu_gflops / 1e3

# %% right: in nanoseconds, station after station
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    left = flops / cpu_gflops
    for station in (bytes_in / link_gbs, launch_us * 1000, flops / gpu_gflops, bytes_out / link_gbs):
        left -= station
    if left > 0:
        return True
    return False

# %% right: in exact fractions
from fractions import Fraction as F

def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    f = lambda v: F(str(v))
    gpu = (f(bytes_in) + f(bytes_out)) / (f(link_gbs) * 10**9) + f(launch_us) / 10**6 + f(flops) / (f(gpu_gflops) * 10**9)
    return gpu < f(flops) / (f(cpu_gflops) * 10**9)

# %% wrong: forgets the way back — says "way back"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    return bytes_in / (link_gbs * 1e9) + launch_us * 1e-6 + flops / (gpu_gflops * 1e9) < flops / (cpu_gflops * 1e9)

# %% wrong: forgets latency — says "latency"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    return (bytes_in + bytes_out) / (link_gbs * 1e9) + flops / (gpu_gflops * 1e9) < flops / (cpu_gflops * 1e9)

# %% wrong: forgets the way in — says "copy in" — from "forgets the way back": " bytes_in" → " bytes_out"

# %% wrong: the GPU computes in no time — says "its compute time is missing"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    return (bytes_in + bytes_out) / (link_gbs * 1e9) + launch_us * 1e-6 < flops / (cpu_gflops * 1e9)

# %% wrong: the longest station for the sum — says "one after another"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    link = link_gbs * 1e9
    return max(bytes_in / link, launch_us * 1e-6, flops / (gpu_gflops * 1e9), bytes_out / link) < flops / (cpu_gflops * 1e9)

# %% wrong: both directions at once — says "both copies count" — from "reference": "(bytes_in +" → "max(bytes_in,"

# %% wrong: microseconds taken for milliseconds — says "units" — from "reference": "6" → "3"

# %% wrong: gigabits for gigabytes — says "GB are bytes, not bits" — from "reference": "(link_gbs * 1e9)" → "(link_gbs / 8 * 1e9)"

# %% wrong: computes at half the rate — says "the GPU computes for" — from "reference": "(gpu_gflops * 1e9)" → "(gpu_gflops * 5e8)"

# %% wrong: no units at all — says "units"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    return bytes_in / link_gbs + launch_us + flops / gpu_gflops + bytes_out / link_gbs < flops / cpu_gflops / 1e9

# %% wrong: a tie counts as a win — says "ties are False" — from "reference": " < flops" → " <= flops"

# %% wrong: a word for a bool — says "str"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    travel = (bytes_in + bytes_out) / (link_gbs * 1e9)
    pays = travel + launch_us * 1e-6 + flops / (gpu_gflops * 1e9) < flops / (cpu_gflops * 1e9)
    return "yes" if pays else "no"

# %% wrong: 1 and 0 for True and False — says "expected True"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    travel = (bytes_in + bytes_out) / (link_gbs * 1e9)
    return int(travel + launch_us * 1e-6 + flops / (gpu_gflops * 1e9) < flops / (cpu_gflops * 1e9))

# %% wrong: always — says "copy out"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    return True

# %% wrong: returns None — says "None"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    pays = (bytes_in + bytes_out) / link_gbs / 1e9 + launch_us / 1e6 + flops / gpu_gflops / 1e9 < flops / cpu_gflops / 1e9

# %% hostile: an object equal to everything — earns 0
class Anything:
    def __eq__(self, other):
        return True

    def __bool__(self):
        return True

    __hash__ = object.__hash__


def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    return Anything()

# %% wrong: GB of 2**30 bytes — says "not 2**30" — from "reference": "(link_gbs * 1e9)" → "(link_gbs * 2**30)"

# %% wrong: pays when it does not — says "wrong way around" — from "reference": "< flops" → "> flops"

# %% wrong: the CPU copies as well — says "the CPU copies nothing"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    copies = (bytes_in + bytes_out) / (link_gbs * 1e9)
    gpu = copies + launch_us * 1e-6 + flops / (gpu_gflops * 1e9)
    return gpu < copies + flops / (cpu_gflops * 1e9)

# %% wrong: launches twice — says "launched once"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    copies = (bytes_in + bytes_out) / (link_gbs * 1e9)
    return copies + 2 * launch_us * 1e-6 + flops / (gpu_gflops * 1e9) < flops / (cpu_gflops * 1e9)

# %% wrong: a launch in nanoseconds — says "launch_us is in microseconds" — from "launches twice": "2 * launch_us * 1e-6" → "launch_us * 1e-9"

# %% wrong: only if it is 1% faster — says "however small" — from "reference": "return travel" → "return 0.01 * flops / (cpu_gflops * 1e9) + travel"

# %% wrong: compares times rounded to 0.1 ms — says "however small"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    gpu_ms = (bytes_in + bytes_out) / link_gbs / 1e6 + launch_us / 1e3 + flops / gpu_gflops / 1e6
    return round(gpu_ms, 1) < round(flops / cpu_gflops / 1e6, 1)

# %% wrong: copies out while it computes — says "run one after another"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    there, back = bytes_in / (link_gbs * 1e9), bytes_out / (link_gbs * 1e9)
    return there + launch_us * 1e-6 + max(flops / (gpu_gflops * 1e9), back) < flops / (cpu_gflops * 1e9)

# %% wrong: launches while it copies in — says "run one after another"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    there, back = bytes_in / (link_gbs * 1e9), bytes_out / (link_gbs * 1e9)
    return max(there, launch_us * 1e-6) + flops / (gpu_gflops * 1e9) + back < flops / (cpu_gflops * 1e9)

# %% wrong: the CPU copies in as well — says "copy in is missing, or it is added to the CPU's time" — from "reference": "< flops" → "< bytes_in / (link_gbs * 1e9) + flops"

# %% wrong: the CPU copies out as well — says "copy out is missing, or it is added to the CPU's time" — from "reference": "< flops" → "< bytes_out / (link_gbs * 1e9) + flops"

# %% wrong: the CPU launches as well — says "missing, or it is added to the CPU's time" — from "reference": "< flops" → "< launch_us * 1e-6 + flops"

# %% wrong: the GPU has half of the work — says "or it is too short" — from "reference": "flops / (gpu_gflops * 1e9)" → "flops / 2 / (gpu_gflops * 1e9)"

# %% wrong: launches while it computes — says "run one after another"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    travel = (bytes_in + bytes_out) / (link_gbs * 1e9)
    return travel + max(launch_us * 1e-6, flops / (gpu_gflops * 1e9)) < flops / (cpu_gflops * 1e9)

# %% wrong: rounds both times to milliseconds — says "do not round"
def offload_pays(bytes_in, bytes_out, flops, link_gbs, cpu_gflops, gpu_gflops, launch_us):
    there = (bytes_in + bytes_out) / link_gbs / 1e9 + launch_us / 1e6 + flops / gpu_gflops / 1e9
    return round(there, 3) < round(flops / cpu_gflops / 1e9, 3)

# %% wrong: the rates of CPU and GPU swapped — says "rates of CPU and GPU are swapped" — from "reference": "(gpu_gflops * 1e9) <" → "(cpu_gflops * 1e9) <", "flops / (cpu_gflops * 1e9)" → "flops / (gpu_gflops * 1e9)"

# %% wrong: both copies count twice — says "there is no factor of 2" — from "reference": "travel = " → "travel = 2 * "

# %% wrong: the launch in seconds — says "launch_us is in microseconds: 10 µs" — from "reference": "launch_us * 1e-6" → "launch_us"

# %% wrong: bytes times the link's rate — says "units of bytes and of link_gbs" — from "reference": "(bytes_in + bytes_out) / (link_gbs * 1e9)" → "(bytes_in + bytes_out) * link_gbs / 1e9"

# %% wrong: divides the bytes out alone — says "units of bytes and of link_gbs" — from "reference": "(bytes_in + bytes_out)" → "bytes_in + bytes_out"

# %% wrong: rates over FLOPs — says "A time is FLOPs divided by a rate" — from "reference": "flops / (gpu_gflops * 1e9)" → "gpu_gflops * 1e9 / flops", "flops / (cpu_gflops * 1e9)" → "cpu_gflops * 1e9 / flops"

# %% wrong: at least twice as fast — says "no margin" — from "reference": "    return travel + launch_us * 1e-6 + flops / (gpu_gflops * 1e9) <" → "    return 2 * (travel + launch_us * 1e-6 + flops / (gpu_gflops * 1e9)) <"
