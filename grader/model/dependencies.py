"""What a chapter's outputs depend on, so that another chapter's new module or table does not make it run again.

Imports decide, read from the syntax tree of cells and modules: what a comment or a docstring mentions does not count.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grader.model.syntax import syntax_tree

PACKAGE = "gpulab"
EXERCISES = ("grader", "exercises")
"""The package that hidden tests import from."""
MODULE_IN_TEXT = re.compile(rf"\b{PACKAGE}(?:\.\w+)+")
"""How a script in a string, or a name such as "gpulab.a.b:NAME", says which module it wants."""
MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)


def needed_files(cells: Iterable[str], files: Iterable[Path]) -> list[Path]:
    """Those of `files` that the cells reach through imports and by the names of tables; sorted.

    Args:
        cells: sources of code cells.
        files: modules below a folder `gpulab` or `grader/exercises`, and data files. Prose (`.md`) never belongs.

    A module belongs when a cell, or a module that belongs, imports it, and so do the packages around it. A data file
    belongs when its stem is a string constant there: `table("gpus")`. A name that a package's `__init__.py` imports
    leads to the module that it comes from, and to no other that is listed there.
    """
    files = [path for path in files if path.suffix != ".md"]
    modules = {name: path for path in files if (name := _module_name(path))}
    found: set[Path] = set()
    read: set[str] = set()
    names: set[str] = set()
    constants: set[str] = set()

    def take(source: str) -> None:
        wanted, texts = _mentions(source)
        names.update(wanted)
        constants.update(texts)

    for cell in cells:
        take(cell)
    followed: set[str] = set()
    while waiting := names - followed:
        followed |= waiting
        for name in waiting:
            for module in _modules_behind(name, modules):
                path = modules[module]
                if module not in read:  # `found` would not do: it also holds packages that were only passed on the way
                    read.add(module)
                    found.add(path)
                    found.update(_packages_around(module, modules))
                    take(path.read_text(encoding="utf-8"))
    found |= {path for path in files if path.suffix != ".py" and path.stem in constants}
    return sorted(found)


def _module_name(path: Path) -> str:
    """`gpulab/trace/races.py` → `gpulab.trace.races`; empty for what is no module of the two packages."""
    parts = path.with_suffix("").parts
    starts = [at for at in range(len(parts)) if parts[at] == PACKAGE or parts[at : at + 2] == EXERCISES]
    if path.suffix != ".py" or not starts:
        return ""
    within = parts[starts[-1] :]
    return ".".join(within[:-1] if within[-1] == "__init__" else within)


def _modules_behind(name: str, modules: Mapping[str, Path]) -> Iterator[str]:
    """The modules that importing a dotted name runs, besides the `__init__.py` on the way."""
    while name and name not in modules:
        package, _, leaf = name.rpartition(".")
        if package in modules and modules[package].name == "__init__.py":
            listed = _exports(modules[package])
            if leaf in listed:
                yield from _modules_behind(listed[leaf], modules)
                return
        name = package
    if name and name != PACKAGE:  # the package itself lists everything, and runs next to nothing
        yield name


def _packages_around(module: str, modules: Mapping[str, Path]) -> Iterator[Path]:
    """The `__init__.py` of the packages that a module lies in."""
    while module := module.rpartition(".")[0]:
        if module in modules:
            yield modules[module]


def _exports(init: Path) -> dict[str, str]:
    """Names that an `__init__.py` imports, with where each comes from; imports for type checkers count too."""
    return _imports(syntax_tree(init.read_text(encoding="utf-8")))


def _imports(tree: ast.AST) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {one.asname or one.name: f"{node.module}.{one.name}".removesuffix(".*") for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.asname or one.name: one.name for one in node.names}
    return found


@functools.lru_cache(maxsize=4096)
def _mentions(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """Dotted names that a source imports or reaches through `gpulab.…`, and its string constants."""
    try:
        tree = syntax_tree(MAGIC.sub(r"\1pass", source))
    except SyntaxError:  # a terminal session, another language: what it names, it may need
        return frozenset(MODULE_IN_TEXT.findall(source)), frozenset()
    names = set(_imports(tree).values())
    constants: set[str] = set()
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (dotted := _dotted(node)).startswith(f"{PACKAGE}."):
            names.add(dotted)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            constants.add(node.value)
            names.update(MODULE_IN_TEXT.findall(node.value))
            names.update(_imported_in(node.value))
    return frozenset(names), frozenset(constants)


def _imported_in(text: str) -> Iterator[str]:
    """What a script in a string imports."""
    if PACKAGE in text and "import" in text:
        try:
            yield from _imports(syntax_tree(text)).values()
        except (SyntaxError, ValueError):
            return


def _dotted(node: ast.Attribute) -> str:
    parts: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    return ".".join([inner.id, *reversed(parts)]) if isinstance(inner, ast.Name) else ""
