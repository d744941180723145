"""Floating-point instructions that never round: minimum and maximum, signs, and classes of numbers."""

from __future__ import annotations

from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.types import INTEGER, LLVM, is_float
from gpulab.trace.ptx.instructions.arithmetic import integer_min_max, integer_sign, intrinsic, kind_of
from gpulab.trace.ptx.instructions.float_types import is_half
from gpulab.trace.ptx.instructions.floats import compute
from gpulab.trace.ptx.text.syntax import Instruction


@handles("min", "max")
def _extreme(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    if not (is_float(kind) or is_half(kind)):
        integer_min_max(lane, one)
        return
    if "xorsign" in one.modifiers or len(one.operands) != 3:
        raise lane.refuse("three operands, or a sign")
    compute(lane, one, 2, lambda llvm, a, b: _extreme_of(lane, one, llvm, a, b))


def _extreme_of(lane: Lane, one: Instruction, llvm: str, a: str, b: str) -> str:
    """The other operand if one is NaN, unless NaN is asked for; -0 is less than +0."""
    integer = INTEGER[llvm]
    bits = [lane.new(f"bitcast {llvm} {value} to {integer}") for value in (a, b)]
    both = lane.new(f"{'or' if one.opcode == 'min' else 'and'} {integer} {bits[0]}, {bits[1]}")
    equal = lane.new(f"fcmp oeq {llvm} {a}, {b}")
    first = lane.new(f"fcmp {'olt' if one.opcode == 'min' else 'ogt'} {llvm} {a}, {b}")
    chosen = lane.new(f"select i1 {first}, {llvm} {a}, {llvm} {b}")
    signed = lane.new(f"bitcast {integer} {both} to {llvm}")
    chosen = lane.new(f"select i1 {equal}, {llvm} {signed}, {llvm} {chosen}")
    none = [lane.new(f"fcmp uno {llvm} {value}, {value}") for value in (a, b)]
    if "NaN" in one.modifiers:
        chosen = lane.new(f"select i1 {none[0]}, {llvm} {a}, {llvm} {chosen}")
        return lane.new(f"select i1 {none[1]}, {llvm} {b}, {llvm} {chosen}")
    chosen = lane.new(f"select i1 {none[0]}, {llvm} {b}, {llvm} {chosen}")
    return lane.new(f"select i1 {none[1]}, {llvm} {a}, {llvm} {chosen}")


@handles("neg", "abs")
def _sign(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    if is_half(kind):  # the bits are enough, and NaN stays
        llvm = LLVM[kind]
        signs = {"i16": "-32768", "i32": "-2147450880"}[llvm]
        keep = {"i16": "32767", "i32": "2147450879"}[llvm]
        value = lane.get(one.operands[1], kind)
        text = f"xor {llvm} {value}, {signs}" if one.opcode == "neg" else f"and {llvm} {value}, {keep}"
        lane.set(one.operands[0], lane.new(text), kind)
    elif is_float(kind):
        compute(
            lane,
            one,
            1,
            lambda llvm, a: lane.new(f"fneg {llvm} {a}") if one.opcode == "neg" else intrinsic(lane, "fabs", llvm, a),
        )
    else:
        integer_sign(lane, one)


@handles("copysign")
def _copy_sign(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    sign, size = (lane.get(operand, kind) for operand in one.operands[1:3])
    lane.set(one.operands[0], intrinsic(lane, "copysign", LLVM[kind], size, sign), kind)


@handles("testp")
def _test(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    llvm = LLVM[kind]
    value = lane.get(one.operands[1], kind)
    size = intrinsic(lane, "fabs", llvm, value)
    smallest = "0x3810000000000000" if kind == "f32" else "0x0010000000000000"
    tests = {
        "finite": f"fcmp olt {llvm} {size}, 0x7FF0000000000000",
        "infinite": f"fcmp oeq {llvm} {size}, 0x7FF0000000000000",
        "number": f"fcmp ord {llvm} {value}, {value}",
        "notanumber": f"fcmp uno {llvm} {value}, {value}",
    }
    which = one.modifiers[0]
    if which in tests:
        found = lane.new(tests[which])
    else:
        normal = lane.new(f"fcmp oge {llvm} {size}, {smallest}")
        if which == "normal":
            found = lane.new(f"and i1 {normal}, {lane.new(tests['finite'])}")
        else:
            below = lane.new(f"fcmp olt {llvm} {size}, {smallest}")
            found = below
    lane.set(one.operands[0], found, "pred")
