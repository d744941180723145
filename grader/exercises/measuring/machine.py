"""One simulated GPU and its host: how long each operation takes, and what a function did with its clock.

`gpulab.virtual_gpu.operations` lists the operations. They come from the student's process, so nothing in them is taken
for granted: a copy, transfer or product of more than its memories hold counts as another kernel. Every rate is drawn
anew for each machine, and none of them is known where the student's code runs.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gpulab.virtual_gpu.practice import ASKED

LAUNCH_S = 1e-6, 3e-6
WAIT_S = 1e-7
READ_S = 5e-8
PATIENT_READS = 50
"""Looks at the clock with nothing in between, after which each takes longer than the last: a loop that waits for the
time to pass should not take real minutes."""
SHORTEST_S, LONGEST_S = 2e-3, 5e-3
"""Of the operation that is to be measured: long compared with a launch, short enough for a hundred of them."""
FIRST_SLOW = (1, 2, 3)
"""Which timed run is the first slow one: each of a test's first machines has another, so that two runs are too few."""
SLOW_EVERY = 20
"""Slow moments come at timed runs number n, 20 n, 400 n …, so that they spoil every mean and no median."""
MOST_AMOUNT = 1e18
BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
"""Of one element."""
WAYS = ("h2d", "d2h")


class Nonsense(ValueError):
    """An operation that no simulated GPU sends."""


@dataclass(frozen=True)
class Cost:
    """Seconds of an operation: `latency_s + amount · unit_s`."""

    latency_s: float
    unit_s: float

    def seconds(self, amount: float) -> float:
        """Of an operation of this size, when it is warm and nothing disturbs it."""
        return self.latency_s + amount * self.unit_s


@dataclass
class ClockSpan:
    """What happened between two looks at the clock."""

    kinds: Counter[str] = field(default_factory=Counter)
    """Operation → how many."""
    end_s: float = 0.0
    """What the look at its end shows: the clock, or the time of an event."""


class Machine:
    """See `gpulab.virtual_gpu.MachineModel`."""

    def __init__(
        self, draw: random.Random, kind: str, amount: float, first_slow: int, seconds: float | None = None
    ) -> None:
        """Draws the rates, so that one operation takes a given time.

        Args:
            draw: where the rates come from.
            kind: the operation that is to be measured, such as `"copy"`, `"h2d pinned"`, `"matmul float32"`.
            amount: its bytes or FLOPs.
            first_slow: of `FIRST_SLOW`.
            seconds: that it takes; drawn when left out.
        """
        seconds = seconds or draw.uniform(SHORTEST_S, LONGEST_S)
        units = _units(draw)
        latency = draw.uniform(0.15, 0.4) * seconds
        self._launch_s = draw.uniform(*LAUNCH_S)
        scale = (seconds - latency) / (amount * units[kind])
        self._costs = {name: Cost(latency, unit * scale) for name, unit in units.items() if name not in _HOST}
        self._costs |= {name: Cost(self._launch_s, units[name] * scale) for name in _HOST}
        self.constant_factor = draw.uniform(1.25, 1.5)
        """How many times as fast a product is whose factor has equal elements only, such as zeros."""
        self._cold = draw.uniform(6.0, 12.0)
        self._first_slow, self._slow = first_slow, draw.uniform(2.1, 2.9)
        self._now = draw.uniform(10.0, 1000.0)
        self._free_at: dict[int, float] = {}
        self._events: dict[int, float] = {}
        self._cached: Counter[int] = Counter()
        self._memories: dict[int, int] = {}
        """Number of a memory of the GPU → its bytes."""
        self._pinned: dict[int, int] = {}
        """The same for pinned memory of the host."""
        self._reads_in_a_row = 0
        self._timed: Counter[str] = Counter()
        """Kind of operation → runs between two looks at the clock; a run may hold several operations."""
        self.done: dict[str, list[float]] = {}
        """Kind of operation → amounts, in their order."""
        self.looks = 0
        """At the clock, or at the time between two events."""
        self.early_looks = 0
        """Looks at the clock while the GPU was still at work."""
        self.spans = [ClockSpan()]

    def seconds(self, kind: str, amount: float) -> float:
        """What an operation takes, when it is warm and nothing disturbs it."""
        return self._costs[kind].seconds(amount)

    def run(self, operations: list[list[Any]]) -> float:
        """See `gpulab.virtual_gpu.MachineModel`.

        Raises:
            Nonsense: there is no such operation.
        """
        if type(operations) is not list or len(operations) > 100_000:
            raise Nonsense("no list of operations")
        value = 0.0
        for operation in operations:
            value = self._one(operation)
        return value

    def _one(self, operation: Any) -> float:
        match operation:
            case ["clock"]:
                return self._look()
            case ["touch", int(stream), int(nbytes)]:
                self._queue(stream, "touch", nbytes)
            case ["copy", int(stream), int(nbytes), int(target), int(source)]:
                both = nbytes * (1 + (target == source))
                self._queue(stream, "copy" if self._holds(self._memories, both, target, source) else "touch", nbytes)
            case ["matmul", int(stream), int(flops), str(dtype), bool(constant), bool(tf32), list(memories)]:
                kind = f"matmul {dtype if dtype in _TYPES else 'other'}{' tf32' if tf32 and dtype == 'float32' else ''}"
                kind = kind if flops <= self._most_flops(dtype, memories) else "touch"
                self._queue(stream, kind, flops, 1 / self.constant_factor if constant else 1.0)
            case ["h2d" | "d2h" as way, int(stream), int(nbytes), bool(pinned), bool(late), int(target), int(source)]:
                there, here = (target, source) if way == "h2d" else (source, target)
                pinned = pinned and self._holds(self._pinned, nbytes, here)
                kind = f"{way} {'pinned' if pinned else 'pageable'}"
                self._queue(stream, kind if self._holds(self._memories, nbytes, there) else "touch", nbytes)
                if not (pinned and late):
                    self._wait(stream)
            case ["host" | "host copy" | "host matmul" as kind, int(amount)]:
                self._now += self._work(kind, amount)
            case ["pin", int(nbytes), int(number)]:
                self._now += self._work("pin", nbytes)
                self._pinned[number] = nbytes
            case ["alloc", int(nbytes), int(number)]:
                self._allocate(nbytes)
                self._memories[number] = nbytes
            case ["kept", int(nbytes), int(number), bool(pinned)]:
                (self._pinned if pinned else self._memories)[number] = nbytes
            case ["free", int(nbytes)]:
                self._cached[nbytes] += 1
            case ["empty cache"]:
                self._cached.clear()
            case ["sleep", int(seconds) | float(seconds)] if 0 <= seconds < 1e6:
                self._now += seconds
            case ["wait", int(stream)]:
                self._wait(stream)
            case ["record", int(event), int(stream)]:
                self._events[event] = max(self._now, self._free_at.get(stream, 0.0))
                self._end_span(self._events[event])
            case ["wait event", int(stream), int(event)]:
                self._free_at[stream] = max(self._free_at.get(stream, 0.0), self._events.get(event, 0.0))
            case ["sync event", int(event)]:
                self._now = max(self._now, self._events.get(event, 0.0)) + WAIT_S
            case ["done", int(event)]:
                return self._passed(self._events.get(event, 0.0))
            case ["idle", int(stream)]:
                return self._passed(self._free_at.get(stream, 0.0))
            case ["elapsed", int(start), int(end)]:
                self.looks += 1
                return 1e3 * (self._events.get(end, 0.0) - self._events.get(start, 0.0))
            case _:
                raise Nonsense(f"no operation: {str(operation)[:80]}")
        return 0.0

    def _look(self) -> float:
        self._reads_in_a_row += 1
        patience = max(0, self._reads_in_a_row - PATIENT_READS)
        self._now += READ_S * min(1.2**patience if patience < 100 else math.inf, 1e4)
        self.looks += 1
        self.early_looks += any(end > self._now for end in self._free_at.values())
        self._end_span(self._now)
        return self._now

    def _end_span(self, end_s: float) -> None:
        self.spans[-1].end_s = end_s
        self.spans.append(ClockSpan())

    def _queue(self, stream: int, kind: str, amount: int, share: float = 1.0) -> None:
        """A kernel or transfer: the host goes on at once."""
        self._now += self._launch_s
        seconds = self._work(kind, amount) * share
        self._free_at[stream] = max(self._now, self._free_at.get(stream, 0.0)) + seconds

    def _wait(self, stream: int) -> None:
        ends = self._free_at.values() if stream < 0 else [self._free_at.get(stream, 0.0)]
        self._now = max([self._now, *ends]) + WAIT_S

    def _passed(self, moment_s: float) -> float:
        """Whether that moment has passed; each question takes time, so that a loop of them ends soon."""
        self._now += max(self._launch_s, (moment_s - self._now) / ASKED)
        return float(moment_s <= self._now)

    @staticmethod
    def _holds(memories: dict[int, int], nbytes: int, *numbers: int) -> bool:
        return all(memories.get(number, -1) >= nbytes for number in numbers)

    def _most_flops(self, dtype: str, numbers: list[Any]) -> float:
        """FLOPs of the largest product that these memories can be factors and result of: 2 √(mk · kn · mn) is 2 mkn."""
        sizes = sorted(self._memories.get(number, 0) for number in numbers if type(number) is int)[-3:]
        elements = math.prod(nbytes / BYTES.get(dtype, 1) for nbytes in sizes) if len(sizes) == 3 else 0.0
        return 2 * math.sqrt(elements) * (1 + 1e-9)

    def _allocate(self, nbytes: int) -> None:
        if self._cached[nbytes] > 0:
            self._cached[nbytes] -= 1
            return
        self._now += self._work("alloc", nbytes)

    def _work(self, kind: str, amount: int) -> float:
        """Seconds of the next operation of this kind."""
        cost = self._costs.get(kind)
        if cost is None or not 0 <= amount < MOST_AMOUNT:
            raise Nonsense(f"no operation: {kind[:40]} of {amount:g}")
        self._reads_in_a_row = 0
        before = self.done.setdefault(kind, [])
        number = len(before)
        before.append(amount)
        self.spans[-1].kinds[kind] += 1
        seconds = cost.seconds(amount)
        if kind in _HOST:
            return seconds
        if len(self.spans) > 1 and self.spans[-1].kinds[kind] == 1:
            self._timed[kind] += 1
            slow = self._first_slow
            while slow < self._timed[kind]:
                slow *= SLOW_EVERY
            if slow == self._timed[kind] and number:
                return seconds * (1 + max(self._slow, number / 4))
        return seconds if number else seconds * self._cold


_HOST = ("host", "host copy", "host matmul", "pin", "alloc")
_TYPES = {"float32": 1.0, "float64": 2.0, "bfloat16": 0.12, "float16": 0.13, "other": 3.0}


def _units(draw: random.Random) -> dict[str, float]:
    """Time of one byte or FLOP of each kind of operation, relative to a byte copied within the GPU's memory."""
    units = {"copy": 1.0, "touch": draw.uniform(0.6, 0.9)}
    h2d = draw.uniform(4.0, 7.0)
    ways = {"h2d": h2d, "d2h": h2d * draw.choice([draw.uniform(0.7, 0.85), draw.uniform(1.2, 1.45)])}
    for way, unit in ways.items():
        units |= {f"{way} pinned": unit, f"{way} pageable": unit * draw.uniform(1.7, 3.0)}
    for dtype, share in _TYPES.items():
        units[f"matmul {dtype}"] = 0.02 * share * draw.uniform(0.9, 1.1)
    units["matmul float32 tf32"] = units["matmul float32"] / draw.uniform(4.0, 6.0)
    units |= {"host": draw.uniform(2, 4), "host copy": draw.uniform(3, 5), "host matmul": draw.uniform(0.5, 1.0)}
    units |= {"pin": draw.uniform(20, 40), "alloc": draw.uniform(0.8, 1.5)}
    return units
