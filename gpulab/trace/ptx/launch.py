"""Runs a translated kernel: memory for its state, the run itself, and its results."""

from __future__ import annotations

import ctypes
import math
import re
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.errors import Index, LaunchError
from gpulab.trace.log import ATOMIC, View
from gpulab.trace.ptx.codegen.flow import Block
from gpulab.trace.ptx.program import Program
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.runtime.buffers import DeviceMemory, Region, plain_name, shared_view
from gpulab.trace.ptx.runtime.machine import runtime_function
from gpulab.trace.ptx.text.dialect import Dialect
from gpulab.trace.ptx.text.sources import Sources
from gpulab.trace.ptx.text.syntax import Location
from gpulab.unwritten import unwritten_bytes

Slots = NDArray[np.int64]
_FUEL = 2_000_000
"""Blocks of instructions between two looks at the clock."""
_HURRIED_FUEL = 5_000
"""Blocks of instructions until a kernel that was compiled in a hurry is worth a better translation."""
_SLICE = 200_000
"""Blocks of instructions that a warp runs before another gets a turn, should it not wait or end."""
_STACK_BYTES = 1 << 20
"""Of a warp whose functions call themselves."""
_RECURSIVE_LOCAL_BYTES = 16 << 10
_BLOCK_LIMIT = 1024
"""Threads of a block on every GPU."""
SHARED_LIMIT_BYTES = 48 * 1024
"""Static shared memory of a block on every GPU."""


@dataclass(frozen=True)
class Options:
    """How a launch runs."""

    seconds: float = 10.0
    """Of processor time."""
    seed: int = 0
    """0: warps and lanes in order. Another number: in an order drawn from it."""
    shared_limit_bytes: int = SHARED_LIMIT_BYTES
    """Static and dynamic, of one block."""
    tensor_key: int = 0
    """Of what tensor cores multiply each product by, `tensor_cores.product`; 0 for nothing."""


class PtxLaunch:
    """One launch.

    Args:
        program: the kernel.
        grid: blocks.
        block: threads of a block.
        memory: with all buffers of the arguments.
        parameters: bytes as the kernel reads them.
        sources: the text that the kernel was compiled from.
        dialect: its language.
        dynamic_bytes: of shared memory.
        options: how it runs.
    """

    def __init__(
        self,
        program: Program,
        grid: Index,
        block: Index,
        memory: DeviceMemory,
        parameters: bytes,
        sources: Sources,
        dialect: Dialect,
        dynamic_bytes: int = 0,
        options: Options | None = None,
    ) -> None:
        self.program, self.code, self.grid, self.block, self.memory = program, program.code, grid, block, memory
        self.sources, self.dialect = sources, dialect
        self.options = options or Options()
        self.blocks = grid[0] * grid[1] * grid[2]
        self.threads = block[0] * block[1] * block[2]
        self.warps = -(-self.threads // 32)
        self.shared_bytes = self.code.static_shared_bytes + dynamic_bytes
        self._check_shared()
        self._check_block()
        self._alive: list[Any] = []
        self.context = self._slots(layout.CONTEXT_SLOTS)
        self.shared_views = self._shared_views()
        self.region_count = max(memory.regions, default=layout.PARAM_REGION) + 1
        self.columns = self.region_count + len(self.shared_views)
        self._set_shape()
        self._set_memory(parameters)
        self._set_warps()
        if self.code.counted:
            self._set_notes()
        self.printed: list[str] = []
        self.printed_characters = 0
        self.error: BaseException | None = None

    def _check_shared(self) -> None:
        if self.shared_bytes > self.options.shared_limit_bytes:
            raise LaunchError(
                f"{self.shared_bytes:,} bytes of shared memory per block: the limit is "
                f"{self.options.shared_limit_bytes:,}. Use smaller tiles."
            )

    def _check_block(self) -> None:
        limits = self.code.entry.syntax.limits
        most = math.prod(limits.get("maxntid", (_BLOCK_LIMIT,)))
        if self.threads > most:
            raise LaunchError(
                f"'{self.code.name}' is compiled for at most {most:,} threads per block (__launch_bounds__), and the "
                f"launch gives {self.threads:,}. A GPU refuses it."
            )

    def _slots(self, count: int) -> Slots:
        memory = np.zeros(max(count, 1), np.int64)
        self._alive.append(memory)
        return memory

    def _shared_views(self) -> list[View]:
        places = sorted((place, name) for name, place in self.code.shared.items())
        found = []
        for (place, name), (after, _) in zip(places, [*places[1:], (self.shared_bytes, "")], strict=False):
            size = self.shared_bytes - place if name in self.code.dynamic_names else after - place
            found.append(shared_view(plain_name(name), place, size, self._shared_item()))
        return found or [shared_view("shared", 0, self.shared_bytes, self._shared_item())]

    def name_shared(self, names: list[str]) -> None:
        """Gives shared arrays the names that they have in the source, in the order in which the compiler met them."""
        numbered = sorted(self.code.shared, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
        if numbered and len(numbered) == len(names):
            own = dict(zip(map(plain_name, numbered), names, strict=True))
            self.shared_views = [replace(view, name=own[view.name]) for view in self.shared_views]

    def _shared_item(self) -> int:
        """Bytes of an element of shared memory, as the kernel mostly touches it."""
        sizes = [site.bytes // site.parts for site in self.code.sites if site.space == layout.IN_SHARED_SPACE]
        return max(set(sizes), key=sizes.count) if sizes else 4

    def _set_shape(self) -> None:
        context = self.context
        for axis in range(3):
            context[layout.NTID_X + axis] = self.block[axis]
            context[layout.NCTAID_X + axis] = self.grid[axis]
        context[layout.BLOCK_COUNT] = self.blocks
        context[layout.WARPS] = self.warps
        context[layout.ENTRY_BLOCKS] = len(self.code.entry.blocks)
        context[layout.SLICE] = _SLICE
        context[layout.SEED] = self.options.seed

    def _set_memory(self, parameters: bytes) -> None:
        context = self.context
        shared = self._slots(-(-self.shared_bytes // 8) + 2)
        context[layout.SHARED_HOST], context[layout.SHARED_BYTES] = shared.ctypes.data, self.shared_bytes
        self.shared_memory = shared.view(np.uint8)
        raw = self._slots(-(-len(parameters) // 8) + 1)
        raw.view(np.uint8)[: len(parameters)] = np.frombuffer(parameters, np.uint8)
        context[layout.PARAM_HOST] = raw.ctypes.data
        table = self._slots(self.region_count * layout.REGION_SLOTS).reshape(-1, layout.REGION_SLOTS)
        codes = self.code.codes.values()
        own = sum(code.local_bytes for code in codes)
        self.local_bytes = own if not self.code.recursive or not own else _RECURSIVE_LOCAL_BYTES
        windows = {
            layout.SHARED_REGION: (layout.SHARED_BASE, self.shared_bytes, shared.ctypes.data, 0),
            layout.LOCAL_REGION: (layout.LOCAL_BASE, self.local_bytes, 0, 0),
            layout.PARAM_REGION: (layout.PARAM_BASE, len(parameters), raw.ctypes.data, layout.READ_ONLY),
        }
        for number, region in self.memory.regions.items():
            windows[number] = (region.start, region.bytes, region.host, region.flags)
        for number, (base, size, host, rights) in windows.items():
            table[number, [layout.R_BASE, layout.R_BYTES, layout.R_HOST, layout.R_FLAGS]] = base, size, host, rights
        self.region_table = table
        context[layout.REGIONS], context[layout.REGION_COUNT] = table.ctypes.data, self.region_count
        context[layout.LOCAL_BYTES] = self.local_bytes
        context[layout.HALVES] = _halves().ctypes.data
        context[layout.OPERANDS] = self._slots(1024).ctypes.data
        self.operands = self._alive[-1]
        context[layout.SCRATCH] = self._slots(33 * 32).ctypes.data
        # An asynchronous copy is two accesses.
        most = max((len(block.instructions) for code in codes for block in code.blocks), default=1)
        context[layout.ROWS] = self._slots((2 * most + 4) * 32).ctypes.data
        flags = self._slots(self.code.block_count)
        for code in codes:
            for number, block in enumerate(code.blocks):
                if block.kind in ("warp", "barrier", "call") or block.resumes is not None:
                    flags[code.first + number] = layout.MEETS
                if block.kind == "call":
                    flags[code.first + number] |= layout.CALLS
        context[layout.BLOCK_FLAGS] = flags.ctypes.data

    def _set_warps(self) -> None:
        frames = sum(code.frame_bytes for code in self.code.codes.values())
        stack = frames if not self.code.recursive else max(frames, _STACK_BYTES)
        stacks = self._slots(self.warps * stack // 8)
        local = self._slots(max(self.warps * 32 * self.local_bytes // 8, 1))
        local.fill(-1)  # NaN for floats: what a thread reads before it writes there shows
        fresh = self._slots(local.size) if self.code.counted and self.local_bytes else None
        warps = self._slots(self.warps * layout.WARP_SLOTS).reshape(self.warps, -1)
        number = np.arange(self.warps * 32)
        x, y, _ = self.block
        tids = np.stack([number % x, number // x % y, number // (x * y)]).astype(np.int32)
        tids = np.ascontiguousarray(tids.reshape(3, self.warps, 32).transpose(1, 0, 2))
        self._alive.append(tids)
        copies = any(
            one.opcode == "cp"
            for code in self.code.codes.values()
            for block in code.blocks
            for one in block.instructions
        )
        queues = self._slots(self.warps * 32 * layout.ASYNC_SLOTS) if copies else None
        for warp in range(self.warps):
            row = warps[warp]
            row[layout.W_ASYNC] = queues.ctypes.data + warp * 32 * layout.ASYNC_SLOTS * 8 if queues is not None else 0
            row[layout.W_STACK] = stacks.ctypes.data + warp * stack
            row[layout.W_STACK_END] = stacks.ctypes.data + (warp + 1) * stack
            row[layout.W_NUMBER] = warp
            row[layout.W_LOCAL] = local.ctypes.data + warp * 32 * self.local_bytes
            if fresh is not None:
                row[layout.W_LOCAL_FRESH] = fresh.ctypes.data + warp * 32 * self.local_bytes
            row[layout.W_TIDS] = tids.ctypes.data + warp * 3 * 32 * 4
        self.warp_rows = warps
        order = self._slots(self.warps)
        order[:] = np.arange(self.warps)
        self.context[layout.WARP_TABLE], self.context[layout.ORDER] = warps.ctypes.data, order.ctypes.data

    def _set_notes(self) -> None:
        context, sites = self.context, self.code.sites
        if len(sites) >= layout.SITES_LIMIT:
            raise LaunchError(
                f"'{self.code.name}' has {len(sites):,} accesses to memory. At most {layout.SITES_LIMIT:,}."
            )
        table = self._slots((len(sites) + 1) * layout.SITE_SLOTS).reshape(-1, layout.SITE_SLOTS)
        for number, site in enumerate(sites):
            row = (site.kind, site.bytes, site.parts, site.space, int(site.strong))
            table[number, : len(row)] = row
        context[layout.SITES] = table.ctypes.data
        slots = max(len(sites), 1) * self.columns * layout.TALLY_SLOTS
        self.tallies = self._slots(slots).reshape(-1, self.columns, layout.TALLY_SLOTS)
        context[layout.TALLIES], context[layout.COLUMNS] = self.tallies.ctypes.data, self.columns
        atomic = any(site.kind == ATOMIC or site.strong for site in sites)
        cell = 40 if atomic else 24
        context[layout.CELL_BYTES] = cell
        shift = {
            space: min((site.bytes // site.parts for site in sites if site.space in (space, layout.GENERIC)), default=4)
            for space in (layout.IN_GLOBAL, layout.IN_SHARED_SPACE)
        }
        shifts = {space: min(size, 4).bit_length() - 1 for space, size in shift.items()}
        context[layout.GRANULE_SHIFT] = shifts[layout.IN_GLOBAL]
        context[layout.SHARED_SHIFT] = shifts[layout.IN_SHARED_SPACE]
        self.shadows: dict[int, Slots] = {}
        """Region → the cells of `runtime.races`, one for each of its locations."""
        for number, region in self.memory.regions.items():
            if not region.flags & layout.UNCOUNTED:
                cells = (region.bytes >> shifts[layout.IN_GLOBAL]) + 2
                self.shadows[number] = self._slots(cells * cell // 8)
                self.region_table[number, layout.R_SHADOW] = self.shadows[number].ctypes.data
                self.region_table[number, layout.R_UNWRITTEN] = self._unwritten_cells(region, shifts[layout.IN_GLOBAL])
        cells = (self.shared_bytes >> shifts[layout.IN_SHARED_SPACE]) + 2
        context[layout.SHARED_SHADOW] = self._slots(cells * cell // 8).ctypes.data
        variables = self._slots(2 * len(self.shared_views)).reshape(-1, 2)
        for number, view in enumerate(self.shared_views):
            variables[number] = view.address, self.region_count + number
        context[layout.SHARED_VARIABLES] = variables.ctypes.data
        context[layout.SHARED_VARIABLE_COUNT] = len(self.shared_views)
        self.conflicts = self._slots(layout.CONFLICTS_LIMIT * layout.CONFLICT_SLOTS).reshape(-1, layout.CONFLICT_SLOTS)
        self.unwritten = self._slots((len(sites) + 1) * layout.UNWRITTEN_SLOTS).reshape(-1, layout.UNWRITTEN_SLOTS)
        context[layout.CONFLICTS] = self.conflicts.ctypes.data
        context[layout.UNWRITTEN] = self.unwritten.ctypes.data
        self.block_stamps = self._slots(self.blocks)
        context[layout.BLOCK_STAMPS] = self.block_stamps.ctypes.data

    def _unwritten_cells(self, region: Region, shift: int) -> int:
        """Address of a byte for each cell of a buffer, 1 where nothing was written to yet; 0 if there is none."""
        sizes = {view.item_bytes for view in region.views}
        if len(sizes) != 1 or not region.bytes:
            return 0
        pointer = ctypes.cast(region.host, ctypes.POINTER(ctypes.c_uint8))
        mask = unwritten_bytes(np.ctypeslib.as_array(pointer, (region.bytes,)), sizes.pop())
        if mask is None:
            return 0
        cells = np.append(mask[:: 1 << shift], [False] * 16).astype(np.uint8)
        self._alive.append(cells)
        return int(cells.ctypes.data)

    def run(self) -> None:
        """Runs all blocks.

        Raises:
            TraceError: the kernel did what a GPU does not allow, or did not end.
        """
        from gpulab.trace.ptx.failures import failure
        from gpulab.trace.ptx.services import service_of

        service = service_of(self)
        self.context[layout.SERVICE] = ctypes.cast(service, ctypes.c_void_p).value or 0
        run_grid = runtime_function("run_grid")
        began = time.thread_time()
        while True:
            self.context[layout.FUEL] = _HURRIED_FUEL if self.program.hurried else _FUEL
            self._compiled = self.program.compiled  # another launch may replace it meanwhile
            self.context[layout.RUN_WARP] = self._compiled.address("run_warp")
            status = run_grid(self.context.ctypes.data)
            if status == layout.ENDED:
                return
            if self.error is not None:
                raise self.error
            if status == layout.OUT_OF_FUEL and self.program.hurried:
                self.program.improve()
                continue
            spent = time.thread_time() - began
            if status != layout.OUT_OF_FUEL or spent > self.options.seconds:
                raise failure(self, status, spent)

    def slots_at(self, address: int, count: int) -> Slots:
        """State at an address."""
        return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_int64)), (count,))

    def block_at(self, number: int) -> Block:
        """The block with this number in the kernel."""
        code = next(code for code in self.code.codes.values() if 0 <= number - code.first < len(code.blocks))
        return code.blocks[number - code.first]

    def location_of(self, number: int) -> Location:
        """Where the block with this number begins in the kernel's own source."""
        block = self.block_at(number)
        every = [*block.instructions, *([block.end] if block.end else [])]
        found = (self.code.own(one.location) for one in every if one.location.line)
        return next(found, Location())

    @property
    def instructions(self) -> int:
        """Instructions that threads have run: one for each thread."""
        return int(self.context[layout.INSTRUCTIONS])


def _halves() -> NDArray[np.float32]:
    """Every float16 as a float32."""
    global _HALVES
    if _HALVES is None:
        _HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    return _HALVES


_HALVES: NDArray[np.float32] | None = None
