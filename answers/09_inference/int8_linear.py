# %% right: reference
import numpy as np


def int8_linear(x, weight, x_scale, weight_scales):
    sums = x.astype(np.int32) @ weight.astype(np.int32).T
    return (sums * (x_scale * np.asarray(weight_scales))).astype(np.float32)

# %% right: einsum, scales one after the other — from "reference"
# -     sums = x.astype(np.int32) @ weight.astype(np.int32).T
# +     sums = np.einsum("nk,ok->no", x, weight, dtype=np.int32)
# -     return (sums * (x_scale * np.asarray(weight_scales))).astype(np.float32)
# +     return (sums.astype(np.float64) * x_scale * weight_scales).astype(np.float32)

# %% right: in torch, int32
import torch


def int8_linear(x, weight, x_scale, weight_scales):
    a, b = torch.from_numpy(x.copy()).int(), torch.from_numpy(weight.copy()).int()
    scales = torch.as_tensor(weight_scales, dtype=torch.float64) * x_scale
    return ((a @ b.T).double() * scales).float()

# %% right: row by row in Python's own integers — from "reference"
# -     sums = x.astype(np.int32) @ weight.astype(np.int32).T
# -     return (sums * (x_scale * np.asarray(weight_scales))).astype(np.float32)
# +     rows, channels = x.tolist(), weight.tolist()
# +     result = np.zeros((len(rows), len(channels)), np.float32)
# +     for i, row in enumerate(rows):
# +         for j, channel in enumerate(channels):
# +             result[i, j] = sum(a * b for a, b in zip(row, channel)) * x_scale * float(weight_scales[j])
# +     return result

# %% wrong: int8 accumulation — says "int8 accumulation"
import numpy as np


def int8_linear(x, weight, x_scale, weight_scales):
    return ((x @ weight.T) * (x_scale * weight_scales)).astype(np.float32)

# %% wrong: widened too late — says "int8 accumulation" — from "int8 accumulation"
# +     sums = (x @ weight.T).astype(np.int32)
# -     return ((x @ weight.T) * (x_scale * weight_scales)).astype(np.float32)
# +     return (sums * (x_scale * weight_scales)).astype(np.float32)

# %% wrong: products in int8, sums in int32 — says "int8 accumulation" — from "int8 accumulation"
# +     sums = np.stack([(x * channel).sum(axis=1, dtype=np.int32) for channel in weight], axis=1)
# -     return ((x @ weight.T) * (x_scale * weight_scales)).astype(np.float32)
# +     return (sums * (x_scale * weight_scales)).astype(np.float32)

# %% wrong: saturates in int8 — says "saturates in int8" — from "int8 accumulation"
# +     sums = np.clip(x.astype(np.int32) @ weight.astype(np.int32).T, -127, 127)
# -     return ((x @ weight.T) * (x_scale * weight_scales)).astype(np.float32)
# +     return (sums * (x_scale * weight_scales)).astype(np.float32)

# %% wrong: int16 accumulation — says "int16" — from "reference": "int32) @ weight.astype(np.int32" → "int16) @ weight.astype(np.int16"

# %% wrong: float32 accumulation — says "Was it summed in float32" — from "reference"
# -     sums = x.astype(np.int32) @ weight.astype(np.int32).T
# +     sums = x.astype(np.float32) @ weight.astype(np.float32).T

# %% wrong: scales first, then a float32 product — says "Was it summed in float32" — from "int8 accumulation"
# -     return ((x @ weight.T) * (x_scale * weight_scales)).astype(np.float32)
# +     wide = weight.astype(np.float32) * np.asarray(weight_scales, np.float32)[:, None]
# +     return ((x.astype(np.float32) * np.float32(x_scale)) @ wide.T).astype(np.float32)

# %% wrong: scale on the wrong axis — says "wrong axis" — from "reference": "weight_scales)))." → "weight_scales))[:, None])."

# %% wrong: one scale for all channels — says "one scale for all" — from "reference": "np.asarray(weight_scales)" → "weight_scales[0]"

# %% wrong: x_scale left out — says "x_scale is missing" — from "reference"
# -     return (sums * (x_scale * np.asarray(weight_scales))).astype(np.float32)
# +     return (sums * np.asarray(weight_scales)).astype(np.float32)

# %% wrong: weight_scales left out — says "weight_scales are missing" — from "reference"
# -     return (sums * (x_scale * np.asarray(weight_scales))).astype(np.float32)
# +     return (sums * x_scale).astype(np.float32)

# %% wrong: the sums themselves — says "Those are the sums" — from "int8 accumulation"
# -     return ((x @ weight.T) * (x_scale * weight_scales)).astype(np.float32)
# +     return (x.astype(np.int32) @ weight.astype(np.int32).T).astype(np.float32)

# %% wrong: weight not transposed — says "transposed" — from "reference"
# -     sums = x.astype(np.int32) @ weight.astype(np.int32).T
# +     w = weight.astype(np.int32)
# +     sums = x.astype(np.int32) @ (w if w.shape[0] == w.shape[1] == x.shape[1] else w.T)

# %% wrong: quantized once more — says "do not round" — from "reference": "return (" → "return np.rint("

# %% wrong: float64 — says "expected float32" — from "reference"
# -     return (sums * (x_scale * np.asarray(weight_scales))).astype(np.float32)
# +     return sums * (x_scale * np.asarray(weight_scales, np.float64))

# %% wrong: divides by the scales — says "do not divide" — from "reference": "sums * " → "sums / "

# %% wrong: no return — says "None" — from "reference"
# -     return (sums * (x_scale * np.asarray(weight_scales))).astype(np.float32)

# %% hostile: replaces NumPy's comparison and what check uses — earns 0
import numpy as np

from gpulab import check

check.close = lambda *_, **__: None
np.allclose = lambda *_, **__: True


def int8_linear(x, weight, x_scale, weight_scales):
    return np.zeros((len(x), len(weight)), np.float32)

# %% wrong: truncates the result — says "do not round" — from "reference": "return (" → "return np.trunc("

# %% wrong: saturates in int16 — says "saturates in int16" — from "saturates in int8": "-127, 127" → "-32768, 32767"

# %% wrong: sums in float16 — says "A float16 has only 11 bits" — from "reference"
# -     sums = x.astype(np.int32) @ weight.astype(np.int32).T
# +     sums = x.astype(np.float16) @ weight.astype(np.float16).T

# %% wrong: weight_scales twice — says "weight_scales are in it twice" — from "reference": "np.asarray(weight_scales)" → "np.asarray(weight_scales) ** 2"

# %% wrong: scaled in float16 — says "A float16 has only 11 bits" — from "reference": ".astype(np.float32)" → ".astype(np.float16).astype(np.float32)"

# %% wrong: the largest scale for all channels — says "one scale for all" — from "reference": "np.asarray(weight_scales)" → "np.max(weight_scales)"


# %% right: row by row, in Python's numbers
import numpy as np


def int8_linear(x, weight, x_scale, weight_scales):
    def one(row, weights, scale):
        return sum(int(a) * int(b) for a, b in zip(row, weights)) * x_scale * scale

    return np.array([[one(row, *pair) for pair in zip(weight, weight_scales)] for row in x], np.float32)


# %% wrong: rounded to int8 again — says "not rounded to int8 again" — from "reference": "(sums * (x_scale * np.asarray(weight_scales)))" → "np.clip(np.rint(sums * (x_scale * np.asarray(weight_scales))), -127, 127)"

# %% wrong: sums the other way around — says "the sums are transposed" — from "reference": "x.astype(np.int32) @ weight.astype(np.int32).T" → "weight.astype(np.int32) @ x.astype(np.int32).T"

# %% wrong: scales are added — says "multiplied, not added" — from "reference": "(x_scale * np.asarray(weight_scales))" → "(x_scale + np.asarray(weight_scales))"

# %% wrong: scales as whole numbers — says "A scale was cut" — from "reference": "np.asarray(weight_scales)" → "np.asarray(weight_scales, np.int32)"

# %% wrong: reshaped, not transposed — says "weight is reshaped" — from "reference": "weight.astype(np.int32).T" → "weight.astype(np.int32).reshape(weight.shape[::-1])"

# %% wrong: read as uint8 — says "uint8 has no sign" — from "reference": "x.astype(np.int32)" → "x.astype(np.uint8).astype(np.int32)"

# %% wrong: a ReLU — says "this layer has no ReLU" — from "reference": "(sums * (x_scale" → "(np.maximum(sums, 0) * (x_scale"

# %% wrong: the last product is left out — says "The last product of each sum" — from "reference": "x.astype(np.int32) @ weight.astype(np.int32).T" → "x[:, :-1].astype(np.int32) @ weight[:, :-1].astype(np.int32).T"

# %% wrong: the weights' scales are added — says "do not add these" — from "reference": "(sums * (x_scale * np.asarray(weight_scales)))" → "(sums * x_scale + np.asarray(weight_scales))"

# %% wrong: the geometric mean of the scales — says "The mean of the scales" — from "reference": "np.asarray(weight_scales)" → "np.exp(np.log(weight_scales).mean())"

# %% wrong: the scales in another order — says "channel i has weight_scales[i]" — from "reference": "np.asarray(weight_scales)" → "np.asarray(weight_scales)[::-1]"

# %% wrong: scaled and cut before the sum — says "applied before the sum, and cut"
import numpy as np


def int8_linear(x, weight, x_scale, weight_scales):
    a = (x * x_scale).astype(np.int32)
    b = (weight * np.asarray(weight_scales)[:, None]).astype(np.int32)
    return (a @ b.T).astype(np.float32)

# %% wrong: weight as it is — says "the product needs weight.T" — from "reference": "weight.astype(np.int32).T" → "weight.astype(np.int32)"

# %% wrong: both scales as whole numbers — says "Are the scales cut to whole numbers"
import numpy as np


def int8_linear(x, weight, x_scale, weight_scales):
    sums = x.astype(np.int32) @ weight.astype(np.int32).T
    return (sums * np.int32(x_scale) * weight_scales.astype(np.int32)).astype(np.float32)

# %% wrong: scales x before the sum, and cuts it — says "x was scaled before the sum, and cut" — from "both scales as whole numbers": "x.astype(np.int32)" → "(x * x_scale).astype(np.int32)", "sums * np.int32(x_scale) * weight_scales.astype(np.int32)" → "sums * weight_scales"

# %% wrong: scales of float32 before the sum — says "apply the scales after that"
import numpy as np


def int8_linear(x, weight, x_scale, weight_scales):
    return (x @ (weight * weight_scales[:, None]).T * x_scale).astype(np.float32)

# %% wrong: products without a sum — says "each output is a sum of k products"
import numpy as np


def int8_linear(x, weight, x_scale, weight_scales):
    return (x.astype(np.int32) * weight * x_scale * weight_scales[:, None]).astype(np.float32)

# %% wrong: magnitudes of the sums — says "do not take magnitudes" — from "reference": "return (sums" → "return (np.abs(sums)"

# %% wrong: the mean of the products — says "the mean of the products" — from "reference": "return (sums" → "return (sums / x.shape[1]"
