"""What to say when a launch cannot go on: bad accesses, barriers that never complete, kernels that never end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.trace.errors import (
    DISTANCE_THIRD,
    BarrierError,
    EndlessKernelError,
    Index,
    OutOfBoundsError,
    TraceError,
    UnsupportedError,
)
from gpulab.trace.log import ATOMIC, LOAD, View
from gpulab.trace.ptx.codegen.lane import Site
from gpulab.trace.ptx.codegen.warp_code import DISTANCE_SITE, MASK_SITE, RECURSION_SITE, TRAP_SITE
from gpulab.trace.ptx.instructions.memory import space_of
from gpulab.trace.ptx.own_arrays import own_array
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import Instruction
from gpulab.trace.python.places import SourcePlace

if TYPE_CHECKING:
    from gpulab.trace.ptx.launch import PtxLaunch

_OUTSIDE_LOCAL = "An index is outside the thread's local arrays."


def index_of(number: int, shape: Index) -> Index:
    """x, y, z of the thread or block with this number."""
    rest, x = divmod(number, shape[0])
    z, y = divmod(rest, shape[1])
    return x, y, z


def place_of(launch: PtxLaunch, instruction: Instruction) -> SourcePlace:
    """Where an instruction comes from."""
    return launch.sources.place(launch.code.own(instruction.location))


def failure(launch: PtxLaunch, status: int, spent_s: float) -> TraceError:
    """The error for a launch that stopped."""
    if status == layout.STUCK:
        return _stuck(launch)
    if status == layout.OUT_OF_FUEL:
        return _endless(launch, spent_s)
    context = launch.context
    number, lane = int(context[layout.ERROR_SITE]), int(context[layout.ERROR_LANE])
    thread = index_of(int(context[layout.ERROR_WARP]) * 32 + lane, launch.block)
    block = _block(launch)
    if number < 0:
        kind, which = -(-number // 1_000_000), -number % 1_000_000
        return _special(launch, kind, launch.code.meetings[which - 1], thread, block)
    site = launch.code.sites[number]
    place = place_of(launch, site.instruction)
    message = access_message(launch, site, int(context[layout.ERROR_ADDRESS]))
    return OutOfBoundsError(f"{message} It was thread {thread} of block {block}, {place}.", place.line, thread, block)


def _block(launch: PtxLaunch) -> Index:
    return index_of(int(launch.context[layout.BLOCK_NUMBER]), launch.grid)


def _special(launch: PtxLaunch, kind: int, one: Instruction, thread: Index, block: Index) -> TraceError:
    place = place_of(launch, one)
    who = f"thread {thread} of block {block}, {place}"
    if kind == TRAP_SITE:
        return TraceError(f"The kernel stopped itself with a trap. It was {who}.", place.line, thread, block)
    if kind == RECURSION_SITE:
        message = f"Functions call each other more deeply than the memory for calls allows. It was {who}."
        return UnsupportedError(message, place.line, thread, block)
    if kind == MASK_SITE:
        mask = int(launch.context[layout.ERROR_ADDRESS])
        remedy = f" {DISTANCE_THIRD}" * (one.opcode == "shfl")
        message = f"The mask {mask:#010x} does not name the lane that passes it.{remedy} It was {who}."
        return BarrierError(message, place.line, thread, block)
    if kind == DISTANCE_SITE:
        distance = _signed(int(launch.context[layout.ERROR_ADDRESS]))
        what = f"The lanes of a warp pass different distances to a shuffle, such as {distance}"
        message = f"{what}. {DISTANCE_THIRD} It was {who}."
        return TraceError(message, place.line, thread, block)
    raise AssertionError(kind)


def access_message(launch: PtxLaunch, site: Site, address: int) -> str:
    """What is wrong with an access to an address."""
    verb = {LOAD: "reads", ATOMIC: "updates"}.get(site.kind, "writes")
    space, offset = site.space, address
    if space == layout.GENERIC and address >> layout.REGION_SHIFT == layout.SHARED_REGION:
        space, offset = layout.IN_SHARED_SPACE, address - layout.SHARED_BASE
    if space == layout.IN_SHARED_SPACE:
        return _shared(launch, site, _signed(offset))
    if elsewhere := _elsewhere(launch, site, address):
        return f"The kernel {verb} {elsewhere}"
    if "local" in site.instruction.modifiers or address >> layout.REGION_SHIFT == layout.LOCAL_REGION:
        array = own_array(launch, site)
        return f"An index of '{array}' is outside the thread's local arrays." if array else _OUTSIDE_LOCAL
    region = launch.memory.regions.get(address >> layout.REGION_SHIFT)
    if region is None:
        what = "a null pointer" if address < 1 << 20 else f"address {address & (1 << 64) - 1:#x}"
        return f"The kernel {verb} memory through {what}: there is no array."
    view = region.view_at(address)
    name = view.name if view else "a variable"
    inside = address - region.start >= 0 and address - region.start + site.bytes <= region.bytes
    if inside and address % site.align:
        return _misaligned(name, site)
    if inside and region.flags & layout.READ_ONLY:
        return f"The kernel writes to '{name}', which is constant."
    return _outside(view, address, "") if view else f"The kernel {verb} outside {name}."


def _elsewhere(launch: PtxLaunch, site: Site, address: int) -> str:
    """What an instruction takes for memory of the space that it names, and is not; empty if it lies there.

    Compilers name the right space: only PTX that somebody wrote can do that.
    """
    named = space_of(site.instruction)
    number = address >> layout.REGION_SHIFT
    region = launch.memory.regions.get(number)
    if named == "global" and number in OWN:
        return f"{OWN[number]} as if it lay in global memory (.global)."
    if named not in ("const", "param") or region is None or region.flags & layout.CONSTANT:
        return ""
    view = region.view_at(address)
    name = f"'{view.name}'" if view else "a variable"
    where = "constant memory (.const)" if named == "const" else "the memory of parameters (.param)"
    return f"{name} as if it lay in {where}, but it lies in global memory."


OWN = {
    layout.SHARED_REGION: "shared memory",
    layout.LOCAL_REGION: "a thread's local memory",
    layout.PARAM_REGION: "a parameter",
}
"""Region → what lies there."""


def _signed(offset: int) -> int:
    return offset - (1 << 32) if 1 << 31 <= offset < 1 << 32 else offset


def _misaligned(name: str, site: Site) -> str:
    return (
        f"'{name}' is accessed {site.bytes} bytes at a time at an address that is not a multiple of {site.align}: "
        "misaligned. A vector such as float4 must start at a multiple of its size."
    )


def _shared(launch: PtxLaunch, site: Site, offset: int) -> str:
    views = launch.shared_views
    view = next((one for one in reversed(views) if one.address <= offset), views[0])
    if offset >= 0 and offset + site.bytes <= launch.shared_bytes and offset % site.align:
        return _misaligned(view.name, site)
    if not launch.shared_bytes:
        return "The kernel uses shared memory whose size the launch gives, and the launch gives none."
    return _outside(view, offset, "shared array ")


def _outside(view: View, address: int, what: str) -> str:
    index, rest = divmod(address - view.address, view.item_bytes)
    count = 1
    for extent in view.shape:
        count *= extent
    elements = f"{count} element{'s' if count != 1 else ''}" + (f", 0 to {count - 1}" if count > 1 else "")
    shape = f"has {elements}" if len(view.shape) == 1 else f"has shape {view.shape}, {elements} in memory"
    between = f", and {rest} bytes" if rest else ""
    if view.rows:
        rows, columns = view.rows
        shape += f", in {rows} row{'s' if rows != 1 else ''} of {columns}: (row, column) is at row * {columns} + column"
    return f"{view.name}[{index}]{between} is out of bounds: {what}'{view.name}' {shape}."


# ------------------------------------------------------------------------------------------------------------ waiting


def _waiting(launch: PtxLaunch) -> tuple[dict[int, list[int]], dict[int, Instruction]]:
    """Threads of the block by the place at which they wait, and the instruction there."""
    groups: dict[int, list[int]] = {}
    instructions: dict[int, Instruction] = {}
    for number, warp in enumerate(launch.warp_rows):
        lanes = int(warp[layout.W_WAITING])
        for lane in range(32):
            if lanes >> lane & 1:
                which = int(warp[layout.W_SITE + lane])
                groups.setdefault(which, []).append(number * 32 + lane)
                instructions[which] = launch.code.meetings[which]
        for block, mask in _pending(launch, int(warp[layout.W_FRAME])):
            end = launch.block_at(block).end
            mask &= ~lanes
            if end is None or not mask:
                continue
            key = -1 - block
            instructions[key] = end
            groups.setdefault(key, []).extend(number * 32 + lane for lane in range(32) if mask >> lane & 1)
    return groups, instructions


def _pending(launch: PtxLaunch, frame: int) -> list[tuple[int, int]]:
    """Blocks of a frame, by their number in the kernel, with the lanes that stand there."""
    slots = launch.slots_at(frame, layout.FRAME_HEADER)
    first, count, words = (int(slots[slot]) for slot in (layout.F_FIRST, layout.F_COUNT, layout.F_WORDS))
    pending = launch.slots_at(frame + (layout.FRAME_HEADER + 2 * words) * 8, count)
    return [(first + number, int(mask)) for number, mask in enumerate(pending) if mask]


def _stuck(launch: PtxLaunch) -> TraceError:
    groups, instructions = _waiting(launch)
    block = _block(launch)
    parts, lines = [], []
    by_line: dict[tuple[str, str], list[int]] = {}
    for key, threads in groups.items():
        place = place_of(launch, instructions[key])
        lines.append(place.line)
        by_line.setdefault((launch.dialect.name_of(instructions[key]), str(place)), []).extend(threads)
    for (call, where), threads in by_line.items():
        parts.append(f"{_several(launch, threads)} wait{'s' * (len(threads) == 1)} at {call} in {where}")
    waiting = {thread for threads in groups.values() for thread in threads}
    ended = [thread for thread in range(launch.threads) if thread not in waiting]
    if ended:
        parts.append(f"{_several(launch, ended)} {'has' if len(ended) == 1 else 'have'} already returned")
    first = next(iter(instructions.values()))
    if first.opcode in ("bar", "barrier") and "warp" not in first.modifiers:
        rule = "Every thread of a block must reach every barrier"
        remedy = f"{rule}: put the condition around the work, not around the barrier, and do not return before it."
    elif first.opcode in ("wmma", "mma", "ldmatrix"):
        remedy = "All 32 lanes of a warp must make the same call: put no condition around it."
    else:
        remedy = "All lanes that the mask names must make the same call."
    thread = index_of(min(waiting), launch.block)
    return BarrierError(f"Block {block}: {'; '.join(parts)}. {remedy}", lines[0], thread, block)


def _several(launch: PtxLaunch, threads: list[int]) -> str:
    first = index_of(min(threads), launch.block)
    return f"thread {first}" if len(threads) == 1 else f"{len(threads)} threads, such as {first},"


def _endless(launch: PtxLaunch, spent_s: float) -> TraceError:
    warp = launch.warp_rows[int(launch.context[layout.ERROR_WARP])]
    block = _block(launch)
    place, lane = SourcePlace(0, ""), 0
    for number, mask in _pending(launch, int(warp[layout.W_FRAME])):
        found = launch.location_of(number)
        if found.line and mask:
            place, lane = launch.sources.place(found), (mask & -mask).bit_length() - 1
            break
    thread = index_of(int(launch.context[layout.ERROR_WARP]) * 32 + lane, launch.block)
    ended, total = int(launch.context[layout.THREADS_ENDED]), launch.blocks * launch.threads
    where = f", {place}," if place.line else ""
    done = f"{ended:,} of {total:,} threads had ended after {spent_s:.1f} s"
    message = f"The kernel does not end: thread {thread} of block {block}{where} was still running. {done}."
    if launch.context[layout.BLOCK_NUMBER] > 0:
        message += (
            " Does its loop come to an end for every thread? If so, the launch is too large to run without a GPU."
        )
    else:
        message += " Does its loop come to an end for every thread?"
    return EndlessKernelError(message, place.line, thread, block)
