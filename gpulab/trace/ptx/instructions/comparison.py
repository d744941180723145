"""Comparisons: `setp` and `set`."""

from __future__ import annotations

from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.types import LLVM, is_float, is_signed
from gpulab.trace.ptx.instructions.float_types import HALVES, flush, is_half, widen
from gpulab.trace.ptx.text.syntax import Instruction, RegisterPair

_ORDERED = {"eq", "ne", "lt", "le", "gt", "ge"}
_UNORDERED = {
    "equ": "ueq",
    "neu": "une",
    "ltu": "ult",
    "leu": "ule",
    "gtu": "ugt",
    "geu": "uge",
    "num": "ord",
    "nan": "uno",
}
_UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_BOOLEAN = {"and", "or", "xor"}
_HALF_ONE = {"f16": 0x3C00, "bf16": 0x3F80}
"""The bits of 1."""
_PAIRS = ("f16x2", "bf16x2")


def compare(lane: Lane, one: Instruction, kind: str) -> str:
    """Whether the first two sources compare as the instruction says, combined with a third one if it names how."""
    operator = next(m for m in one.modifiers if m in _ORDERED or m in _UNORDERED or m in _UNSIGNED)
    if kind.endswith("x2"):
        raise lane.refuse(kind)
    a, b = (lane.get(operand, kind) for operand in one.operands[1:3])
    if is_float(kind) or is_half(kind):
        llvm = LLVM[kind]
        if kind in HALVES:
            a, b, llvm = widen(lane, a, kind), widen(lane, b, kind), "double"
        elif "ftz" in one.modifiers and kind == "f32":
            a, b = flush(lane, a), flush(lane, b)
        return lane.new(f"fcmp {_UNORDERED.get(operator) or 'o' + operator} {llvm} {a}, {b}")
    llvm = LLVM[kind]
    if operator in _UNSIGNED:
        return lane.new(f"icmp {_UNSIGNED[operator]} {llvm} {a}, {b}")
    if operator in ("eq", "ne"):
        return lane.new(f"icmp {operator} {llvm} {a}, {b}")
    return lane.new(f"icmp {'s' if is_signed(kind) else 'u'}{operator} {llvm} {a}, {b}")


def _combined(lane: Lane, one: Instruction, value: str) -> str:
    boolean = next((m for m in one.modifiers if m in _BOOLEAN), None)
    if boolean is None:
        return value
    return lane.new(f"{boolean} i1 {value}, {lane.get(one.operands[3], 'pred')}")


@handles("setp")
def _set_predicate(lane: Lane, one: Instruction) -> None:
    value = compare(lane, one, one.modifiers[-1])
    target = one.operands[0]
    first = target.first if isinstance(target, RegisterPair) else target
    direct = _combined(lane, one, value)
    if isinstance(target, RegisterPair):
        inverse = _combined(lane, one, lane.new(f"xor i1 {value}, true"))
        lane.set(first, direct, "pred")
        lane.set(target.second, inverse, "pred")
    else:
        lane.set(first, direct, "pred")


def _set_pair(lane: Lane, one: Instruction, target: str, kind: str) -> None:
    """Two halves in one register: 1 or 0 for each, or for an integer all of its 16 bits."""
    if target not in (kind, "u32", "s32") or any(m in _BOOLEAN for m in one.modifiers):
        raise lane.refuse(target)
    half, value = kind.removesuffix("x2"), "0"
    operator = next(m for m in one.modifiers if m in _ORDERED or m in _UNORDERED)
    test = _UNORDERED.get(operator) or "o" + operator
    for shift in (0, 16):
        wide = []
        for operand in one.operands[1:3]:
            piece = lane.new(f"lshr i32 {lane.get(operand, 'b32')}, {shift}")
            wide.append(widen(lane, lane.new(f"trunc i32 {piece} to i16"), half))
        found = lane.new(f"fcmp {test} double {wide[0]}, {wide[1]}")
        bits = (_HALF_ONE[half] if target == kind else 0xFFFF) << shift
        value = lane.new(f"or i32 {value}, {lane.new(f'select i1 {found}, i32 {bits}, i32 0')}")
    lane.set(one.operands[0], value, "b32")


@handles("set")
def _set(lane: Lane, one: Instruction) -> None:
    target, kind = one.modifiers[-2:]
    if kind in _PAIRS:
        _set_pair(lane, one, target, kind)
        return
    found = _combined(lane, one, compare(lane, one, kind))
    if target == "f32":
        value = lane.new(f"select i1 {found}, float 1.0, float 0.0")
    elif target in HALVES:
        value = lane.new(f"select i1 {found}, i16 {_HALF_ONE[target]}, i16 0")
    elif target in ("u32", "s32", "u16", "s16"):
        value = lane.new(f"sext i1 {found} to {LLVM[target]}")
    else:
        raise lane.refuse(target)
    lane.set(one.operands[0], value, target)
