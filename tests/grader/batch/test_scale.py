"""A large class takes as long a submission as a small one, and no more memory; `grader bench --scale` does it for real.

What can grow is in the driver: its gradebook, its records, its queues. So its processor time is what is compared, which
other work on the machine hardly changes; wall time only with a margin for that.
"""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import statistics
import time
import uuid
from contextlib import closing
from pathlib import Path

import pytest
from courses import NAME, built_course
from recorded_class import composed, result_of, small_course

from grader.batch.batch import grade_class
from grader.batch.recorder import SubmissionProgress
from grader.gradebook import gradebook
from grader.gradebook.writer import GradebookWriter
from grader.model.course import Course
from grader.model.notebooks import load_key
from grader.model.records import Records

pytestmark = pytest.mark.alone

GROWTH = 1.2
"""The most that the last submissions of a class may take, of what the first ones took."""
EARLIER = 8_000
"""Students of four test cells each: as many rows as 3 000 students of a chapter with eleven."""
NOISE = 1.25
"""What two measurements of the same may differ by on a busy machine."""


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def multiply(course: Course, student: str, times: int) -> None:
    """Gives so many more students the grades of this one, by hand: a class that was recorded long ago."""
    with closing(sqlite3.connect(course.gradebook)) as book:
        book.row_factory = sqlite3.Row
        (submitted,) = book.execute("SELECT * FROM submitted_assignment WHERE student_id = ?", (student,)).fetchall()
        (notebook,) = book.execute("SELECT * FROM submitted_notebook WHERE assignment_id = ?", (submitted["id"],))
        rows = {
            table: book.execute(f"SELECT * FROM {table} WHERE notebook_id = ?", (notebook["id"],)).fetchall()
            for table in ("grade", "comment")
        }

        def insert(table: str, row: sqlite3.Row, changes: list[dict[str, str]]) -> None:
            names, marks = ", ".join(row.keys()), ", ".join("?" * len(row))
            values = [tuple({**dict(row), **change}.values()) for change in changes]
            book.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)

        new = [(f"earlier {number}", uuid.uuid4().hex, uuid.uuid4().hex) for number in range(times)]
        book.executemany("INSERT INTO student (id) VALUES (?)", [(name,) for name, _, _ in new])
        insert("submitted_assignment", submitted, [{"id": own, "student_id": name} for name, own, _ in new])
        insert("submitted_notebook", notebook, [{"id": sheet, "assignment_id": own} for _, own, sheet in new])
        for table, found in rows.items():
            for row in found:
                insert(table, row, [{"id": uuid.uuid4().hex, "notebook_id": sheet} for _, _, sheet in new])
        book.commit()


def test_recording_takes_no_longer_in_a_full_gradebook(tmp_path: Path) -> None:
    """nbgrader's tables have few indices: a query that goes the wrong way reads everybody's grades."""
    course, chapter = small_course(tmp_path)
    gradebook.prepare(course, chapter)
    results = [result_of(f"student {number}") for number in range(60)]
    notebooks = [composed(result) for result in results]
    spent: list[float] = []
    with GradebookWriter(course, chapter) as writer:
        for number, (notebook, result) in enumerate(zip(notebooks, results, strict=True)):
            if number == 30:
                multiply(course, "student 0", EARLIER)
            started = time.process_time()
            writer.record(notebook, result)
            spent.append(time.process_time() - started)
    few, many = min(spent[5:30]), min(spent[35:])  # what other processes add is no growth
    assert many <= GROWTH * NOISE * few, f"{1000 * few:.1f} ms a submission became {1000 * many:.1f} ms"
    assert len(gradebook.recorded(course, chapter)) == EARLIER + 60


def test_a_large_class_is_resumed_quickly(tmp_path: Path) -> None:
    """Asking who is recorded is one look at the gradebook, not one a student."""
    course, chapter = small_course(tmp_path)
    gradebook.prepare(course, chapter)
    gradebook.record(course, chapter, composed(result_of("anna")), result_of("anna"))
    multiply(course, "anna", EARLIER)
    started = time.process_time()
    points = gradebook.recorded(course, chapter)
    assert time.process_time() - started < 1.0
    assert (len(points), set(points.values())) == (EARLIER + 1, {10.0})


@pytest.mark.slow
def test_a_class_takes_as_long_at_its_end_as_at_its_beginning(tmp_path: Path) -> None:
    course, size = built_course(tmp_path / "course"), int(os.environ.get("GPULAB_CLASS", "100"))
    chapter = course.chapter(NAME)
    release = json.loads(chapter.release.read_text())
    for number in range(size):
        for cell in release["cells"]:
            if cell["id"] == "double":
                cell["source"] = f"def double(number):\n    return {2 + number % 2} * number  # {number}"
        path = course.submitted / f"{number:04}" / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(release))
    looks: list[tuple[float, float, float]] = []

    def look(one: SubmissionProgress) -> None:
        assert one.state == "graded"
        looks.append((time.monotonic(), time.process_time(), resident_mb()))

    key = load_key(chapter)
    results = grade_class(course, chapter, course.submitted, key=key, slots=2, on_progress=look)
    assert len(results) == len(looks) == size
    assert {result.earned for result in results} == {2.0, 0.0}

    looks = looks[10:]  # less the first ones: imports, compiled queries, the fork server
    tenth = len(looks) // 10
    wall, processor = (
        [after[which] - before[which] for before, after in itertools.pairwise(looks)] for which in (0, 1)
    )
    growth = statistics.median(processor[-3 * tenth :]) / statistics.median(processor[: 3 * tenth])
    for what, steps in (("wall", wall), ("driver's processor", processor)):
        first, last = (1000 * statistics.median(part) for part in (steps[:tenth], steps[-tenth:]))
        print(f"{what}: {first:.1f} ms a submission in the first tenth of {size}, {last:.1f} ms in the last")
    print(f"driver's memory: {looks[0][2]:.0f} MB at first, {looks[-1][2]:.0f} MB at last")
    assert growth <= GROWTH * NOISE
    assert statistics.median(wall[-3 * tenth :]) <= 2 * GROWTH * statistics.median(wall[: 3 * tenth])
    assert looks[-1][2] - looks[0][2] < 30, "MB that the driver has grown by"
    accounts = Records.of(course, NAME).batch()["accounts"]
    assert accounts["cpu_seconds"]["record"] / size < 0.1
