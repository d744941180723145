"""Takes what students have submitted to nbgrader's exchange, while they may still be at work in it.

In place of `nbgrader collect`, which follows links: a folder in the exchange is its student's, who could put a link
there to any file that the instructor can read. Here only ordinary files of the student's own are taken.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from grader.intake.discovery import fault_of_name
from grader.intake.settled import Stamp, stamp_of
from grader.model import notebook_io
from grader.model.course import Course, CourseError
from grader.model.harmless_text import printable
from grader.model.submission import MAX_NOTEBOOK_BYTES

COURSE_ID = "gpulab"
NAME = re.compile(r"(?P<student>[^+/\s]{1,100})\+(?P<chapter>[^+/]+)\+(?P<time>[^+/]+)(?:\+[^+/]*)?")
"""How nbgrader calls the folder of one submission."""
TIME, SECRET = "timestamp.txt", "submission_secret.txt"
MAX_NOTE = 4_096


@dataclass(frozen=True)
class Arrival:
    """One submission in the exchange."""

    student: str
    chapter: str
    time: str
    """When it was submitted, as nbgrader writes it; later times sort later."""
    path: Path
    stamps: tuple[Stamp, ...]
    """What its files look like from outside: a folder that is still being copied changes."""
    owner: str = ""
    """The account that it belongs to; empty when that has no name."""
    fault: str = ""
    """Why nobody's submission can have this name; empty when it can."""

    @property
    def is_theirs(self) -> bool:
        """Whether it belongs to the account whose name it bears."""
        return self.owner == self.student


def arrivals(root: Path, chapter: str, chapters: Collection[str] = (), any_owner: bool = True) -> list[Arrival]:
    """The newest submission of a chapter by each student.

    Args:
        root: of the exchange.
        chapter: the chapter.
        chapters: all chapters: in the folder of submissions, none of them can be a student's name.
        any_owner: of any account; otherwise each student's own, and what others sent under the student's name.
            Anybody can put a folder there under any name and with any time: it must not hide the student's own.

    Raises:
        CourseError: the exchange has no inbound folder for this course, or it cannot be read.
    """
    inbound = root / COURSE_ID / "inbound"
    try:
        names = sorted(os.listdir(inbound))  # noqa: PTH208 - names are what is asked
    except OSError as error:
        what = f"not an exchange with a course {COURSE_ID} ({error.strerror})"
        raise CourseError(inbound, what, f'Run "nbgrader release_assignment {chapter}" first.') from None
    newest: dict[tuple[str, bool], Arrival] = {}
    for name in names:
        match = NAME.fullmatch(name)
        if match is None or match["chapter"] != chapter or printable(match["student"]) != match["student"]:
            continue
        with suppress(OSError):  # taken back meanwhile
            student, path = match["student"], inbound / name
            fault = _fault_of(student, chapters)
            one = Arrival(student, chapter, match["time"], path, *_from_outside(path, chapter), fault=fault)
            whose = student, any_owner or one.is_theirs
            if whose not in newest or one.time > newest[whose].time:
                newest[whose] = one
    return [newest[whose] for whose in sorted(newest)]


def _fault_of(student: str, chapters: Collection[str]) -> str:
    """Why no folder of submissions can have this name: it would lead elsewhere, or be taken for something else."""
    if student.startswith(".") or student in chapters:
        return "a name that no student can have"
    return fault_of_name(student) or ""


def _from_outside(folder: Path, chapter: str) -> tuple[tuple[Stamp, ...], str]:
    """What the files of a submission look like, and whose folder it is."""
    import pwd

    stamps = tuple(stamp_of(folder / name) for name in _files(chapter))
    owner = ""
    with suppress(KeyError):
        owner = pwd.getpwuid(folder.lstat().st_uid).pw_name
    return stamps, owner


def _files(chapter: str) -> Iterator[str]:
    """What is taken, in the order in which it is written: the time last, since it says that all is there."""
    return iter((f"{chapter}.ipynb", SECRET, TIME))


def is_taken(course: Course, one: Arrival) -> bool:
    """Whether this submission, or a later one, is in the course's folder already."""
    noted = course.submitted / one.student / one.chapter / TIME
    with suppress(OSError, UnicodeDecodeError):
        return noted.read_text(encoding="utf-8").strip() >= one.time
    return False


def take(course: Course, one: Arrival) -> None:
    """Puts a submission into the course's folder of submissions.

    Raises:
        CourseError: it holds no notebook that can be taken, or the folder cannot be written.
    """
    target = course.submitted / one.student / one.chapter
    try:
        folder = os.open(one.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise CourseError(printable(str(one.path)), f"cannot be opened ({error.strerror})", "") from None
    try:
        data = {name: _read(folder, name, one) for name in _files(one.chapter)}
    finally:
        os.close(folder)
    for name, content in data.items():
        notebook_io.write(target / name, content)


def _read(folder: int, name: str, one: Arrival) -> bytes:
    """The content of an ordinary file of the student's own."""
    where = printable(str(one.path / name))
    most = MAX_NOTEBOOK_BYTES if name.endswith(".ipynb") else MAX_NOTE
    try:
        # Without O_NONBLOCK a pipe would hold up everybody behind it.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        raise CourseError(where, f"cannot be read ({error.strerror})", "Ask the student to submit again.") from None
    status = os.fstat(descriptor)
    # A hard link has its first owner: it may be any file on this disk.
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.fstat(folder).st_uid:
        os.close(descriptor)
        raise CourseError(where, "not an ordinary file of the student's own", "Ask the student to submit again.")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise CourseError(where, f"larger than {most:,} bytes", "Ask the student to clear all outputs.")
    return content
