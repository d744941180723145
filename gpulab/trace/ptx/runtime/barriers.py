"""Where lanes wait for others: barriers of a block, and `syncwarp` with the other meetings of a warp.

Written for `small`.
"""
# ruff: noqa: F405 (the slots of layout, all of them)
# mypy: disable-error-code="index,operator,no-any-return"

from __future__ import annotations

from typing import Any

from gpulab.trace.ptx.runtime.frames import look_again
from gpulab.trace.ptx.runtime.layout import *  # noqa: F403
from gpulab.trace.ptx.runtime.small import lowest_bit, ones

Address = Any


def release(ctx: Address) -> int:
    """Lets the threads go on whose barrier is complete; 0 if there is none."""
    threads = ctx[NTID_X] * ctx[NTID_Y] * ctx[NTID_Z]
    number = 0
    while number < 16:
        arrived = 0
        count = 0
        both = 1
        either = 0
        group = -1
        same = 1
        i = 0
        while i < ctx[WARPS]:
            warp = ctx[WARP_TABLE] + i * WARP_SLOTS * 8
            lanes = warp[W_WAITING]
            while lanes:
                lane = lowest_bit(lanes)
                lanes &= lanes - 1
                if warp[W_BARRIER + lane] == number:
                    arrived += 1
                    predicate = warp[W_PREDICATE + lane]
                    count += predicate
                    both &= predicate
                    either |= predicate
                    if group == -1:
                        group = warp[W_GROUP + lane]
                    if group != warp[W_GROUP + lane]:
                        same = 0
            i += 1
        wanted = ctx[BARRIER_COUNTS + number]
        enough = arrived + ctx[BARRIER_ARRIVED + number] >= wanted
        complete = enough if wanted else arrived == threads and same
        if arrived and complete:
            ctx[BARRIER_ARRIVED + number] = 0
            ctx[BARRIER_COUNTS + number] = 0
            let_go(ctx, number, count, both, either)
            return 1
        number += 1
    return 0


def let_go(ctx: Address, number: int, count: int, both: int, either: int) -> int:
    """All threads that wait at a barrier."""
    ctx[STAMP] += 1
    ctx[BARRIERS] += 1
    i = 0
    while i < ctx[WARPS]:
        warp = ctx[WARP_TABLE] + i * WARP_SLOTS * 8
        lanes = warp[W_WAITING]
        while lanes:
            lane = lowest_bit(lanes)
            lanes &= lanes - 1
            if warp[W_BARRIER + lane] == number:
                warp[W_WAITING] &= ~(1 << lane)
                warp[W_STATUS] = RUNNABLE
        if warp[W_STATUS] == RUNNABLE:
            warp[W_RED_COUNT] = count
            warp[W_RED_AND] = both
            warp[W_RED_OR] = either
            lane = 0
            while lane < 32:
                warp[W_ORDERED + lane] = 0
                lane += 1
            look_again(warp[W_FRAME])
        i += 1
    return 0


def arrive(ctx: Address, warp: Address, mask: int, site: int, group: int, wanted: int, rows: Address) -> int:
    """Lanes come to a barrier of the block; rows: its number, what they bring to the reduction."""
    lanes = mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        number = rows[lane] & 15
        warp[W_BARRIER + lane] = number
        warp[W_GROUP + lane] = group
        warp[W_SITE + lane] = site
        warp[W_PREDICATE + lane] = rows[32 + lane] & 1
        if wanted:
            ctx[BARRIER_COUNTS + number] = rows[64 + lane]
    warp[W_WAITING] |= mask
    return 0


def only_arrive(ctx: Address, mask: int, rows: Address) -> int:
    """`bar.arrive`: counts the lanes of a barrier's number, which do not wait."""
    number = rows[lowest_bit(mask)] & 15
    ctx[BARRIER_COUNTS + number] = rows[64 + lowest_bit(mask)]
    ctx[BARRIER_ARRIVED + number] += ones(mask)
    return 0


def meeting(ctx: Address, warp: Address, mask: int, row: Address) -> int:
    """Of lanes at a warp-wide instruction those whose whole group is there; `row` has the mask of each."""
    ready = 0
    lanes = mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        wanted = row[lane] & 4294967295
        if wanted >> lane & 1 == 0:
            ctx[ERROR_LANE] = lane
            ctx[ERROR_ADDRESS] = wanted
            return -1
        if wanted & ~warp[W_EXITED] & ~mask == 0:
            ready |= 1 << lane
    return ready


def grant(warp: Address) -> int:
    """Whether a `syncwarp` is complete whose lanes stand at several places; if so, they may go on."""
    lane = 0
    while lane < 32:
        wanted = warp[W_MEETING + lane]
        if wanted:
            there = 0
            other = 0
            while other < 32:
                if warp[W_MEETING + other] == wanted:
                    there |= 1 << other
                other += 1
            if wanted & ~warp[W_EXITED] & ~there == 0:
                warp[W_GRANTED] |= there
                return 1
        lane += 1
    return 0


def sync_lanes(ctx: Address, warp: Address, mask: int, row: Address) -> int:
    """`bar.warp.sync`: of lanes there those that may go on, and memory is in order for them."""
    ready = meeting(ctx, warp, mask, row)
    if ready == -1:
        return -1
    ready |= mask & warp[W_GRANTED]
    warp[W_GRANTED] &= ~ready
    highest = 0
    lanes = ready
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        if warp[W_ORDERED + lane] > highest:
            highest = warp[W_ORDERED + lane]
    lanes = mask
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        if ready >> lane & 1:
            warp[W_MEETING + lane] = 0
            warp[W_ORDERED + lane] = highest + 1
        else:
            warp[W_MEETING + lane] = row[lane] & 4294967295
    return ready


BARRIERS_AND_MEETINGS = [release, let_go, arrive, only_arrive, meeting, grant, sync_lanes]
