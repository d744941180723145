"""Ends work on what a student made that would take for ever: patterns and parsers have texts that they never finish.

Only the main thread of a process can be interrupted; in any other, there is no limit.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TimeLimitReached(Exception):
    """It did not end in time."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Runs the block for so long at most.

    Raises:
        TimeLimitReached: it takes longer.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise TimeLimitReached(f"not within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
