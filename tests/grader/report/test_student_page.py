"""What one student gets to read: own points, verdicts and messages, where that is in the class, and nobody else."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from class_results import EVIL, NEEDS_GPU, PARTIAL, added, fault
from recorded_class import NAME, composed, result_of, small_course

from grader.gradebook import gradebook
from grader.model.notebooks import load_key
from grader.model.records import Records
from grader.model.results import SubmissionResult
from grader.report import feedback, student_page
from grader.report.page import STUDENT_REPORT
from grader.report.rendering import shown


@pytest.fixture
def course(tmp_path):
    return small_course(tmp_path / "course")[0]


def written(course, results):
    """Student → text of the page."""
    chapter = course.chapter(NAME)
    paths = student_page.write_all(course, chapter, results, load_key(chapter))
    return {path.parents[1].name: path.read_text(encoding="utf-8") for path in paths}


def words(page):
    return " ".join(html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)).split())


def test_the_page_has_points_verdicts_and_messages(course, results):
    pages = written(course, results)
    assert set(pages) == {result.student for result in results}
    text = words(pages["ben"])
    for said in (
        "Report for ben",
        "6.75 of 10 points",
        "3 points pending not decided yet, and not lost",
        "KINDS_test : partial, 1.75 of 2 points",
        "'b': you said 'x'. No.",
        "bandwidth_gpu : pending: needs a GPU, 3 pending Runs on a GPU only",
    ):
        assert said in text
    assert "You added 2." in words(pages["cleo"])


def test_the_class_is_shown_beside_without_names(course, results):
    pages = written(course, results)
    text = words(pages["ben"])
    assert "7 median of the class" in text
    assert "2 of 7 others have fewer points than you" in text
    assert 'class="own"' in pages["ben"]
    for other in ("ada", "cleo", "dan", "eve", "fay", "gus", "hal", "ivy"):
        assert not re.search(rf"\b{other}\b", pages["ben"])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_small_class_keeps_its_points_to_itself(course, count):
    """With two students, the distribution would be the other one's points."""
    results = [result_of(f"student{number}", *([added(3)] if number else [])) for number in range(count)]
    text = words(written(course, results)["student0"])
    assert "10 of 10 points" in text
    assert "median" not in text
    assert "others have fewer" not in text
    assert "shown as soon as 5 submissions are graded" in text


def test_what_is_for_instructors_stays_with_them(course):
    """No seed, which would give hidden inputs away, and no review flag."""
    flagged = result_of("ada", look_at=("The cell double contains 'eval': review it yourself.",), seed=918273645)
    page = written(course, [flagged])["ada"]
    assert "918273645" not in page
    assert "review it yourself" not in page


def test_points_given_by_hand_count(course):
    chapter, result = course.chapter(NAME), result_of("ada", added(3), NEEDS_GPU)
    Records.of(course, NAME).folder.mkdir(parents=True)
    Records.of(course, NAME).save(result)
    gradebook.prepare(course, chapter)
    gradebook.record(course, chapter, composed(result), result)
    with gradebook.open_gradebook(course) as book:
        grade = book.find_grade("double_test", NAME, NAME, "ada")
        grade.manual_score = 1.5
        book.db.commit()
    text = words(written(course, [result])["ada"])
    assert "6.5 of 10 points" in text
    assert "graded by hand, 1.5 of 2 points" in text


def test_hostile_words_stay_words(course):
    """Markup, control characters and characters that turn text around, in names, messages and repairs."""
    said = f'{EVIL}\x1b]0;owned\x07\x9b31m\u202e" onmouseover=alert(2) x="\udc80'
    evil = result_of("'onload=alert(3) '&lt;x", fault(said), repairs=(said,))
    (page,) = written(course, [evil]).values()
    assert not re.search(r"<script|<img|\x1b|\x07|\x9b|\u202e", page)
    assert not re.search(r"<[^>]*\son\w+=", page)
    assert "␛]0;owned␇" in page
    assert "default-src 'none'" in page


def test_no_page_holds_a_control_character() -> None:
    """A terminal that shows a page, or a message copied from one, would obey them."""
    page = shown("a\x1b[2J\x00\x07b\x7f\tc\r\n\udc80\x9b\u202eé\u200d")
    assert page == "a\u241b[2J\u2400\u2407b\u2421\tc\r\n?\ufffd\ufffdé\u200d"


def test_the_folder_stays_closed_to_other_accounts(course):
    written(course, [result_of("ada")])
    assert course.feedback.stat().st_mode & 0o007 == 0
    assert (course.feedback / "ada" / NAME / STUDENT_REPORT).is_file()


def test_odd_results_have_a_page(course):
    """Nothing tested, nothing worth points, everything pending, and points beyond the possible."""
    for odd in (
        SubmissionResult("ada", NAME),
        result_of("ada", *(replace(one, earned=0.0, possible=0.0) for one in result_of("x").cells)),
        result_of("ada", NEEDS_GPU, PARTIAL),
    ):
        for others in ([], [replace(odd, student=f"b{number}") for number in range(6)]):
            assert "Report for ada" in words(written(course, [odd, *others])["ada"])


def test_whoever_could_not_be_read_gets_to_know_why(course, results):
    """Without the instructor's path; beside the grade of an earlier submission, where there is one."""
    text = words(written(course, results)["ivy"])
    assert "Your last submission could not be graded the file is empty. Ask again." in text
    assert "work/submitted" not in text
    assert "points" not in text
    Records.of(course, NAME).folder.mkdir(parents=True)
    Records.of(course, NAME).save(result_of("ivy", added(3)))
    text = words(written(course, results)["ivy"])
    assert "could not be graded" in text
    assert "8 of 10 points" in text


def test_a_name_that_nobody_can_have_gets_no_folder(course):
    odd = [SubmissionResult(name, NAME, problem="its name is odd") for name in ("x" * 250, "a*b", "..")]
    assert written(course, [*odd, result_of("ada")]).keys() == {"ada"}


def test_a_mark_is_the_same_with_and_without_a_gradebook(course):
    chapter, result = course.chapter(NAME), result_of("ada", added(3), PARTIAL, NEEDS_GPU)
    without = [feedback.mark_of(cell) for cell in result.cells]
    gradebook.prepare(course, chapter)
    gradebook.record(course, chapter, composed(result), result)
    with gradebook.open_gradebook(course) as book:
        assert feedback.marks_of(book.find_submission_notebook(NAME, NAME, "ada"), result) == without
