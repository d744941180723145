# %% right: reference
import math


def warps_to_hide(latency_ns, bandwidth_gbs, bytes_per_request, sm_count):
    return math.ceil(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count))

# %% right: in seconds and bytes — from "reference"
# -     return math.ceil(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count))
# +     in_flight = latency_ns * 1e-9 * bandwidth_gbs * 1e9
# +     requests = in_flight / bytes_per_request
# +     return math.ceil(requests / sm_count)

# %% right: counts up
def warps_to_hide(latency_ns, bandwidth_gbs, bytes_per_request, sm_count):
    warps = 0
    while warps * bytes_per_request * sm_count < latency_ns * bandwidth_gbs:
        warps += 1
    return warps

# %% right: negative floor division, exact
from fractions import Fraction


def warps_to_hide(latency_ns, bandwidth_gbs, bytes_per_request, sm_count):
    return -int(-(Fraction(latency_ns) * Fraction(bandwidth_gbs)) // (bytes_per_request * sm_count))

# %% wrong: not divided by SMs — says "SMs share" — from "reference": "(bytes_per_request * sm_count)" → "bytes_per_request"

# %% wrong: floor for ceiling — says "round up"
def warps_to_hide(latency_ns, bandwidth_gbs, bytes_per_request, sm_count):
    return int(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count))

# %% wrong: floor division of whole numbers only — says "round up" — from "floor for ceiling": "bandwidth_gbs / (" → "bandwidth_gbs // ("

# %% wrong: to the nearest — says "round up" — from "floor for ceiling": "int" → "round"

# %% wrong: floor plus one — says "stays as it is" — from "floor for ceiling": "sm_count))" → "sm_count)) + 1"

# %% wrong: bytes taken for requests — says "bytes_per_request" — from "reference": "(bytes_per_request * sm_count)" → "sm_count"

# %% wrong: divides by the 32 lanes as well — says "one request" — from "reference": " sm_count))" → " sm_count * 32))"

# %% wrong: each lane its own request — says "one request" — from "reference": "bytes_per_request *" → "bytes_per_request / 32 *"

# %% wrong: not rounded at all — says "Only whole warps"
def warps_to_hide(latency_ns, bandwidth_gbs, bytes_per_request, sm_count):
    return latency_ns * bandwidth_gbs / (bytes_per_request * sm_count)

# %% wrong: never more than fit — says "even if fewer fit" — from "reference"
# -     return math.ceil(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count))
# +     return min(64, math.ceil(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count)))

# %% wrong: returns None — says "None"
def warps_to_hide(latency_ns, bandwidth_gbs, bytes_per_request, sm_count):
    warps = -(-latency_ns * bandwidth_gbs // (bytes_per_request * sm_count))

# %% hostile: patches the module that checks — earns 0
import gpulab.check


def _pass(*args, **kwargs):
    return None


gpulab.check.equal = gpulab.check.close = gpulab.check.within = _pass


def warps_to_hide(latency_ns, bandwidth_gbs, bytes_per_request, sm_count):
    return 1

# %% wrong: GB in bytes, ns as they are — says "ns × GB/s" — from "reference": "ceil(" → "ceil(1e9 * "

# %% wrong: microseconds for nanoseconds — says "ns × GB/s" — from "reference": "ceil(" → "ceil(1000 * "

# %% wrong: GiB for GB — says "not 2**30" — from "reference": "ceil(" → "ceil(2**30 * 1e-9 * "

# %% wrong: one warp to spare — says "add nothing" — from "reference": "sm_count))" → "sm_count)) + 1"

# %% wrong: almost a warp added — says "round up" — from "floor for ceiling": "sm_count))" → "sm_count) + 0.999)"

# %% wrong: a thousandth of a warp forgiven — says "round up" — from "reference": "sm_count))" → "sm_count) - 0.001)"

# %% wrong: whole GB per second — says "Round only once" — from "reference": "* bandwidth_gbs" → "* int(bandwidth_gbs)"

# %% wrong: whole nanoseconds — says "Round only once" — from "reference": "ceil(latency_ns" → "ceil(round(latency_ns)"

# %% right: forgives the noise of floats — from "reference": "sm_count))" → "sm_count) - 1e-9)"

# %% wrong: 128 bytes whatever is asked — says "not 128 here" — from "reference": "bytes_per_request *" → "128 *"

# %% wrong: whole bytes in flight — says "Round only once" — from "reference": "ceil(latency_ns * bandwidth_gbs" → "ceil(int(latency_ns * bandwidth_gbs)"

# %% wrong: a multiple of the four schedulers — says "a multiple of 4" — from "reference": "math.ceil(" → "4 * math.ceil(0.25 * "

# %% wrong: a read and a write — says "no factor of 2" — from "reference": "math.ceil(" → "math.ceil(2 * "

# %% wrong: adds a half and rounds, to even — says "a whole number stays" — from "reference": "math.ceil(" → "round(0.5 + "

# %% wrong: for one of four schedulers — says "not those of one of its 4" — from "reference": "sm_count))" → "sm_count * 4))"

# %% wrong: rounds the bandwidth of an SM up — says "Round only once" — from "reference": "latency_ns * bandwidth_gbs / (bytes_per_request * sm_count)" → "latency_ns * math.ceil(bandwidth_gbs / sm_count) / bytes_per_request"

# %% wrong: all SMs together — says "rounded up for each of its SMs" — from "reference": "return math.ceil" → "return sm_count * math.ceil"

# %% wrong: a power of two — says "need not be a power of two" — from "reference": "return math.ceil(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count))" → "return 1 << (math.ceil(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count)) - 1).bit_length()"

# %% wrong: multiplied by the bytes of a request — says "More bytes per request need fewer warps" — from "reference": "/ (bytes_per_request * sm_count)" → "* bytes_per_request / sm_count"

# %% wrong: the SMs of an H200 — says "Take sm_count, which is 40 here" — from "reference": "* sm_count))" → "* 132))"

# %% wrong: requests in whole sectors — says "do not round it up to sectors" — from "reference": "(bytes_per_request * sm_count)" → "(-(-bytes_per_request // 32) * 32 * sm_count)"

# %% wrong: at least one warp for each scheduler — says "Fewer than 4 warps are enough" — from "reference": "return math.ceil(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count))" → "return max(4, math.ceil(latency_ns * bandwidth_gbs / (bytes_per_request * sm_count)))"
