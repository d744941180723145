"""Tries everything that a module holds as the answer to every exercise.

A call of an exercise is known by its arguments and its right result. A callable is tried with those arguments
(`passing`); what it gives agrees if the result is in it (`agreement`).
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import itertools
import signal
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from answer_finder.agreement import agrees, rates_near, same_value
from answer_finder.kinds import may_return
from answer_finder.known import Call, Exercise, Finding
from answer_finder.passing import hints_of, make_arguments, signature_of, ways
from answer_finder.reachable import callables, constants

MOST_TRIES = 60
"""Ways to pass one call's arguments to one callable."""
MOST_SLOW_TRIES = 8
"""Where the right answer itself takes long, or is a measurement."""
SECONDS, SECONDS_TO_MEASURE, SECONDS_FOR_FILES = 0.05, 0.25, 30.0
"""Of the processor for one try, for one that is to measure, and for one that is to make a file."""
AS_LONG = 3
"""And as many times what the right answer takes."""
SECONDS_TOGETHER = 1.0
SECONDS_MEASURING = 0.3
"""For all tries of one callable, the slow ones left out; and for those of exercises that measure."""
REPEATED = 5
"""So many times each operation is done in a measurement that must show it."""
LONGER_ASLEEP, LONGER_MEASURING = 4.0, 20.0
"""A try may take this many times as long by the clock on the wall: other programs may have the processor meanwhile."""


class _Stuck(BaseException):
    """A try took too long."""


class _Limit:
    """Ends a try when its time is over; a signal that comes late, after the try, does nothing."""

    armed = False

    def __call__(self, number: int, frame: object) -> None:
        if self.armed:
            self.armed = False
            raise _Stuck


_LIMIT = _Limit()


def prepare(exercises: Sequence[Exercise]) -> None:
    """Does once what each child of this process would do again: arguments are made, and PyTorch's parts imported."""
    make_arguments(exercises)
    with _Repeats():
        torch.zeros(1).copy_(torch.ones(1))


def search(
    module: types.ModuleType, exercises: Sequence[Exercise], tried: Callable[[str], object] = lambda name: None
) -> list[Finding]:
    """What a module holds for these exercises; `tried` hears the name of each callable before it is called."""
    found = [
        Finding(module.__name__, name, one.name)
        for name, value in constants(module)
        for one in exercises
        if not one.calls and same_value(value, one.value)
    ]
    for one in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(one, _LIMIT)
    warnings.simplefilter("ignore")  # numbers that the callables were not made for
    torch.use_deterministic_algorithms(True, warn_only=True)  # torch.empty gives NaN, not old answers
    topic = (module.__name__.split(".")[2:3] or [""])[0]
    near = sorted((one for one in exercises if one.calls), key=lambda one: topic not in one.chapter)
    for name, function in callables(module):
        tried(name)
        found += [Finding(module.__name__, name, one.name) for one in _answered(function, near)]
    return found


def _answered(function: Callable[..., Any], exercises: Sequence[Exercise]) -> Iterator[Exercise]:
    hints, signature = hints_of(function), signature_of(function)
    if signature is None:
        return
    left = {True: SECONDS_MEASURING, False: SECONDS_TOGETHER}
    for one in exercises:
        slow = one.makes_file or _is_slow(one)
        if left[one.measures] <= 0 and not slow:
            continue
        if one.parameters and not signature.parameters:  # a constant, which holds right numbers by chance
            continue
        if not may_return(hints.get("return", Any), one.calls[0].result):
            continue
        started = time.process_time()
        with contextlib.suppress(_Stuck):
            if _answers(function, signature, hints, one):
                yield one
        if not slow:
            left[one.measures] -= time.process_time() - started


def _is_slow(exercise: Exercise) -> bool:
    return AS_LONG * exercise.seconds > SECONDS and not exercise.measures


def _answers(
    function: Callable[..., Any], signature: inspect.Signature, hints: Mapping[str, Any], exercise: Exercise
) -> bool:
    slow = exercise.measures or _is_slow(exercise)

    def tries(call: Call) -> Iterator[dict[str, Any]]:
        return itertools.islice(ways(signature, hints, exercise, call), MOST_SLOW_TRIES if slow else MOST_TRIES)

    telling = [call for call in exercise.calls if agrees(call.result, call, {})]
    first = (telling or exercise.calls)[0]
    others = [call for call in exercise.calls if call is not first]
    seconds = SECONDS_FOR_FILES if exercise.makes_file else max(SECONDS, AS_LONG * exercise.seconds)
    if exercise.measures:
        return any(_measures(function, named, first, SECONDS_TO_MEASURE) for named in tries(first)) and all(
            any(
                rates_near(_result(function, named, SECONDS_TO_MEASURE, LONGER_MEASURING), other, named, factor=10)
                for named in tries(other)
            )
            for other in others
        )
    if not telling:
        # A guess is often right, such as True: one way of passing the arguments must be right for all calls.
        return any(
            _is(_result(function, named, seconds), first)
            and all(
                _is(_result(function, next(itertools.islice(tries(other), way, None), {}), seconds), other)
                for other in others
            )
            for way, named in enumerate(tries(first))
        )
    if not any(
        _agrees(function, named, first, seconds) and (not exercise.launches or _launches(function, named, seconds))
        for named in tries(first)
    ):
        return False
    return all(
        any(agrees(_result(function, named, seconds), other, named, telling=False) for named in tries(other))
        for other in others
    )


def _is(found: Any, call: Call) -> bool:
    """Whether it is the right result, and no argument is that already."""
    if isinstance(call.result, bool):
        return found is call.result
    return (
        found is not None
        and agrees(found, call, {}, telling=False)
        and not any(agrees(value, call, {}, telling=False) for value in [*call.arguments, *call.named.values()])
    )


def _agrees(function: Callable[..., Any], named: Mapping[str, Any], call: Call, seconds: float) -> bool:
    """Whether it gives the right result, and does so again in other memory: its results are kept meanwhile."""
    kept = []
    for _ in range(3):
        kept.append(_result(function, named, seconds))
        if not agrees(kept[-1], call, named):
            return False
    return True


class _Repeats(TorchDispatchMode):
    """Every operation on tensors is done several times, so that whatever it takes part in takes longer."""

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for _ in range(REPEATED):
            result = operation(*args, **(kwargs or {}))
        return result


def _measures(function: Callable[..., Any], named: Mapping[str, Any], call: Call, seconds: float) -> bool:
    """Whether it gives a rate of this order that falls when the work takes longer."""
    for _ in range(2):  # the first one may have been cold
        rates = rates_near(_result(function, named, seconds, LONGER_MEASURING), call, named)
    if not rates:
        return False
    with _Repeats():
        again = _result(function, named, REPEATED * seconds, LONGER_MEASURING)
        slower = rates_near(again, call, named, factor=10 * REPEATED)
    return any(rate < 0.5 * usual for rate, usual in zip(slower, rates, strict=False))


def _launches(function: Callable[..., Any], named: Mapping[str, Any], seconds: float) -> bool:
    from gpulab.trace import counting

    with counting() as launches:
        _result(function, named, seconds)
    return bool(launches)


def _result(
    function: Callable[..., Any], named: Mapping[str, Any], seconds: float, longer: float = LONGER_ASLEEP
) -> Any:
    """What a call gives; None for one that raises."""
    _LIMIT.armed = True
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, longer * seconds)
    try:
        result = function(**{name: _copied(value) for name, value in named.items()})
        if isinstance(result, Iterator):
            result = list(itertools.islice(result, 1000))
        return result
    except _Stuck:
        raise
    except BaseException:
        return None
    finally:
        _LIMIT.armed = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, torch.amp.GradScaler):
        return copy.deepcopy(value)
    return value.clone() if isinstance(value, torch.Tensor) else value
