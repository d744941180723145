"""Times an exercise against a reference so that the process of the exercise can neither hurry nor stop the clock.

The clock is on the caller's side. It starts with a seed, from which the other side draws its inputs, and stops when a
number is there that only the finished outputs give: which output, and how it is projected to that number, is revealed
after the work is reported done. The other outputs of the round are checked as well, after the clock has stopped. The
reference goes through the same rounds in turn; rounds without work are timed too, and their time is subtracted from
both. In one process, as in a notebook, both sides are here; a judge's `gpulab.backend` reaches two other processes.

Time that is not compared with a reference is up to `timing`. `same` does the same without a clock.
"""

from __future__ import annotations

import importlib
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.backend import Side, current
from gpulab.backend import seed as secret_seed
from gpulab.check.outcomes import Undecided
from gpulab.check.services import require
from gpulab.measuring.devices import device_name, has_gpu, synchronize

ROUNDS = 11
VOID = 10.0
"""Times the reference's speed: nobody is that fast, so something else was measured (KernelBench's rule). A comparison
whose reference moves more than ten times the bytes has a limit of its own."""
LONG_MS = 50.0
"""Work of a round from which its time is good to 5 %; below, to 10 %."""
CHUNK = 1 << 24
"""Elements projected at a time: bounds the memory that looking at an output takes."""
LARGEST_SEED = 1 << 62
LOOKS = 8
"""Parts of an output that are projected each for itself: one sum alone would hide an error now and then."""


class Noisy(Undecided):
    """The times differ too much for the points to be certain: they are pending, and grading again may settle them."""

    cause = "too noisy to tell"


@dataclass(frozen=True)
class Workload:
    """What a timed function is given, and how its output becomes a few numbers.

    It must be importable by name: the process that runs the exercise looks it up, and knows nothing of a reference.
    """

    inputs: Callable[..., tuple[Any, ...]]
    """(seed, **size) → the arguments, drawn on the device."""
    project: Callable[[Any, int], list[float]] | None = None
    """(output, seed) → a few numbers that only the whole output gives, the last ones as `projections_agree` wants them;
    `projection` when left out."""
    keep: Callable[[Any], Any] | None = None
    """What to take of an output at the moment when the call is over, for the projection; all of it when left out."""


@dataclass(frozen=True)
class Comparison:
    """What an exercise is compared with. In a notebook, this is the plain version that stands on the page."""

    name: str
    """Module and name of this object, such as `"some.module:NAME"`: the process of the reference looks it up."""
    workload: str
    """Module and name of a `Workload` in `gpulab`: `"gpulab.chapters.tensor_cores.workloads:LAYER"`."""
    reference: Callable[..., Any]
    """Does the same as the exercise, or moves the same bytes."""
    void: float = VOID
    """Times this reference's speed, above which a speed is void."""


@dataclass(frozen=True)
class Speed:
    """How fast the exercise is: 2 is half the reference's time."""

    median: float
    spread: float
    """Half the distance between the quartiles."""
    rounds: int
    work_ms: float
    """The reference's, in one round, inputs and projection taken off."""
    device: str

    def __str__(self) -> str:
        return f"{self.median:.3g}× ± {self.spread:.2g} of the reference's speed ({self.device}, {self.rounds} rounds)"

    def points(self, most: float, *, none_at: float, all_at: float) -> float:
        """Points in proportion between two speeds.

        Args:
            most: points for `all_at` and above.
            none_at: speed, in multiples of the reference's, at and below which there are none.
            all_at: speed for all points.

        Raises:
            Noisy: the spread is too large to tell, and could decide about points.
        """

        def at(speed: float) -> float:
            return most * min(1.0, max(0.0, (speed - none_at) / (all_at - none_at)))

        band = 0.05 if self.work_ms >= LONG_MS else 0.10
        slow, fast = at(self.median - self.spread), at(self.median + self.spread)
        if self.spread > band * self.median and slow != fast:
            raise Noisy(f"Too noisy to tell, grade again: {self}.")
        return at(self.median)

    def told_points(self, most: float, *, none_at: float, all_at: float, what: str, than: str, hint: str = "") -> float:
        """`points`, and in words for the student what was lost: raised if everything is, printed if a part is.

        Args:
            most: points for `all_at` and above.
            none_at: speed, in multiples of the reference's, at and below which there are none.
            all_at: speed for all points.
            what: what was timed, and how large it was.
            than: what it is compared with, in words that the exercise's text uses.
            hint: a sentence about the usual cause.

        Raises:
            AssertionError: no points.
            Noisy: as for `points`.
        """
        points = self.points(most, none_at=none_at, all_at=all_at)
        told = f"{what}: {self.median:.4g} times as fast as {than}"
        if points == 0:
            raise AssertionError(f"{told}, expected more than {none_at:.4g}. {hint}".rstrip())
        if points < most:
            earned = f"That earns {points:.2f} of {most:g} points; {all_at:.4g} earns all of them."
            print(f"{told}. {earned} {hint}".rstrip())
        return points


def against(
    yours: Callable[..., Any],
    comparison: Comparison,
    *,
    calls: int = 4,
    rounds: int = ROUNDS,
    tolerance: float = 1e-2,
    **size: Any,
) -> Speed:
    """The exercise's speed against the reference of a `Comparison`.

    Args:
        yours: the exercise, by its own name.
        comparison: what it is compared with.
        calls: calls in a round, each with inputs of its own; their outputs are all in memory at the end.
        rounds: how many pairs.
        tolerance: how far a projection may be off, in units of the reference's norm.
        size: passed on to the workload's inputs.

    Raises:
        AssertionError: a timed output is not the reference's, or came impossibly fast.
        Noisy: the work cannot be told from the way there.
        ValueError: `calls` or `rounds` is not positive.
    """
    require("speedup")
    if calls < 1 or rounds < 1:
        raise ValueError(f"calls = {calls}, rounds = {rounds}: both must be positive")
    mine, theirs = (current().speedup or _here)(yours, comparison, size)
    draw = random.Random(f"{secret_seed()}:{comparison.name}")
    _round(theirs, _question(draw, 1))  # warm both, and the outputs of an idle round
    question = _question(draw, 1)
    _check(_round(mine, question), _round(theirs, question), tolerance)
    pairs, without = [], []
    for number in range(rounds):
        question = _question(draw, calls)
        first, second = (mine, theirs) if number % 2 == 0 else (theirs, mine)
        one, two = _round(first, question), _round(second, question)
        answer, expected = (one, two) if number % 2 == 0 else (two, one)
        _check(answer, expected, tolerance)
        pairs.append((answer.seconds, expected.seconds))
        without.append(_round(theirs, question, idle=True).seconds)
    idle_s = statistics.median(without)
    work_s = statistics.median(expected for _, expected in pairs) - idle_s
    least_s = work_s / (
        100 * comparison.void
    )  # an answer that seems to take no time is far beyond what is void, no division by 0
    if work_s < 0.1 * idle_s:
        told = f"the reference's work takes {work_s * 1e3:.3g} ms, next to {idle_s * 1e3:.3g} ms of overhead."
        raise Noisy(f"Too noisy to tell, grade again: {told}")
    speeds = [max(expected - idle_s, least_s) / max(answer - idle_s, least_s) for answer, expected in pairs]
    median = statistics.median(speeds)
    if median > comparison.void:
        took_s, unsure_s = statistics.median(answer for answer, _ in pairs) - idle_s, 2 * _half_range(without)
        if work_s < comparison.void * (took_s + unsure_s):
            told = f"your function's work takes {took_s * 1e3:.3g} ms, give or take {unsure_s * 1e3:.2g} ms."
            raise Noisy(f"Too noisy to tell, grade again: {told}")
        told = f"{median:.3g} times as fast as the reference. More than {comparison.void:g} times counts as a"
        raise AssertionError(f"{told} measurement error and earns no points. Does each call do all of the work?")
    return Speed(median, _half_range(speeds), rounds, work_s * 1e3, device_name())


def same(
    yours: Callable[..., Any], comparison: Comparison, *, times: int = 10, tolerance: float = 1e-2, **size: Any
) -> float:
    """The share of the exercise's calls whose output is the reference's: right every time is 1.0. Nothing is timed.

    Args:
        yours: the exercise, by its own name.
        comparison: what it is compared with; what the workload's `keep` takes of an output is compared.
        times: how many calls, each with inputs of its own.
        tolerance: how far a projection may be off, in units of the reference's norm.
        size: passed on to the workload's inputs.

    Raises:
        ValueError: `times` is not positive.
    """
    require("speedup")
    if times < 1:
        raise ValueError(f"times = {times}: it must be positive")
    mine, theirs = (current().speedup or _here)(yours, comparison, size)
    draw = random.Random(f"{secret_seed()}:{comparison.name}:same")
    agreed = 0
    for _ in range(times):
        question = _question(draw, 1)
        answer, expected = _round(mine, question), _round(theirs, question)
        agreed += projections_agree(answer.numbers[0], expected.numbers[0], tolerance)
    return agreed / times


def find(where: str) -> Workload:
    """The workload of that name.

    Raises:
        ValueError: there is none in this package.
    """
    module, _, name = where.partition(":")
    found = getattr(importlib.import_module(module), name, None) if module.startswith("gpulab.") else None
    if not isinstance(found, Workload):
        raise ValueError(f"{where!r}: expected module and name of a Workload in gpulab, such as gpulab.chapters.x:NAME")
    return found


class Here:
    """A side in this process: the exercise's own process when there are two, this one otherwise."""

    def __init__(self, function: Callable[..., Any], workload: Workload, size: dict[str, Any]) -> None:
        self._function, self._workload, self._size = function, workload, size
        self._outputs: list[Any] = []

    def go(self, seed: int, calls: int, idle: bool) -> None:
        """See `Side`."""
        if not idle:
            self._outputs.clear()  # before the inputs: neither side should run out of memory over what is not needed
        made = [self._workload.inputs((seed + number) % LARGEST_SEED, **self._size) for number in range(calls)]
        if not idle:
            keep = self._workload.keep or (lambda output: output)
            self._outputs += [keep(self._function(*arguments)) for arguments in made]
        synchronize()

    def project(self, which: int, seed: int) -> list[float]:
        """See `Side`."""
        output = self._outputs[which % len(self._outputs)]
        return (self._workload.project or projection)(output, seed)


# ------------------------------------------------------------------------------------------------------ one round


@dataclass(frozen=True)
class _Question:
    """What both sides are asked in one round."""

    seed: int
    looks: tuple[tuple[int, int], ...]
    """Number of an output and seed of its projection, for every output; the first one is on the clock."""


@dataclass(frozen=True)
class _Round:
    seconds: float
    numbers: list[list[float]]
    """Of each look."""


def _question(draw: random.Random, calls: int) -> _Question:
    order = draw.sample(range(calls), calls)
    return _Question(draw.randrange(LARGEST_SEED), tuple((which, draw.randrange(LARGEST_SEED)) for which in order))


def _round(side: Side, question: _Question, idle: bool = False) -> _Round:
    first, *others = question.looks
    started = time.perf_counter()
    side.go(question.seed, len(question.looks), idle)
    # Only now: an answer that knew it before could work on this one output and skip the rest.
    numbers = [side.project(*first)]
    seconds = time.perf_counter() - started
    if not idle:  # if only one were checked, an answer that skips one output of several would pass by luck
        numbers += [side.project(*look) for look in others]
    return _Round(seconds, numbers)


def _check(answer: _Round, expected: _Round, tolerance: float) -> None:
    pairs = zip(answer.numbers, expected.numbers, strict=True)
    if not all(projections_agree(mine, theirs, tolerance) for mine, theirs in pairs):
        told = "While it was timed, your function did not return what the reference returns."
        raise AssertionError(f"{told} Is it right for large inputs, and does it keep nothing from earlier calls?")


def _half_range(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return (upper - lower) / 2


# ---------------------------------------------------------------------------------------------------- projections


def projection(output: Any, seed: int) -> list[float]:
    """Extents, norm, and sums of the elements times random normal numbers: all of it is needed to get them right.

    Args:
        output: tensor or array of any shape and number type.
        seed: of the random numbers.
    """
    import torch

    tensor = torch.as_tensor(output, device="cuda" if has_gpu() else "cpu").detach()
    generator = torch.Generator(device=tensor.device).manual_seed(seed)
    norm = torch.zeros((), dtype=torch.float64, device=tensor.device)
    sums = torch.zeros(LOOKS, dtype=torch.float64, device=tensor.device)
    rows = max(1, CHUNK // max(1, tensor[:1].numel())) if tensor.ndim else 1
    # By rows, not flattened: a result cut out of a padded one would be copied whole, on the clock.
    for chunk in torch.split(tensor, rows) if tensor.ndim else (tensor,):
        values = chunk.to(torch.float32)
        weights = torch.randn(values.shape, generator=generator, device=tensor.device)
        sums += in_parts(values * weights)
        norm = norm + (values * values).sum().double()
    return [float(extent) for extent in tensor.shape] + [math.sqrt(float(norm)), *sums.tolist()]


def in_parts(products: Any) -> Any:
    """`LOOKS` sums, each over its part of a tensor."""
    import torch

    return torch.stack([part.sum() for part in products.flatten().tensor_split(LOOKS)]).double()


def projections_agree(answer: list[float], expected: list[float], tolerance: float) -> bool:
    """Whether two outputs have one shape, one norm, and projections that differ by rounding only.

    Args:
        answer: extents or whatever else must be equal; the norm; `LOOKS` sums.
        expected: the same of the reference's output.
        tolerance: of the norm, and of the distance between the sums, in units of the norm.
    """
    if len(answer) != len(expected) or answer[: -1 - LOOKS] != expected[: -1 - LOOKS]:
        return False
    norm, most = expected[-1 - LOOKS], tolerance * expected[-1 - LOOKS]
    near = abs(answer[-1 - LOOKS] - norm) <= most and math.dist(answer[-LOOKS:], expected[-LOOKS:]) <= most
    return near and math.isfinite(norm)  # False for NaN


def _here(yours: Callable[..., Any], comparison: Comparison, size: dict[str, Any]) -> tuple[Side, Side]:
    workload = find(comparison.workload)
    return Here(yours, workload, size), Here(comparison.reference, workload, size)
