"""An untrusted notebook, fixed as far as it can be, as steps to run and judge.

Reads bytes that a student sent: broken JSON, absurd sizes, missing metadata, deleted, copied and reordered cells. What
comes out is a list of steps in an order that makes sense, and one sentence for each thing that had to be fixed. Runs
nothing (`session`) and finds no files (`find`).
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.model.course import CourseError
from grader.model.menus import Codes
from grader.model.notebooks import Cell, ChapterKey, Role
from grader.model.syntax import syntax_tree

MAX_NOTEBOOK_BYTES = 20_000_000
MAX_CELLS = 2_000
MAX_SOURCE_CHARACTERS = 500_000
MAX_CONTAINERS = 2_000_000
"""Lists and objects, by their brackets: a file of nothing else takes a gigabyte, and every thread waits for it."""
MAX_PARSED_CHARACTERS = 20_000
"""Of a cell that is parsed as Python. An f-string takes the square of its length, and all other threads wait: in half
a million characters, long enough for other submissions' cells to run out of time."""
MAX_PARSED_TOGETHER = 1_000_000
"""Of all cells of a notebook; in those beyond, names are guessed."""
MAX_COMPARISONS = 60
"""Of texts letter by letter, over all cells without metadata: a file full of lookalikes must not take an hour."""


class Action(StrEnum):
    """What to do with a step."""

    RUN = "run"
    """Run the source in the student's process."""
    TEST = "test"
    """Run the instructor's test cell in the judge."""
    SHOW = "show"
    """Nothing: prose, a demonstration that was left as it was, an exercise that was left blank."""


@dataclass(frozen=True)
class Step:
    """One cell of the notebook as it will be graded."""

    id: str
    action: Action
    source: str
    code: bool = True
    """Whether it is a code cell; else markdown."""
    key: Cell | None = None
    """The chapter's own cell that this is; None for a cell that the student added."""
    before: str = ""
    """Code to run first: the chapter's own version of a cell that the student has changed."""


@dataclass(frozen=True)
class Submission:
    """A notebook that can be graded."""

    steps: tuple[Step, ...]
    attempted: frozenset[str]
    """Exercises that the student wrote anything for."""
    repairs: tuple[str, ...] = ()
    codes: Mapping[str, Codes] = field(default_factory=dict)
    """Exercise → how its menu is written in this student's variant; empty where everybody has the same notebook."""


@dataclass
class _Found:
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


AGAIN = "Ask the student to save the notebook in JupyterLab and submit it again."


def read(path: Path, key: ChapterKey) -> Submission:
    """The submission in this file.

    Raises:
        CourseError: it is missing, too large, not a notebook, or not of this chapter.
    """
    return from_bytes(load(path), path, key)


def load(path: Path) -> bytes:
    """What is in the file.

    Raises:
        CourseError: it is missing or too large.
    """
    try:
        size = path.stat().st_size
        if size > MAX_NOTEBOOK_BYTES:
            limit = f"the limit is {MAX_NOTEBOOK_BYTES / 1e6:.0f} MB"
            remedy = "Ask the student to clear the outputs and submit it again."
            raise CourseError(path, f"the notebook has {size / 1e6:.0f} MB, {limit}", remedy)
        return path.read_bytes()
    except FileNotFoundError:
        raise CourseError(path, "no notebook there", AGAIN) from None
    except OSError as error:
        raise CourseError(path, f"cannot be read ({error.strerror})", "Check the file's permissions.") from None


def from_bytes(data: bytes, where: str | Path, key: ChapterKey) -> Submission:
    """The submission in these bytes.

    Raises:
        CourseError: they are not a notebook, or not of this chapter; `where` says which file they come from.
    """
    try:
        return parse(data, key)
    except ValueError as error:
        raise CourseError(where, str(error), AGAIN) from None


def parse(data: bytes, key: ChapterKey) -> Submission:
    """The submission in these bytes.

    Raises:
        ValueError: they are not a notebook of this chapter; the text says why, without a full stop.
    """
    found = _cells(data)
    repairs = _match(found, key)
    if not any(cell.match and cell.match.grade_id for cell in found):
        others = sorted({cell.grade_id for cell in found if re.fullmatch(r"[\w-]{1,60}", cell.grade_id)})
        hint = f" (it has {', '.join(others[:3])}, …)" if others else ""
        raise ValueError(f"not a notebook of chapter {key.name}: it has none of its exercises{hint}")
    return _arrange(found, key, repairs)


def from_answers(key: ChapterKey, answers: dict[str, str]) -> Submission:
    """The released notebook with the solution cells of some exercises replaced: what a student would have sent."""
    found = [
        _Found(
            kind="markdown" if cell.role is Role.PROSE else "code",
            source=answers.get(cell.grade_id, key.released.get(cell.id, "")),
            id=cell.id,
            grade_id=cell.grade_id,
            match=cell,
        )
        for cell in key.cells
    ]
    return _arrange(found, key, [])


# ------------------------------------------------------------------------------------------------------ untrusted JSON


def _cells(data: bytes) -> list[_Found]:
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


def _cell(raw: dict[str, Any]) -> _Found:
    source = raw.get("source", "")
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str) or len(source) > MAX_SOURCE_CHARACTERS:
        source = ""
    metadata = raw.get("metadata")
    settings = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = settings.get("grade_id") if isinstance(settings, dict) else None
    return _Found(
        kind=next((kind for kind in ("code", "markdown") if raw.get("cell_type") == kind), "raw"),
        source=source.encode("utf-8", "replace").decode(),  # lone surrogates would stop every later writer
        id=raw["id"] if isinstance(raw.get("id"), str) else "",
        grade_id=grade_id if isinstance(grade_id, str) else "",
    )


# ------------------------------------------------------------------------------------------------ whose cell is whose


def _match(found: list[_Found], key: ChapterKey) -> list[str]:
    """Sets each cell's `match`, by grade id, then id, then content. The repairs that this took."""
    repairs = []
    graded = {cell.grade_id: cell for cell in key.cells if cell.grade_id}
    plain = {cell.id: cell for cell in key.cells if not cell.grade_id}
    for cell in found:
        candidate = graded.get(cell.grade_id) or (None if cell.grade_id else graded.get(cell.id) or plain.get(cell.id))
        if candidate and (candidate.role is Role.PROSE) == (cell.kind == "markdown"):
            cell.match = candidate
        elif candidate and candidate.grade_id:
            repairs.append(f"The cell {candidate.grade_id} had been turned into a {cell.kind} cell.")
    taken = {cell.match.id for cell in found if cell.match}
    comparisons = iter(range(MAX_COMPARISONS))
    for cell in found:
        if cell.match is None and cell.kind == "code":
            candidate = _by_content(cell, [own for own in key.cells if own.id not in taken], key, comparisons)
            if candidate:
                cell.match = candidate
                taken.add(candidate.id)
                if candidate.grade_id:
                    repairs.append(f"The cell {candidate.grade_id} had lost its metadata; it was found by its content.")
    return repairs


def _by_content(found: _Found, candidates: list[Cell], key: ChapterKey, comparisons: Iterator[int]) -> Cell | None:
    """The chapter's cell that this nameless one must be: the same text, a changed test, or an exercise's answer."""
    stripped = _plain(found.source)
    for cell in candidates:
        if cell.role is not Role.PROSE and stripped and _plain(key.released.get(cell.id, "")) == stripped:
            return cell
    defined = found.names
    for cell in candidates:
        if cell.role is Role.SOLUTION and cell.grade_id in defined:
            return cell
    for cell in candidates:
        if cell.role is Role.TEST and cell.exercise not in defined:
            ours = _plain(key.released.get(cell.id, ""))
            if _alike(ours, stripped, comparisons):
                return cell
    return None


def _alike(ours: str, theirs: str, comparisons: Iterator[int]) -> bool:
    """Whether one text is the other with a few changes; no, where only a comparison could tell and none are left."""
    if 2 * min(len(ours), len(theirs)) <= 0.8 * (len(ours) + len(theirs)):
        return False
    likeness = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    return likeness.quick_ratio() > 0.8 and next(comparisons, None) is not None and likeness.ratio() > 0.8


def _plain(source: str) -> str:
    """The source without what does not matter when two cells are compared."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines() if line.strip())


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


# ----------------------------------------------------------------------------------------------------- into an order


def _arrange(found: list[_Found], key: ChapterKey, repairs: list[str]) -> Submission:
    """The steps: the student's order, each test after its exercise, what was deleted put back."""
    placed: list[tuple[tuple[float, int], Step]] = []
    last_of: dict[str, float] = {}
    attempted: set[str] = set()
    seen: dict[str, int] = {}
    rank = {cell.id: index for index, cell in enumerate(key.cells)}
    tests_at: dict[str, float] = {}
    for position, cell in enumerate(found):
        own = cell.match
        if own is not None:
            seen[own.id] = seen.get(own.id, 0) + 1
            if seen[own.id] == 2:
                repairs.append(f"The cell {own.grade_id or own.id} occurs more than once; the last version counts.")
        if own is not None and own.role is Role.TEST:
            tests_at[own.grade_id] = position
            continue
        if own is not None and own.role is Role.SOLUTION:
            last_of[own.grade_id] = position
            if _plain(cell.source) != _plain(key.released.get(own.id, "")):
                attempted.add(own.grade_id)
        elif cell.kind == "code" and (own is None or _plain(cell.source) != _plain(key.released.get(own.id, ""))):
            attempted.update(cell.names & set(key.exercises))  # answered in a cell of their own
        placed.append(((position, 0), _step(cell, own, key)))
    at = {step.key.id: where[0] for where, step in placed if step.key is not None} | tests_at  # a test's id is its name
    for own in key.cells:
        if own.role is Role.TEST:
            if own.grade_id not in tests_at:
                repairs.append(f"The test cell {own.grade_id} was missing; it was put back.")
            where = max(tests_at.get(own.grade_id, -1.0), last_of.get(own.exercise, -1.0))
            if where < 0:  # neither the test nor its exercise is there
                where = _after(own, key, at)
            placed.append(((where, 1 + rank[own.id]), Step(own.id, Action.TEST, own.source, key=own)))
        elif own.id not in seen and (own.role is Role.SOLUTION or (own.role is Role.CODE and _runs(own))):
            if own.role is Role.SOLUTION:
                repairs.append(f"The cell {own.grade_id} was missing; an empty one was put back.")
            action = Action.RUN if own.role is Role.CODE else Action.SHOW
            step = Step(own.id, action, key.released.get(own.id, ""), key=own)
            placed.append(((_after(own, key, at), 1 + rank[own.id]), step))
    placed.sort(key=lambda pair: pair[0])
    return Submission(_unique(step for _, step in placed), frozenset(attempted), tuple(repairs))


def _step(cell: _Found, own: Cell | None, key: ChapterKey) -> Step:
    """What to do with one submitted cell that is not a test."""
    if cell.kind != "code":
        return Step(cell.id, Action.SHOW, cell.source, code=False, key=own)
    if own is None:
        return Step(cell.id, Action.RUN, cell.source)
    unchanged = _plain(cell.source) == _plain(key.released.get(own.id, ""))
    if own.role is Role.SOLUTION:
        return Step(own.id, Action.SHOW if unchanged else Action.RUN, cell.source, key=own)
    if unchanged:
        return Step(own.id, Action.RUN if _runs(own) else Action.SHOW, cell.source, key=own)
    # A student who added an import to one of our cells needs it; one who broke the cell must not lose what it defines.
    return Step(own.id, Action.RUN, cell.source, key=own, before=own.source if _runs(own) else "")


def _runs(own: Cell) -> bool:
    """Whether a cell of the chapter's own is needed for grading: demonstrations are not."""
    return not own.tags & {"demo", "gpu"}


def _after(own: Cell, key: ChapterKey, at: dict[str, float]) -> float:
    """The position of the nearest of the chapter's cells before this one that is there."""
    index = next(i for i, cell in enumerate(key.cells) if cell.id == own.id)
    for earlier in reversed(key.cells[:index]):
        if earlier.id in at:
            return at[earlier.id]
    return -1.0


def _unique(steps: Any) -> tuple[Step, ...]:
    """The steps with ids that are there and differ; the last of several keeps the id, since its version counts."""
    steps = list(steps)
    # A cell of the student's under a test's id must not take its place: that test would not be run.
    ours = {step.id for step in steps if step.key is not None and step.key.id == step.id}
    used: set[str] = set()
    result: list[Step] = []
    for number, step in enumerate(reversed(steps)):
        name, own = step.id, step.key
        stranger = name in ours and (own is None or own.id != name)
        if not re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", name) or name in used or stranger:
            name = f"added-{number}"
            while name in used or name in ours:
                name += "x"
            own = own if own is not None and own.id not in used and own.id == step.id else None
        used.add(name)
        result.append(Step(name, step.action, step.source, step.code, own, step.before))
    return tuple(reversed(result))
