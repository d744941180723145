"""`cp.async`: a copy that has arrived only after its thread has waited for it.

The data is read at once and kept; the target holds rubbish until the wait, so that a missing one shows in the results.
Written for `small`.
"""
# mypy: disable-error-code="index,operator,no-any-return"

from __future__ import annotations

from typing import Any

from gpulab.trace.ptx.runtime.layout import ASYNC_COPIES
from gpulab.trace.ptx.runtime.small import load8, store8

Address = Any


def copy_later(queue: Address, target: int, source: int, size: int, given: int) -> int:
    """Starts a copy of `given` bytes, followed by zeros up to `size`; 0 if too many are under way."""
    count = queue[0]
    if count >= ASYNC_COPIES:
        return 0
    entry = queue + (2 + count * 5) * 8
    entry[0] = target
    entry[1] = size
    entry[2] = queue[1]
    entry[3] = 0
    entry[4] = 0
    i = 0
    while i < size:
        if i < given:
            store8(entry + 24 + i, load8(source + i))
        store8(target + i, 255)
        i += 1
    queue[0] = count + 1
    return 1


def close_group(queue: Address) -> int:
    """Copies from now on belong to the next group."""
    queue[1] += 1
    return 0


def finish_copies(queue: Address, groups_left: int) -> int:
    """Carries out all copies but those of the latest groups; all of them if the number is negative."""
    kept = 0
    i = 0
    while i < queue[0]:
        entry = queue + (2 + i * 5) * 8
        if groups_left < 0 or entry[2] < queue[1] - groups_left:
            j = 0
            while j < entry[1]:
                store8(entry[0] + j, load8(entry + 24 + j))
                j += 1
        else:
            other = queue + (2 + kept * 5) * 8
            j = 0
            while j < 5:
                other[j] = entry[j]
                j += 1
            kept += 1
        i += 1
    queue[0] = kept
    return 0


COPYING = [copy_later, close_group, finish_copies]
