"""Times an answer against a reference for a `_gpu` test cell: in turn, long enough, every timed output checked.

Where the answer lives in another process than the clock, each call would also time the way of its arrays there and
back; such a row stays pending until the harness brings a clock of its own.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from gpulab.device import NeedsGPU, device_name
from gpulab.timing import Ratio

PAIRS = 11
LEAST_SECONDS = 0.05
"""Of work in one timed stretch of the reference: beyond the clock's own noise and the launches' cost."""
MOST_CALLS = 10_000


def speed_against(
    yours: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: Callable[[int], Sequence[Any]],
    same: Callable[[Any, Any], None],
) -> Ratio:
    """The answer's speed over the reference's, as the median of pairs timed in turn on the GPU.

    Args:
        yours: the exercise.
        reference: does the same work, or work of the same bytes.
        inputs: fresh arguments on the device for pair number i, made outside the timed part.
        same: raises if the answer's output (first) does not go with the inputs' (second, a tuple); called for every
            timed stretch.

    Raises:
        NeedsGPU: the answer is called through another process, whose work this clock cannot see by itself.
    """
    if (getattr(yours, "__module__", "") or "").startswith("grader."):
        # Not wrong, not slow: arrays of this size take a hundred times longer to the other process than the work.
        raise NeedsGPU("This row needs the grader's own clock beside the GPU: its points are pending, not lost.")
    first = inputs(0)
    same(yours(*first), tuple(first))  # compiles it, too
    reference(*first)
    calls = _calls(reference, first)
    ratios = []
    for pair in range(PAIRS):
        made = inputs(pair + 1)
        if pair % 2 == 0:
            (mine, answer), (theirs, _) = _stretch(yours, made, calls), _stretch(reference, made, calls)
        else:
            (theirs, _), (mine, answer) = _stretch(reference, made, calls), _stretch(yours, made, calls)
        same(answer, tuple(made))
        ratios.append(theirs / mine)
    quarters = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(statistics.median(ratios), (quarters[2] - quarters[0]) / 2, PAIRS, device_name("cuda"))


def _stretch(function: Callable[..., Any], arguments: Sequence[Any], calls: int) -> tuple[float, Any]:
    """Seconds for so many calls, from an idle GPU to an idle GPU, and what the last one gave."""
    import torch

    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(calls):
        answer = function(*arguments)
    torch.cuda.synchronize()
    return time.perf_counter() - started, answer


def _calls(function: Callable[..., Any], arguments: Sequence[Any]) -> int:
    """How many calls a timed stretch of the reference needs."""
    calls = 1
    while calls < MOST_CALLS:
        seconds, _ = _stretch(function, arguments, calls)
        if seconds >= LEAST_SECONDS:
            break
        calls = min(MOST_CALLS, max(2 * calls, round(1.2 * calls * LEAST_SECONDS / max(seconds, LEAST_SECONDS / 50))))
    return calls
