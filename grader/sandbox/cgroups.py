"""A control group for each submission: its memory and processes bounded, its CPU time and peak memory counted.

Version 1 hierarchies and version 2 are both spoken. Where neither can be written (an ordinary user without
delegation, most containers), there is none, and the caller makes do without. What the files mean: the kernel's
Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
"""Which group of each hierarchy this process is in."""
PREFIX = "gpulab-"


@dataclass(frozen=True)
class Group:
    """The folders of one group: one for each version 1 hierarchy, or a single one for version 2."""

    folders: dict[str, Path]

    def add(self, pid: int) -> None:
        """Moves a process into the group."""
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def cpu_seconds(self) -> float | None:
        """CPU time of everything that ever ran in the group."""
        with contextlib.suppress(OSError, ValueError, KeyError):
            if "cpuacct" in self.folders:
                return int((self.folders["cpuacct"] / "cpuacct.usage").read_text()) / 1e9
            stat = dict(line.split() for line in (self.folders["cpu"] / "cpu.stat").read_text().splitlines())
            return int(stat["usage_usec"]) / 1e6
        return None

    def peak_memory_mb(self) -> float | None:
        """Most memory that the group was charged with at any time, MB = 1e6 bytes: its own pages, not shared ones."""
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            with contextlib.suppress(OSError, ValueError, KeyError):
                return int((self.folders["memory"] / name).read_text()) / 1e6
        return None

    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the group because memory ran out."""
        for name in ("memory.oom_control", "memory.events"):
            with contextlib.suppress(OSError, KeyError):
                for line in (self.folders["memory"] / name).read_text().splitlines():
                    key, _, value = line.partition(" ")
                    if key == "oom_kill" and int(value) > 0:
                        return True
        return False

    def remove(self) -> None:
        """Kills what is still in the group and removes it."""
        with contextlib.suppress(OSError, KeyError):
            (self.folders["pids"] / "pids.max").write_text("0")  # else a fork bomb may be faster than we are
        for folder in set(self.folders.values()):
            for _ in range(300):
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    _kill_all(folder)
                    time.sleep(0.01)


def _kill_all(folder: Path) -> None:
    """Kills the processes of one folder's group: in one stroke where the kernel can, from 5.14 and version 2."""
    kill = folder / "cgroup.kill"
    with contextlib.suppress(OSError, ValueError):
        if kill.exists():
            kill.write_text("1")
            return
        for pid in map(int, (folder / "cgroup.procs").read_text().split()):
            if pid > 0:  # 0 is how a process looks that is not in our process namespace; to `kill` it means ourselves
                os.kill(pid, signal.SIGKILL)


def join(folder: Path) -> None:
    """Moves this process, which must have a single thread, into one folder's group.

    In version 1 that is `tasks`, not `cgroup.procs`: the kernel then knows that no other thread can get in the way, and
    does not wait until every core has seen the move, which takes 11 ms and more (`cgroup_procs_write_start`, from 5.4).
    """
    tasks = folder / "tasks"
    (tasks if tasks.exists() else folder / "cgroup.procs").write_text("0")  # this process, whatever its number


def parents() -> dict[str, Path] | None:
    """Where groups can be made: controller → folder; None where they cannot."""
    version1 = {name: MOUNT / name for name in ("memory", "pids", "cpuacct")}
    if all(os.access(folder / "cgroup.procs", os.W_OK) for folder in version1.values()):
        # A submission's share of the processor is that of one group, however many processes compute in it.
        shared = {"cpu": MOUNT / "cpu"} if os.access(MOUNT / "cpu" / "cgroup.procs", os.W_OK) else {}
        return version1 | shared
    folder = _version2()
    return {"memory": folder, "pids": folder, "cpu": folder} if folder else None


def _version2() -> Path | None:
    """The nearest version 2 group around us that is ours to divide; None where there is none.

    Seldom our own: a group has either processes or children with limits. It must be around us, since who moves a
    process needs the right to do so in the group that is around both places.
    """
    root = MOUNT if (MOUNT / "cgroup.controllers").exists() else MOUNT / "unified"
    with contextlib.suppress(OSError, StopIteration):
        line = next(line for line in OWN_GROUPS.read_text().splitlines() if line.startswith("0::"))
        own = root / line[3:].lstrip("/")
        if ".." in own.parts:
            return None  # our group is not under what is mounted here
        for folder in (own, *own.parents):
            if _divides(folder):
                return folder
            if folder == root:
                break
    return None


def _divides(folder: Path) -> bool:
    """Whether children of this group get memory and pids controllers, and we may make some and move ourselves there."""
    try:
        enabled = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return {"memory", "pids"} <= set(enabled) and all(
        os.access(path, os.W_OK) for path in (folder, folder / "cgroup.procs")
    )


def create(name: str, memory_bytes: int, processes: int) -> Group | None:
    """A new group with these limits; None where groups cannot be made."""
    where = parents()
    if where is None:
        return None
    folders = {controller: folder / f"{PREFIX}{name}" for controller, folder in where.items()}
    group = Group(folders)
    try:
        for folder in set(folders.values()):
            folder.mkdir(exist_ok=True)
        settings = {
            "memory.limit_in_bytes": memory_bytes,
            "memory.memsw.limit_in_bytes": memory_bytes,
            "memory.max": memory_bytes,
            "memory.swap.max": 0,
            "pids.max": processes,
        }
        for setting, value in settings.items():
            path = folders[setting.partition(".")[0]] / setting
            if path.exists():
                path.write_text(str(value))
    except OSError:
        group.remove()
        return None
    return group


def sweep() -> None:
    """Removes empty groups that an earlier driver left behind when it was killed."""
    for folder in set((parents() or {}).values()):
        for left in folder.glob(f"{PREFIX}*"):
            driver = left.name.removeprefix(PREFIX).partition("-")[0]
            if not Path("/proc", driver).exists():  # a group of one that runs may be empty because it is new
                with contextlib.suppress(OSError):
                    left.rmdir()
