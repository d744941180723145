"""Random kernels, each compiled twice by NVRTC: as usual and with -G, which hardly optimizes. Both must give the same
bits, and arithmetic those of NumPy.

    python tests/gpulab/trace_ptx/differential.py --cases 20000

A case is one random expression, on 64 inputs, or one random program with branches, loops, shuffles, shared memory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.trace.ptx.cpp import launch_source
from gpulab.trace.ptx.text.nvrtc import ptx_of

THREADS = 64
Values = NDArray[Any]
OPTIMIZED = ("-lineinfo", "--fmad=false")
DEBUG = ("-G", "--fmad=false")


@dataclass(frozen=True)
class Expression:
    """In C++, and as a function of the inputs in NumPy."""

    text: str
    value: Callable[[dict[str, Values]], Values]
    kind: str


KINDS = {"unsigned": np.uint32, "unsigned long long": np.uint64, "float": np.float32, "double": np.float64}
INPUTS = {"unsigned": ("a", "b"), "unsigned long long": ("p", "q"), "float": ("x", "y"), "double": ("v", "w")}
SIGNED = {"unsigned": ("int", np.int32), "unsigned long long": ("long long", np.int64)}
INTEGER_OPERATIONS = "+ - * & | ^ / % << >> sar sdiv srem min max smin ? ~ popc clz brev narrow high byte short"
FLOAT_OPERATIONS = "+ - * / sqrt fabs neg fma ? floor trunc rint min cast int"
WIDTH = {"unsigned": 32, "unsigned long long": 64}


class Drawer:
    """Draws expressions.

    Args:
        seed: of the draws.
    """

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)

    def pick(self, choices: Any) -> Any:
        """One of them."""
        return choices[int(self.draw.integers(len(choices)))]

    def expression(self, kind: str, depth: int) -> Expression:
        """Of a type, with at most so many operations on top of each other."""
        if depth == 0 or self.draw.random() < 0.1:
            return self._leaf(kind)
        integer = kind in SIGNED
        return self._integer(kind, depth) if integer else self._float(kind, depth)

    def _leaf(self, kind: str) -> Expression:
        if self.draw.random() < 0.7:
            name = self.pick(INPUTS[kind])
            return Expression(name, lambda inputs: inputs[name], kind)
        if kind in SIGNED:
            number = int(self.draw.integers(0, 1 << 32)) >> int(self.draw.integers(0, 32))
            return Expression(f"(({kind}){number}u)", lambda inputs: KINDS[kind](number), kind)
        real = float(np.float32(self.draw.normal()))
        return Expression(f"(({kind}){real!r})", lambda inputs: KINDS[kind](real), kind)

    def _integer(self, kind: str, depth: int) -> Expression:
        c, signed = SIGNED[kind]
        bits = WIDTH[kind]
        one, other = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        f, g, of = one.value, other.value, KINDS[kind]
        left, right = f"({one.text})", f"({other.text})"
        choice = self.pick(INTEGER_OPERATIONS.split())
        simple = {
            "+": np.add,
            "-": np.subtract,
            "*": np.multiply,
            "&": np.bitwise_and,
            "|": np.bitwise_or,
            "^": np.bitwise_xor,
        }
        if choice in simple:
            return Expression(f"{left} {choice} {right}", lambda i: simple[choice](f(i), g(i)), kind)
        if choice in "/%":
            apply = np.floor_divide if choice == "/" else np.remainder
            return Expression(f"{left} {choice} ({right} | 1)", lambda i: apply(f(i), g(i) | of(1)), kind)
        if choice in ("<<", ">>"):
            move = np.left_shift if choice == "<<" else np.right_shift
            return Expression(
                f"{left} {choice} ({right} & {bits - 1})", lambda i: move(f(i), g(i) & of(bits - 1)), kind
            )
        if choice == "sar":
            text = f"({kind})(({c}){left} >> ({right} & {bits - 1}))"
            return Expression(
                text, lambda i: np.right_shift(f(i).view(signed), (g(i) & of(bits - 1)).view(signed)).view(of), kind
            )
        if choice in ("sdiv", "srem"):
            sign = "/" if choice == "sdiv" else "%"
            text = f"({kind})((({c}){left} >> 1) {sign} (({c})({right} & 0x7fff) | 1))"

            def divided(i: dict[str, Values]) -> Values:
                a = np.right_shift(f(i).view(signed), signed(1))
                b = (g(i) & of(0x7FFF)).view(signed) | signed(1)
                quotient = np.sign(a) * (np.abs(a) // b)
                return np.asarray(quotient if choice == "sdiv" else a - quotient * b).view(of)

            return Expression(text, divided, kind)
        if choice in ("min", "max", "smin"):
            apply = np.maximum if choice == "max" else np.minimum
            if choice == "smin":
                text = f"({kind})min(({c}){left}, ({c}){right})"
                return Expression(text, lambda i: apply(f(i).view(signed), g(i).view(signed)).view(of), kind)
            return Expression(f"{choice}({left}, {right})", lambda i: apply(f(i), g(i)), kind)
        if choice == "?":
            text = f"(({c}){left} < ({c}){right} ? {left} : {right} + 1)"
            return Expression(text, lambda i: np.where(f(i).view(signed) < g(i).view(signed), f(i), g(i) + of(1)), kind)
        if choice in ("byte", "short"):
            c_kind, small = {"byte": ("signed char", np.int8), "short": ("short", np.int16)}[choice]
            return Expression(
                f"({kind})({c})({c_kind}){left}", lambda i: f(i).astype(small).astype(signed).view(of), kind
            )
        if choice == "high" and kind == "unsigned":
            return Expression(
                f"__umulhi({left}, {right})",
                lambda i: (f(i).astype(np.uint64) * g(i).astype(np.uint64) >> np.uint64(32)).astype(np.uint32),
                kind,
            )
        if choice in ("popc", "clz", "brev") and kind == "unsigned":
            return Expression(f"(unsigned)__{choice}({left})", lambda i: _bits(choice, f(i)), kind)
        if choice == "narrow" and kind == "unsigned long long":
            return Expression(f"({kind})(unsigned){left}", lambda i: f(i).astype(np.uint32).astype(np.uint64), kind)
        return Expression(f"~{left}", lambda i: ~f(i), kind)

    def _float(self, kind: str, depth: int) -> Expression:
        one, other = self.expression(kind, depth - 1), self.expression(kind, depth - 1)
        f, g, of = one.value, other.value, KINDS[kind]
        left, right = f"({one.text})", f"({other.text})"
        suffix = "f" if kind == "float" else ""
        choice = self.pick(FLOAT_OPERATIONS.split())
        simple = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
        if choice in simple:
            return Expression(f"{left} {choice} {right}", lambda i: simple[choice](f(i), g(i)), kind)
        if choice in ("fabs", "floor", "trunc", "rint"):
            return Expression(f"{choice}{suffix}({left})", lambda i: getattr(np, choice)(f(i)), kind)
        if choice == "sqrt":
            return Expression(f"sqrt{suffix}(fabs{suffix}({left}))", lambda i: np.sqrt(np.abs(f(i))), kind)
        if choice == "neg":
            return Expression(f"-{left}", lambda i: -f(i), kind)
        if choice == "?":
            # Without the factor NVRTC makes a minimum of it, which tells -0 from 0.
            text = f"({left} < {right} ? {left} * 2 : {right})"
            return Expression(text, lambda i: np.where(f(i) < g(i), f(i) * of(2), g(i)), kind)
        if choice == "min":
            return Expression(f"fmin{suffix}({left}, {right})", lambda i: _minimum(f(i), g(i)), kind)
        if choice == "cast" and kind == "double":
            return Expression(f"(double)(float){left}", lambda i: f(i).astype(np.float32).astype(np.float64), kind)
        if choice == "fma" and kind == "float":  # exact in float64, up to one rounding that the test avoids
            return Expression(
                f"(float)((double){left} * (double){right} + 1.0)",
                lambda i: (f(i).astype(np.float64) * g(i).astype(np.float64) + 1.0).astype(np.float32),
                kind,
            )
        if choice == "int":
            inner = self.expression("unsigned", depth - 1)
            return Expression(f"({kind})(int)({inner.text})", lambda i: inner.value(i).view(np.int32).astype(of), kind)
        return Expression(f"{left} * ({kind})0.5", lambda i: f(i) * of(0.5), kind)


def _minimum(one: Values, other: Values) -> Values:
    """The number if the other is NaN; -0 is less than 0, which NumPy leaves open."""
    return np.where(one == other, np.where(np.signbit(one), one, other), np.fmin(one, other))


def _bits(name: str, values: Values) -> Values:
    table = np.unpackbits(np.atleast_1d(values).astype(">u4").view(np.uint8)).reshape(-1, 32)
    if name == "popc":
        return table.sum(axis=1).astype(np.uint32)
    if name == "clz":
        return np.where(table.any(axis=1), table.argmax(axis=1), 32).astype(np.uint32)
    return np.packbits(table[:, ::-1], axis=1).view(">u4").astype(np.uint32).ravel()


def inputs_of(seed: int) -> dict[str, Values]:
    """Values at which arithmetic goes wrong first, and random ones."""
    draw = np.random.default_rng(seed)
    found: dict[str, Values] = {}
    for kind, names in INPUTS.items():
        for name in names:
            if kind in SIGNED:
                size = WIDTH[kind]
                edges = [0, 1, (1 << size) - 1, 1 << size - 1, (1 << size - 1) - 1, 255, 65536, 32768]
                drawn = [int(draw.integers(0, 1 << 63)) >> int(draw.integers(0, 63)) for _ in range(THREADS - 8)]
                values = np.array([number & (1 << size) - 1 for number in edges + drawn], KINDS[kind])
            else:
                edges = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-40, 3e38]
                values = np.array([*edges, *draw.normal(size=THREADS - 8) * 10.0 ** draw.integers(-6, 9, THREADS - 8)])
                values = values.astype(KINDS[kind])
            found[name] = draw.permutation(values)
    return found


def expression_kernel(expressions: list[Expression]) -> str:
    """CUDA C++ that evaluates all of them in each thread."""
    parameters, loads = [], []
    for kind, names in INPUTS.items():
        for name in names:
            parameters.append(f"const {kind}* {name}_in")
            loads.append(f"    {kind} {name} = {name}_in[threadIdx.x];")
    body = [
        f"    (({one.kind}*)out)[{THREADS * number * 8 // KINDS[one.kind]().itemsize} + threadIdx.x] = {one.text};"
        for number, one in enumerate(expressions)
    ]
    head = f'extern "C" __global__ void k({", ".join(parameters)}, unsigned long long* out) {{'
    return "\n".join([head, *loads, *body, "}"])


def program_kernel(drawer: Drawer) -> str:
    """CUDA C++ with branches, loops, shuffles and shared memory, one result for each thread."""
    lines: list[str] = []

    def value(depth: int = 2) -> str:
        return drawer.expression("unsigned", depth).text

    def block(indent: str, depth: int, together: bool) -> None:
        for _ in range(int(drawer.draw.integers(1, 4))):
            target = drawer.pick(("a", "b"))
            choice = drawer.pick(("set", "if", "loop", "switch", "shuffle", "shared", "vote", "call", "local"))
            if choice == "if" and depth:
                lines.append(f"{indent}if ({value(1)} % 3 == 1) {{")
                block(indent + "  ", depth - 1, False)
                lines.append(f"{indent}}} else {{")
                block(indent + "  ", depth - 1, False)
                lines.append(f"{indent}}}")
            elif choice == "loop" and depth:
                counter = f"n{len(lines)}"
                lines.append(f"{indent}for (unsigned {counter} = 0; {counter} < ({value(1)}) % 5; {counter}++) {{")
                if drawer.draw.random() < 0.5:
                    word = drawer.pick(("break", "continue"))
                    lines.append(f"{indent}  if ((a + {counter}) % 4 == 2) {{ a += {counter}; {word}; }}")
                lines.append(f"{indent}  b += {counter} * 3 + 1;")
                block(indent + "  ", depth - 1, False)
                lines.append(f"{indent}}}")
            elif choice == "switch" and depth:
                lines.append(f"{indent}switch (({value(1)}) % 7) {{")
                for case in range(6):
                    end = "" if drawer.draw.random() < 0.3 else " break;"
                    lines.append(f"{indent}  case {case}: {target} = {value(1)};{end}")
                lines.append(f"{indent}  default: b ^= 77;\n{indent}}}")
            elif choice == "shuffle" and together:
                kind = drawer.pick(("xor", "down", "up"))
                by = int(drawer.draw.integers(1, 32))
                width = drawer.pick((8, 16, 32))
                lines.append(f"{indent}{target} += __shfl_{kind}_sync(0xffffffffu, {value(1)}, {by}, {width});")
            elif choice == "vote" and together:
                lines.append(f"{indent}{target} ^= __ballot_sync(0xffffffffu, {value(1)} & 1);")
            elif choice == "shared" and together:
                lines.append(f"{indent}tile[threadIdx.x] = {value(1)};\n{indent}__syncthreads();")
                lines.append(f"{indent}{target} += tile[({value(1)}) % {THREADS}];\n{indent}__syncthreads();")
            elif choice == "call":
                lines.append(f"{indent}{target} = mixed({value(1)}, a % 5);")
            elif choice == "local":
                lines.append(f"{indent}own[({value(1)}) % 8] += b; {target} ^= own[a % 8];")
            else:
                lines.append(f"{indent}{target} = {value()};")

    block("    ", 3, True)
    helper = (
        "__device__ __noinline__ unsigned mixed(unsigned n, unsigned depth) {\n"
        "    if (depth == 0) return n * 2654435761u;\n    return mixed(n ^ depth, depth - 1) + n;\n}\n"
    )
    return (
        helper + 'extern "C" __global__ void k(const unsigned* a_in, const unsigned* b_in, unsigned* out) {\n'
        f"    __shared__ unsigned tile[{THREADS}];\n    unsigned own[8] = {{1, 2, 3, 4, 5, 6, 7, 8}};\n"
        "    unsigned a = a_in[threadIdx.x], b = b_in[threadIdx.x];\n"
        + "\n".join(lines)
        + "\n    for (int i = 0; i < 8; i++) a = a * 31 + own[i];\n"
        + f"    out[threadIdx.x] = a;\n    out[threadIdx.x + {THREADS}] = b;\n}}\n"
    )


def run_twice(source: str, arguments: list[Values], results: int) -> tuple[Values, Values]:
    """What a kernel writes, compiled both ways; the results are unsigned numbers."""
    found = []
    for options in (OPTIMIZED, DEBUG):
        out = np.zeros(results, np.uint64)
        launch_source(source, "k", 1, THREADS, [*arguments, out], ptx=ptx_of(source, "compute_80", options))
        found.append(out)
    return found[0], found[1]


def same_bits(one: Values, other: Values) -> Values:
    """Where two results agree; any NaN is like any other."""
    agree = one == other
    if one.dtype.kind == "f":
        agree = (one.view(f"u{one.itemsize}") == other.view(f"u{one.itemsize}")) | (np.isnan(one) & np.isnan(other))
    return agree


def check_expressions(seed: int, count: int) -> list[str]:
    """Findings of a kernel with so many random expressions."""
    drawer = Drawer(seed)
    expressions = [drawer.expression(drawer.pick(list(KINDS)), int(drawer.draw.integers(1, 5))) for _ in range(count)]
    inputs = inputs_of(seed)
    source = expression_kernel(expressions)
    fast, plain = run_twice(source, list(inputs.values()), THREADS * count)
    findings = []
    for number, one in enumerate(expressions):
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(one.value(inputs), (THREADS,)).astype(KINDS[one.kind])
        rows = [out[THREADS * number : THREADS * (number + 1)].view(KINDS[one.kind])[:THREADS] for out in (fast, plain)]
        for name, row in zip(("optimized", "-G"), rows, strict=True):
            wrong = np.flatnonzero(~same_bits(np.ascontiguousarray(row), np.ascontiguousarray(expected)))
            if len(wrong):
                at = int(wrong[0])
                given = {key: values[at] for key, values in inputs.items()}
                findings.append(f"seed {seed}, {name}: {one.text} = {row[at]!r}, NumPy {expected[at]!r}, of {given}")
    return findings


def check_program(seed: int) -> list[str]:
    """Findings of a random program."""
    source = program_kernel(Drawer(seed))
    inputs = inputs_of(seed)
    fast, plain = run_twice(source, [inputs["a"], inputs["b"]], THREADS)
    return [] if (fast == plain).all() else [f"seed {seed}: the two translations differ:\n{source}"]


def findings_of(cases: int, first_seed: int = 0) -> Iterator[str]:
    """All findings of so many cases; one of sixty is a program, the others are expressions, 59 in a kernel."""
    for seed in range(first_seed, first_seed + -(-cases // 60)):
        yield from check_expressions(seed, 59)
        yield from check_program(seed)


def main() -> None:
    """Runs the cases that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began, count = time.perf_counter(), 0
    for finding in findings_of(given.cases, given.seed):
        count += 1
        print(finding, flush=True)
    print(f"{given.cases} cases, {count} findings, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
