"""Maps a function over submissions, several at a time, and hands results out as they come.

Threads are enough here: what a submission runs, runs in processes of its own. Knows nothing of grading; `batch`
decides what is due and keeps the record. `cluster` does the same with the workers of a Dask cluster.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Given = TypeVar("Given")

SLOT_BYTES = 1_500_000_000
"""Memory that a slot is given: a student's process with torch, its data and a judge stay below it."""
WAITING = 4
"""Results a slot that may wait for the caller: enough that it never waits for a busy caller, and no more."""


def default_slots() -> int:
    """Submissions that this machine can grade at a time: one more than cores, as far as its memory goes.

    While a process starts or ends, it mostly waits for the kernel, and the one too many fills the gap.
    """
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(len(os.sched_getaffinity(0)) + 1, memory_bytes // SLOT_BYTES))


def map_submissions(
    function: Callable[[Item], Result], items: Iterable[Item], slots: int
) -> Iterator[tuple[Item, Result | Exception]]:
    """Each item with what `function` returned for it or the exception that it raised, in order of completion.

    At most `slots` calls run at a time. A slot takes its next item by itself, so that it works on while the caller
    records; it stops when `WAITING` results a slot have not been fetched. Closing the iterator (or an interrupt while
    it waits) starts nothing new, and does not wait for the calls that then still run.

    Args:
        function: called once an item, in a thread of its own slot.
        items: taken one by one, when a slot becomes free.
        slots: calls at a time, at least 1.

    Raises:
        ValueError: `slots` is less than 1.
    """
    if slots < 1:
        raise ValueError(f"slots must be at least 1, not {slots}")
    waiting, turn = iter(items), threading.Lock()
    handing: Handing[tuple[Item, Result | BaseException]] = Handing(slots * WAITING)

    def work() -> None:
        outcome: Result | BaseException
        try:
            while not handing.closed:
                with turn:
                    try:
                        item = next(waiting)
                    except StopIteration:
                        return
                try:
                    outcome = function(item)
                except BaseException as error:
                    outcome = error
                handing.give((item, outcome))
        finally:
            handing.finish()

    for number in range(slots):
        threading.Thread(target=work, name=f"slot {number}", daemon=True).start()
    try:
        for item, outcome in handing.take(givers=slots):
            if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
                raise outcome  # KeyboardInterrupt and SystemExit end the batch
            yield item, outcome
    finally:
        handing.close()


class Handing(Generic[Given]):
    """Hands results from threads that work to the one that keeps them.

    Args:
        most: results that may wait; who has one more waits with it.
    """

    def __init__(self, most: int) -> None:
        self._queue: queue.Queue[Given | None] = queue.Queue(most)
        self.closed = False

    def give(self, result: Given) -> None:
        """Hands one over; drops it when nobody wants it any more."""
        self._put(result)

    def finish(self) -> None:
        """Says that nothing more comes from the calling thread."""
        self._put(None)

    def take(self, givers: int) -> Iterator[Given]:
        """All that comes, until so many threads have finished."""
        while givers:
            result = self._queue.get()
            if result is None:
                givers -= 1
            else:
                yield result

    def close(self) -> None:
        """Nothing more is wanted: a slot that waits with a result drops it."""
        self.closed = True

    def _put(self, result: Given | None) -> None:
        while not self.closed:
            try:
                self._queue.put(result, timeout=0.2)
                return
            except queue.Full:
                continue
