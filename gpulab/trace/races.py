"""Races: a location that two threads touch, at least one of them writing, with nothing between them that orders it.

Threads of different blocks are never ordered within a launch, warps of a block by barriers, lanes of a warp by barriers
and by `syncwarp`. Two atomic operations do not race with each other. An atomic counter through which blocks hand work
to the last of them does order memory on a GPU; it is not understood here and its data is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.log import ATOMIC, GLOBAL, LOAD, SHARED, STORE, WARP_SIZE, Accesses, Numbers, ranks, starts_of

_LOOKED_AT = 2_000
"""Racing locations that are searched for different pairs of source lines, evenly spread over all of them."""


@dataclass(frozen=True)
class Toucher:
    """One of the two sides."""

    block: int
    thread: int
    place: int
    kind: int


@dataclass(frozen=True)
class Conflict:
    """Two threads that touch a location without an order between them."""

    view: int
    address: int
    first: Toucher
    """One that writes."""
    second: Toucher


@dataclass(frozen=True)
class Unwritten:
    """A read of memory that nothing had been written to."""

    view: int
    address: int
    reader: Toucher


class RaceFinder:
    """Looks at a launch, some blocks at a time; `finish` compares blocks with each other.

    Args:
        unwritten: buffers in global memory with elements that nothing was written to: address, and a mask of bytes.
    """

    def __init__(self, unwritten: Sequence[tuple[int, NDArray[Any]]] = ()) -> None:
        self._fresh = unwritten
        self._pairs: dict[tuple[int, int, int, int, int], Conflict] = {}
        self._unwritten: dict[int, Unwritten] = {}
        self._kept: list[Accesses] = []

    def add(self, accesses: Accesses) -> None:
        """Compares the threads of each block, and remembers what is needed to compare blocks."""
        if not len(accesses):
            return
        epoch = ranks(accesses.space, accesses.block, accesses.epoch)
        warp = accesses.thread // WARP_SIZE
        self._compare(accesses, ranks(epoch, accesses.address), warp)
        lanes = ranks(warp, accesses.ordered)
        self._compare(accesses, ranks(epoch, accesses.address, lanes), accesses.thread)
        self._find_unwritten(accesses.only(accesses.space == SHARED))
        touched = accesses.only(accesses.space == GLOBAL)
        self._find_fresh(touched)
        # One access of each block, location and kind will do.
        _, one = np.unique(ranks(touched.address, touched.block, touched.kind), return_index=True)
        self._kept.append(_packed(touched.only(np.sort(one))))

    def finish(self) -> tuple[list[Conflict], list[Unwritten]]:
        """All that was found: one conflict for each pair of places and array, one unwritten read for each place."""
        if self._kept:
            columns = vars(self._kept[0])
            kept = Accesses(**{name: np.concatenate([getattr(part, name) for part in self._kept]) for name in columns})
            self._compare(kept, kept.address, kept.block)
            self._kept.clear()
        return list(self._pairs.values()), list(self._unwritten.values())

    def _compare(self, accesses: Accesses, location: Numbers, agent: Numbers) -> None:
        """Finds locations that several agents touch, with a plain write among it, or an atomic and a plain read.

        Any such location has two accesses by different agents that conflict: whichever of them wrote, there is another.
        """
        order = np.argsort(location, kind="stable")
        starts = starts_of(location[order])
        if not len(starts):
            return
        who, kind = agent[order], accesses.kind[order]
        several = np.minimum.reduceat(who, starts) != np.maximum.reduceat(who, starts)
        loads, stores, atomics = (np.maximum.reduceat(kind == one, starts) for one in (LOAD, STORE, ATOMIC))
        guilty = np.flatnonzero(several & (stores | (atomics & loads)))
        ends = np.append(starts[1:], len(order))
        for group in guilty[:: max(1, len(guilty) // _LOOKED_AT)]:
            rows = order[starts[group] : ends[group]]
            for one, other in _pairs(accesses.kind[rows], agent[rows], accesses.place[rows]):
                self._remember(accesses, int(rows[one]), int(rows[other]))

    def _remember(self, accesses: Accesses, one: int, other: int) -> None:
        first, second = _toucher(accesses, one), _toucher(accesses, other)
        view = int(accesses.view[one])
        key = (view, first.place, first.kind, second.place, second.kind)
        mirrored = (view, second.place, second.kind, first.place, first.kind)
        if key not in self._pairs and mirrored not in self._pairs:
            self._pairs[key] = Conflict(view, int(accesses.address[one]), first, second)

    def _find_unwritten(self, shared: Accesses) -> None:
        _, first = np.unique(ranks(shared.block, shared.address), return_index=True)
        self._note_unwritten(shared, first[shared.kind[first] != STORE])

    def _find_fresh(self, touched: Accesses) -> None:
        """Looks for reads of global memory that neither the host nor a kernel has written to."""
        for start, mask in self._fresh:
            inside = np.flatnonzero((touched.address >= start) & (touched.address < start + len(mask)))
            places = touched.address[inside] - start
            where, first = np.unique(places, return_index=True)
            early = inside[first[mask[where]]]
            self._note_unwritten(touched, early[touched.kind[early] != STORE])
            mask[places[touched.kind[inside] != LOAD]] = False

    def _note_unwritten(self, accesses: Accesses, rows: Numbers) -> None:
        """Remembers one of these reads for each place."""
        _, one = np.unique(accesses.place[rows], return_index=True)
        for row in map(int, rows[one]):
            reader = _toucher(accesses, row)
            found = Unwritten(int(accesses.view[row]), int(accesses.address[row]), reader)
            self._unwritten.setdefault(reader.place, found)


def _packed(accesses: Accesses) -> Accesses:
    """The columns that comparing blocks needs, in a third of the memory: all of a launch are held until its end."""
    needed = {"block", "thread", "place", "view", "kind", "turn"}
    columns = {name: column.astype(np.int32 if name in needed else np.int8) for name, column in vars(accesses).items()}
    return Accesses(**columns | {"address": accesses.address})


def _pairs(kind: Numbers, agent: Numbers, place: Numbers) -> Iterator[tuple[int, int]]:
    """Of one location's accesses a conflicting pair, the writer first, for every two places that conflict."""
    seen: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(zip(map(int, place), map(int, kind), strict=True)):
        rows = seen.setdefault(key, [])
        # Two different agents of a place are enough to find one that differs from any other.
        if len(rows) < 2 and all(agent[row] != agent[other] for other in rows):
            rows.append(row)
    for (_, kind_one), rows in seen.items():
        for (_, kind_other), others in seen.items():
            if kind_one == LOAD or (kind_one == ATOMIC and kind_other in (ATOMIC, STORE)):
                continue  # neither writes, or both are atomic, or it is found the other way round
            pair = next(((a, b) for a in rows for b in others if agent[a] != agent[b]), None)
            if pair:
                yield pair


def _toucher(accesses: Accesses, row: int) -> Toucher:
    columns = (accesses.block, accesses.thread, accesses.place, accesses.kind)
    return Toucher(*(int(column[row]) for column in columns))
