"""The page that students open first, `notebooks/README.ipynb`: chapters with time and points, and a cell for progress.

Made from the releases and never edited; how far a student is, `gpulab.progress` reads when they run the cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.model.course import Chapter, Course
from grader.model.findings import Finding
from grader.model.notebook_io import KERNELSPEC, LANGUAGE_INFO, stable_ids, to_text, write
from grader.model.notebooks import Role, cells_of, read_own
from grader.report.class_statistics import points

WORDS_A_MINUTE = 130
MINUTES_A_POINT = 4
"""With the reading, a rough estimate of what a chapter takes: nobody was timed."""


@dataclass(frozen=True)
class Outline:
    """What a student wants to know of a chapter before opening it."""

    name: str
    title: str
    exercises: int
    points: float
    gpu_points: float
    words: int

    @property
    def number(self) -> str:
        """`01` of `01_gpu_architecture`."""
        return self.name.partition("_")[0]

    @property
    def points_text(self) -> str:
        """`27, and 3 on a GPU`."""
        more = f", and {points(self.gpu_points)} on a GPU" if self.gpu_points else ""
        return f"{points(self.points)}{more}"

    @property
    def hours_text(self) -> str:
        """`about 3 h`, to the half hour."""
        minutes = self.words / WORDS_A_MINUTE + MINUTES_A_POINT * (self.points + self.gpu_points)
        halves = max(1, round(minutes / 30))
        return f"about {halves // 2 or ''}{'½' if halves % 2 else ''} h".replace(" ", "\N{NO-BREAK SPACE}")


def outline_of(chapter: Chapter) -> Outline:
    """The outline of a released chapter.

    Raises:
        CourseError: it is not released.
    """
    cells = list(cells_of(read_own(chapter.release, f'Run "grader release {chapter.name}".')))
    prose = [cell.source for cell in cells if cell.role is Role.PROSE]
    tests = [cell for cell in cells if cell.role is Role.TEST]
    heading = next((line[2:] for text in prose for line in text.splitlines() if line.startswith("# ")), chapter.name)
    return Outline(
        name=chapter.name,
        title=heading.strip(),
        exercises=sum(cell.role is Role.SOLUTION for cell in cells),
        points=sum(cell.points for cell in tests if not cell.on_gpu_only),
        gpu_points=sum(cell.points for cell in tests if cell.on_gpu_only),
        words=sum(len(text.split()) for text in prose),
    )


def launcher_file(course: Course) -> Path:
    """Where the page lies."""
    return course.root / "notebooks" / "README.ipynb"


def text_of(outlines: Sequence[Outline]) -> str:
    """The page for these chapters, as a notebook's text."""
    rows = "\n".join(
        f"| {one.number} | [{one.title}]({one.name}/{one.name}.ipynb) | {one.hours_text} | {one.exercises} "
        f"| {one.points_text} |"
        for one in outlines
    )
    cells = [
        new_markdown_cell(
            "# GPU programming in notebooks\n\n"
            "Read, predict, run, write. A click on a title opens the chapter.\n\n"
            "| | chapter | time | exercises | points |\n|---|---|---|---|---|\n"
            f"{rows}\n\n"
            "The times are rough estimates. Points *on a GPU* can only be earned on a GPU; without one they stay "
            "pending and are not lost. The first cell of each chapter says which device it found and what that means "
            "for you."
        ),
        new_markdown_cell(
            "## Your progress\n\n"
            "Save your chapters, then run the cell below: click into it and press **Shift+Enter**. It reads the saved "
            "notebooks and does not run them."
        ),
        new_code_cell("from gpulab.progress import progress\n\nprogress()"),
        new_markdown_cell(
            "## How it works\n\n"
            "1. Replace `raise NotImplementedError()` with your answer, run the cell, and run the test cell below it. "
            "If the test prints nothing, your answer has passed.\n"
            "2. **Validate**, in the toolbar of a chapter, runs everything in order in a fresh kernel. What passes "
            "there does not depend on cells that you have deleted since.\n"
            "3. Hints are folded: click on them.\n"
            "4. Hand in with *Nbgrader → Assignment List*, or upload the chapter's notebook where your course collects "
            "them.\n\n"
            "When a chapter is graded, its tests run again, with more cases that you do not see and with random "
            "inputs. A function must leave its arguments as they were, unless the exercise says otherwise."
        ),
    ]
    for cell, name in zip(cells, stable_ids(cells), strict=True):
        cell["id"] = name
    metadata = {"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO}
    return to_text(nbformat.from_dict(new_notebook(cells=cells, metadata=metadata)))


def _text(course: Course) -> str | None:
    """The page for all chapters that are released; None when there are none."""
    released = [chapter for chapter in course.chapters() if chapter.release.is_file()]
    return text_of([outline_of(chapter) for chapter in released]) if released else None


def refresh(course: Course) -> bool:
    """Writes the page, when chapters are released; gives whether that changed it.

    Raises:
        CourseError: a release cannot be read, or the folder not be written.
    """
    text = _text(course)
    return text is not None and write(launcher_file(course), text.encode())


def check(course: Course) -> list[Finding]:
    """Whether the page is what `refresh` would make. Writes nothing."""
    text, path = _text(course), launcher_file(course)
    if text is None or (path.is_file() and path.read_text(encoding="utf-8") == text):
        return []
    return [Finding("notebooks/README.ipynb", "not what the released chapters make it", 'Run "grader release".')]
