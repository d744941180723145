"""Waiting for a descriptor of any number: `select.select` takes none above 1,023, and many slots have more."""

from __future__ import annotations

import select


def readable(descriptor: int, seconds: float | None = None) -> bool:
    """Whether something can be read from it, or its end has come, now or within so many seconds; None waits for ever.

    Of a process (`os.pidfd_open`): whether it has ended.
    """
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(None if seconds is None else seconds * 1e3))
