"""A chapter's answers as the gate uses them: which are chosen, and all that is wrong before any of them is graded.

Reads the bank and the chapter's source; of the built notebook only whether it is the source's. Grading is `gate`'s
business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.authoring.answers import Answer, missing, read_bank
from grader.authoring.lint.metadata import role_of
from grader.authoring.myst import ChapterSource, read_source
from grader.model.course import Chapter, CourseError, nearest
from grader.model.findings import Finding, Findings
from grader.model.notebooks import ChapterKey, Role, load_key, visible
from grader.model.results import exercise_of


@dataclass(frozen=True)
class Bank:
    """The answers to a chapter, or to some of its exercises."""

    chapter: Chapter
    folder: Path
    only: frozenset[str] = frozenset()
    """Names of exercises, of any chapter; empty: all."""
    complete: bool = True
    """Whether every exercise must have answers of both kinds."""

    @cached_property
    def source(self) -> ChapterSource:
        """The chapter's source.

        Raises:
            CourseError: it is not there, or its cells cannot be told apart.
        """
        return read_source(self.chapter.source)

    @property
    def exercises(self) -> tuple[str, ...]:
        """All exercises of the chapter's source, in order."""
        return tuple(cell.grade_id for cell in self.source.cells if role_of(cell) is Role.SOLUTION)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The exercises whose answers are wanted, in order."""
        return tuple(name for name in self.exercises if not self.only or name in self.only)

    @cached_property
    def _read(self) -> tuple[list[Answer], list[Finding]]:
        return read_bank(self.folder, self.chapter.name, self.exercises)

    @property
    def answers(self) -> list[Answer]:
        """The answers to the chosen exercises."""
        return [answer for answer in self._read[0] if answer.exercise in self.chosen]

    @property
    def faults(self) -> list[Finding]:
        """What is wrong in the files of the chosen exercises; when all are chosen, in the folder."""
        found = self._read[1]
        if self.only:
            files = tuple(str(self.folder / f"{name}.py") for name in self.chosen)
            found = [finding for finding in found if finding.where.startswith(files)]
        return [*found, *(missing(self.folder, self.chosen) if self.complete else [])]

    def key(self) -> ChapterKey:
        """The key of the built chapter, which has the chosen exercises.

        Raises:
            CourseError: the chapter, or an exercise of its source, has not been built and released.
        """
        key = load_key(self.chapter)
        for name in self.chosen:
            if name not in key.exercises:
                again = f'Run "grader build {key.name}", then "grader release {key.name}".'
                raise CourseError(self.chapter.solution, f"has no exercise {name} yet", again)
        return key

    def stale(self, key: ChapterKey) -> Iterator[Finding]:
        """Where source, built notebook and release differ: anywhere, or in the cells of the chosen exercises."""
        from grader.authoring.building import check_build
        from grader.authoring.releasing import check_release

        if not self.only:
            yield from (*check_build(self.chapter), *check_release(self.chapter))
            return
        built = {cell.grade_id: cell for cell in key.cells if cell.grade_id}
        again = f'Run "grader build {key.name}", then "grader release {key.name}".'
        for cell in self.source.cells:
            if exercise_of(cell.grade_id) in self.chosen:
                same = built.get(cell.grade_id)
                if same is None or same.source != cell.source:
                    yield self.source.finding(cell.line, f"{cell.label} changed since it was built", again)
                elif same.role is Role.TEST and key.released.get(same.id, "").strip("\n") != visible(same.source):
                    yield self.source.finding(cell.line, f"{cell.label} changed since it was released", again)


def banks_of(chapters: Iterable[Chapter], exercises: Collection[str] = (), answers: Path | None = None) -> list[Bank]:
    """The banks of the chapters that have one of the exercises, free of faults.

    Args:
        chapters: which chapters.
        exercises: which of their exercises; empty: all.
        answers: a folder of answers other than the course's own, as one folder per chapter, or for one chapter.

    Raises:
        CourseError: an exercise is in none of them, or there is no such folder.
        Findings: something is wrong in the banks: all of it.
    """
    banks = [Bank(one, _folder(one, answers), frozenset(exercises), complete=answers is None) for one in chapters]
    known = [name for bank in banks for name in bank.exercises]
    for exercise in exercises:
        if exercise not in known:
            where = banks[0].chapter.name if len(banks) == 1 else "these chapters"
            raise CourseError(exercise, f"no such exercise in {where}", nearest(exercise, known))
    banks = [bank for bank in banks if bank.chosen or not exercises]
    if found := [finding for bank in banks for finding in bank.faults]:
        raise Findings(tuple(found))
    return banks


def _folder(chapter: Chapter, answers: Path | None) -> Path:
    if answers is None:
        return chapter.answers
    inner = answers / chapter.name
    return inner if inner.is_dir() else answers
