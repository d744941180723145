"""The batch's own record on disk: one result file a student, atomically written, so that any run can be resumed.

Everything lies in `work/results/<chapter>/`. Decides nothing about what is due (`batch`) and knows no gradebook.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.model.course import Course, CourseError
from grader.model.results import SubmissionResult

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class Busy(CourseError):
    """Another process grades the chapter: later it will not."""


def cannot_write(path: Path, error: OSError) -> CourseError:
    """The line for a file that could not be written: what is wrong with the disk or folder, and what to do."""
    resume = "What is graded is kept: run the same command again and it goes on from there."
    if error.errno in FULL:
        return CourseError(path, "the disk is full", f"Free some space there. {resume}")
    if error.errno in REFUSED:
        reason = "the file system is read-only" if error.errno == errno.EROFS else "the folder is not writable"
        return CourseError(path, reason, f"Make it writable for you. {resume}")
    return CourseError(path, f"cannot be written ({error.strerror or error})", resume)


def make_folder(path: Path) -> Path:
    """The folder, made with its parents if it was not there.

    Raises:
        CourseError: it cannot be made or nothing can be written in it.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        trial = path / f".trial{os.getpid()}"
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise cannot_write(path, error) from None
    return path


def write_atomically(path: Path, text: str, durable: bool = True, mode: int = 0o600) -> None:
    """Writes a file, whole or not at all.

    Args:
        path: the file.
        text: what is to be in it.
        durable: whether it must be there after a power failure too; waiting for the disk takes some milliseconds.
        mode: who may read it; its owner alone when left out.

    Raises:
        CourseError: the disk is full or the folder not writable; what was there before is unchanged.
    """
    temporary = path.with_name(f".{os.getpid()}.tmp")  # not the file's name: that may be as long as names can be
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", **TEXT) as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise cannot_write(path, error) from None


TEXT: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}
"""Half a surrogate pair, of a file's name that is no text for example, stops nobody: JSON reads it back as it was."""


@dataclass(frozen=True)
class Records:
    """The record of one chapter.

    Names that begin with a dot cannot be a student's, so the batch's own files have such names.
    """

    folder: Path
    chapter: str

    @classmethod
    def of(cls, course: Course, chapter: str) -> Records:
        """The record of a chapter of this course; the folder may not be there yet."""
        return cls(course.results / chapter, chapter)

    def result_file(self, student: str) -> Path:
        """Where a student's result lies."""
        return self.folder / f"{student}.json"

    def load(self, student: str) -> SubmissionResult | None:
        """The student's last result; None when there is none that can be read."""
        try:
            return SubmissionResult.from_json(self.result_file(student).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def save(self, result: SubmissionResult) -> None:
        """Keeps a result; one with a `problem` goes beside an earlier grade, not over it.

        Raises:
            CourseError: the disk is full or the folder not writable.
        """
        if result.problem is not None:
            write_atomically(self._problem_file(result.student), result.to_json())
            return
        with suppress(OSError):
            self._page_mark(result.student).unlink(missing_ok=True)  # first: the page is of an earlier result now
        write_atomically(self.result_file(result.student), result.to_json())
        self.forget_problem(result.student)

    def forget_problem(self, student: str) -> None:
        """Drops the note on a submission that is readable now."""
        with suppress(OSError):
            self._problem_file(student).unlink(missing_ok=True)

    def all(self) -> list[SubmissionResult]:
        """Every student's latest result, sorted by student; where a newer submission is unreadable, that.

        Without what the cells printed: that of a whole class would not fit into memory. `load` has it.
        """
        results = {}
        for path in self.folder.glob("[!.]*.json"):
            student = path.stem
            problem = f"{path} cannot be read. Grade this submission again."
            result = self.load(student) or SubmissionResult(student, self.chapter, problem=problem)
            results[student] = replace(result, outputs={})
        for path in self.folder.glob(".problems/[!.]*.json"):
            with suppress(OSError, ValueError):
                unreadable = SubmissionResult.from_json(path.read_text(encoding="utf-8"))
                results[unreadable.student] = unreadable
        return [results[student] for student in sorted(results)]

    def is_recorded(self, result: SubmissionResult) -> bool:
        """Whether `mark_recorded` was called for this very result."""
        return _says(self._mark_file(result.student), result)

    def mark_recorded(self, result: SubmissionResult) -> None:
        """Notes that the gradebook holds this result.

        Raises:
            CourseError: the disk is full or the folder not writable.
        """
        # Not for ever: after a power failure, what has lost its mark is recorded once more.
        write_atomically(self._mark_file(result.student), result.fingerprint, durable=False)

    def has_page(self, result: SubmissionResult) -> bool:
        """Whether `mark_page` was called for this very result since it was saved."""
        return _says(self._page_mark(result.student), result)

    def mark_page(self, result: SubmissionResult) -> None:
        """Notes that the student's feedback page shows this result.

        Raises:
            CourseError: the disk is full or the folder not writable.
        """
        make_folder(self._page_mark(result.student).parent)
        write_atomically(self._page_mark(result.student), result.fingerprint, durable=False)

    def batch(self) -> dict[str, Any]:
        """What the last batch noted about itself; empty when there was none."""
        try:
            noted = json.loads((self.folder / ".batch.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return noted if isinstance(noted, dict) else {}

    def note_batch(self, **noted: Any) -> None:
        """Notes the batch's seed and whether it is finished.

        Raises:
            CourseError: the disk is full or the folder not writable.
        """
        write_atomically(self.folder / ".batch.json", json.dumps(noted))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps a second batch of this chapter out.

        Raises:
            Busy: another process grades this chapter.
            CourseError: the folder is not writable.
        """
        make_folder(self.folder / ".problems")
        make_folder(self.folder / ".recorded")
        try:
            lock = os.open(make_folder(self.folder) / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise cannot_write(self.folder, error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise Busy(
                self.folder, "another grader is at work on this chapter", "Wait until it has finished."
            ) from None
        try:
            yield
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # closing alone would not do: a forked child may still have it open
            os.close(lock)

    def _problem_file(self, student: str) -> Path:
        # A hash: the name itself may be the problem.
        return self.folder / ".problems" / f"{hashlib.sha256(student.encode()).hexdigest()[:16]}.json"

    def _page_mark(self, student: str) -> Path:
        return self.folder / ".pages" / student

    def _mark_file(self, student: str) -> Path:
        return self.folder / ".recorded" / student


def _says(mark: Path, result: SubmissionResult) -> bool:
    """Whether a mark is that of this very result."""
    try:
        return mark.read_text(encoding="utf-8") == result.fingerprint
    except (OSError, ValueError):
        return False


def load_results(course: Course, chapter: str) -> list[SubmissionResult]:
    """Every student's latest result of a chapter, sorted by student; empty when nothing was graded yet."""
    return Records.of(course, chapter).all()
