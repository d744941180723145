"""Times a function the way the course does: warm, synchronized, several runs, median with spread and device.

On a GPU the clock is CUDA's own events, elsewhere the processor's. What a machine can do at best is the business of
`machine`.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpulab.measuring.devices import device, device_name

RUN_MS = 1.0
"""A run repeats the function until it lasts about this long: clocks and events resolve microseconds, not less."""

MAX_LOOPS = 1_000_000


@dataclass(frozen=True)
class Timing:
    """How long one call took: `0.84 ms ± 0.02 (NVIDIA H200, 30 runs)`."""

    median_ms: float
    spread_ms: float
    """Half the distance between the quartiles."""
    runs: int
    device: str

    def __str__(self) -> str:
        scale, unit = next(
            (scale, unit) for limit, scale, unit in _UNITS if self.median_ms < limit or math.isinf(limit)
        )
        median, spread = _rounded(self.median_ms * scale, self.spread_ms * scale)
        return f"{median} {unit} ± {spread} ({self.device}, {self.runs} runs)"


@dataclass(frozen=True)
class Ratio:
    """How many times as long one function takes as another: below 1 it is faster."""

    median: float
    spread: float
    """Half the distance between the quartiles of the paired ratios."""
    runs: int
    device: str

    def __str__(self) -> str:
        median, spread = _rounded(self.median, self.spread)
        return f"{median}× ± {spread} ({self.device}, {self.runs} pairs)"


_UNITS = ((0.1, 1e3, "µs"), (1e3, 1.0, "ms"), (math.inf, 1e-3, "s"))


def measure(
    function: Callable[..., Any],
    *arguments: Any,
    runs: int = 30,
    on: str | None = None,
    at_most_s: float = 10.0,
) -> Timing:
    """How long `function(*arguments)` takes on the device once it is warm.

    Args:
        function: what to time; it is called many times with the same arguments.
        arguments: made before the clock starts, so making them is not timed.
        runs: how many runs the median is taken over. A run repeats a short function until it lasts about 1 ms.
        on: `"cpu"` or `"cuda"`: where the function does its work; the course's device when left out.
        at_most_s: no further run is started after this time; at least three are made.

    Raises:
        ValueError: `runs` is not positive.
    """
    if runs < 1:
        raise ValueError(f"runs = {runs}: at least one run is needed")
    where = on or device().type
    clock = _clock(where)
    loops = _loops(clock, function, arguments)
    with _no_collector():
        started = time.perf_counter()
        samples: list[float] = []
        for _ in range(runs):
            samples.append(clock(function, arguments, loops))
            if time.perf_counter() - started > at_most_s and len(samples) >= 3:
                break
    return Timing(statistics.median(samples), _half_range(samples), len(samples), device_name(where))


def race(
    yours: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: Callable[[int], Sequence[Any]] | Sequence[Any],
    runs: int = 10,
    on: str | None = None,
) -> Ratio:
    """How many times as long `yours` takes as `reference`, from pairs timed in turn.

    A slow moment of the machine hits both of a pair, and who goes first alternates, so neither gains by it.

    Args:
        yours: takes the inputs as arguments.
        reference: takes the same.
        inputs: the arguments; or a function that makes fresh ones for pair number i, outside the timed part.
        runs: pairs.
        on: as for `measure`.

    Raises:
        ValueError: `runs` is not positive.
    """
    if runs < 1:
        raise ValueError(f"runs = {runs}: at least one pair is needed")
    where = on or device().type
    clock = _clock(where)

    def arguments(number: int) -> Sequence[Any]:
        return inputs(number) if callable(inputs) else inputs

    first = arguments(0)
    yours(*first)  # warm it; the line below warms the reference
    loops = _loops(clock, reference, first)
    ratios = []
    with _no_collector():
        for number in range(runs):
            made = arguments(number)
            if number % 2 == 0:
                mine, theirs = clock(yours, made, loops), clock(reference, made, loops)
            else:
                theirs, mine = clock(reference, made, loops), clock(yours, made, loops)
            ratios.append(mine / theirs)
    return Ratio(statistics.median(ratios), _half_range(ratios), runs, device_name(where))


Clock = Callable[[Callable[..., Any], Sequence[Any], int], float]
"""Calls a function some number of times and gives the milliseconds that one call took."""


def _clock(where: str) -> Clock:
    return _cuda_ms if where == "cuda" else _cpu_ms


def _cpu_ms(function: Callable[..., Any], arguments: Sequence[Any], loops: int) -> float:
    started = time.perf_counter_ns()
    for _ in range(loops):
        function(*arguments)
    return (time.perf_counter_ns() - started) / 1e6 / loops


def _cuda_ms(function: Callable[..., Any], arguments: Sequence[Any], loops: int) -> float:
    import torch

    event: Any = torch.cuda.Event
    begin, end = event(enable_timing=True), event(enable_timing=True)
    torch.cuda.synchronize()  # what was launched before must not run into the timed part
    begin.record()
    for _ in range(loops):
        function(*arguments)
    end.record()
    # All streams, not only this event: work that a function put on a stream of its own has to be over too.
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / loops


def _loops(clock: Clock, function: Callable[..., Any], arguments: Sequence[Any]) -> int:
    """How often to repeat a function so that one run lasts about `RUN_MS`; warms it on the way."""
    clock(function, arguments, 1)  # compiles, allocates, fills caches
    loops = 1
    while loops < MAX_LOOPS:
        took = clock(function, arguments, loops) * loops
        if took >= RUN_MS:
            break
        loops = min(MAX_LOOPS, max(2 * loops, math.ceil(loops * RUN_MS / max(took, RUN_MS / 100))))
    return loops


@contextmanager
def one_thread() -> Iterator[None]:
    """One core for torch's work on the CPU: two that other programs want as well are far slower, and never steady."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _no_collector() -> Iterator[None]:
    """Keeps the garbage collector from running inside a timed part."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _half_range(samples: Sequence[float]) -> float:
    """Half the distance between the quartiles; 0 for a single sample."""
    if len(samples) < 2:
        return 0.0
    lower, _, upper = statistics.quantiles(samples, n=4, method="inclusive")
    return (upper - lower) / 2


def _rounded(value: float, spread: float) -> tuple[str, str]:
    """Both with the decimals that the spread's first digit calls for: no digit of the value is noise."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}", f"{spread:g}"
    from_value = 2 - math.floor(math.log10(abs(value)))
    decimals = -math.floor(math.log10(spread)) if 0 < spread < math.inf else from_value
    decimals = max(0, min(decimals, from_value + 1))
    return f"{value:.{decimals}f}", f"{spread:.{decimals}f}"
