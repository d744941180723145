"""What a process asks Linux about itself, its parent and its children with `prctl`; elsewhere nothing is asked."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from enum import IntEnum

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Option(IntEnum):
    """The options of `prctl` that this project sets; numbers from Linux's `include/uapi/linux/prctl.h`."""

    PDEATHSIG = 1
    DUMPABLE = 4
    SECCOMP = 22
    CAPBSET_DROP = 24
    CHILD_SUBREAPER = 36
    NO_NEW_PRIVS = 38


def prctl(option: Option, argument: int, third: object = None) -> None:
    """`prctl(option, argument, third, 0, 0)`.

    Raises:
        OSError: the kernel refuses.
    """
    if _libc is None:
        return
    zero = ctypes.c_ulong(0)
    if _libc.prctl(int(option), ctypes.c_ulong(argument), zero if third is None else third, zero, zero) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option.name}: {os.strerror(number)}")


SIGKILL = getattr(signal, "SIGKILL", 9)
"""Windows has none; nothing is killed with it there."""


def die_with_parent(number: int = SIGKILL) -> None:
    """Has the kernel kill this process, or signal it otherwise, when its parent ends. Changing the user undoes it.

    Raises:
        OSError: the kernel refuses.
    """
    prctl(Option.PDEATHSIG, number)


def adopt_orphans() -> None:
    """Makes this process the parent of its descendants whose own parents end.

    Raises:
        OSError: the kernel refuses.
    """
    prctl(Option.CHILD_SUBREAPER, 1)
