"""The CUDA threads of a block, what they wait for, and who may go on.

`engine` runs them. Here is decided when a barrier or a meeting of a warp is complete, and said what is wrong when it
never will be.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpulab.trace.errors import BarrierError, Index
from gpulab.trace.log import WARP_SIZE
from gpulab.trace.python.places import Places

Exchange = Callable[[dict[int, Any]], Any]
"""What a thread gets out of a meeting, from all values by lane of its warp, or by number of the thread in its block."""


@dataclass(frozen=True)
class Wait:
    """A thread stands at a barrier or a warp-wide call."""

    call: str
    """Such as `syncthreads`."""
    site: int
    """Number of the place: two barriers on one line are two."""
    mask: int | None
    """The lanes that meet, a bit each; None for the whole block."""
    value: Any
    """What the thread brings."""
    exchange: Exchange | None
    orders_memory: bool = True


class Thread:
    """One CUDA thread of the block that is running; used again for the next block."""

    __slots__ = (
        "gathered", "index", "lane", "loop_entries", "number", "ordered", "outcome", "turn", "wait", "warp", "worker",
    )  # fmt: skip

    def __init__(self, number: int, index: Index) -> None:
        self.number = number
        self.index = index
        self.warp, self.lane = divmod(number, WARP_SIZE)
        self.renew()

    def renew(self) -> None:
        """Back to the start, for another block."""
        self.worker: Any = None
        self.wait: Wait | None = None
        self.outcome: Any = None
        self.gathered = self.ordered = self.turn = 0
        self.loop_entries: dict[tuple[int, int, int], int] = {}


def threads_of(shape: Index) -> list[Thread]:
    """All threads of a block, x running fastest, as they are cut into warps."""
    x, y, z = shape
    order = itertools.product(range(z), range(y), range(x))
    return [Thread(number, (i, j, k)) for number, (k, j, i) in enumerate(order)]


def released(threads: list[Thread], block: Index, places: Places) -> tuple[list[Thread], bool]:
    """The threads whose waiting is over, with their outcomes set, and whether it was a barrier of the whole block.

    Args:
        threads: of the block; every one has ended or waits.
        block: its index, for messages.
        places: that the sites are numbers of.

    Raises:
        BarrierError: none can ever go on.
    """
    plain = threads[0].wait
    if plain is not None and plain.exchange is None and plain.mask is None and all(t.wait is plain for t in threads):
        for thread in threads:  # the common case, and quick: `syncthreads` of a place has one Wait for all
            thread.wait = None
            thread.gathered = thread.ordered = 0
        return threads, True
    waiting = [thread for thread in threads if thread.wait is not None]
    together = _complete_warps(waiting)
    if together:
        return together, False
    first = waiting[0].wait
    assert first is not None
    if first.mask is None and len(waiting) == len(threads) and all(_wait(t).site == first.site for t in waiting):
        outcome = first.exchange({thread.number: _wait(thread).value for thread in waiting}) if first.exchange else None
        for thread in waiting:
            thread.outcome, thread.wait = outcome, None
            thread.gathered = thread.ordered = 0
        return waiting, True
    raise _stuck(waiting, threads, block, places)


def _wait(thread: Thread) -> Wait:
    assert thread.wait is not None
    return thread.wait


def _complete_warps(waiting: Sequence[Thread]) -> list[Thread]:
    """The threads of all warp-wide meetings that nobody is missing from; a lane that has ended is not waited for."""
    free: list[Thread] = []
    for _, members in itertools.groupby(waiting, key=lambda thread: thread.warp):
        lanes = list(members)
        for mask, site in dict.fromkeys((_wait(t).mask, _wait(t).site) for t in lanes):
            if mask is None:
                continue
            called = [thread for thread in lanes if mask >> thread.lane & 1]
            if called and all(t.wait is not None and (t.wait.mask, t.wait.site) == (mask, site) for t in called):
                _meet(called)
                free += called
    return free


def _meet(lanes: Sequence[Thread]) -> None:
    values = {thread.lane: _wait(thread).value for thread in lanes}
    gathered = max(thread.gathered for thread in lanes) + 1
    ordered = max(thread.ordered for thread in lanes) + 1
    for thread in lanes:
        wait = _wait(thread)
        thread.outcome = wait.exchange(values) if wait.exchange else None
        thread.wait = None
        thread.gathered = gathered
        thread.ordered = ordered if wait.orders_memory else thread.ordered


def _stuck(waiting: Sequence[Thread], threads: Sequence[Thread], block: Index, places: Places) -> BarrierError:
    """Says who waits where, and who will not come."""
    first = _wait(waiting[0])
    groups: dict[int, list[Thread]] = {}
    for thread in waiting:
        groups.setdefault(_wait(thread).site, []).append(thread)
    parts = []
    for site, group in groups.items():
        parts.append(
            f"{_several(group)} wait{'s' * (len(group) == 1)} at cuda.{_wait(group[0]).call} in {places.place(site)}"
        )
    ended = [thread for thread in threads if thread.wait is None]
    if ended:
        parts.append(f"{_several(ended)} {'has' if len(ended) == 1 else 'have'} already returned")
    if first.mask is None:
        rule = "Every thread of a block must reach every barrier"
        remedy = f"{rule}: put the condition around the work, not around the barrier, and do not return before it."
    else:
        remedy = "All lanes that the mask names must make the same call."
    message = f"Block {block}: {'; '.join(parts)}. {remedy}"
    return BarrierError(message, places.place(first.site).line, waiting[0].index, block)


def _several(group: Sequence[Thread]) -> str:
    return f"thread {group[0].index}" if len(group) == 1 else f"{len(group)} threads, such as {group[0].index},"
