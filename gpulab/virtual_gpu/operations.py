"""What the simulated GPU's process tells the machine: operations, in the order in which the host issues them.

| operation | what it is |
|---|---|
| `["copy", stream, bytes, target, source]` | a copy within the GPU's memory, between two memories by their numbers |
| `["matmul", stream, FLOPs, type, constant, tf32, memories]` | a product; constant: a factor is not random |
| `["touch", stream, bytes]` | any other kernel; bytes of all its tensors |
| `["h2d", stream, bytes, pinned, non_blocking, target, source]`, `["d2h", …]` | a transfer |
| `["alloc", bytes, number]`, `["free", bytes]` | memory of the GPU |
| `["kept", bytes, number, pinned]` | memory that was made for an earlier machine is used on this one |
| `["empty cache"]` | memory that was freed goes back |
| `["pin", bytes, number]` | pinned memory of the host is made |
| `["host", bytes]`, `["host copy", bytes]`, `["host matmul", FLOPs]` | work of the CPU |
| `["sleep", seconds]` | the host sleeps |
| `["wait", stream]` | the host waits for a stream; −1: for all |
| `["record", event, stream]`, `["wait event", stream, event]`, `["sync event", event]` | CUDA events |
| `["clock"]` | asks for the host's clock, in seconds |
| `["done", event]`, `["idle", stream]` | asks whether an event has passed, a stream has nothing to do: 1 or 0 |
| `["elapsed", event, event]` | asks for the milliseconds between two events |

Target, source, and memories (of a product's factors and result) are numbers of memories; pageable memory has number 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

MOST_PENDING = 500
"""Operations that are kept back at most until the next question."""
IDLE_SECONDS = 1e-3
MAKING = {
    "alloc": "the allocation",
    "pin": "the pinning",
    "touch": "the creation of the data",
    "host": "the creation of the data",
    "host copy": "work of the CPU",
    "host matmul": "work of the CPU",
}
"""What else may stand between two looks at the clock, in words."""

Ask = Callable[[list[list[Any]]], float]


class OperationRecorder:
    """Collects operations and asks the machine of the moment."""

    def __init__(self) -> None:
        self._pending: list[list[Any]] = []
        self._ask: Ask | None = None
        self._idle_seconds = 0.0
        self.stream = 0
        """Of the operations to come."""
        self.machines = 0
        """How many there have been."""

    def note(self, *operation: Any) -> None:
        """An operation that nobody waits for."""
        self._pending.append(list(operation))
        if len(self._pending) > MOST_PENDING:
            self._tell()

    def ask(self, *operation: Any) -> float:
        """The value of an operation that is a question."""
        self._pending.append(list(operation))
        return self._tell()

    def _tell(self) -> float:
        """Sends what was kept back; the value of the last of it."""
        operations, self._pending = self._pending, []
        if self._ask is None:
            # Outside of a test's calls, such as when an exercise's cell runs, there is no machine: all takes some time.
            self._idle_seconds += IDLE_SECONDS * len(operations)
            return self._idle_seconds
        return self._ask(operations)

    @contextmanager
    def asking(self, ask: Ask) -> Iterator[None]:
        """In the block, questions go to this machine."""
        before, self._ask, self._pending, self.stream = self._ask, ask, [], 0
        self.machines += 1
        try:
            yield
            if self._pending:  # nothing was asked after these, but the machine counts what is done
                self._tell()
        finally:
            self._ask, self._pending = before, []
