"""`cvt`: between integers and floats of all widths, with all roundings."""

from __future__ import annotations

from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.types import BITS, LLVM, is_signed
from gpulab.trace.ptx.instructions.arithmetic import intrinsic
from gpulab.trace.ptx.instructions.float_types import HALVES, flush, mode_of, narrowed, saturate, widen
from gpulab.trace.ptx.runtime.rounding import DOWN, TO_NEAREST, UP
from gpulab.trace.ptx.text.syntax import Instruction

_TO_INTEGER = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_FLOATS = ("f16", "bf16", "f32", "f64", "tf32")


@handles("cvt")
def _convert(lane: Lane, one: Instruction) -> None:
    target, source = one.modifiers[-2:]
    if target in ("f16x2", "bf16x2") and source == "f32" and len(one.operands) == 3:
        _two_halves(lane, one, target)
        return
    if "pack" in one.modifiers or len(one.operands) != 2:
        raise lane.refuse("its operands")
    known = {*_FLOATS, *(letter + bits for letter in "us" for bits in ["8", "16", "32", "64"])}
    if target not in known or source not in known:
        raise lane.refuse(f"{target} from {source}")
    value = lane.get(one.operands[1], source)
    if source in _FLOATS and target in _FLOATS:
        value = _float_to_float(lane, one, value, target, source)
    elif source in _FLOATS:
        value = _float_to_integer(lane, one, value, target, source)
    elif target in _FLOATS:
        value = _integer_to_float(lane, one, value, target, source)
    else:
        value = _integer_to_integer(lane, one, value, target, source)
    lane.set(one.operands[0], value, target)


def _two_halves(lane: Lane, one: Instruction, target: str) -> None:
    kind = target.removesuffix("x2")
    pieces = []
    for operand in one.operands[1:3]:
        wide = widen(lane, lane.get(operand, "f32"), "f32")
        if "relu" in one.modifiers:
            below = lane.new(f"fcmp olt double {wide}, 0.0")
            wide = lane.new(f"select i1 {below}, double 0.0, double {wide}")
        piece = narrowed(lane, wide, kind, mode_of(one))
        pieces.append(lane.new(f"zext i16 {piece} to i32"))
    high = lane.new(f"shl i32 {pieces[0]}, 16")
    lane.set(one.operands[0], lane.new(f"or i32 {high}, {pieces[1]}"), "b32")


def _float_to_float(lane: Lane, one: Instruction, value: str, target: str, source: str) -> str:
    if "ftz" in one.modifiers and source == "f32":
        value = flush(lane, value)
    rounding = next((_TO_INTEGER[m] for m in one.modifiers if m in _TO_INTEGER), None)
    wide = widen(lane, value, source)
    if rounding:
        wide = intrinsic(lane, rounding, "double", wide)
    if "relu" in one.modifiers:
        below = lane.new(f"fcmp olt double {wide}, 0.0")
        wide = lane.new(f"select i1 {below}, double 0.0, double {wide}")
    result = narrowed(lane, wide, target, mode_of(one))
    if "ftz" in one.modifiers and target == "f32":
        result = flush(lane, result)
    if "sat" in one.modifiers:
        if target in HALVES or target == "tf32":
            return narrowed(lane, saturate(lane, widen(lane, result, target), "double"), target, TO_NEAREST)
        result = saturate(lane, result, LLVM[target])
    return result


def _float_to_integer(lane: Lane, one: Instruction, value: str, target: str, source: str) -> str:
    """What is too large becomes the largest number; NaN becomes 0, or with 64 bits on either side the highest bit."""
    if "ftz" in one.modifiers and source == "f32":
        value = flush(lane, value)
    wide = widen(lane, value, source)
    rounding = next((_TO_INTEGER[m] for m in one.modifiers if m in _TO_INTEGER), None)
    if rounding is None:
        raise lane.refuse("its rounding")
    wide = intrinsic(lane, rounding, "double", wide)
    llvm = LLVM[target]
    name = "fptosi" if is_signed(target) else "fptoui"
    lane.kernel.declarations[f"declare {llvm} @llvm.{name}.sat.{llvm}.f64(double)"] = None
    found = lane.new(f"call {llvm} @llvm.{name}.sat.{llvm}.f64(double {wide})")
    if source == "f64" or BITS[llvm] == 64:
        none = lane.new(f"fcmp uno double {wide}, {wide}")
        found = lane.new(f"select i1 {none}, {llvm} {-(1 << BITS[llvm] - 1)}, {llvm} {found}")
    return found


def _integer_to_float(lane: Lane, one: Instruction, value: str, target: str, source: str) -> str:
    llvm, name = LLVM[source], "sitofp" if is_signed(source) else "uitofp"
    mode = mode_of(one)
    if mode == TO_NEAREST and target in ("f32", "f64"):
        return lane.new(f"{name} {llvm} {value} to {LLVM[target]}")
    if BITS[llvm] == 64:
        return _long_to_float(lane, value, target, is_signed(source), mode)
    return narrowed(lane, lane.new(f"{name} {llvm} {value} to double"), target, mode)


def _long_to_float(lane: Lane, value: str, target: str, signed: bool, mode: int) -> str:
    """Of 64 bits with one rounding: 53 bits go through float64, whose last one tells whether others were cut off."""
    negative = lane.new(f"icmp slt i64 {value}, 0") if signed else "false"
    size = intrinsic(lane, "abs", "i64", value, last="false") if signed else value
    cut = intrinsic(lane, "usub.sat", "i64", "11", intrinsic(lane, "ctlz", "i64", size, last="false"))
    kept = lane.new(f"shl i64 {lane.new(f'lshr i64 {size}, {cut}')}, {cut}")
    rest = lane.new(f"icmp ne i64 {kept}, {size}")
    bits = lane.new(f"bitcast double {lane.new(f'uitofp i64 {kept} to double')} to i64")
    sign = lane.new(f"select i1 {negative}, i64 {-(1 << 63)}, i64 0")
    if target == "f64":
        away = {UP: lane.new(f"xor i1 {negative}, true"), DOWN: negative}.get(mode, "false")
        one_more = lane.new(f"zext i1 {lane.new(f'and i1 {rest}, {away}')} to i64")
        bits = lane.new(f"or i64 {lane.new(f'add i64 {bits}, {one_more}')}, {sign}")
        return lane.new(f"bitcast i64 {bits} to double")
    bits = lane.new(f"or i64 {bits}, {lane.new(f'zext i1 {rest} to i64')}")
    bits = lane.new(f"or i64 {bits}, {sign}")
    return narrowed(lane, lane.new(f"bitcast i64 {bits} to double"), target, mode)


def _integer_to_integer(lane: Lane, one: Instruction, value: str, target: str, source: str) -> str:
    to, since = LLVM[target], LLVM[source]
    if "sat" not in one.modifiers:
        return lane.resize(value, since, to, is_signed(source))
    wide = lane.new(f"{'sext' if is_signed(source) else 'zext'} {since} {value} to i128")
    bits = BITS[to]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed(target) else (0, (1 << bits) - 1)
    wide = intrinsic(lane, "smax", "i128", wide, str(low))
    wide = intrinsic(lane, "smin", "i128", wide, str(high))
    return lane.new(f"trunc i128 {wide} to {to}")
