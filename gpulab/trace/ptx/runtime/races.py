"""Who touched a location before, and which accesses nothing orders: races. Written for `small`.

A location (a cell) has records of its last plain write, of two reads and of two atomic operations. Two are enough: of
earlier readers the one is kept that is farthest from the newest, in another block, warp or lane, so that a later write
that conflicts with any reader conflicts with one of the two.
"""
# ruff: noqa: F405 (the slots of layout, all of them)
# mypy: disable-error-code="index,operator,no-any-return"

from __future__ import annotations

from typing import Any

from gpulab.trace.ptx.runtime.layout import *  # noqa: F403

Address = Any

IS_LOAD, IS_STORE, IS_ATOMIC = 0, 1, 2
"""As in `gpulab.trace.log`."""


def distance(ctx: Address, old: int, new: int, across: int) -> int:
    """How far apart two records are that nothing orders: 3 other block, 2 other warp, 1 other lane; 0 if ordered."""
    if old == 0 or old == new:
        return 0
    if (old ^ new) >> 32:
        return 3 if across and old >> 32 < ctx[FIRST_STAMP] else 0
    if (old ^ new) >> 17 & 31:
        return 2
    if (old ^ new) >> 12 & 31 == 0:
        return 0
    return 1 if (old >> 22 & 1023) == (new >> 22 & 1023) and (new >> 22 & 1023) < 1023 else 0


def touch(ctx: Address, cell: Address, kind: int, record: int, column: int, address: int, across: int) -> int:
    """Compares an access with those that are known of its location, and adds it to them."""
    if cell[0] and distance(ctx, cell[0], record, across):
        conflict(ctx, column, address, cell[0], IS_STORE, record, kind)
    if kind == IS_LOAD:
        if ctx[CELL_BYTES] > 24:
            against(ctx, cell + 24, IS_ATOMIC, kind, record, column, address, across)
        keep(ctx, cell + 8, record, across)
        return 0
    against(ctx, cell + 8, IS_LOAD, kind, record, column, address, across)
    if kind == IS_ATOMIC:
        keep(ctx, cell + 24, record, across)
        return 0
    if ctx[CELL_BYTES] > 24:
        against(ctx, cell + 24, IS_ATOMIC, kind, record, column, address, across)
    cell[0] = record
    return 0


def against(
    ctx: Address, pair: Address, old_kind: int, kind: int, record: int, column: int, address: int, across: int
) -> int:
    """Compares an access with two records."""
    if pair[0] and distance(ctx, pair[0], record, across):
        conflict(ctx, column, address, pair[0], old_kind, record, kind)
    if pair[1] and distance(ctx, pair[1], record, across):
        conflict(ctx, column, address, pair[1], old_kind, record, kind)
    return 0


def keep(ctx: Address, pair: Address, record: int, across: int) -> int:
    """Adds a record to the two that are kept."""
    newest = pair[0]
    other = newest and (newest ^ record) >> 12
    if other and distance(ctx, newest, record, across) >= distance(ctx, pair[1], record, across):
        pair[1] = newest
    pair[0] = record
    return 0


def conflict(ctx: Address, column: int, address: int, old: int, old_kind: int, new: int, kind: int) -> int:
    """Notes a race; one for each array and pair of sites."""
    kinds = old_kind * 4 + kind
    key = column << 28 | (old & 4095) << 16 | (new & 4095) << 4 | kinds
    entry = ctx[CONFLICTS]
    i = 0
    while i < ctx[CONFLICT_COUNT]:
        if entry[C_KEY] == key:
            return 0
        entry += CONFLICT_SLOTS * 8
        i += 1
    if i < CONFLICTS_LIMIT:
        entry[C_KEY] = key
        entry[C_COLUMN] = column
        entry[C_ADDRESS] = address
        entry[C_OLD] = old
        entry[C_NEW] = new
        entry[C_KINDS] = kinds
        ctx[CONFLICT_COUNT] = i + 1
    return 0


RACES = [distance, touch, against, keep, conflict]
