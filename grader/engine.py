"""Maps a function over submissions, several at a time, and hands results out as they come.

Threads are enough here: what a submission runs, runs in processes of its own. Knows nothing of grading; `batch`
decides what is due and keeps the record. A cluster can take this module's place behind the same signature.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

SLOT_BYTES = 1_500_000_000
"""Memory that a slot is given: a student's process with torch, its data and a judge stay below it."""


def default_slots() -> int:
    """Submissions that this machine can grade at a time: one a core, as far as its memory goes."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(len(os.sched_getaffinity(0)), memory_bytes // SLOT_BYTES))


def map_submissions(
    function: Callable[[Item], Result], items: Iterable[Item], slots: int
) -> Iterator[tuple[Item, Result | Exception]]:
    """Each item with what `function` returned for it or the exception that it raised, in order of completion.

    At most `slots` calls run at a time, and no more than these are handed to the pool, so that closing the iterator
    (or an interrupt while it waits) starts nothing new. It does not wait for the calls that then still run.

    Args:
        function: called once an item, in a thread of its own slot.
        items: taken one by one, when a slot becomes free.
        slots: calls at a time, at least 1.

    Raises:
        ValueError: `slots` is less than 1.
    """
    if slots < 1:
        raise ValueError(f"slots must be at least 1, not {slots}")
    waiting = iter(items)
    running: dict[Future[Result], Item] = {}
    pool = ThreadPoolExecutor(max_workers=slots, thread_name_prefix="slot")
    finished: list[tuple[Future[Result], Item]] = []
    try:
        while True:
            for item in islice(waiting, slots - len(running)):
                running[pool.submit(function, item)] = item
            # Refill before handing out: the slots work while the caller records.
            for future, item in finished:
                error = future.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error  # KeyboardInterrupt and SystemExit end the batch
                yield item, error if error is not None else future.result()
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            finished = [(future, running.pop(future)) for future in done]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
