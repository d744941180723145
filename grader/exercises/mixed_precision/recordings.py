"""Records the trainings that the mixed-precision chapter's figures show:
`python -m grader.exercises.mixed_precision.recordings`.

Writes `data/recordings/mixed_precision.json`, which the chapter reads.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from gpulab.measuring.timing import one_thread
from gpulab.tables import data_folder
from gpulab.training.problem import History, Problem

NAME = "mixed_precision"
"""Of the file."""
FOUR_WAYS = ("float32", "bfloat16, no scaler", "float16, scaler", "float16, no scaler")
"""The same training of 5 epochs, its loss weighted by 2⁻²⁰."""
CLIPPED_FIRST = "clipped first"
"""A float16 training that clips before it unscales: 4 epochs, windows of 2 batches, gradients of norm 1 at most."""
IMPATIENT = "impatient scaler"
"""A float16 training of 5 epochs whose scaler grows after `INTERVAL` good steps."""
INTERVAL = 8
QUIET = Problem(
    "cnn_float32_head", samples=512, batch_size=64, lr=0.05, seed=6, device="cpu", loss_weight=2.0**-20
)  # fmt: skip
"""What the chapter trains in four ways."""
CALM = Problem("cnn", samples=512, batch_size=32, lr=0.03, seed=6, device="cpu")
"""What it clips."""
DIGITS = 6
"""Significant ones that are kept."""


@dataclass(frozen=True)
class Recording:
    """What the trainings printed, and where."""

    device: str
    """The processor and the version of torch."""
    losses: dict[str, list[float]]
    """Training → loss after every batch, as if it had weight 1."""
    scales: dict[str, list[float]]
    """Training → scale after every update."""


def recording() -> Recording:
    """What is stored in the course's `data/`."""
    return Recording(**json.loads(_path().read_text(encoding="utf-8")))


def _path() -> Path:
    return (data_folder() / "recordings" / NAME).with_suffix(".json")


def train(
    problem: Problem, epochs: int, dtype: torch.dtype | None = None, scaler: torch.amp.GradScaler | None = None
) -> History:
    """Trains in float32, or with autocast in `dtype`; with the scaler, if there is one."""
    model = problem.model()
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = scaler or torch.amp.GradScaler(problem.device, enabled=False)
    losses, scales = [], []
    with one_thread():
        for _ in range(epochs):
            for images, labels in problem.loader():
                optimizer.zero_grad()
                with torch.autocast(problem.device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                    loss = criterion(model(images), labels)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                losses.append(loss.item())
                scales.append(scaler.get_scale())
        return problem.history(model, losses, scales)


def clipped_first(problem: Problem, epochs: int, max_norm: float, accumulate: int) -> list[float]:
    """Losses of a float16 training that clips before it unscales."""
    model = problem.model()
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses = []
    with one_thread():
        for _ in range(epochs):
            for number, (images, labels) in enumerate(problem.loader(), start=1):
                with torch.autocast(problem.device, dtype=torch.float16):
                    loss = criterion(model(images), labels)
                scaler.scale(loss / accumulate).backward()
                losses.append(loss.item())
                if number % accumulate == 0:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # the mistake: still scaled
                    scaler.step(optimizer)
                    scaler.update()
                    optimizer.zero_grad()
    return losses


def record() -> Recording:
    """Runs every training of the recording, on the CPU."""
    ways = (
        train(QUIET, 5),
        train(QUIET, 5, torch.bfloat16),
        train(QUIET, 5, torch.float16, torch.amp.GradScaler("cpu")),
        train(QUIET, 5, torch.float16),
    )
    losses = {
        name: [loss / QUIET.loss_weight for loss in history.losses]
        for name, history in zip(FOUR_WAYS, ways, strict=True)
    }
    losses[CLIPPED_FIRST] = clipped_first(CALM, 4, 1.0, 2)
    impatient = torch.amp.GradScaler("cpu", growth_interval=INTERVAL)
    scales = train(Problem("cnn", samples=1024, batch_size=64, device="cpu"), 5, torch.float16, impatient).scales
    version = torch.__version__.partition("+")[0]
    rounded = {name: [float(f"{loss:.{DIGITS}g}") for loss in found] for name, found in losses.items()}
    return Recording(f"a CPU core with torch {version}", rounded, {IMPATIENT: scales})


def main() -> None:
    """Writes the recording into the course's `data/`."""
    path = _path()
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(record()), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
