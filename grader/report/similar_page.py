"""Pairs of similar submissions side by side, as one HTML page: what they share is marked, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.model.notebooks import ChapterKey
from grader.model.records import write_atomically
from grader.report.page import title_of
from grader.report.rendering import rendered
from grader.similarity.compare import ComparedCell, Document, SimilarPair

MOST_SHOWN = 60
"""Pairs with their code: more would make a page that browsers open slowly."""


@dataclass(frozen=True)
class SimilarLine:
    """One line of code."""

    number: int
    text: str
    shared: bool


@dataclass(frozen=True)
class SimilarExercise:
    """One exercise's cells of both students; empty where one has none that share anything."""

    exercise: str
    left: tuple[SimilarLine, ...]
    right: tuple[SimilarLine, ...]


@dataclass(frozen=True)
class Shown:
    """A pair with the code of both."""

    pair: SimilarPair
    rows: list[SimilarExercise]


def write(
    pairs: Sequence[SimilarPair], base: set[int], key: ChapterKey, compared: int, unread: Sequence[str], path: Path
) -> None:
    """Writes the page.

    Args:
        pairs: most similar first.
        base: hashes of what the chapter gives; never marked.
        key: the chapter, for its title and the order of its exercises.
        compared: how many submissions were.
        unread: a line for each submission that could not be read.
        path: the page.

    Raises:
        CourseError: the disk is full or the folder not writable.
    """
    page = rendered(
        "similar.html.j2",
        name=key.name,
        title=title_of(key),
        pairs=pairs,
        shown=[Shown(pair, _rows(pair, base, key.exercises)) for pair in pairs[:MOST_SHOWN]],
        compared=compared,
        unread=unread,
    )
    write_atomically(path, page)


def _rows(pair: SimilarPair, base: set[int], exercises: Sequence[str]) -> list[SimilarExercise]:
    """Both students' cells in the chapter's order, those in which nothing is shared left out."""
    shared = (pair.first.grams & pair.second.grams) - base
    left, right = (_by_exercise(document, shared) for document in (pair.first, pair.second))
    return [
        SimilarExercise(exercise, left.get(exercise, ()), right.get(exercise, ()))
        for exercise in (*exercises, "")
        if exercise in left or exercise in right
    ]


def _by_exercise(document: Document, shared: set[int]) -> dict[str, tuple[SimilarLine, ...]]:
    """Exercise → the lines of its cells, of those in which anything is shared."""
    found: dict[str, tuple[SimilarLine, ...]] = {}
    for part in document.parts:
        marked = part.lines(shared)
        if marked:
            found[part.exercise] = found.get(part.exercise, ()) + _lines(part, marked)
    return found


def _lines(part: ComparedCell, marked: set[int]) -> tuple[SimilarLine, ...]:
    """The lines of a cell, those that are shared marked."""
    return tuple(SimilarLine(number + 1, text, number in marked) for number, text in enumerate(part.source.split("\n")))
