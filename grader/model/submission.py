"""An untrusted notebook, fixed as far as it can be, as steps to run and judge.

Reads bytes that a student sent, with deleted, copied and reordered cells. What comes out is a list of steps in an order
that makes sense, and one sentence for each thing that had to be fixed. Runs nothing (`session`) and finds no files
(`find_submissions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from grader.model.course import CourseError
from grader.model.foreign_files import read_foreign
from grader.model.given_names import GivenNames
from grader.model.matching import match_cells, plain
from grader.model.menus import Codes
from grader.model.notebooks import Cell, ChapterKey, Role
from grader.model.untrusted_cells import MAX_PARSED_CHARACTERS, SubmittedCell, submitted_cells

MAX_NOTEBOOK_BYTES = 20_000_000


class Action(StrEnum):
    """What to do with a step."""

    RUN = "run"
    """Run the source in the student's process."""
    TEST = "test"
    """Run the instructor's test cell in the judge."""
    SHOW = "show"
    """Nothing: prose, a demonstration that was left as it was, an exercise that was left blank."""


@dataclass(frozen=True)
class PlannedCell:
    """One cell of the notebook as it will be graded."""

    id: str
    action: Action
    source: str
    code: bool = True
    """Whether it is a code cell; else markdown."""
    key: Cell | None = None
    """The chapter's own cell that this is; None for a cell that the student added."""
    before: str = ""
    """Code to run first: the chapter's own version of a cell that the student has changed, and what the cell uses of
    demonstrations that are not run."""


@dataclass(frozen=True)
class Submission:
    """A notebook that can be graded."""

    steps: tuple[PlannedCell, ...]
    attempted: frozenset[str]
    """Exercises that the student wrote anything for."""
    repairs: tuple[str, ...] = ()
    codes: Mapping[str, Codes] = field(default_factory=dict)
    """Exercise → how its menu is written in this student's variant; empty where everybody has the same notebook."""

    def demonstrations(self, test: str = "") -> Iterator[str]:
        """The chapter's code that is not run, cell by cell, as far as a test cell."""
        for step in self.steps:
            if step.key is not None and step.key.grade_id == test != "":
                return
            if step.key is not None and step.key.role is Role.CODE and step.action is Action.SHOW:
                yield step.key.source

    def alone(self, exercise: str, in_order: bool = False) -> list[str]:
        """The code that an exercise's clean process runs: its own cell, first unless in order, and the chapter's."""
        own: list[str] = []
        others: list[str] = []
        for step in self.steps:
            if step.action is Action.RUN and step.key is not None and step.key.grade_id == exercise:
                (others if in_order else own).extend(filter(None, (step.before, step.source)))
            elif step.action is Action.RUN and step.key is not None and not step.key.grade_id:
                others.append(step.key.source)
        return own + others

    def writes(self, exercise: str) -> str:
        """The file that an exercise's cell writes by `%%writefile`; empty if it writes none."""
        for step in self.steps:
            if step.key is not None and step.key.grade_id == exercise:
                words = step.source.partition("\n")[0].split()
                return words[-1] if words[:1] == ["%%writefile"] and len(words) > 1 else ""
        return ""


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
        CourseError: it is missing, too large, or something else than an ordinary file.
    """
    try:
        data = read_foreign(path, MAX_NOTEBOOK_BYTES)
    except FileNotFoundError:
        raise CourseError(path, "no notebook there", AGAIN) from None
    except OSError as error:
        remedy = "Check the file's permissions." if isinstance(error, PermissionError) else AGAIN
        raise CourseError(path, f"cannot be read ({error.strerror})", remedy) from None
    if len(data) > MAX_NOTEBOOK_BYTES:
        size = max(len(data), path.lstat().st_size)
        what = f"the notebook has {size / 1e6:.0f} MB, the limit is {MAX_NOTEBOOK_BYTES / 1e6:.0f} MB"
        raise CourseError(path, what, "Ask the student to clear the outputs and submit it again.")
    return data


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
    found = submitted_cells(data)
    repairs = match_cells(found, key)
    if not any(cell.match and cell.match.grade_id for cell in found):
        others = sorted({cell.grade_id for cell in found if re.fullmatch(r"[\w-]{1,60}", cell.grade_id)})
        hint = f" (it has {', '.join(others[:3])}, …)" if others else ""
        raise ValueError(f"not a notebook of chapter {key.name}: it has none of its exercises{hint}")
    return _arrange(found, key, repairs)


def from_answers(key: ChapterKey, answers: dict[str, str]) -> Submission:
    """The released notebook with the solution cells of some exercises replaced: what a student would have sent."""
    found = [
        SubmittedCell(
            kind="markdown" if cell.role is Role.PROSE else "code",
            source=answers.get(cell.grade_id, key.released.get(cell.id, "")),
            id=cell.id,
            grade_id=cell.grade_id,
            match=cell,
        )
        for cell in key.cells
    ]
    return _arrange(found, key, [])


def _arrange(found: list[SubmittedCell], key: ChapterKey, repairs: list[str]) -> Submission:
    """The steps: the student's order, each test after its exercise, what was deleted put back."""
    placed: list[tuple[tuple[float, int], PlannedCell]] = []
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
            if plain(cell.source) != plain(key.released.get(own.id, "")):
                attempted.add(own.grade_id)
        elif cell.kind == "code" and (own is None or plain(cell.source) != plain(key.released.get(own.id, ""))):
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
            placed.append(((where, 1 + rank[own.id]), PlannedCell(own.id, Action.TEST, own.source, key=own)))
        elif own.id not in seen and (own.role is Role.SOLUTION or (own.role is Role.CODE and _runs(own))):
            if own.role is Role.SOLUTION:
                repairs.append(f"The cell {own.grade_id} was missing; an empty one was put back.")
            action = Action.RUN if own.role is Role.CODE else Action.SHOW
            step = PlannedCell(own.id, action, key.released.get(own.id, ""), key=own)
            placed.append(((_after(own, key, at), 1 + rank[own.id]), step))
    placed.sort(key=lambda pair: pair[0])
    return Submission(_unique(_with_given([step for _, step in placed])), frozenset(attempted), tuple(repairs))


def _with_given(steps: list[PlannedCell]) -> Iterator[PlannedCell]:
    """The steps, each with what it uses of demonstrations before it that are not run."""
    given = GivenNames()
    for step in steps:
        own = step.key if step.key is not None and step.key.role is Role.CODE else None
        unchanged = own is not None and not step.before and plain(step.source) == plain(own.source)
        if own is not None and step.action is Action.SHOW:
            given.demonstrate(own.source)
        elif own is not None and (unchanged or step.before):
            given.run(own.source)
        if step.action is Action.RUN and not unchanged and len(step.source) <= MAX_PARSED_CHARACTERS:
            needed = given.needed(step.source)
            step = replace(step, before="\n".join(filter(None, (needed, step.before))))
        yield step


def _step(cell: SubmittedCell, own: Cell | None, key: ChapterKey) -> PlannedCell:
    """What to do with one submitted cell that is not a test."""
    if cell.kind != "code":
        return PlannedCell(cell.id, Action.SHOW, cell.source, code=False, key=own)
    if own is None:
        return PlannedCell(cell.id, Action.RUN, cell.source)
    unchanged = plain(cell.source) == plain(key.released.get(own.id, ""))
    if own.role is Role.SOLUTION:
        return PlannedCell(own.id, Action.SHOW if unchanged else Action.RUN, cell.source, key=own)
    if unchanged:
        return PlannedCell(own.id, Action.RUN if _runs(own) else Action.SHOW, cell.source, key=own)
    # A student who added an import to one of our cells needs it; one who broke the cell must not lose what it defines.
    return PlannedCell(own.id, Action.RUN, cell.source, key=own, before=own.source if _runs(own) else "")


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


def _unique(steps: Iterable[PlannedCell]) -> tuple[PlannedCell, ...]:
    """The steps with ids that are there and differ; the last of several keeps the id, since its version counts."""
    steps = list(steps)
    # A cell of the student's under a test's id must not take its place: that test would not be run.
    ours = {step.id for step in steps if step.key is not None and step.key.id == step.id}
    used: set[str] = set()
    result: list[PlannedCell] = []
    for number, step in enumerate(reversed(steps)):
        name, own = step.id, step.key
        stranger = name in ours and (own is None or own.id != name)
        if not re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", name) or name in used or stranger:
            name = f"added-{number}"
            while name in used or name in ours:
                name += "x"
            own = own if own is not None and own.id not in used and own.id == step.id else None
        used.add(name)
        result.append(PlannedCell(name, step.action, step.source, step.code, own, step.before))
    return tuple(reversed(result))
