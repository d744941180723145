"""DDP and scaling: the layers of real networks as a scheduler sees them, and what a given order of sending leads to.

Times are a published step, dealt out to the layers by their FLOPs; bytes are counted in torchvision's networks, made
without memory. Which order is best is for the student to find: here it is given.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.chapters.ddp_scaling.costs import Model
from gpulab.figures.plot import Span

FORWARD_SHARE = 1 / 3
"""Of a step: the backward pass has two products where the forward pass has one."""

Layer = dict[str, Any]
"""`name`, `forward_ms`, `backward_ms`, `nbytes`: as `priority_makespan` takes it."""


def layers_of(model: Model) -> list[Layer]:
    """The network's layers, first to last: every convolution and linear layer, with the batch norm behind it.

    Args:
        model: what a step takes is dealt out in proportion to FLOPs, a third of it to the forward pass.
    """
    counted = _counted(model.network)
    total = sum(flops for _, flops, _ in counted)
    step_ms = 1e3 * model.step_s
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


@dataclass(frozen=True)
class Plan:
    """What the computing side and the link do, and when the next forward pass ends."""

    spans: tuple[Span, ...]
    makespan_ms: float


def played(
    layers: Sequence[Mapping[str, Any]], bandwidth_gbs: float, sends: Sequence[tuple[int, int]], lanes: str = ""
) -> Plan:
    """What happens if the link sends these pieces in this order, each as soon as its layer's gradient is there.

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
    return Plan(tuple(spans), clock)


def bucketed(sizes: Sequence[int], bucket_bytes: int) -> list[list[int]]:
    """Layers put together, last to first, until a bucket holds at least so many bytes."""
    buckets: list[list[int]] = [[]]
    for number in reversed(range(len(sizes))):
        if sum(sizes[one] for one in buckets[-1]) >= bucket_bytes:
            buckets.append([])
        buckets[-1].append(number)
    return buckets


def overlapped(
    layers: Sequence[Mapping[str, Any]],
    buckets: Sequence[Sequence[int]],
    latency_ms: float,
    bandwidth_gbs: float,
    lanes: str,
) -> Plan:
    """The backward pass with one all-reduce for each bucket, begun when the last of its gradients is there.

    Args:
        layers: first to last.
        buckets: layer numbers; in the order of sending.
        latency_ms: that every all-reduce costs, whatever its size.
        bandwidth_gbs: gradient bytes summed in a second.
        lanes: put before the names of the two lanes.
    """
    times = [layer["backward_ms"] for layer in reversed(layers)]
    ends = [0.0, *itertools.accumulate(times)]
    compute, link = f"{lanes}: backward", f"{lanes}: link"
    spans = [Span(compute, ends[at], ends[at + 1], f"{len(layers) - at}", "backward") for at in range(len(layers))]
    free = 0.0
    for bucket in buckets:
        start = max(free, ends[len(layers) - min(bucket)])
        free = start + latency_ms + sum(layers[one]["nbytes"] for one in bucket) / (1e6 * bandwidth_gbs)
        numbers = f"{max(bucket) + 1}–{min(bucket) + 1}" if len(bucket) > 1 else f"{bucket[0] + 1}"
        spans.append(Span(link, start, free, numbers, "all-reduce"))
    return Plan(tuple(spans), max(free, ends[-1]))
