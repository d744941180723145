"""A chapter's notebook as the rest of the harness sees it: cells with roles, exercises, points, regions.

Reads nbgrader's metadata; decides nothing about submissions (`submission`) and writes nothing (`build`, `release`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import nbformat

from grader.model.course import Chapter, CourseError
from grader.model.needs import Need, declared_words, needs_of
from grader.model.results import exercise_of

SOLUTION = re.compile(r"^[ \t]*### BEGIN SOLUTION[^\n]*\n(.*?)^[ \t]*### END SOLUTION[^\n]*$", re.MULTILINE | re.DOTALL)
HIDDEN = re.compile(
    r"^[ \t]*### BEGIN HIDDEN TESTS[^\n]*\n(.*?)^[ \t]*### END HIDDEN TESTS[^\n]*$\n?", re.MULTILINE | re.DOTALL
)


class Role(StrEnum):
    """What a cell is for."""

    PROSE = "prose"
    CODE = "code"
    """Ungraded code of the chapter: imports, references, demonstrations."""
    SOLUTION = "solution"
    TEST = "test"


@dataclass(frozen=True)
class Cell:
    """One cell of a chapter."""

    id: str
    role: Role
    source: str
    grade_id: str = ""
    points: float = 0.0
    tags: frozenset[str] = frozenset()
    needs: frozenset[Need] = frozenset()
    """Which of the judge's services a test cell declares that it uses."""

    @property
    def exercise(self) -> str:
        """The exercise that a solution or test cell belongs to; empty for the others."""
        return exercise_of(self.grade_id)

    @property
    def on_gpu_only(self) -> bool:
        """Whether the cell makes sense on a GPU only."""
        return "gpu" in self.tags or (self.role is Role.TEST and self.grade_id.endswith("_gpu"))


@dataclass(frozen=True)
class ChapterKey:
    """What grading a chapter needs to know: the instructor's cells, and the release that students started from."""

    name: str
    cells: tuple[Cell, ...]
    """The instructor's cells in order, with answers and hidden tests."""
    released: dict[str, str]
    """Cell id → source in the student release."""

    @property
    def tests(self) -> tuple[Cell, ...]:
        """The test cells in order."""
        return tuple(cell for cell in self.cells if cell.role is Role.TEST)

    @property
    def exercises(self) -> tuple[str, ...]:
        """Grade ids of the solution cells, in order: the only names that a test may take from a student."""
        return tuple(cell.grade_id for cell in self.cells if cell.role is Role.SOLUTION)

    @property
    def launches_triton(self) -> bool:
        """Whether the chapter's launches are Triton's: those are counted in the process that makes them."""
        return any("use_triton" in cell.source for cell in self.cells)

    @property
    def digest(self) -> str:
        """Hash over everything that can change a grade."""
        text = repr(
            [
                (cell.id, cell.role.value, cell.source, cell.grade_id, cell.points, sorted(cell.needs))
                for cell in self.cells
            ]
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def cell(self, grade_id: str) -> Cell:
        """The solution or test cell with this grade id (KeyError when there is none)."""
        for cell in self.cells:
            if cell.grade_id == grade_id:
                return cell
        raise KeyError(grade_id)


def cells_of(notebook: nbformat.NotebookNode) -> Iterator[Cell]:
    """The cells of a notebook that the harness itself built, with their roles."""
    for cell in notebook.cells:
        settings = cell.metadata.get("nbgrader", {})
        if settings.get("grade") and not settings.get("solution"):
            role = Role.TEST
        elif settings.get("solution"):
            role = Role.SOLUTION
        else:
            role = Role.CODE if cell.cell_type == "code" else Role.PROSE
        yield Cell(
            id=cell.get("id", ""),
            role=role,
            source=cell.source,
            grade_id=settings.get("grade_id", "") if role in (Role.TEST, Role.SOLUTION) else "",
            points=float(settings.get("points", 0) or 0) if role is Role.TEST else 0.0,
            tags=frozenset(cell.metadata.get("tags", ())),
            needs=needs_of(declared_words(cell.metadata.get("needs"))) if role is Role.TEST else frozenset(),
        )


def read_own(path: Path, remedy: str) -> nbformat.NotebookNode:
    """A notebook that the harness wrote itself.

    Raises:
        CourseError: it is missing or cannot be read; `remedy` says what to do.
    """
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise CourseError(path, "not there", remedy) from None
    except (OSError, ValueError, nbformat.reader.NotJSONError) as error:
        raise CourseError(path, f"not a readable notebook ({type(error).__name__})", remedy) from None


def load_key(chapter: Chapter) -> ChapterKey:
    """The key of a chapter that has been built and released.

    Raises:
        CourseError: the built notebook or the release is missing or unreadable.
    """
    solution = read_own(chapter.solution, f'Run "grader build {chapter.name}".')
    release = read_own(chapter.release, f'Run "grader release {chapter.name}".')
    return ChapterKey(
        name=chapter.name,
        cells=tuple(cells_of(solution)),
        released={cell["id"]: cell.source for cell in release.cells},
    )


def visible(source: str) -> str:
    """A test cell's source without its hidden region, as the release shows it."""
    return HIDDEN.sub("", source).strip("\n")
