"""Sharding: the timeline of a given order of sending gradients; finding the order is the exercise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpulab.figures.plot import Span

Layer = dict[str, Any]
"""`forward_ms`, `backward_ms`, `nbytes`: as `priority_makespan` takes it."""


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
