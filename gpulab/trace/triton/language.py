"""Whether a Triton kernel keeps to Triton's language: a compiler refuses all else, the interpreter runs any Python.

A kernel may name its own variables, Triton's and `@triton.jit` functions, `math`, `tl.constexpr`, and a few builtins.
Anything else (a function of the notebook, an array, a module) exists on the host only, where no GPU can call it.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import math
import sys
import textwrap
from types import FunctionType, ModuleType
from typing import Any

from gpulab.trace.errors import LaunchError

BUILTINS = frozenset(
    {
        "range", "min", "max", "abs", "len", "int", "float", "bool", "str", "isinstance", "print", "tuple", "list",
        "sum", "round", "zip", "enumerate", "slice",
    }
)  # fmt: skip
"""Names of Python's that a kernel may use, and the interpreter with it."""
ATTRIBUTES = frozenset(
    {"shape", "dtype", "type", "numel", "element_ty", "scalar", "value", "primitive_bitwidth", "itemsize"}
)
"""What values in a kernel have besides the methods of `tl.tensor`, `tl.dtype`, and tensor descriptors."""
MOST_ITEMS = 8
"""Of a tuple among the arguments: a shape, or strides."""
REFUSED = (
    ast.Import, ast.ImportFrom, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try, ast.Raise,
    ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.Delete, ast.AsyncFor, ast.AsyncWith,
    ast.Break, ast.Continue,
)  # fmt: skip
"""Statements that Triton does not have."""
NAMES = {
    ast.ImportFrom: "import", ast.FunctionDef: "def", ast.AsyncFunctionDef: "async def", ast.ClassDef: "class",
    ast.YieldFrom: "yield", ast.Delete: "del", ast.AsyncFor: "async for", ast.AsyncWith: "async with",
}  # fmt: skip
"""What Python calls them, where it is not the name of their node."""


def require(function: FunctionType, kernel: str) -> None:
    """Passes if a kernel, and every device function that it calls, is written in Triton's language.

    Args:
        function: below `@triton.jit`.
        kernel: its name, for the message.

    Raises:
        LaunchError: it is not; the message has the line and the name that does not belong there.
    """
    seen: set[Any] = set()
    todo = [function]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += _require(one, kernel)


def allowed(value: Any) -> bool:
    """Whether a value of the host's may be an argument or a constant of a kernel: tensors, numbers, text, types."""
    import triton.language as tl

    if isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, tuple):
        return len(value) <= MOST_ITEMS and all(map(allowed, value))
    if isinstance(value, int):
        return -(2**63) <= value < 2**64  # a number, not a table of them
    if value is None or isinstance(value, (float, str)) or hasattr(value, "data_ptr"):
        return True
    if _is_jit(value) or _is_tritons(value):
        return True
    return not callable(value) and type(value).__module__.partition(".")[0] in ("triton", "torch")


def place(function: FunctionType, line: int) -> str:
    """A line of a function's file or cell, with its text."""
    text = linecache.getline(function.__code__.co_filename, line).strip()
    return f"line {line}, `{text[:80]}`" if text else f"line {line}"


def _require(function: FunctionType, kernel: str) -> list[FunctionType]:
    """Looks at one function. The device functions that it names."""
    try:
        tree = parsed(function)
    except (OSError, TypeError, SyntaxError):
        raise LaunchError(f"Kernel '{kernel}': the source of {function.__name__} cannot be read.") from None
    local = {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    local |= {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    names = _KernelNames(kernel, function, frozenset(local))
    for statement in tree.body:
        names.visit(statement)
    return names.device_functions


@functools.lru_cache(maxsize=256)
def _parsed(source: str) -> ast.FunctionDef:
    (tree,) = ast.parse(source).body
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError("no function")
    return tree


def parsed(function: FunctionType) -> ast.FunctionDef:
    """A function's source; line 1 is its first decorator's."""
    return _parsed(textwrap.dedent(inspect.getsource(function)))


class _KernelNames(ast.NodeVisitor):
    """Looks up every name of a function's body where Python would."""

    def __init__(self, kernel: str, function: FunctionType, local: frozenset[str]) -> None:
        self._kernel, self._function, self._local = kernel, function, local
        self.device_functions: list[FunctionType] = []

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, REFUSED):
            name = NAMES.get(type(node), type(node).__name__.lower())
            self._refuse(node, f"Triton does not support `{name}`")
        super().generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if not isinstance(node.func, (ast.Name, ast.Attribute)):
            self._refuse(node, "a kernel calls functions by their names")
        super().generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        between = [one for one in node.comparators[:-1] if isinstance(one, ast.BinOp)]
        mixed = [one for one in between if isinstance(one.op, (ast.BitAnd, ast.BitOr))]
        written = ast.get_source_segment(textwrap.dedent(inspect.getsource(self._function)), node) or ""
        if mixed and "".join(written.split()) == "".join(ast.unparse(node).split()):
            sign = "&" if isinstance(mixed[0].op, ast.BitAnd) else "|"
            what = f"`{sign}` is computed before comparisons, so this compares with {ast.unparse(mixed[0])}"
            self._tell(node, f"{what}: write (…) {sign} (…), with parentheses around each comparison.")
        super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._local:
            return
        value = self._found(node, node.id)
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "triton":
            return  # what is taken from it, visit_Attribute looks at
        if isinstance(value, (int, float)):
            cure = f"define it outside the kernel as {node.id} = tl.constexpr(…), or pass it to the kernel"
            self._refuse(node, f"`{node.id}` is a global number that may change: {cure}")
        self._value(node, node.id, value)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            chain.append(root.attr)
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self._local:
            value, path = self._found(root, root.id), root.id
            if isinstance(value, ModuleType):
                for name in reversed(chain):
                    path = f"{path}.{name}"
                    if isinstance(value, ModuleType):
                        value = getattr(value, name, None)
                    elif not _attribute(name):
                        self._refuse(node, f"{path} is nothing that a kernel can use")
                self._value(node, path, value)
                return
        for name in chain:
            if not _attribute(name):
                self._refuse(node, f".{name} is not an attribute of a value in a kernel")
        self.visit(root)

    def _found(self, node: ast.AST, name: str) -> Any:
        """What a name outside the function stands for."""
        closure = inspect.getclosurevars(self._function).nonlocals
        for scope in (closure, self._function.__globals__):
            if name in scope:
                return scope[name]
        if name in BUILTINS:
            return getattr(builtins, name)
        self._refuse(node, f"`{name}` is not a name that a kernel knows")
        return None

    def _value(self, node: ast.AST, name: str, value: Any) -> None:
        """Refuses what exists on the host only."""
        if str(getattr(value, "__module__", "")).startswith("triton.language.extra"):
            self._tell(node, f"without a GPU, `{name}` does not exist: use what tl has, such as tl.fma and tl.exp.")
        if _is_tritons(value) or (name in BUILTINS and value is getattr(builtins, name)):
            if isinstance(node, ast.Name) and getattr(value, "__triton_builtin__", False):
                cure = f"through its module: tl.{value.__name__}."
                self._tell(node, f"without a GPU, `{name}` must be called {cure}")
            return
        if callable(value) and getattr(math, getattr(value, "__name__", ""), None) is value:
            return  # a function of a constant; the compiler refuses any other argument
        if _is_jit(value):
            self.device_functions.append(value.fn)
        elif hasattr(value, "data_ptr") or (not callable(value) and not allowed(value)):
            self._refuse(node, f"`{name}` is of type {type(value).__name__}: pass it to the kernel")
        elif not allowed(value):
            self._refuse(
                node, f"`{name}` is a function of the host's: use one of Triton's, or mark yours with @triton.jit"
            )

    def _tell(self, node: ast.AST, what: str) -> None:
        line = getattr(node, "lineno", 1) + self._function.__code__.co_firstlineno - 1
        raise LaunchError(f"Kernel '{self._kernel}', {place(self._function, line)}: {what}", line)

    def _refuse(self, node: ast.AST, reason: str) -> None:
        line = getattr(node, "lineno", 1) + self._function.__code__.co_firstlineno - 1
        what = f"Kernel '{self._kernel}' is not in Triton's language, which is compiled"
        raise LaunchError(f"{what}. In {place(self._function, line)}: {reason}.", line)


def _is_jit(value: Any) -> bool:
    from triton.runtime.jit import JITFunction

    return isinstance(value, JITFunction) and isinstance(value.fn, FunctionType)


def _is_tritons(value: Any) -> bool:
    """Whether a function is the one that Triton itself has under its name."""
    function = value
    if type(value).__module__.partition(".")[0] == "triton":  # a wrapper: of a device function, or of a constant one
        function = getattr(value, "fn", value)
    module, name = str(getattr(function, "__module__", "")), str(getattr(function, "__name__", ""))
    return module.partition(".")[0] == "triton" and getattr(sys.modules.get(module), name, None) is value


def _attribute(name: str) -> bool:
    import triton.language as tl

    kinds = (tl.tensor, tl.dtype, tl.constexpr, tl.core.tensor_descriptor)
    known = name in ATTRIBUTES or any(hasattr(kind, name) for kind in kinds)
    return known and not name.startswith("_")
