"""Who may touch which memory when: vector clocks, and the races that they show.

Every operation in a stream has a clock: for each stream, how many of its operations are over by then. Two operations
that touch the same bytes, one of them writing, must be ordered by their clocks. What a race leads to is of no concern
here, and neither is time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch.multiprocessing.reductions import StorageWeakRef

Clock = dict[int, int]
"""Stream → how many of its operations are over."""


class Race(RuntimeError):
    """Two operations touch the same memory, and nothing makes one wait for the other."""


@dataclass(frozen=True)
class StorageAccess:
    """One operation's, to a part of one storage."""

    begin: int
    end: int
    """In bytes."""
    stream: int
    tick: int
    """The operation's number in its stream."""
    writes: bool
    kind: str
    """What the operation is called in a message."""


@dataclass
class StorageMemory:
    """What is known of one storage."""

    alive: StorageWeakRef
    on_device: bool = False
    of_host: bool = False
    """Whether it holds what a call was given in the host's memory; False where nobody has said so."""
    anywhere: bool = True
    """Whether it was made out of sight, or on a named "cpu", which may mean the device: the first copy decides."""
    accesses: list[StorageAccess] = field(default_factory=list)


class AccessHistory:
    """All storages that operations have touched."""

    def __init__(self) -> None:
        self._known: dict[int, StorageMemory] = {}

    def memory(self, tensor: torch.Tensor) -> StorageMemory:
        """The entry of a tensor's storage."""
        # The weak reference keeps the address of the storage's head, not its data: no other one can take its place.
        alive = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call] # torch has no types there
        return self._known.setdefault(alive.cdata, StorageMemory(alive))

    def enter(
        self,
        kind: str,
        stream: int,
        tick: int,
        before: Clock,
        read: Sequence[torch.Tensor],
        write: Sequence[torch.Tensor],
    ) -> None:
        """Enters an operation.

        Args:
            kind: what to call it.
            stream: its stream.
            tick: its number there.
            before: what is over when it begins.
            read: what it reads.
            write: what it writes to.

        Raises:
            Race: something else that touches this memory may not be over, nor wait for this.
        """
        for tensors, writes in ((read, False), (write, True)):
            for tensor in tensors:
                mine = StorageAccess(*covered(tensor), stream, tick, writes, kind)
                memory = self.memory(tensor)
                for other in memory.accesses:
                    if _clash(mine, other) and before.get(other.stream, 0) < other.tick and other.stream != stream:
                        raise Race(_told(mine, other))
                memory.accesses.append(mine)

    def written_by_host(self, over: Clock, target: torch.Tensor) -> None:
        """Looks whether an operation that is not over, for all that the CPU knows, still touches what it writes to.

        Args:
            over: the CPU's clock.
            target: what it writes to.

        Raises:
            Race: one does.
        """
        mine = StorageAccess(*covered(target), stream=-1, tick=0, writes=True, kind="the CPU")
        for other in self.memory(target).accesses:
            if _clash(mine, other) and over.get(other.stream, 0) < other.tick:
                raise Race(
                    f'Race: the CPU writes to memory that "{other.kind}" in a stream may still be '
                    f"{'writing' if other.writes else 'reading'}. Nothing makes the CPU wait for it."
                )

    def all_over(self) -> None:
        """Everything entered so far is over, for everybody."""
        gone = [key for key, memory in self._known.items() if memory.alive.expired()]  # type: ignore[no-untyped-call]
        for key in gone:
            del self._known[key]
        for memory in self._known.values():
            memory.accesses.clear()

    def forget(self) -> None:
        """What a program that ended half way has left behind."""
        self._known.clear()


def join(clock: Clock, other: Clock) -> None:
    """Adds to a clock what another one knows."""
    for stream, tick in other.items():
        clock[stream] = max(clock.get(stream, 0), tick)


def same_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors lie in one storage."""
    return bool(one.untyped_storage()._cdata == other.untyped_storage()._cdata)


def overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors may share bytes."""
    (begin, end), (start, stop) = covered(one), covered(other)
    return same_storage(one, other) and begin < stop and start < end


def covered(tensor: torch.Tensor) -> tuple[int, int]:
    """First byte, and end, of what a tensor covers of its storage."""
    if not tensor.numel():
        return 0, 0
    begin = int(tensor.storage_offset()) * tensor.element_size()
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return begin, begin + (int(last) + 1) * tensor.element_size()


def _clash(one: StorageAccess, other: StorageAccess) -> bool:
    return one.begin < other.end and other.begin < one.end and (one.writes or other.writes)


def _told(mine: StorageAccess, other: StorageAccess) -> str:
    return (
        f'Race: "{mine.kind}" in one stream {"writes to" if mine.writes else "reads"} memory that "{other.kind}" in '
        f"another may still be {'writing' if other.writes else 'reading'}. Nothing makes one wait for the other: "
        "no event, no queue."
    )
