"""What PTX text consists of: instructions, operands, variables, functions. `parser` makes them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Location:
    """Where in the source an instruction comes from, by its `.loc` line; line 0 where the PTX does not tell."""

    file: int = 0
    line: int = 0
    column: int = 0
    inlined_at: Location | None = None


NOWHERE = Location()


@dataclass(frozen=True)
class Register:
    """Such as `%r1`, or a special one such as `%tid.x`."""

    name: str


@dataclass(frozen=True)
class Number:
    """A constant, as it stands in the text: `12`, `-1`, `0f3F800000`."""

    text: str


@dataclass(frozen=True)
class Symbol:
    """The address of a variable, or a label."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class MemoryOperand:
    """`[base+offset]`."""

    base: Register | Symbol | Number
    offset: int = 0


@dataclass(frozen=True)
class VectorOperand:
    """`{a, b}`."""

    parts: tuple[Operand, ...]


@dataclass(frozen=True)
class RegisterPair:
    """`%p1|%p2`: two results."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Negated:
    """`!%p1`."""

    register: Register


Operand = Register | Number | Symbol | MemoryOperand | VectorOperand | RegisterPair | Negated


@dataclass(frozen=True)
class Predicate:
    """`@%p1` or `@!%p1`."""

    register: str
    negated: bool


@dataclass(frozen=True)
class CallOperands:
    """The parts of a `call`: names of `.param` variables, and what is called."""

    function: Operand
    results: tuple[str, ...]
    arguments: tuple[Operand, ...]


@dataclass(frozen=True)
class Instruction:
    """One statement of a function's body."""

    opcode: str
    """The first word, such as `ld`."""
    modifiers: tuple[str, ...]
    """The rest of it, such as `("global", "f32")`."""
    operands: tuple[Operand, ...]
    guard: Predicate | None
    location: Location
    call: CallOperands | None = None
    problem: str = ""
    """Why its operands could not be read."""

    @property
    def name(self) -> str:
        """As it stands in the text: `ld.global.f32`."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True)
class Variable:
    """A declaration outside or inside a function."""

    name: str
    space: str
    """`global`, `shared`, `local`, `const` or `param`."""
    type: str
    """Such as `b8`."""
    count: int
    """Elements; 1 for a scalar, 0 for an array without a size."""
    align: int
    values: tuple[int | str, ...] = ()
    """Initial elements, as integers of the element's bits; a string is the name of a variable or function."""
    external: bool = False

    @property
    def bytes(self) -> int:
        """In memory."""
        return self.count * BYTES[self.type]


@dataclass
class Function:
    """A kernel or a device function."""

    name: str
    entry: bool
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)
    """Type of each register that is declared by name."""
    families: dict[str, str] = field(default_factory=dict)
    """Type of each group of registers, by the name without the number."""
    variables: list[Variable] = field(default_factory=list)
    """Local, shared and parameter variables of the body."""
    body: list[Instruction | str] = field(default_factory=list)
    """A string is a label."""
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Targets of `brx.idx`."""
    location: Location = NOWHERE
    limits: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """`maxntid` and the like."""
    defined: bool = True

    def type_of(self, register: str) -> str:
        """Such as `f32`; raises KeyError if it is not declared."""
        found = self.registers.get(register)
        return found if found is not None else self.families[register.rstrip("0123456789")]


@dataclass
class Module:
    """One PTX text."""

    version: str = ""
    target: str = ""
    files: dict[int, str] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)


BYTES = {
    kind + bits: int(bits) // 8
    for kind, widths in {"b": "8 16 32 64 128", "u": "8 16 32 64", "s": "8 16 32 64", "f": "16 32 64"}.items()
    for bits in widths.split()
} | {"f16x2": 4, "bf16": 2, "bf16x2": 4, "tf32": 4, "pred": 1}
"""Bytes of a PTX type."""
