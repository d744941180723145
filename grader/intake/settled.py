"""Tells files that have arrived from files that are still being written: what has not changed for a while is whole.

A notebook that breaks off gets more time, since a slow connection writes in bursts.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from grader.intake.discovery import FoundSubmission
from grader.model.submission import MAX_NOTEBOOK_BYTES

Stamp = tuple[int, ...]
"""Size, time of change and number of a file; equal ones mean that nothing was written. Empty where there is none."""


def stamp_of(path: Path) -> Stamp:
    """What a file looks like from outside; a link is not followed."""
    try:
        status = path.lstat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


@dataclass
class Settling:
    """Which of the files that are looked at again and again are new and whole.

    Args:
        seconds: for which a file must not have changed.
        patience: the same, for a file that is not whole yet.
        clock: seconds that only go forward.
    """

    seconds: float
    patience: float
    clock: Callable[[], float] = time.monotonic
    _seen: dict[str, tuple[object, float]] = field(default_factory=dict)
    _done: dict[str, object] = field(default_factory=dict)

    def ready(self, name: str, look: object, whole: Callable[[], bool] = lambda: True) -> bool:
        """Whether this is new, and has looked the same for long enough.

        Args:
            name: whose it is.
            look: what it looks like now.
            whole: asked when the time of a whole file is over.
        """
        if self._done.get(name) == look:
            return False
        now = self.clock()
        before, since = self._seen.get(name, (None, now))
        if before != look:
            self._seen[name] = look, now
            since = now
        still = now - since
        return still >= self.seconds and (still >= self.patience or whole())

    def done(self, name: str, look: object) -> None:
        """Notes that this was dealt with: it is new again only when it looks otherwise."""
        self._done[name] = look
        self._seen.pop(name, None)

    def waiting(self) -> bool:
        """Whether anything new has been seen that is not dealt with."""
        return bool(self._seen)


def looks(found: Iterable[FoundSubmission]) -> dict[str, tuple[object, ...]]:
    """Student → what the submission looks like from outside, with what is wrong with it."""
    together: dict[str, tuple[object, ...]] = {}
    for one in found:
        together[one.student] = (*together.get(one.student, ()), (str(one.path), stamp_of(one.path), one.problem))
    return together


def is_whole(path: Path) -> bool:
    """Whether the file holds a whole JSON text; yes where only grading can say what is wrong with it."""
    try:
        # Not through a link, and not from a pipe that nobody writes to.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            return True
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(MAX_NOTEBOOK_BYTES + 1)
    except OSError:
        return True
    if len(data) > MAX_NOTEBOOK_BYTES:
        return True
    try:
        json.loads(data)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True
