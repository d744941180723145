"""Writes LLVM assembly for what a warp does after a block's last lane: the helpers that all ends of blocks share."""

from __future__ import annotations

from gpulab.trace.ptx.codegen.flow import Block
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.lines import CodeLines
from gpulab.trace.ptx.codegen.types import LLVM
from gpulab.trace.ptx.runtime import collective, layout
from gpulab.trace.ptx.runtime.machine import runtime_pointer
from gpulab.trace.ptx.text.syntax import Instruction, Operand

TRAP_SITE = -1
RECURSION_SITE = -2
MASK_SITE = -3
DISTANCE_SITE = -4


class WarpCode(CodeLines):
    """The code after a block's lanes, while it is written.

    Args:
        lane: the code of the block.
        number: of the block in the kernel.
        block: that ends.
    """

    def __init__(self, lane: Lane, number: int, block: Block, masks: list[str]) -> None:
        super().__init__(lane.kernel)
        self.lane, self.number, self.block, self.masks = lane, number, block, masks
        self.function = lane.function
        self.whole = f"%mask{number}"

    def call(self, name: str, *given: str) -> str:
        """A function of the runtime."""
        return self.new(f"call i64 {runtime_pointer(name)}({', '.join(f'i64 {value}' for value in given)})")

    def rows(self, *given: tuple[Operand, str]) -> None:
        """Writes operands of all lanes to rows of 32 slots each."""
        part = Lane(self.function, self.number)
        part.instruction = self.block.end
        part.lane = self.kernel.fresh()
        operands = self.lane.pointer_slot(layout.OPERANDS)
        for row, (operand, kind) in enumerate(given):
            value = part.resize(part.get(operand, kind), LLVM[kind], "i64", kind.startswith("s"))
            index = part.new(f"add i64 {part.lane}, {32 * row}")
            part.emit(f"store i64 {value}, ptr {part.new(f'getelementptr i64, ptr {operands}, i64 {index}')}")
        self.loop(part)

    def loop(self, part: Lane) -> None:
        """Runs a piece of code for every lane."""
        start, head, after = self.label(), self.label(), self.label()
        self.lines += part.prologue
        self.lines += [f"  br label %{start}", f"{start}:", f"  br label %{head}", f"{head}:"]
        left, next_left = self.kernel.fresh(), self.kernel.fresh()
        tail = self.label()
        self.emit(f"{left} = phi i64 [ {self.whole}, %{start} ], [ {next_left}, %{tail} ]")
        self.emit(f"{part.lane} = call i64 @llvm.cttz.i64(i64 {left}, i1 true)")
        self.lines += part.lines
        self.lines += [f"  br label %{tail}", f"{tail}:"]
        less = self.new(f"sub i64 {left}, 1")
        self.emit(f"{next_left} = and i64 {left}, {less}")
        over = self.new(f"icmp eq i64 {next_left}, 0")
        self.emit(f"br i1 {over}, label %{after}, label %{head}")
        self.lines.append(f"{after}:")

    def serve(self, one: Instruction) -> None:
        """Calls Python with the number of an instruction."""
        self.kernel.calls.append(one)
        service = self.lane.pointer_slot(layout.SERVICE)
        status = self.new(f"call i64 {service}(i64 %warp.n, i64 {self.whole}, i64 {len(self.kernel.calls) - 1})")
        good = self.new(f"icmp eq i64 {status}, 0")
        yes, no = self.label(), self.label()
        self.emit(f"br i1 {good}, label %{yes}, label %{no}")
        self.lines += [f"{no}:", f"  ret i64 {layout.FAILED}", f"{yes}:"]

    def meet(self, function: str, rows: str) -> None:
        """Lets the lanes go on whose whole group is there; the others wait."""
        ready = self.call(function, "%ctx.n", "%warp.n", self.whole, rows)
        self.refuse(ready, MASK_SITE)
        held = self.new(f"xor i64 {self.whole}, {ready}")
        self.stay(held, self.number - self.function.first)
        self.whole = ready
        some, go = self.label(), self.new(f"icmp ne i64 {ready}, 0")
        self.emit(f"br i1 {go}, label %{some}, label %dispatch")
        self.lines.append(f"{some}:")

    def refuse(self, result: str, site: int) -> None:
        """Ends the launch if a function of the runtime gave -1: the context has the lane and the number at fault."""
        wrong, yes, no = self.new(f"icmp eq i64 {result}, -1"), self.label(), self.label()
        self.emit(f"br i1 {wrong}, label %{no}, label %{yes}")
        self.lines.append(f"{no}:")
        place = self.new(f"getelementptr i64, ptr %ctx, i64 {layout.ERROR_LANE}")
        lane = self.new(f"load i64, ptr {place}")
        number = self.new(f"load i64, ptr {self.new(f'getelementptr i64, ptr %ctx, i64 {layout.ERROR_ADDRESS}')}")
        label = self.label()
        self.emit(f"br label %{label}")
        self.lines += [f"{label}:", "  br label %fail", f"{yes}:"]
        assert self.block.end is not None
        self.kernel.meetings.append(self.block.end)
        self.kernel.failures.append((label, site * 1_000_000 - len(self.kernel.meetings), lane, number))

    def take_results(self, one: Instruction, results: list[tuple[Operand, str]]) -> None:
        """Writes result rows to the registers of the lanes that took part."""
        part = Lane(self.function, self.number)
        part.lane, part.instruction = self.kernel.fresh(), one
        operands = self.lane.pointer_slot(layout.OPERANDS)
        for row, (target, kind) in enumerate(results):
            index = part.new(f"add i64 {part.lane}, {collective.RESULT + 32 * row}")
            value = part.new(f"load i64, ptr {part.new(f'getelementptr i64, ptr {operands}, i64 {index}')}")
            if kind == "pred":
                part.set(target, part.new(f"trunc i64 {value} to i1"), "pred")
            else:
                part.set(target, part.resize(value, "i64", LLVM[kind], False), kind)
        part.keep_results()
        self.loop(part)

    def again(self) -> None:
        """Back to the scheduler."""
        self.emit("br label %dispatch")

    def send(self, target: int, mask: str) -> None:
        """Lanes go on at a block of this function; none if the mask is empty."""
        frame, words = self.lane.frame(), self.function.words
        some = self.new(f"icmp ne i64 {mask}, 0")
        bit = self.new(f"select i1 {some}, i64 {1 << target % 64 if target % 64 < 63 else -(1 << 63)}, i64 0")
        for slot, operation, value in (
            (layout.FRAME_HEADER + 2 * words + target, "or", mask),
            (layout.FRAME_HEADER + target // 64, "or", bit),
            (layout.FRAME_HEADER + words + target // 64, "and", self.new(f"xor i64 {bit}, -1")),
        ):
            place = self.new(f"getelementptr i64, ptr {frame}, i64 {slot}")
            old = self.new(f"load i64, ptr {place}")
            self.emit(f"store i64 {self.new(f'{operation} i64 {old}, {value}')}, ptr {place}")

    def go_on(self) -> None:
        """All lanes go on at the block's first target."""
        self.send(self.block.targets[0], self.whole)
        self.again()

    def stay(self, mask: str, block: int) -> None:
        """Lanes that cannot go on wait at a block, if there are any."""
        some, yes, after = self.new(f"icmp ne i64 {mask}, 0"), self.label(), self.label()
        self.emit(f"br i1 {some}, label %{yes}, label %{after}")
        self.lines.append(f"{yes}:")
        self.call("hold", self.lane.warp_slot(layout.W_FRAME), str(block), mask)
        self.emit(f"br label %{after}")
        self.lines.append(f"{after}:")

    def fail(self, site: int, address: str = "0") -> None:
        """Ends the launch, with the reason and the first lane that stands here."""
        lane = self.new(f"call i64 @llvm.cttz.i64(i64 {self.whole}, i1 true)")
        label = self.label()
        self.emit(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.emit("br label %fail")
        assert self.block.end is not None
        self.kernel.meetings.append(self.block.end)
        self.kernel.failures.append((label, site * 1_000_000 - len(self.kernel.meetings), lane, address))
