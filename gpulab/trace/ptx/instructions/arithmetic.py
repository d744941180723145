"""Integer arithmetic, logic, comparisons and moves: one lane's work, wrapping around as PTX says."""

from __future__ import annotations

from gpulab.trace.ptx.instructions.lane import Lane
from gpulab.trace.ptx.instructions.translate import handles
from gpulab.trace.ptx.instructions.types import BITS, INTEGER, LLVM, is_signed
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import Instruction, Memory, Number, Operand, Pair, Register, Vector


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
    if isinstance(source, Vector):
        lane.set(target, _pack(lane, source.parts, kind), kind)
    elif isinstance(target, Vector):
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


@handles("not", "cnot")
def _invert(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    llvm = LLVM[kind]
    value = lane.get(one.operands[1], kind)
    if one.opcode == "cnot":
        value = lane.new(f"zext i1 {lane.new(f'icmp eq {llvm} {value}, 0')} to {llvm}")
    else:
        value = lane.new(f"xor {llvm} {value}, -1")
    lane.set(one.operands[0], value, kind)


@handles("shl", "shr")
def _shift(lane: Lane, one: Instruction) -> None:
    """Shifts by the width or more give 0, or the sign."""
    kind = kind_of(one)
    llvm = LLVM[kind]
    bits = BITS[llvm]
    value = lane.get(one.operands[1], kind)
    by = lane.get(one.operands[2], "u32")
    arithmetic = one.opcode == "shr" and is_signed(kind)
    far = lane.new(f"icmp uge i32 {by}, {bits}")
    by = lane.new(f"select i1 {far}, i32 {bits - 1 if arithmetic else 0}, i32 {by}")
    by = lane.resize(by, "i32", llvm, False)
    operation = "shl" if one.opcode == "shl" else "ashr" if arithmetic else "lshr"
    result = lane.new(f"{operation} {llvm} {value}, {by}")
    if not arithmetic:
        result = lane.new(f"select i1 {far}, {llvm} 0, {llvm} {result}")
    lane.set(one.operands[0], result, kind)


@handles("shf")
def _funnel(lane: Lane, one: Instruction) -> None:
    low, high = (lane.get(operand, "b32") for operand in one.operands[1:3])
    by = lane.get(one.operands[3], "u32")
    left = "l" in one.modifiers
    by = intrinsic(lane, "umin", "i32", by, "32") if "clamp" in one.modifiers else lane.new(f"and i32 {by}, 31")
    wide_low = lane.new(f"zext i32 {low} to i64")
    wide_high = lane.new(f"shl i64 {lane.new(f'zext i32 {high} to i64')}, 32")
    both = lane.new(f"or i64 {wide_low}, {wide_high}")
    wide_by = lane.new(f"zext i32 {by} to i64")
    if left:
        shifted = lane.new(f"shl i64 {both}, {wide_by}")
        shifted = lane.new(f"lshr i64 {shifted}, 32")
    else:
        shifted = lane.new(f"lshr i64 {both}, {wide_by}")
    lane.set(one.operands[0], lane.new(f"trunc i64 {shifted} to i32"), "b32")


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


@handles("popc", "clz", "brev", "bfind")
def _count_bits(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    llvm = LLVM[kind]
    value = lane.get(one.operands[1], kind)
    if one.opcode == "brev":
        lane.set(one.operands[0], intrinsic(lane, "bitreverse", llvm, value), kind)
        return
    if one.opcode == "popc":
        found = intrinsic(lane, "ctpop", llvm, value)
    else:
        if one.opcode == "bfind" and is_signed(kind):
            sign = lane.new(f"ashr {llvm} {value}, {BITS[llvm] - 1}")
            value = lane.new(f"xor {llvm} {value}, {sign}")
        found = intrinsic(lane, "ctlz", llvm, value, last="false")
        if one.opcode == "bfind":
            none = lane.new(f"icmp eq {llvm} {value}, 0")
            if "shiftamt" not in one.modifiers:
                found = lane.new(f"sub {llvm} {BITS[llvm] - 1}, {found}")
            found = lane.new(f"select i1 {none}, {llvm} -1, {llvm} {found}")
    lane.set(one.operands[0], lane.resize(found, llvm, "i32", False), "u32")


@handles("bfe")
def _extract(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    llvm = LLVM[kind]
    bits, wide = BITS[llvm], "i128"
    value = lane.get(one.operands[1], kind)
    start, length = (
        lane.resize(lane.new(f"and i32 {lane.get(operand, 'u32')}, 255"), "i32", wide, False)
        for operand in one.operands[2:4]
    )
    # Wide enough for any start and length: the sign, or zeros, stand above the value.
    value = lane.new(f"{'sext' if is_signed(kind) else 'zext'} {llvm} {value} to {wide}")
    start = intrinsic(lane, "umin", wide, start, str(bits))
    length = intrinsic(lane, "umin", wide, length, str(bits))
    down = lane.new(f"ashr {wide} {value}, {start}")
    unused = lane.new(f"sub {wide} 128, {length}")
    none = lane.new(f"icmp eq {wide} {length}, 0")
    unused = lane.new(f"select i1 {none}, {wide} 0, {wide} {unused}")
    up = lane.new(f"shl {wide} {down}, {unused}")
    result = lane.new(f"{'ashr' if is_signed(kind) else 'lshr'} {wide} {up}, {unused}")
    result = lane.new(f"select i1 {none}, {wide} 0, {wide} {result}")
    lane.set(one.operands[0], lane.new(f"trunc {wide} {result} to {llvm}"), kind)


@handles("bfi")
def _insert(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    llvm = LLVM[kind]
    bits, wide = BITS[llvm], "i128"
    a, b = (lane.resize(lane.get(operand, kind), llvm, wide, False) for operand in one.operands[1:3])
    start, length = (
        lane.resize(lane.new(f"and i32 {lane.get(operand, 'u32')}, 255"), "i32", wide, False)
        for operand in one.operands[3:5]
    )
    start = intrinsic(lane, "umin", wide, start, str(bits))
    length = intrinsic(lane, "umin", wide, length, str(bits))
    field = lane.new(f"sub {wide} {lane.new(f'shl {wide} 1, {length}')}, 1")
    mask = lane.new(f"shl {wide} {field}, {start}")
    inside = lane.new(f"and {wide} {lane.new(f'shl {wide} {a}, {start}')}, {mask}")
    outside = lane.new(f"and {wide} {b}, {lane.new(f'xor {wide} {mask}, -1')}")
    lane.set(one.operands[0], lane.new(f"trunc {wide} {lane.new(f'or {wide} {inside}, {outside}')} to {llvm}"), kind)


@handles("bmsk")
def _bit_mask(lane: Lane, one: Instruction) -> None:
    start, length = (lane.get(operand, "u32") for operand in one.operands[1:3])
    if "wrap" in one.modifiers:
        start, length = (lane.new(f"and i32 {value}, 31") for value in (start, length))
    else:
        start, length = (intrinsic(lane, "umin", "i32", value, "32") for value in (start, length))
    start, length = (lane.new(f"zext i32 {value} to i64") for value in (start, length))
    field = lane.new(f"sub i64 {lane.new(f'shl i64 1, {length}')}, 1")
    lane.set(one.operands[0], lane.new(f"trunc i64 {lane.new(f'shl i64 {field}, {start}')} to i32"), "b32")


@handles("lop3")
def _lookup(lane: Lane, one: Instruction) -> None:
    if "BOOL" in one.modifiers or isinstance(one.operands[0], Pair):
        raise lane.refuse("a predicate result")
    a, b, c = (lane.get(operand, "b32") for operand in one.operands[1:4])
    table = one.operands[4]
    assert isinstance(table, Number)
    chosen = int(table.text.rstrip("U"), 0)
    value = "0"
    for row in range(8):
        if chosen >> row & 1:
            terms = []
            for bit, operand in ((4, a), (2, b), (1, c)):
                terms.append(operand if row & bit else lane.new(f"xor i32 {operand}, -1"))
            both = lane.new(f"and i32 {terms[0]}, {terms[1]}")
            value = lane.new(f"or i32 {value}, {lane.new(f'and i32 {both}, {terms[2]}')}")
    lane.set(one.operands[0], value, "b32")


@handles("prmt")
def _permute(lane: Lane, one: Instruction) -> None:
    if len(one.modifiers) > 1:
        raise lane.refuse("its mode")
    low, high = (lane.new(f"zext i32 {lane.get(operand, 'b32')} to i64") for operand in one.operands[1:3])
    both = lane.new(f"or i64 {low}, {lane.new(f'shl i64 {high}, 32')}")
    selector = lane.get(one.operands[3], "b32")
    value = "0"
    for byte in range(4):
        code = lane.new(f"lshr i32 {selector}, {4 * byte}")
        index = lane.new(f"shl i32 {lane.new(f'and i32 {code}, 7')}, 3")
        moved = lane.new(f"lshr i64 {both}, {lane.new(f'zext i32 {index} to i64')}")
        piece = lane.new(f"trunc i64 {moved} to i8")
        sign = lane.new(f"ashr i8 {piece}, 7")
        spread = lane.new(f"icmp ne i32 {lane.new(f'and i32 {code}, 8')}, 0")
        piece = lane.new(f"select i1 {spread}, i8 {sign}, i8 {piece}")
        placed = lane.new(f"shl i32 {lane.new(f'zext i8 {piece} to i32')}, {8 * byte}")
        value = lane.new(f"or i32 {value}, {placed}")
    lane.set(one.operands[0], value, "b32")


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


@handles("szext")
def _extend(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    value, size = (lane.get(operand, "u32") for operand in one.operands[1:3])
    size = intrinsic(lane, "umin", "i32", size, "32") if "clamp" in one.modifiers else lane.new(f"and i32 {size}, 31")
    unused = lane.new(f"sub i32 32, {size}")
    none = lane.new(f"icmp eq i32 {size}, 0")
    by = lane.new(f"select i1 {none}, i32 0, i32 {unused}")
    result = lane.new(f"{'ashr' if is_signed(kind) else 'lshr'} i32 {lane.new(f'shl i32 {value}, {by}')}, {by}")
    lane.set(one.operands[0], lane.new(f"select i1 {none}, i32 0, i32 {result}"), kind)


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


@handles("fns")
def _nth_bit(lane: Lane, one: Instruction) -> None:
    raise lane.refuse("")


__all__ = [
    "INTEGER", "Memory", "Register", "integer_binary", "integer_divide", "integer_min_max", "integer_multiply",
    "integer_multiply_add", "integer_sign", "intrinsic", "kind_of", "layout",
]  # fmt: skip
