"""Inference: files of one network against each other: how long a picture takes, and how many there are in a second.

On the CPU, where everybody can try it; a GPU's runtimes are in `inference.engine_gpu`. Drawing is for `_pictures`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gpulab.chapters.inference.engine import opened
from gpulab.measuring.devices import device_name
from gpulab.measuring.timing import one_thread

EAGER = "PyTorch, eager"
LATENCY, THROUGHPUT = 1, 256
"""Pictures in a batch."""
ROUNDS = 15


@dataclass(frozen=True)
class Speeds:
    """Medians over rounds in which everyone took a turn, on one thread."""

    latency_ms: dict[str, float]
    """Who → milliseconds for one picture alone."""
    pictures_per_s: dict[str, float]
    """Who → pictures a second in batches of 256."""
    device: str

    def faster(self, name: str) -> tuple[float, float]:
        """How many times as fast as eager PyTorch: for one picture, and for many."""
        alone = self.latency_ms[EAGER] / self.latency_ms[name]
        return alone, self.pictures_per_s[name] / self.pictures_per_s[EAGER]


def speeds(network: nn.Module, models: Mapping[str, bytes], images: Tensor) -> Speeds:
    """Times a network in eager PyTorch and its files in ONNX Runtime, in turn, on one thread of the CPU.

    Args:
        network: float32, eval mode, on the CPU.
        models: name → ONNX file that takes float32.
        images: some pictures (N, 3, 32, 32); repeated to fill a batch.
    """
    batch = images[torch.arange(THROUGHPUT) % len(images)].contiguous()
    with one_thread(), torch.inference_mode():
        runs = {EAGER: lambda array: network(torch.from_numpy(array))} | {
            name: _runner(content) for name, content in models.items()
        }
        alone = _medians_ms(runs, batch[:LATENCY].numpy(), calls=20)
        many = _medians_ms(runs, batch.numpy(), calls=1)
    return Speeds(alone, {name: THROUGHPUT / took * 1e3 for name, took in many.items()}, device_name("cpu"))


def _runner(content: bytes) -> Callable[[Any], Any]:
    session = opened(content)
    name = session.get_inputs()[0].name
    return lambda array: session.run(None, {name: array})


def _medians_ms(runs: Mapping[str, Callable[[Any], Any]], array: Any, calls: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(ROUNDS + 1):
        for name, run in runs.items():
            started = time.perf_counter()
            for _ in range(calls):
                run(array)
            if number:  # the first round warms up
                times[name].append((time.perf_counter() - started) * 1e3 / calls)
    return {name: statistics.median(found) for name, found in times.items()}
