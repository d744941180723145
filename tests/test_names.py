"""A name means one thing: classes, modules of `grader`, and modules next to the functions of their package."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from courses import ROOT

IMITATES_TORCH = "both stand in for the class of torch.cuda that has this name, and show it"
CLASSES_IN_TWO = {
    "Event": IMITATES_TORCH,
    "Stream": IMITATES_TORCH,
    "LaunchError": "students read both names: one in messages about kernels, the other about scripts of several ranks",
}
"""Class → why two modules may define it."""
MODULES_LIKE_CALLABLES = {
    "gpulab.progress": "the students' start page imports its only function",
    "gpulab.trace": "the function is written `cuda_cpp.trace`, and only so",
    "grader.cli.main": "the entry point of the command is called so by convention",
    "grader.exercises.confront": "hidden tests import its only function",
}
"""Module → why a public function or class of its package may have its name."""
PER_TOPIC = "one for each topic of exercises, looked up by this name"
SUBCOMMAND = "the module in grader.cli is named after its subcommand"
PER_COMMAND = "the benchmark's and the proof's; each is read next to the others of its package"
MODULES_IN_TWO = {
    "collect": SUBCOMMAND,
    "comparisons": PER_TOPIC,
    "confrontations": PER_TOPIC,
    "doctor": SUBCOMMAND,
    "needs": "one defines the needs, the other, among the lints, checks that cells declare theirs",
    "report": PER_COMMAND,
    "run": PER_COMMAND,
    "sample": SUBCOMMAND,
    "site": SUBCOMMAND,
}
"""Module's name → why two packages of `grader` may have one."""


def sources() -> dict[Path, str]:
    paths = (path for top in ("gpulab", "grader") for path in (ROOT / top).rglob("*.py"))
    return {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in paths}


def classes_in_two(files: Mapping[Path, str]) -> set[str]:
    """Names of classes, nested ones too, that another module gives to a class or to something else, such as a type."""
    classes: dict[str, set[Path]] = defaultdict(set)
    assigned: dict[str, set[Path]] = defaultdict(set)
    for path, source in files.items():
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].add(path)
        for statement in tree.body:
            for target in statement.targets if isinstance(statement, ast.Assign) else []:
                if isinstance(target, ast.Name):
                    assigned[target.id].add(path)
    return {name for name, paths in classes.items() if len(paths | assigned[name]) > 1}


def modules_like_callables(files: Mapping[Path, str]) -> set[str]:
    """Modules and packages with the name of a function or class that a module next to them defines."""
    beside: dict[Path, set[str]] = defaultdict(set)
    for path, source in files.items():
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        beside[path.parent] |= {node.name for node in ast.parse(source).body if isinstance(node, kinds)}
    homes = (path.parent if path.name == "__init__.py" else path.with_suffix("") for path in files)
    return {".".join(home.parts) for home in homes if home.name in beside[home.parent]}


def modules_in_two(files: Mapping[Path, str]) -> set[str]:
    """Names that modules of two packages of `grader` share."""
    names = [path.stem for path in files if path.parts[0] == "grader" and path.name != "__init__.py"]
    return {name for name in names if names.count(name) > 1}


def test_a_class_is_defined_once() -> None:
    assert classes_in_two(sources()) == set(CLASSES_IN_TWO)


def test_two_modules_of_the_grader_share_a_name_only_for_a_reason() -> None:
    assert modules_in_two(sources()) == set(MODULES_IN_TWO)


def test_a_module_is_not_called_like_a_function_beside_it() -> None:
    assert modules_like_callables(sources()) == set(MODULES_LIKE_CALLABLES)


def test_names_that_mean_two_things_are_found() -> None:
    files = {
        Path("gpulab/check/__init__.py"): "",
        Path("gpulab/check/compare.py"): "def compare(): ...\nclass Row: ...",
        Path("gpulab/check/values.py"): "def check(): ...",
        Path("gpulab/tables.py"): "def check(): ...\ndef rows():\n    class Row: ...",
        Path("grader/intake/page.py"): "",
        Path("grader/report/values.py"): "class Table: ...",
        Path("grader/report/page.py"): "Table = dict[str, float]\nValue = int",
        Path("grader/report/plots.py"): "Value = float",
    }
    assert classes_in_two(files) == {"Row", "Table"}
    assert modules_like_callables(files) == {"gpulab.check", "gpulab.check.compare"}
    assert modules_in_two(files) == {"page"}
