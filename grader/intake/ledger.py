"""What was collected for a chapter: whose file came from where, and when, so that grades find their way back.

One JSON file a chapter, `work/collected/<chapter>.json`. Its loss costs the platform's numbers, no submission.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from grader.intake.names import Platform
from grader.model.course import Course
from grader.model.records import cannot_write, make_folder, write_atomically


@dataclass(frozen=True)
class Taken:
    """One student's submission as it was collected."""

    student: str
    """Name of the folder in the course."""
    platform: Platform
    name: str
    """The student's name as the platform wrote it."""
    id: str
    """The platform's number for the student; empty where there is none."""
    file: str
    """Path in the download."""
    sha256: str
    time: str = ""
    """When it was handed in, ISO 8601 in UTC; empty where that is not known."""
    late: bool | None = None

    @property
    def when(self) -> datetime | None:
        """When it was handed in."""
        return datetime.fromisoformat(self.time) if self.time else None


def ledger_file(course: Course, chapter: str) -> Path:
    """Where the ledger of a chapter lies."""
    return course.work / "collected" / f"{chapter}.json"


def load(course: Course, chapter: str) -> dict[str, Taken]:
    """What was collected, by student; empty when nothing was, or the file cannot be read."""
    try:
        rows = json.loads(ledger_file(course, chapter).read_text(encoding="utf-8"))
        taken = [Taken(**{**row, "platform": Platform(row["platform"])}) for row in rows]
        return {one.student: one for one in taken if one.when or not one.time}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


@contextmanager
def held(course: Course) -> Iterator[None]:
    """Keeps other processes from the ledgers; waits for one that has them.

    Raises:
        CourseError: the folder is not writable.
    """
    folder = make_folder(course.work / "collected")
    try:
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def save(course: Course, chapter: str, taken: Iterable[Taken]) -> None:
    """Writes the ledger.

    Raises:
        CourseError: the disk is full or the folder not writable.
    """
    path = ledger_file(course, chapter)
    make_folder(path.parent)
    rows = [asdict(one) for one in sorted(taken, key=lambda one: one.student)]
    write_atomically(path, json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
