"""Puts collected notebooks into the course's folder of submissions, and what was there aside: nothing is overwritten.

What goes where, `collect` has decided. Replaced notebooks lie in `work/replaced/<chapter>/<student>/`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path

from grader.intake import ledger
from grader.intake.decisions import Decision, FileState
from grader.intake.ledger import Taken
from grader.intake.sources import Download
from grader.intake.times import moment_of
from grader.model import notebook_io
from grader.model.course import Course


def carry_out(course: Course, source: Download, decisions: Sequence[Decision]) -> list[Decision]:
    """Does what was planned; what is there already stays, and what is replaced is put aside.

    Gives what became of the files in the end: one that was changed since the plan was made is skipped.

    Raises:
        CourseError: the disk is full or a folder not writable; what was taken until then stays taken.
    """
    done = []
    with ledger.held(course):
        ledgers = {chapter: ledger.load(course, chapter) for chapter in {one.chapter for one in decisions}}
        try:
            for one in decisions:
                ended = _carried_out(course, source, one)
                done.append(ended)
                if ended.taken is not None:
                    ledgers[one.chapter][one.student] = ended.taken
        finally:
            for chapter, taken in ledgers.items():
                if taken:
                    ledger.save(course, chapter, taken.values())
    return done


def _carried_out(course: Course, source: Download, one: Decision) -> Decision:
    """Does what was planned for one file, if it still is what it was."""
    if one.taken is None or one.entry is None:
        return one
    if one.state is FileState.UNCHANGED:
        _note_time(course, one.taken, one.chapter)  # of a run that was stopped in between
        return one
    try:
        data = source.read(one.entry)
    except ValueError as error:
        return replace(one, state=FileState.SKIPPED, notes=(f"it changed while it was collected: {error}",), taken=None)
    if hashlib.sha256(data).hexdigest() != one.taken.sha256:
        return replace(
            one, state=FileState.SKIPPED, notes=("it changed while it was collected: collect it again",), taken=None
        )
    _write(course, one.taken, one.chapter, data)
    return one


def present(course: Course, student: str, chapter: str) -> list[Path]:
    """The student's notebooks of a chapter in the course's folder of submissions, wherever grading would find them."""
    home = course.submitted / student
    places = [*(home / chapter).glob("*.ipynb"), *home.glob(f"{chapter}*.ipynb"), course.submitted / f"{student}.ipynb"]
    return sorted(path for path in places if path.is_file() or path.is_symlink())


def _write(course: Course, taken: Taken, chapter: str, data: bytes) -> None:
    """Puts a notebook in its place, and what was there aside."""
    folder = course.submitted / taken.student / chapter
    aside = course.work / "replaced" / chapter / taken.student
    for path in present(course, taken.student, chapter):
        old = path.read_bytes()
        moment = moment_of(path.stat().st_mtime)
        stamp = moment.strftime("%Y-%m-%dT%H%M%SZ") if moment else "undated"
        notebook_io.write(aside / f"{stamp}_{hashlib.sha256(old).hexdigest()[:8]}.ipynb", old)
        if path != folder / f"{chapter}.ipynb":
            path.unlink()
    notebook_io.write(folder / f"{chapter}.ipynb", data)
    _note_time(course, taken, chapter)


def _note_time(course: Course, taken: Taken, chapter: str) -> None:
    """Notes when a notebook was handed in where nbgrader does: from there it gets into the gradebook."""
    when, noted = taken.when, course.submitted / taken.student / chapter / "timestamp.txt"
    if not noted.parent.is_dir():
        return  # it lies elsewhere, as its student's or its instructor's hands have put it
    if when is not None:
        notebook_io.write(noted, f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC\n".encode())
    else:
        noted.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """Hash over a file; empty where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
