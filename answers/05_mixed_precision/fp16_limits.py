# %% right: reference, by halving
import numpy as np


def fp16_limits():
    half = np.float16
    epsilon = half(1)
    while half(1) + epsilon / half(2) > half(1):
        epsilon /= half(2)
    subnormal = half(1)
    while subnormal / half(2) > 0:
        subnormal /= half(2)
    normal = half(1)
    while (normal / half(2)) * (half(1) + epsilon) > normal / half(2):
        normal /= half(2)
    largest = half(1)
    with np.errstate(over="ignore"):
        while np.isfinite(largest * half(2)):
            largest *= half(2)
    return {
        "max": float(largest) * (2 - float(epsilon)),
        "smallest_normal": float(normal),
        "smallest_subnormal": float(subnormal),
        "epsilon": float(epsilon),
    }

# %% right: reads off all 65 536 bit patterns
import numpy as np


def fp16_limits():
    numbers = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers) & (numbers > 0)])
    above_one = numbers[numbers > 1][0]
    steps = np.diff(numbers) / numbers[:-1]
    powers = numbers[np.log2(numbers) % 1 == 0]
    normal = next(p for p in powers if np.isclose(steps[np.searchsorted(numbers, p)], above_one - 1))
    return {"max": numbers[-1], "smallest_normal": normal, "smallest_subnormal": numbers[0], "epsilon": above_one - 1}

# %% right: torch knows it, and warns of nothing
import torch


def fp16_limits():
    info = torch.finfo(torch.float16)
    smallest = info.tiny
    while torch.tensor(smallest / 2).half() > 0:
        smallest /= 2
    return {"max": info.max, "smallest_normal": info.tiny, "smallest_subnormal": smallest, "epsilon": info.eps}

# %% wrong: bfloat16's — says "bfloat16"
def fp16_limits():
    return {"max": 3.3895313892515355e38, "smallest_normal": 2.0**-126, "smallest_subnormal": 2.0**-133, "epsilon": 2.0**-7}

# %% wrong: bfloat16's epsilon only — says "bfloat16"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-14, "smallest_subnormal": 2.0**-24, "epsilon": 2.0**-7}

# %% wrong: 65536 for the largest — says "first power of two that overflows"
def fp16_limits():
    return {"max": 65536.0, "smallest_normal": 2.0**-14, "smallest_subnormal": 2.0**-24, "epsilon": 2.0**-10}

# %% wrong: the last finite power of two — says "mantissa bits" — from "65536 for the largest": "65536" → "32768"

# %% wrong: smallest normal and subnormal are one — says "smallest subnormal"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-24, "smallest_subnormal": 2.0**-24, "epsilon": 2.0**-10}

# %% wrong: halves once too often — says "rounded to 0"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-14, "smallest_subnormal": 2.0**-25, "epsilon": 2.0**-10}

# %% wrong: epsilon as the rounding error — says "rounding error" — from "bfloat16's epsilon only": "7" → "11"

# %% wrong: Python's own float — says "Python's own" — from "bfloat16's epsilon only": "7" → "52"

# %% wrong: prints — says "None"
def fp16_limits():
    print({"max": 65504.0})

# %% wrong: a tuple — says "return a dict" — from "prints": `print({"max": 65504.0})` → "return 65504.0, 2.0**-14, 2.0**-24, 2.0**-10"

# %% hostile: equal to everything
class Any:
    def __eq__(self, other):
        return True

    __hash__ = None


def fp16_limits():
    return {name: Any() for name in ("max", "smallest_normal", "smallest_subnormal", "epsilon")}

# %% wrong: the largest integer of 16 bits — says "largest integer of 16 bits" — from "65536 for the largest": "65536" → "65535"

# %% wrong: halves Python's own float down to its smallest number — says "Python's own"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-14, "smallest_subnormal": 5e-324, "epsilon": 2.0**-10}

# %% wrong: the smallest normal number of Python's own float — says "Python's own"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-1022, "smallest_subnormal": 2.0**-24, "epsilon": 2.0**-10}

# %% wrong: the smallest normal number of float32 and bfloat16 — says "float32's and bfloat16's"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-126, "smallest_subnormal": 2.0**-24, "epsilon": 2.0**-10}

# %% wrong: epsilon as it is printed — says "all digits"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-14, "smallest_subnormal": 2.0**-24, "epsilon": 0.000977}

# %% wrong: the smallest normal number as it is printed — says "all digits"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 6.1e-05, "smallest_subnormal": 2.0**-24, "epsilon": 2.0**-10}

# %% wrong: the smallest number as it is printed — says "all digits"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-14, "smallest_subnormal": 6e-08, "epsilon": 2.0**-10}

# %% wrong: an exponent for the smallest normal number — says "exponent"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": -14, "smallest_subnormal": 2.0**-24, "epsilon": 2.0**-10}

# %% wrong: an exponent for epsilon — says "exponent"
def fp16_limits():
    return {"max": 65504.0, "smallest_normal": 2.0**-14, "smallest_subnormal": 2.0**-24, "epsilon": -10}

# %% wrong: the most negative number for the smallest normal one — says "the most negative number"
import numpy as np


def fp16_limits():
    info = np.finfo(np.float16)
    small, least = float(info.min), float(info.smallest_subnormal)
    return {"max": float(info.max), "smallest_normal": small, "smallest_subnormal": least, "epsilon": float(info.eps)}

# %% wrong: adds 1 until nothing changes — says "neighbors are 2 apart" — from "the most negative number for the smallest normal one": "float(info.max)" → "2048.0"

# %% wrong: the number after 1 — says "return its distance from 1" — from "the most negative number for the smallest normal one": "float(info.min)" → "float(info.tiny)", "float(info.eps)" → "1 + float(info.eps)"

# %% wrong: the distance from 0 — says "start from 1" — from "the most negative number for the smallest normal one": "float(info.min)" → "float(info.tiny)", "float(info.eps)" → "least"

# %% wrong: one mantissa bit too many — says "half-way to 65536" — from "the most negative number for the smallest normal one": "float(info.max)" → "65520.0"

# %% wrong: a bias of 16 — says "the largest exponent is 15" — from "the most negative number for the smallest normal one": "float(info.max)" → "131008.0"

# %% wrong: without the leading 1 — says "The leading 1 counts" — from "the most negative number for the smallest normal one": "float(info.max)" → "32736.0"

# %% wrong: the largest int16 — says "the largest int16" — from "the most negative number for the smallest normal one": "float(info.max)" → "2**15 - 1"

# %% wrong: 70,000, from the table above — says "becomes infinite" — from "reference, by halving": "float(largest) * (2 - float(epsilon))" → "70000.0"

# %% wrong: two exponents too low — says "lowest exponent" — from "reference, by halving": "float(normal)" → "2.0**-16"

# %% wrong: one over the largest number — says "below all normal numbers" — from "reference, by halving": "float(normal)" → "1 / 65504"

# %% wrong: the largest subnormal number — says "the largest subnormal" — from "reference, by halving": "float(subnormal)" → "2.0**-14 - 2.0**-24"

# %% wrong: epsilon in percent — says "in percent" — from "reference, by halving": "float(epsilon)," → "100 * float(epsilon),"

# %% wrong: epsilon for the smallest normal number — says "near 1" — from "reference, by halving": `"smallest_normal": float(normal)` → `"smallest_normal": float(epsilon)`

# %% wrong: epsilon for the smallest number — says "start from 0" — from "reference, by halving": "float(subnormal)" → "float(epsilon)"

# %% wrong: the smallest normal number for epsilon — says "start from 1" — from "reference, by halving": `"epsilon": float(epsilon)` → `"epsilon": float(normal)`

# %% wrong: epsilon halved once too often, and the largest number made of it — says "half of epsilon"
import numpy as np


def fp16_limits():
    half = np.float16
    epsilon = half(1)
    while half(1) + epsilon > half(1):
        epsilon /= half(2)
    return {
        "max": float(half(32768) * (half(2) - epsilon)),
        "smallest_normal": 2.0**-14,
        "smallest_subnormal": 2.0**-24,
        "epsilon": float(epsilon),
    }

# %% wrong: an exponent without its minus sign — says "is a minus sign missing" — from "reference, by halving": "float(subnormal)" → "2.0**24"

# %% wrong: epsilon squared — says "epsilon squared" — from "reference, by halving": "float(subnormal)" → "float(epsilon) ** 2"

# %% wrong: the distance at 1024 — says "more than 1" — from "reference, by halving": "float(epsilon)," → "float(np.spacing(half(1024))),"
