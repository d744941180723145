"""The visible mutation score: how many wrong answers the visible half of a test refuses by itself, and says why.

A student sees that half alone, and should hear of a misconception there and then. The half is graded as one more test
cell, behind the whole test and in the same walk through the notebook, so that it costs one short call; what passes
there is run in the notebook's own process too, as the student does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from grader.authoring.answers import Answer, AnswerKind
from grader.model.needs import Need
from grader.model.notebooks import Cell, ChapterKey, Role, visible
from grader.model.results import VISIBLE, CellResult, Verdict

GOAL = 0.9
"""Share of an exercise's wrong answers below which `grader verify` names those that get through."""


@dataclass(frozen=True)
class Tried:
    """One wrong answer, and whether the visible half refused it with the words that the bank promises."""

    exercise: str
    title: str
    refused: bool


def counts(answer: Answer | None, key: ChapterKey) -> bool:
    """Whether an answer counts: a wrong one that a CPU can tell, to an exercise whose test reads no clock."""
    if answer is None or answer.kind is not AnswerKind.WRONG or answer.gpu:
        return False
    tests = [cell for cell in key.tests if cell.exercise == answer.exercise and not cell.on_gpu_only]
    return bool(tests) and not any("perf_counter" in one.source or Need.SPEEDUP in one.needs for one in tests)


def with_visible(key: ChapterKey, exercise: str) -> ChapterKey:
    """The key with the visible half of an exercise's tests after each, as a test of its own."""
    cells: list[Cell] = []
    for cell in key.cells:
        cells.append(cell)
        if cell.role is Role.TEST and cell.exercise == exercise and not cell.on_gpu_only:
            half = visible(cell.source)
            cells.append(replace(cell, id=cell.id + VISIBLE, grade_id=cell.grade_id + VISIBLE, source=half))
    return replace(key, cells=tuple(cells))


def tried(answer: Answer, cells: Iterable[CellResult]) -> Tried:
    """What the visible half said to a wrong answer."""
    halves = [cell for cell in cells if cell.grade_id.endswith(VISIBLE)]
    refused = any(one.verdict is not Verdict.PASSED and answer.says.lower() in one.message.lower() for one in halves)
    return Tried(answer.exercise, answer.title, refused)


def told(chapter: str, found: Collection[Tried]) -> list[str]:
    """The score of a chapter in one line, and one line more for each exercise below the goal; none without answers."""
    if not found:
        return []
    lines = [f"{chapter}: the visible tests alone refuse {_share(found)} wrong answers."]
    for exercise in dict.fromkeys(one.exercise for one in found):
        mine = [one for one in found if one.exercise == exercise]
        missed = [f'"{one.title}"' for one in mine if not one.refused]
        if len(missed) > (1 - GOAL) * len(mine):
            lines.append(f"  {exercise}: {_share(mine)}; these get through: {', '.join(missed)}.")
    return lines


def _share(found: Collection[Tried]) -> str:
    refused = sum(one.refused for one in found)
    return f"{refused} of {len(found)} ({refused / len(found):.0%})"
