"""Writes LLVM assembly for what one lane does in a block: reading operands, computing, keeping results.

A register that lives in one block only is an LLVM value; any other has a place for each lane in the frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.trace.errors import UnsupportedError
from gpulab.trace.ptx.codegen.lines import CodeLines
from gpulab.trace.ptx.codegen.special import special_register
from gpulab.trace.ptx.codegen.types import BITS, INTEGER, LLVM, constant, is_signed
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import Instruction, Negated, Number, Operand, Predicate, Register, Symbol

if TYPE_CHECKING:
    from gpulab.trace.ptx.codegen.function import FunctionCode


@dataclass(frozen=True)
class Site:
    """An instruction that touches memory."""

    instruction: Instruction
    kind: int
    """As in `gpulab.trace.log`."""
    bytes: int
    parts: int
    """Elements that one lane touches."""
    space: int
    strong: bool = False
    align: int = 1


@dataclass
class Observed:
    """An access that the runtime looks at once the last lane has run the block."""

    function: str
    """Of `runtime.observation`."""
    site: int
    mask: str
    """Of the lanes that made it."""
    row: int
    """Where their addresses are."""
    more: tuple[int, ...] = ()
    """Further arguments of the function."""
    read: tuple[int, str] | None = None
    """Of a read of local memory: the instruction's place in the block, and the register."""


class Lane(CodeLines):
    """The code of one block, while it is written.

    Args:
        function: that the block belongs to.
        number: of the block in the launch; it makes names unique.
    """

    def __init__(self, function: FunctionCode, number: int) -> None:
        super().__init__(function.kernel)
        self.function, self.number = function, number
        self.prologue: list[str] = []
        self.done: list[str] = []
        self.values: dict[str, str] = {}
        self.dirty: dict[str, None] = {}
        self.phis: list[tuple[str, str]] = []
        """Masks that grow from lane to lane: the name in this turn, and the name for the next."""
        self.observed: list[Observed] = []
        self.rows = 0
        """Accesses so far whose addresses are kept for the runtime."""
        self.position = 0
        """Of the present instruction in the block."""
        self.guard: str | None = None
        self.here = f"B{number}.lane"
        self.lane = f"%lane{number}"
        self._hoisted: dict[str, str] = {}
        self.instruction: Instruction | None = None
        self.whole = self.mask = ""
        """Masks of the lanes at the block, and of those at the present instruction."""

    # ---------------------------------------------------------------------------------------------------- text

    def mark(self, label: str) -> None:
        """Code goes on here."""
        self.lines.append(f"{label}:")
        self.here = label

    def hoisted(self, key: str, *lines: str) -> str:
        """A value that is the same for all lanes; the last of the lines, in which {} stands for new names."""
        if key not in self._hoisted:
            name = ""
            for line in lines:
                previous, name = name, self.kernel.fresh()
                self.prologue.append(f"  {name} = " + line.replace("{}", previous))
            self._hoisted[key] = name
        return self._hoisted[key]

    def slot(self, number: int) -> str:
        """A slot of the launch's state, as it was when the block began."""
        address = f"getelementptr i64, ptr %ctx, i64 {number}"
        return self.hoisted(f"slot{number}", address, "load i64, ptr {}")

    def warp_slot(self, number: int) -> str:
        """A slot of the warp's state, as it was when the block began."""
        address = f"getelementptr i64, ptr %warp, i64 {number}"
        return self.hoisted(f"warp{number}", address, "load i64, ptr {}")

    def pointer_slot(self, number: int) -> str:
        """The same, as a pointer."""
        value = self.slot(number)
        return self.hoisted(f"pointer{number}", f"inttoptr i64 {value} to ptr")

    def frame(self) -> str:
        """Pointer to the frame."""
        value = self.warp_slot(layout.W_FRAME)
        return self.hoisted("frame", f"inttoptr i64 {value} to ptr")

    def refuse(self, what: str) -> UnsupportedError:
        """To raise for something that is not supported."""
        return self.kernel.refusal(self.instruction, what)

    # ------------------------------------------------------------------------------------------------ operands

    def get(self, operand: Operand, kind: str) -> str:
        """An operand as a value of a PTX type."""
        llvm = LLVM[kind]
        if isinstance(operand, Number):
            return constant(operand.text, kind)
        if isinstance(operand, Negated):
            return self.new(f"xor i1 {self.get(operand.register, 'pred')}, true")
        if isinstance(operand, Symbol):
            if operand.name == "WARP_SZ":
                return "32"
            return self.resize(self.kernel.symbol(self, operand), "i64", llvm, False)
        if isinstance(operand, Register):
            special = special_register(self, operand.name)
            if special:
                return self.resize(*special, llvm, False)
            value = self.read(operand.name)
            return self.resize(value, self.llvm_of(operand.name), llvm, False)
        raise self.refuse(f"operand {operand}")

    def llvm_of(self, register: str) -> str:
        """LLVM's type of a register."""
        try:
            return LLVM[self.function.syntax.type_of(register)]
        except KeyError:
            raise self.refuse(f"register {register}") from None

    def read(self, register: str) -> str:
        """The present value of a register, in its own type."""
        if register not in self.values:
            llvm = self.llvm_of(register)
            place = self.function.place_of(register)
            if place is None:  # local to the block and not written yet
                return "false" if llvm == "i1" else "0.0" if llvm in INTEGER else "0"
            if llvm == "i1":
                byte = self.new(f"load i8, ptr {self.place(place, 'i8')}")
                self.values[register] = self.new(f"trunc i8 {byte} to i1")
            else:
                self.values[register] = self.new(f"load {llvm}, ptr {self.place(place, llvm)}")
        return self.values[register]

    def place(self, offset: int, llvm: str) -> str:
        """Pointer to this lane's part of a frame register."""
        index = self.new(f"add i64 {self.lane}, {offset * 8 // max(8, BITS[llvm])}")
        return self.new(f"getelementptr {llvm}, ptr {self.frame()}, i64 {index}")

    def resize(self, value: str, source: str, target: str, signed: bool) -> str:
        """The same bits in another LLVM type: extended, or the lower part."""
        if source == target:
            return value
        if source in INTEGER:
            value, source = self.new(f"bitcast {source} {value} to {INTEGER[source]}"), INTEGER[source]
        middle = INTEGER.get(target, target)
        if BITS[source] < BITS[middle]:
            value = self.new(f"{'sext' if signed else 'zext'} {source} {value} to {middle}")
        elif BITS[source] > BITS[middle]:
            value = self.new(f"trunc {source} {value} to {middle}")
        return self.new(f"bitcast {middle} {value} to {target}") if middle != target else value

    def set(self, operand: Operand, value: str, kind: str) -> None:
        """Writes a result of a PTX type to a register."""
        if not isinstance(operand, Register):
            raise self.refuse(f"result {operand}")
        name = operand.name
        if name == "_":
            return
        llvm = self.llvm_of(name)
        value = self.resize(value, LLVM[kind], llvm, is_signed(kind))
        if self.guard is not None:
            value = self.new(f"select i1 {self.guard}, {llvm} {value}, {llvm} {self.read(name)}")
        self.values[name] = value
        self.dirty[name] = None

    # -------------------------------------------------------------------------------------------------- guards

    def condition(self, guard: Predicate) -> str:
        """Whether this lane takes part."""
        value = self.get(Register(guard.register), "pred")
        return self.new(f"xor i1 {value}, true") if guard.negated else value

    def growing(self, bit_if: str) -> str:
        """A mask of the lanes for which a condition holds; complete behind the last lane."""
        now, later = self.kernel.fresh(), self.kernel.fresh()
        self.phis.append((now, later))
        bit = self.new(f"shl i64 1, {self.lane}")
        chosen = self.new(f"select i1 {bit_if}, i64 {bit}, i64 0")
        self.emit(f"{later} = or i64 {now}, {chosen}")
        return later

    def branched(self, guard: Predicate, results: Iterable[str]) -> _Branch:
        """Code that only lanes run for which the guard holds."""
        return _Branch(self, guard, tuple(results))

    def keep_results(self) -> None:
        """Writes what was computed to the frame."""
        for register in self.dirty:
            place = self.function.place_of(register)
            if place is None:
                continue
            llvm, value = self.llvm_of(register), self.values[register]
            if llvm == "i1":
                llvm, value = "i8", self.new(f"zext i1 {value} to i8")
            self.emit(f"store {llvm} {value}, ptr {self.place(place, llvm)}")
        self.dirty.clear()


class _Branch:
    """What is done under a guard; registers that are written there keep their old values elsewhere."""

    def __init__(self, lane: Lane, guard: Predicate, results: tuple[str, ...]) -> None:
        self._lane, self._guard, self._results = lane, guard, results

    def __enter__(self) -> str:
        lane = self._lane
        condition = lane.condition(self._guard)
        self._old = {register: lane.read(register) for register in self._results}
        self._kept = dict(lane.values)
        mask = lane.growing(condition)
        yes, self._end = lane.label(), lane.label()
        self._before = lane.here
        lane.emit(f"br i1 {condition}, label %{yes}, label %{self._end}")
        lane.mark(yes)
        return mask

    def __exit__(self, *_: object) -> None:
        lane = self._lane
        after = lane.here
        new = {register: lane.values[register] for register in self._results if register in lane.values}
        lane.emit(f"br label %{self._end}")
        lane.mark(self._end)
        lane.values = self._kept
        for register, value in new.items():
            llvm = lane.llvm_of(register)
            phi = f"phi {llvm} [ {value}, %{after} ], [ {self._old[register]}, %{self._before} ]"
            lane.values[register] = lane.new(phi)
