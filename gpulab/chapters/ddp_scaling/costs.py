"""DDP and scaling: asks a cost model of all-reduce about published runs.

The model itself is the student's (`predict_efficiency`) and is handed in. Drawing is done by `ddp_scaling.pictures`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpulab.tables import table

Efficiency = Callable[[float, float, int, float, float, float], float]
"""The student's `predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap)`."""

HOROVOD_GPUS = 512
HOROVOD_GBIT_S = 25.0
"""Of one server's network card. Its four GPUs lie on one ring, which leaves and enters the server once."""


@dataclass(frozen=True)
class Model:
    """A network on the ring: what a step takes on one GPU, and what has to be summed after it."""

    name: str
    network: str
    """As torchvision calls it."""
    step_s: float
    nbytes: int
    """Of its gradients, in float32."""
    published: float | None
    """Efficiency on 512 GPUs."""


def models() -> list[Model]:
    """The rows of `data/ring_models.csv`."""
    rows: list[dict[str, Any]] = table("ring_models")
    return [
        Model(
            name=row["model"],
            network=row["network"],
            step_s=row["batch"] / row["images_per_s"],
            nbytes=4 * row["parameters"],
            published=row["efficiency_512"],
        )
        for row in rows
    ]


def seconds_per_byte(gbit_s: float = HOROVOD_GBIT_S) -> float:
    """β of a link at its full rate."""
    return 8e-9 / gbit_s


def overlap_for(efficiency: Efficiency, model: Model, alpha: float, beta: float) -> float:
    """The share of communication that has to be hidden for the model to give the published figure, by halving.

    Raises:
        ValueError: no figure is published for it.
    """
    if model.published is None:
        raise ValueError(f"no efficiency is published for {model.name}")
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        reached = efficiency(model.step_s, model.nbytes, HOROVOD_GPUS, alpha, beta, middle)
        low, high = (middle, high) if reached < model.published else (low, middle)
    return (low + high) / 2
