"""Keeps the outcome of each submission: result file first, then the gradebook, one submission after the other.

Called in one thread only, while others grade. What is due is up to `batch`; files are `records`'.
"""

from __future__ import annotations

import hashlib
import threading
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gpulab.forkserver.client import StartError
from grader.intake.discovery import FoundSubmission
from grader.judging.task import Task, grade_task
from grader.model.course import Chapter, Course, CourseError
from grader.model.harmless_text import printable
from grader.model.records import FULL, REFUSED, Records, cannot_write, make_folder, write_atomically
from grader.model.results import CellResult, SubmissionResult, Verdict
from grader.processes.accounts import Accounts
from grader.processes.interrupt import unbroken

if TYPE_CHECKING:
    from grader.gradebook.writer import GradebookWriter
    from grader.model.notebooks import ChapterKey


@dataclass(frozen=True)
class SubmissionProgress:
    """What became of one submission, told as soon as it is known."""

    student: str
    state: str
    """`graded`, `unchanged`, `unreadable`, `harness error` or `not recorded`."""
    done: int
    total: int
    line: str = ""
    """For a person to read: where, what, what to do. Empty when all went well."""


class Steps(Protocol):
    """What is done with one submission; the real ones are `RealSteps`. A context manager around one batch."""

    def __enter__(self) -> object: ...

    def __exit__(self, *error: Any) -> None: ...

    def begin(self, course: Course, chapter: Chapter, judging: bool, accounts: Accounts) -> None:
        """Makes everything ready for the batch; `judging`: for judging on this machine too."""

    def finish(self, accounts: Accounts) -> None:
        """Books what is known only now."""

    def load(self, path: Path) -> bytes:
        """What is in a notebook file; CourseError when it cannot be read. Called in several threads at a time."""

    def grade_task(self, task: Task, key: ChapterKey) -> SubmissionResult:
        """Grades a notebook; CourseError when it cannot be read. Called in several threads at a time."""

    def compose(self, path: Path, key: ChapterKey, result: SubmissionResult) -> Any:
        """The executed notebook that carries a result into the gradebook."""

    def record(self, course: Course, chapter: Chapter, notebook: Any, result: SubmissionResult) -> None:
        """Puts a result into the gradebook, wholly or not at all."""

    def recorded(self, course: Course, chapter: Chapter) -> Collection[str]:
        """The students whom the gradebook has a submission of."""


class RealSteps:
    """The judge, and nbgrader's gradebook."""

    def __init__(self) -> None:
        self._writer: GradebookWriter | None = None
        self._loaded: dict[Path, bytes] = {}
        """Hash over each notebook that was read to be graded, until it is composed."""

    def __enter__(self) -> RealSteps:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._writer is not None:
            self._writer.close()
        self._writer = None

    def begin(self, course: Course, chapter: Chapter, judging: bool, accounts: Accounts) -> None:
        """Makes the gradebook ready, and has the fork server started meanwhile.

        Raises:
            CourseError: the gradebook cannot be used, or is that of another version of the chapter.
        """
        if judging:
            threading.Thread(target=_start_fork_server, args=(accounts,), name="warm-up", daemon=True).start()
        with accounts.on("gradebook"):
            from grader.gradebook import gradebook

            gradebook.prepare(course, chapter)

    def finish(self, accounts: Accounts) -> None:
        """Books what the fork server has used."""
        from grader.processes import client

        accounts.add("parent", 0.0, client.shared_cpu_seconds())

    def load(self, path: Path) -> bytes:
        """Reads the file.

        Raises:
            CourseError: it is missing or too large.
        """
        from grader.model import submission

        data = submission.load(path)
        self._loaded[path] = hashlib.sha256(data).digest()
        return data

    def grade_task(self, task: Task, key: ChapterKey) -> SubmissionResult:
        """The result of grading a notebook.

        Raises:
            CourseError: it cannot be read as a submission of this chapter.
        """
        return grade_task(task, key)

    def compose(self, path: Path, key: ChapterKey, result: SubmissionResult) -> Any:
        """The executed notebook.

        Raises:
            CourseError: it cannot be read as a submission of this chapter, or is not the one that was graded.
        """
        from grader.gradebook.composition import compose
        from grader.model import submission

        data = submission.load(path)
        if self._loaded.pop(path, None) not in (None, hashlib.sha256(data).digest()):
            raise CourseError(path, "it changed while it was graded", "Grade again.")
        return compose(submission.from_bytes(data, path, key), key, result)

    def record(self, course: Course, chapter: Chapter, notebook: Any, result: SubmissionResult) -> None:
        """Records with nbgrader's own steps."""
        from grader.gradebook.writer import GradebookWriter

        if self._writer is None:
            self._writer = GradebookWriter(course, chapter)
        self._writer.record(notebook, result)

    def recorded(self, course: Course, chapter: Chapter) -> Collection[str]:
        """Asks the gradebook, which may have been moved away since the last run."""
        from grader.gradebook import gradebook

        return gradebook.recorded(course, chapter).keys()


def _start_fork_server(accounts: Accounts) -> None:
    """Starts the fork server early; what is wrong with it, the first submission will say."""
    from grader.processes import client

    with accounts.on("warm-up"), suppress(StartError):
        client.shared.get()
        accounts.add("imports", 0.0, client.shared_cpu_seconds())


@dataclass
class ResultRecorder:
    """Keeps outcomes one after the other and tells of each."""

    course: Course
    chapter: Chapter
    key: ChapterKey
    records: Records
    steps: Steps
    on_progress: Callable[[SubmissionProgress], None]
    total: int
    finished: set[str] = field(default_factory=set)

    def tell(self, student: str, state: str, line: str = "") -> None:
        """Counts one submission as done."""
        self.finished.add(student)
        self.on_progress(SubmissionProgress(student, state, len(self.finished), self.total, printable(line)))

    def take(self, one: FoundSubmission, outcome: SubmissionResult | Exception) -> None:
        """Keeps one outcome.

        Raises:
            CourseError: the disk is full or refuses to be written on.
        """
        with unbroken():
            if isinstance(outcome, SubmissionResult):
                self.records.save(outcome)
                self._record(one, outcome)
            elif isinstance(outcome, CourseError):
                self.unreadable(one, str(outcome))
            elif isinstance(outcome, OSError) and outcome.errno in FULL | REFUSED:
                raise cannot_write(Path(outcome.filename or self.course.work), outcome)
            else:
                self._fault(one, outcome)

    def unreadable(self, one: FoundSubmission, line: str) -> None:
        """Keeps a submission that cannot be read, beside any earlier grade.

        Raises:
            CourseError: the disk is full or refuses to be written on.
        """
        line = printable(line)
        if self.records.load(one.student) is not None:
            line += " The grade of the earlier submission stays."
        self.records.save(SubmissionResult(one.student, self.chapter.name, problem=line))
        self.tell(one.student, "unreadable", line)

    def _fault(self, one: FoundSubmission, error: Exception) -> None:
        """Keeps a submission that the harness itself failed on: pending points, or the earlier grade."""
        log = self._log(one.student, error)
        line = f"{one.path}: the grader failed on it ({type(error).__name__}), no points are lost. Report {log}."
        earlier = self.records.load(one.student)
        if earlier is not None and not is_fault(earlier):
            line += " The earlier grade stays."
            self.records.save(SubmissionResult(one.student, self.chapter.name, problem=line))
            self.tell(one.student, "harness error", line)
            return
        message = f"The grader failed here, no points are lost. Its log: {log.name}"
        result = harness_error(one.student, self.key, message)
        self.records.save(result)
        self._record(one, result, line)

    def _record(self, one: FoundSubmission, result: SubmissionResult, line: str = "") -> None:
        """Puts a result that is on disk into the gradebook too."""
        try:
            notebook = self.steps.compose(one.path, self.key, result)
        except CourseError as error:  # it was readable a moment ago
            self.unreadable(one, str(error))
            return
        except Exception as error:
            self._not_recorded(one, error, line)
            return
        try:
            self.steps.record(self.course, self.chapter, notebook, result)
        except CourseError:
            raise
        except OSError as error:
            raise cannot_write(Path(error.filename or self.course.gradebook), error) from None
        except Exception as error:
            self._not_recorded(one, error, line)
            return
        self.records.mark_recorded(result)
        faults = [cell for cell in result.cells if cell.verdict is Verdict.HARNESS_ERROR]
        if faults and not line:
            names = ", ".join(cell.grade_id for cell in faults)
            line = f"{one.path}: the grader failed on {names}, no points are lost. Grade again."
        self.tell(one.student, "harness error" if faults else "graded", line)

    def _not_recorded(self, one: FoundSubmission, error: Exception, line: str) -> None:
        """One submission that nbgrader cannot process must not stop the class; the next run tries it again."""
        log = self._log(one.student, error)
        self.tell(one.student, "not recorded", line or f"{one.path}: graded, but not in the gradebook. Report {log}.")

    def _log(self, student: str, error: Exception) -> Path:
        """Where the traceback of our own fault lies now."""
        log = make_folder(self.course.work / "logs" / self.chapter.name) / f"{student}.log"
        write_atomically(log, "".join(traceback.format_exception(error)))
        return log


def harness_error(student: str, key: ChapterKey, message: str) -> SubmissionResult:
    """A result in which every point is pending, because the fault is ours."""
    cells = (CellResult(cell.grade_id, Verdict.HARNESS_ERROR, 0.0, cell.points, message) for cell in key.tests)
    return SubmissionResult(student, key.name, tuple(cells))


def is_fault(result: SubmissionResult) -> bool:
    """Whether the harness failed on every cell, so that this is no grade."""
    return all(cell.verdict is Verdict.HARNESS_ERROR for cell in result.cells)
