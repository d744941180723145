"""The end of processes that were forked: how they ended, what they used, and that they do end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from pathlib import Path
from typing import Any

from gpulab.forkserver.process_control import SIGKILL

KILLED = (-SIGKILL, 256 - SIGKILL)
"""How a process ends that was killed, and how one ends that watched over it."""
KILL_SECONDS = 2.0
"""For a process that was killed to be gone; after that it is left to the kernel."""


def exit_code(pid: int, unknown: int = -SIGKILL) -> int | None:
    """The exit code of a child of this process that has ended, negative for a signal; None while it runs.

    Args:
        pid: its process id.
        unknown: what to answer where another call has reaped it.
    """
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return unknown
    return os.waitstatus_to_exitcode(status) if found else None


def end(pid: int, inner: int, grace_seconds: float, shared_mb: float) -> dict[str, Any]:
    """Waits a moment for a child to end, kills it otherwise, and says what it and its children used.

    The answer's `killed` says whether something else had killed it before: the kernel because memory ran out, a
    person, or the student's own code. Its `code` is the exit code of one that ended by itself, else None.

    Args:
        pid: the child of ours that watches over the process.
        inner: the process to kill; the same, or the first process of its namespace.
        grace_seconds: how long that moment is.
        shared_mb: memory that every child shares with us, not to be counted as its own.
    """
    watched = os.pidfd_open(pid)
    try:
        by_itself = bool(select.select([watched], [], [], grace_seconds)[0])
        if not by_itself:
            for target in dict.fromkeys((inner, pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(target, signal.SIGKILL)
                    if target == pid:
                        os.killpg(pid, signal.SIGKILL)  # there may be none yet, of a process that was just forked
                if select.select([watched], [], [], KILL_SECONDS)[0]:
                    break
        ended, status, usage = os.wait4(pid, os.WNOHANG)
    finally:
        os.close(watched)
    if not ended:  # a kernel that cannot let go of it, such as one that waits for a dead disk, must not hold us up
        return {"cpu_seconds": 0.0, "peak_memory_mb": 0.0, "killed": False, "code": None}
    peak_mb = max(0.0, usage.ru_maxrss * 1024 / 1e6 - shared_mb)
    code = os.waitstatus_to_exitcode(status) if by_itself else None
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return {"cpu_seconds": cpu_seconds, "peak_memory_mb": peak_mb, "killed": code in KILLED, "code": code}


def end_children(seconds: float) -> None:
    """Kills and reaps all children, again and again: those of a child that was killed may become ours.

    Args:
        seconds: after this long, leaves what is left alone.
    """
    until = time.monotonic() + seconds
    while (left := children_of(os.getpid())) and time.monotonic() < until:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        while left and time.monotonic() < until:
            left = [pid for pid in left if exit_code(pid) is None]
            time.sleep(0.001 if left else 0)


def children_of(pid: int) -> list[int]:
    """The processes whose parent this one is."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(folder.name))
    return found


def resident_mb() -> float:
    """This process's memory now, MB = 1e6 bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
