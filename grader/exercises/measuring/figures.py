"""The cases of the exercises that measure, and what is wrong with a number that is not the simulated GPU's."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from gpulab import check
from gpulab.check.outcomes import Undecided
from gpulab.virtual_gpu.operations import MAKING
from gpulab.virtual_gpu.practice import FEW, OTHER, rounded, untimed
from grader.exercises.measuring.machine import FIRST_SLOW, SHORTEST_S, Machine

TOLERANCE = 0.02
"""Launches, waits and looks at the clock are under 0.3% of what is measured; the rest is room for rounding."""
NAMED = 0.005
"""How near a wrong figure is to that of a known mistake."""
SAME = 1e-9
"""How near two figures are that were not measured."""
FEWEST = 3
"""Operations, or timed runs of them, of which a median can be taken."""


class UnknownClock(Undecided):
    """The exercise did its work and looked at a clock that the simulated GPU does not have."""


@dataclass(frozen=True)
class Case:
    """One call of an exercise that measures."""

    machine: Machine
    arguments: tuple[Any, ...]
    what: str
    """The call in words, with the unit: `copying 2000000 bytes, in GB/s`."""
    kind: str
    """The operation that is to be measured."""
    amount: int
    """Its bytes or FLOPs."""
    figure: float
    """The right answer."""
    named: tuple[tuple[float, str], ...]
    """Known wrong answers, as multiples of the right one, and what to say about each."""
    work: str
    """What is measured: `copy`."""
    absent: str
    """What to say where the function did no such work."""

    @property
    def seconds(self) -> float:
        """Of one such operation."""
        return self.machine.seconds(self.kind, self.amount)


# ------------------------------------------------------------------------------------------------------- questions


def copies(seed: int) -> list[Case]:
    """Calls of `copy_bandwidth(nbytes)`: one size on two GPUs, and another size."""
    draw = random.Random(f"{seed}:copies")
    first, second = (4096 * draw.randint(75, 150) for _ in range(2))
    slow, times = _slow_runs(draw), _times(draw)
    return [
        _copy(draw, nbytes, next(slow), seconds) for nbytes, seconds in zip((first, first, second), times, strict=True)
    ]


def _copy(draw: random.Random, nbytes: int, first_slow: int, seconds: float) -> Case:
    machine = Machine(draw, "copy", nbytes, first_slow, seconds)
    named = ((0.5, "That counts one direction: every byte is read and written."), *_units(1e9, "GB/s"))
    absent = "No copy within the memory of gpulab.device(), which is a simulated GPU here, was seen."
    figure = 2 * nbytes / machine.seconds("copy", nbytes) / 1e9
    what = f"copying {nbytes} bytes on a simulated GPU, in GB/s"
    return Case(machine, (nbytes,), what, "copy", nbytes, figure, named, "copy", absent)


def transfers(seed: int) -> list[Case]:
    """Calls of `transfer_bandwidth(nbytes, pinned, direction)`: every way, and one of them on two GPUs."""
    draw = random.Random(f"{seed}:transfers")
    ways = [(pinned, way) for way in ("h2d", "d2h") for pinned in (False, True)]
    draw.shuffle(ways)
    nbytes, slow = 4096 * draw.randint(60, 120), _slow_runs(draw)
    cases = [_transfer(draw, nbytes, *ways[0], next(slow), seconds) for seconds in list(_times(draw))[:2]]
    cases += [_transfer(draw, 4096 * draw.randint(60, 120), *way, next(slow), None) for way in ways[1:]]
    return cases


def _transfer(draw: random.Random, nbytes: int, pinned: bool, way: str, first_slow: int, seconds: float | None) -> Case:
    kind = f"{way} {'pinned' if pinned else 'pageable'}"
    machine = Machine(draw, kind, nbytes, first_slow, seconds)
    figure = nbytes / machine.seconds(kind, nbytes) / 1e9
    named = [(2.0, "Each byte crosses once: is it counted twice?"), *_units(1e9, "GB/s")]
    named.append((0.25, "A quarter: are elements of four bytes each counted, not bytes?"))
    for other in ("h2d pinned", "h2d pageable", "d2h pinned", "d2h pageable"):
        if other != kind:
            rate = nbytes / machine.seconds(other, nbytes) / 1e9 / figure
            slip = "is nothing pinned?" if pinned else "was pageable memory pinned?"
            if not other.startswith(way):
                slip = "is it the wrong direction?"
            named.append((rate, f"That is the rate of {other}: {slip}"))
    what = f"{nbytes} bytes, {kind.split()[1]}, {way}, on a simulated GPU, in GB/s"
    absent = f"No such transfer ({kind}) was seen between the host and gpulab.device(), a simulated GPU here."
    absent += " Is nothing pinned?" if pinned else ""
    return Case(machine, (nbytes, pinned, way), what, kind, nbytes, figure, tuple(named), "transfer", absent)


def products(seed: int) -> list[Case]:
    """Calls of `matmul_tflops(n, dtype)`: one of them on two GPUs, and two other types."""
    draw = random.Random(f"{seed}:products")
    times, slow = _times(draw), _slow_runs(draw)
    n = 16 * draw.randint(4, 6)
    cases = [_product(draw, n, "float32", next(slow), next(times)) for _ in range(2)]
    cases += [_product(draw, 16 * draw.randint(4, 6), dtype, next(slow), None) for dtype in ("bfloat16", "float16")]
    return cases


def _product(draw: random.Random, n: int, dtype: str, first_slow: int, seconds: float | None) -> Case:
    kind, flops = f"matmul {dtype}", 2 * n**3
    machine = Machine(draw, kind, flops, first_slow, seconds)
    right = machine.seconds(kind, flops)
    named = [
        (0.5, "One FLOP per multiply-add: a multiplication and an addition are 2 FLOPs."),
        (1 / n, "Too few FLOPs counted: n multiply-adds for each of the n² results."),
        (
            machine.constant_factor,
            "Constant data, torch.empty, two values, or numbers in order? These draw less power and run faster: "
            "use torch.randn.",
        ),
        (3 * (4 if dtype == "float32" else 2) / (2 * n), "Those are the bytes of the matrices, not the FLOPs."),
        (1e-3, "The time is in milliseconds: return FLOPs per second."),
        (1e3, "That looks like GFLOPS: a TFLOPS is 1000 of them."),
        (1e6, "That looks like MFLOPS: a TFLOPS is 1e12 per second."),
        (1e12, "That looks like FLOPS: a TFLOPS is 1e12 per second."),
        (1e12 / 2**40, "That is divided by 2^40: a TFLOPS is 1e12 per second."),
    ]
    if dtype == "float32":
        named.append((right / machine.seconds("matmul float32 tf32", flops), "TF32 is on: float32 means all its bits."))
    what = f"{n} × {n} × {n} in {dtype} on a simulated GPU, in TFLOPS"
    absent = f"No product of {dtype} matrices of that size on gpulab.device(), a simulated GPU here, was seen."
    return Case(machine, (n, dtype), what, kind, flops, flops / right / 1e12, tuple(named), "product", absent)


def _slow_runs(draw: random.Random) -> Iterator[int]:
    """Which timed run is slow first, machine by machine: another one on each of the first three."""
    return itertools.cycle(draw.sample(FIRST_SLOW, len(FIRST_SLOW)))


def _times(draw: random.Random) -> Iterator[float]:
    """Seconds of one operation on GPUs that differ by factors that nobody can guess."""
    times = [SHORTEST_S * draw.uniform(1.0, 1.2)]
    times.append(times[0] * draw.uniform(1.5, 2.8))
    times.append(times[0] * draw.uniform(1.2, 3.0))
    if draw.random() < 0.5:
        times[:2] = reversed(times[:2])
    return iter(times)


def _units(per_second: float, unit: str) -> tuple[tuple[float, str], ...]:
    return (
        (per_second, "That looks like bytes per second: a GB is 1e9 bytes."),
        (1e3, "That looks like MB/s: a GB is 1000 MB."),
        (1e6, "That looks like kB/s: a GB is 1e9 bytes."),
        (1e-3, "A thousand times too small: is a time in milliseconds taken for seconds, or is it in TB/s?"),
        (8.0, "That looks like bits: GB/s counts bytes."),
        (1e9 / 2**30, "That looks like GiB (2^30 bytes): a GB is 1e9 bytes."),
    )


# -------------------------------------------------------------------------------------------------------- verdicts


def require_measured(found: Sequence[tuple[Case, Any]]) -> None:
    """Passes if every answer is the figure of its simulated GPU, and was measured.

    Args:
        found: the cases of one exercise, each with what the exercise returned. The first two have equal arguments.

    Raises:
        WrongAnswer: an answer is no positive number.
        AssertionError: it is not the figure, or came from too few operations.
        UnknownClock: it can be neither.
    """
    for case, answer in found:
        if not isinstance(answer, Real) or isinstance(answer, bool) or not 0 < float(answer) < math.inf:
            check.close(answer, case.figure, case.what, rtol=TOLERANCE)
    answers = [(case, float(answer)) for case, answer in found]
    (one, first), (two, second) = answers[:2]
    if abs(first / second - 1) <= SAME:
        slower = max(one.seconds, two.seconds) / min(one.seconds, two.seconds)
        work = "" if _times_done(one) or _times_done(two) else f" {one.absent}"
        said = (
            f"{one.what}: you returned {first:.6g}, expected {one.figure:.6g}, and the same on another GPU, where it "
            f"is {two.figure:.6g}"
        )
        if not work and rounded(first, one.figure) and rounded(second, two.figure):
            raise AssertionError(f"{said}. It is rounded: return the number as it is.")
        raise AssertionError(f"{said} ({slower:.3g} times slower or faster): was it measured?{work}")
    wrong = [(case, answer) for case, answer in answers if abs(answer / case.figure - 1) > TOLERANCE]
    for case, answer in wrong or answers:
        problem = _problem(case, answer, wrong)
        if problem and not case.machine.looks and _times_done(case) >= FEWEST:
            raise UnknownClock(f"{problem} Which clock did it read? The grader cannot tell: use time.perf_counter().")
        if problem:
            raise AssertionError(problem)


def _problem(case: Case, answer: float, wrong: Sequence[tuple[Case, float]]) -> str:
    """What is wrong with an answer; nothing when it is right."""
    said = f"{case.what}: you returned {answer:.6g}, expected {case.figure:.6g} within {100 * TOLERANCE:g}%."
    times = _times_done(case)
    timed = sum(case.kind in span.kinds for span in case.machine.spans[1:-1])
    if not wrong:
        if times < FEWEST:
            return f"{said} Only {times} of them were seen: was it measured, and more than once?"
        return f"{said} {FEW}" if timed < FEWEST else ""
    fitting = Counter(words for other, given in wrong for words in set(_named(other, given)))
    mine = sorted(_named(case, answer), key=lambda words: -fitting[words])
    if all(_together(other, given) for other, given in wrong):
        # One operation for another may look like two that are not divided by their number.
        return said if mine else f"{said} That is the time of several runs together: divide it by their number."
    if mine and all(_named(other, given) for other, given in wrong):
        # Chance makes one figure look like another mistake, but not several.
        return f"{said} {mine[0]}"
    if not times and not any(map(_times_done, (other for other, _ in wrong))):
        if case.machine.done.get(case.kind):
            return f"{said} Each {case.work} there had another size than the one that was asked for."
        return f"{said} {case.absent} Was it measured?"
    if times and not timed and case.machine.looks:
        return f"{said} {untimed(case.work)}"
    few = f"Only {times} of them were seen: warm up, measure more than once, and take the median."
    if 0 < times < FEWEST and answer < case.figure:
        return f"{said} Too slow: a cold first {case.work}, or a slow moment? {few}"
    if inside := next(filter(None, (_inside(other) for other, given in wrong if given < other.figure)), ""):
        return f"{said} More than the {case.work} is timed, such as {inside}."
    if not times:
        return f"{said} {case.absent}"
    if 0 < timed < FEWEST and answer < case.figure:
        return f"{said} {FEW}"
    early = case.machine.early_looks > 0
    if rounded(answer, case.figure) and not early:
        return f"{said} It is rounded: return the number as it is."
    if answer > case.figure:
        reason = (
            f"Not synchronized? A launch returns before the {case.work} is done." if early else "Is too much counted?"
        )
        return f"{said} Faster than the GPU. {reason}"
    return (
        f"{said} Too slow: a cold first {case.work}, or a mean? One slow run spoils a mean; take the median of several."
    )


def _times_done(case: Case) -> int:
    return sum(amount == case.amount for amount in case.machine.done.get(case.kind, ()))


def _named(case: Case, answer: float) -> list[str]:
    """The known mistakes that give this answer."""
    found = [words for wrong, words in case.named if abs(answer / case.figure / wrong - 1) <= NAMED]
    if any(abs(answer / (case.seconds * unit) - 1) <= NAMED for unit in (1.0, 1e3, 1e6, 1e9)):
        found.append("That looks like a time, not a rate.")
    return found


def _together(case: Case, answer: float) -> bool:
    """Whether the time of several operations counts as that of one: between two looks at the clock, or in all."""
    spans = case.machine.spans
    timed = [
        (span.kinds[case.kind], span.end_s - before.end_s)
        for before, span in itertools.pairwise(spans[:-1])
        if span.kinds[case.kind]
    ]
    timed.append((sum(count for count, _ in timed), sum(seconds for _, seconds in timed)))
    taken = case.figure * case.seconds / answer
    return any(count > 1 and abs(taken / seconds - 1) <= NAMED for count, seconds in timed)


def _inside(case: Case) -> str:
    """What else happened between two looks at the clock, beside the operation to be measured, most of the time."""
    spans = [span.kinds for span in case.machine.spans[1:-1] if span.kinds[case.kind]]  # the ends are off the clock
    others: Counter[str] = Counter()
    for kinds in spans:
        others.update({MAKING.get(kind, OTHER) for kind in kinds if kind != case.kind})
    return " and ".join(words for words, count in others.most_common(2) if 2 * count > len(spans))
