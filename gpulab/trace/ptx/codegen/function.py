"""One PTX function: its blocks, and the frame of an activation, with registers, parameters, and local memory."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from gpulab.trace.ptx.codegen.ends import block_text
from gpulab.trace.ptx.codegen.flow import blocks_of, registers_read
from gpulab.trace.ptx.codegen.handlers import results_of, sources_of
from gpulab.trace.ptx.codegen.types import BITS, LLVM
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import Function, Instruction, Operand, Variable

if TYPE_CHECKING:
    from gpulab.trace.ptx.codegen.translate import KernelCode


class FunctionCode:
    """One PTX function: its blocks and the frame of an activation.

    Args:
        kernel: that it belongs to.
        syntax: the function.
        first: number of its first block in the kernel.
    """

    def __init__(self, kernel: KernelCode, syntax: Function, first: int) -> None:
        self.kernel, self.syntax, self.first = kernel, syntax, first
        self.blocks = blocks_of(syntax)
        self.words = (len(self.blocks) + 63) // 64
        end = (layout.FRAME_HEADER + 2 * self.words + len(self.blocks)) * 8
        self._places: dict[str, int] = {}
        for register in sorted(self._shared_registers()):
            self._places[register] = end
            end += 32 * max(8, BITS[LLVM[syntax.type_of(register)]]) // 8
        self.parameter_offsets: dict[str, int] = {}
        self.parameter_bytes = 0
        self.areas: dict[str, tuple[int, int]] = {}
        """Of each `.param` variable: where its 32 copies start, and how far apart they are."""
        variables = [v for v in syntax.variables if v.space == "param"]
        if syntax.entry:
            for variable in syntax.parameters:
                place = -(-self.parameter_bytes // variable.align) * variable.align
                self.parameter_offsets[variable.name] = place
                self.parameter_bytes = place + variable.bytes
        else:
            variables = [*syntax.parameters, *syntax.results, *variables]
        for variable in variables:
            step = -(-variable.bytes // 8) * 8
            self.areas[variable.name] = (end, step)
            end += 32 * step
        self.frame_bytes = end
        self.locals: dict[str, int] = {}
        self.local_bytes = 0
        for variable in syntax.variables:
            if variable.space == "local":
                place = -(-self.local_bytes // variable.align) * variable.align
                self.locals[variable.name] = place
                self.local_bytes = -(-(place + variable.bytes) // 16) * 16

    @functools.cached_property
    def compared(self) -> set[Operand]:
        """Addresses of `atomicCAS`, by which a loop also reads the value to compare with first."""
        body = (one for one in self.syntax.body if isinstance(one, Instruction))
        return {one.operands[1] for one in body if one.opcode == "atom" and "cas" in one.modifiers}

    def place_of(self, register: str) -> int | None:
        """Where the frame has a register; None if it lives in one block only."""
        return self._places.get(register)

    def variable(self, name: str) -> Variable:
        """A parameter or variable of this function."""
        every = [*self.syntax.parameters, *self.syntax.results, *self.syntax.variables]
        return next(variable for variable in every if variable.name == name)

    def _shared_registers(self) -> set[str]:
        home: dict[str, int] = {}
        shared: set[str] = set()

        def seen(name: str, block: int) -> None:
            if home.setdefault(name, block) != block:
                shared.add(name)

        for number, block in enumerate(self.blocks):
            for one in block.instructions:
                written = results_of(one)
                for operand in one.operands:
                    for name in registers_read(operand):
                        read = name not in written or one.guard or name in sources_of(one)
                        if read and name not in home:
                            shared.add(name)
                        seen(name, number)
                if one.guard:
                    if one.guard.register not in home:
                        shared.add(one.guard.register)
                    seen(one.guard.register, number)
            if block.condition:
                if block.condition.register not in home:
                    shared.add(block.condition.register)
                seen(block.condition.register, number)
            if block.end is not None:
                shared.update(name for operand in block.end.operands for name in registers_read(operand))
            if block.resumes is not None:
                shared.update(name for operand in block.resumes.operands for name in registers_read(operand))
        declared = self.syntax
        return {name for name in shared if name in declared.registers or name.rstrip("0123456789") in declared.families}

    def text(self) -> list[str]:
        """LLVM assembly of all blocks."""
        return [line for number, block in enumerate(self.blocks) for line in block_text(self, number, block)]
