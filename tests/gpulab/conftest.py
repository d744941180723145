"""What the tests of gpulab share: a home of their own, one thread, a stand-in for a GPU."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fake_gpu import FakeGPU
from matplotlib.figure import Figure

from gpulab.figures import styling
from gpulab.measuring import measured_once


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps predictions and ceilings out of the real home."""
    folder = tmp_path / "home"
    monkeypatch.setenv("GPULAB_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a process does, in which nothing has been measured."""
    monkeypatch.setattr(measured_once, "FOUND", {})


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Two threads on busy cores are far slower than one."""
    torch.set_num_threads(1)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The descriptions of what was drawn; each figure has been rendered, so a warning of matplotlib fails the test."""
    descriptions: list[str] = []

    def render(figure: Figure, description: str) -> None:
        assert styling.png(figure).startswith(b"\x89PNG")
        descriptions.append(description)

    for name, module in list(sys.modules.items()):
        if name.startswith("gpulab.") and module is not styling and getattr(module, "show", None) is styling.show:
            monkeypatch.setattr(module, "show", render)
    return descriptions


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> FakeGPU:
    """Makes torch believe in a GPU: events, synchronization, names; `device="cuda"` gives CPU tensors."""
    gpu = FakeGPU()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda *_: "NVIDIA Fake")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    monkeypatch.setattr(torch.cuda, "synchronize", gpu.synchronize)
    monkeypatch.setattr(torch.cuda, "Event", gpu.event)
    for name in ("randn", "randint", "empty", "zeros"):
        monkeypatch.setattr(torch, name, _on_cpu(getattr(torch, name)))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor, *_: tensor)
    real_to = torch.Tensor.to
    monkeypatch.setattr(
        torch.Tensor,
        "to",
        lambda tensor, *given, **named: (
            tensor.clone() if "cuda" in str(given[:1]) else real_to(tensor, *given, **named)
        ),
    )
    # Each product and each copy takes 2 ms of the fake GPU's time.
    for owner, name in ((torch, "mm"), (torch.Tensor, "copy_"), (torch.Tensor, "add_")):
        monkeypatch.setattr(owner, name, lambda *_, **__: gpu.work(2.0)())
    return gpu


def _on_cpu(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(*given: Any, **named: Any) -> Any:
        named.pop("device", None)
        # Small: only the shapes' arithmetic is of interest, not the memory.
        if isinstance(given[0], int) and len(given) > 1 and isinstance(given[1], tuple):
            given = (given[0], tuple(min(extent, 8) for extent in given[1]))
        else:
            given = tuple(min(extent, 8) if isinstance(extent, int) else extent for extent in given)
        return function(*given, **named)

    return made


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[int]], None]:
    """Replaces the processor's clock: call it with the nanoseconds that pass between readings, repeated for ever."""

    def start(steps_ns: list[int]) -> None:
        steps, now = itertools.cycle(steps_ns), [0]

        def read() -> int:
            now[0] += next(steps)
            return now[0]

        monkeypatch.setattr("gpulab.measuring.timing.time.perf_counter_ns", read)

    return start
