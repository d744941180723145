"""Loads and stores: bounds and alignment are checked, what is counted is noted."""

from __future__ import annotations

from gpulab.trace.log import ATOMIC, LOAD, STORE
from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane, Observed, Site
from gpulab.trace.ptx.codegen.types import LLVM, is_signed
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import (
    BYTES,
    Instruction,
    MemoryOperand,
    Number,
    Operand,
    Register,
    Symbol,
    VectorOperand,
)

SPACES = ("global", "shared", "local", "const", "param")
_STRONG = ("acquire", "relaxed", "release")


def space_of(one: Instruction) -> str:
    """The state space that is named; empty for a generic address."""
    named = [modifier.partition("::")[0] for modifier in one.modifiers]
    return next((space for space in SPACES if space in named), "")


def address_of(lane: Lane, operand: Operand) -> str:
    """An address operand as 64 bits."""
    if not isinstance(operand, MemoryOperand):
        raise lane.refuse(f"address {operand}")
    base = operand.base
    if isinstance(base, Register):
        value, kind = lane.read(base.name), lane.llvm_of(base.name)
        if kind == "i32" and operand.offset:  # wraps around at 32 bits: the register may lie before the window
            return lane.resize(lane.new(f"add i32 {value}, {operand.offset}"), kind, "i64", True)
        value = lane.resize(value, kind, "i64", False)
    elif isinstance(base, Symbol):
        value = lane.kernel.symbol(lane, base)
    else:
        value = lane.get(base, "u64")
    if operand.offset == 0:
        return value
    if value.lstrip("-").isdigit():
        return str(int(value) + operand.offset)
    return lane.new(f"add i64 {value}, {operand.offset}")


class LaneAccess:
    """One lane's access to memory; `pointer` is checked.

    Args:
        lane: whose code is written.
        address: of 64 bits, in its space.
        space: as PTX calls it; empty for generic.
        size: bytes.
        align: bytes.
        kind: load, store or atomic, as in `gpulab.trace.log`.
        parts: elements.
    """

    def __init__(
        self, lane: Lane, address: str, space: str, size: int, kind: int, parts: int = 1, align: int = 0
    ) -> None:
        self._lane, self._address, self._size, self._kind = lane, address, size, kind
        self._align = align or size
        assert lane.instruction is not None
        strong = any(modifier in _STRONG for modifier in lane.instruction.modifiers)
        if kind == LOAD and lane.instruction.operands[1] in lane.function.compared:
            strong = True  # a value that has changed meanwhile only makes the comparison fail
        where = {"": layout.GENERIC, "shared": layout.IN_SHARED_SPACE}.get(space, layout.IN_GLOBAL)
        self._site = lane.kernel.site(Site(lane.instruction, kind, size, parts, where, strong, self._align))
        if space == "shared":
            self.pointer = self._shared()
        elif space == "local":
            self.pointer = self._local()
        elif space in ("", "global", "const", "param"):
            self.pointer = self._region(space, write=kind != LOAD)
        else:
            raise lane.refuse(f"memory .{space}")
        if lane.kernel.counted:
            self._note(space)

    def _check(self, *conditions: str) -> None:
        """Goes on if all of them hold."""
        lane = self._lane
        whole = conditions[0]
        for condition in conditions[1:]:
            whole = lane.new(f"and i1 {whole}, {condition}")
        good, bad = lane.label(), lane.label()
        lane.emit(f"br i1 {whole}, label %{good}, label %{bad}")
        lane.lines += [f"{bad}:", "  br label %fail"]
        lane.kernel.failures.append((bad, self._site, lane.lane, self._address))
        lane.mark(good)

    def _aligned(self) -> list[str]:
        if self._align == 1:
            return []
        lane = self._lane
        low = lane.new(f"and i64 {self._address}, {self._align - 1}")
        return [lane.new(f"icmp eq i64 {low}, 0")]

    def _inside(self, offset: str, limit: str) -> list[str]:
        lane = self._lane
        end = lane.new(f"add i64 {offset}, {self._size}")
        return [lane.new(f"icmp ult i64 {offset}, {limit}"), lane.new(f"icmp ule i64 {end}, {limit}")]

    def _shared(self) -> str:
        lane = self._lane
        self._check(*self._inside(self._address, lane.slot(layout.SHARED_BYTES)), *self._aligned())
        return lane.new(f"getelementptr i8, ptr {lane.pointer_slot(layout.SHARED_HOST)}, i64 {self._address}")

    def _own_local(self) -> str:
        """Where this lane's local memory starts."""
        lane = self._lane
        own = lane.new(f"mul i64 {lane.lane}, {lane.slot(layout.LOCAL_BYTES)}")
        return lane.new(f"add i64 {lane.warp_slot(layout.W_LOCAL)}, {own}")

    def _local(self) -> str:
        lane = self._lane
        self._check(*self._inside(self._address, lane.slot(layout.LOCAL_BYTES)), *self._aligned())
        host = lane.new(f"add i64 {self._own_local()}, {self._address}")
        return lane.new(f"inttoptr i64 {host} to ptr")

    def _region(self, space: str, write: bool) -> str:
        """Where an address lies on the host. What is named as one space must lie in it: loads of constants and of
        parameters are not counted, and a thread's own memory has no place of its own in the table."""
        lane, address = self._lane, self._address
        number = lane.new(f"lshr i64 {address}, {layout.REGION_SHIFT}")
        known = lane.new(f"icmp ult i64 {number}, {lane.slot(layout.REGION_COUNT)}")
        index = lane.new(f"select i1 {known}, i64 {number}, i64 0")
        row = lane.new(f"mul i64 {index}, {layout.REGION_SLOTS}")
        table = lane.pointer_slot(layout.REGIONS)
        entry = lane.new(f"getelementptr i64, ptr {table}, i64 {row}")
        base = lane.new(f"load i64, ptr {entry}")
        parts = {}
        for slot in (layout.R_BYTES, layout.R_HOST):
            parts[slot] = lane.new(f"load i64, ptr {lane.new(f'getelementptr i64, ptr {entry}, i64 {slot}')}")
        offset = lane.new(f"sub i64 {address}, {base}")
        conditions = [*self._inside(offset, parts[layout.R_BYTES]), *self._aligned()]
        if space == "global":
            conditions.append(lane.new(f"icmp uge i64 {number}, {layout.FIRST_REGION}"))
        elif space == "param":
            conditions.append(lane.new(f"icmp eq i64 {number}, {layout.PARAM_REGION}"))
        if write or space == "const":
            flags = lane.new(f"load i64, ptr {lane.new(f'getelementptr i64, ptr {entry}, i64 {layout.R_FLAGS}')}")
            asked = (layout.READ_ONLY if write else 0) | (layout.CONSTANT if space == "const" else 0)
            held = lane.new(f"and i64 {flags}, {asked}")
            wanted = layout.CONSTANT if space == "const" else 0
            conditions.append(lane.new(f"icmp eq i64 {held}, {wanted}"))
        self._check(*conditions)
        host = lane.new(f"add i64 {parts[layout.R_HOST]}, {offset}")
        if not space:
            is_local = lane.new(f"icmp eq i64 {number}, {layout.LOCAL_REGION}")
            own = lane.new(f"add i64 {self._own_local()}, {offset}")
            host = lane.new(f"select i1 {is_local}, i64 {own}, i64 {host}")
        return lane.new(f"inttoptr i64 {host} to ptr")

    def _note(self, space: str) -> None:
        lane = self._lane
        if space not in ("", "global", "shared", "local"):
            return
        row = lane.rows
        lane.rows += 1
        index = lane.new(f"add i64 {lane.lane}, {32 * row}")
        place = lane.new(f"getelementptr i64, ptr {lane.pointer_slot(layout.ROWS)}, i64 {index}")
        lane.emit(f"store i64 {self._address}, ptr {place}")
        if space in ("", "local") and lane.kernel.has_local_memory:
            self._note_local(row)  # before `observe`, which changes generic addresses
        if space != "local":
            lane.observed.append(Observed("observe", self._site, lane.mask, row))

    def _note_local(self, row: int) -> None:
        lane, one = self._lane, self._lane.instruction
        assert one is not None
        if self._kind == LOAD:
            parts = _parts(one.operands[0])
            size = self._size // len(parts)
            for number, part in enumerate(parts):
                read = (lane.position, part.name) if isinstance(part, Register) else None
                more = (number * size, size)
                lane.observed.append(Observed("read_local", self._site, lane.mask, row, more, read))
            return
        if self._kind == ATOMIC:
            lane.observed.append(Observed("read_local", self._site, lane.mask, row, (0, self._size)))
        lane.observed.append(Observed("write_local", self._site, lane.mask, row, (self._size,)))


def load(lane: Lane, pointer: str, kind: str, offset: int = 0) -> str:
    """A value of a PTX type at a pointer."""
    if offset:
        pointer = lane.new(f"getelementptr i8, ptr {pointer}, i64 {offset}")
    return lane.new(f"load {LLVM[kind]}, ptr {pointer}, align 1")


def store(lane: Lane, pointer: str, kind: str, value: str, offset: int = 0) -> None:
    """Writes a value of a PTX type."""
    if offset:
        pointer = lane.new(f"getelementptr i8, ptr {pointer}, i64 {offset}")
    lane.emit(f"store {LLVM[kind]} {value}, ptr {pointer}, align 1")


def _parts(operand: Operand) -> tuple[Operand, ...]:
    return operand.parts if isinstance(operand, VectorOperand) else (operand,)


def _parameter(lane: Lane, operand: Operand, size: int, write: bool = False) -> str | None:
    """Pointer to so many bytes of a `.param` variable that is named; None if the operand is another address.

    No other check stands between it and this process's own memory: PTX that somebody wrote by hand can name any offset.
    """
    if not isinstance(operand, MemoryOperand) or not isinstance(operand.base, Symbol):
        return None
    name, function = operand.base.name, lane.function
    offset = operand.base.offset + operand.offset
    own = function.parameter_offsets.get(name)
    if own is None and name not in function.areas:
        return None
    start, step = function.areas.get(name, (own or 0, 0))
    if not 0 <= offset <= (step or function.variable(name).bytes) - size:
        raise lane.refuse(f"{size} bytes from byte {offset} of '{name}' on")
    if own is not None:
        if write:
            raise lane.refuse("a kernel's own parameters cannot be changed")
        return lane.new(f"getelementptr i8, ptr {lane.pointer_slot(layout.PARAM_HOST)}, i64 {start + offset}")
    place = lane.new(f"add i64 {lane.new(f'mul i64 {lane.lane}, {step}')}, {start + offset}")
    return lane.new(f"getelementptr i8, ptr {lane.frame()}, i64 {place}")


@handles("ld", "ldu", branched=True)
def _load(lane: Lane, one: Instruction) -> None:
    kind = one.modifiers[-1]
    results = _parts(one.operands[0])
    size = BYTES[kind]
    space = space_of(one)
    pointer = _parameter(lane, one.operands[1], size * len(results)) if space == "param" else None
    if pointer is None:
        address = address_of(lane, one.operands[1])
        pointer = LaneAccess(lane, address, space, size * len(results), LOAD, len(results)).pointer
    for number, result in enumerate(results):
        value = load(lane, pointer, kind, number * size)
        if isinstance(result, Register) and result.name != "_":
            target = lane.llvm_of(result.name)
            lane.values[result.name] = lane.resize(value, LLVM[kind], target, is_signed(kind))
            lane.dirty[result.name] = None


@handles("st", branched=True)
def _store(lane: Lane, one: Instruction) -> None:
    kind = one.modifiers[-1]
    values = _parts(one.operands[1])
    size = BYTES[kind]
    space = space_of(one)
    pointer = _parameter(lane, one.operands[0], size * len(values), write=True) if space == "param" else None
    found = [lane.get(value, kind) for value in values]
    if pointer is None:
        address = address_of(lane, one.operands[0])
        pointer = LaneAccess(lane, address, space, size * len(values), STORE, len(values)).pointer
    for number, value in enumerate(found):
        store(lane, pointer, kind, value, number * size)


@handles("cvta")
def _address(lane: Lane, one: Instruction) -> None:
    kind = one.modifiers[-1]
    base = {"shared": layout.SHARED_BASE, "local": layout.LOCAL_BASE}.get(space_of(one), 0)
    operand = one.operands[1]
    value = lane.get(operand, "u64")
    if base:
        value = lane.new(f"{'sub' if 'to' in one.modifiers else 'add'} i64 {value}, {base}")
    lane.set(one.operands[0], lane.resize(value, "i64", LLVM[kind], False), kind)


@handles("isspacep")
def _is_space(lane: Lane, one: Instruction) -> None:
    address = lane.get(one.operands[1], "u64")
    number = lane.new(f"lshr i64 {address}, {layout.REGION_SHIFT}")
    wanted = {"shared": layout.SHARED_REGION, "local": layout.LOCAL_REGION, "param": layout.PARAM_REGION}
    space = space_of(one)
    if space in wanted:
        found = lane.new(f"icmp eq i64 {number}, {wanted[space]}")
    elif space == "global":
        found = lane.new(f"icmp uge i64 {number}, {layout.FIRST_REGION}")
    else:
        raise lane.refuse(space)
    lane.set(one.operands[0], found, "pred")


@handles("prefetch", "prefetchu", "membar", "fence", "discard", "applypriority", "nanosleep", "griddepcontrol", "brkpt")
def _nothing(lane: Lane, one: Instruction) -> None:
    """Without an effect on results: threads run one after another."""


@handles("alloca", "stacksave", "stackrestore")
def _stack(lane: Lane, one: Instruction) -> None:
    raise lane.refuse("memory of variable size on the stack")


__all__ = ["LaneAccess", "Number", "address_of", "load", "space_of", "store"]
