"""What can be wrong with a kernel or its launch, each with the line, the thread and the block where it was seen.

Raised by the tracer where a GPU would crash, hang, or silently compute something else. The messages are written for
students; the fields are for programs.
"""

from __future__ import annotations

Index = tuple[int, int, int]
"""x, y, z of a thread in its block, or of a block in its grid."""

DISTANCE_THIRD = "The mask is the first argument, the value the second, and the distance the third."
"""Of a shuffle; said where one of them cannot be what stands in its place."""


class TraceError(Exception):
    """A kernel or a launch that a GPU would not carry out as written.

    Args:
        message: what was done, by whom, and what to do instead.
        line: in the cell or file of the kernel; 0 where the launch itself is at fault.
        thread: that did it.
        block: of that thread.
    """

    def __init__(self, message: str, line: int = 0, thread: Index | None = None, block: Index | None = None) -> None:
        # All of them are arguments of Exception, so that it survives pickling.
        super().__init__(message, line, thread, block)
        self.message = message
        self.line = line
        self.thread = thread
        self.block = block

    def __str__(self) -> str:
        return self.message


class LaunchError(TraceError):
    """The launch configuration or an argument is one that no GPU accepts."""


class OutOfBoundsError(TraceError, IndexError):
    """An index outside its array: a GPU would read or overwrite somebody else's memory."""


class BarrierError(TraceError):
    """Threads wait for others that never arrive."""


class EndlessKernelError(TraceError):
    """The kernel used up the tracer's budget of time or of memory accesses."""


class UnsupportedError(TraceError, AttributeError):
    """Something that does not exist in a kernel, or that the tracer does not know."""


class CompileError(TraceError):
    """Numba cannot translate the kernel for a GPU."""
