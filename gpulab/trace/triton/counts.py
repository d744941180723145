"""What a Triton launch did to memory: bytes loaded and stored by argument and line, program instances, `tl.dot` calls.

Filled by `hook` while the kernel runs in Triton's interpreter. Counted is what the programs ask for: caches, and
what a compiler would remove, are not modeled. Masked-out elements are not counted, since a GPU does not fetch them.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.errors import OutOfBoundsError
from gpulab.trace.triton import blocks
from gpulab.trace.triton.blocks import ArgumentMemory
from gpulab.trace.triton.oddities import Oddities

MOST_PLACES = 256
"""Of programs whose first element is told."""


@dataclass
class LineTraffic:
    """What one line of the kernel loaded and stored, by all programs."""

    bytes_read: int = 0
    bytes_written: int = 0


@dataclass
class Programs:
    """One launch of a Triton kernel, counted."""

    kernel: str
    file: str
    deadline: float = math.inf
    """`time.thread_time()` at which the interpreter gives up."""
    compiled: frozenset[tuple[Any, int, int]] = frozenset()
    """What the compiler has visited: see `branches`."""
    memories: tuple[ArgumentMemory, ...] = ()
    grid: tuple[int, int, int] = (1, 1, 1)
    reads: dict[str, int] = field(default_factory=dict)
    """Bytes loaded, by the name of the kernel's parameter."""
    writes: dict[str, int] = field(default_factory=dict)
    lines: dict[int, LineTraffic] = field(default_factory=dict)
    dot_types: set[tuple[str, str]] = field(default_factory=set)
    """(type of the factors, type of the sums) of each `tl.dot`."""
    dot_flops: int = 0
    largest_dot: int = 0
    """Elements of the largest block that a `tl.dot` gave."""
    dot_tile: tuple[int, int] = (0, 0)
    """Rows and columns of this block."""
    largest_block: int = 0
    """Elements of the largest block that was loaded or stored at once."""
    largest_value: int = 0
    """Elements of the largest block that a program made at all, as a GPU would keep it in registers."""
    most_loaded: dict[str, int] = field(default_factory=dict)
    """The most times that one program loaded the same byte, by the name of the kernel's parameter."""
    most_readers: dict[str, int] = field(default_factory=dict)
    """The most programs that loaded the same byte, likewise."""
    _loads: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    """For each byte how many programs have loaded it, the number of the last one, and how often that one has."""
    _program: tuple[int, int, int] = (-1, -1, -1)
    """The place of the program that is running; they run one after another."""
    _number: int = 0
    """Its number, from 1."""
    loaded: set[tuple[int, int, int]] = field(default_factory=set)
    """The places of the programs that loaded something."""
    stored: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """Bytes, by the place in the grid of the program that stored them."""
    begins: dict[tuple[int, int, int], int] = field(default_factory=dict)
    """The first element that a program stored, by its place; the lowest of its first store."""
    strides: dict[str, str] = field(default_factory=dict)
    """What is unusual about the strides of a block, by the name of the kernel's parameter."""
    oddities: Oddities = field(default_factory=Oddities)

    def access(
        self, addresses: Any, mask: Any, kind: str, line: int, program: tuple[int, int, int], item_bytes: int
    ) -> str:
        """Counts one load, store or atomic operation of one program. The name of the tensor, if any was touched.

        Args:
            addresses: of all elements of the block, in bytes.
            mask: which of them take part.
            kind: `"load"`, `"store"` or `"atomic"`, which is both.
            line: of the kernel; 0 where it is not known.
            program: its place in the grid.
            item_bytes: of each element, as the pointers have it: a kernel may take a tensor's memory for another type.

        Raises:
            OutOfBoundsError: an element outside every argument of the kernel.
        """
        self.largest_block = max(self.largest_block, int(np.size(addresses)))
        wanted = np.asarray(addresses).reshape(-1)
        if mask is not None:
            wanted = wanted[np.broadcast_to(mask, np.shape(addresses)).reshape(-1)]
        if not wanted.size:
            return ""
        low, high = int(wanted.min()), int(wanted.max())
        memory = next((one for one in self.memories if one.start <= low and high + item_bytes <= one.end), None)
        if memory is None:
            raise self._outside(low, high, kind, line, self._why(addresses, mask, low, high, program))
        moved = wanted.size * item_bytes
        counts = self.lines.setdefault(line, LineTraffic())
        if kind != "store":
            self.reads[memory.name] = self.reads.get(memory.name, 0) + moved
            counts.bytes_read += moved
            self._loaded(memory, wanted, program, item_bytes)
        if kind != "load":
            self.writes[memory.name] = self.writes.get(memory.name, 0) + moved
            counts.bytes_written += moved
            self.stored[program] = self.stored.get(program, 0) + moved
            self.begins.setdefault(program, (low - memory.start) // item_bytes)
        if memory.name not in self.strides and (strides := blocks.strides_of(addresses, memory)):
            self.strides[memory.name] = f"In line {line}, {strides}: is the stride right?"
        return memory.name

    def _loaded(
        self, memory: ArgumentMemory, addresses: NDArray[Any], program: tuple[int, int, int], item_bytes: int
    ) -> None:
        """Counts how often a program loads the same bytes, and how many programs do."""
        if program != self._program:
            self._program, self._number = program, self._number + 1
            self.loaded.add(program)
        name = memory.name
        if name not in self._loads:
            self._loads[name] = np.zeros((3, memory.end - memory.start), np.int32)
        readers, last, times = self._loads[name]
        begins = addresses.astype(np.int64) - memory.start
        for places in (begins + byte for byte in range(item_bytes)):
            again = last[places] == self._number
            readers[places] += ~again
            times[places] = np.where(again, times[places] + 1, 1)
            last[places] = self._number
        self.most_loaded[name] = max(self.most_loaded.get(name, 0), int(times[begins].max()))
        self.most_readers[name] = max(self.most_readers.get(name, 0), int(readers[begins].max()))

    def _nearest(self, low: int, high: int) -> ArgumentMemory:
        """The tensor that a block touches or lies next to."""
        return min(self.memories, key=lambda memory: max(memory.start - high, low - memory.end, 0))

    def _why(self, addresses: Any, mask: Any, low: int, high: int, program: tuple[int, int, int]) -> str:
        """What is said of a block that leaves its tensor."""
        if mask is None or not self.memories:
            return "Elements outside the tensor need a mask, such as mask=i < n. Or is the address wrong?"
        memory = self._nearest(low, high)
        if memory.start <= low and high == memory.end and np.ndim(addresses) < 2:
            last = (memory.end - memory.start) // memory.item_bytes - 1
            return (
                f"The last one is element {last}: does the mask compare with <= instead of <, is one of its limits"
                " missing, or is the address off by one?"
            )
        why = blocks.beyond(addresses, mask, memory, program, self.grid)
        unknown = "is one of its limits missing or wrong, is the address wrong, or are there too many programs?"
        stop = "." if why[:1].isupper() else ":"
        return f"The mask is true there{stop} {why or unknown}"

    def _outside(self, low: int, high: int, kind: str, line: int, note: str) -> OutOfBoundsError:
        """The error for a block that leaves its tensor, named after the tensor that it touches or lies next to."""
        if not self.memories:
            return OutOfBoundsError(f"Kernel '{self.kernel}' was given no tensor to {kind}.", line)
        nearest = self._nearest(low, high)
        count = (nearest.end - nearest.start) // nearest.item_bytes
        element = (high if nearest.start <= low else low) - nearest.start
        what = f"element {element // nearest.item_bytes} of {nearest.name}, which has {count} elements"
        verb = {"load": "loads", "store": "stores", "atomic": "updates"}[kind]
        source = linecache.getline(self.file, line).strip() if line else ""
        place = f" (line {line}: {source})" if source else ""
        return OutOfBoundsError(f"Kernel '{self.kernel}' {verb} {what}{place}. {note}", line)

    def dot(self, a: Any, b: Any, sums: Any) -> None:
        """Counts one `tl.dot`; the arguments are the interpreter's blocks."""
        rows, inner = np.shape(a.data)[-2:]
        columns = np.shape(b.data)[-1]
        batch = math.prod(np.shape(a.data)[:-2])
        self.dot_flops += 2 * batch * rows * inner * columns
        if batch * rows * columns > self.largest_dot:
            self.largest_dot, self.dot_tile = batch * rows * columns, (rows, columns)
        self.dot_types.add((_torch_name(str(a.dtype)), _torch_name(str(sums.dtype))))

    def summary(self) -> dict[str, Any]:
        """Everything as dicts, lists, numbers and strings."""
        return {
            "kind": "triton",
            "kernel": self.kernel,
            "grid": list(self.grid),
            "programs": math.prod(self.grid),
            "bytes_read": sum(self.reads.values()),
            "bytes_written": sum(self.writes.values()),
            "reads": dict(self.reads),
            "writes": dict(self.writes),
            "lines": [
                {
                    "line": line,
                    "source": linecache.getline(self.file, line).strip(),
                    "bytes_read": counts.bytes_read,
                    "bytes_written": counts.bytes_written,
                }
                for line, counts in sorted(self.lines.items())
            ],
            "dots": [{"factors": factors, "sums": sums} for factors, sums in sorted(self.dot_types)],
            "dot_flops": self.dot_flops,
            "largest_dot": self.largest_dot,
            "dot_tile": list(self.dot_tile),
            "largest_block": self.largest_block,
            "largest_value": self.largest_value,
            "writers": len(self.stored),
            "idle_readers": len(self.loaded - self.stored.keys()),
            "most_loaded": dict(self.most_loaded),
            "most_readers": dict(self.most_readers),
            "most_written": max(self.stored.values(), default=0),
            "begins": {",".join(map(str, place)): first for place, first in [*self.begins.items()][:MOST_PLACES]},
            "strides": list(self.strides.values()),
            "nan": self.oddities.nan,
            "overflow": self.oddities.overflow,
            "rising": self.oddities.rising,
            "undefined": self.oddities.undefined,
            "paddings": dict(self.oddities.paddings),
        }


def table_of(launches: list[Mapping[str, Any]] | list[dict[str, Any]]) -> str:
    """The launches as lines that can be read: what ran, how many programs, which bytes each argument moved.

    Args:
        launches: as `trace.counting()` gives them.
    """
    rows = []
    for launch in launches:
        if launch.get("kind") == "allocation":
            continue
        programs = f", {launch['programs']:,} programs" if launch.get("kind") == "triton" else ""
        moved = f"{launch['bytes_read']:,} bytes read, {launch['bytes_written']:,} written"
        rows.append(f"{launch['kernel']}{programs}: {moved}")
        for line in launch.get("lines", ()):
            both = [(line["bytes_read"], "read"), (line["bytes_written"], "written")]
            parts = [f"{count:,} bytes {verb}" for count, verb in both if count]
            rows.append(f"    {line['source']:<52} {', '.join(parts)}")
    return "\n".join(rows)


def _torch_name(name: str) -> str:
    """Triton's `fp16` as PyTorch's `float16`."""
    return {"fp16": "float16", "fp32": "float32", "fp64": "float64", "bf16": "bfloat16"}.get(name, name)
