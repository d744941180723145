"""Translation of `cp.async`, which `copies` carries out."""

from __future__ import annotations

from gpulab.trace.log import LOAD, STORE
from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.instructions.memory import LaneAccess, address_of
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.runtime.machine import runtime_pointer
from gpulab.trace.ptx.text.syntax import Instruction, Number

SIZES = ("4", "8", "16")
"""Bytes of a copy: PTX knows no others, and the queue has room for no more."""


@handles("cp", branched=True)
def _copy(lane: Lane, one: Instruction) -> None:
    words = one.modifiers
    if words[0] != "async" or "bulk" in words or any(word.startswith("mbarrier") for word in words):
        raise lane.refuse("")
    own = lane.new(f"mul i64 {lane.lane}, {layout.ASYNC_SLOTS * 8}")
    queue = lane.new(f"add i64 {lane.warp_slot(layout.W_ASYNC)}, {own}")
    if "commit_group" in words:
        lane.new(f"call i64 {runtime_pointer('close_group')}(i64 {queue})")
    elif "wait_all" in words or "wait_group" in words:
        left = "-1" if "wait_all" in words else lane.get(one.operands[0], "u64")
        lane.new(f"call i64 {runtime_pointer('finish_copies')}(i64 {queue}, i64 {left})")
    else:
        size = one.operands[2]
        if not isinstance(size, Number) or size.text not in SIZES or not ("shared" in words or "shared::cta" in words):
            raise lane.refuse("")
        target, source = (address_of(lane, operand) for operand in one.operands[:2])
        given = lane.get(one.operands[3], "u32") if len(one.operands) > 3 else size.text
        if len(one.operands) > 3:
            given = lane.new(f"zext i32 {given} to i64")
        count = int(size.text)
        read = LaneAccess(lane, source, "global", count, LOAD, max(1, count // 4)).pointer
        written = LaneAccess(lane, target, "shared", count, STORE, max(1, count // 4)).pointer
        places = [lane.new(f"ptrtoint ptr {pointer} to i64") for pointer in (written, read)]
        numbers = ", ".join(f"i64 {value}" for value in (queue, *places, size.text, given))
        lane.new(f"call i64 {runtime_pointer('copy_later')}({numbers})")
