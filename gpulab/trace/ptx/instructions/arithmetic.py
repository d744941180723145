"""Integer arithmetic, logic, moves and selections: one lane's work, wrapping around as PTX says."""

from __future__ import annotations

from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.types import BITS, LLVM, is_signed
from gpulab.trace.ptx.text.syntax import Instruction, Operand, VectorOperand


def kind_of(one: Instruction) -> str:
    """The type at the end of the instruction's name."""
    return one.modifiers[-1]


def intrinsic(lane: Lane, name: str, llvm: str, *values: str, last: str = "") -> str:
    """A call of one of LLVM's functions on values of a type."""
    suffix = {"float": "f32", "double": "f64"}.get(llvm, llvm)
    types = ", ".join([llvm] * len(values) + (["i1"] if last else []))
    lane.kernel.declarations[f"declare {llvm} @llvm.{name}.{suffix}({types})"] = None
    given = ", ".join([f"{llvm} {value}" for value in values] + ([f"i1 {last}"] if last else []))
    return lane.new(f"call {llvm} @llvm.{name}.{suffix}({given})")


@handles("mov")
def _move(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    target, source = one.operands
    if isinstance(source, VectorOperand):
        lane.set(target, _pack(lane, source.parts, kind), kind)
    elif isinstance(target, VectorOperand):
        _unpack(lane, lane.get(source, kind), target.parts, kind)
    else:
        lane.set(target, lane.get(source, kind), kind)


def _pack(lane: Lane, parts: tuple[Operand, ...], kind: str) -> str:
    whole = f"i{BITS[LLVM[kind]]}"
    width = BITS[LLVM[kind]] // len(parts)
    value = "0"
    for number, part in enumerate(parts):
        piece = lane.resize(lane.get(part, f"b{width}"), f"i{width}", whole, False)
        if number:
            piece = lane.new(f"shl {whole} {piece}, {number * width}")
            piece = lane.new(f"or {whole} {value}, {piece}")
        value = piece
    return lane.resize(value, whole, LLVM[kind], False)


def _unpack(lane: Lane, value: str, parts: tuple[Operand, ...], kind: str) -> None:
    whole = f"i{BITS[LLVM[kind]]}"
    value = lane.resize(value, LLVM[kind], whole, False)
    width = BITS[whole] // len(parts)
    for number, part in enumerate(parts):
        piece = lane.new(f"lshr {whole} {value}, {number * width}") if number else value
        lane.set(part, lane.resize(piece, whole, f"i{width}", False), f"b{width}")


_SIMPLE = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}


def integer_binary(lane: Lane, one: Instruction) -> None:
    """`add`, `sub`, `and`, `or`, `xor` of integers, with the carry flag where it is named."""
    kind = kind_of(one)
    llvm = LLVM[kind]
    a, b = (lane.get(operand, kind) for operand in one.operands[1:3])
    if "sat" in one.modifiers:
        value = intrinsic(lane, f"{'s' if is_signed(kind) else 'u'}{one.opcode}.sat", llvm, a, b)
    else:
        value = lane.new(f"{_SIMPLE[one.opcode]} {llvm} {a}, {b}")
    if "cc" in one.modifiers:
        carry = f"icmp ult {llvm} {value}, {a}" if one.opcode == "add" else f"icmp ult {llvm} {a}, {b}"
        _set_carry(lane, lane.new(carry))
    lane.set(one.operands[0], value, kind)


for _opcode in ("and", "or", "xor"):
    handles(_opcode)(integer_binary)

_CARRY = "%cc.cf"


def _set_carry(lane: Lane, value: str) -> None:
    if lane.guard:
        value = lane.new(f"select i1 {lane.guard}, i1 {value}, i1 {lane.values.get(_CARRY, 'false')}")
    lane.values[_CARRY] = value


def _carry(lane: Lane) -> str:
    if _CARRY not in lane.values:
        raise lane.refuse("a carry from another block")
    return lane.values[_CARRY]


@handles("addc", "subc")
def _with_carry(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    llvm = LLVM[kind]
    bits = BITS[llvm]
    wide = f"i{bits + 2}"
    a, b = (lane.new(f"zext {llvm} {lane.get(operand, kind)} to {wide}") for operand in one.operands[1:3])
    carry = lane.new(f"zext i1 {_carry(lane)} to {wide}")
    operation = "add" if one.opcode == "addc" else "sub"
    total = lane.new(f"{operation} {wide} {lane.new(f'{operation} {wide} {a}, {b}')}, {carry}")
    value = lane.new(f"trunc {wide} {total} to {llvm}")
    if "cc" in one.modifiers:
        over = lane.new(f"lshr {wide} {total}, {bits}")
        _set_carry(lane, lane.new(f"trunc {wide} {over} to i1"))
    lane.set(one.operands[0], value, kind)


def product(lane: Lane, one: Instruction) -> tuple[str, str]:
    """The product of the first two operands and its type: the lower half, the upper half, or all of it."""
    kind = kind_of(one)
    llvm = LLVM[kind]
    a, b = (lane.get(operand, kind) for operand in one.operands[1:3])
    if "hi" in one.modifiers or "wide" in one.modifiers:
        bits = BITS[llvm]
        wide, extend = f"i{2 * bits}", "sext" if is_signed(kind) else "zext"
        a, b = (lane.new(f"{extend} {llvm} {value} to {wide}") for value in (a, b))
        value = lane.new(f"mul {wide} {a}, {b}")
        if "wide" in one.modifiers:
            return value, f"{kind[0]}{2 * bits}"
        value = lane.new(f"lshr {wide} {value}, {bits}")
        return lane.new(f"trunc {wide} {value} to {llvm}"), kind
    return lane.new(f"mul {llvm} {a}, {b}"), kind


def integer_multiply(lane: Lane, one: Instruction) -> None:
    """`mul` of integers."""
    value, kind = product(lane, one)
    lane.set(one.operands[0], value, kind)


def integer_multiply_add(lane: Lane, one: Instruction) -> None:
    """`mad` of integers."""
    value, kind = product(lane, one)
    llvm = LLVM[kind]
    addend = lane.get(one.operands[3], kind)
    if "sat" in one.modifiers:
        lane.set(one.operands[0], intrinsic(lane, "sadd.sat", llvm, value, addend), kind)
        return
    total = lane.new(f"add {llvm} {value}, {addend}")
    if "cc" in one.modifiers:
        _set_carry(lane, lane.new(f"icmp ult {llvm} {total}, {value}"))
    lane.set(one.operands[0], total, kind)


@handles("madc")
def _multiply_add_carry(lane: Lane, one: Instruction) -> None:
    value, kind = product(lane, one)
    llvm = LLVM[kind]
    bits = BITS[llvm]
    wide = f"i{bits + 2}"
    terms = [lane.new(f"zext {llvm} {term} to {wide}") for term in (value, lane.get(one.operands[3], kind))]
    terms.append(lane.new(f"zext i1 {_carry(lane)} to {wide}"))
    total = lane.new(f"add {wide} {lane.new(f'add {wide} {terms[0]}, {terms[1]}')}, {terms[2]}")
    if "cc" in one.modifiers:
        over = lane.new(f"lshr {wide} {total}, {bits}")
        _set_carry(lane, lane.new(f"trunc {wide} {over} to i1"))
    lane.set(one.operands[0], lane.new(f"trunc {wide} {total} to {llvm}"), kind)


@handles("mul24", "mad24")
def _multiply24(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    shift = "ashr" if is_signed(kind) else "lshr"
    factors = []
    for operand in one.operands[1:3]:
        top = lane.new(f"shl i32 {lane.get(operand, kind)}, 8")
        low = lane.new(f"{shift} i32 {top}, 8")
        factors.append(lane.new(f"{'sext' if is_signed(kind) else 'zext'} i32 {low} to i64"))
    value = lane.new(f"mul i64 {factors[0]}, {factors[1]}")
    if "hi" in one.modifiers:
        value = lane.new(f"lshr i64 {value}, 16")
    value = lane.new(f"trunc i64 {value} to i32")
    if one.opcode == "mad24":
        value = lane.new(f"add i32 {value}, {lane.get(one.operands[3], kind)}")
    lane.set(one.operands[0], value, kind)


def integer_divide(lane: Lane, one: Instruction) -> None:
    """`div` and `rem` of integers. A division by zero gives all bits set, as GPUs do; its remainder is the dividend."""
    kind = kind_of(one)
    llvm = LLVM[kind]
    signed = is_signed(kind)
    a, b = (lane.get(operand, kind) for operand in one.operands[1:3])
    zero = lane.new(f"icmp eq {llvm} {b}, 0")
    divisor = lane.new(f"select i1 {zero}, {llvm} 1, {llvm} {b}")
    if signed:  # the lowest number by -1 wraps around
        negative = lane.new(f"icmp eq {llvm} {b}, -1")
        divisor = lane.new(f"select i1 {negative}, {llvm} 1, {llvm} {divisor}")
    letter = "s" if signed else "u"
    if one.opcode == "div":
        value = lane.new(f"{letter}div {llvm} {a}, {divisor}")
        if signed:
            minus = lane.new(f"sub {llvm} 0, {a}")
            value = lane.new(f"select i1 {negative}, {llvm} {minus}, {llvm} {value}")
        value = lane.new(f"select i1 {zero}, {llvm} -1, {llvm} {value}")
    else:
        value = lane.new(f"{letter}rem {llvm} {a}, {divisor}")
        value = lane.new(f"select i1 {zero}, {llvm} {a}, {llvm} {value}")
    lane.set(one.operands[0], value, kind)


@handles("rem")
def _remainder(lane: Lane, one: Instruction) -> None:
    integer_divide(lane, one)


def integer_min_max(lane: Lane, one: Instruction) -> None:
    """`min` and `max` of integers."""
    kind = kind_of(one)
    name = ("s" if is_signed(kind) else "u") + one.opcode
    if "relu" in one.modifiers:
        raise lane.refuse("relu")
    if kind.endswith("x2"):
        raise lane.refuse(kind)
    a, b = (lane.get(operand, kind) for operand in one.operands[1:3])
    lane.set(one.operands[0], intrinsic(lane, name, LLVM[kind], a, b), kind)


def integer_sign(lane: Lane, one: Instruction) -> None:
    """`neg` and `abs` of integers."""
    kind = kind_of(one)
    llvm = LLVM[kind]
    value = lane.get(one.operands[1], kind)
    if one.opcode == "neg":
        value = lane.new(f"sub {llvm} 0, {value}")
    else:
        value = intrinsic(lane, "abs", llvm, value, last="false")
    lane.set(one.operands[0], value, kind)


@handles("sad")
def _sum_of_differences(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    llvm, letter = LLVM[kind], "s" if is_signed(kind) else "u"
    a, b, c = (lane.get(operand, kind) for operand in one.operands[1:4])
    high, low = intrinsic(lane, f"{letter}max", llvm, a, b), intrinsic(lane, f"{letter}min", llvm, a, b)
    difference = lane.new(f"sub {llvm} {high}, {low}")
    lane.set(one.operands[0], lane.new(f"add {llvm} {difference}, {c}"), kind)


@handles("dp4a", "dp2a")
def _dot(lane: Lane, one: Instruction) -> None:
    a_kind, b_kind = one.modifiers[-2:]
    a, b, total = (lane.get(operand, "b32") for operand in one.operands[1:4])
    a_bits = 8 if one.opcode == "dp4a" else 16
    shift = 16 if "hi" in one.modifiers else 0
    for number in range(4 if one.opcode == "dp4a" else 2):
        terms = []
        for value, kind, width, start in ((a, a_kind, a_bits, 0), (b, b_kind, 8, shift)):
            piece = lane.new(f"lshr i32 {value}, {start + width * number}")
            piece = lane.new(f"trunc i32 {piece} to i{width}")
            terms.append(lane.new(f"{'sext' if is_signed(kind) else 'zext'} i{width} {piece} to i32"))
        total = lane.new(f"add i32 {total}, {lane.new(f'mul i32 {terms[0]}, {terms[1]}')}")
    lane.set(one.operands[0], total, "b32")


@handles("selp")
def _select(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    llvm = LLVM[kind]
    a, b = (lane.get(operand, kind) for operand in one.operands[1:3])
    chosen = lane.get(one.operands[3], "pred")
    lane.set(one.operands[0], lane.new(f"select i1 {chosen}, {llvm} {a}, {llvm} {b}"), kind)


@handles("slct")
def _select_by_sign(lane: Lane, one: Instruction) -> None:
    kind, sign_kind = one.modifiers[-2:]
    llvm = LLVM[kind]
    a, b = (lane.get(operand, kind) for operand in one.operands[1:3])
    sign = lane.get(one.operands[3], sign_kind)
    test = f"fcmp oge float {sign}, 0.0" if sign_kind == "f32" else f"icmp sge i32 {sign}, 0"
    lane.set(one.operands[0], lane.new(f"select i1 {lane.new(test)}, {llvm} {a}, {llvm} {b}"), kind)


@handles("activemask")
def _active(lane: Lane, one: Instruction) -> None:
    lane.set(one.operands[0], lane.new(f"trunc i64 {lane.whole} to i32"), "b32")
