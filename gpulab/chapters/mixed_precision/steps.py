"""Mixed precision: how long a training step takes in each type.

Only times steps. Trainings are the student's, in the notebook; those that the figures compare them with are recorded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from gpulab.measuring.devices import device
from gpulab.measuring.timing import Timing, measure, one_thread
from gpulab.training.problem import Problem


@contextlib.contextmanager
def without_tf32() -> Iterator[None]:
    """Real float32 products inside the block, also on a GPU whose tensor cores would round the factors."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def step_times(runs: int = 5) -> dict[str, Timing]:
    """How long a training step takes on this device in each type: the small network, or ResNet-50 on a GPU.

    No loss is scaled here: what a scaler adds to a step of a large network is small, and only time is looked at.
    """
    on_gpu = device().type == "cuda"
    problem = Problem("resnet50", samples=512, batch_size=512) if on_gpu else Problem(samples=64, device="cpu")
    model = problem.model().to(problem.device).to(memory_format=torch.channels_last)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    images, labels = (part.to(problem.device) for part in next(iter(problem.loader())))
    images = images.to(memory_format=torch.channels_last)

    def step(dtype: torch.dtype | None) -> None:
        optimizer.zero_grad()
        with torch.autocast(problem.device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()

    kinds = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
    with one_thread(), without_tf32():
        return {name: measure(step, dtype, runs=runs) for name, dtype in kinds.items()}
