"""A PTX kernel, with the functions that it calls, as one LLVM function that runs a warp: `run_warp(ctx, warp)`.

Each basic block becomes a loop over the lanes that stand at it. Between blocks the scheduler (`runtime.pick`) says
which block comes next, and for which lanes. How single instructions are translated is up to the modules that
register themselves in `handlers`; how blocks end is that of `ends`.
"""

from __future__ import annotations

from gpulab.trace.errors import UnsupportedError
from gpulab.trace.ptx.codegen.ends import SERVICES, dispatch
from gpulab.trace.ptx.codegen.function import FunctionCode
from gpulab.trace.ptx.codegen.lane import Lane, Site
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.ptx.text.syntax import Function, Instruction, Location, Module, Operand, Symbol

DECLARATIONS = """
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
"""


class KernelCode:
    """A kernel while it is translated, and what is known of it afterwards.

    Args:
        module: parsed.
        name: of the kernel.
        counted: whether accesses are noted.
    """

    def __init__(self, module: Module, name: str, counted: bool) -> None:
        self.module, self.name, self.counted = module, name, counted
        self.sites: list[Site] = []
        self.meetings: list[Instruction] = []
        self.calls: list[Instruction] = []
        self.matrix_sites: dict[int, int] = {}
        """Number of a call → of its site."""
        self.declarations: dict[str, None] = {}
        self.failures: list[tuple[str, int, str, str]] = []
        self._names = 0
        self.functions = self._reachable()
        self.regions = {
            variable.name: layout.FIRST_REGION + number
            for number, variable in enumerate(v for v in module.variables.values() if v.space in ("global", "const"))
        }
        self.shared, self.static_shared_bytes, self.dynamic_names = self._place_shared()
        first = 0
        self.codes: dict[str, FunctionCode] = {}
        for function in self.functions:
            code = FunctionCode(self, function, first)
            self.codes[function.name] = code
            first += len(code.blocks)
        self.block_count = first
        self.recursive = self._is_recursive()
        self.has_local_memory = any(code.local_bytes for code in self.codes.values())

    @property
    def entry(self) -> FunctionCode:
        """The kernel itself."""
        return self.codes[self.name]

    def fresh(self) -> str:
        """A name that is not used yet."""
        self._names += 1
        return f"%x{self._names}"

    def _reachable(self) -> list[Function]:
        found: dict[str, Function] = {}
        waiting = [self.name]
        while waiting:
            name = waiting.pop()
            if name in found or name in SERVICES:
                continue
            function = self.module.functions.get(name)
            if function is None or not function.defined:
                raise UnsupportedError(f"The PTX declares '{name}' and does not define it.")
            found[name] = function
            for item in function.body:
                if isinstance(item, Instruction) and item.call:
                    if not isinstance(item.call.function, Symbol):
                        raise self.refusal(item, "call through a pointer")
                    waiting.append(item.call.function.name)
        return list(found.values())

    def _is_recursive(self) -> bool:
        calls = {
            name: {one.call.function.name for one in code.syntax.body if isinstance(one, Instruction) and one.call
                   and isinstance(one.call.function, Symbol)}
            for name, code in self.codes.items()
        }  # fmt: skip
        for start in calls:
            seen, waiting = set(), list(calls[start])
            while waiting:
                name = waiting.pop()
                if name == start:
                    return True
                if name not in seen:
                    seen.add(name)
                    waiting += calls.get(name, ())
        return False

    def _place_shared(self) -> tuple[dict[str, int], int, list[str]]:
        variables = [v for v in self.module.variables.values() if v.space == "shared"]
        variables += [v for function in self.functions for v in function.variables if v.space == "shared"]
        used = self._symbols()
        places, end, dynamic = {}, 0, []
        for variable in variables:
            if variable.name not in used:
                continue
            if variable.count == 0 or variable.external:
                dynamic.append(variable)
                continue
            end = -(-end // variable.align) * variable.align
            places[variable.name] = end
            end += variable.bytes
        start = -(-end // 16) * 16 if dynamic else end
        for variable in dynamic:
            start = -(-start // variable.align) * variable.align
        places |= {variable.name: start for variable in dynamic}
        return places, start, [variable.name for variable in dynamic]

    def _symbols(self) -> set[str]:
        found: set[str] = set()

        def add(operand: Operand) -> None:
            for part in (operand, *getattr(operand, "parts", ()), getattr(operand, "base", None)):
                if isinstance(part, Symbol):
                    found.add(part.name)

        for function in self.functions:
            for item in function.body:
                if isinstance(item, Instruction):
                    for operand in item.operands:
                        add(operand)
        return found

    def refusal(self, instruction: Instruction | None, what: str = "") -> UnsupportedError:
        """To raise for something that is not supported."""
        location = instruction.location if instruction else Location()
        name = f"'{instruction.name}'" if instruction else ""
        where = f" (line {self.line_of(location)})" if location.line else ""
        detail = f": {what}" if what else ""
        return UnsupportedError(
            f"PTX instruction {name}{where} is not supported without a GPU{detail}.", self.line_of(location)
        )

    def line_of(self, location: Location) -> int:
        """The line of the kernel's own file."""
        return self.own(location).line

    def own(self, location: Location) -> Location:
        """The place in the kernel's own file: what stands in a header counts where it is used."""
        home = self.module.functions[self.name].location.file
        step: Location | None = location
        while step is not None:
            if step.file == home:
                return step
            step = step.inlined_at
        return location

    def symbol(self, lane: Lane, symbol: Symbol) -> str:
        """The address of a variable in its own space, of 64 bits."""
        name = symbol.name
        if name in self.shared:
            return str(self.shared[name] + symbol.offset)
        if name in self.regions:
            return str((self.regions[name] << layout.REGION_SHIFT) + layout.REGION_MIDDLE + symbol.offset)
        function = lane.function
        if name in function.locals:
            base = lane.new(f"load i64, ptr {lane.new(f'getelementptr i64, ptr {lane.frame()}, i64 {layout.F_LOCAL}')}")
            return lane.new(f"add i64 {base}, {function.locals[name] + symbol.offset}")
        if function.syntax.entry and name in function.parameter_offsets:
            return str(layout.PARAM_BASE + function.parameter_offsets[name] + symbol.offset)
        raise lane.refuse(f"the address of '{name}'")

    def site(self, one: Site) -> int:
        """Its number."""
        self.sites.append(one)
        return len(self.sites) - 1

    def text(self) -> str:
        """LLVM assembly of `run_warp`."""
        bodies = [line for code in self.codes.values() for line in code.text()]
        head = dispatch(self)
        declarations = "\n".join(self.declarations)
        return "\n".join([DECLARATIONS, declarations, *head, *bodies, *self._fail(), "}"])

    def _fail(self) -> list[str]:
        """Where an access goes that is not allowed."""
        if not self.failures:
            return []
        site = ", ".join(f"[ {number}, %{label} ]" for label, number, _, _ in self.failures)
        lane = ", ".join(f"[ {value}, %{label} ]" for label, _, value, _ in self.failures)
        address = ", ".join(f"[ {value}, %{label} ]" for label, _, _, value in self.failures)
        lines = ["fail:", f"  %fs = phi i64 {site}", f"  %fl = phi i64 {lane}", f"  %fa = phi i64 {address}"]
        for slot, value in ((layout.ERROR_SITE, "%fs"), (layout.ERROR_LANE, "%fl"), (layout.ERROR_ADDRESS, "%fa")):
            lines += [f"  %fp{slot} = getelementptr i64, ptr %ctx, i64 {slot}", f"  store i64 {value}, ptr %fp{slot}"]
        return [*lines, f"  ret i64 {layout.FAILED}"]
