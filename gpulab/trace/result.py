"""What a traced launch did, as plain numbers, and as lines that can be read.

A `Trace` holds ints, floats, strings and tuples only, `Trace.summary()` dicts and lists of those: both survive pickling
and any wire. How they are counted is up to `counts` and `races`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from gpulab.trace.errors import Index


@dataclass(frozen=True)
class Request:
    """What one instruction of one warp asked for at once."""

    block: Index
    warp: int
    """Number of the warp in its block."""
    lanes: tuple[int, ...]
    """That took part."""
    indexes: tuple[tuple[int, ...], ...]
    """Of the element that each of them touched."""
    addresses: tuple[int, ...]
    """Of those elements, in bytes. Global buffers start at multiples of 512; in shared memory the bank is
    (address // 4) % 32."""
    item_bytes: int
    cost: int
    """32-byte sectors in global memory; in shared memory the conflict degree."""


@dataclass(frozen=True)
class LineCount:
    """All accesses of one kind to one array by one expression of the kernel."""

    line: int
    source: str
    expression: str
    """Such as `x[i]`; empty where the source cannot be had."""
    array: str
    space: str
    """`global` or `shared`."""
    kind: str
    """`load`, `store` or `atomic`."""
    elements: int
    element_bytes: int
    """Of each: 4 if a lane reads a `float4`, which is four elements. `worst.item_bytes` is 16 there."""
    requests: int
    sectors_per_request: float
    """Average, of global memory; 0 for shared."""
    most_sectors: int
    """Of any request."""
    bank_conflict_degree: int
    """Highest of any request; 0 for global memory."""
    worst: Request
    """The request that cost most; the first of them."""


@dataclass(frozen=True)
class Touch:
    """A thread that touched a location, and where in the source."""

    block: Index
    thread: Index
    line: int
    source: str
    verb: str
    """`reads`, `writes` or `updates`."""

    def __str__(self) -> str:
        source = f" ({self.source})" if self.source else ""
        return f"thread {self.thread} of block {self.block} {self.verb} it in line {self.line}{source}"


@dataclass(frozen=True)
class ThreadRace:
    """A location that two threads touch, one of them writing, with no barrier between."""

    array: str
    space: str
    index: tuple[int, ...]
    first: Touch
    """One that writes."""
    second: Touch

    @property
    def lines(self) -> tuple[int, int]:
        """Of the two accesses that clash, the smaller first."""
        low, high = sorted((self.first.line, self.second.line))
        return low, high

    def __str__(self) -> str:
        place = f"{self.array}[{', '.join(map(str, self.index))}] in {self.space} memory"
        between = "nothing orders two blocks" if self.first.block != self.second.block else "no barrier between them"
        return f"race for {place}: {self.first}, {self.second}, {between}"


@dataclass(frozen=True)
class UnwrittenRead:
    """A read of memory that nothing had been written to: shared, local, or global from `gpulab.empty`."""

    array: str
    space: str
    index: tuple[int, ...]
    """Empty where it is not known."""
    reader: Touch

    def __str__(self) -> str:
        element = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return f"{self.array}{element} was never written: {self.reader}"


@dataclass(frozen=True)
class Trace:
    """A launch, counted."""

    kernel: str
    grid: Index
    """Blocks along x, y, z."""
    block: Index
    """Threads along x, y, z."""
    blocks: int
    threads: int
    """Of all blocks."""
    shared_bytes: int
    """Of one block, static and dynamic."""
    barriers: int
    """`syncthreads` that a block went through; the most of any block."""
    global_reads: int
    """Elements read from global memory, by all threads; atomic operations are counted apart."""
    global_writes: int
    global_atomics: int
    global_read_requests: int
    """Warp requests."""
    global_write_requests: int
    shared_reads: int
    shared_writes: int
    shared_atomics: int
    busiest_reads: int
    """Elements that one thread read from global memory: the most of any."""
    busiest_writes: int
    """The same for writes."""
    busiest_shared_reads: int
    """The same for reads of shared memory, atomic operations included."""
    read_sectors_per_request: float
    """32-byte sectors that a warp's read of global memory touches, on average; 0 without reads."""
    write_sectors_per_request: float
    sectors_per_request: float
    """Reads and writes together."""
    most_read_sectors: int
    """Of any request."""
    most_write_sectors: int
    bank_conflict_degree: int
    """The highest of any request to shared memory: 1 is free of conflicts, 32 is the worst; 0 when none was made."""
    lines: tuple[LineCount, ...]
    """In the order of the source."""
    races: tuple[ThreadRace, ...]
    """One for each pair of places in the source and array."""
    unwritten: tuple[UnwrittenRead, ...]
    """One for each place in the source."""
    float64_lines: tuple[int, ...] | None = None
    """Lines that compute in float64 on a GPU; None when the kernel was not compiled."""

    def summary(self) -> dict[str, Any]:
        """Everything as dicts, lists, numbers and strings."""
        plain = asdict(self)
        plain["races"] = [asdict(race) | {"lines": list(race.lines), "message": str(race)} for race in self.races]
        plain["unwritten"] = [asdict(read) | {"message": str(read)} for read in self.unwritten]
        return {name: _plain(value) for name, value in plain.items()}

    def __str__(self) -> str:
        extents = (self.grid, "block"), (self.block, "thread")
        shape = " of ".join(_several(_dims(extent), math.prod(extent), what) for extent, what in extents)
        shared = f", {self.shared_bytes:,} bytes shared" if self.shared_bytes else ""
        rows = [f"{self.kernel}: {shape}{shared}"]
        width = max((len(line.source) for line in self.lines), default=0)
        for line in self.lines:
            what = f"{line.kind}s {line.array}"
            if line.space == "global":
                cost = f"{line.sectors_per_request:.3g} sectors/request"
            else:
                cost = f"bank-conflict degree {line.bank_conflict_degree}"
            counts = (line.elements, "element"), (line.requests, "request")
            count = ", ".join(_several(f"{number:,}", number, what) for number, what in counts)
            rows.append(f"  line {line.line:3}  {line.source:{width}}  {what}: {count}, {cost}")
        rows += [f"  {finding}" for finding in (*self.races, *self.unwritten)]
        return "\n".join(rows)


def _several(shown: str, number: int, what: str) -> str:
    return f"{shown} {what}" + ("" if number == 1 else "s")


def _dims(shape: Index) -> str:
    used = shape if shape[2] > 1 else shape[:2] if shape[1] > 1 else shape[:1]
    return " × ".join(map(str, used))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
