"""What Ctrl-C must not break, and what it must end: a submission half recorded, and processes that nobody waits for."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gpulab.forkserver.server import children_of


@contextmanager
def unbroken() -> Iterator[None]:
    """Puts off an interrupt until the block is done, so that keeping and recording go together."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt


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
