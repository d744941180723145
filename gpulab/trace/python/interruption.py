"""Stops a kernel that never ends: a thread beside it looks at the clock and at the log, and interrupts it.

Nothing in the kernel's own path is slowed down by it, and a loop that touches no memory is found as well.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gpulab.trace.errors import EndlessKernelError, Index
from gpulab.trace.python.engine import Engine
from gpulab.trace.python.places import SourcePlace

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class Budget:
    """What a launch may use up in the tracer."""

    seconds: float = 4.0
    """CPU time during which no thread ends; CPU time, so that a busy machine does not make a kernel look endless."""
    all_seconds: float = 8.0
    """CPU time of the whole launch: less than a judge waits for a call."""
    accesses: int = 4_000_000
    """Elements read and written."""


class _Stop(BaseException):
    """Raised in the kernel from outside."""


@contextmanager
def watched(engine: Engine, budget: Budget) -> Iterator[None]:
    """Interrupts what runs inside the block when the budget is used up.

    Raises:
        EndlessKernelError: it was.
    """
    watcher = _Watcher(engine, budget, threading.get_ident())
    with _swallowed_in_silence():
        watcher.start()
        try:
            try:
                yield
            finally:
                watcher.end()
        except _Stop as stop:
            watcher.end()  # once more: an interruption may have hit the line above
            raise watcher.verdict(engine.place_raised(stop)) from None


@contextmanager
def _swallowed_in_silence() -> Iterator[None]:
    """Where an interruption hits a finalizer or a callback of the collector, Python prints it and goes on: not here."""
    told = sys.unraisablehook

    def tell(unraisable: Any) -> None:
        if unraisable.exc_type is not _Stop:  # the next interruption is under way
            told(unraisable)

    sys.unraisablehook = tell
    try:
        yield
    finally:
        sys.unraisablehook = told


class _Watcher(threading.Thread):
    def __init__(self, engine: Engine, budget: Budget, watched_thread: int) -> None:
        super().__init__(name="gpulab.trace.python.interruption", daemon=True)
        self._engine, self._budget, self._watched = engine, budget, watched_thread
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._clock = _clock_of(watched_thread)
        self._began = self._clock()
        self._changed = {"running": self._began, "ended": self._began}
        self._fired = False

    def run(self) -> None:
        seen = self._progress()
        while not self._over.wait(_LOOK_EVERY_S):
            now = self._clock()
            progress = self._progress()
            for what in progress:
                if seen[what] != progress[what]:
                    self._changed[what] = now
            seen = progress
            with self._lock:
                # Again and again, in case the kernel swallows it.
                if self._used_up(now) and not self._over.is_set():
                    self._fired = True
                    _interrupt(self._watched, _Stop)

    def _used_up(self, now: float) -> bool:
        budget = self._budget
        stands = now - self._changed["ended"] > budget.seconds
        return stands or now - self._began > budget.all_seconds or self._engine.log.accesses > budget.accesses

    def _progress(self) -> dict[str, object]:
        ended = self._engine.threads_ended
        return {"running": (self._engine.current, ended), "ended": ended}

    def end(self) -> None:
        """Ends the watch; an interruption on its way is called back."""
        with self._lock:
            self._over.set()
            if self._fired:
                _interrupt(self._watched, None)
        self.join()

    def verdict(self, place: SourcePlace | None) -> EndlessKernelError:
        """What to tell about an interrupted kernel."""
        engine, seconds = self._engine, self._clock() - self._began
        thread, block = engine.current.index, engine.log.block
        total = _product(engine.grid) * _product(engine.block)
        used = f"{seconds:.1f} s and {engine.log.accesses:,} accesses"
        done = f"{engine.threads_ended:,} of {total:,} threads had ended after {used}"
        unchanged = {what: self._began + seconds - since for what, since in self._changed.items()}
        long = min(seconds, self._budget.seconds) / 2
        where = f", {place}," if place else ""
        if unchanged["running"] > long:
            message = f"The kernel does not end: thread {thread} of block {block}{where} was still running. {done}."
            message += " Does its loop come to an end for every thread?"
        elif unchanged["ended"] > long:
            message = f"The threads of block {block} pass barrier after barrier{where} and none ends. {done}."
            message += " Does the loop come to an end? If so, the launch is too large for the tracer."
        else:
            message = f"The launch is too large for the tracer: {done}. Take smaller arrays."
        return EndlessKernelError(message, place.line if place else 0, thread, block)


def _clock_of(thread: int) -> Callable[[], float]:
    """Processor time of one thread in seconds; wall time where the system does not tell."""
    try:
        number = time.pthread_getcpuclockid(thread)
    except (AttributeError, OSError):
        return time.monotonic
    return lambda: time.clock_gettime(number)


def _interrupt(thread: int, kind: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind) if kind else None)


def _product(index: Index) -> int:
    return index[0] * index[1] * index[2]
