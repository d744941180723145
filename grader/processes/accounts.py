"""What a run spends its time on, so that a benchmark can tell where it goes.

The accounts lie in the batch's note (`work/results/<chapter>/.batch.json`); nothing that is graded depends on them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Accounts:
    """Wall and CPU seconds of this process's threads, by what they were spent on."""

    def __init__(self) -> None:
        self.wall_seconds: dict[str, float] = {}
        self.cpu_seconds: dict[str, float] = {}

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Books the block; CPU time of the calling thread only. Not two threads on one account."""
        wall, cpu = time.monotonic(), time.thread_time()
        try:
            yield
        finally:
            self.add(what, time.monotonic() - wall, time.thread_time() - cpu)

    def add(self, what: str, wall_seconds: float, cpu_seconds: float) -> None:
        """Books what is known already."""
        self.wall_seconds[what] = self.wall_seconds.get(what, 0.0) + wall_seconds
        self.cpu_seconds[what] = self.cpu_seconds.get(what, 0.0) + cpu_seconds

    def as_json(self) -> dict[str, dict[str, float]]:
        """Both, rounded to what can be measured."""
        accounts = {"wall_seconds": self.wall_seconds, "cpu_seconds": self.cpu_seconds}
        return {name: {what: round(spent, 4) for what, spent in one.items()} for name, one in accounts.items()}


def age_seconds() -> float:
    """How long this process has existed: what Python and its first imports took, seen from `main`."""
    with suppress(OSError, ValueError, IndexError):
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    return 0.0


def cpu_seconds_of(process: int) -> float:
    """User and system time of another process by itself, without its children; 0 when it is gone."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0
