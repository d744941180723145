"""Special registers: `%tid.x` and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.trace.ptx.runtime import layout

if TYPE_CHECKING:
    from gpulab.trace.ptx.codegen.lane import Lane

_UNIFORM = {
    f"%{name}.{axis}": getattr(layout, f"{name.upper()}_{axis.upper()}")
    for name in ("ntid", "ctaid", "nctaid")
    for axis in "xyz"
}


def special_register(lane: Lane, name: str) -> tuple[str, str] | None:
    """Its value and LLVM type; None if the name is not one of a special register."""
    if name in _UNIFORM:
        return lane.slot(_UNIFORM[name]), "i64"
    if name.startswith("%tid."):
        table = lane.warp_slot(layout.W_TIDS)
        pointer = lane.hoisted("tids", f"inttoptr i64 {table} to ptr")
        index = lane.new(f"add i64 {lane.lane}, {32 * 'xyz'.index(name[-1])}")
        return lane.new(f"load i32, ptr {lane.new(f'getelementptr i32, ptr {pointer}, i64 {index}')}"), "i32"
    if name == "%laneid":
        return lane.lane, "i64"
    if name == "%warpid":
        return lane.warp_slot(layout.W_NUMBER), "i64"
    if name == "%nwarpid":
        return lane.slot(layout.WARPS), "i64"
    if name in ("%smid", "%gridid"):
        return "0", "i64"
    if name == "%nsmid":
        return "1", "i64"
    if name in ("%dynamic_smem_size", "%total_smem_size"):
        number = lane.kernel.static_shared_bytes if name.startswith("%dynamic") else 0
        return lane.new(f"sub i64 {lane.slot(layout.SHARED_BYTES)}, {number}"), "i64"
    if name in ("%clock", "%clock64", "%clock_hi", "%globaltimer", "%globaltimer_lo"):
        # Grows with every block of instructions that any warp has run.
        time = lane.new(f"load i64, ptr {lane.new(f'getelementptr i64, ptr %ctx, i64 {layout.INSTRUCTIONS}')}")
        return (lane.new(f"lshr i64 {time}, 32") if name.endswith("_hi") else time), "i64"
    if name.startswith("%lanemask_"):
        bit = lane.new(f"shl i64 1, {lane.lane}")
        lower = lane.new(f"sub i64 {bit}, 1")
        which = name.removeprefix("%lanemask_")
        if which == "eq":
            return bit, "i64"
        if which == "lt":
            return lower, "i64"
        upto = lane.new(f"or i64 {bit}, {lower}")
        if which == "le":
            return upto, "i64"
        return lane.new(f"xor i64 {upto if which == 'gt' else lower}, 4294967295"), "i64"
    if name.startswith("%envreg"):
        raise lane.refuse("grid-wide synchronization, as of cooperative_groups::this_grid().sync()")
    return None
