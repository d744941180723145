"""What float16 can hold by this GPU's own arithmetic, and which gradients of a network there it loses."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from gpulab import check
from grader.exercises.confront import Unusable

SCALES = (0.5, 1.0, 16.0, 1024.0, 65536.0)
"""By which gradients are multiplied."""
EDGES = (
    (65504.0, 3.0), (-65510.0, 1.0), (65519.0, -2.0), (65521.0, 1.0), (100000.0, 1.0), (-1e-3, 1e-4), (3e7, -5e8),
    (12.0, 2.0**-60),
)  # fmt: skip
"""Gradients around the largest float16, far from it, and far from each other."""


def limits(device: str = "cuda") -> dict[str, float]:
    """Extremes of all finite float16 patterns, and what float16 sums and products on the device tell of precision."""
    import torch

    patterns = torch.arange(1, 2**15, dtype=torch.int32).to(torch.int16).view(torch.float16).to(device)
    finite = patterns[patterns.isfinite()]
    above_one = torch.ones_like(finite) + finite
    epsilon = above_one[above_one > 1].min() - 1
    powers = torch.exp2(torch.arange(-24.0, 1.0, device=device)).half()
    exact = powers[powers * (1 + epsilon) > powers]  # the others lose the last digit
    return {"max": float(finite.max()), "smallest_normal": float(exact.min()),
            "smallest_subnormal": float(finite.min()), "epsilon": float(epsilon)}  # fmt: skip


def check_limits(answer: Any, readings: Any) -> None:
    """`fp16_limits` is what the GPU's arithmetic shows."""
    order = [readings[name] for name in ("smallest_subnormal", "smallest_normal", "epsilon", "max")]
    if not 0 < order[0] < order[1] < order[2] < 1 < order[3] < math.inf:
        raise Unusable(f"no floating-point format has these limits: {readings}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an overflow is what some answers are after
        check.equal(answer(), readings, "fp16_limits(), where the float16 arithmetic of this GPU shows these limits")


def gradients(device: str = "cuda") -> list[float]:
    """300 gradients of layer outputs of a small network, computed on the device; some are zero behind a ReLU."""
    import torch

    from gpulab import Problem

    problem = Problem("cnn", samples=64, batch_size=64, loss_weight=1e-3, seed=1, device=device)
    model, criterion = problem.model().to(device), problem.criterion()
    outputs: list[torch.Tensor] = []

    def keep(layer: torch.nn.Module, inputs: Any, output: torch.Tensor) -> None:
        output.retain_grad()
        outputs.append(output)

    for layer in model.modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
            layer.register_forward_hook(keep)
    images, labels = next(iter(problem.loader()))
    criterion(model(images.to(device)), labels.to(device)).backward()
    found = torch.cat([output.grad.flatten().cpu() for output in outputs if output.grad is not None])
    chosen = torch.randperm(len(found), generator=torch.Generator().manual_seed(3))[:300]
    return found[chosen].tolist()


def lost(device: str = "cuda") -> list[dict[str, Any]]:
    """Gradients, and for each scale how many of them the device's float16 turns into zero."""
    import torch

    found = []
    for values in (gradients(device), [0.0] * 12):
        there = torch.tensor(values, device=device)
        counts = [int(((there * scale).half() == 0)[there != 0].sum()) for scale in SCALES]
        found.append({"gradients": values, "scales": list(SCALES), "lost": counts})
    return found


def check_underflow(answer: Any, readings: Any) -> None:
    """`underflow_fraction` is the share that the GPU lost."""
    for one in readings:
        values, counts = np.array(one["gradients"], np.float32).reshape(-1, 3), one["lost"]
        alive = int((values != 0).sum())
        if counts != sorted(counts, reverse=True) or not 0 <= counts[-1] <= counts[0] <= alive:
            raise Unusable(f"of {alive} gradients, {counts} were lost with growing scales")
        for scale, count in zip(one["scales"], counts, strict=True):
            what = (
                f"{alive} gradients that are not zero of {values.size}, scale {scale:g}, of which this GPU lost {count}"
            )
            check.close(answer(values.copy(), scale), count / alive if alive else 0.0, what, rtol=1e-6)


def safe(device: str = "cuda") -> list[dict[str, Any]]:
    """Gradients, and the largest power of two with which the device's float16 holds all of them."""
    import torch

    found = []
    drawn = gradients(device)
    for values in (drawn, [-abs(value) for value in drawn], *map(list, EDGES)):
        there, scale = torch.tensor(values, device=device), 2.0**-40
        while bool((there * (2 * scale)).half().isfinite().all()) and scale < 2.0**60:
            scale *= 2
        found.append({"gradients": values, "scale": scale})
    return found


def check_safe_scale(answer: Any, readings: Any) -> None:
    """`largest_safe_scale` is the one that the GPU found."""
    for one in readings:
        values, scale = np.array(one["gradients"], np.float32), float(one["scale"])
        if not 2.0**-40 < scale < 2.0**60 or math.frexp(scale)[0] != 0.5:
            raise Unusable(f"{scale:g} is no scale that the search could end at")
        extreme = values[np.abs(values).argmax()]
        what = f"{values.size} gradients, the largest {extreme:.9g}, finite in this GPU's float16 up to scale {scale:g}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check.equal(answer(values.copy()), scale, what)
