"""The cells of an untrusted notebook: broken JSON, absurd sizes, missing metadata. What they are is for `matching`."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grader.model.notebooks import Cell
from grader.model.syntax import syntax_tree

MAX_CELLS = 2_000
MAX_SOURCE_CHARACTERS = 500_000
MAX_CONTAINERS = 2_000_000
"""Lists and objects, by their brackets: a file of nothing else takes a gigabyte, and every thread waits for it."""
MAX_PARSED_CHARACTERS = 20_000
"""Of a cell that is parsed as Python. An f-string takes the square of its length, and all other threads wait: in half
a million characters, long enough for other submissions' cells to run out of time."""
MAX_PARSED_TOGETHER = 1_000_000
"""Of all cells of a notebook; in those beyond, names are guessed."""


@dataclass
class SubmittedCell:
    """A cell as it was submitted."""

    kind: str
    source: str
    id: str
    grade_id: str
    match: Cell | None = None
    parsed: bool = True
    """Whether it is short enough to be parsed."""

    @cached_property
    def names(self) -> set[str]:
        """What it defines."""
        return defined_names(self.source) if self.parsed else _guessed_names(self.source)


def submitted_cells(data: bytes) -> list[SubmittedCell]:
    """What is in a notebook's bytes, cell by cell.

    Raises:
        ValueError: they are not a notebook; the text says why, without a full stop.
    """
    if not data.strip():
        raise ValueError("the file is empty")
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise ValueError(f"more than {MAX_CONTAINERS} lists and objects, so not a notebook that can be read")
    try:
        notebook = json.loads(data)
    except UnicodeDecodeError:
        raise ValueError("not a text file, so not a notebook") from None
    except RecursionError:
        raise ValueError("JSON nested too deeply to be a notebook") from None
    except ValueError as error:
        place = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "somewhere"
        raise ValueError(f"not a whole notebook: the JSON breaks off or is damaged at {place}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("JSON, but not a notebook of format 4 (no list of cells)")
    if len(notebook["cells"]) > MAX_CELLS:
        raise ValueError(f"{len(notebook['cells'])} cells, the limit is {MAX_CELLS}")
    found = [_cell(raw) for raw in notebook["cells"] if isinstance(raw, dict)]
    room = MAX_PARSED_TOGETHER
    for cell in found:
        cell.parsed = len(cell.source) <= min(MAX_PARSED_CHARACTERS, room)
        room -= len(cell.source) if cell.parsed else 0
    return found


def _cell(raw: dict[str, Any]) -> SubmittedCell:
    source = raw.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str) or len(source) > MAX_SOURCE_CHARACTERS:
        source = ""
    metadata = raw.get("metadata")
    settings = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = settings.get("grade_id") if isinstance(settings, dict) else None
    return SubmittedCell(
        kind=next((kind for kind in ("code", "markdown") if raw.get("cell_type") == kind), "raw"),
        source=source.encode("utf-8", "replace").decode(),  # lone surrogates would stop every later writer
        id=raw["id"] if isinstance(raw.get("id"), str) else "",
        grade_id=grade_id if isinstance(grade_id, str) else "",
    )


def defined_names(source: str) -> set[str]:
    """Names that a cell binds at its top level by `def`, `class` or assignment; a guess where it does not parse."""
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _guessed_names(source)
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(leaf.id for target in node.targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def _guessed_names(source: str) -> set[str]:
    return set(re.findall(r"^(?:def\s+|class\s+)?(\w+)(?=\s*\(.*\)\s*:|\s*=[^=])", source, re.MULTILINE))
