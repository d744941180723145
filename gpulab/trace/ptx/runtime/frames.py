"""An activation of a function by a warp: at which of its blocks lanes stand, and which of them can go on.

Written for `small`. Which block is next is up to `scheduler`.
"""
# ruff: noqa: F405 (the slots of layout, all of them)
# mypy: disable-error-code="index,operator,no-any-return"

from __future__ import annotations

from typing import Any

from gpulab.trace.ptx.runtime.layout import *  # noqa: F403

Address = Any


def open_frame(frame: Address, first: int, count: int) -> int:
    """An activation of a function with `count` blocks, the first of which has this number in the launch."""
    words = (count + 63) // 64
    i = 0
    while i < FRAME_HEADER + 2 * words + count:
        frame[i] = 0
        i += 1
    frame[F_FIRST] = first
    frame[F_COUNT] = count
    frame[F_WORDS] = words
    return 0


def look_again(frame: Address) -> int:
    """No block of this frame counts as unable to go on."""
    words = frame[F_WORDS]
    i = 0
    while i < words:
        frame[FRAME_HEADER + words + i] = 0
        i += 1
    return 0


def send(frame: Address, block: int, mask: int) -> int:
    """Lanes will go on at a block of the frame."""
    words = frame[F_WORDS]
    frame[FRAME_HEADER + 2 * words + block] |= mask
    frame[FRAME_HEADER + block // 64] |= 1 << block % 64
    frame[FRAME_HEADER + words + block // 64] &= ~(1 << block % 64)
    return 0


def hold(frame: Address, block: int, mask: int) -> int:
    """Lanes cannot go on at a block of the frame for now."""
    words = frame[F_WORDS]
    frame[FRAME_HEADER + 2 * words + block] |= mask
    frame[FRAME_HEADER + block // 64] |= 1 << block % 64
    frame[FRAME_HEADER + words + block // 64] |= 1 << block % 64
    return 0


FRAMES = [open_frame, look_again, send, hold]
