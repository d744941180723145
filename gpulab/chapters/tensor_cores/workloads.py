"""What the tensor-core chapter's layers are given when they are timed on a GPU; see `gpulab.measuring.speedup`."""

from __future__ import annotations

from typing import Any

import torch

from gpulab.measuring.devices import device
from gpulab.measuring.speedup import Workload


def _half() -> torch.dtype:
    """The 16-bit type that this device's matrix units like best."""
    if device().type == "cuda" and torch.cuda.get_device_capability() < (8, 0):
        return torch.float16
    return torch.bfloat16


def _layer(seed: int, tokens: int, features: int, outputs: int) -> tuple[Any, Any]:
    """Activations (tokens × features) and weight (outputs × features), random normal, 16 bits."""
    generator = torch.Generator(device=device()).manual_seed(seed)
    x = torch.randn(tokens, features, generator=generator, device=device(), dtype=_half())
    return x, torch.randn(outputs, features, generator=generator, device=device(), dtype=_half())


LAYER = Workload(inputs=_layer)
"""One linear layer; sizes `tokens`, `features`, `outputs`."""
