"""Floats of any type as doubles and back, with PTX's rounding; what `.ftz` and `.sat` ask for."""

from __future__ import annotations

from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.instructions.arithmetic import intrinsic
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.runtime.machine import runtime_pointer
from gpulab.trace.ptx.runtime.rounding import AWAY, DOWN, TO_NEAREST, TO_ZERO, UP
from gpulab.trace.ptx.text.syntax import Instruction

HALVES = ("f16", "bf16")
FORMATS = {"f16": (10, -14, 15), "bf16": (7, -126, 127), "tf32": (10, -126, 127), "f32": (23, -126, 127)}
"""Binary places after the point, exponents of the smallest normal number and of the largest."""
MODES = {"rn": TO_NEAREST, "rz": TO_ZERO, "rm": DOWN, "rp": UP, "rna": AWAY}


def is_half(kind: str) -> bool:
    """One or two halves."""
    return kind.removesuffix("x2") in HALVES


def mode_of(one: Instruction) -> int:
    """The rounding that is named; to nearest if none is."""
    return next((MODES[modifier] for modifier in one.modifiers if modifier in MODES), TO_NEAREST)


def widen(lane: Lane, value: str, kind: str) -> str:
    """A float of any type as a double, exactly."""
    if kind == "f64":
        return value
    if kind == "bf16":
        wide = lane.new(f"shl i32 {lane.new(f'zext i16 {value} to i32')}, 16")
        value = lane.new(f"bitcast i32 {wide} to float")
    elif kind == "f16":
        index = lane.new(f"zext i16 {value} to i64")
        table = lane.pointer_slot(layout.HALVES)
        value = lane.new(f"load float, ptr {lane.new(f'getelementptr float, ptr {table}, i64 {index}')}")
    elif kind == "tf32":
        value = lane.new(f"bitcast i32 {value} to float")
    return lane.new(f"fpext float {value} to double")


def narrowed(lane: Lane, value: str, kind: str, mode: int) -> str:
    """A double rounded to a float of any type."""
    if kind == "f64":
        return value
    if kind == "f32" and mode == TO_NEAREST:
        return lane.new(f"fptrunc double {value} to float")
    bits = lane.new(f"bitcast double {value} to i64")
    given = ", ".join(f"i64 {number}" for number in (bits, *FORMATS[kind], mode))
    found = lane.new(f"call i64 {runtime_pointer('narrow')}({given})")
    if kind == "tf32":
        found = lane.new(f"shl i64 {found}, 13")
    whole = lane.new(f"trunc i64 {found} to {'i16' if kind in HALVES else 'i32'}")
    return lane.new(f"bitcast i32 {whole} to float") if kind == "f32" else whole


def flush(lane: Lane, value: str) -> str:
    """A float32 with 0, of the same sign, instead of a subnormal number."""
    size = intrinsic(lane, "fabs", "float", value)
    zero = intrinsic(lane, "copysign", "float", "0.0", value)
    small = lane.new(f"fcmp olt float {size}, 0x3810000000000000")
    return lane.new(f"select i1 {small}, float {zero}, float {value}")


def saturate(lane: Lane, value: str, llvm: str) -> str:
    """Into 0 to 1; NaN becomes 0."""
    low = lane.new(f"fcmp ogt {llvm} {value}, 0.0")
    value = lane.new(f"select i1 {low}, {llvm} {value}, {llvm} 0.0")
    high = lane.new(f"fcmp ogt {llvm} {value}, 1.0")
    return lane.new(f"select i1 {high}, {llvm} 1.0, {llvm} {value}")
