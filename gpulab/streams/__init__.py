"""Without a GPU, importing this simulates torch.cuda's streams and events under their own names; and work for them.

So programs write `torch.cuda.Stream`, `torch.cuda.Event`, `x.record_stream(…)`, and run on both. The simulation itself
is `streams.simulation`; drawing is a chapter's business.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np
import torch

from gpulab.backend import current
from gpulab.check.services import require
from gpulab.measuring.devices import has_gpu
from gpulab.streams import simulated
from gpulab.streams.race_detector import Race
from gpulab.streams.simulated import SIMULATION

__all__ = ["PASSES", "Race", "timeline", "watched", "work"]

PASSES = 10
"""How often a round of `work` reads or writes an element of 4 bytes: r+w, 2r+w, r+w, 2r+w."""


_NAMES = (
    "Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream", "synchronize",
)  # fmt: skip
_OF_TORCH = {name: getattr(torch.cuda, name) for name in _NAMES}
_RECORD_STREAM = torch.Tensor.record_stream


def _decide() -> None:
    """Puts torch.cuda's own streams and events back, or the simulation in their place where there is no GPU.

    On first use, not at import: the question initializes CUDA, and a process that forks others must not ask it.
    """
    simulates = not has_gpu()
    for name in _NAMES:
        setattr(torch.cuda, name, getattr(simulated, name) if simulates else _OF_TORCH[name])
    record = simulated.record_stream if simulates else _RECORD_STREAM
    torch.Tensor.record_stream = record  # type: ignore[method-assign,assignment]


def _deferred(name: str) -> Any:
    """What stands under a name of torch.cuda until the first use of any."""

    def use(*arguments: Any, **named: Any) -> Any:
        _decide()
        return getattr(torch.cuda, name)(*arguments, **named)

    if not isinstance(_OF_TORCH[name], type):
        return use
    return type(name, (), {"__new__": lambda cls, *arguments, **named: use(*arguments, **named)})


def _record_stream(tensor: torch.Tensor, stream: Any) -> None:
    _decide()
    tensor.record_stream(stream)


for _name in _NAMES:
    setattr(torch.cuda, _name, _deferred(_name))
torch.Tensor.record_stream = _record_stream  # type: ignore[method-assign,assignment]


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


@contextlib.contextmanager
def timeline() -> Iterator[list[dict[str, Any]]]:
    """What the simulated engines do in the block: one dict for each operation, complete at the block's end.

    Its keys are those of `simulation.Operation`. Empty where streams are the GPU's own.
    """
    require("timeline")
    found: list[dict[str, Any]] = []
    recorder = current().timeline
    if recorder is not None:
        with recorder() as everything:
            yield found
        found.extend(one for one in everything if "start_ms" in one)
        return
    if has_gpu():
        yield found
        return
    simulated.synchronize()
    before, SIMULATION.log = SIMULATION.log, []
    try:
        with simulated.stream(simulated.current_stream()):
            yield found
        found.extend(map(asdict, SIMULATION.log))
    finally:
        SIMULATION.log = before


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
    result = watcher.kernel("work", batch, PASSES * 4.0 * batch.numel() * rounds, lambda: _stirred(batch, rounds))
    if watcher is SIMULATION and SIMULATION.tape is not None:
        SIMULATION.tape.worked(batch, int(rounds), result)
    return result


def _stirred(batch: torch.Tensor, rounds: int) -> torch.Tensor:
    # Whole numbers wrap round alike on every processor; floating point would differ in its last digits.
    given = batch.detach().to(torch.float32).contiguous().view(torch.int32)
    bits = given.clone()
    for _ in range(rounds):
        # The batch is read in every round: who writes to it in the middle changes the result.
        bits.mul_(1664525).add_(given)
        bits ^= bits >> 15
    return (bits & 0xFFFFFF).to(torch.float32).div_(1 << 24)
