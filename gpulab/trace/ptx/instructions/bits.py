"""Operations on bits: shifts, counts, fields, permutations; one lane's work."""

from __future__ import annotations

from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.types import BITS, LLVM, is_signed
from gpulab.trace.ptx.instructions.arithmetic import intrinsic, kind_of
from gpulab.trace.ptx.text.syntax import Instruction, Number, Operand, RegisterPair


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
    start, length = (_at_most(lane, operand, bits) for operand in one.operands[2:4])
    # Wide enough for any start and length: the sign, or zeros, stand above the value.
    value = lane.new(f"{'sext' if is_signed(kind) else 'zext'} {llvm} {value} to {wide}")
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
    start, length = (_at_most(lane, operand, bits) for operand in one.operands[3:5])
    field = lane.new(f"sub {wide} {lane.new(f'shl {wide} 1, {length}')}, 1")
    mask = lane.new(f"shl {wide} {field}, {start}")
    inside = lane.new(f"and {wide} {lane.new(f'shl {wide} {a}, {start}')}, {mask}")
    outside = lane.new(f"and {wide} {b}, {lane.new(f'xor {wide} {mask}, -1')}")
    lane.set(one.operands[0], lane.new(f"trunc {wide} {lane.new(f'or {wide} {inside}, {outside}')} to {llvm}"), kind)


def _at_most(lane: Lane, operand: Operand, bits: int) -> str:
    """The last byte of a position or a length, at most `bits`, as an i128."""
    byte = lane.resize(lane.new(f"and i32 {lane.get(operand, 'u32')}, 255"), "i32", "i128", False)
    return intrinsic(lane, "umin", "i128", byte, str(bits))


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
    if "BOOL" in one.modifiers or isinstance(one.operands[0], RegisterPair):
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


@handles("fns")
def _nth_bit(lane: Lane, one: Instruction) -> None:
    raise lane.refuse("")
