"""A class that is graded while something goes wrong, and what its gradebook must be compared with."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from courses import NAME, built_course

from grader.batch.batch import grade_class
from grader.model.course import Course
from grader.model.notebooks import load_key
from grader.model.records import Records, load_results

SEED = 1_234_567_891
STUDENTS = 8


def processes_with(marker: str) -> list[int]:
    """Processes that were started with the marker in their environment, or whose ancestors were."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def wait_for(what: Callable[[], object], seconds: float = 180.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def fill(course: Course) -> Course:
    """A class of which every third is wrong, one is no notebook, and everybody takes a moment."""
    release = json.loads(course.chapter(NAME).release.read_text())
    for number in range(STUDENTS):
        for cell in release["cells"]:
            if cell["id"] == "double":
                factor = 3 if number % 3 == 2 else 2
                cell["source"] = f"import time\ntime.sleep(0.1)\n\n\ndef double(number):\n    return {factor} * number"
            if cell["id"] == "KINDS":
                cell["source"] = f'KINDS = {{"one": "odd", "two": "{"even" if number % 2 else "odd"}"}}'
        path = course.submitted / f"student-{number}" / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(release) if number else "not a notebook")
    return course


@functools.cache
def undisturbed_course() -> Course:
    """The class, graded once on this machine with nothing going wrong; not to be changed."""
    folder = Path(tempfile.mkdtemp(prefix="gpulab-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    course = fill(built_course(folder / "course"))
    chapter = course.chapter(NAME)
    grade_class(course, chapter, course.submitted, key=load_key(chapter), slots=2, seed=SEED)
    return course


def rows(course: Course) -> dict[str, list[tuple[object, ...]]]:
    """All that the gradebook says about students, less the random names of its rows."""
    queries = {
        "grades": """SELECT a.student_id, c.name, g.auto_score, g.manual_score, g.needs_manual_grade
            FROM grade g JOIN base_cell c ON c.id = g.cell_id JOIN submitted_notebook n ON n.id = g.notebook_id
            JOIN submitted_assignment a ON a.id = n.assignment_id ORDER BY 1, 2""",
        "comments": """SELECT a.student_id, c.name, k.auto_comment, k.manual_comment
            FROM comment k JOIN base_cell c ON c.id = k.cell_id JOIN submitted_notebook n ON n.id = k.notebook_id
            JOIN submitted_assignment a ON a.id = n.assignment_id ORDER BY 1, 2""",
        "students": "SELECT id, email, lms_user_id FROM student ORDER BY 1",
    }
    with closing(sqlite3.connect(course.gradebook)) as book:
        return {name: book.execute(query).fetchall() for name, query in queries.items()}


def notebooks(course: Course) -> dict[str, bytes]:
    """The executed notebooks beside the gradebook."""
    return {str(path.relative_to(course.root)): path.read_bytes() for path in course.autograded.rglob("*.ipynb")}


def verdicts(course: Course) -> dict[str, list[tuple[str, str, float]]]:
    return {
        result.student: [(cell.grade_id, cell.message, cell.earned) for cell in result.cells]
        for result in load_results(course, NAME)
    }


def assert_same(course: Course, undisturbed: Course) -> None:
    assert rows(course) == rows(undisturbed)
    assert len(rows(course)["grades"]) == 3 * (STUDENTS - 1)
    assert notebooks(course) == notebooks(undisturbed)
    assert verdicts(course) == verdicts(undisturbed)


def kept(course: Course) -> dict[str, tuple[int, str]]:
    """What is recorded so far: when its result was written, and the result."""
    files = {}
    for mark in (course.results / NAME / ".recorded").glob("[!.]*"):
        path = Records.of(course, NAME).result_file(mark.name)
        files[mark.name] = path.stat().st_mtime_ns, path.read_text()
    return files
