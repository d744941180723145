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

# %% right: from what the norm does to 0 and to 1
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    def norm(z):
        return gamma.astype(np.float64) * (z - mean) / (variance.astype(np.float64) + eps) ** 0.5 + beta

    slope = norm(1.0) - norm(0.0)
    return np.einsum("oihw,o->oihw", weight, slope).astype(np.float32), norm(bias).astype(np.float32)

# %% right: channel by channel, as a list
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    new_weight, new_bias = weight.copy(), bias.copy()
    for channel in range(len(weight)):
        factor = gamma[channel] / (variance[channel] + eps) ** 0.5
        new_weight[channel] *= factor
        new_bias[channel] = beta[channel] + factor * (bias[channel] - mean[channel])
    return [new_weight, new_bias]

# %% wrong: eps outside the root — says "eps is outside the root"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / (np.sqrt(variance) + eps)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% wrong: bias forgotten — says "bias is forgotten"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], beta - mean * factor

# %% wrong: bias added as it is — says "goes through the norm as well"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], bias + beta - mean * factor

# %% wrong: mean not scaled — says "mean has to be multiplied"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], bias * factor - mean + beta

# %% wrong: factor along the last axis — says "wrong axis"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor, (bias - mean) * factor + beta

# %% wrong: factor along the input channels — says "wrong axis"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[None, :, None, None], (bias - mean) * factor + beta

# %% wrong: divides by the variance — says "root"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / (variance + eps)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% wrong: eps left out — says "expected"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(variance)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% wrong: eps fixed at PyTorch's default — says "expected"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + 1e-5)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% wrong: gamma left out — says "gamma is forgotten"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = 1 / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta

# %% wrong: beta left out — says "beta is forgotten"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], (bias - mean) * factor

# %% wrong: mean added — says "mean is subtracted"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], (bias + mean) * factor + beta

# %% wrong: mean left out — says "mean is forgotten"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight * factor[:, None, None, None], bias * factor + beta

# %% wrong: weights as they were — says "weights have to be multiplied"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return weight, (bias - mean) * factor + beta

# %% wrong: the weight only — says "expected"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    return weight * (gamma / np.sqrt(variance + eps))[:, None, None, None]

# %% wrong: bias first — says "shape"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    return (bias - mean) * factor + beta, weight * factor[:, None, None, None]

# %% wrong: changes its argument — says "changed an argument"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
    weight *= factor[:, None, None, None]
    return weight, (bias - mean) * factor + beta

# %% wrong: no return — says "None"
import numpy as np


def fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps):
    factor = gamma / np.sqrt(variance + eps)
