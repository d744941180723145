"""The same notebook under nbgrader alone: in one process, with nbgrader's own limits, and the same points."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.utils import determine_grade
from recorded_class import NAME, ROOT, released_notebook, small_course

from grader.gradebook import gradebook
from grader.model.course import Chapter, Course
from grader.model.notebooks import load_key

pytestmark = pytest.mark.long

ANSWERS = {
    "double": "def double(x):\n    return x + x",
    "KINDS": "KINDS = {'a': 'the secret kind', 'b': 'mine'}",
    "bandwidth": "def bandwidth(n):\n    return 2 * n",
}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    """A class of two, graded by `nbgrader autograde`: one solved everything, one handed in the release."""
    course, chapter = small_course(tmp_path_factory.mktemp("stock"))
    gradebook.prepare(course, chapter)
    for student, answers in {"solved": ANSWERS, "blank": {}}.items():
        notebook = released_notebook()
        for cell in notebook.cells:
            cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
        folder = course.submitted / student / NAME
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / f"{NAME}.ipynb")
    nbgrader(course, "autograde", NAME)
    return course


def nbgrader(course, *arguments):
    """Runs nbgrader in the course's folder, as a person would."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "JUPYTER_PLATFORM_DIRS": "1"}
    program = Path(sys.executable).with_name("nbgrader")
    done = subprocess.run(
        [program, *arguments], cwd=course.root, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def scores(course, student, chapter=NAME):
    with Gradebook(f"sqlite:///{course.gradebook}", gradebook.COURSE_ID) as book:
        notebook = book.find_submission_notebook(chapter, chapter, student)
        return {grade.name: grade.auto_score for grade in notebook.grades}


CHAPTERS = [one.name for one in Course(ROOT).chapters() if one.solution.exists()]


@pytest.mark.slow
def test_the_course_itself_gets_all_points(tmp_path):
    """The first chapter's release with the instructor's answers, under nbgrader alone: all points of every test that
    needs no GPU.
    """
    name = CHAPTERS[0]
    own, course = Course(ROOT).chapter(name), Course(tmp_path)
    chapter = Chapter(name, tmp_path)
    for source, copy in (
        (own.source, chapter.source),
        (own.solution, chapter.solution),
        (own.release, chapter.release),
    ):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    key = load_key(chapter)
    notebook = nbformat.read(chapter.release, as_version=4)
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in key.exercises:
            cell.source = key.cell(grade_id).source
    folder = course.submitted / "solved" / name
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{name}.ipynb")
    gradebook.prepare(course, chapter)
    nbgrader(course, "autograde", name)
    anywhere = {test.grade_id: test.points for test in key.tests if not test.on_gpu_only}
    given = scores(course, "solved", name)
    assert {grade_id: given[grade_id] for grade_id in anywhere} == anywhere


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_the_tests_print_costs_no_points_there(name):
    """nbgrader's own rule over every test as it ran when the chapter was built: a line on stderr is a failure to it.

    That the tests still run so is what nbval says of every chapter.
    """
    chapter = Course(ROOT).chapter(name)
    key, built = load_key(chapter), nbformat.read(chapter.solution, as_version=4)
    cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in built.cells}
    given = {test.grade_id: determine_grade(cells[test.grade_id]) for test in key.tests if not test.on_gpu_only}
    assert given == {grade_id: (possible, possible) for grade_id, (_, possible) in given.items()}
    assert sum(possible for _, possible in given.values()) == sum(
        test.points for test in key.tests if not test.on_gpu_only
    )


def has_gpu():
    """Whether `needs_gpu()` passes on this machine."""
    code = "import gpulab; gpulab.needs_gpu()"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True).returncode == 0


def test_a_solved_notebook_gets_all_points(course):
    """Every test that needs no GPU; nbgrader alone knows no pending and counts the others as failed."""
    gpu_points = 3.0 if has_gpu() else 0.0
    assert scores(course, "solved") == {
        "double_test": 2.0,
        "KINDS_test": 1.75,
        "bandwidth_test": 3.0,
        "bandwidth_gpu": gpu_points,
    }


def test_a_blank_notebook_gets_none(course):
    """The check of the check: the same tests fail without answers."""
    assert set(scores(course, "blank").values()) == {0.0}


def test_nbgrader_writes_its_own_feedback_where_ours_goes(course):
    """`nbgrader generate_feedback` finds what was graded."""
    nbgrader(course, "generate_feedback", NAME)
    page = (course.feedback / "solved" / NAME / f"{NAME}.html").read_text(encoding="utf-8")
    assert "Score: 1.75 / 2.0" in page


def test_perfect_work_validates_without_a_gpu_and_a_wrong_answer_does_not(course, tmp_path):
    """A GPU row waits under `nbgrader validate`: it passes, and nothing else does that should not."""
    for answers, words in (
        (ANSWERS, "Success!"),
        ({**ANSWERS, "double": "def double(x):\n    return 3 * x"}, "FAILED"),
    ):
        notebook = released_notebook()
        notebook.cells.insert(0, nbformat.v4.new_code_cell("import gpulab"))
        # The visible half of this test gives no points, whatever the answer is.
        notebook.cells = [
            one for one in notebook.cells if one.metadata.get("nbgrader", {}).get("grade_id") != "KINDS_test"
        ]
        for cell in notebook.cells:
            cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
        path = tmp_path / "work.ipynb"
        nbformat.write(notebook, path)
        assert words in nbgrader(course, "validate", str(path))


def test_a_gpu_row_gets_no_points_from_stock_autograde_without_a_gpu(course):
    """It is recorded as 0 and final, which docs/judge.md and docs/instructors.md tell instructors."""
    given = scores(course, "solved")
    assert {name: score for name, score in given.items() if name.endswith("_gpu")} == {"bandwidth_gpu": 0.0}
    for page in ("judge.md", "instructors.md"):
        text = " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())
        assert any("0 points" in part[:200] or "records 0" in part[:300] for part in text.split("_gpu`")[1:])
