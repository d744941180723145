"""`grader watch` grades what arrives, waits for what is still being written, hands feedback back, and stops cleanly."""

from __future__ import annotations

import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from courses import LIGHT, NAME, ROOT, built_course
from nbgrader.utils import notebook_hash

from grader.batch.arrivals import ChapterWatch
from grader.cli.main import main
from grader.intake import exchange
from grader.intake.settled import Settling, is_whole
from grader.model.course import Course, CourseError
from grader.model.records import Records, load_results
from grader.processes.interrupt import ending_as_interrupt, unbroken

pytestmark = pytest.mark.long

RIGHT, WRONG = "return number + number", "return number * number"
ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return built_course(tmp_path / "course")


def notebook(course: Course, answer: str) -> str:
    """The release with an answer to the first exercise."""
    book = json.loads(course.chapter(NAME).release.read_text())
    next(cell for cell in book["cells"] if cell["id"] == "double")["source"] = f"def double(number):\n    {answer}"
    return json.dumps(book)


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def earned(course: Course, student: str) -> float | None:
    result = Records.of(course, NAME).load(student)
    return result.earned if result else None


def until(what: str, found: object, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not found():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"no {what} within {seconds} s"
        time.sleep(0.1)


@contextmanager
def watching(course: Course, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own; killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "watch", NAME, "--every", "0.3", *arguments],
        cwd=course.root,
        env={**os.environ, **LIGHT, "PYTHONPATH": str(ROOT), "COLUMNS": "140"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def stopped(process: subprocess.Popen[str], number: int = signal.SIGINT) -> str:
    """What it has said, after it was stopped in time."""
    process.send_signal(number)
    said, _ = process.communicate(timeout=90)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    return said


def test_a_class_at_work(course: Course, tmp_path: Path) -> None:
    """Real submissions into an empty folder: graded when they are whole, graded again when replaced, handed back."""
    drop, back = tmp_path / "drop", tmp_path / "back"
    drop.mkdir()
    with watching(course, str(drop), "--return-to", str(back)) as process:
        put(drop / "anna" / f"{NAME}.ipynb", notebook(course, WRONG))
        half = drop / "bela" / f"{NAME}.ipynb"
        text = notebook(course, RIGHT)
        put(half, text[: len(text) // 2])
        page = back / "anna" / NAME / f"{NAME}.html"
        until("feedback for anna", page.exists)
        assert "you returned:" in page.read_text()
        assert "Report for <b>anna" in (page.parent / "report.html").read_text()
        assert earned(course, "anna") == 0.0
        time.sleep(3)  # longer than a whole file has to be left alone
        assert [one.student for one in load_results(course, NAME)] == ["anna"], "half of a notebook was graded"
        put(half, text)
        until("grade of bela's", lambda: earned(course, "bela") == 2.0)
        put(drop / "anna" / f"{NAME}.ipynb", notebook(course, RIGHT))
        until("new grade of anna's", lambda: earned(course, "anna") == 2.0)
        until("new feedback", lambda: "you returned:" not in page.read_text())
        said = stopped(process)
    lines = [line.split(" ", 1)[1] for line in said.splitlines() if ": graded" in line]
    assert lines == [
        "anna: graded, 0 of 6 points, 1 pending",
        "bela: graded, 2 of 6 points, 1 pending",
        "anna: graded, 2 of 6 points, 1 pending",
    ]
    assert "Stopped. 3 graded since the start" in said
    assert "…" not in said, "progress where there is no terminal"
    assert (course.reports(NAME) / "report.html").is_file()
    with watching(course, str(drop), "--return-to", str(back)) as process:
        page.unlink()
        until("page handed back again", page.exists)
        said = stopped(process, signal.SIGTERM)
    assert ": graded" not in said, "graded again after a restart"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_in_the_middle_of_grading(course: Course, number: int) -> None:
    """Nothing stays behind, and the next watch grades what was not done."""
    put(course.submitted / "anna" / f"{NAME}.ipynb", notebook(course, "while True: pass"))
    with watching(course) as process:
        until("grading", lambda: len(started_by(process)) >= 3)  # the fork server, a judge, and a student's process
        time.sleep(1)
        started = started_by(process)
        said = stopped(process, number)
    assert "0 graded since the start" in said
    until("end of what was started", lambda: not started & running().keys(), 20)
    put(course.submitted / "anna" / f"{NAME}.ipynb", notebook(course, RIGHT))
    with watching(course) as process:
        until("grade", lambda: earned(course, "anna") == 2.0)
        stopped(process)


def started_by(process: subprocess.Popen[str]) -> set[int]:
    """The processes below it."""
    parents = {pid: parent for pid, (state, parent) in running().items()}
    found: set[int] = set()
    last = {process.pid}
    while last:
        last = {pid for pid, parent in parents.items() if parent in last}
        found |= last
    return found


def running() -> dict[int, tuple[str, int]]:
    """Every process that has not ended: its state and its parent."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                found[int(path.parent.name)] = state, int(parent)
    return found


def nbgrader(course: Course, home: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=home,
        env={**os.environ, "JUPYTER_CONFIG_PATH": str(ROOT / "jupyter"), "GPULAB_EXCHANGE": str(course.root / "x")},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_through_nbgraders_exchange(course: Course, tmp_path: Path) -> None:
    """nbgrader's own commands release, submit, submit again and fetch; the watch is in between."""
    root, home = course.root / "x", tmp_path / "home"
    root.mkdir(mode=0o777)
    root.chmod(0o777)
    home.mkdir()
    nbgrader(course, course.root, "release_assignment", NAME, f"--Exchange.root={root}")
    options = (f"--Exchange.root={root}", f"--Exchange.cache={home / 'cache'}", f"--Exchange.assignment_dir={home}")
    with watching(course, "--exchange", str(root)) as process:
        for answer, points in ((WRONG, 0.0), (RIGHT, 2.0)):
            put(home / NAME / f"{NAME}.ipynb", notebook(course, answer))
            nbgrader(course, home, "submit", NAME, *options)
            until(f"grade {points}", lambda points=points: earned(course, ME) == points)
            notes = (course.submitted / ME / NAME / "submission_secret.txt").read_text()
            page = root / "gpulab" / "feedback" / f"{notebook_hash(secret=notes, notebook_id=NAME)}.html"
            until("feedback", page.exists)
        said = stopped(process)
    assert said.count(f"{ME}: graded") == 2
    nbgrader(course, home, "fetch_feedback", NAME, *options)
    pages = [path.read_text() for path in home.glob(f"{NAME}/feedback/*/{NAME}.html")]
    assert sorted("you returned:" in page for page in pages) == [False, True]


def inbound(root: Path, student: str, stamp: str = "2026-11-20 10:00:00.000000 UTC", chapter: str = NAME) -> Path:
    folder = root / "gpulab" / "inbound" / f"{student}+{chapter}+{stamp}+secret"
    folder.mkdir(parents=True)
    (folder / f"{chapter}.ipynb").write_text('{"cells": []}')
    (folder / "timestamp.txt").write_text(stamp)
    (folder / "submission_secret.txt").write_text("s")
    return folder


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder", "missing", "large", "whole folder a link"])
def test_only_files_of_the_students_own_leave_the_exchange(course: Course, tmp_path: Path, kind: str) -> None:
    """A link to the instructor's solution would be graded, and shown in the feedback."""
    folder = inbound(tmp_path / "x", ME)
    path, secret = folder / f"{NAME}.ipynb", course.chapter(NAME).solution
    path.unlink()
    if kind == "link":
        path.symlink_to(secret)
    elif kind == "hard link":
        if os.geteuid():
            pytest.skip("only root can give a file away")
        path.hardlink_to(secret)
        os.chown(secret, 1, 1)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(exchange.MAX_NOTEBOOK_BYTES + 1)
    elif kind == "whole folder a link":
        (folder / "timestamp.txt").unlink()
        (folder / "submission_secret.txt").unlink()
        folder.rmdir()
        folder.symlink_to(secret.parent)
    (one,) = exchange.arrivals(tmp_path / "x", NAME)
    with pytest.raises(CourseError):
        exchange.take(course, one)
    assert not course.submitted.exists()


def test_the_newest_counts_and_nobody_submits_for_another(course: Course, tmp_path: Path) -> None:
    root = tmp_path / "x"
    inbound(root, ME, "2026-11-20 10:00:00.000000 UTC")
    newest = inbound(root, ME, "2026-11-20 11:00:00.000000 UTC")
    inbound(root, "victim")
    inbound(root, ME, chapter="02_other")
    (root / "gpulab" / "inbound" / "odd\x1bname+x").mkdir()
    watch = ChapterWatch(course, course.chapter(NAME), course.submitted, root, settle=0.0)
    lines = list(watch.collect())
    assert len(lines) == 1
    assert "victim's and belongs to the account" in lines[0]
    assert [path.name for path in course.submitted.iterdir()] == [ME]
    assert (course.submitted / ME / NAME / "timestamp.txt").read_text() == "2026-11-20 11:00:00.000000 UTC"
    assert list(watch.collect()) == [], "told once"
    shared = ChapterWatch(course, course.chapter(NAME), course.submitted, root, any_owner=True, settle=0.0)
    assert list(shared.collect()) == []
    assert sorted(path.name for path in course.submitted.iterdir()) == sorted([ME, "victim"])
    assert exchange.is_taken(course, next(one for one in exchange.arrivals(root, NAME) if one.path == newest))


def test_a_folder_in_anothers_name_hides_nothing(
    course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody may put a folder into the exchange, under any name and with any time."""
    root = tmp_path / "x"
    inbound(root, ME, "2026-11-20 10:00:00.000000 UTC")
    forged = inbound(root, ME, "9999-01-01 00:00:00.000000 UTC")
    ask = exchange._from_outside

    def outside(folder: Path, chapter: str) -> tuple[object, str]:
        return ask(folder, chapter)[0], "mallory" if folder == forged else ME

    monkeypatch.setattr(exchange, "_from_outside", outside)
    watch = ChapterWatch(course, course.chapter(NAME), course.submitted, root, settle=0.0)
    (line,) = watch.collect()
    assert "belongs to the account mallory" in line
    assert (course.submitted / ME / NAME / "timestamp.txt").read_text() == "2026-11-20 10:00:00.000000 UTC"
    assert list(watch.collect()) == []


@pytest.mark.parametrize("name", [".", "..", ".hidden", NAME, 'x";alert(1)', "a*", "<img>"])
def test_a_name_that_is_no_folder_of_a_student_is_not_taken(course: Course, tmp_path: Path, name: str) -> None:
    """Where all submit under one account, a folder's name is a student's own words."""
    inbound(tmp_path / "x", name)
    watch = ChapterWatch(course, course.chapter(NAME), course.submitted, tmp_path / "x", any_owner=True, settle=0.0)
    (line,) = watch.collect()
    assert line.endswith("Not taken.")
    assert list(watch.collect()) == []
    assert not course.work.exists()


def test_a_file_is_ready_when_it_has_settled() -> None:
    now = [0.0]
    files = Settling(seconds=2.0, patience=60.0, clock=lambda: now[0])
    whole = [False]

    def ready(look: str, at: float) -> bool:
        now[0] = at
        return files.ready("anna", look, lambda: whole[0])

    assert not ready("1 byte", 0)
    assert not ready("2 bytes", 1.9)
    assert not ready("2 bytes", 3.8)
    assert not ready("2 bytes", 30), "half of a notebook"
    assert ready("2 bytes", 62), "for ever half of one: the student gets to know"
    assert ready("2 bytes", 63), "nobody has dealt with it"
    files.done("anna", "2 bytes")
    assert not ready("2 bytes", 64)
    whole[0] = True
    assert not ready("3 bytes", 65), "handed in again"
    assert ready("3 bytes", 67)


@pytest.mark.parametrize(
    ("data", "whole"),
    [(b'{"cells": []}', True), (b'{"cells": [', False), (b"", False), (b"\xff\xfe", False), (b"[" * 100_000, True)],
)
def test_what_breaks_off_is_not_whole(tmp_path: Path, data: bytes, whole: bool) -> None:
    path = tmp_path / "x.ipynb"
    path.write_bytes(data)
    assert is_whole(path) is whole


def test_what_is_no_file_does_not_hold_up_the_watch(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link", "missing", "."):
        assert is_whole(tmp_path / name)


def test_a_round_that_fails_leaves_its_submissions_new(course: Course) -> None:
    put(course.submitted / "anna" / f"{NAME}.ipynb", notebook(course, RIGHT))
    watch = ChapterWatch(course, course.chapter(NAME), course.submitted, settle=0.0)

    def fail(students: frozenset[str]) -> None:
        raise CourseError("x", "the disk is full")

    with pytest.raises(CourseError):
        watch.round(fail)
    seen: list[frozenset[str]] = []
    assert watch.round(seen.append) == {"anna"}
    assert watch.round(seen.append) == frozenset()
    assert seen == [{"anna"}]


def test_what_a_person_gets_wrong_is_a_line(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course.root)
    for arguments, says in (
        ([NAME, str(tmp_path / "none")], "not there"),
        ([NAME, "--exchange", str(tmp_path)], "not an exchange with a course gpulab"),
        ([NAME, str(tmp_path), "--exchange", str(tmp_path)], "Name a folder or an exchange"),
        ([NAME, "--any-owner"], "name it with --exchange"),
        (["99"], "no such chapter"),
    ):
        result = CliRunner().invoke(main, ["watch", *arguments])
        assert result.exit_code == 2, (arguments, result.output)
        assert says in result.output


def test_another_grader_is_waited_for(course: Course) -> None:
    """An instructor's own run of the same chapter does not end the watch."""
    put(course.submitted / "anna" / f"{NAME}.ipynb", notebook(course, RIGHT))
    with Records.of(course, NAME).held(), watching(course) as process:
        assert process.stdout is not None
        until("complaint", lambda: "another grader is at work" in process.stdout.readline(), 60)
        assert process.poll() is None
        stopped(process)


def test_a_term_signal_waits_for_the_end_of_what_must_not_break() -> None:
    """Where SIGTERM interrupts, it too comes after a result is kept and recorded."""
    done = []
    with ending_as_interrupt():
        with pytest.raises(KeyboardInterrupt), unbroken():
            signal.raise_signal(signal.SIGTERM)
            done.append("kept and recorded")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert done == ["kept and recorded"]
