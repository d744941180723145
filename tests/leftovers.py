"""What gradings must not leave behind: processes, folders, mounts and control groups."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Collection
from pathlib import Path

from grader.processes import client
from grader.sandbox import cgroups


def processes(marker: str) -> list[int]:
    """The processes of fork servers that were started with the marker as a module, with all their forks."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def forks(marker: str, servers: Collection[int]) -> list[int]:
    """The forks alone."""
    return [pid for pid in processes(marker) if pid not in servers]


def left_behind(marker: str, servers: Collection[int], seconds: float = 3.0) -> list[str]:
    """What this driver's submissions left, after so long at most: a killed namespace takes a moment to go."""
    until = time.monotonic() + seconds
    while (running := forks(marker, servers)) and time.monotonic() < until:
        time.sleep(0.02)
    name = f"{client.FOLDERS}{os.getpid()}-"
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if name in line]
    groups = [
        str(group)
        for folder in set((cgroups.parents() or {}).values())
        for group in folder.glob(f"{cgroups.PREFIX}{os.getpid()}-*")
    ]
    folders = [str(path) for path in Path(tempfile.gettempdir()).glob(f"{name}*")]
    return [*(f"process {pid}" for pid in running), *mounts, *groups, *folders]
