"""A GPU to practice on: the visible half of a measuring exercise's test calls it on this one, whose rates are known.

The grader's GPUs are its own; their rates are drawn anew and are known to nobody.
"""

from __future__ import annotations

import math
from collections import Counter
from numbers import Real
from typing import Any

RATES_GBS = {"h2d pinned": 25.7, "h2d pageable": 10.0, "d2h pinned": 22.1, "d2h pageable": 8.5}
"""About those of an A100 on PCIe 4; all different, so that a mistake shows which way was taken."""
LAUNCH_S = 1e-7
SLOW_RUN = 4
"""The run that something else disturbs: it spoils a mean, and no median."""
HOST_GBS = 1.0
"""Of everything that the host does by itself: making data, allocating, pinning."""
HOST = ("host", "host copy", "host matmul", "pin", "alloc")


class PracticeGPU:
    """See `gpulab.virtual_gpu.MachineModel`. One for each call; `faster` multiplies every rate of the link."""

    def __init__(self, faster: float = 1.0) -> None:
        self.rates_gbs = {way: faster * rate for way, rate in RATES_GBS.items()}
        self._now, self._busy_until = 100.0, 0.0
        self._events: dict[int, float] = {}
        self._runs: Counter[str] = Counter()
        self._since_look: Counter[str] = Counter()
        self._looked = False
        self.early = False
        """Whether the clock was read while a transfer was under way."""
        self.inside: set[str] = set()
        """What the host did between two looks at the clock that also held a transfer."""

    def run(self, operations: list[list[Any]]) -> float:
        """See `gpulab.virtual_gpu.MachineModel`."""
        value = 0.0
        for name, *given in operations:
            value = self._one(name, given)
        return value

    def require(self, answer: Any, nbytes: int, pinned: bool, direction: str) -> None:
        """Passes if the answer is this GPU's rate.

        Raises:
            AssertionError: it is not; the message names the mistake that it looks like.
        """
        way = f"{direction} {'pinned' if pinned else 'pageable'}"
        right = self.rates_gbs[way]
        what = f"transfer_bandwidth({nbytes}, {pinned}, {direction!r}) on a simulated GPU, in GB/s"
        if not isinstance(answer, Real) or isinstance(answer, bool) or not 0 < float(answer) < math.inf:
            kind = type(answer).__name__
            raise AssertionError(f"{what}: you returned {answer!r:.60} ({kind}), expected {right:.4g}.")
        given = float(answer)
        if abs(given / right - 1) > 0.02:
            hint = self._hint(given, nbytes, way)
            raise AssertionError(f"{what}: you returned {given:.4g}, expected {right:.4g} within 2%. {hint}")

    def _one(self, name: str, given: list[Any]) -> float:
        if name in ("h2d", "d2h"):
            _, nbytes, pinned, non_blocking = given
            self._transfer(f"{name} {'pinned' if pinned else 'pageable'}", nbytes)
            if not (pinned and non_blocking):
                self._wait()
        elif name in HOST:
            self._now += given[-1] / HOST_GBS / 1e9
            self._since_look[name] += 1
        elif name in ("wait", "sync event"):
            self._wait()
        elif name in ("record", "clock"):
            return self._look(name, given)
        elif name == "elapsed":
            return 1e3 * (self._events.get(given[1], 0.0) - self._events.get(given[0], 0.0))
        elif name in ("done", "idle"):
            return float(self._busy_until <= self._now)
        elif name == "sleep":
            self._now += given[0]
        return 0.0

    def _look(self, name: str, given: list[Any]) -> float:
        if self._looked and any(way in self._since_look for way in RATES_GBS):
            self.early |= name == "clock" and self._busy_until > self._now
            self.inside |= {kind for kind in HOST if self._since_look[kind]}
        self._since_look.clear()
        self._looked = True
        if name == "record":
            self._events[given[0]] = max(self._now, self._busy_until)
        self._now += LAUNCH_S
        return self._now

    def _wait(self) -> None:
        self._now = max(self._now, self._busy_until)

    def _transfer(self, way: str, nbytes: int) -> None:
        self._runs[way] += 1
        self._since_look[way] += 1
        slow = {1: 8.0, SLOW_RUN: 20.0}.get(self._runs[way], 1.0)  # the first one is cold
        self._now += LAUNCH_S
        self._busy_until = max(self._now, self._busy_until) + slow * nbytes / self.rates_gbs[way] / 1e9

    def _hint(self, given: float, nbytes: int, way: str) -> str:
        def near(wrong: float) -> bool:
            return abs(given / wrong - 1) < 0.01

        right = self.rates_gbs[way]
        seconds = nbytes / right / 1e9
        for factor, words in (
            (2.0, "Each byte crosses once: is it counted twice?"),
            (1e9, "That looks like bytes per second: a GB is 1e9 bytes."),
            (1e3, "That looks like MB/s: a GB is 1000 MB."),
            (1e9 / 2**30, "That looks like GiB (2^30 bytes): a GB is 1e9 bytes."),
            (8.0, "That looks like bits: GB/s are asked for."),
            (0.25, "Four times too slow: are there nbytes elements of four bytes each?"),
            (0.125, "Eight times too slow: are there nbytes elements of eight bytes each?"),
        ):
            if near(factor * right):
                return words
        if near(1 / right):
            return "That looks like seconds per GB: divide the bytes by the time."
        if any(near(seconds * unit) for unit in (1.0, 1e3, 1e6)):
            return "That looks like a time, not a rate."
        for other, rate in self.rates_gbs.items():
            if near(rate):
                slip = "is nothing pinned?" if "pinned" in way else "was pageable memory pinned?"
                slip = slip if other[:3] == way[:3] else "is it the wrong direction?"
                return f"That is the rate of {other}: {slip}"
        if not self._runs[way]:
            return "No such transfer was seen there: was it measured?"
        if self.early:
            return "Not synchronized? A launch returns before the transfer is done."
        if self.inside:
            return f"More than the transfer is timed: {', '.join(sorted(self.inside))}."
        return "A cold first transfer, or a mean? One slow run spoils a mean; take the median of several."
