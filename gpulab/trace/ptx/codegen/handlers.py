"""Which module translates which instruction: handlers register by opcode, and a block's body is their work in turn."""

from __future__ import annotations

from collections.abc import Callable

from gpulab.trace.ptx.codegen.flow import Block, registers_read
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.warp_code import WarpCode
from gpulab.trace.ptx.text.syntax import Instruction

Handler = Callable[[Lane, Instruction], None]
WarpHandler = Callable[[WarpCode, Instruction], None]
HANDLERS: dict[str, Handler] = {}
"""By opcode. A handler computes for one lane; under a guard its results are selected."""
WARP_WIDE: dict[str, WarpHandler] = {}
"""By opcode. A handler writes what comes after the last lane of a block that ends in it."""
BRANCHED: set[str] = set()
"""Opcodes that only lanes may run for which the guard holds."""

_NO_RESULT = {"st", "red", "bar", "barrier", "membar", "fence", "prefetch", "prefetchu", "discard", "cp", "nanosleep",
              "griddepcontrol", "applypriority", "mbarrier"}  # fmt: skip


def handles(*opcodes: str, branched: bool = False) -> Callable[[Handler], Handler]:
    """Registers a handler."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(opcodes, handler))
        if branched:
            BRANCHED.update(opcodes)
        return handler

    return register


def meets(*opcodes: str) -> Callable[[WarpHandler], WarpHandler]:
    """Registers a handler of instructions in which the lanes of a warp meet."""

    def register(handler: WarpHandler) -> WarpHandler:
        WARP_WIDE.update(dict.fromkeys(opcodes, handler))
        return handler

    return register


def translate_body(lane: Lane, block: Block) -> None:
    """The instructions of a block, for one lane."""
    for lane.position, one in enumerate(block.instructions):
        lane.instruction = one
        handler = HANDLERS.get(one.opcode)
        if handler is None or one.problem:
            raise lane.kernel.refusal(one, one.problem)
        try:
            if one.guard is None:
                handler(lane, one)
            elif one.opcode in BRANCHED:
                with lane.branched(one.guard, results_of(one)) as mask:
                    lane.mask = mask
                    handler(lane, one)
                lane.mask = lane.whole
            else:
                lane.guard = lane.condition(one.guard)
                handler(lane, one)
                lane.guard = None
        except (KeyError, IndexError, ValueError) as error:
            raise lane.kernel.refusal(one) from error


def results_of(one: Instruction) -> list[str]:
    """The registers that an instruction writes."""
    if one.opcode in _NO_RESULT or not one.operands:
        return []
    return [name for name in registers_read(one.operands[0]) if name != "_"]


def sources_of(one: Instruction) -> set[str]:
    """The registers that an instruction reads, apart from its guard's."""
    rest = one.operands if one.opcode in _NO_RESULT else one.operands[1:]
    return {name for operand in rest for name in registers_read(operand)}
