"""One instruction of PTX, with its operands."""

from __future__ import annotations

from gpulab.trace.errors import UnsupportedError
from gpulab.trace.ptx.text.syntax import (
    CallOperands,
    Instruction,
    MemoryOperand,
    Negated,
    Number,
    Operand,
    Predicate,
    Register,
    RegisterPair,
    Symbol,
    VectorOperand,
)
from gpulab.trace.ptx.text.tokens import TokenReader


class Instructions(TokenReader):
    """Reads instructions."""

    def _instruction(self) -> Instruction:
        guard = None
        if self._skip("@"):
            negated = self._skip("!")
            guard = Predicate(self._name(self._next()), negated)
        opcode, *modifiers = self._next().split(".")
        if opcode in ("call",):
            return self._call(tuple(modifiers), guard)
        start, operands, problem = self._at, [], ""
        try:
            while not self._skip(";"):
                operands.append(self._operand())
                if not self._skip(",") and self._peek() != ";":
                    near = " ".join(self._tokens[max(0, self._at - 6) : self._at + 3])
                    raise UnsupportedError(f"not understood: '{near}'")
        except UnsupportedError as error:  # it matters only if this function is run
            problem, operands, self._at = str(error), [], start
            self._statement_end()
        return Instruction(opcode, tuple(modifiers), tuple(operands), guard, self._location, problem=problem)

    def _call(self, modifiers: tuple[str, ...], guard: Predicate | None) -> Instruction:
        results: tuple[str, ...] = ()
        if self._peek() == "(":
            results = tuple(part.name for part in self._group() if isinstance(part, (Symbol, Register)))
            self._expect(",")
        function = self._operand()
        arguments: tuple[Operand, ...] = ()
        if self._skip(","):
            if self._peek() == "(":
                arguments = self._group()
            while not self._skip(";"):
                self._at += 1  # a prototype or a list of targets
        else:
            self._expect(";")
        call = CallOperands(function, results, arguments)
        return Instruction("call", modifiers, (), guard, self._location, call)

    def _group(self) -> tuple[Operand, ...]:
        self._expect("(")
        found = []
        while not self._skip(")"):
            found.append(self._operand())
            self._skip(",")
        return tuple(found)

    def _operand(self) -> Operand:
        token = self._next()
        if token == "[":
            base = self._operand()
            offset = 0
            if isinstance(base, Symbol):
                base, offset = Symbol(base.name), base.offset
            if self._skip(","):
                raise UnsupportedError("an address of a texture or tensor")
            while self._peek() in ("+", "-"):
                sign = -1 if self._next() == "-" else 1
                offset += sign * self._int()
            self._expect("]")
            if not isinstance(base, (Register, Symbol, Number)):
                raise UnsupportedError(f"address {base}")
            return MemoryOperand(base, offset)
        if token == "{":
            parts = []
            while not self._skip("}"):
                parts.append(self._operand())
                self._skip(",")
            return VectorOperand(tuple(parts))
        if token == "!":
            return Negated(Register(self._name(self._next())))
        if token == "-":
            return Number("-" + self._next())
        if token[0].isdigit():
            return Number(token)
        if token.startswith("%") or token == "_" or self._is_register(token):
            first = Register(self._name(token))
            if self._skip("|"):
                return RegisterPair(first, Register(self._name(self._next())))
            return first
        if self._peek() == "|":
            self._at += 1
            return RegisterPair(Register(self._name(token)), Register(self._name(self._next())))
        symbol = self._name(token)
        if self._peek() in ("+",) and self._peek(1)[:1].isdigit():
            self._at += 1
            return Symbol(symbol, self._int())
        return Symbol(symbol)

    def _is_register(self, token: str) -> bool:
        """A register of inline assembly needs no percent sign."""
        return self._name(token) in self._plain
