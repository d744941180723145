"""What an instructor looks at: the table in the terminal, the CSV file, and the page."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from class_results import EVIL, NEEDS_GPU, added, fault, printed
from recorded_class import NAME, judged, result_of, small_course

from grader.intake import ledger
from grader.intake.ledger import Taken
from grader.intake.names import Platform
from grader.model.notebooks import load_key
from grader.model.results import CellResult, SubmissionResult, Verdict
from grader.report import class_statistics as report_numbers
from grader.report import class_table, plots
from grader.report.page import SIMILAR, STUDENT_REPORT


class Page(HTMLParser):
    """Elements of a page, its text, and what is open."""

    def __init__(self, source):
        super().__init__()
        self.source, self.text, self.elements, self.open = source, "", [], []
        self.feed(source)
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in ("meta", "br", "img", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += " " if tag in ("td", "th") else ""

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return small_course(tmp_path_factory.mktemp("report"))[0]


def page_of(course, results):
    chapter = course.chapter(NAME)
    path = course.reports(NAME) / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    class_table.write_html(course, chapter, results, load_key(chapter), path)
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_holds_the_class(course, results):
    """Unreadable first, then figures, every student, shared mistakes, what is pending and why."""
    page = page_of(course, results)
    text = " ".join(page.text.split())
    assert text.index("1 of 9 submissions could not be graded") < text.index("The class")
    assert "ivy: work/submitted/ivy/01_small.ipynb: the file is empty" in text
    for words in (
        "Small",
        "8 graded",
        "double is the hardest: 3 of 8 have all its points",
        "Half the class has 7 points or more",
        "6.75 / 10",
        "double You added 2. 2 cleo, dan",
        "needs a GPU 12 bandwidth_gpu ada, ben, cleo, hal",
        "One deleted.",
        "double(9): you returned 11, expected 18. You added 2.",
    ):
        assert words in text, words
    marks = [attributes["aria-label"] for attributes in page.all("span") if attributes.get("role") == "img"]
    assert len(marks) == 8 * 4
    assert set(marks) == {verdict.value for verdict in Verdict}


def test_the_page_stands_alone(course, results):
    """No script, nothing loaded from anywhere, every figure described, text in the page's own color."""
    page = page_of(course, results)
    assert not page.all("script") and not page.all("link") and not page.all("iframe")
    assert not re.search(r"(src|href)=\"(https?:|//)", page.source)
    assert not re.search(r"url\((?!#)", page.source)
    figures = page.all("svg")
    assert len(figures) == 2
    assert "double_test: 3 passed" in figures[0]["aria-label"]
    assert "the median is 7" in figures[1]["aria-label"]
    assert plots.INK not in page.source and "currentColor" in page.source
    ids = re.findall(r' id="([^"]+)"', page.source)
    assert len(ids) == len(set(ids))


def test_a_remark_leaves_the_path_out():
    """Also that of a student whose name has spaces."""
    for path in (
        "work/submitted/ivy/01_small.ipynb",
        "/a b/Omar Haddad/01_small/01_small.ipynb",
        "/a/b/x: y.ipynb: z.ipynb",
    ):
        unread = SubmissionResult("x", NAME, problem=f"{path}: not a whole notebook: it breaks off.")
        assert report_numbers.remark(unread) == "not a whole notebook: it breaks off."


def test_who_was_late_is_told(course, results):
    """As "grader collect" has noted it; a chapter that was not collected has nobody late."""
    came = [Taken(name, Platform.MOODLE, name, "1", "x", "0", late=name == "ben") for name in ("ada", "ben")]
    ledger.save(course, NAME, came)
    try:
        text = " ".join(page_of(course, results).text.split())
    finally:
        ledger.ledger_file(course, NAME).unlink()
    assert text.count(" late") == 1
    assert re.search(r"ben [^a-z]*late", text[text.index("The class") :])


def test_words_of_others_are_escaped(course):
    """Names, messages, repairs and problems may hold markup; none of it becomes any."""
    evil = [
        result_of(EVIL, fault(f"f: you returned '{EVIL}', expected 1. {EVIL}\" onload=alert(2) x=\""), repairs=(EVIL,)),
        result_of("look", look_at=(EVIL,)),
        SubmissionResult(f"{EVIL}2", NAME, problem=EVIL),
    ]
    page = page_of(course, evil)
    assert not page.all("script")
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert page.text.count(EVIL) >= 6


def test_names_lead_to_pages_that_are_there(course, results):
    """A link where there is a page, relative, so that the folder can be moved; a name where there is none."""
    name = "ada #1 %20?"
    folder = course.feedback / name / NAME
    folder.mkdir(parents=True)
    for page in (f"{NAME}.html", STUDENT_REPORT):
        (folder / page).write_text("hers")
    (course.reports(NAME) / SIMILAR).write_text("pairs")
    page = page_of(course, [result_of(name), *results])
    links = [attributes["href"] for attributes in page.all("a")]
    here = f"../../feedback/ada%20%231%20%2520%3F/{NAME}"
    assert links == [f"{here}/{STUDENT_REPORT}", f"{here}/{NAME}.html", SIMILAR]


@pytest.mark.parametrize(
    "few",
    [
        [],
        [SubmissionResult("ivy", NAME, problem="gone")],
        [result_of("ada")],
        [result_of("ada", *(judged(name, Verdict.HARNESS_ERROR) for name in ("double_test", "KINDS_test")))],
        [SubmissionResult("ada", NAME, (CellResult("free_test", Verdict.PASSED, 0.0, 0.0),))],
        [SubmissionResult("ada", NAME, (CellResult("a_gpu", Verdict.NEEDS_GPU, 0.0, 1.0),))],
        [SubmissionResult("ada", NAME)],
    ],
)  # fmt: skip
def test_a_small_class_has_a_page(course, few, tmp_path):
    """None, one, only unreadable, nothing decided, no points, no tests."""
    assert page_of(course, few).text
    assert printed(few, 100)
    class_table.write_csv(few, tmp_path / "grades.csv")


def test_figures_are_the_same_every_time(results):
    """Nothing of the clock or of chance is in a figure."""
    numbers = report_numbers.cell_numbers(results)
    assert plots.outcome_bars(numbers) == plots.outcome_bars(numbers)
    read = report_numbers.graded(results)
    assert plots.score_histogram(read) == plots.score_histogram(read)


def test_a_large_class_does_not_wait(course, results):
    """Three hundred students within seconds."""
    many = [
        result_of(f"student {number:03}", fault("f(1): you returned 1, expected 2. Half."), NEEDS_GPU)
        for number in range(300)
    ]
    started = time.perf_counter()
    assert "300" in page_of(course, many).text
    assert time.perf_counter() - started < 15


def test_results_of_earlier_versions_still_load():
    """Their cells have no mismatches and no cause; everything else is as it was."""
    result = result_of("dan", added(3))
    data = json.loads(result.to_json())
    for one in data["cells"]:
        del one["mismatches"], one["cause"]
    earlier = SubmissionResult.from_json(json.dumps(data))
    assert earlier == replace(result, cells=tuple(replace(one, mismatches=()) for one in result.cells))
    assert SubmissionResult.from_json(result.to_json()) == result


def test_cells_to_look_at_stand_apart_from_what_was_mended(course) -> None:
    """In the page and, first of all remarks, in the table."""
    sentence = "The cell saxpy, which is counted or timed, contains 'sys.modules': review it yourself."
    result = result_of("dan", repairs=("One deleted.",), look_at=(sentence,))
    assert report_numbers.remark(result).startswith(sentence.rstrip("."))
    assert SubmissionResult.from_json(result.to_json()) == result
    page = page_of(course, [result])
    places = [page.text.index(words) for words in ("Review these", "review it yourself.", "Fixed", "One deleted.")]
    assert places == sorted(places)
