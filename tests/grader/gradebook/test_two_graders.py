"""Two who write into one gradebook at the same time, grading by hand and by judge: neither loses a grade."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from recorded_class import NAME, composed, judged, result_of, small_course

from grader.gradebook import gradebook
from grader.gradebook.writer import GradebookWriter
from grader.model.results import Verdict

STUDENTS = [f"student-{number}" for number in range(6)]
BY_HAND = """\
# What formgrader does when a person types points, for one student after the other.
import sys
from nbgrader.api import Gradebook

print("ready", flush=True)
sys.stdin.readline()
for student in sys.argv[3:]:
    with Gradebook(sys.argv[1], "gpulab") as book:
        grade = book.find_grade("double_test", sys.argv[2], sys.argv[2], student)
        grade.manual_score = 1.25
        book.db.commit()
"""


def test_points_by_hand_and_by_judge_are_both_there(tmp_path: Path) -> None:
    """A person works through the class while every submission is graded again and comes out differently."""
    course, chapter = small_course(tmp_path)
    gradebook.prepare(course, chapter)
    first = [result_of(student, judged("double_test", Verdict.FAILED, message="no")) for student in STUDENTS]
    again = [result_of(student, judged("bandwidth_test", Verdict.FAILED, message="no")) for student in STUDENTS]
    with GradebookWriter(course, chapter) as writer:
        for one in first:
            writer.record(composed(one), one)
    person = subprocess.Popen(
        [sys.executable, "-c", BY_HAND, gradebook.database_url(course.gradebook), NAME, *STUDENTS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert person.stdout is not None
    assert person.stdout.readline() == "ready\n"
    with GradebookWriter(course, chapter) as writer:
        assert person.stdin is not None
        person.stdin.write("go\n")
        person.stdin.flush()
        for one in [*again, *again]:
            writer.record(composed(one), one)
    _, said = person.communicate(timeout=60)
    assert person.returncode == 0, said
    with gradebook.open_gradebook(course) as book:
        for student in STUDENTS:
            by_hand = book.find_grade("double_test", NAME, NAME, student)
            assert (by_hand.manual_score, by_hand.auto_score) == (1.25, 2.0)
            assert book.find_grade("bandwidth_test", NAME, NAME, student).auto_score == 0.0
