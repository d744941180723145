"""Mutants of an answer: the same program with one small mistake, by the operators of mutation testing.

An answer is Python, or a string that holds a program: Python (a script of ranks) or CUDA C++. Operators: comparison,
arithmetic, logic, constants ± 1, data type, axis, dropped statement, guard that always or never holds, swapped
arguments, range one off. What becomes of mutants is `mutants`' business.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.model.syntax import syntax_tree


@dataclass(frozen=True)
class Mutant:
    """An answer with one change."""

    source: str
    was: str
    """The first line of the changed statement, as Python writes it."""
    now: str

    @property
    def change(self) -> str:
        """The change in one line; equal for equal changes in answers that are written differently elsewhere."""
        return f"{self.was} → {self.now}"


COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Mult, ast.Div), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,), ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitAnd,),
}  # fmt: skip
NAMES = {
    "min": ("max",), "max": ("min",), "any": ("all",), "all": ("any",), "sorted": ("list",), "floor": ("ceil",),
    "ceil": ("floor",), "float32": ("float16", "int32"), "float64": ("float32",), "bfloat16": ("float16",),
    "float16": ("float32",), "int64": ("int32",), "int8": ("uint8",), "x": ("y",), "y": ("x",), "abs": ("float",),
    "round": ("int",), "rint": ("floor",), "maximum": ("minimum",), "minimum": ("maximum",), "mean": ("sum",),
    "sum": ("max",), "extend": ("append",),
}  # fmt: skip
"""Functions, attributes and data types, by their names → what somebody might write instead."""
SYMMETRIC = {"min", "max", "minimum", "maximum", "gcd", "lcm", "hypot", "add", "multiply"}
"""Functions whose arguments may change places."""
LARGE = 1000
"""A constant from here on is doubled or halved: one more or less than 10**12 is within any tolerance."""
CUDA = (
    (r"(?<![<>=-])<(?![<=])", ("<=",)), (r"<=", ("<",)), (r"(?<![->])>(?![>=])", (">=",)), (r">=", (">",)),
    (r"==", ("!=",)), (r" \+ ", (" - ",)), (r" - ", (" + ",)), (r" \* ", (" / ",)), (r" / ", (" * ",)),
    (r" % ", (" / ",)), (r"\+=", ("=", "-=")), (r">>=", ("/=",)), (r"&&", ("||",)), (r"\.x\b", (".y",)),
    (r"__syncthreads\(\);|__syncwarp\(\);", ("",)), (r"\b\d+\b", ("+", "-")),
)  # fmt: skip
"""Patterns of CUDA C++ → replacements; of a number, one more and one less."""


WRITTEN = re.compile(r"\s*%%writefile (\w+)\.py\n")
"""The first line of a cell that keeps the rest of itself in the variable of the file's name."""


def program(source: str) -> ast.Module:
    """The syntax tree of an answer; a cell that begins with `%%writefile NAME.py` assigns its text to NAME."""
    if magic := WRITTEN.match(source):
        source = f"{magic[1]} = {source[magic.end() :]!r}"
    return syntax_tree(source)


def mutants_of(source: str) -> list[Mutant]:
    """All mutants that are Python, each text once; none of the source itself."""
    tree = program(source)
    found = {ast.unparse(tree): Mutant(source, "", "")}
    for mutant in (*_python(tree), *_inside_strings(tree)):
        found.setdefault(mutant.source, mutant)
    return [one for one in found.values() if one.was]


def _python(tree: ast.Module) -> Iterator[Mutant]:
    """The mutants of a program."""
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    owner = {id(child): node for node in statements for child in _own(node)}
    skipped = {id(node) for statement in statements for node in _not_code(statement)}
    for node in [*ast.walk(tree)]:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.stmt):
            yield from _without(tree, node)
        elif id(node) in owner:
            for changed in _variants(node):
                yield _replaced(tree, owner[id(node)], node, changed)


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, not those of the statements in it."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt):
            yield from (node for node in ast.walk(child) if not isinstance(node, ast.stmt))


def _not_code(statement: ast.stmt) -> Iterator[ast.AST]:
    """Docstrings, annotations and imports: a change there changes nothing, or nothing but names."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from ast.walk(statement)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        yield from ast.walk(statement)
    for node in _own(statement):
        annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
        if annotation is not None:
            yield from ast.walk(annotation)


def _replaced(tree: ast.Module, statement: ast.stmt, node: ast.AST, changed: ast.AST) -> Mutant:
    """The program with another node in this one's place."""
    before = _head(statement)
    # Shallow copies along the way: the tree stays as it is for the next mutant.
    made = _with(tree, id(node), changed)
    after = next(_head(new) for old, new in zip(_statements(tree), _statements(made), strict=True) if old is statement)
    return Mutant(ast.unparse(made), before, after)


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def _head(statement: ast.stmt) -> str:
    """A statement without the statements in it."""
    short = copy.copy(statement)
    for field in ("body", "orelse", "finalbody", "handlers"):
        if isinstance(getattr(short, field, None), list):
            setattr(short, field, [ast.Pass()] if field == "body" else [])
    return " ".join(ast.unparse(short).removesuffix("pass").split())


def _with(node: ast.AST, place: int, changed: ast.AST) -> ast.AST:
    """A copy of the tree with `changed` where the node with this id is."""
    if id(node) == place:
        return changed
    made = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            setattr(made, name, _with(value, place, changed))
        elif isinstance(value, list):
            setattr(made, name, [_with(one, place, changed) if isinstance(one, ast.AST) else one for one in value])
    return made


def _without(tree: ast.Module, statement: ast.stmt) -> Iterator[Mutant]:
    """The program without a statement, or with a guard that always or never holds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass, ast.Global)):
        return
    gone = ast.unparse(_with(tree, id(statement), ast.Pass()))
    yield Mutant(gone, _head(statement), "pass")
    if isinstance(statement, (ast.If, ast.While)):
        for holds in (True, False) if isinstance(statement, ast.If) else ():
            yield _replaced(tree, statement, statement.test, ast.Constant(holds))
    if isinstance(statement, ast.AugAssign):
        plain = ast.Assign([statement.target], statement.value, lineno=statement.lineno)
        yield Mutant(ast.unparse(_with(tree, id(statement), plain)), _head(statement), ast.unparse(plain))
        for kind in ARITHMETIC.get(type(statement.op), ()):
            other = ast.AugAssign(statement.target, kind(), statement.value)
            yield Mutant(ast.unparse(_with(tree, id(statement), other)), _head(statement), ast.unparse(other))


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """What an expression may be replaced by."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for kind in COMPARISONS.get(type(operator), ()):
                ops = [*node.ops[:place], kind(), *node.ops[place + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp):
        for other in ARITHMETIC.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.Constant):
        yield from (ast.Constant(value) for value in _constants(node.value))  # type: ignore[arg-type]
    elif isinstance(node, ast.Name):
        yield from (ast.Name(name, node.ctx) for name in NAMES.get(node.id, ()) if len(node.id) > 1)
    elif isinstance(node, ast.Attribute):
        yield from (ast.Attribute(node.value, name, node.ctx) for name in NAMES.get(node.attr, ()))
    elif isinstance(node, ast.Call):
        yield from _calls(node)


def _constants(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1) if abs(value) < LARGE else (2 * value, value // 2)
    elif isinstance(value, float):
        yield from (value + 1.0, value * 2 or 0.5) if abs(value) < LARGE else (value * 2, value / 2)
    elif isinstance(value, str):
        yield from NAMES.get(value, ()) if len(value) > 1 else ()


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    for place in range(len(node.args) - 1) if name not in SYMMETRIC else ():
        first, second = node.args[place : place + 2]
        if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            yield ast.Call(node.func, [*node.args[:place], second, first, *node.args[place + 2 :]], node.keywords)
    for place in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, [*node.keywords[:place], *node.keywords[place + 1 :]])
    if isinstance(node.func, ast.Name) and node.func.id == "range" and node.args:
        last = len(node.args) - 1 if len(node.args) < 3 else 1
        for kind in (ast.Add, ast.Sub):
            stop = ast.BinOp(node.args[last], kind(), ast.Constant(1))
            yield ast.Call(node.func, [*node.args[:last], stop, *node.args[last + 1 :]], node.keywords)
        if last == 0:
            yield ast.Call(node.func, [ast.Constant(1), *node.args], node.keywords)


def _inside_strings(tree: ast.Module) -> Iterator[Mutant]:
    """Mutants of programs in strings of several lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count("\n") > 1:
            if "__global__" in node.value:
                inner = _cuda(node.value)
            else:
                try:
                    inner = iter([*_python(syntax_tree(node.value))])
                except SyntaxError:
                    continue
            for one in inner:
                whole = _with(tree, id(node), ast.Constant(one.source))
                yield Mutant(ast.unparse(whole), one.was, one.now)


def _cuda(text: str) -> Iterator[Mutant]:
    """The mutants of a program in CUDA C++."""
    for pattern, replacements in CUDA:
        for found in re.finditer(pattern, text):
            begin = text.rfind("\n", 0, found.start()) + 1
            line = text[begin : text.find("\n", found.end())]
            if line.lstrip().startswith(("//", "#")):
                continue
            for new in replacements:
                if found.group().isdigit():
                    new = str(int(found.group()) + (1 if new == "+" else -1))
                changed = text[: found.start()] + new + text[found.end() :]
                after = changed[begin : changed.find("\n", begin)]
                yield Mutant(changed, " ".join(line.split()), " ".join(after.split()) or "(nothing)")
