"""Measures a command from outside: time, processor, memory. Looks at it rarely, so as not to be in its way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.model.course import CourseError

LOOK_SECONDS = 0.25

# Linux counts what a process held before `exec` among its peaks, and just before `exec` this process held a copy of the
# one that measures. So a small process stands between; what it says about its child is the child's own.
BETWEEN = """
import json, os, sys
pid = os.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
_, status, used = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss], file)
"""


@dataclass(frozen=True)
class CommandUsage:
    """What a command used. MB are 1e6 bytes."""

    wall_seconds: float
    cpu_seconds: float
    """User and system time of the command and all processes that it, or they, waited for."""
    largest_process_mb: float
    """Largest resident set of any one of them."""
    own_peak_mb: float
    """Largest resident set of the command itself."""
    idle: tuple[tuple[float, float], ...]
    """Since the start, every now and then: wall seconds, and core-seconds in which these cores had nothing to do."""

    def idle_seconds(self, after: float = 0.0) -> float:
        """Core-seconds in which these cores had nothing to do, from so many wall seconds on to the end."""
        before = [core_seconds for wall, core_seconds in self.idle if wall <= after]
        return self.idle[-1][1] - before[-1]


def measure(command: Sequence[str], folder: Path) -> CommandUsage:
    """Runs a command in a folder.

    Raises:
        CourseError: it failed; with the last line that it printed.
    """
    packages = str(Path(__file__).resolve().parents[3])
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([packages, *filter(None, [os.environ.get("PYTHONPATH")])])}
    log, used = folder / "log.txt", folder / "used.json"
    peaks, idle = [0.0], [(0.0, 0.0)]
    ended = threading.Event()
    started, idle_before = time.monotonic(), _idle_seconds()
    with log.open("wb") as output:
        between = [sys.executable, "-ISc", BETWEEN, str(used), *command]
        process = subprocess.Popen(between, cwd=folder, env=variables, stdout=output, stderr=output)

    def look() -> None:
        while not ended.wait(LOOK_SECONDS):
            peaks.extend(_peak_mb(child) for child in _children(process.pid))
            idle.append((time.monotonic() - started, _idle_seconds() - idle_before))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    process.wait()
    wall, idle_in_all = time.monotonic() - started, _idle_seconds() - idle_before
    ended.set()
    watcher.join()
    code, cpu_seconds, largest_kib = json.loads(used.read_text())
    if code != 0:
        last = (log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
        raise CourseError(" ".join(command[1:4]), f"ended with {code} ({last[:300]})", "Fix that first.")
    return CommandUsage(wall, cpu_seconds, largest_kib * 1024 / 1e6, max(peaks), (*idle, (wall, idle_in_all)))


def _idle_seconds() -> float:
    """Core-seconds since the machine started in which the cores that may be used had nothing to do."""
    cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    ticks = sum(int(count) for name, *counts in lines if name in cores for count in counts[3:5])  # idle, iowait
    return ticks / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    """The processes that a process with one thread has started and that still run."""
    with suppress(OSError):
        return [int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def _peak_mb(process: int) -> float:
    """The largest resident set that a process has had; 0 when it is gone."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0
