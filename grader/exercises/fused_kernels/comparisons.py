"""What the chapter's fused kernels are timed against on a GPU; see `gpulab.measuring.speedup`.

The references are eager PyTorch as the chapter writes it, one kernel per step, so that a fused kernel is faster by the
bytes that it does not move.
"""

from __future__ import annotations

import math

import torch

from gpulab.measuring.speedup import Comparison

WORKLOADS = "gpulab.chapters.fused_kernels.workloads"
MOST_CALLS = 48
"""Of a round: an H200 takes a fraction of a millisecond for each."""


def calls(bytes_each: int) -> int:
    """So many calls that a round takes long enough on a fast GPU, and fits into a tenth of the memory of any.

    Args:
        bytes_each: input and output of one call.
    """
    return max(4, min(MOST_CALLS, torch.cuda.get_device_properties(0).total_memory // 10 // bytes_each))


def softmax_in_steps(x: torch.Tensor) -> torch.Tensor:
    """The softmax of each row in five kernels."""
    weights = torch.exp(x - x.amax(dim=1, keepdim=True))
    return weights / weights.sum(dim=1, keepdim=True)


def layer_norm_in_steps(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    """The layer norm of each row, one kernel per step."""
    wide = x.float()
    centered = wide - wide.mean(dim=1, keepdim=True)
    variance = (centered * centered).mean(dim=1, keepdim=True)
    return (centered / torch.sqrt(variance + eps) * weight + bias).to(x.dtype)


def matmul_relu_in_steps(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Product, bias and ReLU, one kernel each, with float32 results."""
    return torch.relu((a @ b).float() + bias)


def attention_in_steps(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal attention with the whole matrix of scores in memory."""
    length = q.shape[1]
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
    future = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(future, -torch.inf), dim=2) @ v


SOFTMAX = Comparison(f"{__name__}:SOFTMAX", f"{WORKLOADS}:ROWS", softmax_in_steps)
"""`triton_softmax` against five kernels."""

LAYER_NORM = Comparison(f"{__name__}:LAYER_NORM", f"{WORKLOADS}:NORMED", layer_norm_in_steps, void=40.0)
"""`triton_layer_norm` against one kernel per step, which together move 16 times the bytes of one kernel for all."""

MATMUL_RELU = Comparison(f"{__name__}:MATMUL_RELU", f"{WORKLOADS}:FACTORS", matmul_relu_in_steps)
"""`triton_matmul_relu` against cuBLAS and two element-wise kernels."""

ATTENTION = Comparison(f"{__name__}:ATTENTION", f"{WORKLOADS}:HEADS", attention_in_steps, void=100.0)
"""`flash_attention` against eager attention, which moves scores for milliseconds and multiplies without TF32: by the
datasheets, TF32 alone is 20 to 70 times as fast on half of the products."""
