"""DDP and scaling: what summing over ranks costs. Times real all-reduces, and asks a cost model about published runs.

The model itself is the student's (`predict_efficiency`) and is handed in. Drawing is done by `ddp_scaling.pictures`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.measuring.devices import device_name
from gpulab.ranks.launch import ranks
from gpulab.tables import table

Efficiency = Callable[[float, float, int, float, float, float], float]
"""The student's `predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap)`."""

SIZES = tuple(round(mebibytes * 2**20) for mebibytes in (1 / 256, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4))
"""Bytes to sum: evenly spaced, for a straight line; small enough that no message falls out of every cache."""
HOROVOD_GPUS = 512
HOROVOD_GBIT_S = 25.0
"""Of one server's network card. Its four GPUs lie on one ring, which leaves and enters the server once."""


@dataclass(frozen=True)
class Sums:
    """How long all ranks together took to sum vectors of several sizes."""

    nbytes: tuple[int, ...]
    seconds: tuple[float, ...]
    """Fastest run of each size: other programs can only add time."""
    world_size: int
    runs: int
    device: str


def all_reduce_times(world_size: int = 2, sizes: Sequence[int] = SIZES, runs: int = 15, limit_s: float = 60.0) -> Sums:
    """Times gloo's all-reduce between processes on this machine; about 4 s, most of it to start them.

    Raises:
        LaunchError: a rank failed, or did not end in time.
    """
    found = ranks(_timed, [(tuple(sizes), runs)] * world_size, seconds=limit_s)
    # A sum is done when the last rank has it.
    seconds = [min(max(turn) for turn in zip(*of_ranks, strict=True)) for of_ranks in zip(*found, strict=True)]
    return Sums(tuple(sizes), tuple(seconds), world_size, runs, device_name("cpu"))


def _timed(rank: int, world_size: int, sizes: Sequence[int], runs: int) -> list[list[float]]:
    """Seconds of every run of every size, on one rank. Runs there, so it brings its imports along."""
    import time

    import torch
    import torch.distributed as dist

    vectors = [torch.zeros(max(1, size // 4)) for size in sizes]
    times: list[list[float]] = [[] for _ in sizes]
    for turn in range(runs + 2):
        for vector, own in zip(vectors, times, strict=True):  # in turn: a slow moment hits all sizes alike
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(vector)
            if turn >= 2:
                own.append(time.perf_counter() - start)
    return times


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
