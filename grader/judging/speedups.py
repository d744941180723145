"""The judge's side of `gpulab.measuring.speedup`: an exercise and its reference, each in its own process, timed here.

The exercise runs in a process that holds its own cell alone, and looks a workload up in `gpulab`. The reference runs in
a process with nothing of the student's in it, and looks a comparison up in `grader.exercises`, which only that process
and the judge can import.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpulab.check.outcomes import Undecided
from grader.judging.judge_client import BadValue, Link, ProcessEnded
from grader.processes.channel import Channel

if TYPE_CHECKING:
    from gpulab.measuring.speedup import Comparison

ALONE_ROUNDS = 5


@dataclass
class RemoteSide:
    """One of the two that are timed; see `gpulab.backend.Side`."""

    link: Link
    channel: Channel
    name: str
    """Of the exercise; empty for the reference."""
    where: str
    """The workload's name, for the exercise; the comparison's, for the reference."""
    size: dict[str, Any]
    work: list[tuple[int, int, float]] = field(default_factory=list)
    """Seed, calls and seconds of the rounds that were worked in."""
    timed: list[RemoteSide] | None = None
    """Where to enter itself once it turns out to be on a clock: what is only compared has no rounds without work."""

    def go(self, seed: int, calls: int, idle: bool) -> None:
        """Has the process draw its inputs and, unless idle, make its calls.

        Raises:
            StudentError, BadValue, TooSlow, ProcessEnded: as for a call of the exercise.
        """
        started = time.perf_counter()
        self._ask(step="go", seed=seed, calls=calls, idle=idle)
        if not idle:
            self.work.append((seed, calls, time.perf_counter() - started))
        elif self.timed is not None:
            self.timed.append(self)
            self.timed = None

    def project(self, which: int, seed: int) -> list[float]:
        """What one of the outputs projects to."""
        numbers = self._ask(step="project", which=which, seed=seed).get("numbers")
        if not isinstance(numbers, list) or not all(isinstance(one, float) for one in numbers):
            self.link.dead = ProcessEnded("the answer could not be read (no numbers in it)")
            raise self.link.dead
        return numbers

    def _ask(self, **request: Any) -> dict[str, Any]:
        whole = {"op": "speedup", "name": self.name, "where": self.where, "size": self.size, **request}
        answer, _ = self.link.ask(whole, channel=self.channel)
        if self.name:
            self.link.used = True
            self.link.refuse(self.name, answer, "it is timed")
        elif "error" in answer:
            raise Undecided(f"The reference of {self.where} failed: {answer['error'][:2]}")
        return answer


@dataclass
class Speedups:
    """The speedups of one test cell."""

    link: Link
    reference: Channel
    """To a process that has run nothing of the student's."""
    run: list[RemoteSide] = field(default_factory=list)
    """The reference's sides of the speedups so far that were timed."""

    def sides(
        self, yours: Callable[..., Any], comparison: Comparison, size: dict[str, Any]
    ) -> tuple[RemoteSide, RemoteSide]:
        """What `gpulab.backend.Backend.speedup` wants.

        Raises:
            BadValue: the test wants to time what is no function of the student's.
        """
        if self.link.clean is None:
            raise BadValue("nothing of this test can be timed")
        mine = RemoteSide(self.link, self.link.clean, yours.__name__, comparison.workload, size)
        return mine, RemoteSide(self.link, self.reference, "", comparison.name, size, timed=self.run)

    def slowed(self) -> float:
        """How many times as long the references took during the exercise as they take now that it has ended.

        What the exercise left running (a thread, a kernel) during the reference's turns would flatter it.
        """
        return max((_slowed(side) for side in self.run if side.work), default=1.0)


def _slowed(side: RemoteSide) -> float:
    most = max(calls for _, calls, _ in side.work)
    rounds = [one for one in side.work if one[1] == most]
    beside = statistics.median(seconds for _, _, seconds in rounds)
    del side.work[:]
    for seed, calls, _ in rounds[:ALONE_ROUNDS]:  # the whole round, that caches and heaps may be as they were
        side.go(seed, calls, idle=False)
        for which in range(calls):
            side.project(which, seed)
        side.go(seed, calls, idle=True)
    return beside / statistics.median(seconds for _, _, seconds in side.work)
