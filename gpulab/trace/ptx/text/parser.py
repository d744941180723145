"""PTX text to `syntax.Module`. What an instruction means is up to the translation."""

from __future__ import annotations

import re

from gpulab.trace.errors import UnsupportedError
from gpulab.trace.ptx.text.operands import Instructions
from gpulab.trace.ptx.text.syntax import BYTES, NOWHERE, Function, Module, Variable

_TYPE = re.compile(r"\.(pred|tf32|bf16x2|f16x2|bf16|[busf](?:8|16|32|64|128))$")
_LINKAGE = {".visible", ".extern", ".weak", ".common"}
_LIMITS = {
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnreg",
    ".maxclusterrank",
    ".explicitcluster",
    ".reqnctapercluster",
}
_SPACES = {".global", ".shared", ".local", ".const", ".param"}


def parse(text: str) -> Module:
    """The module that a PTX text stands for.

    Raises:
        UnsupportedError: it holds a statement that is not known.
    """
    return _Parser(text).module()


class _Parser(Instructions):
    # ------------------------------------------------------------------------------------------------------- module

    def module(self) -> Module:
        module = Module()
        while self._at < len(self._tokens):
            token = self._peek()
            if token == ".version":
                self._at += 1
                module.version = self._next()
            elif token == ".target":
                self._at += 1
                module.target = self._next()
                while self._skip(","):
                    self._next()
            elif token == ".address_size":
                self._at += 2
            elif token == ".file":
                self._at += 1
                number = self._int()
                module.files[number] = self._next().strip('"')
                while self._skip(","):
                    self._next()
            elif token == ".section":
                while self._next() != "{":
                    pass
                self._braces()
            elif token == ".loc":
                self._loc()
            elif token in (".pragma", ".alias"):
                self._statement_end()
            elif token == ";":
                self._at += 1
            else:
                self._declaration(module)
        return module

    def _declaration(self, module: Module) -> None:
        linkage = set()
        while self._peek() in _LINKAGE:
            linkage.add(self._next())
        token = self._peek()
        if token in (".entry", ".func"):
            function = self._function()
            known = module.functions.get(function.name)
            if known is None or not known.defined:
                module.functions[function.name] = function
        elif token in _SPACES:
            for variable in self._variables(external=".extern" in linkage):
                module.variables[variable.name] = variable
        else:
            raise UnsupportedError(f"PTX directive '{token}' is not supported.", self._location.line)

    def _variables(self, external: bool = False, terminator: str = ";") -> list[Variable]:
        """`.shared .align 4 .b8 tile[4096], other[16];`."""
        space = self._next()[1:]
        align, kind, found = 0, "", []
        while True:
            token = self._peek()
            if token == ".align":
                self._at += 1
                align = self._int()
            elif _TYPE.match(token):
                kind = self._next()[1:]
            elif token in (".v2", ".v4"):
                raise UnsupportedError(f"PTX variables of type '{token}' are not supported.", self._location.line)
            elif token == ".ptr":  # of a kernel's parameter: space and alignment of what it points to
                self._at += 1
                while self._peek().startswith("."):
                    if self._next() == ".align":
                        self._int()
            elif token.startswith(".") and token not in _SPACES:
                self._at += 1  # such as .attribute
            else:
                break
        while True:
            name = self._next()
            count, values = 1, []
            while self._skip("["):
                if self._peek() == "]":
                    count = 0
                else:
                    count *= self._int()
                self._expect("]")
            if self._skip("="):
                values = self._initial(kind)
            size = BYTES[kind]
            found.append(Variable(name, space, kind, count, align or size, tuple(values), external))
            if not self._skip(","):
                break
            if terminator != ";":
                self._at -= 1
                return found
        if terminator == ";":
            self._expect(";")
        return found

    def _initial(self, kind: str) -> list[int | str]:
        if self._skip("{"):
            values: list[int | str] = []
            while not self._skip("}"):
                values += self._initial(kind)
                self._skip(",")
            return values
        token = self._peek()
        if token[0].isdigit() or token == "-":
            sign = "-" if self._skip("-") else ""
            return [_bits(sign + self._next(), kind)]
        name = self._next()
        if self._skip("("):  # generic(name), or mask(name)
            outer, name = name, self._next()
            if outer != "generic":
                raise UnsupportedError(f"PTX initializer '{outer}({name})' is not supported.")
            self._expect(")")
        if self._skip("+"):
            return [f"{name}+{self._int()}"]
        return [name]

    # ----------------------------------------------------------------------------------------------------- function

    def _function(self) -> Function:
        entry = self._next() == ".entry"
        results: list[Variable] = []
        if not entry and self._peek() == "(":
            results = self._parameters()
        function = Function(self._next(), entry, results=results)
        if self._peek() == "(":
            function.parameters = self._parameters()
        while self._peek() not in ("{", ";"):
            directive = self._next()
            if directive in _LIMITS:
                numbers = [self._int()] if self._peek().isdigit() else []
                while self._skip(","):
                    numbers.append(self._int())
                function.limits[directive[1:]] = tuple(numbers)
            elif directive not in (".noreturn", ".attribute", ".pragma"):
                raise UnsupportedError(f"PTX directive '{directive}' of '{function.name}' is not supported.")
        if self._skip(";"):
            function.defined = False
            return function
        self._expect("{")
        self._body(function)
        return function

    def _parameters(self) -> list[Variable]:
        self._expect("(")
        found: list[Variable] = []
        while not self._skip(")"):
            found += self._variables(terminator=",")
            self._skip(",")
        return found

    def _body(self, function: Function) -> None:
        self._scopes = [{}]
        self._plain = set()
        self._location = NOWHERE
        while True:
            token = self._peek()
            if token == "{":
                self._at += 1
                self._scopes.append({})
            elif token == "}":
                self._at += 1
                self._scopes.pop()
                if not self._scopes:
                    return
            elif token == ".loc":
                self._loc()
                if not function.location.line:
                    function.location = self._location
            elif token == ".reg":
                self._registers(function)
            elif token in _SPACES:
                for variable in self._variables():
                    function.variables.append(self._scoped(variable))
            elif token == ".pragma":
                self._statement_end()
            elif token == ";":
                self._at += 1
            elif self._peek(1) == ":":
                self._label(function)
            else:
                function.body.append(self._instruction())

    def _scoped(self, variable: Variable) -> Variable:
        """In an inner scope a name gets a number, so that another scope may use it again."""
        if len(self._scopes) == 1:
            return variable
        self._renamed += 1
        name = f"{variable.name}@{self._renamed}"
        self._scopes[-1][variable.name] = name
        return Variable(name, *(getattr(variable, part) for part in ("space", "type", "count", "align", "values")))

    def _registers(self, function: Function) -> None:
        self._at += 1
        kind = self._next()[1:]
        if kind in ("v2", "v4"):
            raise UnsupportedError("PTX vector registers are not supported.", self._location.line)
        while True:
            name = self._next()
            if self._skip("<"):
                self._at += 1
                self._expect(">")
                function.families[name] = kind
            elif len(self._scopes) == 1:
                function.registers[name] = kind
                self._plain.add(name)
            else:
                self._renamed += 1
                renamed = f"{name}@{self._renamed}"
                self._scopes[-1][name] = renamed
                function.registers[renamed] = kind
                self._plain.add(renamed)
            if not self._skip(","):
                break
        self._expect(";")

    def _label(self, function: Function) -> None:
        name = self._next()
        self._at += 1
        if self._peek() == ".branchtargets":
            self._at += 1
            targets = [self._next()]
            while self._skip(","):
                targets.append(self._next())
            self._expect(";")
            function.tables[name] = tuple(targets)
        elif self._peek() in (".callprototype", ".calltargets"):
            self._statement_end()
        else:
            function.body.append(name)


def _bits(text: str, kind: str) -> int:
    """A constant as the bits of a type."""
    mask = (1 << 8 * BYTES[kind]) - 1
    negative, digits = text.startswith("-"), text.lstrip("-")
    if digits[:2] in ("0f", "0F", "0d", "0D"):
        value = int(digits[2:], 16)
        return value ^ (1 << (4 * len(digits[2:]) - 1)) if negative else value
    return (-int(digits.rstrip("U"), 0) if negative else int(digits.rstrip("U"), 0)) & mask
