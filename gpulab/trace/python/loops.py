"""`range` inside a kernel: in which turn of which loops a thread is, so that lanes are compared in the same turn.

A warp runs the turns of a loop together, and lanes that have left it wait at its end. Accesses of two lanes therefore
belong to one request only if they are made in the same turn of the same loops. Turns get numbers, which are equal for
lanes with the same history: the turn around the loop, the place of the loop, how many times the thread came there in
that turn, and the turn of the loop itself. The turns of a `while` loop are not seen, but those of a `for` loop inside
one are, by how many times the thread came to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from sys import _getframe

from gpulab.trace.log import Log

Site = tuple[int, int, int]
"""A loop: the turn around it, its code object, its position there."""


class Loops:
    """Numbers of turns, for one launch.

    Args:
        log: that is told of each change.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._turns: dict[tuple[Site, int], list[int]] = {}
        self._count = 0
        self.entries: dict[Site, int] = {}
        """How many times before this the running thread came to each loop."""

    def ranged(self, *bounds: int) -> Iterator[int]:
        """What `range` stands for in a kernel."""
        frame = _getframe(1)
        log = self._log
        site = (log.turn, id(frame.f_code), frame.f_lasti)
        before = self.entries.get(site, 0)
        self.entries[site] = before + 1
        return self._run(range(*bounds), self._turns.setdefault((site, before), []), log)

    def _run(self, values: range, turns: list[int], log: Log) -> Iterator[int]:
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
