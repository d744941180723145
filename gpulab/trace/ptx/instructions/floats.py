"""Floating-point arithmetic: one lane's work, with PTX's rounding. float32 and float64 are the processor's own; halves
and directed roundings are computed in float64 without a second rounding."""

from __future__ import annotations

from collections.abc import Callable

from gpulab.trace.ptx.codegen.handlers import handles
from gpulab.trace.ptx.codegen.lane import Lane
from gpulab.trace.ptx.codegen.types import LLVM, is_float
from gpulab.trace.ptx.instructions.arithmetic import (
    integer_binary,
    integer_divide,
    integer_multiply,
    integer_multiply_add,
    intrinsic,
    kind_of,
)
from gpulab.trace.ptx.instructions.float_types import flush, is_half, mode_of, narrowed, saturate, widen
from gpulab.trace.ptx.runtime.rounding import DOWN, TO_NEAREST
from gpulab.trace.ptx.text.syntax import Instruction


def compute(lane: Lane, one: Instruction, count: int, function: Callable[..., str]) -> None:
    """Applies a function of LLVM values to operands, with what the instruction's modifiers ask for.

    Args:
        lane: whose code is written.
        one: with a type of floats.
        count: of operands.
        function: from (llvm type, values) to a value.
    """
    kind = kind_of(one)
    if is_half(kind):
        _compute_halves(lane, one, count, function)
        return
    llvm = LLVM[kind]
    values = [lane.get(operand, kind) for operand in one.operands[1 : 1 + count]]
    ftz = "ftz" in one.modifiers and kind == "f32"
    if ftz:
        values = [flush(lane, value) for value in values]
    value = function(llvm, *values)
    if ftz:
        value = flush(lane, value)
    if "sat" in one.modifiers:
        value = saturate(lane, value, llvm)
    lane.set(one.operands[0], value, kind)


def _compute_halves(lane: Lane, one: Instruction, count: int, function: Callable[..., str]) -> None:
    kind = kind_of(one)
    if "ftz" in one.modifiers:
        raise lane.refuse("ftz with halves")
    single = kind.removesuffix("x2")
    pieces = 2 if kind.endswith("x2") else 1
    operands = [lane.get(operand, kind) for operand in one.operands[1 : 1 + count]]
    whole = "0"
    for number in range(pieces):
        values = []
        for operand in operands:
            if pieces == 2:
                shifted = lane.new(f"lshr i32 {operand}, {16 * number}")
                operand = lane.new(f"trunc i32 {shifted} to i16")
            values.append(widen(lane, operand, single))
        value = function("double", *values)
        if "sat" in one.modifiers:
            value = saturate(lane, value, "double")
        if "relu" in one.modifiers:
            below = lane.new(f"fcmp olt double {value}, 0.0")
            value = lane.new(f"select i1 {below}, double 0.0, double {value}")
        value = narrowed(lane, value, single, TO_NEAREST)
        if pieces == 1:
            whole = value
        else:
            placed = lane.new(f"shl i32 {lane.new(f'zext i16 {value} to i32')}, {16 * number}")
            whole = lane.new(f"or i32 {whole}, {placed}")
    lane.set(one.operands[0], whole, kind)


def to_odd(lane: Lane, value: str, error: str) -> str:
    """A double that stands for value + error, with its last bit set if that is not exact: what is rounded further from
    it is rounded as if it were exact."""
    bits = lane.new(f"bitcast double {value} to i64")
    exact = lane.new(f"fcmp oeq double {error}, 0.0")
    known = lane.new(f"fcmp ord double {error}, 0.0")
    odd = lane.new(f"trunc i64 {bits} to i1")
    error_sign = lane.new(f"fcmp olt double {error}, 0.0")
    sign = lane.new(f"icmp slt i64 {bits}, 0")
    away = lane.new(f"icmp eq i1 {error_sign}, {sign}")
    step = lane.new(f"select i1 {away}, i64 1, i64 -1")
    stays = lane.new(f"or i1 {lane.new(f'or i1 {exact}, {odd}')}, {lane.new(f'xor i1 {known}, true')}")
    moved = lane.new(f"add i64 {bits}, {lane.new(f'select i1 {stays}, i64 0, i64 {step}')}")
    return lane.new(f"bitcast i64 {moved} to double")


def _sum_error(lane: Lane, a: str, b: str, total: str) -> str:
    """What a + b is more than its rounded sum (Knuth)."""
    b_part = lane.new(f"fsub double {total}, {a}")
    a_part = lane.new(f"fsub double {total}, {b_part}")
    a_left = lane.new(f"fsub double {a}, {a_part}")
    b_left = lane.new(f"fsub double {b}, {b_part}")
    return lane.new(f"fadd double {a_left}, {b_left}")


def _directed(lane: Lane, one: Instruction, function: Callable[..., tuple[str, str]], count: int) -> None:
    """A float32 operation with a rounding other than to nearest. function: doubles to result and its error."""
    kind = kind_of(one)
    if kind != "f32":
        raise lane.refuse(f"this rounding of {kind}")
    values = [lane.get(operand, kind) for operand in one.operands[1 : 1 + count]]
    if "ftz" in one.modifiers:
        values = [flush(lane, value) for value in values]
    value, error = function(*[widen(lane, value, kind) for value in values])
    mode = mode_of(one)
    odd = to_odd(lane, value, error)
    if mode == DOWN and one.opcode in ("add", "sub", "fma", "mad"):  # x - x is -0 when rounded down
        nothing = lane.new(f"fcmp oeq double {odd}, 0.0")
        plus = lane.new(f"fcmp one double {widen(lane, values[-1], kind)}, 0.0")
        both = lane.new(f"and i1 {nothing}, {plus}")
        odd = lane.new(f"select i1 {both}, double -0.0, double {odd}")
    result = narrowed(lane, odd, kind, mode)
    if "ftz" in one.modifiers:
        result = flush(lane, result)
    if "sat" in one.modifiers:
        result = saturate(lane, result, "float")
    lane.set(one.operands[0], result, kind)


def _fma(lane: Lane, llvm: str, a: str, b: str, c: str) -> str:
    return intrinsic(lane, "fma", llvm, a, b, c)


@handles("add", "sub")
def _add(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    if not (is_float(kind) or is_half(kind)):
        if kind.endswith("x2"):
            raise lane.refuse(kind)
        integer_binary(lane, one)
    elif mode_of(one) == TO_NEAREST:
        compute(lane, one, 2, lambda llvm, a, b: lane.new(f"f{one.opcode} {llvm} {a}, {b}"))
    else:

        def exact(a: str, b: str) -> tuple[str, str]:
            if one.opcode == "sub":
                b = lane.new(f"fneg double {b}")
            total = lane.new(f"fadd double {a}, {b}")
            return total, _sum_error(lane, a, b, total)

        _directed(lane, one, exact, 2)


@handles("mul")
def _multiply(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    if not (is_float(kind) or is_half(kind)):
        integer_multiply(lane, one)
    elif mode_of(one) == TO_NEAREST:
        compute(lane, one, 2, lambda llvm, a, b: lane.new(f"fmul {llvm} {a}, {b}"))
    else:  # the product of two float32 is exact in float64
        _directed(lane, one, lambda a, b: (lane.new(f"fmul double {a}, {b}"), "0.0"), 2)


@handles("fma", "mad")
def _multiply_add(lane: Lane, one: Instruction) -> None:
    kind = kind_of(one)
    if not (is_float(kind) or is_half(kind)):
        integer_multiply_add(lane, one)
        return

    def exact(a: str, b: str, c: str) -> tuple[str, str]:
        product = lane.new(f"fmul double {a}, {b}")
        total = lane.new(f"fadd double {product}, {c}")
        return total, _sum_error(lane, product, c, total)

    if is_half(kind):
        compute(lane, one, 3, lambda _, a, b, c: to_odd(lane, *exact(a, b, c)))
    elif mode_of(one) == TO_NEAREST:
        compute(lane, one, 3, lambda llvm, a, b, c: _fma(lane, llvm, a, b, c))
    else:
        _directed(lane, one, exact, 3)


@handles("div")
def _divide(lane: Lane, one: Instruction) -> None:
    if not is_float(kind_of(one)):
        integer_divide(lane, one)
    elif mode_of(one) == TO_NEAREST:
        compute(lane, one, 2, lambda llvm, a, b: lane.new(f"fdiv {llvm} {a}, {b}"))
    else:
        _directed(lane, one, lambda a, b: _quotient(lane, a, b), 2)


def _quotient(lane: Lane, a: str, b: str) -> tuple[str, str]:
    quotient = lane.new(f"fdiv double {a}, {b}")
    rest = _fma(lane, "double", lane.new(f"fneg double {quotient}"), b, a)
    sign = intrinsic(lane, "copysign", "double", "1.0", b)
    return quotient, lane.new(f"fmul double {rest}, {sign}")


@handles("rcp")
def _reciprocal(lane: Lane, one: Instruction) -> None:
    if mode_of(one) == TO_NEAREST:
        compute(lane, one, 1, lambda llvm, a: lane.new(f"fdiv {llvm} 1.0, {a}"))
    else:
        _directed(lane, one, lambda a: _quotient(lane, "1.0", a), 1)


@handles("sqrt")
def _root(lane: Lane, one: Instruction) -> None:
    def exact(a: str) -> tuple[str, str]:
        root = intrinsic(lane, "sqrt", "double", a)
        return root, _fma(lane, "double", lane.new(f"fneg double {root}"), root, a)

    if mode_of(one) == TO_NEAREST:
        compute(lane, one, 1, lambda llvm, a: intrinsic(lane, "sqrt", llvm, a))
    else:
        _directed(lane, one, exact, 1)


@handles("rsqrt")
def _inverse_root(lane: Lane, one: Instruction) -> None:
    def inverse(llvm: str, a: str) -> str:
        wide = lane.new(f"fpext float {a} to double") if llvm == "float" else a
        value = lane.new(f"fdiv double 1.0, {intrinsic(lane, 'sqrt', 'double', wide)}")
        return lane.new(f"fptrunc double {value} to float") if llvm == "float" else value

    compute(lane, one, 1, inverse)


def _library(name: str) -> Callable[[Lane, Instruction], None]:
    def handler(lane: Lane, one: Instruction) -> None:
        compute(lane, one, 1, lambda llvm, a: _called(lane, name, llvm, a))

    return handler


def _called(lane: Lane, name: str, llvm: str, value: str) -> str:
    """A function of the C library; for a float32 in float64, so that the result is as good as rounded."""
    wide = lane.new(f"fpext float {value} to double") if llvm == "float" else value
    lane.kernel.declarations[f"declare double @{name}(double)"] = None
    found = lane.new(f"call double @{name}(double {wide})")
    return lane.new(f"fptrunc double {found} to float") if llvm == "float" else found


for _opcode, _name in {"sin": "sin", "cos": "cos", "ex2": "exp2", "lg2": "log2", "tanh": "tanh"}.items():
    handles(_opcode)(_library(_name))
