"""Python's clocks and `sleep` on the simulated GPU: in the thread that computes, all of them read one virtual clock.

Other threads, such as those of a notebook's kernel, keep the real ones: their sleep would make the virtual time pass.
"""

from __future__ import annotations

import datetime
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from typing import Any

from gpulab.virtual_gpu.operations import OperationRecorder

SECONDS = ("perf_counter", "monotonic", "process_time", "thread_time", "time")
"""Clocks of `time`; each has a twin in nanoseconds, `perf_counter_ns`."""


def stand_ins(recorder: OperationRecorder) -> Iterator[tuple[Any, str, Any]]:
    """(module, name, what stands there on the simulated GPU)."""
    epoch, thread, real_sleep = time.time(), threading.get_ident(), time.sleep

    def sleep(seconds: float, /) -> None:
        if threading.get_ident() != thread:
            real_sleep(seconds)
            return
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        recorder.note("sleep", float(seconds))

    for name in SECONDS:
        start = epoch if name == "time" else 0.0
        seconds, nanoseconds = _clock(recorder, start, getattr(time, name), getattr(time, f"{name}_ns"))
        seconds.__name__, nanoseconds.__name__ = name, f"{name}_ns"
        yield time, name, seconds
        yield time, f"{name}_ns", nanoseconds
        if name == "perf_counter":
            yield timeit, "default_timer", seconds
            for function in (timeit.Timer.__init__, timeit.timeit, timeit.repeat):
                defaults = tuple(seconds if one is time.perf_counter else one for one in function.__defaults__ or ())
                yield function, "__defaults__", defaults
    if hasattr(time, "clock_gettime"):
        real = time.CLOCK_REALTIME
        yield time, "clock_gettime", lambda clock: time.time() if clock == real else time.perf_counter()
        yield time, "clock_gettime_ns", lambda clock: time.time_ns() if clock == real else time.perf_counter_ns()
    yield time, "sleep", sleep
    yield datetime, "datetime", _datetime(recorder, epoch)


def _clock(
    recorder: OperationRecorder, start: float, real: Callable[[], float], real_ns: Callable[[], int]
) -> tuple[Any, Any]:
    thread = threading.get_ident()

    def seconds() -> float:
        return start + recorder.ask("clock") if threading.get_ident() == thread else real()

    def nanoseconds() -> int:
        if threading.get_ident() != thread:
            return real_ns()
        return round(1e9 * start) + round(1e9 * recorder.ask("clock"))

    return seconds, nanoseconds


def _datetime(recorder: OperationRecorder, epoch: float) -> type[datetime.datetime]:
    class VirtualDatetime(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> VirtualDatetime:
            return cls.fromtimestamp(epoch + recorder.ask("clock"), tz)

        @classmethod
        def utcnow(cls) -> VirtualDatetime:
            return cls.now(datetime.UTC).replace(tzinfo=None)

    return VirtualDatetime
