# %% right: reference
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% right: PyTorch's own
import torch
from torch.nn.utils.fusion import fuse_conv_bn_weights


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    parts = [torch.from_numpy(part.copy()) for part in (weight, bias, mean, variance, gamma, beta)]
    new_weight, new_bias = fuse_conv_bn_weights(*parts[:4], eps, *parts[4:])
    return new_weight.detach().numpy(), new_bias.detach().numpy()

# %% right: from what the norm does to 0 and to 1 — from "reference"
# -     factor = gamma / np.sqrt(variance + eps)
# -     return weight * factor[:, None, None, None], (bias - mean) * factor + beta
# +     def norm(z):
# +         return gamma.astype(np.float64) * (z - mean) / (variance.astype(np.float64) + eps) ** 0.5 + beta
# +
# +     slope = norm(1.0) - norm(0.0)
# +     return np.einsum("oihw,o->oihw", weight, slope).astype(np.float32), norm(bias).astype(np.float32)

# %% right: channel by channel, as a list — from "reference"
# -     factor = gamma / np.sqrt(variance + eps)
# -     return weight * factor[:, None, None, None], (bias - mean) * factor + beta
# +     new_weight, new_bias = weight.copy(), bias.copy()
# +     for channel in range(len(weight)):
# +         factor = gamma[channel] / (variance[channel] + eps) ** 0.5
# +         new_weight[channel] *= factor
# +         new_bias[channel] = beta[channel] + factor * (bias[channel] - mean[channel])
# +     return [new_weight, new_bias]

# %% wrong: eps outside the root — says "eps is outside the root" — from "reference": "np.sqrt(variance" → "(np.sqrt(variance)"

# %% wrong: bias forgotten — says "bias is forgotten" — from "reference": "(bias - mean) * factor + beta" → "beta - mean * factor"

# %% wrong: bias added as it is — says "goes through the norm as well" — from "reference"
# -     return weight * factor[:, None, None, None], (bias - mean) * factor + beta
# +     return weight * factor[:, None, None, None], bias + beta - mean * factor

# %% wrong: mean not scaled — says "mean has to be multiplied" — from "reference": "(bias - mean) * factor" → "bias * factor - mean"

# %% wrong: factor along the last axis — says "wrong axis" — from "reference": "[:, None, None, None]" → ""

# %% wrong: factor along the input channels — says "wrong axis" — from "reference": ":, None" → "None, :"

# %% wrong: divides by the variance — says "root" — from "reference": "np.sqrt" → ""

# %% wrong: eps left out — says "eps is forgotten" — from "reference"
# +     with np.errstate(all="ignore"):
# -     factor = gamma / np.sqrt(variance + eps)
# +         factor = gamma / np.sqrt(variance)

# %% wrong: eps fixed at PyTorch's default — says "eps is an argument" — from "reference": "+ eps)" → "+ 1e-5)"

# %% wrong: gamma left out — says "gamma is forgotten" — from "reference": " gamma " → " 1 "

# %% wrong: beta left out — says "beta is forgotten" — from "reference": " + beta" → ""

# %% wrong: mean added — says "mean is subtracted" — from "reference": "bias - " → "bias + "

# %% wrong: mean left out — says "mean is forgotten" — from "reference": "(bias - mean)" → "bias"

# %% wrong: weights as they were — says "weights have to be multiplied" — from "reference": " * factor[:, None, None, None]" → ""

# %% wrong: the weight only — says "expected a tuple" — from "reference"
# +     return weight * (gamma / np.sqrt(variance + eps))[:, None, None, None]
# -     factor = gamma / np.sqrt(variance + eps)
# -     return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% wrong: bias first — says "shape" — from "reference"
# -     return weight * factor[:, None, None, None], (bias - mean) * factor + beta
# +     return (bias - mean) * factor + beta, weight * factor[:, None, None, None]

# %% wrong: changes its argument — says "changed an argument" — from "reference"
# -     return weight * factor[:, None, None, None], (bias - mean) * factor + beta
# +     weight *= factor[:, None, None, None]
# +     return weight, (bias - mean) * factor + beta

# %% wrong: no return — says "None" — from "reference"
# -     return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% wrong: beta scaled as well — says "added last" — from "reference": "(bias - mean) * factor + beta" → "(bias - mean + beta) * factor"

# %% wrong: multiplies by the root — says "do not multiply by it" — from "reference": "gamma /" → "gamma *"

# %% wrong: bias as it was — says "through the norm like the weights" — from "reference": "(bias - mean) * factor + beta" → "bias"

# %% wrong: beta for the bias — says "own bias are forgotten" — from "reference": "(bias - mean) * factor + beta" → "beta"

# %% wrong: eps outside the root and bias forgotten — says "eps is outside the root, and" — from "reference": "np.sqrt(variance" → "(np.sqrt(variance)", "(bias - mean)" → "-mean"

# %% wrong: gamma left out of the bias — says "gamma is missing in it" — from "reference": "(bias - mean) * factor" → "(bias - mean) / np.sqrt(variance + eps)"

# %% wrong: mean minus bias — says "it is bias - mean" — from "reference": "bias - mean" → "mean - bias"

# %% wrong: mean subtracted from the weights — says "belongs in the bias only" — from "reference": "return weight *" → "return (weight - mean[:, None, None, None]) *"

# %% wrong: without a bias, the mean is forgotten — says "the mean is forgotten" — from "reference": "(bias - mean) * factor + beta" → "((bias - mean) * factor if bias.any() else bias) + beta"


# %% wrong: beta subtracted — says "beta is added, not subtracted" — from "reference": "* factor + beta" → "* factor - beta"

# %% wrong: gamma twice in the bias — says "gamma is in the bias twice" — from "reference": "(bias - mean) * factor" → "gamma * (bias - mean) * factor"

# %% wrong: beta in the weights — says "beta is added to the weights" — from "reference": "weight * factor[:, None, None, None]" → "weight * factor[:, None, None, None] + beta[:, None, None, None]"

# %% wrong: one factor for all — says "mean of the factors" — from "reference": "factor[:, None, None, None]" → "factor.mean()"

# %% wrong: rounded to 16 bits — says "A float16 has only 11 bits" — from "reference": "weight * factor[:, None, None, None]" → "(weight * factor[:, None, None, None]).astype(np.float16)"

# %% wrong: eps squared — says "not squared" — from "reference": "+ eps)" → "+ eps**2)"

# %% wrong: two roots — says "Take one root" — from "reference": "np.sqrt(variance + eps)" → "(np.sqrt(variance) + np.sqrt(eps))"

# %% wrong: eps as a lower limit — says "it is not a lower limit" — from "reference": "variance + eps" → "np.maximum(variance, eps)"

# %% wrong: eps subtracted — says "eps is added, not subtracted" — from "reference": "variance + eps" → "variance - eps"

# %% wrong: the sign of gamma is lost — says "The sign of gamma is lost" — from "reference": "gamma /" → "np.abs(gamma) /"

# %% wrong: the statistics of the weights — says "do not compute them from weight" — from "reference"
# -     factor = gamma / np.sqrt(variance + eps)
# +     mean, variance = weight.mean((1, 2, 3)), weight.var((1, 2, 3))
# +     factor = gamma / np.sqrt(variance + eps)

# %% wrong: mean and beta swapped — says "mean and beta are swapped" — from "reference": "(bias - mean) * factor + beta" → "(bias - beta) * factor + mean"

# %% wrong: bias minus mean as it is — says "bias - mean is not multiplied by the factor" — from "reference": "(bias - mean) * factor" → "bias - mean"

# %% wrong: the weights without gamma — says "gamma is missing in the weights"
def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    deviation = np.sqrt(variance + eps)
    new_bias = (bias - mean) * gamma / deviation + beta
    return weight / deviation[:, None, None, None], new_bias

# %% wrong: the variance squared — says "The weights of channel 0 are"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / (variance**2 + eps)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% wrong: the bias only gets beta — says "bias counts 1 times, mean 0 times, and beta 1 times" — from "the variance squared": "(variance**2 + eps)" → "np.sqrt(variance + eps)", "(bias - mean) * factor + beta" → "bias + beta"

# %% wrong: beta is divided by the root, too — says "and beta 0.5 times" — from "the variance squared": "(variance**2 + eps)" → "np.sqrt(variance + eps)", "factor + beta" → "factor + beta / np.sqrt(variance + eps)"

# %% wrong: the new bias takes the size of the factor — says "In the new bias of channel 1" — from "reference": "(bias - mean) * factor" → "(bias - mean) * abs(factor)"
