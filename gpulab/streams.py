"""Streams and events by torch.cuda's names: its own on a GPU, simulated ones elsewhere; and work to put into them.

What is written with these runs on both. The simulation itself is `streams_simulated`; drawing is a chapter's business.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import torch

from gpulab import streams_simulated as simulated
from gpulab.device import has_gpu
from gpulab.streams_ledger import Race
from gpulab.streams_simulated import SIMULATION

__all__ = ["PASSES", "Event", "Race", "Stream", "current_stream", "stream", "synchronize", "watched", "work"]

PASSES = 10
"""How often a round of `work` reads or writes an element of 4 bytes: r+w, 2r+w, r+w, 2r+w."""

Stream: Any = torch.cuda.Stream if has_gpu() else simulated.Stream
Event: Any = torch.cuda.Event if has_gpu() else simulated.Event
stream: Any = torch.cuda.stream if has_gpu() else simulated.stream
current_stream: Any = torch.cuda.current_stream if has_gpu() else simulated.current_stream
synchronize: Any = torch.cuda.synchronize if has_gpu() else simulated.synchronize


class Watcher(Protocol):
    """Wants to know when work begins and ends."""

    def kernel(self, label: str, batch: torch.Tensor, moved: float, run: Callable[[], Any]) -> Any:
        """Runs it, and returns what it returns; `moved` is in bytes of the device's memory."""


_watcher: Watcher | None = None


@contextlib.contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Has `work` tell the watcher, inside the block."""
    global _watcher
    before, _watcher = _watcher, watcher
    try:
        yield
    finally:
        _watcher = before


def work(batch: Any, rounds: int) -> Any:
    """Stirs every element of a batch `rounds` times: a stand-in for a training step, to the last bit the same anywhere.

    Args:
        batch: tensor or array of any shape, on any device; taken as float32, left as it is.
        rounds: ≥ 0; the time it takes is in proportion.

    Returns:
        float32 in [0, 1), of the same shape and kind, on the same device. A function of each element's bits alone.

    Raises:
        TypeError: the batch is neither tensor nor array, or the rounds are no int.
        ValueError: the rounds are negative.
    """
    if not isinstance(batch, (np.ndarray, torch.Tensor)):
        raise TypeError(f"work: the batch is a {type(batch).__name__}. It must be a tensor or an array.")
    if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)):
        raise TypeError(f"work: rounds = {rounds!r:.60}. It must be an int.")
    if rounds < 0:
        raise ValueError(f"work: rounds = {rounds}. It must not be negative.")
    if isinstance(batch, np.ndarray):
        return work(torch.from_numpy(batch), rounds).numpy()
    watcher = SIMULATION if SIMULATION.active else _watcher
    if watcher is None:
        return _stirred(batch, rounds)
    return watcher.kernel("work", batch, PASSES * 4.0 * batch.numel() * rounds, lambda: _stirred(batch, rounds))


def _stirred(batch: torch.Tensor, rounds: int) -> torch.Tensor:
    # Whole numbers wrap round alike on every processor; floating point would differ in its last digits.
    given = batch.detach().to(torch.float32).contiguous().view(torch.int32)
    bits = given.clone()
    for _ in range(rounds):
        # The batch is read in every round: who writes to it in the middle changes the result.
        bits.mul_(1664525).add_(given)
        bits ^= bits >> 15
    return (bits & 0xFFFFFF).to(torch.float32).div_(1 << 24)
