"""A GPU to practice on: the visible half of a measuring exercise's test calls it on one whose rates are known.

The grader's GPUs are its own; their rates are drawn anew and are known to nobody.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from gpulab.virtual_gpu.operations import MAKING

LAUNCH_S = 1e-7
COLD, SLOW = 8.0, 7.2
"""How many times as long the first operation of a kind takes, and the one that something else disturbs."""
SLOW_RUN = 3
"""The timed run that something else disturbs: it spoils a mean, and no median."""
ASKED = 2
"""Each question whether the GPU is done takes 1/ASKED of the remaining time, but at least as long as a launch."""
HOST = ("host", "host copy", "host matmul", "pin")
"""What the host does by itself."""
OTHER = "another transfer or kernel"
"""What has no rate."""
FEWEST = 3
"""Timed runs of which a median can be taken."""
FEW = "Fewer than three measurements: one slow run spoils a mean; take the median of several."
TOLERANCE, NAMED = 0.02, 0.003
"""How near an answer must be to the right one, and a wrong one to that of a known mistake."""

Hints = Iterable[tuple[float, str]]
"""Known wrong answers, each with what to say about it; the first that is near enough is told."""


class PracticeGPU:
    """See `gpulab.virtual_gpu.MachineModel`. One for each call of the exercise.

    Args:
        rates: kind of operation, such as `"h2d pinned"` or `"matmul float32"` → bytes or FLOPs per second.
        work: what is measured, in a word: `transfer`.
        making: operations that make data, or room for them, and are not to be measured.
        making_gbs: how fast all of these are.
    """

    def __init__(
        self, rates: Mapping[str, float], work: str, making: tuple[str, ...] = HOST, making_gbs: float = 1.0
    ) -> None:
        self.rates, self._work, self._making, self._making_gbs = dict(rates), work, making, making_gbs
        self._now, self._busy_until = 100.0, 0.0
        self._events: dict[int, float] = {}
        self.amounts: defaultdict[str, list[float]] = defaultdict(list)
        """Kind of operation → bytes or FLOPs of each."""
        self.runs: Counter[str] = Counter()
        """Kind of operation → how many there were."""
        self._since_look: Counter[str] = Counter()
        self._cached: Counter[int] = Counter()
        self._last_look_s: float | None = None
        self._spans: list[tuple[Counter[str], float]] = []
        """Operations between two looks at the clock, and the seconds from one to the other."""
        self.early = False
        """Whether the clock was read while an operation was under way."""
        self._inside: Counter[str] = Counter()
        """What else stood between two looks at the clock, in words → in how many timed runs."""

    def run(self, operations: list[list[Any]]) -> float:
        """See `gpulab.virtual_gpu.MachineModel`."""
        value = 0.0
        for name, *given in operations:
            value = self._one(name, given)
        return value

    def require_rate(
        self, answer: Any, right: float, kind: str, amount: float, what: str, absent: str, hints: Hints
    ) -> None:
        """Passes if the answer is this GPU's rate.

        Args:
            answer: to check.
            right: the right one.
            kind: of the operation that was to be measured.
            amount: its bytes or FLOPs.
            what: the call in words, with the unit.
            absent: what to say where there was no such operation.
            hints: of the exercise.

        Raises:
            AssertionError: it is not; the message names the mistake that it looks like.
        """
        if not isinstance(answer, Real) or isinstance(answer, bool) or not 0 < float(answer) < math.inf:
            given = type(answer).__name__
            hint = " Is there a return statement?" if answer is None else ""
            hint = (
                " Is it rounded to 0, or divided with //?"
                if given.startswith(("int", "float")) and answer == 0
                else hint
            )
            raise AssertionError(f"{what}: you returned {answer!r:.60} ({given}), expected {right:.4g}.{hint}")
        value = float(answer)
        if abs(value / right - 1) > TOLERANCE:
            near = next((words for wrong, words in hints if abs(value / wrong - 1) < NAMED), "")
            seconds = amount / self.rates[kind] * right / value
            hint = self._of_other_size(kind, amount)
            if not hint and (together := self._together(kind, seconds)):
                hint = f"{together} Or: {near}" if near else together
            hint = hint or ("" if self._mean(kind, seconds) else near)
            hint = hint or ("It is rounded: return the number as it is." if rounded(value, right) else "")
            hint = hint or (self._seen_to_be_wrong(kind, seconds, value > right) if self.runs[kind] else absent)
            raise AssertionError(f"{what}: you returned {value:.4g}, expected {right:.4g} within 2%. {hint}")
        if self._timed(kind) < FEWEST:
            raise AssertionError(f"{what}: {value:.4g} is right here, but not reliable. {FEW}")

    def _of_other_size(self, kind: str, amount: float) -> str:
        """What to say if no operation of that kind had the size that was asked for."""
        return ""

    def _together(self, kind: str, seconds: float) -> str:
        """What to say if that is the time of several operations."""
        timed = [(kinds[kind], span_s) for kinds, span_s in self._spans if kinds[kind]]
        timed.append((sum(count for count, _ in timed), sum(span_s for _, span_s in timed)))
        if self.early or not any(count > 1 and abs(seconds / span_s - 1) < NAMED for count, span_s in timed):
            return ""
        return "That is the time of several runs together: divide it by their number."

    def _seen_to_be_wrong(self, kind: str, seconds: float, faster: bool) -> str:
        """What is wrong with an operation that was found to take so long, or even less time than it does."""
        if self._last_look_s is None:
            return "Which clock did it read? This GPU knows time.perf_counter() and events."
        if self.early:
            return f"Not synchronized? A launch returns before the {self._work} is done."
        inside = sorted(words for words, count in self._inside.items() if 2 * count > len(self._spans))
        if inside:  # in most runs: a first run alone may allocate its result
            return f"More than the {self._work} is timed: {' and '.join(inside)}."
        if not self._timed(kind):
            return untimed(self._work)
        if self.runs[kind] < FEWEST:
            few = f"Only {self.runs[kind]} of them were seen: warm up, measure more than once, and take the median."
            return f"A cold first {self._work}, or a slow moment? {few}"
        if self._timed(kind) < FEWEST:
            return FEW
        if faster:
            return f"Faster than this GPU. Does each {self._work} have the size that was asked for?"
        spans = [kinds for kinds, _ in self._spans if kinds[kind]]
        others = sorted(
            one for one in self.rates if one != kind and 2 * sum(one in kinds for kinds in spans) > len(spans)
        )
        if others:
            return f"More than the {self._work} is timed: {' and '.join(others)} as well."
        if any(abs(seconds / span_s - 1) < NAMED for kinds, span_s in self._spans if kinds[kind]):
            return "That is one slow run, such as the first or the slowest one: take the median of several."
        return f"A cold first {self._work}, or a mean? One slow run spoils a mean; take the median of several."

    def _mean(self, kind: str, seconds: float) -> bool:
        """Whether that is the mean of all timed operations of a kind."""
        timed = [(kinds[kind], span_s) for kinds, span_s in self._spans if kinds[kind]]
        count, total_s = sum(count for count, _ in timed), sum(span_s for _, span_s in timed)
        return bool(timed) and abs(seconds * count / total_s - 1) < NAMED

    def _timed(self, kind: str) -> int:
        """Runs of an operation, between two looks at the clock; a run may hold several operations."""
        return sum(kind in kinds for kinds, _ in self._spans)

    def _one(self, name: str, given: list[Any]) -> float:
        if name in ("h2d", "d2h"):
            _, nbytes, pinned, non_blocking = given[:4]
            self._queue(f"{name} {'pinned' if pinned else 'pageable'}", nbytes)
            if not (pinned and non_blocking):
                self._wait()
        elif name == "copy":
            self._queue("copy", given[1])
        elif name == "matmul":
            _, flops, dtype, constant, tf32 = given[:5]
            self._queue(f"matmul {dtype}{' tf32' if tf32 else ''}{' constant' if constant else ''}", flops)
        elif name == "free":
            self._cached[given[0]] += 1
        elif name == "empty cache":
            self._cached.clear()
        elif name == "alloc" and self._cached[given[0]]:
            self._cached[given[0]] -= 1  # as PyTorch does, at no cost
        elif name in self._making:
            self._now += given[1 if name == "touch" else 0] / self._making_gbs / 1e9
            self._since_look[name] += 1
        elif name in ("wait", "sync event"):
            self._wait()
        elif name in ("record", "clock"):
            return self._look(name, given)
        elif name == "elapsed":
            return 1e3 * (self._events.get(given[1], 0.0) - self._events.get(given[0], 0.0))
        elif name in ("done", "idle"):
            return self._passed(self._events.get(given[0], 0.0) if name == "done" else self._busy_until)
        elif name == "sleep":
            self._now += given[0]
        return 0.0

    def _look(self, name: str, given: list[Any]) -> float:
        seen_s = self._now
        if name == "record":
            seen_s = self._events[given[0]] = max(self._now, self._busy_until)
        if self._last_look_s is not None and any(kind in self._since_look for kind in self.rates):
            self._spans.append((self._since_look.copy(), seen_s - self._last_look_s))
            self.early |= name == "clock" and self._busy_until > self._now
            self._inside.update({MAKING.get(kind, kind) for kind in (*self._making, OTHER) if self._since_look[kind]})
        self._since_look.clear()
        self._last_look_s = seen_s
        self._now += LAUNCH_S
        return self._now

    def _passed(self, moment_s: float) -> float:
        """Whether that moment has passed; each question takes time, so that a loop of them ends soon."""
        self._now += max(LAUNCH_S, (moment_s - self._now) / ASKED)
        return float(moment_s <= self._now)

    def _wait(self) -> None:
        self._now = max(self._now, self._busy_until)

    def _queue(self, kind: str, amount: float) -> None:
        """An operation of the GPU; one of a kind that has no rate takes no time."""
        if kind not in self.rates:
            self._since_look[OTHER] += 1
            return
        self.runs[kind] += 1
        self.amounts[kind].append(amount)
        self._since_look[kind] += 1
        slow = COLD if self.runs[kind] == 1 else 1.0
        if self._since_look[kind] == 1 and self._last_look_s is not None and self._timed(kind) == SLOW_RUN - 1:
            slow = SLOW
        self._now += LAUNCH_S
        self._busy_until = max(self._now, self._busy_until) + slow * amount / self.rates[kind]


def untimed(work: str) -> str:
    """What to say if operations of the kind were seen, but none in the timed runs."""
    plain = "left @ right" if work == "product" else "target.copy_(source)"
    return f"In the timed runs, no {work} was seen: use {plain}. What else does the same counts as another kernel."


def rounded(value: float, right: float) -> bool:
    """Whether that is the right number, rounded or cut off to 0, 1, or 2 places."""
    near = (right, 0.999 * right)  # what is measured is a little less, and is what was cut off
    return any(
        value == round(value, places) and any(abs(value - one) < 10.0**-places for one in near) for places in range(3)
    )
