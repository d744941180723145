"""`atom` and `red`: threads run one after another, so that reading, changing and writing is one step."""

from __future__ import annotations

from gpulab.trace.log import ATOMIC
from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.types import LLVM, is_float, is_signed
from gpulab.trace.ptx.instructions.arithmetic import intrinsic
from gpulab.trace.ptx.instructions.float_types import is_half, narrowed, widen
from gpulab.trace.ptx.instructions.memory import LaneAccess, address_of, load, space_of, store
from gpulab.trace.ptx.runtime.rounding import TO_NEAREST
from gpulab.trace.ptx.text.syntax import BYTES, Instruction, Operand

_OPERATIONS = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"}


@handles("atom", branched=True)
def _atomic(lane: Lane, one: Instruction) -> None:
    lane.set(one.operands[0], _update(lane, one, one.operands[1], one.operands[2:]), one.modifiers[-1])


@handles("red", branched=True)
def _reduction(lane: Lane, one: Instruction) -> None:
    _update(lane, one, one.operands[0], one.operands[1:])


def _update(lane: Lane, one: Instruction, where: Operand, given: tuple[Operand, ...]) -> str:
    """Writes the new value; gives the old one."""
    kind = one.modifiers[-1]
    operation = next((modifier for modifier in one.modifiers if modifier in _OPERATIONS), "")
    if not operation or "async" in one.modifiers or kind not in BYTES or kind == "b128":
        raise lane.refuse("")
    if any(modifier in ("v2", "v4", "v8") for modifier in one.modifiers):
        raise lane.refuse("vectors")
    address = address_of(lane, where)
    values = [lane.get(operand, kind) for operand in given]
    pointer = LaneAccess(lane, address, space_of(one), BYTES[kind], ATOMIC).pointer
    old = load(lane, pointer, kind)
    store(lane, pointer, kind, _changed(lane, operation, kind, old, values))
    return old


def _changed(lane: Lane, operation: str, kind: str, old: str, values: list[str]) -> str:
    llvm, value = LLVM[kind], values[0]
    if operation == "exch":
        return value
    if operation == "cas":
        same = lane.new(f"icmp eq {llvm} {old}, {value}")
        return lane.new(f"select i1 {same}, {llvm} {values[1]}, {llvm} {old}")
    if is_half(kind):
        return _changed_halves(lane, operation, kind, old, value)
    if is_float(kind):
        if operation != "add":
            raise lane.refuse(f"{operation} of {kind}")
        return lane.new(f"fadd {llvm} {old}, {value}")
    if operation in ("add", "and", "or", "xor"):
        return lane.new(f"{operation} {llvm} {old}, {value}")
    if operation in ("min", "max"):
        return intrinsic(lane, ("s" if is_signed(kind) else "u") + operation, llvm, old, value)
    if operation == "inc":
        over = lane.new(f"icmp uge {llvm} {old}, {value}")
        more = lane.new(f"add {llvm} {old}, 1")
        return lane.new(f"select i1 {over}, {llvm} 0, {llvm} {more}")
    zero, above = lane.new(f"icmp eq {llvm} {old}, 0"), lane.new(f"icmp ugt {llvm} {old}, {value}")
    less = lane.new(f"sub {llvm} {old}, 1")
    return lane.new(f"select i1 {lane.new(f'or i1 {zero}, {above}')}, {llvm} {value}, {llvm} {less}")


def _changed_halves(lane: Lane, operation: str, kind: str, old: str, value: str) -> str:
    if operation != "add":
        raise lane.refuse(f"{operation} of {kind}")
    single = kind.removesuffix("x2")
    if single == kind:
        total = lane.new(f"fadd double {widen(lane, old, kind)}, {widen(lane, value, kind)}")
        return narrowed(lane, total, kind, TO_NEAREST)
    whole = "0"
    for place in (0, 16):
        halves = []
        for pair in (old, value):
            half = lane.new(f"trunc i32 {lane.new(f'lshr i32 {pair}, {place}')} to i16")
            halves.append(widen(lane, half, single))
        total = narrowed(lane, lane.new(f"fadd double {halves[0]}, {halves[1]}"), single, TO_NEAREST)
        piece = lane.new(f"shl i32 {lane.new(f'zext i16 {total} to i32')}, {place}")
        whole = lane.new(f"or i32 {whole}, {piece}")
    return whole
