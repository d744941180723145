"""How much of what a chapter measures stands on its page: cells that call PyTorch, NumPy, or CUDA themselves.

A reader should be able to paste a measurement into a program of their own. A measurement that a module of the chapter
makes is hidden from them; pictures, predictions, and traces are not measurements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nbformat import NotebookNode

from grader.model.notebooks import Role, cells_of
from grader.model.syntax import syntax_tree

FIELD = frozenset(
    {"torch", "numpy", "numba", "lightning", "pytorch_lightning", "onnxruntime", "onnx", "triton", "prometheus_client"}
)
STANDARD = frozenset({"time", "statistics", "timeit", "threading", "concurrent", "asyncio", "subprocess", "hashlib"})
"""Packages whose calls a reader would write outside of the course."""
DRAWING = ("pictures", "diagrams", "draw")
"""In the name of a module or function of a chapter that only draws."""


def direct_share(notebook: NotebookNode) -> tuple[int, int]:
    """How many ungraded cells measure with the field's own API, and how many measure at all.

    A cell measures if it calls the field's API, a function of the page or an exercise, or a module of its chapter that
    does not only draw; directly, if it calls none of the latter.
    """
    origin: dict[str, str] = {}
    direct = measuring = 0
    for cell in cells_of(notebook):
        tree = _parsed(cell.source) if cell.role is not Role.PROSE else None
        if tree is None:
            continue
        origin.update(_bound(tree))
        if cell.role is not Role.CODE:
            continue
        kinds = {kind for name in _called(tree) if (kind := _kind(name, origin))}
        measuring += bool(kinds)
        direct += kinds == {"direct"}
    return direct, measuring


def told(notebook: NotebookNode) -> str:
    """The share in one line."""
    direct, measuring = direct_share(notebook)
    part = f" ({direct / measuring:.0%})" if measuring else ""
    return f"{direct} of {measuring} measuring cells call the field's API directly{part}"


def _parsed(source: str) -> ast.Module | None:
    try:
        return syntax_tree(source)
    except SyntaxError:  # a magic
        return None


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that a cell imports or defines, each with where it comes from; the page itself is `""`."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (((one.asname or one.name).split(".")[0], one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)
        elif isinstance(node, ast.FunctionDef):
            yield node.name, ""


def _called(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a cell calls or launches: `torch.add`, `kernel` of `kernel[8, 128](x)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.value if isinstance(node.func, ast.Subscript) else node.func
            parts: list[str] = []
            while isinstance(called, ast.Attribute):
                parts.append(called.attr)
                called = called.value
            if isinstance(called, ast.Name):
                yield ".".join([called.id, *reversed(parts)])


def _kind(name: str, origin: dict[str, str]) -> str:
    """`direct`, `hidden`, or "" for a call that measures nothing."""
    root, _, rest = name.partition(".")
    if root not in origin:
        return ""
    full = ".".join(part for part in (origin[root], rest) if part)
    if origin[root] == "" or full.split(".")[0] in FIELD | STANDARD:
        return "direct"
    drawn = any(word in part for part in full.split(".")[3:] for word in DRAWING)
    return "hidden" if full.startswith("gpulab.chapters.") and not drawn else ""
