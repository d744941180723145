"""The part of the emulator that is the same for every kernel: scheduling of blocks, warps and lanes.

Barriers are in `barriers`, activations of functions in `frames`. Written for `small`. Addresses are plain integers; the
slots are those of `layout`.
"""
# ruff: noqa: F405 (the slots of layout, all of them)
# mypy: disable-error-code="index,operator,no-any-return"

from __future__ import annotations

from typing import Any

from gpulab.trace.ptx.runtime.barriers import grant, release
from gpulab.trace.ptx.runtime.frames import look_again, open_frame, send
from gpulab.trace.ptx.runtime.layout import *  # noqa: F403
from gpulab.trace.ptx.runtime.small import call2, lowest_bit

Address = Any


def run_grid(ctx: Address) -> int:
    """Runs block after block; the state is kept where it stops."""
    while ctx[BLOCK_NUMBER] < ctx[BLOCK_COUNT]:
        if ctx[STARTED] == 0:
            start_block(ctx)
        status = run_block(ctx)
        if status != ENDED:
            return status
        if ctx[BARRIERS] > ctx[MOST_BARRIERS]:
            ctx[MOST_BARRIERS] = ctx[BARRIERS]
        ctx[THREADS_ENDED] += ctx[NTID_X] * ctx[NTID_Y] * ctx[NTID_Z]
        ctx[BLOCK_NUMBER] += 1
        ctx[STARTED] = 0
    return ENDED


def start_block(ctx: Address) -> int:
    """Puts all lanes of all warps at the kernel's first block, with fresh memory."""
    number = ctx[BLOCK_NUMBER]
    ctx[CTAID_X] = number % ctx[NCTAID_X]
    ctx[CTAID_Y] = number // ctx[NCTAID_X] % ctx[NCTAID_Y]
    ctx[CTAID_Z] = number // ctx[NCTAID_X] // ctx[NCTAID_Y]
    ctx[STAMP] += 1
    ctx[FIRST_STAMP] = ctx[STAMP]
    stamps = ctx[BLOCK_STAMPS]
    if stamps:
        stamps[number] = ctx[STAMP]
    ctx[BARRIERS] = 0
    fill(ctx[SHARED_HOST], (ctx[SHARED_BYTES] + 7) // 8)
    threads = ctx[NTID_X] * ctx[NTID_Y] * ctx[NTID_Z]
    i = 0
    while i < ctx[WARPS]:
        warp = ctx[WARP_TABLE] + i * WARP_SLOTS * 8
        left = threads - i * 32
        warp[W_ALL] = (1 << left) - 1 if left < 32 else 4294967295
        warp[W_EXITED] = 4294967295 ^ warp[W_ALL]
        warp[W_STATUS] = RUNNABLE
        warp[W_ROTATE] = 0
        warp[W_WAITING] = 0
        warp[W_GRANTED] = 0
        lane = 0
        while lane < 32:
            warp[W_ORDERED + lane] = 0
            warp[W_MEETING + lane] = 0
            warp[W_READS + lane] = 0
            warp[W_WRITES + lane] = 0
            warp[W_SHARED_READS + lane] = 0
            lane += 1
        frame = warp[W_STACK]
        warp[W_FRAME] = frame
        open_frame(frame, 0, ctx[ENTRY_BLOCKS])
        frame[FRAME_HEADER] = 1
        words = frame[F_WORDS]
        frame[FRAME_HEADER + 2 * words] = warp[W_ALL]
        if warp[W_ASYNC]:
            lane = 0
            while lane < 32:
                (warp[W_ASYNC] + lane * ASYNC_SLOTS * 8)[0] = 0
                lane += 1
        if ctx[LOCAL_BYTES]:
            fill(warp[W_LOCAL], ctx[LOCAL_BYTES] * 4)
            if warp[W_LOCAL_FRESH]:
                fill(warp[W_LOCAL_FRESH], ctx[LOCAL_BYTES] * 4)
        i += 1
    i = 0
    while i < 16:
        ctx[BARRIER_COUNTS + i] = 0
        ctx[BARRIER_ARRIVED + i] = 0
        i += 1
    if ctx[SEED]:
        shuffle_warps(ctx)
    ctx[STARTED] = 1
    return 0


def fill(start: Address, slots: int) -> int:
    """Memory that nothing was written to: NaN for floats."""
    i = 0
    while i < slots:
        start[i] = -1
        i += 1
    return 0


def random(ctx: Address) -> int:
    """The next number of a seeded sequence."""
    x = ctx[SEED]
    x ^= x << 13
    x ^= x >> 7
    x ^= x << 17
    ctx[SEED] = x
    return (x * 2685821657736338717) >> 32


def shuffle_warps(ctx: Address) -> int:
    """Another order of the block's warps."""
    order = ctx[ORDER]
    i = ctx[WARPS] - 1
    while i > 0:
        j = random(ctx) % (i + 1)
        kept = order[i]
        order[i] = order[j]
        order[j] = kept
        i -= 1
    return 0


def run_block(ctx: Address) -> int:
    """Runs the warps of a block in turn, each until it ends or waits."""
    while True:
        moved = 0
        running = 0
        i = 0
        while i < ctx[WARPS]:
            warp = ctx[WARP_TABLE] + ctx[ORDER][i] * WARP_SLOTS * 8
            if warp[W_STATUS] == RUNNABLE:
                warp[W_SLICE] = ctx[SLICE]
                status = call2(ctx[RUN_WARP], ctx, warp)
                moved = 1
                if status == FAILED:
                    ctx[ERROR_WARP] = warp[W_NUMBER]
                    return FAILED
                if status == OUT_OF_FUEL:
                    if ctx[FUEL] <= 0:  # the launch goes on with more, and the warp's turn has only just begun
                        ctx[ERROR_WARP] = warp[W_NUMBER]
                        return OUT_OF_FUEL
                    warp[W_ROTATE] ^= 1
                else:
                    warp[W_STATUS] = status
            if warp[W_STATUS] != ENDED:
                running = 1
            i += 1
        if not running:
            return ENDED
        if not moved:
            if not release(ctx):
                return STUCK
            if ctx[SEED]:
                shuffle_warps(ctx)


def pick(ctx: Address, warp: Address) -> int:
    """The block that a warp runs next, its lanes in W_MASK; or that it ended, waits, or has used up its turn."""
    while True:
        ctx[FUEL] -= 1
        warp[W_SLICE] -= 1
        if ctx[FUEL] <= 0 or warp[W_SLICE] <= 0:
            return OUT_OF_FUEL
        frame = warp[W_FRAME]
        words = frame[F_WORDS]
        chosen = choose(ctx, warp, frame, words)
        if chosen >= 0:
            pending = frame + (FRAME_HEADER + 2 * words + chosen) * 8
            mask = pending[0]
            if ctx[SEED]:
                flags = ctx[BLOCK_FLAGS][frame[F_FIRST] + chosen]
                some = mask & random(ctx)
                if some and flags & MEETS == 0:
                    mask = some
            pending[0] ^= mask
            if pending[0] == 0:
                frame[FRAME_HEADER + chosen // 64] &= ~(1 << chosen % 64)
            warp[W_MASK] = mask
            return frame[F_FIRST] + chosen
        waiting = 0
        i = 0
        while i < words:
            waiting |= frame[FRAME_HEADER + i]
            i += 1
        if waiting:
            if grant(warp) == 0:
                return WAITING
            look_again(frame)
        else:
            caller = frame[F_CALLER]
            if caller == 0:
                return ENDED
            warp[W_FRAME] = caller
            if frame[F_DONE]:
                send(caller, frame[F_RETURN] - caller[F_FIRST], frame[F_DONE])
            look_again(caller)


def choose(ctx: Address, warp: Address, frame: Address, words: int) -> int:
    """The first block whose lanes can go on; in another order of the threads any of them; -1 if there is none.

    A call comes last, so that all lanes on their way to it make it together, and can meet inside the function.
    """
    in_order = ctx[SEED] == 0 and warp[W_ROTATE] == 0
    flags = ctx[BLOCK_FLAGS] + frame[F_FIRST] * 8
    found = -1
    calling = -1
    seen = 0
    i = 0
    while i < words:
        ready = frame[FRAME_HEADER + i] & ~frame[FRAME_HEADER + words + i]
        while ready:
            number = i * 64 + lowest_bit(ready)
            ready &= ready - 1
            if flags[number] & CALLS and warp[W_ROTATE] == 0:
                calling = number if calling < 0 else calling
            else:
                if in_order:
                    return number
                seen += 1
                if ctx[SEED] == 0 or random(ctx) % seen == 0:
                    found = number
        i += 1
    if found < 0:
        return calling
    return found


def leave(warp: Address, mask: int) -> int:
    """Lanes end."""
    warp[W_EXITED] |= mask
    frame = warp[W_FRAME]
    while frame:
        look_again(frame)
        frame = frame[F_CALLER]
    return 0


def copy_lanes(source: Address, source_step: int, target: Address, target_step: int, size: int, mask: int) -> int:
    """Bytes of each lane's parameters, from one frame to another; sizes are multiples of 8."""
    while mask:
        lane = lowest_bit(mask)
        mask &= mask - 1
        i = 0
        while i < size // 8:
            (target + lane * target_step)[i] = (source + lane * source_step)[i]
            i += 1
    return 0


SCHEDULING = [
    run_grid, start_block, fill, random, shuffle_warps, run_block, pick, choose, leave, copy_lanes,
]  # fmt: skip
