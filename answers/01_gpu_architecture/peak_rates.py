# %% right: reference
def peak_rates(gpu):
    flops_per_second = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] * 1e6
    bytes_per_second = gpu["memory_bus_bits"] / 8 * gpu["memory_gbps_per_pin"] * 1e9
    return {"fp32_tflops": flops_per_second / 1e12, "bandwidth_gbs": bytes_per_second / 1e9}

# %% right: in one line, NumPy scalars
import numpy as np


def peak_rates(gpu):
    counts = np.array([gpu["sm_count"], gpu["fp32_lanes_per_sm"], gpu["boost_mhz"], 2e-6])
    return dict(
        bandwidth_gbs=np.float32(gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8),
        fp32_tflops=counts.prod(),
    )

# %% right: rounded as a datasheet rounds
def peak_rates(gpu):
    tflops = 2 * gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * gpu["boost_mhz"] / 1_000_000
    return {"fp32_tflops": round(tflops, 1), "bandwidth_gbs": round(gpu["memory_bus_bits"] // 8 * gpu["memory_gbps_per_pin"])}

# %% wrong: no factor 2 for a multiply-add — says "two operations"
def peak_rates(gpu):
    tflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * gpu["boost_mhz"] * 1e6 / 1e12
    return {"fp32_tflops": tflops, "bandwidth_gbs": gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8}

# %% wrong: bits for bytes — says "divide by 8"
def peak_rates(gpu):
    tflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] * 1e6 / 1e12
    return {"fp32_tflops": tflops, "bandwidth_gbs": gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"]}

# %% wrong: MHz for Hz — says "boost_mhz is in MHz"
def peak_rates(gpu):
    tflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] / 1e12
    return {"fp32_tflops": tflops, "bandwidth_gbs": gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8}

# %% wrong: MHz taken for GHz — says "boost_mhz is in MHz" — from "MHz for Hz": `"] / 1e12` → `"] * 1e9 / 1e12`

# %% wrong: GFLOPS instead of TFLOPS — says "a tera is a million millions"
def peak_rates(gpu):
    gflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] * 1e6 / 1e9
    return {"fp32_tflops": gflops, "bandwidth_gbs": gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8}

# %% wrong: no factor 2 and bits for bytes — says "divide by 8" — from "bits for bytes": "2 * " → ""

# %% wrong: no factor 2 and MHz for Hz — says "two operations" — from "MHz for Hz": "2 * " → ""

# %% wrong: bytes per second — says "Return GB/s"
def peak_rates(gpu):
    tflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] * 1e6 / 1e12
    return {"fp32_tflops": tflops, "bandwidth_gbs": gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8 * 1e9}

# %% wrong: binary giga — says "not 2**30" — from "bits for bytes": `memory_gbps_per_pin"]}` → `memory_gbps_per_pin"] * 1e9 / 8 / 2**30}`

# %% wrong: looks it up, so a made-up GPU has none — says "compute both from its counts"
def peak_rates(gpu):
    return {"fp32_tflops": gpu["fp32_tflops"], "bandwidth_gbs": gpu["bandwidth_gbs"]}

# %% wrong: a tuple — says "expected a dict"
def peak_rates(gpu):
    tflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] / 1e6
    return tflops, gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8

# %% wrong: keys of its own — says "Missing keys"
def peak_rates(gpu):
    tflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] / 1e6
    return {"tflops": tflops, "gbs": gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8}

# %% wrong: prints instead of returning — says "is there a return statement"
def peak_rates(gpu):
    tflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] / 1e6
    print({"fp32_tflops": tflops, "bandwidth_gbs": gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8})

# %% wrong: text with units — says "a str"
def peak_rates(gpu):
    tflops = gpu["sm_count"] * gpu["fp32_lanes_per_sm"] * 2 * gpu["boost_mhz"] / 1e6
    return f"{tflops:.1f} TFLOPS, {gpu['memory_bus_bits'] * gpu['memory_gbps_per_pin'] / 8:.0f} GB/s"

# %% wrong: the toy's numbers, always — says "you returned"
def peak_rates(gpu):
    return {"fp32_tflops": 2.0, "bandwidth_gbs": 200.0}

# %% hostile: numbers that are close to everything — earns 0
class Near(float):
    def __sub__(self, other):
        return 0.0

    __rsub__ = __eq__ = __le__ = __ge__ = __lt__ = __gt__ = lambda self, other: True
    __hash__ = float.__hash__

    def __abs__(self):
        return 0.0


def peak_rates(gpu):
    return {"fp32_tflops": Near(1.0), "bandwidth_gbs": Near(1.0)}

# %% hostile: leaves the process — earns 0
def peak_rates(gpu):
    import os

    os._exit(0)

# %% wrong: bits times 8 — says "divide by 8" — from "reference": " / 8 * " → " * 8 * "

# %% hostile: floats whose methods lie
class Lies(float):
    __class__ = property(lambda self: int)

    def __float__(self):
        return 1e9

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __sub__(self, other):
        return 0.0

    def __le__(self, other):
        return True

    __rsub__ = __truediv__ = __abs__ = __sub__
    __lt__ = __ge__ = __gt__ = __le__


def peak_rates(*arguments):
    return {name: Lies(1.0) for name in ("float32", "bandwidth", "tensor")}

# %% wrong: no conversion of MHz at all — says "boost_mhz is in MHz" — from "MHz for Hz": " / 1e12" → ""

# %% wrong: FLOPS for TFLOPS — says "a tera is a million millions" — from "MHz for Hz": " / 1e12" → " * 1e6"

# %% wrong: no conversion of MHz, and no factor 2 — says "two operations" — from "MHz for Hz": `2 * gpu["boost_mhz"] / 1e12` → `gpu["boost_mhz"]`

# %% wrong: MB per second — says "Return GB/s" — from "bytes per second": "* 1e9}" → "* 1e3}"

# %% wrong: TB per second — says "Return GB/s" — from "bytes per second": "* 1e9}" → "/ 1e3}"

# %% wrong: bits per second — says "divide by 8" — from "bytes per second": "/ 8 * 1e9}" → "* 1e9}"

# %% wrong: FLOPS, and bytes per second — says "a tera is a million millions" — from "bytes per second": "1e6 / 1e12" → "1e6"

# %% wrong: binary tera — says "not 2**40" — from "reference": "1e12" → "2**40"

# %% wrong: a whole rate per pin — says "do not round it" — from "reference": `gpu["memory_gbps_per_pin"]` → `int(gpu["memory_gbps_per_pin"])`

# %% wrong: looks the bandwidth up where a row has it — says "Compute both" — from "MHz for Hz": `2 * gpu["boost_mhz"] / 1e12` → `2 * gpu["boost_mhz"] / 1e6`, `gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8` → `gpu.get("bandwidth_gbs", gpu["memory_bus_bits"] * gpu["memory_gbps_per_pin"] / 8)`

# %% wrong: looks both up where a row has them — says "the rates in this row are false" — from "reference"
# -     return {"fp32_tflops": flops_per_second / 1e12, "bandwidth_gbs": bytes_per_second / 1e9}
# +     rates = {"fp32_tflops": flops_per_second / 1e12, "bandwidth_gbs": bytes_per_second / 1e9}
# +     return {name: gpu.get(name, rate) for name, rate in rates.items()}

# %% wrong: the tensor cores' rate where a row has one — says "you returned" — from "reference": "flops_per_second / 1e12" → `gpu.get("tfloat32_tflops") or flops_per_second / 1e12`

# %% wrong: the lanes of an H200 — says "is not an H200" — from "reference": `gpu["fp32_lanes_per_sm"]` → "128"

# %% wrong: swaps the rates — says "swapped" — from "reference": `"fp32_tflops": flops_per_second / 1e12` → `"fp32_tflops": bytes_per_second / 1e9`, `"bandwidth_gbs": bytes_per_second / 1e9` → `"bandwidth_gbs": flops_per_second / 1e12`

# %% wrong: the clock in whole GHz — says "need not be whole GHz" — from "reference": `gpu["boost_mhz"] * 1e6` → `(gpu["boost_mhz"] // 1000) * 1e9`

# %% wrong: the clock of the SMs for the memory — says "the clock of the SMs" — from "reference": `gpu["memory_gbps_per_pin"] * 1e9` → `2 * gpu["boost_mhz"] * 1e6`

# %% wrong: one pin — says "that is the rate of one of them" — from "reference": `gpu["memory_bus_bits"] / 8` → "1 / 8"

# %% wrong: four schedulers for the lanes — says "not its 4 schedulers" — from "reference": `gpu["fp32_lanes_per_sm"]` → "4"

# %% wrong: two sets of lanes, each with multiply-adds — says "two operations per cycle, not four" — from "reference": "* 2 *" → "* 2 * 2 *"

# %% wrong: divides by 8 twice — says "divided by 8 twice" — from "reference": `gpu["memory_bus_bits"] / 8` → `gpu["memory_bus_bits"] / 64`

# %% wrong: the bus of the text — says "not every bus has 384 bits" — from "reference": `gpu["memory_bus_bits"]` → "384"

# %% wrong: the memory's rate for the clock of the lanes — says "those of boost_mhz" — from "reference": `gpu["boost_mhz"] * 1e6` → `gpu["memory_gbps_per_pin"] * 1e9`

# %% wrong: the clock of the lanes for the memory's rate — says "not boost_mhz" — from "reference": `gpu["memory_gbps_per_pin"] * 1e9` → `gpu["boost_mhz"] * 1e6`

# %% wrong: divides by the 4 bytes of a float — says "A byte is 8 bits" — from "reference": `"] / 8 *` → `"] / 4 *`

# %% right: whole GB/s, rounded down — from "reference": "bytes_per_second / 1e9" → "bytes_per_second // 1e9"

# %% wrong: a mega of 2**20 — says "A mega is 1e6" — from "reference": `gpu["boost_mhz"] * 1e6` → `gpu["boost_mhz"] * 2**20`

# %% wrong: from mega to tera by 1024 twice — says "not 1024 times 1024" — from "reference": `flops_per_second / 1e12` → `flops_per_second / 1e6 / 1024 / 1024`

# %% wrong: from megabytes to gigabytes by 1024 — says "not by 1024" — from "reference": "bytes_per_second / 1e9}" → "bytes_per_second / 1e6 / 1024}"

# %% wrong: GHz taken for Hz — says "a million cycles per second" — from "reference": `gpu["boost_mhz"] * 1e6` → `gpu["boost_mhz"] / 1e3`

# %% wrong: whole TFLOPS — says "has decimals: divide with /" — from "reference": "flops_per_second / 1e12" → "flops_per_second // 1e12"
