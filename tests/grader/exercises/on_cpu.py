"""Lets readings be taken without a GPU: kernels run in the tracer, tensors are the CPU's, the driver is a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import pytest
import torch

from gpulab import cuda_cpp
from grader.exercises import on_gpu


def launcher(source: str, name: str) -> Callable[..., None]:
    """As `grader.exercises.architecture.unguarded_launches.launcher`, on the CPU."""

    def start(blocks: int, threads: int, *arguments: Any) -> None:
        tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
        passed = [one.numpy() if isinstance(one, torch.Tensor) else one for one in arguments]
        for tensor, after in zip(tensors, cuda_cpp.run(source, name, blocks, threads, *passed), strict=True):
            tensor.copy_(torch.from_numpy(after))

    return start


def median_ms(work: Callable[[], Any], rounds: int = 20, warm_ups: int = 3) -> float:
    """One round, by the host's clock."""
    begun = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - begun)


def use(monkeypatch: pytest.MonkeyPatch, driver: Mapping[str, int], modules: Iterable[ModuleType]) -> None:
    """Puts the stand-ins in place.

    Args:
        monkeypatch: of the test.
        driver: what the driver says, by attribute.
        modules: that launch kernels.
    """
    monkeypatch.setattr(on_gpu, "attribute", driver.__getitem__)
    monkeypatch.setattr(on_gpu, "median_ms", median_ms)
    for module in modules:
        monkeypatch.setattr(module, "launcher", launcher)
