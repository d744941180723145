# %% right: reference
import torch


def padded_linear(x, weight, multiple=64):
    outputs = weight.shape[0]
    padded = torch.nn.functional.pad(weight, (0, 0, 0, -outputs % multiple))
    return (x @ padded.T)[..., :outputs]

# %% right: torch.cat and linear
import torch


def padded_linear(x, weight, multiple=64):
    missing = (multiple - weight.shape[0] % multiple) % multiple
    whole = torch.cat([weight, weight.new_zeros(missing, weight.shape[1])])
    return torch.nn.functional.linear(x, whole).narrow(-1, 0, weight.shape[0])

# %% right: copied into an empty table
import math

import torch


def padded_linear(x, weight, multiple=64):
    outputs, inputs = weight.shape
    whole = torch.empty(math.ceil(outputs / multiple) * multiple, inputs, dtype=weight.dtype, device=weight.device)
    whole[:outputs] = weight
    whole[outputs:] = 0
    return torch.matmul(x, whole.t())[..., :outputs]

# %% right: leading dimensions folded into one, and unfolded — from "reference"
# -     return (x @ padded.T)[..., :outputs]
# +     flat = x.reshape(-1, x.shape[-1])
# +     return (flat @ padded.T)[:, :outputs].reshape(*x.shape[:-1], outputs)

# %% wrong: padding left in the result — says "padding is left"
import torch


def padded_linear(x, weight, multiple=64):
    return x @ torch.nn.functional.pad(weight, (0, 0, 0, -weight.shape[0] % multiple)).T

# %% wrong: pads with what was there before, and leaves it — says "padding is left" — from "padding left in the result"
# -     return x @ torch.nn.functional.pad(weight, (0, 0, 0, -weight.shape[0] % multiple)).T
# +     missing = -weight.shape[0] % multiple
# +     return x @ torch.cat([weight, weight[:1].expand(missing, -1)]).T

# %% wrong: pads in front — says "in front" — from "padding left in the result"
# -     return x @ torch.nn.functional.pad(weight, (0, 0, 0, -weight.shape[0] % multiple)).T
# +     padded = torch.nn.functional.pad(weight, (0, 0, -weight.shape[0] % multiple, 0))
# +     return (x @ padded.T)[..., : weight.shape[0]]

# %% wrong: rounds down, and drops outputs — says "shape" — from "padding left in the result"
# -     return x @ torch.nn.functional.pad(weight, (0, 0, 0, -weight.shape[0] % multiple)).T
# +     return x @ weight[: max(1, weight.shape[0] // multiple * multiple)].T

# %% wrong: pads the inputs — says "pad rows" — from "padding left in the result"
# -     return x @ torch.nn.functional.pad(weight, (0, 0, 0, -weight.shape[0] % multiple)).T
# +     padded = torch.nn.functional.pad(weight, (0, -weight.shape[1] % multiple))
# +     return x @ padded.T

# %% wrong: flattens the leading dimensions — says "leading" — from "reference"
# -     return (x @ padded.T)[..., :outputs]
# +     return (x.reshape(-1, x.shape[-1]) @ padded.T)[:, :outputs]

# %% wrong: not transposed — says "pad rows, then transpose"
import torch


def padded_linear(x, weight, multiple=64):
    return x @ weight

# %% wrong: two dimensions only — says "too many indices" — from "reference"
# -     return (x @ padded.T)[..., :outputs]
# +     result = x @ padded.T
# +     return result[:, :outputs]

# %% wrong: half precision on the way — says "as accurate as a 16-bit type" — from "reference"
# -     return (x @ padded.T)[..., :outputs]
# +     return (x.bfloat16() @ padded.bfloat16().T)[..., :outputs].to(x.dtype)

# %% wrong: no return — says "None" — from "not transposed": "return x @ weight" → "torch.nn.functional.linear(x, weight)"

# %% wrong: nothing padded — says "needs 3 more before the product" — from "not transposed": "x @ weight" → "(x @ weight.T).clone()"

# %% hostile: patches torch's comparison — earns 0
import torch

torch.allclose = lambda *given, **named: True
torch.equal = lambda *given, **named: True
torch.testing.assert_close = lambda *given, **named: None


def padded_linear(x, weight, multiple=64):
    return torch.zeros(*x.shape[:-1], weight.shape[0], dtype=x.dtype)

# %% hostile gpu: gives back what it computed the first time
import torch

kept = {}


def padded_linear(x, weight, multiple=64):
    where = (x.shape, weight.shape, x.device)
    if where not in kept:
        kept[where] = torch.nn.functional.linear(x, weight)
    return kept[where]

# %% hostile gpu: computes one row in a hundred — from "not transposed"
# -     return x @ weight
# +     if len(x) < 1000:
# +         return torch.nn.functional.linear(x, weight)
# +     out = torch.zeros(len(x), len(weight), dtype=x.dtype, device=x.device)
# +     out[::100] = torch.nn.functional.linear(x[::100], weight)
# +     return out

# %% hostile gpu: leaves out one call of a round's eight
import itertools

import torch

calls, kept = itertools.count(), []


def padded_linear(x, weight, multiple=64):
    if len(x) < 1000 or next(calls) % 8 != 4:
        kept[:] = [torch.nn.functional.linear(x, weight)]
    return kept[0]

# %% wrong: float32 zeros below every weight — says "same dtype" — from "torch.cat and linear": "weight.new_zeros(missing, weight.shape[1])" → "torch.zeros(missing, weight.shape[1])"

# %% wrong: everything in float32 — says "the type of x and weight" — from "reference": "(x @ padded.T)" → "(x.float() @ padded.float().T)"

# %% wrong: no rows give nothing — says "expected" — from "reference"
#       outputs = weight.shape[0]
# +     if not x.numel():
# +         return x

# %% wrong: cut off from the end, even if nothing is padded — says "Nothing is padded here" — from "reference": "[..., :outputs]" → "[..., : -(-outputs % multiple)]"

# %% wrong: cut in the first dimension — says "in the last dimension" — from "reference": "[..., :outputs]" → "[:outputs]"

# %% wrong: cut in the second dimension — says "x may have any leading dimensions, or none" — from "reference": "[..., :outputs]" → "[:, :outputs]"

# %% wrong: no negative outputs — says "there is no ReLU here" — from "reference": "[..., :outputs]" → "[..., :outputs].clamp(min=0)"

# %% wrong: a bias of ones — says "add no bias" — from "reference": "[..., :outputs]" → "[..., :outputs] + 1"

# %% wrong: a whole multiple more where there is one already — says "needs no padding" — from "reference": "-outputs % multiple" → "multiple - outputs % multiple"

# %% wrong: rows of zeros after the product — says "needs 3 more before the product" — from "reference"
# -     padded = torch.nn.functional.pad(weight, (0, 0, 0, -outputs % multiple))
# -     return (x @ padded.T)[..., :outputs]
# +     return torch.nn.functional.pad(x @ weight.T, (0, -outputs % multiple))[..., :outputs]

# %% wrong: no product, but sums — says "no matrix product" — from "reference": "(x @ padded.T)" → "(x[..., None, :] * padded).sum(dim=-1)"

# %% wrong: padded to 64, whatever is asked for — says "64 outputs, expected 8. weight has 5 rows, and needs 3 more" — from "reference": "-outputs % multiple" → "-outputs % 64"

# %% right: an einsum — from "reference": "(x @ padded.T)" → `torch.einsum("...i,oi->...o", x, padded)`
