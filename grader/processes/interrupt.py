"""What Ctrl-C must not break, and what it must end: a submission half recorded, and processes that nobody waits for."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gpulab.forkserver.ending import children_of


@contextmanager
def unbroken() -> Iterator[None]:
    """Puts off an interrupt until the block is done, so that keeping and recording go together.

    SIGTERM too, where it was made an interrupt; elsewhere it ends the process as ever.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    numbers = [signal.SIGINT, *([signal.SIGTERM] if callable(signal.getsignal(signal.SIGTERM)) else [])]
    before = [(number, signal.signal(number, lambda number, frame: asked.append(number))) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt


@contextmanager
def ending_as_interrupt() -> Iterator[None]:
    """In the block, SIGTERM interrupts as Ctrl-C does: `timeout`, job schedulers and service managers send it."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_children(seconds: float = 5.0) -> None:
    """Kills the process groups of this process's children until no slot of `engine` works any more.

    Again and again, because a slot that loses its process starts another one until its restarts are used up.

    Args:
        seconds: after this long, leaves what is left alone.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for child in children_of(os.getpid()):
            with suppress(OSError):
                if os.getsid(child) == child:  # ours lead sessions of their own; spares what others started here
                    os.killpg(child, signal.SIGKILL)
        if not any(thread.name.startswith("slot") for thread in threading.enumerate()):
            return
        time.sleep(0.05)
