"""How blocks end: jumps, returns, calls, barriers; and the loop over lanes that every block is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.trace.ptx.instructions import demand
from gpulab.trace.ptx.instructions.flow import Block
from gpulab.trace.ptx.instructions.lane import Lane
from gpulab.trace.ptx.instructions.translate import SERVICES, FunctionCode, KernelCode, runtime_pointer, translate_body
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import Number, Operand, Register, Symbol

if TYPE_CHECKING:
    from gpulab.trace.ptx.text.syntax import Instruction

TRAP_SITE = -1
RECURSION_SITE = -2
MASK_SITE = -3


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


class _End:
    """What a warp does behind a block's last lane."""

    def __init__(self, lane: Lane, number: int, block: Block, masks: list[str]) -> None:
        self.lane, self.number, self.block, self.masks = lane, number, block, masks
        self.kernel, self.function = lane.kernel, lane.function
        self.lines: list[str] = []
        self.whole = f"%mask{number}"

    def new(self, text: str) -> str:
        name = self.kernel.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def emit(self, text: str) -> None:
        self.lines.append("  " + text)

    def label(self) -> str:
        return self.kernel.fresh()[1:]

    def call(self, name: str, *given: str) -> str:
        """A function of the runtime."""
        return self.new(f"call i64 {runtime_pointer(name)}({', '.join(f'i64 {value}' for value in given)})")

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

    def _again(self) -> None:
        self.emit("br label %dispatch")

    def _send(self, target: int, mask: str) -> None:
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

    def _goto(self) -> None:
        self._send(self.block.targets[0], self.whole)
        self._again()

    def _branch(self) -> None:
        taken = self.masks[0]
        rest = self.new(f"xor i64 {self.whole}, {taken}")
        self._send(self.block.targets[0], taken)
        self._send(self.block.targets[1], rest)
        self._again()

    def _switch(self) -> None:
        for target, mask in zip(self.block.targets, self.masks, strict=True):
            self._send(target, mask)
        self._again()

    def _exit(self) -> None:
        self.call("leave", "%warp.n", self.whole)
        self._again()

    def _trap(self) -> None:
        self._fail(TRAP_SITE)

    def _fail(self, site: int, address: str = "0") -> None:
        lane = self.new(f"call i64 @llvm.cttz.i64(i64 {self.whole}, i1 true)")
        label = self.label()
        self.emit(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.emit("br label %fail")
        assert self.block.end is not None
        self.kernel.meetings.append(self.block.end)
        self.kernel.failures.append((label, site * 1_000_000 - len(self.kernel.meetings), lane, address))

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
            self.call("copy_lanes", source, str(step), target, target_step, str(step), lanes)
        place = self.new(f"getelementptr i64, ptr {frame}, i64 {layout.F_DONE}")
        done = self.new(f"or i64 {self.new(f'load i64, ptr {place}')}, {self.whole}")
        self.emit(f"store i64 {done}, ptr {place}")
        self._again()

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
        self._fail(RECURSION_SITE)
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
        self._again()

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
        self._goto()

    def serve(self, one: Instruction) -> None:
        """Calls Python with the number of an instruction."""
        self.kernel.calls.append(one)
        service = self.lane.pointer_slot(layout.SERVICE)
        status = self.new(f"call i64 {service}(i64 %warp.n, i64 {self.whole}, i64 {len(self.kernel.calls) - 1})")
        good = self.new(f"icmp eq i64 {status}, 0")
        yes, no = self.label(), self.label()
        self.emit(f"br i1 {good}, label %{yes}, label %{no}")
        self.lines += [f"{no}:", f"  ret i64 {layout.FAILED}", f"{yes}:"]

    # ------------------------------------------------------------------------------------------------------ barriers

    def rows(self, *given: tuple[Operand, str]) -> None:
        """Writes operands of all lanes to rows of 32 slots each."""
        part = Lane(self.function, self.number)
        part.instruction = self.block.end
        part.lane = self.kernel.fresh()
        operands = self.lane.pointer_slot(layout.OPERANDS)
        for row, (operand, kind) in enumerate(given):
            from gpulab.trace.ptx.instructions.types import LLVM

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
            self._goto()
            return
        self.kernel.meetings.append(one)
        own = self.kernel.own(one.location)
        self.call(
            "arrive", "%ctx.n", "%warp.n", self.whole, str(len(self.kernel.meetings) - 1),
            str(own.file * 1_000_000 + own.line), str(int(count is not None)), rows,
        )  # fmt: skip
        self.call("hold", self.lane.warp_slot(layout.W_FRAME), str(self.block.targets[0]), self.whole)
        self._again()

    def _resume(self, one: Instruction) -> None:
        """Lanes whose barrier is complete go on, with its result; the others stay."""
        waiting = self.new(f"load i64, ptr {self.new(f'getelementptr i64, ptr %warp, i64 {layout.W_WAITING}')}")
        held = self.new(f"and i64 {self.whole}, {waiting}")
        self._stay(held, self.number - self.function.first)
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

    def _stay(self, mask: str, block: int) -> None:
        """Lanes that cannot go on wait at a block, if there are any."""
        some, yes, after = self.new(f"icmp ne i64 {mask}, 0"), self.label(), self.label()
        self.emit(f"br i1 {some}, label %{yes}, label %{after}")
        self.lines.append(f"{yes}:")
        self.call("hold", self.lane.warp_slot(layout.W_FRAME), str(block), mask)
        self.emit(f"br label %{after}")
        self.lines.append(f"{after}:")

    def _warp(self) -> None:
        from gpulab.trace.ptx.instructions.warps import warp_wide

        one = self.block.end
        assert one is not None
        self.lane.instruction = one
        warp_wide(self, one)

    def meet(self, function: str, rows: str) -> None:
        """Lets the lanes go on whose whole group is there; the others wait."""
        ready = self.call(function, "%ctx.n", "%warp.n", self.whole, rows)
        wrong, yes, no = self.new(f"icmp eq i64 {ready}, -1"), self.label(), self.label()
        self.emit(f"br i1 {wrong}, label %{no}, label %{yes}")
        self.lines.append(f"{no}:")
        place = self.new(f"getelementptr i64, ptr %ctx, i64 {layout.ERROR_LANE}")
        lane = self.new(f"load i64, ptr {place}")
        mask = self.new(f"load i64, ptr {self.new(f'getelementptr i64, ptr %ctx, i64 {layout.ERROR_ADDRESS}')}")
        label = self.label()
        self.emit(f"br label %{label}")
        self.lines += [f"{label}:", "  br label %fail", f"{yes}:"]
        assert self.block.end is not None
        self.kernel.meetings.append(self.block.end)
        self.kernel.failures.append((label, MASK_SITE * 1_000_000 - len(self.kernel.meetings), lane, mask))
        held = self.new(f"xor i64 {self.whole}, {ready}")
        self._stay(held, self.number - self.function.first)
        self.whole = ready
        some, go = self.label(), self.new(f"icmp ne i64 {ready}, 0")
        self.emit(f"br i1 {go}, label %{some}, label %dispatch")
        self.lines.append(f"{some}:")


__all__ = ["MASK_SITE", "RECURSION_SITE", "TRAP_SITE", "Register", "block_text", "dispatch"]
