"""The visible part of a test cell runs once for all seeds of a trial; the hidden part in a fork for each.

What the visible part asks is the same with every seed, so trying it again tells nothing. A fork goes on with exactly
what was there at the end of it, as a grading of its own would.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

MARK = re.compile(r"^([ \t]*)### BEGIN HIDDEN TESTS[^\n]*$", re.MULTILINE)
_at_mark: Callable[[], None] | None = None


def marked(source: str) -> str:
    """A test cell that calls `reached` where its hidden part begins; as it is if it has none, or several."""
    call = rf"\1__import__({__name__!r}, fromlist=['reached']).reached()"
    return MARK.sub(call, source) if len(MARK.findall(source)) == 1 else source


def reached() -> None:
    """Called by a test cell between its two parts."""
    if _at_mark:
        _at_mark()


class Forks:
    """Forks a process for each further seed where the hidden part begins.

    Args:
        seeds: the further ones.
        begin: called in each fork with its seed, and at the end in this process with None: time begins to count again.
        alike: whether nothing has depended on the seed so far; else there are no forks.
    """

    def __init__(self, seeds: Sequence[int], begin: Callable[[int | None], None], alike: Callable[[], bool]) -> None:
        self._seeds, self._begin, self._alike = seeds, begin, alike
        self._to_parent = -1
        self.replies: list[bytes] = []
        """What each fork has sent; empty bytes from one that died."""

    def __enter__(self) -> Forks:
        global _at_mark
        _at_mark = self._fork
        return self

    def __exit__(self, *_: object) -> None:
        global _at_mark
        _at_mark = None

    @property
    def is_fork(self) -> bool:
        """Whether this process is one of the forks, which has to `send` what it finds."""
        return self._to_parent >= 0

    def send(self, reply: bytes) -> None:
        """Hands this to the process that has forked, and ends."""
        with os.fdopen(self._to_parent, "wb") as pipe:
            pipe.write(reply)
        os._exit(0)

    def _fork(self) -> None:
        if not self._alike():
            return
        for seed in self._seeds:
            reading, writing = os.pipe()
            pid = os.fork()
            if not pid:
                os.close(reading)
                self._to_parent = writing
                self._begin(seed)
                return
            os.close(writing)
            with os.fdopen(reading, "rb") as pipe:
                self.replies.append(pipe.read())
            os.waitpid(pid, 0)
        self._begin(None)
