"""The files of the GPU's driver that a student's process needs: which there are, and which groups may open them.

A confined process can neither make a device file nor load a module of the kernel: what is missing when it starts stays
missing. `grader.machine.gpu_ready` sees to that beforehand.
"""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path

DEVICES = Path("/dev")
UNIFIED_MEMORY = "nvidia-uvm"
WSL = "dxg"
"""The device of a GPU under WSL 2; its libraries lie in `/usr/lib/wsl`."""
SYSTEM = ("/sys/bus/pci", "/sys/devices", "/sys/module/nvidia")
"""What the driver's library looks a GPU up in."""
PROC = ("/proc/driver/nvidia", "/proc/devices")
"""The same; a process with a `/proc` of its own has them in there."""


def device_files() -> tuple[str, ...]:
    """The device files of NVIDIA's driver, or of WSL's, and folders of such files (`/dev/nvidia-caps`)."""
    return tuple(sorted(str(path) for name in ("nvidia*", WSL) for path in DEVICES.glob(name)))


def shown() -> tuple[str, ...]:
    """All that has to be visible in a file system of its own; empty without a GPU."""
    devices = device_files()
    return (*devices, *SYSTEM) if devices else ()


def groups() -> tuple[int, ...]:
    """The groups that a process of another user needs, to open device files that are closed to everybody else.

    Never root's group: too much on a machine belongs to it. `closed` names the files that this leaves shut.
    """
    found = {gid for _, gid in _for_a_group() if gid}
    return tuple(sorted(found))


def closed() -> tuple[str, ...]:
    """The device files that no student's process can open when the grader is root: those of root's group alone."""
    return tuple(path for path, gid in _for_a_group() if not gid)


def _for_a_group() -> list[tuple[str, int]]:
    """The device files that only their owner and its group may read and write, each with that group."""
    found = []
    for path in device_files():
        with contextlib.suppress(OSError):  # it may be gone by now
            status = Path(path).stat()
            for_all = status.st_mode & stat.S_IROTH and status.st_mode & stat.S_IWOTH
            if not stat.S_ISDIR(status.st_mode) and not for_all:
                found.append((path, status.st_gid))
    return found
