"""The training step of the profiling chapter's hunt, for real: a row of linear layers, with faults that can be switched
on.

It runs on any device. Which faults there are, and what a look at the step shows, is the business of `profiling.hunt`.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Collection
from typing import Any

import torch
from torch import nn


class Workload:
    """A step that reads a batch, brings it to the device, and trains on it; slow in as many ways as it is told.

    Args:
        faults: some of `profiling_hunt.FAULTS`.
        device: `"cpu"` or `"cuda"`.
        rows: pictures in a batch.
        width: numbers in a picture, and of every layer.
        layers: how many.
    """

    def __init__(
        self, faults: Collection[str], device: str, rows: int = 4096, width: int = 2048, layers: int = 12
    ) -> None:
        self.faults, self.device, self.rows, self.width = frozenset(faults), device, rows, width
        self.layers = layers
        generator = torch.Generator().manual_seed(7)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(7)
            parts = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers)]
            self.model = nn.Sequential(*parts).to(device)
        # `foreach=False`: an optimizer that goes from tensor to tensor, with some small kernels for each.
        one_by_one = "tiny kernels" in self.faults
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4, momentum=0.9, foreach=not one_by_one)
        pictures = torch.randint(0, 16, (rows, width), dtype=torch.uint8, generator=generator)
        self._packed = zlib.compress(pictures.numpy().tobytes(), 1)
        self._ready = self._decoded()
        if "pageable copy" not in self.faults and device == "cuda":
            self._ready = self._ready.pin_memory()

    def _decoded(self) -> torch.Tensor:
        """The batch, unpacked as a picture is from its file."""
        raw = bytearray(zlib.decompress(self._packed))
        return torch.frombuffer(raw, dtype=torch.uint8).view(self.rows, self.width)

    def _batch(self) -> torch.Tensor:
        """The batch on the device, as bytes or, by the slow way, as float32."""
        host = self._decoded() if "input" in self.faults else self._ready
        if "pageable copy" in self.faults:
            return host.float().to(self.device)
        if "input" in self.faults and self.device == "cuda":
            # Decoded late, but into pinned memory: that is another fault. A copy still under way reads the same bytes.
            host = self._ready.copy_(host)
        return host.to(self.device, non_blocking=True)

    def _normalized(self, batch: torch.Tensor) -> torch.Tensor:
        if "tiny kernels" not in self.faults:
            return batch.float().sub_(8).div_(16)
        pieces = [(piece.float() - 8) / 16 for piece in batch.chunk(min(64, self.rows))]
        return torch.cat(pieces)

    def step(self) -> None:
        """One step of training; returns when its work has been ordered, not when it is done."""
        with torch.profiler.record_function("batch"):
            batch = self._batch()
        x = self._normalized(batch)
        short: Any = contextlib.nullcontext()
        if "float32" not in self.faults and self.device == "cuda":
            short = torch.autocast("cuda", torch.bfloat16)
        with short:
            for layer in self.model:
                x = layer(x)
                if "needless sync" in self.faults and bool(torch.isnan(x).any()):
                    raise FloatingPointError("NaN in a layer's output")
            loss = x.float().square().mean()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
        self.optimizer.step()
        self.optimizer.zero_grad()

    def flops(self) -> float:
        """Of the products of a step: forward, and twice that backward."""
        return 3 * self.layers * 2.0 * self.rows * self.width**2

    def nbytes(self) -> float:
        """That those products move, each matrix once."""
        size = 4 if "float32" in self.faults else 2
        return 3.0 * self.layers * size * (2 * self.rows * self.width + self.width**2)
