"""What is noted at every access: sectors, bank conflicts, reads of memory that nothing was written to.

Written for `small`. Races are the business of `races`.
"""
# ruff: noqa: F405 (the slots of layout, all of them)
# mypy: disable-error-code="index,operator,no-any-return"

from __future__ import annotations

from typing import Any

from gpulab.trace.ptx.runtime.layout import *  # noqa: F403
from gpulab.trace.ptx.runtime.races import IS_ATOMIC, IS_LOAD, IS_STORE, touch
from gpulab.trace.ptx.runtime.small import load8, lowest_bit, ones, store8

Address = Any


def observe(ctx: Address, warp: Address, site: int, mask: int, row: Address) -> int:
    """Counts one request of a warp and looks for races. row: the address of each lane."""
    if mask == 0:
        return 0
    space = (ctx[SITES] + site * SITE_SLOTS * 8)[S_SPACE]
    if space == IN_SHARED_SPACE:
        return observe_shared(ctx, warp, site, mask, row)
    if space == IN_GLOBAL:
        return observe_global(ctx, warp, site, mask, row)
    shared = 0
    other = 0
    lanes = mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        region = row[lane] >> REGION_SHIFT
        if region == SHARED_REGION:
            row[lane] -= SHARED_BASE
            shared |= 1 << lane
        if region >= FIRST_REGION:
            other |= 1 << lane
    if shared:
        observe_shared(ctx, warp, site, shared, row)
    if other:
        observe_global(ctx, warp, site, other, row)
    return 0


def observe_global(ctx: Address, warp: Address, site: int, mask: int, row: Address) -> int:
    """Lanes that touch buffers: those of each buffer by themselves, because not every one counts, nor in one size."""
    while mask:
        column = row[lowest_bit(mask)] >> REGION_SHIFT
        same = 0
        lanes = mask
        while lanes:
            lane = lowest_bit(lanes)
            lanes &= lanes - 1
            if row[lane] >> REGION_SHIFT == column:
                same |= 1 << lane
        mask ^= same
        observe_buffer(ctx, warp, site, same, row)
    return 0


def observe_buffer(ctx: Address, warp: Address, site: int, mask: int, row: Address) -> int:
    """Lanes that touch the same buffer."""
    about = ctx[SITES] + site * SITE_SLOTS * 8
    size = about[S_BYTES]
    kind = IS_ATOMIC if about[S_STRONG] else about[S_KIND]
    column = row[lowest_bit(mask)] >> REGION_SHIFT
    region = ctx[REGIONS] + column * REGION_SLOTS * 8
    if region[R_FLAGS] & UNCOUNTED:
        return 0
    seen = ctx[SCRATCH]
    count = 0
    highest = -1
    stamp = ctx[STAMP] << 32
    shift = ctx[GRANULE_SHIFT]
    cell_bytes = ctx[CELL_BYTES]
    lanes = mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        address = row[lane]
        sector = address >> 5
        if sector > highest:
            seen[count] = sector
            count += 1
            highest = sector
        elif sector != seen[count - 1]:
            i = 0
            while i < count and seen[i] != sector:
                i += 1
            if i == count:
                seen[count] = sector
                count += 1
        shadow = region[R_SHADOW]
        if shadow:
            offset = address - region[R_BASE]
            thread = (warp[W_NUMBER] << 5) + lane
            ordered = warp[W_ORDERED + lane]
            if ordered > 1022:
                ordered = 1023
            record = stamp | ordered << 22 | thread << 12 | site
            first = offset >> shift
            last = (offset + size - 1) >> shift
            unwritten = region[R_UNWRITTEN]
            while first <= last:
                if unwritten and load8(unwritten + first):
                    if about[S_KIND] != IS_STORE and about[S_UNWRITTEN] == 0:
                        note_unwritten(ctx, about, site, region[R_BASE] + (first << shift), record, column)
                    if about[S_KIND] != IS_LOAD:
                        store8(unwritten + first, 0)
                touch(ctx, shadow + first * cell_bytes, kind, record, column, region[R_BASE] + (first << shift), 1)
                first += 1
    tally(ctx, warp, site, column, mask, row, count)
    if about[S_KIND] == IS_LOAD:
        add_up(ctx, warp, mask, about[S_PARTS], W_READS, BUSIEST_READS)
    if about[S_KIND] == IS_STORE:
        add_up(ctx, warp, mask, about[S_PARTS], W_WRITES, BUSIEST_WRITES)
    return 0


def observe_shared(ctx: Address, warp: Address, site: int, mask: int, row: Address) -> int:
    """Lanes that touch the block's shared memory."""
    about = ctx[SITES] + site * SITE_SLOTS * 8
    size = about[S_BYTES]
    kind = IS_ATOMIC if about[S_STRONG] else about[S_KIND]
    degree = bank_conflict_degree(ctx, mask, row, size)
    column = column_of(ctx, row[lowest_bit(mask)])
    tally(ctx, warp, site, column, mask, row, degree)
    if about[S_KIND] != IS_STORE:
        add_up(ctx, warp, mask, about[S_PARTS], W_SHARED_READS, BUSIEST_SHARED_READS)
    stamp = ctx[STAMP] << 32
    shift = ctx[SHARED_SHIFT]
    cell_bytes = ctx[CELL_BYTES]
    shadow = ctx[SHARED_SHADOW]
    block = ctx[FIRST_STAMP] << 32
    lanes = mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        thread = (warp[W_NUMBER] << 5) + lane
        ordered = warp[W_ORDERED + lane]
        if ordered > 1022:
            ordered = 1023
        record = stamp | ordered << 22 | thread << 12 | site
        first = row[lane] >> shift
        last = (row[lane] + size - 1) >> shift
        while first <= last:
            cell = shadow + first * cell_bytes
            new = cell[0] < block and cell[1] < block and (cell_bytes == 24 or cell[3] < block)
            if new and about[S_KIND] != IS_STORE and about[S_UNWRITTEN] == 0:
                note_unwritten(ctx, about, site, first << shift, record, column)
            touch(ctx, cell, kind, record, column, first << shift, 0)
            first += 1
    return 0


def note_unwritten(ctx: Address, about: Address, site: int, address: int, record: int, column: int) -> int:
    """A read of memory that nothing was written to; one for each site."""
    about[S_UNWRITTEN] = 1
    entry = ctx[UNWRITTEN] + ctx[UNWRITTEN_COUNT] * UNWRITTEN_SLOTS * 8
    ctx[UNWRITTEN_COUNT] += 1
    entry[U_SITE] = site
    entry[U_ADDRESS] = address
    entry[U_RECORD] = record
    entry[U_COLUMN] = column
    return 0


def read_local(ctx: Address, warp: Address, site: int, mask: int, row: Address, offset: int, size: int) -> int:
    """Looks for reads of a thread's own memory, `size` bytes from each address on, of which none was written to."""
    about = ctx[SITES] + site * SITE_SLOTS * 8
    lanes = 0 if about[S_UNWRITTEN] else mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        own = row[lane] + offset - (LOCAL_BASE if about[S_SPACE] == GENERIC else 0)
        if about[S_SPACE] != GENERIC or row[lane] >> REGION_SHIFT == LOCAL_REGION:
            fresh = warp[W_LOCAL_FRESH] + lane * ctx[LOCAL_BYTES] + own
            i = 0
            while i < size and load8(fresh + i):
                i += 1
            if i == size:
                record = ctx[STAMP] << 32 | warp[W_NUMBER] << 17 | lane << 12 | site
                note_unwritten(ctx, about, site, own, record, LOCAL_REGION)
                return 0
    return 0


def write_local(ctx: Address, warp: Address, site: int, mask: int, row: Address, size: int) -> int:
    """Notes that lanes have written to their own memory."""
    generic = (ctx[SITES] + site * SITE_SLOTS * 8)[S_SPACE] == GENERIC
    lanes = mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        if not generic or row[lane] >> REGION_SHIFT == LOCAL_REGION:
            own = row[lane] - (LOCAL_BASE if generic else 0)
            fresh = warp[W_LOCAL_FRESH] + lane * ctx[LOCAL_BYTES] + own
            i = 0
            while i < size:
                store8(fresh + i, 0)
                i += 1
    return 0


def forget_local(ctx: Address, warp: Address, mask: int, start: int, size: int) -> int:
    """A function begins: nothing was written to its own memory yet."""
    lanes = mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        fresh = warp[W_LOCAL_FRESH] + lane * ctx[LOCAL_BYTES] + start
        i = 0
        while i < size:
            store8(fresh + i, 255)
            i += 1
    return 0


def column_of(ctx: Address, address: int) -> int:
    """The column of the shared variable that holds an address."""
    table = ctx[SHARED_VARIABLES]
    count = ctx[SHARED_VARIABLE_COUNT]
    found = table[1]
    i = 0
    while i < count:
        if table[2 * i] <= address:
            found = table[2 * i + 1]
        i += 1
    return found


def tally(ctx: Address, warp: Address, site: int, column: int, mask: int, row: Address, cost: int) -> int:
    """Adds a request to the sums of its site and array, and keeps the one that costs most."""
    about = ctx[TALLIES] + (site * ctx[COLUMNS] + column) * TALLY_SLOTS * 8
    lanes = ones(mask)
    about[T_ELEMENTS] += lanes * (ctx[SITES] + site * SITE_SLOTS * 8)[S_PARTS]
    about[T_REQUESTS] += 1
    about[T_COST] += cost
    if cost > about[T_WORST] or (cost == about[T_WORST] and lanes > about[T_LANES]):
        about[T_WORST] = cost
        about[T_LANES] = lanes
        about[T_BLOCK] = ctx[BLOCK_NUMBER]
        about[T_WARP] = warp[W_NUMBER]
        about[T_MASK] = mask
        lane = 0
        while lane < 32:
            about[T_ADDRESSES + lane] = row[lane]
            lane += 1
    return 0


def add_up(ctx: Address, warp: Address, mask: int, parts: int, counts: int, busiest: int) -> int:
    """Adds elements to what each lane has touched in its block, and keeps the most of any lane."""
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        found = warp[counts + lane] + parts
        warp[counts + lane] = found
        if found > ctx[busiest]:
            ctx[busiest] = found
    return 0


def bank_conflict_degree(ctx: Address, mask: int, row: Address, size: int) -> int:
    """Turns that shared memory needs: most words in one bank, for the lanes that are served together."""
    words = size // 4
    if words < 1:
        words = 1
    depth = ctx[SCRATCH]
    lists = ctx[SCRATCH] + 32 * 8
    together = 32 // words
    degree = 0
    part = 0
    while part < words:
        lanes = mask & (((1 << together) - 1) << (part * together))
        part += 1
        if lanes == 0:
            continue
        low = 0
        while low < 32:
            depth[low] = 0
            low += 1
        while lanes:
            lane = lowest_bit(lanes)
            lanes &= lanes - 1
            word = row[lane] >> 2
            last = word + words
            while word < last:
                bank = word & 31
                taken = depth[bank]
                known = lists + bank * 32 * 8
                i = 0
                while i < taken and known[i] != word:
                    i += 1
                if i == taken:
                    known[taken] = word
                    depth[bank] = taken + 1
                    if taken >= degree:
                        degree = taken + 1
                word += 1
    return degree


OBSERVING = [
    observe, observe_global, observe_buffer, observe_shared, note_unwritten, read_local, write_local, forget_local,
    column_of, tally, add_up, bank_conflict_degree,
]  # fmt: skip
