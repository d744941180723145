"""Measures the way between the two memories: GB/s over the size of a transfer, by kind of memory and of call.

Drawing is `transfers_pictures`; the largest rate of all is `gpulab.machine`'s business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.device import device_name, has_gpu, synchronize
from gpulab.timing import one_thread

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


def sweep(sizes: Sequence[int] | None = None) -> Sweep:
    """Host to device by every way there is; without a GPU, copies within the CPU's memory.

    Args:
        sizes: of the transfers, bytes.
    """
    sizes = sizes or SIZES["cuda" if has_gpu() else "cpu"]
    gbs: dict[str, dict[float, float]] = {}
    for nbytes in sizes:
        for name, move in _ways(nbytes).items():
            with one_thread():
                gbs.setdefault(name, {})[nbytes] = nbytes / _median_seconds(move, nbytes) / 1e9
    return Sweep(gbs, device_name())


def _ways(nbytes: int) -> dict[str, Callable[[], Any]]:
    import torch

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


def _median_seconds(move: Callable[[], Any], nbytes: int) -> float:
    """Of one transfer, from the call until the data are there; small ones several at a time."""
    import statistics

    loops = max(1, min(100, (1 << 22) // nbytes))
    move()
    seconds = []
    for _ in range(RUNS):
        synchronize()
        started = time.perf_counter()
        for _ in range(loops):
            move()
        synchronize()
        seconds.append((time.perf_counter() - started) / loops)
    return statistics.median(seconds)
