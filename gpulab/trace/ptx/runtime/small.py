"""Small Python functions over 64-bit integers, compiled to LLVM: what the emulator does at every access runs at the
speed of C, and can be read and tested as Python.

A function takes and returns integers. It may use assignment, `if`, `while`, `break`, `continue`, `return`, integer
arithmetic that wraps around (`//`, `%` and `>>` are unsigned, comparisons signed), the functions of this module, and
calls of others like itself. `p[i]` is the i-th 64-bit integer at address p.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "udiv", ast.Mod: "urem",
    ast.LShift: "shl", ast.RShift: "lshr", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge"}
_LOADS = {"load8": "i8", "load16": "i16", "load32": "i32"}
_STORES = {"store8": "i8", "store16": "i16", "store32": "i32"}

DECLARATIONS = """
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
"""


def _only_compiled(*_: int) -> int:
    raise NotImplementedError("This function exists in compiled code only.")


load8 = load16 = load32 = store8 = store16 = store32 = _only_compiled
"""A number of 8, 16 or 32 bits at an address, without a sign."""
lowest_bit = ones = below = call2 = call3 = _only_compiled
"""Number of the lowest bit set; how many are set; an unsigned comparison; calls through an address."""


def llvm(functions: list[Callable[..., Any]], constants: Mapping[str, int]) -> str:
    """The functions as LLVM assembly.

    Args:
        functions: as described above; they may call each other.
        constants: global names that they use.
    """
    return "\n".join(_Function(function, constants).text() for function in functions)


class _Function:
    def __init__(self, function: Callable[..., Any], constants: Mapping[str, int]) -> None:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self._tree, self._constants = tree, constants
        self._lines: list[str] = []
        self._count = 0
        self._loops: list[tuple[str, str]] = []
        self._conditions = 0

    def text(self) -> str:
        names = [argument.arg for argument in self._tree.args.args]
        variables = dict.fromkeys(names)
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                variables[node.id] = None
        head = [f"define i64 @{self._tree.name}({', '.join(f'i64 %a.{name}' for name in names)}) {{", "entry:"]
        head += [f"  %v.{name} = alloca i64" for name in variables]
        head += [f"  store i64 %a.{name}, ptr %v.{name}" for name in names]
        self._body(self._tree.body)
        head += [f"  %c{number} = alloca i1" for number in range(self._conditions)]
        return "\n".join([*head, *self._lines, "  ret i64 0", "}"])

    def _emit(self, text: str) -> None:
        self._lines.append("  " + text)

    def _new(self, text: str) -> str:
        self._count += 1
        self._emit(f"%t{self._count} = {text}")
        return f"%t{self._count}"

    def _label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    def _mark(self, label: str) -> None:
        self._lines.append(f"{label}:")

    def _body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self._value(node.value)
        elif isinstance(node, ast.Assign):
            self._assign(node.targets[0], self._value(node.value))
        elif isinstance(node, ast.AugAssign):
            old = self._value(_loading(node.target))
            new = self._new(f"{_BINARY[type(node.op)]} i64 {old}, {self._value(node.value)}")
            self._assign(node.target, new)
        elif isinstance(node, ast.If):
            yes, no, end = self._label(), self._label(), self._label()
            self._emit(f"br i1 {self._condition(node.test)}, label %{yes}, label %{no}")
            for label, body in ((yes, node.body), (no, node.orelse)):
                self._mark(label)
                self._body(body)
                self._emit(f"br label %{end}")
            self._mark(end)
        elif isinstance(node, ast.While):
            test, inside, end = self._label(), self._label(), self._label()
            self._emit(f"br label %{test}")
            self._mark(test)
            self._emit(f"br i1 {self._condition(node.test)}, label %{inside}, label %{end}")
            self._mark(inside)
            self._loops.append((test, end))
            self._body(node.body)
            self._loops.pop()
            self._emit(f"br label %{test}")
            self._mark(end)
        elif isinstance(node, (ast.Break, ast.Continue)):
            self._emit(f"br label %{self._loops[-1][isinstance(node, ast.Break)]}")
            self._mark(self._label())
        elif isinstance(node, ast.Return):
            assert node.value is not None
            self._emit(f"ret i64 {self._value(node.value)}")
            self._mark(self._label())
        else:
            raise TypeError(f"{self._tree.name}: {ast.unparse(node)}")

    def _assign(self, target: ast.expr, value: str) -> None:
        if isinstance(target, ast.Name):
            self._emit(f"store i64 {value}, ptr %v.{target.id}")
        elif isinstance(target, ast.Subscript):
            self._emit(f"store i64 {value}, ptr {self._element(target)}")
        else:
            raise TypeError(f"{self._tree.name}: {ast.unparse(target)}")

    def _element(self, node: ast.Subscript) -> str:
        base = self._new(f"inttoptr i64 {self._value(node.value)} to ptr")
        return self._new(f"getelementptr i64, ptr {base}, i64 {self._value(node.slice)}")

    def _condition(self, node: ast.expr) -> str:
        if isinstance(node, ast.Compare):
            left, right = self._value(node.left), self._value(node.comparators[0])
            return self._new(f"icmp {_COMPARE[type(node.ops[0])]} i64 {left}, {right}")
        if isinstance(node, ast.BoolOp):
            return self._short(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._new(f"xor i1 {self._condition(node.operand)}, true")
        return self._new(f"icmp ne i64 {self._value(node)}, 0")

    def _short(self, node: ast.BoolOp) -> str:
        """`and` and `or` look at the second part only where they need to."""
        place = f"%c{self._conditions}"
        self._conditions += 1
        end, is_and = self._label(), isinstance(node.op, ast.And)
        for part in node.values:
            value = self._condition(part)
            self._emit(f"store i1 {value}, ptr {place}")
            more = self._label()
            yes, no = (more, end) if is_and else (end, more)
            self._emit(f"br i1 {value}, label %{yes}, label %{no}")
            self._mark(more)
        self._emit(f"br label %{end}")
        self._mark(end)
        return self._new(f"load i1, ptr {place}")

    def _value(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, int)
            return str(int(node.value))
        if isinstance(node, ast.Name):
            if node.id in self._constants:
                return str(self._constants[node.id])
            return self._new(f"load i64, ptr %v.{node.id}")
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left), self._value(node.right)
            return self._new(f"{_BINARY[type(node.op)]} i64 {left}, {right}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
            value = self._value(node.operand)
            minus = isinstance(node.op, ast.USub)
            return self._new(f"sub i64 0, {value}" if minus else f"xor i64 {value}, -1")
        if isinstance(node, ast.Subscript):
            return self._new(f"load i64, ptr {self._element(node)}")
        if isinstance(node, ast.IfExp):
            condition = self._condition(node.test)
            return self._new(f"select i1 {condition}, i64 {self._value(node.body)}, i64 {self._value(node.orelse)}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node.func.id, [self._value(argument) for argument in node.args])
        return self._new(f"zext i1 {self._condition(node)} to i64")

    def _call(self, name: str, given: list[str]) -> str:
        if name in _LOADS:
            value = self._new(f"load {_LOADS[name]}, ptr {self._new(f'inttoptr i64 {given[0]} to ptr')}")
            return self._new(f"zext {_LOADS[name]} {value} to i64")
        if name in _STORES:
            value = self._new(f"trunc i64 {given[1]} to {_STORES[name]}")
            self._emit(f"store {_STORES[name]} {value}, ptr {self._new(f'inttoptr i64 {given[0]} to ptr')}")
            return "0"
        if name == "lowest_bit":
            return self._new(f"call i64 @llvm.cttz.i64(i64 {given[0]}, i1 false)")
        if name == "ones":
            return self._new(f"call i64 @llvm.ctpop.i64(i64 {given[0]})")
        if name == "below":
            return self._new(f"zext i1 {self._new(f'icmp ult i64 {given[0]}, {given[1]}')} to i64")
        if name in ("call2", "call3"):
            target = self._new(f"inttoptr i64 {given[0]} to ptr")
            return self._new(f"call i64 {target}({', '.join(f'i64 {value}' for value in given[1:])})")
        return self._new(f"call i64 @{name}({', '.join(f'i64 {value}' for value in given)})")


def _loading(target: ast.expr) -> Any:
    return ast.parse(ast.unparse(target), mode="eval").body
