"""What to say where a thread accessed the element of its own number, and the array has none: often, no guard stops it.

`counting` adds it to the tracer's error, which may come from another process: the text of the error is all there is.
"""

from __future__ import annotations

import re

ACCESS = re.compile(
    r"\w+\[(\d+)(?:, (\d+))?\] is out of bounds: '\w+' has .*"
    r" It was thread \((\d+), (\d+), \d+\) of block \((\d+), (\d+), \d+\)"
)
"""Of an array in global memory. In CUDA C++, an index counts elements of memory, also where the array has rows."""
ELEMENT = (
    "The array has no element of this thread's number. "
    "Is a guard such as i < n missing, does it say i <= n, or is the index wrong?"
)
PLACE = (
    "The array has no element in this thread's row and column: "
    "a guard must require row < rows and column < columns, both with <, not <=. Or are the indices wrong?"
)
MOST_THREADS = 1024


def note_on(error: str) -> str:
    """What an out-of-bounds error's text leaves out, if the index is the thread's own number; else nothing.

    The size of a block is not in the text: the index is the thread's own if any usual size makes it so.
    """
    found = ACCESS.match(error)
    if found is None or "elements in memory" in error:
        return ""
    first, second = int(found[1]), found[2]
    x, y, block_x, block_y = (int(found[group]) for group in (3, 4, 5, 6))
    if second is None:
        return ELEMENT if _own(first, x, block_x) else ""
    return PLACE if _own(int(second), x, block_x) and _own(first, y, block_y) else ""


def _own(index: int, thread: int, block: int) -> bool:
    """Whether the index can be block * threads of a block + thread."""
    if block == 0:
        return index == thread
    threads, rest = divmod(index - thread, block)
    usual = threads % 32 == 0 or threads in (1, 2, 4, 8, 16)
    return rest == 0 and thread < threads <= MOST_THREADS and usual
