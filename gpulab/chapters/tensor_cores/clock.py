"""How the tensor-core chapter times things that are compared with each other: in turns, on a CPU with one core.

Built on `gpulab.timing`; what is timed is decided in `models`, `rates` and `roofs`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from gpulab.measuring.devices import device, device_name
from gpulab.measuring.timing import Timing, measure, one_thread

Name = TypeVar("Name", bound=Hashable)


def in_turns(functions: Mapping[Name, Callable[[], Any]], rounds: int) -> dict[Name, Timing]:
    """How long each function takes on the course's device, by name: the median over the rounds.

    They take turns, so that a slow moment of the machine hits all of them alike.

    Args:
        functions: without arguments; each is warmed before it is timed.
        rounds: how often each has its turn.
    """
    where = device().type
    samples: dict[Name, list[float]] = {name: [] for name in functions}
    with one_thread():
        for _ in range(rounds):
            for name, function in functions.items():
                samples[name].append(_fastest(function, where))
    return {name: _timing(found, device_name(where)) for name, found in samples.items()}


def apart(one: Timing, other: Timing) -> bool:
    """Whether two times differ by more than both spreads together: else no figure should name a winner."""
    return abs(one.median_ms - other.median_ms) > one.spread_ms + other.spread_ms


def _fastest(function: Callable[[], Any], where: str) -> float:
    """Milliseconds of the fastest of three runs: what disturbs one of them is somebody else's work."""
    return min(measure(function, runs=1, on=where).median_ms for _ in range(3))


def _timing(samples: Sequence[float], where: str) -> Timing:
    if len(samples) < 2:
        return Timing(samples[0], 0.0, len(samples), where)
    lower, middle, upper = statistics.quantiles(samples, n=4, method="inclusive")
    return Timing(middle, (upper - lower) / 2, len(samples), where)
