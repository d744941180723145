"""What readings of the GPU have in common: times of work on it, and the driver's word on the device.

For the `take` of a `Confrontation`; nothing here is imported without a GPU, or by a judge.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import torch

from grader.exercises.confront import Unusable

STEADY = 0.2
"""Half the distance between the quartiles over the median: times that spread more say nothing."""


def times_ms(work: Callable[[], Any], rounds: int = 20, warm_ups: int = 3) -> list[float]:
    """Milliseconds of each round on the GPU, by CUDA events, after some rounds that are not timed.

    Args:
        work: launches what is timed, on the current stream.
        rounds: how many are timed.
        warm_ups: rounds before them, which compile, allocate, and raise the clock.
    """
    for _ in range(warm_ups):
        work()
    torch.cuda.synchronize()
    found = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        work()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end))
    return found


def median_ms(work: Callable[[], Any], rounds: int = 20, warm_ups: int = 3) -> float:
    """Median milliseconds of a round; see `times_ms`.

    Raises:
        Unusable: the times spread by more than `STEADY`.
    """
    found = times_ms(work, rounds, warm_ups)
    median = statistics.median(found)
    lower, _, upper = statistics.quantiles(found, n=4)
    if (upper - lower) / 2 > STEADY * median:
        raise Unusable(f"the times spread: a quarter took less than {lower:.3g} ms, a quarter more than {upper:.3g} ms")
    return median


def attribute(name: str) -> int:
    """What the driver says of the current device: `attribute("CLOCK_RATE")` is kHz.

    Args:
        name: of `CUdevice_attribute`, without `CU_DEVICE_ATTRIBUTE_`.
    """
    from cuda.bindings import driver

    torch.cuda.init()  # type: ignore[no-untyped-call]
    wanted = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
    error, value = driver.cuDeviceGetAttribute(wanted, torch.cuda.current_device())
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"cuDeviceGetAttribute({name}) says {error.name}")
    return int(value)
