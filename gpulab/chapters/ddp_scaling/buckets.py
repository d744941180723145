"""DDP and scaling: gradients grouped into buckets, and when their all-reduces run during the backward pass."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from gpulab.figures.plot import Span


def bucketed(sizes: Sequence[int], bucket_bytes: int) -> list[list[int]]:
    """Layer numbers grouped from last to first; a bucket is closed when it holds at least `bucket_bytes`."""
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
) -> list[Span]:
    """The timeline of a backward pass with one all-reduce per bucket, started when the last of its gradients is ready.

    Args:
        layers: first to last.
        buckets: layer numbers; in the order of sending.
        latency_ms: of every all-reduce, whatever its size.
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
    return spans
