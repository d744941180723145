"""How blocks end: jumps, returns, calls, barriers; and the loop over lanes that every block is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.trace.ptx.codegen import demand
from gpulab.trace.ptx.codegen.flow import Block
from gpulab.trace.ptx.codegen.handlers import WARP_WIDE, translate_body
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.warp_code import RECURSION_SITE, TRAP_SITE, WarpCode
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.runtime.machine import runtime_pointer
from gpulab.trace.ptx.text.syntax import Instruction, Number, Operand, Symbol

if TYPE_CHECKING:
    from gpulab.trace.ptx.codegen.function import FunctionCode
    from gpulab.trace.ptx.codegen.translate import KernelCode

SERVICES = {"vprintf", "__assertfail", "malloc", "free"}
"""Functions that are no PTX: the system's."""


def dispatch(kernel: KernelCode) -> list[str]:
    """The head of `run_warp`: goes to the block that the scheduler picks."""
    cases = " ".join(f"i64 {number}, label %B{number}" for number in range(kernel.block_count))
    return [
        "define i64 @run_warp(i64 %ctx.n, i64 %warp.n) {",
        "entry:",
        "  %ctx = inttoptr i64 %ctx.n to ptr",
        "  %warp = inttoptr i64 %warp.n to ptr",
        "  br label %dispatch",
        "dispatch:",
        f"  %next = call i64 {runtime_pointer('pick')}(i64 %ctx.n, i64 %warp.n)",
        f"  switch i64 %next, label %stop [ {cases} ]",
        "stop:",
        "  ret i64 %next",
    ]


def block_text(function: FunctionCode, number: int, block: Block) -> list[str]:
    """LLVM assembly of one block."""
    n = function.first + number
    lane = Lane(function, n)
    lane.whole = lane.mask = f"%mask{n}"
    masks: list[str] = []
    loops = bool(block.instructions or block.kind in ("branch", "switch"))
    if loops:
        translate_body(lane, block)
        lane.instruction = block.end
        if block.condition:
            masks.append(lane.growing(lane.condition(block.condition)))
        if block.kind == "switch":
            assert block.end is not None
            index = lane.get(block.end.operands[0], "u32")
            for target in range(len(block.targets)):
                masks.append(lane.growing(lane.new(f"icmp eq i32 {index}, {target}")))
        demand.settle(lane, block)
        lane.keep_results()
    lines = [f"B{n}:", f"  %maskp{n} = getelementptr i64, ptr %warp, i64 {layout.W_MASK}"]
    lines.append(f"  %mask{n} = load i64, ptr %maskp{n}")
    end = _End(lane, n, block, masks)
    end.count(len(block.instructions) + (block.kind != "goto"))
    end.write()
    lines += lane.prologue
    if loops:
        lines += [f"  br label %B{n}.lane", f"B{n}.lane:"]
        lines.append(f"  %m{n} = phi i64 [ %mask{n}, %B{n} ], [ %mn{n}, %B{n}.next ]")
        lines += [f"  {now} = phi i64 [ 0, %B{n} ], [ {later}, %B{n}.next ]" for now, later in lane.phis]
        lines.append(f"  {lane.lane} = call i64 @llvm.cttz.i64(i64 %m{n}, i1 true)")
        lines += lane.lines
        lines += [f"  br label %B{n}.next", f"B{n}.next:", f"  %md{n} = sub i64 %m{n}, 1"]
        lines += [f"  %mn{n} = and i64 %m{n}, %md{n}", f"  %end{n} = icmp eq i64 %mn{n}, 0"]
        lines += [f"  br i1 %end{n}, label %B{n}.done, label %B{n}.lane", f"B{n}.done:"]
    return lines + end.lines


class _End(WarpCode):
    """What a warp does after a block's last lane, by the kind of end."""

    def count(self, instructions: int) -> None:
        """Notes the accesses and adds up what was run."""
        for one in self.lane.observed:
            rows = self.new(f"add i64 {self.lane.slot(layout.ROWS)}, {one.row * 256}")
            self.call(one.function, "%ctx.n", "%warp.n", str(one.site), one.mask, rows, *map(str, one.more))
        lanes = self.new(f"call i64 @llvm.ctpop.i64(i64 {self.whole})")
        place = self.new(f"getelementptr i64, ptr %ctx, i64 {layout.INSTRUCTIONS}")
        before = self.new(f"load i64, ptr {place}")
        more = self.new(f"mul i64 {lanes}, {instructions}")
        self.emit(f"store i64 {self.new(f'add i64 {before}, {more}')}, ptr {place}")

    def write(self) -> None:
        """The jump."""
        block = self.block
        if block.resumes is not None:
            self._resume(block.resumes)
        getattr(self, f"_{block.kind}")()

    def _goto(self) -> None:
        self.go_on()

    def _branch(self) -> None:
        taken = self.masks[0]
        rest = self.new(f"xor i64 {self.whole}, {taken}")
        self.send(self.block.targets[0], taken)
        self.send(self.block.targets[1], rest)
        self.again()

    def _switch(self) -> None:
        for target, mask in zip(self.block.targets, self.masks, strict=True):
            self.send(target, mask)
        self.again()

    def _exit(self) -> None:
        self.call("leave", "%warp.n", self.whole)
        self.again()

    def _trap(self) -> None:
        self.fail(TRAP_SITE)

    def _ret(self) -> None:
        if self.function.syntax.entry:
            self._exit()
            return
        frame = self.lane.frame()
        for variable in self.function.syntax.results:
            start, step = self.function.areas[variable.name]
            target = self.new(f"load i64, ptr {self.new(f'getelementptr i64, ptr {frame}, i64 {layout.F_RESULT}')}")
            place = self.new(f"getelementptr i64, ptr {frame}, i64 {layout.F_RESULT_STRIDE}")
            target_step = self.new(f"load i64, ptr {place}")
            source = self.new(f"add i64 {self.lane.warp_slot(layout.W_FRAME)}, {start}")
            has_place = self.new(f"icmp ne i64 {target}, 0")
            lanes = self.new(f"select i1 {has_place}, i64 {self.whole}, i64 0")
            fits = self.new(f"icmp ule i64 {step}, {target_step}")
            size = self.new(f"select i1 {fits}, i64 {step}, i64 {target_step}")
            self.call("copy_lanes", source, str(step), target, target_step, size, lanes)
        place = self.new(f"getelementptr i64, ptr {frame}, i64 {layout.F_DONE}")
        done = self.new(f"or i64 {self.new(f'load i64, ptr {place}')}, {self.whole}")
        self.emit(f"store i64 {done}, ptr {place}")
        self.again()

    # --------------------------------------------------------------------------------------------------------- calls

    def _call(self) -> None:
        one = self.block.end
        assert one is not None and one.call is not None and isinstance(one.call.function, Symbol)
        if one.call.function.name in SERVICES:
            self._service(one)
            return
        callee = self.kernel.codes[one.call.function.name]
        frame = self.lane.warp_slot(layout.W_FRAME)
        fresh = self.new(f"add i64 {frame}, {self.function.frame_bytes}")
        end = self.new(f"add i64 {fresh}, {callee.frame_bytes}")
        local_place = self.new(f"getelementptr i64, ptr {self.lane.frame()}, i64 {layout.F_LOCAL}")
        local = self.new(f"add i64 {self.new(f'load i64, ptr {local_place}')}, {self.function.local_bytes}")
        local_end = self.new(f"add i64 {local}, {callee.local_bytes}")
        fits = self.new(f"icmp ule i64 {end}, {self.lane.warp_slot(layout.W_STACK_END)}")
        local_fits = self.new(f"icmp ule i64 {local_end}, {self.lane.slot(layout.LOCAL_BYTES)}")
        yes, no = self.label(), self.label()
        self.emit(f"br i1 {self.new(f'and i1 {fits}, {local_fits}')}, label %{yes}, label %{no}")
        self.lines.append(f"{no}:")
        self.fail(RECURSION_SITE)
        self.lines.append(f"{yes}:")
        if self.kernel.counted and callee.local_bytes:
            self.call("forget_local", "%ctx.n", "%warp.n", self.whole, local, str(callee.local_bytes))
        self.call("open_frame", fresh, str(callee.first), str(len(callee.blocks)))
        pointer = self.new(f"inttoptr i64 {fresh} to ptr")
        after = self.function.first + self.block.targets[0]
        slots = {
            layout.F_CALLER: frame, layout.F_RETURN: str(after), layout.F_MASK: self.whole, layout.F_LOCAL: local,
            layout.FRAME_HEADER: "1", layout.FRAME_HEADER + 2 * callee.words: self.whole,
        }  # fmt: skip
        if one.call.results:
            start, step = self.function.areas[one.call.results[0]]
            slots[layout.F_RESULT] = self.new(f"add i64 {frame}, {start}")
            slots[layout.F_RESULT_STRIDE] = str(step)
        for slot, value in slots.items():
            self.emit(f"store i64 {value}, ptr {self.new(f'getelementptr i64, ptr {pointer}, i64 {slot}')}")
        for given, formal in zip(one.call.arguments, callee.syntax.parameters, strict=True):
            start, step = self._area(given)
            source = self.new(f"add i64 {frame}, {start}")
            formal_start, formal_step = callee.areas[formal.name]
            target = self.new(f"add i64 {fresh}, {formal_start}")
            self.call(
                "copy_lanes", source, str(step), target, str(formal_step), str(min(step, formal_step)), self.whole
            )
        place = self.new(f"getelementptr i64, ptr %warp, i64 {layout.W_FRAME}")
        self.emit(f"store i64 {fresh}, ptr {place}")
        self.again()

    def _area(self, operand: Operand) -> tuple[int, int]:
        if isinstance(operand, Symbol) and operand.name in self.function.areas:
            return self.function.areas[operand.name]
        raise self.kernel.refusal(self.block.end, "an argument that is no .param variable")

    def _service(self, one: Instruction) -> None:
        """A call of the system: Python does it, from the addresses of the arguments."""
        assert one.call is not None
        frame = self.lane.warp_slot(layout.W_FRAME)
        operands = self.lane.pointer_slot(layout.OPERANDS)
        for number, given in enumerate((*one.call.arguments, *map(Symbol, one.call.results))):
            start, _ = self._area(given)
            place = self.new(f"getelementptr i64, ptr {operands}, i64 {number}")
            self.emit(f"store i64 {self.new(f'add i64 {frame}, {start}')}, ptr {place}")
        self.serve(one)
        self.go_on()

    # ------------------------------------------------------------------------------------------------------ barriers

    def _barrier(self) -> None:
        one = self.block.end
        assert one is not None
        operands = list(one.operands)
        reduces = "red" in one.modifiers
        kind = next((m for m in one.modifiers if m in ("sync", "arrive", "red")), "sync")
        if reduces:
            operands.pop(0)
        predicate: Operand = operands.pop() if reduces else Number("0")
        number = operands[0] if operands else Number("0")
        count = operands[1] if len(operands) > 1 else None
        self.rows((number, "u32"), (predicate, "pred"), (count or Number("0"), "u32"))
        rows = self.lane.slot(layout.OPERANDS)
        if kind == "arrive":
            self.call("only_arrive", "%ctx.n", self.whole, rows)
            self.go_on()
            return
        self.kernel.meetings.append(one)
        own = self.kernel.own(one.location)
        self.call(
            "arrive", "%ctx.n", "%warp.n", self.whole, str(len(self.kernel.meetings) - 1),
            str(own.file * 1_000_000 + own.line), str(int(count is not None)), rows,
        )  # fmt: skip
        self.call("hold", self.lane.warp_slot(layout.W_FRAME), str(self.block.targets[0]), self.whole)
        self.again()

    def _resume(self, one: Instruction) -> None:
        """Lanes whose barrier is complete go on, with its result; the others stay."""
        waiting = self.new(f"load i64, ptr {self.new(f'getelementptr i64, ptr %warp, i64 {layout.W_WAITING}')}")
        held = self.new(f"and i64 {self.whole}, {waiting}")
        self.stay(held, self.number - self.function.first)
        self.whole = self.new(f"xor i64 {self.whole}, {held}")
        some, go = self.label(), self.new(f"icmp ne i64 {self.whole}, 0")
        self.emit(f"br i1 {go}, label %{some}, label %dispatch")
        self.lines.append(f"{some}:")
        if "red" in one.modifiers:
            slot = {"popc": layout.W_RED_COUNT, "and": layout.W_RED_AND, "or": layout.W_RED_OR}
            found = next(slot[m] for m in one.modifiers if m in slot)
            part = Lane(self.function, self.number)
            part.lane, part.instruction = self.kernel.fresh(), one
            value = part.new(f"load i64, ptr {part.new(f'getelementptr i64, ptr %warp, i64 {found}')}")
            if found == layout.W_RED_COUNT:
                part.set(one.operands[0], value, "u64")
            else:
                part.set(one.operands[0], part.new(f"trunc i64 {value} to i1"), "pred")
            part.keep_results()
            self.loop(part)

    def _warp(self) -> None:
        one = self.block.end
        assert one is not None
        self.lane.instruction = one
        handler = WARP_WIDE.get(one.opcode)
        if handler is None:
            raise self.kernel.refusal(one)
        handler(self, one)
        self.go_on()
