"""What the memory system does for a launch: 32-byte sectors for each warp request, conflicts in shared memory's banks.

A request is what one instruction of one warp asks for at once. The tracer runs threads one after another, so requests
are put together afterwards: accesses of one warp at one place in the source, between the same two barriers or warp-wide
calls, in the same turn of the loops around it. Where a lane is there several times, as in a `while` loop whose source
cannot be had, the k-th time of each lane is counted with the k-th of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpulab.trace.log import GLOBAL, LOAD, SHARED, STORE, WARP_SIZE, Accesses, Numbers, View, ranks, starts_of

SECTOR_BYTES = 32
BANKS = 32
BANK_BYTES = 4


@dataclass(frozen=True)
class Sample:
    """One request, to be looked at."""

    view: int
    block: int
    warp: int
    lanes: tuple[int, ...]
    addresses: tuple[int, ...]
    """In bytes, one for each lane."""
    item_bytes: int
    cost: int
    """Sectors in global memory, the conflict degree in shared memory."""


@dataclass
class Tally:
    """Sums over all requests of one place, kind and buffer."""

    elements: int = 0
    requests: int = 0
    cost: int = 0
    """Sectors in global memory, conflict degrees in shared memory, added up."""
    worst: Sample | None = None
    """The first of those that cost most, and of these of those with most lanes."""


@dataclass(frozen=True)
class Key:
    """What requests are added up by."""

    place: int
    kind: int
    space: int
    name: str


class Counter:
    """Adds up a launch, some blocks at a time."""

    def __init__(self) -> None:
        self.tallies: dict[Key, Tally] = {}
        self.busiest_reads = self.busiest_writes = self.busiest_shared_reads = 0
        """Elements that one thread read from global memory, wrote to it, read from shared memory: the most of any."""

    def add(self, accesses: Accesses, views: list[View]) -> None:
        """Counts the requests of these accesses, which are all that their blocks made."""
        if not len(accesses):
            return
        self._note_busiest(accesses)
        order, starts = _requests(accesses)
        accesses = accesses.only(order)
        lengths = np.diff(np.append(starts, len(accesses)))
        request = np.repeat(np.arange(len(starts)), lengths)
        costs = np.zeros(len(starts), dtype=np.int64)
        for space, cost in ((GLOBAL, sectors), (SHARED, conflict_degrees)):
            mine = accesses.space == space
            if mine.any():
                costs += cost(request[mine], accesses.only(mine), len(starts))
        first = accesses.only(starts)
        names: dict[str, int] = {}
        name_of = np.array([names.setdefault(view.name, len(names)) for view in views], dtype=np.int64)
        group = ranks(first.place, first.kind, first.space, name_of[first.view])
        by_group = np.lexsort((np.arange(len(starts)), -lengths, -costs, group))
        for members in np.split(by_group, starts_of(group[by_group])[1:]):
            head = members[0]
            row = int(starts[head])
            kind, space = int(first.kind[head]), int(first.space[head])
            key = Key(int(first.place[head]), kind, space, views[int(first.view[head])].name)
            tally = self.tallies.setdefault(key, Tally())
            tally.elements += int(lengths[members].sum())
            tally.requests += len(members)
            tally.cost += int(costs[members].sum())
            sample = _sample(accesses, slice(row, row + int(lengths[head])), int(costs[head]))
            if tally.worst is None or (sample.cost, len(sample.lanes)) > (tally.worst.cost, len(tally.worst.lanes)):
                tally.worst = sample

    def _note_busiest(self, accesses: Accesses) -> None:
        """Counts for each thread what it did to either memory; atomic operations on shared memory are reads as well."""
        thread = ranks(accesses.block, accesses.thread)
        thread = np.unique(thread, return_inverse=True)[1]
        shared = (accesses.space == SHARED) & (accesses.kind != STORE)
        reads, writes = ((accesses.space == GLOBAL) & (accesses.kind == kind) for kind in (LOAD, STORE))
        most = [int(np.bincount(thread[chosen], minlength=1).max()) for chosen in (reads, writes, shared)]
        known = self.busiest_reads, self.busiest_writes, self.busiest_shared_reads
        self.busiest_reads, self.busiest_writes, self.busiest_shared_reads = map(max, most, known)


def _requests(accesses: Accesses) -> tuple[Numbers, Numbers]:
    """An order in which each request's accesses stand together, lanes ascending, and where each request starts."""
    site = ranks(accesses.place, accesses.kind, accesses.space)
    lane, warp = accesses.thread % WARP_SIZE, accesses.thread // WARP_SIZE
    phase = ranks(accesses.block, warp, accesses.epoch, accesses.gathered, accesses.turn)
    # How many times has this lane been here before, in this phase?
    turn_key = ranks(phase, site, lane)
    by_lane = np.argsort(turn_key, kind="stable")
    starts = starts_of(turn_key[by_lane])
    lengths = np.diff(np.append(starts, len(by_lane)))
    turn = np.empty(len(by_lane), dtype=np.int64)
    turn[by_lane] = np.arange(len(by_lane)) - np.repeat(starts, lengths)
    request_key = ranks(phase, site, turn)
    # Within one turn a lane occurs once, and threads ran in the order of their lanes: stable is enough.
    order = np.argsort(request_key, kind="stable")
    return order, starts_of(request_key[order])


def sectors(request: Numbers, accesses: Accesses, count: int) -> Numbers:
    """How many different 32-byte sectors each of `count` requests touches.

    Args:
        request: number of the request, for each access.
        accesses: to global memory.
        count: of requests.
    """
    sector = accesses.address // SECTOR_BYTES  # an element is aligned to its size and lies in one
    span = int(sector.max()) + 1
    found = np.sort(request * span + sector)
    return np.bincount(found[starts_of(found)] // span, minlength=count)


def conflict_degrees(request: Numbers, accesses: Accesses, count: int) -> Numbers:
    """How many turns shared memory needs for each of `count` requests: 1 is free of conflicts.

    Lanes that ask for the same word share it. Elements of 8 bytes are served in two halves of the warp, elements of 16
    bytes in four quarters, each without a conflict of its own if its words lie in different banks.

    Args:
        request: number of the request, for each access.
        accesses: to shared memory.
        count: of requests.
    """
    words = np.maximum(accesses.item_bytes // BANK_BYTES, 1)
    most = int(words.max())
    part = (accesses.thread % WARP_SIZE) * words // WARP_SIZE
    turn = np.repeat(request * most + part, words)
    within = np.arange(len(turn)) - np.repeat(np.cumsum(words) - words, words)
    word = np.repeat(accesses.address // BANK_BYTES, words) + within
    span = int(word.max()) + 1
    asked = np.sort(turn * span + word)
    asked = asked[starts_of(asked)]
    busy, depth = np.unique(asked // span * BANKS + asked % span % BANKS, return_counts=True)
    degrees = np.zeros(count, dtype=np.int64)
    np.maximum.at(degrees, busy // (BANKS * most), depth)
    return degrees


def _sample(accesses: Accesses, rows: slice, cost: int) -> Sample:
    thread = accesses.thread[rows]
    return Sample(
        view=int(accesses.view[rows.start]),
        block=int(accesses.block[rows.start]),
        warp=int(thread[0]) // WARP_SIZE,
        lanes=tuple(map(int, thread % WARP_SIZE)),
        addresses=tuple(map(int, accesses.address[rows])),
        item_bytes=int(accesses.item_bytes[rows.start]),
        cost=cost,
    )
