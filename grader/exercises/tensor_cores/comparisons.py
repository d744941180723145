"""What the tensor-core chapter's layers are timed against on a GPU; see `gpulab.measuring.speedup`."""

from __future__ import annotations

import torch

from gpulab.measuring.speedup import Comparison

PADDED = Comparison(
    name=f"{__name__}:PADDED",
    workload="gpulab.chapters.tensor_cores.workloads:LAYER",
    reference=torch.nn.functional.linear,
)
"""`padded_linear` against the product as it is; sizes `tokens`, `features`, `outputs`."""
