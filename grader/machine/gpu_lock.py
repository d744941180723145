"""Who may use the GPU when: many submissions at a time, but a timed test alone, on this machine, whoever grades.

Locks on files, because the graders may be several processes; the kernel lets go of them when one is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


class Turns:
    """The turns at one GPU."""

    def __init__(self, folder: Path, gpu: str) -> None:
        """Args:
        folder: where the lock files lie; the same for all graders of a machine that are one user's.
        gpu: which GPU, as CUDA_VISIBLE_DEVICES says it.
        """
        name = hashlib.sha256(gpu.encode()).hexdigest()[:8]
        self._gate = folder / f"gpulab-{os.getuid()}-{name}.gate"
        self._room = folder / f"gpulab-{os.getuid()}-{name}.room"

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Waits while a timed test runs, or waits itself."""
        with _locked(self._gate, fcntl.LOCK_SH):
            room = contextlib.ExitStack()
            room.enter_context(_locked(self._room, fcntl.LOCK_SH))
        with room:
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until nobody else is there, and keeps newcomers out meanwhile: they would be there for ever."""
        with _locked(self._gate, fcntl.LOCK_EX), _locked(self._room, fcntl.LOCK_EX):
            yield


def turns() -> Turns:
    """The turns at the GPU that processes started from here use first."""
    return Turns(Path(tempfile.gettempdir()), os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0])


@contextlib.contextmanager
def _locked(path: Path, kind: int) -> Iterator[None]:
    # Not through a link that somebody else put there, and not for others to hold for ever.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)
