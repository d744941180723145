"""What a process asks Linux about its parent and its children; elsewhere nothing is asked."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PDEATHSIG, _CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Has the kernel kill this process, or signal it otherwise, when its parent ends. Changing the user undoes it.

    Raises:
        OSError: the kernel refuses.
    """
    _prctl(_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Makes this process the parent of its descendants whose own parents end.

    Raises:
        OSError: the kernel refuses.
    """
    _prctl(_CHILD_SUBREAPER, 1)


def _prctl(option: int, argument: int) -> None:
    if _libc is None:
        return
    zero = ctypes.c_ulong(0)
    if _libc.prctl(option, ctypes.c_ulong(argument), zero, zero, zero) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")
