"""Puts collected notebooks into the course's folder of submissions, and what was there aside: nothing is overwritten.

What goes where, `collect` has decided. Replaced notebooks lie in `work/replaced/<chapter>/<student>/`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from grader.intake import ledger
from grader.intake.decisions import Decision, FileState
from grader.intake.sources import Download
from grader.model import notebook_io
from grader.model.course import Course


def carry_out(course: Course, source: Download, decisions: Sequence[Decision]) -> None:
    """Does what was planned; what is there already stays, and what is replaced is put aside.

    Raises:
        CourseError: the disk is full or a folder not writable; what was taken until then stays taken.
    """
    ledgers = {chapter: ledger.load(course, chapter) for chapter in {one.chapter for one in decisions}}
    try:
        for one in decisions:
            if one.taken is None or one.entry is None:
                continue
            if one.state is not FileState.UNCHANGED:
                _write(course, one, source.read(one.entry))
            ledgers[one.chapter][one.student] = one.taken
    finally:
        for chapter, taken in ledgers.items():
            if taken:
                ledger.save(course, chapter, taken.values())


def present(course: Course, student: str, chapter: str) -> list[Path]:
    """The student's notebooks of a chapter in the course's folder of submissions, wherever grading would find them."""
    home = course.submitted / student
    places = [*(home / chapter).glob("*.ipynb"), *home.glob(f"{chapter}*.ipynb"), course.submitted / f"{student}.ipynb"]
    return sorted(path for path in places if path.is_file() or path.is_symlink())


def _write(course: Course, decision: Decision, data: bytes) -> None:
    """Puts a notebook in its place, and what was there aside."""
    if decision.taken is None:
        return
    folder = course.submitted / decision.student / decision.chapter
    aside = course.work / "replaced" / decision.chapter / decision.student
    for path in present(course, decision.student, decision.chapter):
        old = path.read_bytes()
        stamp = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H%M%SZ")
        notebook_io.write(aside / f"{stamp}_{hashlib.sha256(old).hexdigest()[:8]}.ipynb", old)
        if path != folder / f"{decision.chapter}.ipynb":
            path.unlink()
    notebook_io.write(folder / f"{decision.chapter}.ipynb", data)
    when = decision.taken.when
    noted = folder / "timestamp.txt"  # nbgrader's own note: from here it gets into the gradebook
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
