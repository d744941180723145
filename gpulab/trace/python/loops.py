"""Loops inside a kernel: in which turn of which loops a thread is, so that lanes are compared in the same turn.

A warp runs the turns of a loop together, and lanes that have left it wait at its end. Accesses of two lanes therefore
belong to one request only if they are made in the same turn of the same loops. Turns get numbers, which are equal for
lanes with the same history: the turn around the loop, the place of the loop, how many times the thread came there in
that turn, and the turn of the loop itself. `while_loops` lets `while` loops count their turns in the same way.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterable, Iterator
from sys import _getframe
from types import FrameType

from gpulab.trace.log import Log

LoopSite = tuple[int, int, int]
"""A loop: the turn around it, its code object, its position there."""


class Loops:
    """Numbers of turns, for one launch.

    Args:
        log: that gets each change.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._turns: dict[tuple[LoopSite, int], array[int]] = {}
        self._count = 0
        self.entries: dict[LoopSite, int] = {}
        """How many times before this the running thread came to each loop."""

    def ranged(self, *bounds: int) -> Iterator[int]:
        """What `range` stands for in a kernel."""
        return self._entered(range(*bounds), _getframe(1))

    def turns(self) -> Iterator[int]:
        """What a `while` loop in a kernel goes through until its condition does not hold."""
        return self._entered(itertools.count(), _getframe(1))

    def _entered(self, values: Iterable[int], frame: FrameType) -> Iterator[int]:
        log = self._log
        site = (log.turn, id(frame.f_code), frame.f_lasti)
        before = self.entries.get(site, 0)
        self.entries[site] = before + 1
        return self._run(values, self._turns.setdefault((site, before), array("q")), log)

    def _run(self, values: Iterable[int], turns: array[int], log: Log) -> Iterator[int]:
        outside, known = log.turn, len(turns)
        try:
            for number, value in enumerate(values):
                if number >= known:
                    known += 1
                    self._count += 1
                    turns.append(self._count)
                log.enter(turns[number])
                yield value
        finally:
            log.enter(outside)
