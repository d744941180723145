"""A fork of this process, and what it does first: a session, random numbers and file descriptors of its own."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from gpulab.forkserver.process_control import die_with_parent

MAX_DESCRIPTOR = 65_536
OPEN_FILES = Path("/proc/self/fd")
UNIFIED_MEMORY = Path("/dev/nvidia-uvm")
"""The device file that CUDA opens in `cuInit` and keeps open. NVML, which survives a fork, opens the others only."""


def can_fork() -> bool:
    """Whether a fork of this process can do all that a fresh interpreter can: CUDA does not survive one."""
    torch = sys.modules.get("torch")
    return hasattr(os, "fork") and not (torch is not None and torch.cuda.is_initialized()) and not _has_cuda_open()


def _has_cuda_open() -> bool:
    """Whether this process has called `cuInit`, which a mere question for a GPU does: torch itself does not say so."""
    for descriptor in OPEN_FILES.glob("*"):
        with contextlib.suppress(OSError):
            if descriptor.readlink() == UNIFIED_MEMORY:
                return True
    return False


def fork(child: Callable[[], int]) -> int:
    """Forks this process: its process id. The child leads a session, draws its own random numbers, and ends with us.

    Args:
        child: what it does; returns its exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # else the child prints it too
    parent = os.pidfd_open(os.getpid())  # its number means nothing to a child in another namespace
    try:
        pid = os.fork()
    except OSError:
        os.close(parent)
        raise
    if pid:
        os.close(parent)
        return pid
    code = 1
    try:
        os.setsid()
        die_with_parent()
        if not has_ended(parent):  # else it could not have taken us along
            os.close(parent)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            reseed()
            code = child()
    finally:
        os._exit(code)


def has_ended(process: int) -> bool:
    """Whether the process that a descriptor of `os.pidfd_open` names has ended."""
    return bool(select.select([process], [], [], 0)[0])


def reseed() -> None:
    """Gives this process random numbers of its own: forks of one parent would all draw the same."""
    seed = int.from_bytes(os.urandom(4), "big")
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        # torch.manual_seed looks for accelerators too, which takes ten times as long; theirs begin anywhere as it is.
        sys.modules["torch"].default_generator.manual_seed(seed)


def take_streams(streams: Iterable[int], keep: Iterable[int] = ()) -> None:
    """Makes these descriptors 0, 1, 2 and so on, and closes all others but the standard three and those to `keep`."""
    for target, source in enumerate(streams):
        os.dup2(source, target)
    keep_only(keep)


def keep_only(descriptors: Iterable[int]) -> None:
    """Closes every file descriptor but these and the standard three."""
    start = 3
    for number in sorted(descriptors):
        os.closerange(start, number)
        start = number + 1
    os.closerange(start, MAX_DESCRIPTOR)
