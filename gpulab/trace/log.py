"""The raw record of a launch: who touched which address, where in the source, in which order.

The kernel's threads append to plain lists, because that is what costs least; `Log.take` turns a stretch of them into
columns of numbers. What the numbers mean for sectors, banks and races is up to `counts` and `races`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.errors import Index
from gpulab.trace.python.places import Places

LOAD, STORE, ATOMIC = 0, 1, 2
KIND_NAMES = ("load", "store", "atomic")
GLOBAL, SHARED = 0, 1
SPACE_NAMES = ("global", "shared")

WARP_SIZE = 32

KINDS = 4
"""A view's number times this, plus the kind of access, is what threads log."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """An array as a kernel sees it: an argument, a shared array, or a slice of one."""

    name: str
    space: int
    address: int
    """Of its first element, in bytes; no two buffers of a space overlap."""
    scale: int
    """Bytes that one step of the logged index stands for."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes."""
    item_bytes: int
    rows: tuple[int, ...] = ()
    """Rows and columns of a matrix whose elements have one index here, as through a C pointer."""

    def index_at(self, address: int) -> tuple[int, ...]:
        """The index of the element that starts at this address."""
        left = address - self.address
        found = [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -abs(self.strides[axis])):
            if self.shape[axis] > 1:
                found[axis], left = divmod(left, self.strides[axis])
        return tuple(found)


@dataclass(frozen=True)
class Accesses:
    """Columns of equal length, one row for each access, in the order in which the tracer ran them."""

    block: Numbers
    """Number of the block in its grid."""
    thread: Numbers
    """Number of the thread in its block; x runs fastest."""
    epoch: Numbers
    """Block-wide barriers that the thread had passed."""
    gathered: Numbers
    """Warp-wide meetings (`syncwarp`, shuffles, votes) that it had passed since the last of those."""
    ordered: Numbers
    """Those of them that also order memory: `syncwarp` only."""
    turn: Numbers
    """In which turn of the loops around it; equal for lanes that make it together."""
    place: Numbers
    view: Numbers
    kind: Numbers
    space: Numbers
    address: Numbers
    item_bytes: Numbers

    def __len__(self) -> int:
        return len(self.block)

    def only(self, chosen: NDArray[Any]) -> Accesses:
        """The rows that a mask or an index array names."""
        return Accesses(**{name: column[chosen] for name, column in vars(self).items()})


class Log:
    """What the threads of a launch write down, and which of them is running."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        """Flat, four for each access: view and kind, index, code object, position of the instruction."""
        self.stretches: list[int] = []
        """Flat, six for each stretch that a thread ran undisturbed: first access, and five columns of `Accesses`."""
        self.turns: list[int] = []
        """Flat, two for each change of the turn: first access, number of the turn."""
        self.turn = 0
        """Of the running thread; 0 outside of all loops."""
        self.views: list[View] = []
        self.places = Places()
        self.thread: Index = (0, 0, 0)
        self.block: Index = (0, 0, 0)
        self.taken = 0
        self._compact: list[Numbers] = []
        self._compact_turns: list[Numbers] = []
        self._packed = 0

    def enter(self, turn: int) -> None:
        """What follows is in another turn of the loops."""
        self.turn = turn
        here = self._packed + len(self.entries) // 4
        if self.turns and self.turns[-2] == here:
            self.turns[-1] = turn  # nothing was logged in the turn before
        else:
            self.turns += (here, turn)

    def add_view(self, view: View) -> int:
        """Its number."""
        self.views.append(view)
        return len(self.views) - 1

    @property
    def accesses(self) -> int:
        """How many were logged so far, those that were taken included."""
        return self.taken + self.waiting

    @property
    def waiting(self) -> int:
        """How many were logged since the last `take`."""
        return self._packed + len(self.entries) // 4

    def compact(self) -> None:
        """Packs the entries so far into an array: a sixth of the memory. Between two threads only."""
        entries = self.entries
        self._compact_turns.append(np.array(self.turns, dtype=np.int64).reshape(-1, 2))
        self.turns.clear()
        if not entries:
            return
        codes = entries[2::4]
        positions = np.array(entries[3::4], dtype=np.int64) // 2
        places = np.empty(len(positions), dtype=np.int64)
        identities = np.fromiter(map(id, codes), dtype=np.int64, count=len(codes))
        for identity, first in zip(*np.unique(identities, return_index=True), strict=True):
            mine = identities == identity
            places[mine] = self.places.numbers_of(codes[first])[positions[mine]]
        keys = np.array(entries[0::4], dtype=np.int64)
        self._compact.append(np.stack([keys, np.array(entries[1::4], dtype=np.int64), places], axis=1))
        self._packed += len(keys)
        entries.clear()

    def take(self) -> Accesses:
        """All accesses since the last call, and forgets them. Between two blocks only."""
        self.compact()
        keys, indexes, places = np.concatenate([*self._compact, np.empty((0, 3), dtype=np.int64)]).T
        stretches = np.array(self.stretches, dtype=np.int64).reshape(-1, 6)
        lengths = np.diff(np.append(stretches[:, 0], len(keys)))
        block, thread, epoch, gathered, ordered = (np.repeat(stretches[:, column], lengths) for column in range(1, 6))
        changes = np.concatenate([np.zeros((1, 2), dtype=np.int64), *self._compact_turns])
        turn = np.repeat(changes[:, 1], np.diff(np.append(changes[:, 0], len(keys))))
        self.taken += len(keys)
        self._compact.clear()
        self._compact_turns.clear()
        self._packed = 0
        self.stretches.clear()
        fields = [(view.space, view.address, view.scale, view.item_bytes) for view in self.views]
        table = np.array(fields, dtype=np.int64).reshape(-1, 4)
        view = keys // KINDS
        space, address, scale, item_bytes = table[view].T
        where = address + indexes * scale
        who = (block, thread, epoch, gathered, ordered, turn)
        return Accesses(*who, places, view, keys % KINDS, space, where, item_bytes)


def starts_of(sorted_keys: Numbers) -> Numbers:
    """Where each run of equal values starts."""
    if not len(sorted_keys):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]]))


def ranks(*columns: Numbers) -> Numbers:
    """One number for each distinct row of these columns, small enough to be combined with others."""
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        low, high = (int(column.min()), int(column.max())) if len(column) else (0, 0)
        if int(combined.max(initial=0) + 1) * (high - low + 1) >= 2**62:
            combined = np.unique(combined, return_inverse=True)[1]
        combined = combined * (high - low + 1) + (column - low)
    return combined
