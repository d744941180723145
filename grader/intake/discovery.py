"""Finds a class's submissions in a folder, and says what is wrong with those that cannot be taken.

Accepts nbgrader's layout `<student>/<chapter>/<chapter>.ipynb`, the shorter `<student>/<chapter>.ipynb`, flat
`<student>.ipynb`, a single student's folder, or one notebook. Follows no link. Opens no notebook: what is inside
is read by `submission`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.model.course import CourseError
from grader.model.harmless_text import printable
from grader.model.submission import MAX_NOTEBOOK_BYTES

LEFT_BY_TOOLS = ("__MACOSX", "__pycache__")
LONGEST_NAME_BYTES = 200
"""File systems end names at 255 bytes, and result files add a suffix."""


@dataclass(frozen=True)
class FoundSubmission:
    """One student's submission, or why there is none that can be graded."""

    student: str
    """Name of the student's folder or file; made printable where it was not."""
    path: Path
    """The notebook, or what stands in its place."""
    problem: str | None = None
    """What is wrong, one sentence without a full stop; None when the notebook can be read."""
    remedy: str = ""

    @property
    def line(self) -> str:
        """Where, what and what to do, as one line."""
        return str(CourseError(printable(str(self.path)), self.problem or "found", self.remedy))


def find_submissions(folder: Path, chapter: str) -> list[FoundSubmission]:
    """Every student's submission of a chapter, sorted by student; unusable ones have a `problem`.

    Args:
        folder: the class's folder, one student's folder, or one notebook. It may itself be reached through a link.
        chapter: the chapter's full name.

    Raises:
        CourseError: the folder is missing, cannot be read, or holds no submission at all.
    """
    if not folder.exists():
        raise CourseError(folder, "not there", "Give the folder that holds the submissions, one folder a student.")
    folder = folder.parent.resolve() / folder.name if folder.is_file() else folder.resolve()
    if folder.is_file():
        student = folder.stem
        if student == chapter:  # anna/01_x.ipynb or anna/01_x/01_x.ipynb
            student = folder.parent.parent.name if folder.parent.name == chapter else folder.parent.name
        return [_checked(student, folder)]
    if folder.name == chapter and _is_there(folder / f"{chapter}.ipynb"):
        return [_in_student_folder(folder.parent, chapter)]
    if _is_there(folder / f"{chapter}.ipynb") or _is_there(folder / chapter):
        return [_in_student_folder(folder, chapter)]
    found = [
        _in_student_folder(entry, chapter) if entry.is_dir() else _checked(entry.stem, entry)
        for entry in _entries(folder)
        if entry.is_dir() or entry.suffix == ".ipynb" or (entry.is_symlink() and not entry.suffix)
    ]
    if not found:
        raise CourseError(folder, "no submissions here", f"Put them in as <student>/{chapter}/{chapter}.ipynb.")
    return _no_two_of_one_name(sorted(found, key=lambda one: (one.student, str(one.path))))


def fault_of_name(student: str) -> str | None:
    """Why nobody's files can have this name; None when they can."""
    if printable(student) != student:
        return "its name holds control characters or bytes that are no text"
    if any(char in student for char in '/\\*?[]<>"') or student in ("", ".", ".."):
        return "its name holds a character that paths, patterns or web pages use"
    if len(student.encode()) > LONGEST_NAME_BYTES:
        return f"its name is longer than {LONGEST_NAME_BYTES} bytes"
    return None


def _is_there(path: Path) -> bool:
    """Whether anything has this name, a dangling link included."""
    return os.path.lexists(path)


def _entries(folder: Path) -> Iterator[Path]:
    """What lies in a folder, in order, without hidden files and what archives leave behind."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise CourseError(folder, f"cannot be opened ({error.strerror})", "Make it readable and try again.") from None
    return (entry for entry in entries if not entry.name.startswith(".") and entry.name not in LEFT_BY_TOOLS)


def _in_student_folder(folder: Path, chapter: str) -> FoundSubmission:
    """The submission in one student's folder."""
    try:
        return _checked(folder.name, _notebook_of(folder, chapter))
    except CourseError as error:
        return FoundSubmission(printable(folder.name), Path(error.where), error.what, error.remedy)
    except OSError as error:  # a folder that can be listed and not entered
        problem, remedy = f"cannot be opened ({error.strerror})", "Make it readable and try again."
        return FoundSubmission(printable(folder.name), folder, problem, remedy)


def _notebook_of(folder: Path, chapter: str) -> Path:
    """The one notebook of the chapter in a student's folder.

    Raises:
        CourseError: there is none, there are several, or a link stands in the way.
    """
    own = folder / chapter
    _refuse_links([folder, *_entries(folder)] if not folder.is_symlink() else [folder])
    direct = [entry for entry in _entries(folder) if entry.suffix == ".ipynb" and not _other_chapter(entry, chapter)]
    candidates = direct
    if own.is_dir():
        _refuse_links(list(_entries(own)))
        inside = [entry for entry in _entries(own) if entry.suffix == ".ipynb"]
        candidates = [entry for entry in direct if entry.stem.startswith(chapter)] + inside
    if not candidates:
        raise CourseError(
            folder, f"no notebook of {chapter}", f"Ask for it, or put it there as {chapter}/{chapter}.ipynb."
        )
    if len(candidates) > 1:
        names = ", ".join(str(one.relative_to(folder)) for one in candidates[:4])
        raise CourseError(
            candidates[-1].parent,
            f"{len(candidates)} notebooks ({names}), and only the student knows which one counts",
            f"Keep one, named {chapter}.ipynb, and grade again.",
        )
    return candidates[0]


def _other_chapter(path: Path, chapter: str) -> bool:
    """Whether the file is named as another chapter's notebook: a student's folder may hold the whole course."""
    return re.match(r"\d+_", path.stem) is not None and not path.stem.startswith(chapter)


def _refuse_links(paths: list[Path]) -> None:
    for path in paths:
        if path.is_symlink():
            raise CourseError(
                path,
                f"a link to {printable(str(path.readlink()))}, and a submission must be a file of its own",
                "Replace it by the file itself and grade again.",
            )


def _checked(student: str, path: Path) -> FoundSubmission:
    """The submission at `path`, with what a look from outside can find wrong."""
    found = FoundSubmission(printable(student), path)
    fault = fault_of_name(student)
    if fault:
        return replace(found, problem=fault, remedy="Rename it to the student's name or number and grade again.")
    try:
        _refuse_links([path])
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return replace(found, problem="not an ordinary file", remedy="Replace it by the student's notebook.")
        if not os.access(path, os.R_OK):
            return replace(found, problem="cannot be read (Permission denied)", remedy=f'Run "chmod u+r {path}".')
    except CourseError as error:
        return replace(found, problem=error.what, remedy=error.remedy)
    except OSError as error:
        return replace(found, problem=f"cannot be read ({error.strerror})", remedy="Ask the student to submit again.")
    if status.st_size == 0:
        return replace(found, problem="the file is empty", remedy="Ask the student to submit again.")
    if status.st_size > MAX_NOTEBOOK_BYTES:
        size, limit = status.st_size / 1e6, MAX_NOTEBOOK_BYTES / 1e6
        return replace(
            found,
            problem=f"{size:.0f} MB, and {limit:.0f} MB is the most that is read",
            remedy="Ask the student to clear all outputs and submit again.",
        )
    return found


def _no_two_of_one_name(found: list[FoundSubmission]) -> list[FoundSubmission]:
    """Refuses both of two submissions under one name: `anna.ipynb` beside `anna/`."""
    names = [one.student for one in found]
    return [
        replace(one, problem=f"{names.count(one.student)} submissions of {one.student}", remedy="Keep one of them.")
        if names.count(one.student) > 1
        else one
        for one in found
    ]
