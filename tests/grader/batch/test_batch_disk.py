"""What a run says and keeps when the disk refuses: full, read-only, or not writable."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from paper_course import Room

from grader.model import records
from grader.model.course import CourseError


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "not writable")],
)
def test_a_disk_that_refuses_stops_the_run_and_keeps_what_is_done(
    room: Room, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    """One line; no half file; the same call goes on afterwards."""
    room.submit(anna="1", bela="2")
    write, written = records.os.fsync, []

    def refuse(descriptor: int) -> None:
        written.append(descriptor)
        if len(written) > 3:  # the batch's note, then a result a submission
            raise OSError(number, os.strerror(number))
        write(descriptor)

    monkeypatch.setattr(records.os, "fsync", refuse)
    with pytest.raises(CourseError, match=words) as caught:
        room.grade(slots=1)
    assert "run the same command again" in str(caught.value)
    assert room.kept == {"anna": 1, "bela": 2}
    assert not list(room.course.results.rglob("*.tmp"))
    monkeypatch.undo()
    room.grade()
    assert room.states == {"anna": "unchanged", "bela": "unchanged", "carla": "graded"}


def test_a_full_disk_in_the_judge_stops_the_run_too(room: Room) -> None:
    """It would hit every submission, and none of them is to blame."""
    room.steps.faults["2"] = OSError(errno.ENOSPC, "No space left on device", "/tmp/scratch")
    with pytest.raises(CourseError, match="/tmp/scratch: the disk is full"):
        room.grade(slots=1)


def test_a_file_where_a_folder_must_be_is_said_so_at_once(room: Room) -> None:
    room.course.results.write_text("a file")
    with pytest.raises(CourseError, match="results"):
        room.grade()
    assert room.steps.book == {}


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's right to write everywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_is_not_writable_is_said_so_at_once() -> None:
    with TemporaryDirectory() as name:  # pytest's own are closed to others
        folder = Path(name)
        folder.chmod(0o755)
        room = Room(folder)
        room.submit(anna="1")
        room.course.work.chmod(0o555)
        with as_nobody(), pytest.raises(CourseError, match=r"work: the folder is not writable\. Make it"):
            room.grade()
        room.course.work.chmod(0o755)
    assert room.steps.book == {}
