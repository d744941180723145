"""Writes docs/gpu_rows.md: how each exercise is checked on the GPU, or why it is not.

`python -m grader.dev.gpu_rows` writes the page; a test compares it. What the page says is looked up in the chapters'
sources: a row's test, the call of `confront`, the piece of a test that is said to run on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.authoring.lint.metadata import role_of
from grader.authoring.myst import ChapterSource, read_source
from grader.exercises.confront import declared, topics
from grader.model.course import Course
from grader.model.notebooks import Role
from grader.model.results import exercise_of
from grader.model.syntax import syntax_tree

PAGE = Path("docs") / "gpu_rows.md"
OPENING = """\
# How each exercise is checked on a GPU

Written by `python -m grader.dev.gpu_rows`; a test compares this page with the chapters. Where a machine has a GPU, an
exercise is checked on it in one or more of three ways:

- a **row of its own**: a test cell that runs on a GPU only; without one, its points are pending;
- **on the device**: its test runs the answer on the GPU where there is one;
- a **reading**: the answer is compared with something that was read or measured on this GPU once, before anything was
  graded. The chapter's own solution is compared with it first, and a reading that contradicts the solution is not used
  ([The judge](judge.md#answers-compared-with-the-gpu)).
"""


@dataclass(frozen=True)
class Met:
    """How one exercise is checked on the GPU."""

    exercise: str
    ways: tuple[str, ...]
    """One sentence each; empty where it does not."""
    why_not: str = ""


def met(source: ChapterSource) -> list[Met]:
    """Each exercise of a chapter, in order.

    Raises:
        ValueError: something is declared that the tests do not do, or nothing is declared for an exercise.
    """
    on_device = {name: one for topic in topics() for name, one in topic.ON_DEVICE.items()}
    none = {name: one for topic in topics() for name, one in topic.NONE.items()}
    tests = {cell.grade_id: cell.source for cell in source.cells if role_of(cell) is Role.TEST}
    found = []
    for exercise in (cell.grade_id for cell in source.cells if role_of(cell) is Role.SOLUTION):
        own = {name: text for name, text in tests.items() if exercise_of(name) == exercise}
        ways = []
        if f"{exercise}_gpu" in own:
            ways.append(f"Row `{exercise}_gpu`.")
        if exercise in on_device:
            how, piece = on_device[exercise]
            if not any(piece in text for text in own.values()):
                raise ValueError(f"{exercise}: no test has {piece!r}, which ON_DEVICE says runs on the device")
            ways.append(f"On the device: {how}")
        confronted = exercise in _confronted(own.values())
        if confronted != (exercise in declared()):
            raise ValueError(f"{exercise}: {'is confronted, not declared' if confronted else 'is never confronted'}")
        if confronted:
            ways.append(f"Reading: {declared()[exercise].what}")
        if bool(ways) == (exercise in none):
            raise ValueError(
                f"{exercise}: {'NONE is not true' if ways else 'nothing says how it is checked on the GPU'}"
            )
        found.append(Met(exercise, tuple(ways), none.get(exercise, "")))
    return found


def _confronted(tests: Iterable[str]) -> set[str]:
    """The names that these tests give to `confront`."""
    calls = [
        node
        for text in tests
        for node in ast.walk(syntax_tree(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "confront"
    ]
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}  # type: ignore[misc]


def page(sources: list[ChapterSource]) -> str:
    """The whole page."""
    chapters = {source.name: met(source) for source in sources}
    every = [one for some in chapters.values() for one in some]
    meeting = sum(bool(one.ways) for one in every)
    parts = [OPENING, f"{meeting} of {len(every)} exercises are checked on the GPU; the others say why they are not.\n"]
    for name, some in chapters.items():
        parts.append(f"## {name}\n")
        lines = ["| exercise | how it is checked on a GPU |", "|---|---|"]
        lines += [f"| `{one.exercise}` | {' '.join(one.ways) or f'Not at all: {one.why_not}'} |" for one in some]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def main() -> None:
    """Writes the page of the course around this folder."""
    course = Course.find()
    (course.root / PAGE).write_text(page(sources_of(course)), encoding="utf-8")


def sources_of(course: Course) -> list[ChapterSource]:
    """The sources of all chapters, in order."""
    return [read_source(chapter.source) for chapter in course.chapters()]


if __name__ == "__main__":
    main()
