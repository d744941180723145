"""docs/architecture.md is the map of the packages, and the code keeps to it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_MODULES = 20
"""In one folder: more no longer show its structure."""
APART = "grader.exercises"
"""What only judges may have; it may use all of `gpulab`, and hidden tests alone import it."""
WITH_ANSWERS = ("grader.dev",)
"""And the author's own tools, which time the solutions against the same references; no student's process has them."""


def mapped(top: str) -> list[str]:
    """The packages of one table, from the bottom up."""
    return re.findall(rf"^\| `({top}\.\w+)` \|", MAP, re.MULTILINE)


def there(top: str) -> set[str]:
    """The packages and single modules of a distribution package."""
    inner = [path for path in (ROOT / top).iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    return {f"{top}.{path.stem}" for path in inner if not path.stem.startswith("__")} - {APART}


def modules() -> list[Path]:
    return sorted(path for top in ("gpulab", "grader") for path in (ROOT / top).rglob("*.py"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of ours that a module imports, also inside of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def violations(path: Path, source: str) -> list[str]:
    """What this module imports although it must not."""
    own = name_of(path)
    found = []
    for name in imported(ast.parse(source)):
        top = name.split(".")[0]
        if top not in ("gpulab", "grader"):
            continue
        order = mapped(top)
        mine, theirs = ".".join(own.split(".")[:2]), ".".join(name.split(".")[:2])
        if own.startswith("gpulab") and top == "grader":
            found.append(f"{own} imports {name}: gpulab never imports grader")
        elif theirs == APART and mine not in (APART, *WITH_ANSWERS):
            found.append(f"{own} imports {name}: only hidden tests may")
        elif mine in order and theirs in order and order.index(theirs) > order.index(mine):
            found.append(f"{own} imports {name}, which stands below it in docs/architecture.md")
        topic, other = own.split(".")[2:3], name.split(".")[2:3]
        if mine == theirs == "gpulab.chapters" and topic and other and topic != other:
            found.append(f"{own} imports {name}: chapters do not import each other")
    return found


@pytest.mark.parametrize("top", ["gpulab", "grader"])
def test_the_map_names_every_package(top: str) -> None:
    assert set(mapped(top)) == there(top)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    assert violations(path, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("gpulab/tables.py", "from gpulab.figures import plot"),
        ("gpulab/figures/plot.py", "def f():\n    from gpulab import trace"),
        ("gpulab/check/compare.py", "import grader.model.course"),
        ("grader/model/course.py", "from grader.judging.session import grade"),
        ("grader/judging/judge.py", "from grader.exercises.inference import right"),
        ("gpulab/chapters/inference/graph.py", "from gpulab.chapters.transfers import models"),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str) -> None:
    assert len(violations(ROOT / module, source)) == 1


def test_folders_show_their_structure() -> None:
    full = {path.parent for path in modules() if len(list(path.parent.glob("*.py"))) > MOST_MODULES}
    assert sorted(map(str, full)) == []
