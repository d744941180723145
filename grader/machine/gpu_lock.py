"""Decides who may use the GPU when: many submissions at a time, a timed test alone, for all graders of this machine.

Locks on files, because the graders may be several processes; the kernel lets go of them when one is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from grader.model.limits import Limits

WAIT_SECONDS = 6 * (Limits.notebook_seconds + Limits.all_tests_seconds)
"""For a turn: what six submissions take that use up all of their time, one after another."""
LOOK_SECONDS = 0.02
"""Between two looks whether a lock is free."""


class Turns:
    """Access to one GPU, in turns. A long wait ends with TimeoutError: the process that has the GPU must be hanging."""

    def __init__(self, folder: Path, gpu: str, wait_seconds: float = WAIT_SECONDS) -> None:
        """Args:
        folder: where the lock files lie; the same for all graders of a machine that are one user's.
        gpu: which GPU, as CUDA_VISIBLE_DEVICES says it.
        wait_seconds: how long to wait for a turn.
        """
        self._wait_seconds = wait_seconds
        name = hashlib.sha256(gpu.encode()).hexdigest()[:8]
        self._gate = folder / f"gpulab-{os.getuid()}-{name}.gate"
        self._room = folder / f"gpulab-{os.getuid()}-{name}.room"

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Waits while a timed test runs, or waits itself."""
        until = time.monotonic() + self._wait_seconds
        with _locked(self._gate, fcntl.LOCK_SH, until):
            room = contextlib.ExitStack()
            room.enter_context(_locked(self._room, fcntl.LOCK_SH, until))
        with room:
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until nobody else is there, and keeps newcomers out meanwhile: they would be there for ever."""
        until = time.monotonic() + self._wait_seconds
        with _locked(self._gate, fcntl.LOCK_EX, until), _locked(self._room, fcntl.LOCK_EX, until):
            yield


def turns() -> Turns:
    """The turns at the GPU that processes started from here use first."""
    return Turns(Path(tempfile.gettempdir()), os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0])


@contextlib.contextmanager
def _locked(path: Path, kind: int, until: float) -> Iterator[None]:
    # Not through a link that somebody else put there, and not for others to hold for ever.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while not _taken(descriptor, kind):
            if time.monotonic() > until:
                raise TimeoutError(
                    f"{path}: the GPU is still held by another grader. Find the one that hangs, end it, grade again."
                )
            time.sleep(LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int, kind: int) -> bool:
    """Takes the lock if it is free; flock itself cannot be told how long to wait."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
