"""What lanes of a warp do together: shuffles, votes, matches, reductions. Written for `small`.

Each reads rows of 32 slots, one for each lane, and writes its results to the rows from number 8 on.
"""

# ruff: noqa: F405 (the slots of layout, all of them)
# mypy: disable-error-code="index,operator,no-any-return"

from __future__ import annotations

from typing import Any

from gpulab.trace.ptx.runtime.layout import *  # noqa: F403
from gpulab.trace.ptx.runtime.small import lowest_bit

Address = Any

SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR, SHUFFLE_INDEX = 0, 1, 2, 3
VOTE_ALL, VOTE_ANY, VOTE_UNIFORM, VOTE_BALLOT = 0, 1, 2, 3
REDUCE_ADD, REDUCE_MIN, REDUCE_MAX, REDUCE_AND, REDUCE_OR, REDUCE_XOR = range(6)
RESULT = 256
"""Slot of the first result row; the second follows."""


def unlike(ctx: Address, lanes: int, rows: Address) -> int:
    """Whether the distances of a shuffle (row 2) differ, and one is no distance: -1, with it in the context."""
    first = rows[64 + lowest_bit(lanes)]
    far = -1
    differ = 0
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        if rows[64 + lane] != first:
            differ = 1
        if rows[64 + lane] & 4294967295 > 31:
            far = lane
    if differ == 0 or far == -1:
        return 0
    ctx[ERROR_LANE] = far
    ctx[ERROR_ADDRESS] = rows[64 + far] & 4294967295
    return -1


def shuffle(rows: Address, ready: int, mode: int) -> int:
    """Rows: mask, value, lane or distance, clamp and segment. Results: value, whether the source is in range."""
    lanes = ready
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        by = rows[64 + lane] & 31
        clamp = rows[96 + lane] & 31
        segment = rows[96 + lane] >> 8 & 31
        highest = (lane & segment) | (clamp & ~segment & 31)
        lowest = lane & segment
        source = by
        inside = 1
        if mode == SHUFFLE_UP:
            source = lane - by
            inside = source >= highest
        elif mode == SHUFFLE_DOWN:
            source = lane + by
            inside = source <= highest
        elif mode == SHUFFLE_XOR:
            source = lane ^ by
            inside = source <= highest
        else:
            source = lowest | (by & ~segment & 31)
            inside = source <= highest
        if inside == 0:
            source = lane
        value = rows[32 + lane]
        if ready >> source & 1:
            value = rows[32 + source]
        elif source != lane:
            value = 3735928559
        rows[RESULT + lane] = value
        rows[RESULT + 32 + lane] = inside
    return 0


def vote(rows: Address, ready: int, mode: int) -> int:
    """Rows: mask, predicate. Result: a predicate, or the lanes whose predicate holds."""
    lanes = ready
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        members = rows[lane] & ready
        held = 0
        left = members
        while left:
            other = lowest_bit(left)
            left &= left - 1
            if rows[32 + other] & 1:
                held |= 1 << other
        result = held
        if mode == VOTE_ALL:
            result = 1 if held == members else 0
        elif mode == VOTE_ANY:
            result = 1 if held else 0
        elif mode == VOTE_UNIFORM:
            result = 1 if held == members or held == 0 else 0
        rows[RESULT + lane] = result
    return 0


def match(rows: Address, ready: int, everyone: int) -> int:
    """Rows: mask, value. Results: the lanes with the same value, or all if all have; whether all have."""
    lanes = ready
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        members = rows[lane] & ready
        same = 0
        left = members
        while left:
            other = lowest_bit(left)
            left &= left - 1
            if rows[32 + other] == rows[32 + lane]:
                same |= 1 << other
        rows[RESULT + 32 + lane] = same == members
        if everyone and same != members:
            same = 0
        rows[RESULT + lane] = same
    return 0


def reduce(rows: Address, ready: int, operation: int) -> int:
    """Rows: mask, value. Result: all values of the lane's group combined."""
    lanes = ready
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        left = rows[lane] & ready
        result = rows[32 + lowest_bit(left)]
        left &= left - 1
        while left:
            value = rows[32 + lowest_bit(left)]
            left &= left - 1
            if operation == REDUCE_ADD:
                result += value
            elif operation == REDUCE_AND:
                result &= value
            elif operation == REDUCE_OR:
                result |= value
            elif operation == REDUCE_XOR:
                result ^= value
            elif operation == REDUCE_MAX:
                result = value if value > result else result
            else:
                result = value if value < result else result
        rows[RESULT + lane] = result
    return 0


def elect(rows: Address, ready: int) -> int:
    """Rows: mask. Results: the lowest lane of the group; whether this lane is it."""
    lanes = ready
    while lanes:
        lane = lowest_bit(lanes)
        lanes &= lanes - 1
        leader = lowest_bit(rows[lane] & ready)
        rows[RESULT + lane] = leader
        rows[RESULT + 32 + lane] = leader == lane
    return 0


COLLECTIVE = [unlike, shuffle, vote, match, reduce, elect]
NUMBERS = {
    name: value for name, value in globals().items() if name.isupper() and isinstance(value, int) and name[0] in "SVR"
}
