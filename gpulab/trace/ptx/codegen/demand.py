"""Which values read from a thread's own memory are used: only those reads must find something written.

A compiler also reads where the program does not: before an `if`, to choose with `selp` afterwards whether the value
counts; the padding of a structure that is copied; the other bits of a word in which one bit-field is set. Such a value
goes into a choice, or back to local memory, and nowhere else.
"""

from __future__ import annotations

from gpulab.trace.ptx.codegen.flow import Block, registers_read
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.text.syntax import Instruction, Operand, Register

_YES, _NO = "true", "false"
_WITH_EFFECT = {"ld", "ldu", "st", "atom", "red", "cp", "prefetch", "prefetchu"}


def settle(lane: Lane, block: Block) -> None:
    """Takes the reads of a block from the list whose value no lane uses, and limits the others to lanes that do."""
    kept = []
    for one in lane.observed:
        if one.read is not None:
            used = _Uses(lane, block).of(one.read[1], one.read[0])
            if used == _NO:
                continue
            if used != _YES and one.mask == lane.whole:
                one.mask = lane.growing(used)
        kept.append(one)
    lane.observed = kept


class _Uses:
    """Where a value of a block goes, as a condition in LLVM assembly."""

    def __init__(self, lane: Lane, block: Block) -> None:
        self._lane, self._block = lane, block
        self._known: dict[tuple[str, int], str] = {}

    def of(self, register: str, at: int) -> str:
        """Whether a lane uses what the instruction at this place of the block wrote to a register."""
        key = (register, at)
        if key not in self._known:
            self._known[key] = self._find(register, at)
        return self._known[key]

    def _find(self, register: str, at: int) -> str:
        if register == "_":
            return _NO
        if self._lane.function.place_of(register) is not None:
            return _YES  # in another block
        used = _NO
        for place, one in enumerate(self._block.instructions[at + 1 :], at + 1):
            if used != _YES and any(register in registers_read(operand) for operand in one.operands):
                used = self._either(used, self._by(one, register, place))
        condition = self._block.condition
        return _YES if condition is not None and condition.register == register else used

    def _by(self, one: Instruction, register: str, place: int) -> str:
        """Whether an instruction uses a register."""
        operands = one.operands
        if one.opcode == "st" and "local" in one.modifiers:
            return _YES if register in registers_read(operands[0]) else _NO
        if one.guard or one.opcode in _WITH_EFFECT or not operands:
            return _YES
        results = registers_read(operands[0])
        used = _NO
        for result in results:
            used = self._either(used, self.of(result, place))
        if one.opcode == "selp" and used != _NO:
            return self._chosen(operands, register, used)
        return used

    def _chosen(self, operands: tuple[Operand, ...], register: str, used: str) -> str:
        """Whether `selp` takes a register that the lane uses afterwards."""
        yes, no = (register in registers_read(operand) for operand in operands[1:3])
        choice = operands[3]
        if (yes and no) or not isinstance(choice, Register) or choice.name == register:
            return used
        chosen = self._lane.get(choice, "pred")
        if no:
            chosen = self._lane.new(f"xor i1 {chosen}, true")
        return chosen if used == _YES else self._lane.new(f"and i1 {chosen}, {used}")

    def _either(self, one: str, other: str) -> str:
        if _YES in (one, other):
            return _YES
        if _NO in (one, other):
            return other if one == _NO else one
        return self._lane.new(f"or i1 {one}, {other}")
