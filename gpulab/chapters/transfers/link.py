"""Measures the way between the two memories: GB/s over the size of a transfer, by kind of memory and of call.

Drawing is `transfers.pictures`; the largest rate of all is `gpulab.machine`'s business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.once import once
from gpulab.measuring.timing import measure, one_thread

SIZES = {
    "cuda": tuple(1 << power for power in range(12, 29, 2)),
    "cpu": tuple(1 << power for power in range(12, 27, 2)),
}
RUNS = 7


@dataclass(frozen=True)
class Sweep:
    """Rates by the way that was taken."""

    gbs: dict[str, dict[float, float]]
    """Way → bytes → GB/s, each byte counted once."""
    device: str


@once
def sweep() -> Sweep:
    """Host to device by every way there is, at `SIZES` bytes; without a GPU, copies within the CPU's memory."""
    import torch

    def ways(nbytes: int) -> dict[str, Callable[[], Any]]:
        # Random bytes: some links and memories compress what repeats.
        pageable = torch.randint(256, (nbytes,), dtype=torch.uint8)
        if not has_gpu():
            target = torch.empty_like(pageable)
            return {"within this memory": lambda: target.copy_(pageable)}
        pinned, there = pageable.pin_memory(), torch.empty(nbytes, dtype=torch.uint8, device="cuda")
        return {
            "pinned": lambda: there.copy_(pinned),
            "pinned, non_blocking": lambda: there.copy_(pinned, non_blocking=True),
            "pageable": lambda: there.copy_(pageable),
            "pageable, non_blocking": lambda: there.copy_(pageable, non_blocking=True),
            "pinned first, then copied": lambda: there.copy_(pageable.pin_memory(), non_blocking=True),
        }

    gbs: dict[str, dict[float, float]] = {}
    for nbytes in SIZES["cuda" if has_gpu() else "cpu"]:
        for name, move in ways(nbytes).items():
            with one_thread():
                gbs.setdefault(name, {})[nbytes] = nbytes / (measure(move, runs=RUNS).median_ms * 1e6)
    return Sweep(gbs, device_name())
