"""Measures a command from outside: time, processor, memory. Looks at it rarely, so as not to be in its way."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.course import CourseError

LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class Measured:
    """What a command used. MB are 1e6 bytes."""

    wall_seconds: float
    cpu_seconds: float
    """User and system time of the command and all processes that it, or they, waited for."""
    largest_process_mb: float
    """Largest resident set of any one of them."""
    own_peak_mb: float
    """Largest resident set of the command itself."""


def measure(command: Sequence[str], folder: Path) -> Measured:
    """Runs a command in a folder.

    Raises:
        CourseError: it failed; with the last line that it printed.
    """
    packages = str(Path(__file__).resolve().parents[1])
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([packages, *filter(None, [os.environ.get("PYTHONPATH")])])}
    log = folder / "log.txt"
    peaks = [0.0]
    ended = threading.Event()
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=output, stderr=output)

    def look() -> None:
        while not ended.wait(LOOK_SECONDS):
            peaks.append(_peak_mb(process.pid))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - started
    ended.set()
    watcher.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        last = (log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
        raise CourseError(" ".join(command[1:4]), f"ended with {process.returncode} ({last[:300]})", "Mend that first.")
    return Measured(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6, max(peaks))


def _peak_mb(process: int) -> float:
    """The largest resident set that a process has had; 0 when it is gone."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0
