"""The Python of a cell, checked without running it: syntax, shell lines, and what a test may do with an answer.

A test reaches answers through a proxy in another process, so it can call functions and read values, and nothing else.
Settings and marker lines are checked elsewhere (`lint.metadata`, `lint.regions`).
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterator, Mapping
from enum import Enum

from IPython.core.inputtransformer2 import TransformerManager

from grader.authoring.lint.metadata import CellFault
from grader.model.syntax import syntax_tree

SHELL_MAGICS = frozenset({"bash", "sh", "sx", "system", "script", "!"})
INSPECTIONS = frozenset(
    {"isinstance", "issubclass", "type", "getattr", "setattr", "hasattr", "delattr", "vars", "dir", "id", "callable"}
)
GRADIENT_ATTRIBUTES = frozenset({"backward", "grad", "grad_fn", "requires_grad", "requires_grad_", "retain_grad"})
RANDOM_MODULES = frozenset({"random", "secrets"})
RANDOM_CALLS = frozenset(
    {"default_rng", "RandomState", "manual_seed", "rand", "randn", "randint", "randperm", "uniform", "normal"}
)


class ExerciseKind(Enum):
    """What an exercise is."""

    FUNCTION = "function"
    VALUE = "value"


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def parsed(code: str) -> ast.Module | CellFault:
    """The cell as Python, magics resolved; a fault when it is not Python or gives a warning on compiling."""
    try:
        text = TransformerManager().transform_cell(code)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            compile(text, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            tree: ast.Module = syntax_tree(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", 0) or 0
        return CellFault(f"is not Python ({getattr(error, 'msg', error)})", "Fix this line.", line)
    if caught:
        return CellFault(f"gives a warning on compiling ({caught[0].message})", "Fix this line.", caught[0].lineno)
    return tree


def shell_faults(tree: ast.Module, graded: bool) -> Iterator[CellFault]:
    """Shell lines anywhere (a failing one goes unnoticed), and magics in graded cells (the judge has no IPython)."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_shell(node.func.value)):
            continue
        first = str(node.args[0].value) if node.args and isinstance(node.args[0], ast.Constant) else ""
        if node.func.attr in ("system", "getoutput") or (node.func.attr.startswith("run_") and first in SHELL_MAGICS):
            remedy = "Call subprocess.run(…, check=True): a shell line that fails goes unnoticed."
            yield CellFault("has a shell line", remedy, node.lineno)
        elif graded and node.func.attr in ("run_line_magic", "run_cell_magic"):
            yield CellFault(f"has the magic %{first}, and graded cells are plain Python", "Take it out.", node.lineno)


def _is_shell(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "get_ipython"


def bound_names(tree: ast.AST) -> dict[str, int]:
    """Every name that the code binds anywhere, imports and arguments too, with the first line that does."""
    names: dict[str, int] = {}
    for node in ast.walk(tree):
        for name in _bound_by(node):
            names.setdefault(name, getattr(node, "lineno", 0))
    return names


def _bound_by(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [(alias.asname or alias.name).split(".")[0] for alias in aliases]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
        case _:
            return []


def global_names(tree: ast.Module) -> dict[str, int]:
    """Names that the code binds for the cells after it, with the line that does; function and class bodies aside."""
    names: dict[str, int] = {}
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        for name in _bound_by(node):
            names.setdefault(name, getattr(node, "lineno", 0))
        scopes = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.comprehension
        if not isinstance(node, scopes):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def meanings(tree: ast.Module) -> dict[str, str]:
    """Names that top-level imports and assignments bind for the cells after them, with the text that says to what."""
    found: dict[str, str] = {}
    for node in tree.body:
        match node:
            case ast.Import(names=aliases):
                found |= {(one.asname or one.name).split(".")[0]: ast.unparse(ast.Import([one])) for one in aliases}
            case ast.ImportFrom(names=aliases):
                found |= {one.asname or one.name: f"from {node.module} import {one.name}" for one in aliases}
            case ast.Assign(targets=[ast.Name(id=name)]):
                found[name] = ast.unparse(node)
    return found


def global_reads(tree: ast.AST, own: frozenset[str] = frozenset()) -> set[str]:
    """Names that the code reads from the cells' common scope, in functions and comprehensions too.

    Args:
        tree: the code.
        own: names of the scopes around it.
    """
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        inner = own
        if isinstance(node, FUNCTIONS):
            inner |= frozenset(bound_names(node)) - _declared_global(node)
        elif isinstance(node, COMPREHENSIONS):
            inner |= frozenset().union(*(bound_names(one.target) for one in node.generators))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in own:
            found.add(node.id)
        found |= global_reads(node, inner)
    return found


def _declared_global(function: ast.AST) -> set[str]:
    return {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}


def kind_of(tree: ast.Module, exercise: str) -> ExerciseKind | None:
    """Whether an answer cell defines a function or a value under the exercise's name; None: neither."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == exercise:
            return ExerciseKind.FUNCTION
        if isinstance(node, ast.ClassDef) and node.name == exercise:
            return None
    return ExerciseKind.VALUE if exercise in global_names(tree) else None


def foreign_names(tree: ast.AST, known: set[str]) -> Iterator[CellFault]:
    """Names that a test takes from other cells: the judge gives it none."""
    have = set(bound_names(tree)) | known | set(dir(builtins))
    reported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in have | reported:
            reported.add(node.id)
            remedy = "A test stands alone: import or define it in the same cell, above the place that uses it."
            yield CellFault(f"uses {node.id!r} from another cell", remedy, node.lineno)


def misuse(tree: ast.Module, exercises: Mapping[str, ExerciseKind | None]) -> Iterator[CellFault]:
    """What a test does with answers other than calling functions and reading values.

    Args:
        tree: the test cell.
        exercises: every exercise of the chapter; None as its kind leaves open which it is.
    """
    for name, line in bound_names(tree).items():
        if name in exercises:
            yield CellFault(f"binds {name!r}, the name of an exercise", "Call it something else.", line)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    answers = _answer_names(tree, exercises)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in exercises:
            yield from _use_faults(node, parents, exercises[node.id])
        if not isinstance(node, ast.Attribute) or node.attr not in GRADIENT_ATTRIBUTES:
            continue
        held = isinstance(node.value, ast.Name) and node.value.id in answers
        if held or _mentions_call(node.value, exercises):
            what = f"takes .{node.attr} of an answer, and gradients do not cross to the judge"
            yield CellFault(what, "Let the exercise return the gradient as a value.", node.lineno)


def _use_faults(node: ast.Name, parents: Mapping[ast.AST, ast.AST], kind: ExerciseKind | None) -> Iterator[CellFault]:
    """Faults of one mention of an exercise."""
    parent = parents[node]
    as_argument = isinstance(parent, ast.keyword) or (isinstance(parent, ast.Call) and node in parent.args)
    call = parents[parent] if isinstance(parent, ast.keyword) else parent
    called = isinstance(parent, ast.Call) and parent.func is node
    inspects = as_argument and isinstance(call, ast.Call) and _last_name(call.func) in INSPECTIONS
    if isinstance(parent, ast.ClassDef) and node in parent.bases:
        what, remedy = f"makes a subclass of {node.id!r}", "An exercise is a function or a plain value."
    elif isinstance(parent, ast.Attribute):
        what = f"takes .{parent.attr} of {node.id!r}"
        remedy = "Call it, read it whole, or index it: attributes do not cross to the judge."
    elif inspects and (kind is ExerciseKind.FUNCTION or node is not call.args[0]):  # type: ignore[attr-defined]  # a Call, as above
        what = f"inspects {node.id!r} with {_last_name(call.func)}()"  # type: ignore[attr-defined]
        remedy = "A test sees a stand-in: judge the answer by what it returns."
    elif kind is ExerciseKind.FUNCTION and not called and not as_argument:
        what, remedy = f"uses the function {node.id!r} without calling it", "Call it, or pass it to a helper that does."
    elif kind is ExerciseKind.VALUE and called:
        what, remedy = f"calls {node.id!r}, which is a value", "Read it."
    else:
        return
    yield CellFault(what, remedy, node.lineno)


def _answer_names(tree: ast.Module, exercises: Mapping[str, ExerciseKind | None]) -> set[str]:
    """Names that hold what an exercise returned."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _mentions_call(node.value, exercises):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _mentions_call(node: ast.expr, exercises: Mapping[str, ExerciseKind | None]) -> bool:
    return any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in exercises
        for part in ast.walk(node)
    )


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def rule_faults(tree: ast.Module, exercise: str, on_gpu: bool) -> Iterator[CellFault]:
    """Rules for test cells that concern neither names nor proxies."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if exercise not in names:
        yield CellFault(f"never looks at {exercise!r}", "Test the answer that it is named after.")
    for call in calls:
        if _last_name(call.func) == "print" and isinstance(call.func, ast.Name):
            remedy = "A wrong answer raises, a right one is silent: use gpulab.check."
            yield CellFault("prints", remedy, call.lineno)
    draws = _draws(tree)
    if draws and not any(_last_name(call.func) == "seed" and not call.args for call in calls):
        yield CellFault("draws random inputs without gpulab.seed()", "Seed the generator with seed().", draws)
    gates = [call for call in calls if _last_name(call.func) == "needs_gpu"]
    if on_gpu and not _opens_with_needs_gpu(tree):
        yield CellFault("does not begin with needs_gpu()", "Call it first, right below the imports.")
    if not on_gpu and gates:
        yield CellFault(
            "calls needs_gpu(), and a _test cell runs everywhere", "Move that part to a _gpu cell.", gates[0].lineno
        )


def grader_faults(tree: ast.AST) -> Iterator[CellFault]:
    """Imports of the harness in code that students get: they have no `grader`, and its exercises hold the answers."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                modules = [alias.name for alias in aliases]
            case ast.ImportFrom(module=str(module), level=0):
                modules = [module]
            case _:
                continue
        for module in modules:
            if module.partition(".")[0] == "grader":
                remedy = "Import from gpulab here; grader.exercises is for the hidden parts of test cells only."
                yield CellFault(
                    f"imports {module!r} where students see it, and they do not have it", remedy, node.lineno
                )


def _draws(tree: ast.Module) -> int:
    """The first line that draws random numbers; 0 when none does."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module)) if module in RANDOM_MODULES:
                return node.lineno
            case ast.Call(func=function) if _last_name(function) in RANDOM_CALLS:
                return node.lineno
    return 0


def _opens_with_needs_gpu(tree: ast.Module) -> bool:
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        return (
            isinstance(statement, ast.Expr)
            and isinstance(statement.value, ast.Call)
            and _last_name(statement.value.func) == "needs_gpu"
        )
    return False
