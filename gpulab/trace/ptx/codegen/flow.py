"""Control flow of a function: basic blocks, in an order in which lanes of a warp meet again as early as possible.

The order is topological with every loop in one piece (Bourdoncle's weak topological ordering). A warp that always runs
the first block at which lanes wait therefore brings lanes together where their ways meet: behind an `if` at the
immediate post-dominator or before, behind a loop once the last lane has left it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gpulab.trace.errors import UnsupportedError
from gpulab.trace.ptx.text.syntax import (
    Function,
    Instruction,
    Negated,
    Number,
    Operand,
    Predicate,
    Register,
    RegisterPair,
    Symbol,
    VectorOperand,
)

_WARP = {"shfl", "vote", "match", "redux", "wmma", "mma", "ldmatrix", "stmatrix", "elect"}


@dataclass
class Block:
    """Instructions that follow each other, and where lanes go behind them."""

    instructions: list[Instruction] = field(default_factory=list)
    kind: str = "goto"
    """`goto`, `branch`, `switch`, `ret`, `exit`, `trap`, `call`, `barrier` or `warp`."""
    targets: list[int] = field(default_factory=list)
    """Numbers of blocks: for `branch` the one that is taken, then the other."""
    condition: Predicate | None = None
    """Of `branch`."""
    end: Instruction | None = None
    """The instruction that ends the block, if it is more than a jump."""
    resumes: Instruction | None = None
    """The barrier that lanes have left here."""


def blocks_of(function: Function) -> list[Block]:
    """The blocks of a function in the order in which a warp prefers them; the first one is its entry."""
    blocks = _Splitter(function).split()
    _join(blocks)
    order = _preferred(blocks)
    number = {old: new for new, old in enumerate(order)}
    found = [blocks[old] for old in order]
    for block in found:
        block.targets = [number[target] for target in block.targets]
    return found


def is_warp_wide(instruction: Instruction) -> bool:
    """Whether lanes of a warp meet in it."""
    if instruction.opcode in ("bar", "barrier"):
        return "warp" in instruction.modifiers
    return instruction.opcode in _WARP


class _Splitter:
    def __init__(self, function: Function) -> None:
        self._function = function
        self._blocks: list[Block] = [Block()]
        self._labels: dict[str, int] = {}
        self._jumps: list[tuple[Block, list[str]]] = []
        self._open = True

    def split(self) -> list[Block]:
        for item in self._function.body:
            if isinstance(item, str):
                here = self._start()
                self._labels[item] = here
            else:
                self._add(item)
        if self._open:
            self._blocks[-1].kind = "ret"
        for block, labels in self._jumps:
            try:
                block.targets = [self._labels[label] for label in labels] + block.targets
            except KeyError as error:
                raise UnsupportedError(f"PTX label {error} is not defined in '{self._function.name}'.") from None
        return self._blocks

    def _start(self) -> int:
        """Begins a block that the one before runs into, unless the present one is still empty."""
        here = self._blocks[-1]
        if self._open and not here.instructions and here.kind == "goto" and not here.targets and not here.resumes:
            return len(self._blocks) - 1
        if self._open:
            here.targets.append(len(self._blocks))
        self._blocks.append(Block())
        self._open = True
        return len(self._blocks) - 1

    def _add(self, one: Instruction) -> None:
        if not self._open:
            self._start()
        kind = self._kind(one)
        if kind is None:
            self._blocks[-1].instructions.append(one)
            return
        if one.opcode == "bra" and one.guard:
            block = self._blocks[-1]
            block.kind, block.condition = "branch", one.guard
            self._jumps.append((block, [_label(one.operands[0])]))
            self._blocks.append(Block())
            block.targets = [len(self._blocks) - 1]
            return
        if one.guard:  # a conditional return, call or barrier: jump around it
            block = self._blocks[-1]
            block.kind, block.condition = "branch", one.guard
            self._blocks.append(Block())
            block.targets = [len(self._blocks) - 1]
            self._add(replace(one, guard=None))
            if self._open:
                self._blocks[-1].targets.append(len(self._blocks))
            self._blocks.append(Block())
            block.targets.append(len(self._blocks) - 1)
            self._open = True
            return
        if kind in ("barrier", "warp"):
            self._start()
        block = self._blocks[-1]
        self._finish(block, kind, one)
        self._open = False
        if kind in ("call", "barrier", "warp"):
            self._blocks.append(Block())
            block.targets = [len(self._blocks) - 1]
            self._open = True
        if kind == "barrier":
            # An empty block of its own, in which lanes wait that have arrived.
            self._blocks[-1].targets = [len(self._blocks)]
            self._blocks[-1].resumes = one
            self._blocks.append(Block())

    def _finish(self, block: Block, kind: str, one: Instruction) -> None:
        block.kind = kind
        block.end = one
        if kind == "goto":
            block.end = None
            self._jumps.append((block, [_label(one.operands[0])]))
        elif kind == "switch":
            table = self._function.tables.get(_label(one.operands[1]))
            if table is None:
                raise UnsupportedError(f"PTX '{one.name}' without its table of targets.", one.location.line)
            self._jumps.append((block, list(table)))

    def _kind(self, one: Instruction) -> str | None:
        opcode = one.opcode
        if one.problem:
            return None
        if opcode == "bra":
            return "goto"
        if opcode == "brx":
            return "switch"
        if opcode in ("ret", "exit", "trap", "call"):
            return opcode
        if is_warp_wide(one):
            return "warp"
        if opcode in ("bar", "barrier"):
            if "cluster" in one.modifiers:
                raise UnsupportedError(f"PTX '{one.name}' is not supported: no clusters.", one.location.line)
            return "barrier"
        return None


def _join(blocks: list[Block]) -> None:
    """Appends a block to the one that alone leads to it, if that leads nowhere else."""
    ways = [0] * len(blocks)
    for number in _reach(0, set(range(len(blocks))), [block.targets for block in blocks]):
        for target in blocks[number].targets:
            ways[target] += 1
    ways[0] += 1
    for block in blocks:
        while block.kind == "goto" and not block.resumes:
            after = blocks[block.targets[0]]
            if ways[block.targets[0]] != 1 or after is block or after.kind in ("barrier", "warp") or after.resumes:
                break
            block.instructions = block.instructions + after.instructions
            block.kind, block.targets = after.kind, list(after.targets)
            block.condition, block.end = after.condition, after.end


def _label(operand: Operand) -> str:
    if isinstance(operand, (Symbol, Register)):
        return operand.name
    raise UnsupportedError(f"PTX jump to '{operand}' is not supported.")


def _preferred(blocks: list[Block]) -> list[int]:
    """Blocks that can be reached, in weak topological order."""
    succ = [block.targets for block in blocks]
    order: list[int] = []

    def component(nodes: set[int], starts: list[int]) -> None:
        for members in _strong(nodes, starts, succ):
            head = members[0]
            order.append(head)
            if len(members) > 1:
                # Within a loop the way back to its head does not count.
                inside = set(members) - {head}
                component(inside, [target for target in succ[head] if target in inside])

    component(_reach(0, set(range(len(blocks))), succ), [0])
    return order


def _reach(start: int, nodes: set[int], succ: list[list[int]]) -> set[int]:
    seen, stack = {start}, [start]
    while stack:
        for target in succ[stack.pop()]:
            if target in nodes and target not in seen:
                seen.add(target)
                stack.append(target)
    return seen


def _strong(nodes: set[int], starts: list[int], succ: list[list[int]]) -> list[list[int]]:
    """Strongly connected components in topological order, each with the node by which it is entered first."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    open_nodes: set[int] = set()
    found: list[list[int]] = []
    work: list[tuple[int, Iterator[int]]] = []

    def visit(node: int) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        open_nodes.add(node)
        work.append((node, iter(succ[node])))

    for start in starts:
        if start not in index:
            visit(start)
        while work:
            node, targets = work[-1]
            fresh = None
            for target in targets:
                if target in nodes and target not in index:
                    fresh = target
                    break
                if target in open_nodes:
                    low[node] = min(low[node], index[target])
            if fresh is not None:
                visit(fresh)
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                at = stack.index(node)
                members = stack[at:]
                del stack[at:]
                open_nodes.difference_update(members)
                found.append(members)
    return found[::-1]


def registers_read(operand: Operand | None) -> list[str]:
    """The registers that an operand reads where it is a source or an address."""
    if operand is None or isinstance(operand, (Number, Symbol)):
        return []
    if isinstance(operand, Register):
        return [operand.name]
    if isinstance(operand, Negated):
        return [operand.register.name]
    if isinstance(operand, RegisterPair):
        parts: tuple[Operand, ...] = (operand.first, operand.second)
    else:
        parts = operand.parts if isinstance(operand, VectorOperand) else (operand.base,)
    return [name for part in parts for name in registers_read(part)]
