"""Demonstrations of a chapter whose exercises nobody has solved: each says in one line what it waits for."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest
from drawn import some
from nbclient import NotebookClient
from nbformat import NotebookNode

from grader.authoring.execution import OwnKernel, kernel_environment

pytestmark = pytest.mark.long

NOTEBOOKS = sorted((Path(__file__).resolve().parents[3] / "notebooks").glob("[0-9]*/*.ipynb"))


def names(cell: NotebookNode) -> tuple[set[str], set[str]]:
    """The names that a cell reads, and those that it binds at its top level or deeper."""
    try:
        nodes = list(ast.walk(ast.parse(cell.source)))
    except SyntaxError:  # a magic
        return set(), set()
    read = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
    return read, bound | {(one.asname or one.name).split(".")[0] for node in imports for one in node.names}


def role(cell: NotebookNode) -> str:
    settings = cell.metadata.get("nbgrader", {})
    return "test" if settings.get("grade") else "solution" if settings.get("solution") else "given"


def waiting(notebook: NotebookNode) -> list[NotebookNode]:
    """The cells that use an exercise, with all those before them that they need: the others need not run."""
    exercises = {cell.metadata["nbgrader"]["grade_id"] for cell in notebook.cells if role(cell) == "solution"}
    kept: list[NotebookNode] = []
    wanted: set[str] = set()
    for cell in reversed([cell for cell in notebook.cells if cell.cell_type == "code"]):
        read, bound = names(cell)
        magic = cell.source.startswith("%%")  # such as a file that a later cell runs
        if role(cell) == "solution" or magic or bound & wanted or (role(cell) == "given" and read & exercises):
            kept.append(cell)
            wanted |= read - exercises
    return kept[::-1]


@pytest.mark.slow
@pytest.mark.parametrize("path", some(NOTEBOOKS, 3), ids=lambda path: path.stem)
def test_demonstrations_of_an_unsolved_chapter_say_what_they_wait_for(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = waiting(notebook)
    client = NotebookClient(notebook, timeout=120, allow_errors=True, kernel_manager_class=OwnKernel)
    with kernel_environment() as environment:
        client.execute(env=environment, cwd=str(tmp_path))  # a chapter writes scripts into its folder
    errors = [
        "\n".join(output.traceback)
        for cell in notebook.cells
        for output in cell.outputs
        if output.output_type == "error" and role(cell) == "given" and "gpu" not in cell.metadata.get("tags", ())
    ]
    assert errors
    assert [text for text in errors if not text.startswith("Solve `") or "\n" in text] == []
