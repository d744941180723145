"""Grades submissions as they arrive: looks again and again, and grades what is new and whole.

What grading is, and what is kept, is up to `batch`; this only decides when. Where submissions come from
(`intake.exchange`) and how feedback goes back (`report.handback`) the caller says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from grader.intake import exchange
from grader.intake.discovery import FoundSubmission, find_submissions
from grader.intake.settled import Settling, is_whole, looks
from grader.model.course import Chapter, Course, CourseError

SETTLE_SECONDS = 2.0
"""For which a file must not have changed: JupyterLab and file copies write in one go."""
PATIENCE_SECONDS = 60.0
"""The same for a notebook that breaks off in the middle: a slow connection may go on with it."""


@dataclass
class ChapterWatch:
    """What has been seen and graded so far, of one chapter.

    Args:
        course: where submissions and results lie.
        chapter: the chapter.
        folder: the folder of submissions; it may not be there yet.
        inbox: the root of nbgrader's exchange, from which submissions are taken into `folder`; None for none.
        any_owner: takes also what belongs to another account than the one whose name it bears.
        settle: seconds for which a file must not have changed.
        patience: the same for one that breaks off.
    """

    course: Course
    chapter: Chapter
    folder: Path
    inbox: Path | None = None
    any_owner: bool = False
    settle: float = SETTLE_SECONDS
    patience: float = PATIENCE_SECONDS
    _files: Settling = field(init=False)
    _arrivals: Settling = field(init=False)

    def __post_init__(self) -> None:
        self._files = Settling(self.settle, self.patience)
        self._arrivals = Settling(self.settle, self.patience)

    def collect(self) -> Iterator[str]:
        """Takes what is new in the exchange; a line for each submission that cannot be taken.

        Raises:
            CourseError: there is no such exchange, or the course's folder cannot be written.
        """
        if self.inbox is None:
            return
        chapters = [chapter.name for chapter in self.course.chapters()]
        for one in exchange.arrivals(self.inbox, self.chapter.name, chapters, self.any_owner):
            look = (one.path, one.stamps)
            notebook = one.path / f"{self.chapter.name}.ipynb"
            whose = one.student if one.is_theirs or self.any_owner else f"{one.student} by {one.owner}"
            if not one.fault and exchange.is_taken(self.course, one):
                self._arrivals.done(whose, look)
            elif self._arrivals.ready(whose, look, partial(is_whole, notebook)):
                self._arrivals.done(whose, look)
                if one.fault:
                    yield f"{one.path}: {one.fault}. Not taken."
                elif not (one.is_theirs or self.any_owner):
                    yield (
                        f"{one.path}: says that it is {one.student}'s and belongs to the account "
                        f'{one.owner or "of nobody"}. Not taken; with "--any-owner" it is.'
                    )
                else:
                    try:
                        exchange.take(self.course, one)
                    except CourseError as error:
                        yield str(error)

    def round(self, grade: Callable[[frozenset[str]], None]) -> frozenset[str]:
        """Has what is new and whole graded, and gives those students; nobody when there is nothing new.

        Args:
            grade: called with the students; when it raises, their submissions stay new.
        """
        found: list[FoundSubmission] = []
        with suppress(CourseError):  # not there yet, or nothing in it
            found = find_submissions(self.folder, self.chapter.name)
        seen = looks(found)
        paths = {one.student: one.path for one in found}
        new = frozenset(
            student
            for student, look in seen.items()
            if self._files.ready(student, look, partial(is_whole, paths[student]))
        )
        if new:
            grade(new)
            for student in new:
                self._files.done(student, seen[student])
        return new
