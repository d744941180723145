"""Sharding: the layers of real networks as a communication scheduler sees them, and the timeline of a given order.

Times are a published step, divided among the layers by their FLOPs. Bytes are counted in torchvision's networks, which
are built without memory. This module plays an order that it is given; finding the order is the exercise.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from gpulab.figures.plot import Span

FORWARD_SHARE = 1 / 3
"""Of a step: the backward pass has two products where the forward pass has one."""

Layer = dict[str, Any]
"""`name`, `forward_ms`, `backward_ms`, `nbytes`: as `priority_makespan` takes it."""


def layers_of(row: Mapping[str, Any]) -> list[Layer]:
    """The network's layers, first to last: every convolution and linear layer, together with its batch norm.

    Args:
        row: of `data/ring_models.csv`. The time of a step is divided in proportion to FLOPs, a third of it is the
            forward pass.
    """
    counted = _counted(row["network"])
    total = sum(flops for _, flops, _ in counted)
    step_ms = 1e3 * row["batch"] / row["images_per_s"]
    return [
        {
            "name": name,
            "forward_ms": FORWARD_SHARE * step_ms * flops / total,
            "backward_ms": (1 - FORWARD_SHARE) * step_ms * flops / total,
            "nbytes": 4 * parameters,
        }
        for name, flops, parameters in counted
    ]


@functools.cache
def _counted(network: str) -> tuple[tuple[str, int, int], ...]:
    """(name, FLOPs for one image, parameters) of every layer, in the order in which they run."""
    import torch
    import torchvision  # type: ignore[import-untyped]  # it ships no types
    from torch import nn

    rows: list[list[Any]] = []

    def count(name: str, module: nn.Module, result: torch.Tensor) -> None:
        parameters = sum(one.numel() for one in module.parameters(recurse=False))
        if isinstance(module, nn.Conv2d):
            per_result = module.in_channels // module.groups * module.kernel_size[0] * module.kernel_size[1]
        elif isinstance(module, nn.Linear):
            per_result = module.in_features
        else:
            rows[-1][2] += parameters
            return
        rows.append([name, 2 * result.numel() * per_result, parameters])

    with torch.device("meta"):  # shapes without numbers: nothing is computed, and nothing is stored
        made = getattr(torchvision.models, network)(weights=None).eval()
        for name, module in made.named_modules():
            if any(True for _ in module.parameters(recurse=False)):
                module.register_forward_hook(lambda own, _, result, name=name: count(name, own, result))
        with torch.no_grad():
            made(torch.empty(1, 3, 224, 224))
    return tuple((name, flops, parameters) for name, flops, parameters in rows)


def played(
    layers: Sequence[Mapping[str, Any]], bandwidth_gbs: float, sends: Sequence[tuple[int, int]], lanes: str = ""
) -> list[Span]:
    """The timeline if the link sends these pieces in this order, each as soon as its layer's gradient is ready.

    Args:
        layers: first to last.
        bandwidth_gbs: of the link.
        sends: (layer, bytes) in the order of sending; together they are all bytes of all layers.
        lanes: put before the names of the two lanes.
    """
    compute, link = f"{lanes}compute", f"{lanes}link"
    spans, clock, ready = [], 0.0, {}
    for number in reversed(range(len(layers))):
        start, clock = clock, clock + layers[number]["backward_ms"]
        ready[number] = clock
        spans.append(Span(compute, start, clock, f"{number + 1}", "backward"))
    arrived, free = dict(ready), 0.0
    for number, nbytes in sends:
        start = max(free, ready[number])
        free = start + nbytes / (1e6 * bandwidth_gbs)
        arrived[number] = free
        spans.append(Span(link, start, free, f"{number + 1}", f"gradient {number + 1}"))
    for number, layer in enumerate(layers):
        start = max(clock, arrived[number])
        clock = start + layer["forward_ms"]
        spans.append(Span(compute, start, clock, f"{number + 1}", "forward"))
    return spans
