"""Whose cell is whose: which of the chapter's own cells each cell of a student's notebook is."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator

from grader.model.notebooks import Cell, ChapterKey, Role
from grader.model.untrusted_cells import SubmittedCell

MAX_COMPARISONS = 60
"""Of texts letter by letter, over all cells without metadata: a file full of lookalikes must not take an hour."""


def match_cells(found: list[SubmittedCell], key: ChapterKey) -> list[str]:
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


def _by_content(
    found: SubmittedCell, candidates: list[Cell], key: ChapterKey, comparisons: Iterator[int]
) -> Cell | None:
    """The chapter's cell that this nameless one must be: the same text, a changed test, or an exercise's answer."""
    stripped = plain(found.source)
    for cell in candidates:
        if cell.role is not Role.PROSE and stripped and plain(key.released.get(cell.id, "")) == stripped:
            return cell
    defined = found.names
    for cell in candidates:
        if cell.role is Role.SOLUTION and cell.grade_id in defined:
            return cell
    for cell in candidates:
        if cell.role is Role.TEST and cell.exercise not in defined:
            ours = plain(key.released.get(cell.id, ""))
            if _alike(ours, stripped, comparisons):
                return cell
    return None


def _alike(ours: str, theirs: str, comparisons: Iterator[int]) -> bool:
    """Whether one text is the other with a few changes; no, where only a comparison could tell and none are left."""
    if 2 * min(len(ours), len(theirs)) <= 0.8 * (len(ours) + len(theirs)):
        return False
    likeness = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    return likeness.quick_ratio() > 0.8 and next(comparisons, None) is not None and likeness.ratio() > 0.8


@functools.lru_cache(maxsize=4_096)
def plain(source: str) -> str:
    """The source without what does not matter when two cells are compared."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines() if line.strip())
