"""What an instructor looks at: the table in the terminal, the CSV file, and the page."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from recorded_class import NAME, TESTS, judged, result_of, small_course
from rich.console import Console

from gpulab import check
from gpulab.check.outcomes import Mismatch, collecting
from gpulab.measuring.speedup import Noisy
from grader.intake import ledger
from grader.intake.ledger import Taken
from grader.intake.names import Platform
from grader.model.notebooks import load_key
from grader.model.results import CellResult, SubmissionResult, Usage, Verdict
from grader.report import numbers as report_numbers
from grader.report import plots, table
from grader.report.numbers import common_faults, faults_in

NEEDS_GPU = judged("bandwidth_gpu", Verdict.NEEDS_GPU, message="Runs on a GPU only: 3 points pending.")
PARTIAL = replace(
    judged("KINDS_test", Verdict.PARTIAL, 1.75, "KINDS: 7 of 8 right.\n  'b': you said 'x'. No."),
    mismatches=(Mismatch("'b'", "'x'", "'y'", "No."),),
)
EVIL = "<script>alert(1)</script>"


def fault(text, *mismatches, grade_id="double_test"):
    return replace(judged(grade_id, Verdict.FAILED, message=text), mismatches=mismatches)


def added(number):
    """The fault of an answer that adds 2."""
    text = f"double({number}): you returned {number + 2}, expected {2 * number}. You added 2."
    mismatch = Mismatch(f"double({number})", str(number + 2), str(2 * number), "You added 2.")
    return fault(text, mismatch)


@pytest.fixture
def results():
    """A class in which everything happens that can."""
    return [
        result_of("ada", NEEDS_GPU, usage=Usage(1.0, 2.0, 400.0)),
        result_of("ben", PARTIAL, NEEDS_GPU),
        result_of("cleo", added(3), NEEDS_GPU),
        result_of("dan", added(9), repairs=("One deleted.", "x")),
        result_of("eve", judged("double_test", Verdict.TIMED_OUT, message="The call gave no answer within 10 s.")),
        result_of("fay", judged("double_test", Verdict.CRASHED, message="The process ended.")),
        result_of("gus", judged("bandwidth_test", Verdict.HARNESS_ERROR, message="Our fault.")),
        result_of("hal", *(judged(name, Verdict.NOT_ATTEMPTED) for name in list(TESTS)[:3]), NEEDS_GPU),
        SubmissionResult("ivy", NAME, problem="work/submitted/ivy/01_small.ipynb: the file is empty. Ask again."),
    ]


# ------------------------------------------------------------------------------------------------------ the terminal


def printed(results, width):
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(table.table(results))
    return text.getvalue()


@pytest.mark.parametrize("width", [100, 120])
def test_the_table_shows_every_verdict_at_a_glance(results, width):
    """A mark a test, points, what is pending and a remark, one line a student, within the terminal's width."""
    text = printed(results, width)
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert max(map(len, text.splitlines())) <= width
    assert lines["ada"] == ["ada", "✓", "✓", "✓…", "7/10", "3"]
    assert lines["ben"] == ["ben", "✓", "½", "✓…", "6.75/10", "3"]
    assert lines["cleo"] == ["cleo", "✗", "✓", "✓…", "5/10", "3"]
    assert lines["dan"] == ["dan", "✗", "✓", "✓✓", "8/10", "One", "deleted", "(and", "1", "more)"]
    assert lines["eve"][1:5] == ["∞", "✓", "✓✓", "8/10"]
    assert lines["fay"][1:5] == ["†", "✓", "✓✓", "8/10"]
    assert lines["gus"][1:6] == ["✓", "✓", "!✓", "7/10", "3"]
    assert lines["hal"][1:6] == ["·", "·", "·…", "0/10", "3"]
    assert lines["ivy"] == ["ivy", "–", "the", "file", "is", "empty.", "Ask", "again."]
    assert lines["all"][3:6] == ["38", "75", "86"]  # 3 of 8, 6 of 8, 6 of the 7 that are decided
    assert "1=double  2=KINDS  3=bandwidth" in text
    assert all(verdict.value in text for verdict in Verdict)


def test_a_wide_class_still_fits(results):
    """Twenty exercises, a name that never ends, a remark that neither does: marks and points stay."""
    cells = [CellResult(f"exercise{number}_test", Verdict.PASSED, 1.25, 1.25) for number in range(20)]
    long = SubmissionResult("x" * 90, NAME, tuple(cells), repairs=("word " * 90,))
    text = printed([long], 100)
    assert max(map(len, text.splitlines())) <= 100
    line = next(line for line in text.splitlines() if line.strip().startswith("xx"))
    assert line.count("✓") == 20
    assert "25/25" in line


def test_names_are_not_markup(results):
    """A student may be called [red] or :smile: and is shown so."""
    text = printed([result_of("[red]mo[/red]"), result_of(":smile:"), result_of("[/]")], 100)
    assert "[red]mo[/red]" in text and ":smile:" in text and "[/]" in text


@pytest.mark.parametrize("count", [0, 1])
def test_a_class_of_none_or_one_has_a_table(count):
    """Nothing to divide by is no reason to fail."""
    text = printed([SubmissionResult("ivy", NAME, problem="gone")][:count], 100)
    assert f"{count} submission" in text


# ---------------------------------------------------------------------------------------------------------- the file


def rows_of(results, folder):
    path = folder / "grades.csv"
    table.write_csv(results, path)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_file_has_points_of_exercises_and_verdicts_of_tests(results, tmp_path):
    """One row a student; what is pending is empty, not 0; what could not be read has its reason."""
    rows = {row["student"]: row for row in rows_of(results, tmp_path)}
    assert rows["ben"] == {
        "student": "ben",
        "points": "6.75",
        "possible": "10",
        "pending": "3",
        "double": "2",
        "KINDS": "1.75",
        "bandwidth": "3",
        "double_test verdict": "passed",
        "KINDS_test verdict": "partial",
        "bandwidth_test verdict": "passed",
        "bandwidth_gpu verdict": "needs a GPU",
        "problem": "",
    }
    assert rows["cleo"]["double"] == "0"
    assert (rows["ivy"]["points"], rows["ivy"]["double"]) == ("", "")
    assert rows["ivy"]["problem"].endswith("the file is empty. Ask again.")


def test_an_exercise_that_is_wholly_pending_is_empty(tmp_path):
    """Not a zero that somebody might add up."""
    both = (judged("bandwidth_test", Verdict.HARNESS_ERROR), NEEDS_GPU)
    (row,) = rows_of([result_of("ada", *both)], tmp_path)
    assert (row["bandwidth"], row["points"], row["pending"]) == ("", "4", "6")


@pytest.mark.parametrize("name", ['O"Neill, Zoë', "two\nlines", EVIL, "李雷", "a;b\tc", "'quoted'"])
def test_any_name_comes_back_from_the_file(name, tmp_path):
    """Commas, quotes and line breaks are quoted as CSV wants them."""
    assert [row["student"] for row in rows_of([result_of(name), result_of("b")], tmp_path)] == [name, "b"]


def test_a_spreadsheet_runs_no_name(tmp_path):
    """=HYPERLINK(…) as a student's name is text."""
    names = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)"]
    assert [row["student"] for row in rows_of(list(map(result_of, names)), tmp_path)] == [f"'{name}" for name in names]


def test_points_in_the_file_are_exact(tmp_path):
    """A third is a third."""
    (row,) = rows_of([result_of("ada", judged("KINDS_test", Verdict.PARTIAL, 1 / 3))], tmp_path)
    assert float(row["KINDS"]) == 1 / 3


# ------------------------------------------------------------------------------------------------------- the numbers


def test_pass_rate_and_share_leave_pending_out(results):
    """What is not decided counts neither way."""
    numbers = {one.grade_id: one for one in report_numbers.cell_numbers(results)}
    assert numbers["bandwidth_test"].pass_rate == 6 / 7
    assert numbers["bandwidth_gpu"].pass_rate == 1.0
    assert numbers["KINDS_test"].mean_share == pytest.approx((6 + 0.875) / 8)
    assert numbers["double_test"].verdicts[Verdict.FAILED] == 2
    nobody = report_numbers.cell_numbers([result_of("ada", NEEDS_GPU)])
    assert nobody[-1].pass_rate is None and nobody[-1].mean_share is None


def test_discrimination_is_the_correlation_with_the_rest():
    """Worked by hand: all or nothing on one test, against the share of the other 8 points."""
    weak = (fault("no"), judged("KINDS_test", Verdict.FAILED), judged("bandwidth_test", Verdict.FAILED))
    cells = [(), (), (), weak, weak, (judged("bandwidth_test", Verdict.FAILED),)]
    numbers = report_numbers.cell_numbers([result_of(f"s{place}", *one) for place, one in enumerate(cells)])
    # double: 1 1 1 0 0 1; the rest: 1 1 1 3/8 3/8 5/8; both from their means: r = 0.25 · … = 0.8932…
    x, y = [1, 1, 1, 0, 0, 1], [1, 1, 1, 3 / 8, 3 / 8, 5 / 8]
    mean_x, mean_y = sum(x) / 6, sum(y) / 6
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    spread = (sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y)) ** 0.5
    assert numbers[0].discrimination == pytest.approx(covariance / spread)
    assert numbers[3].discrimination is None  # everybody has the same there
    assert report_numbers.cell_numbers([result_of("a"), result_of("b", *weak)])[0].discrimination is None


def test_faults_are_the_mistakes_that_checks_name(capsys):
    """The known mistake, else where the value differs, without the numbers of the case."""
    mistakes = {12.5: "Bits for bytes. A byte has 8 bits."}
    with pytest.raises(check.WrongAnswer) as caught:
        check.close(12.5, 1.5625, "row 'T4', e.g. 3.2", mistakes=mistakes)
    assert faults_in(fault(str(caught.value), *caught.value.mismatches)) == ["Bits for bytes. A byte has 8 bits."]
    with collecting() as found:
        right = {"a": 1, "b": 1, "c": 2, "d": 3}
        check.share({"a": "x", "b": 1, "c": 7}, right, 4, "KINDS", {"a": {"x": "Text won't do."}})
    assert faults_in(fault("KINDS: 1 of 4 right.", *found)) == [
        "Text won't do.",
        "'c': another value",
        "'d': no answer.",
    ]


@pytest.mark.parametrize(
    ("message", "faults"),
    [
        ("", []),
        ("f(1): you returned 2, expected 3. Why.", ["f(1): you returned 2, expected 3. Why."]),
        ("two\nlines", ["two lines"]),
    ],
)
def test_a_message_without_fields_is_a_fault_as_a_whole(message, faults):
    """Of a test's own assertion, or in a result of an earlier version; nothing is guessed from its words."""
    assert faults_in(fault(message)) == faults


def test_common_faults_count_students(results):
    """The same mistake on other numbers is one fault; each student counts once; most frequent first."""
    faults = common_faults(results)
    assert (faults[0].exercise, faults[0].text, faults[0].students) == ("double", "You added 2.", ("cleo", "dan"))
    assert {one.text for one in faults[1:]} == {"No.", "The call gave no answer within 10 s.", "The process ended."}
    half = Mismatch("a", "1", "2", "Half.")
    twice = [fault("Half.", half, half), fault("Half.", half, grade_id="bandwidth_gpu")]
    assert [len(one.students) for one in common_faults([result_of("x", *twice)])] == [1, 1]


def test_slowest_and_waiting(results):
    """Who waits for what, and which test took longest for whom."""
    slow = CellResult("double_test", Verdict.FAILED, 0.0, 2.0, seconds=9.5)
    (first, *_) = report_numbers.slowest([*results, result_of("zoe", slow)])
    assert (first.grade_id, first.longest_seconds, first.student, first.median_seconds) == (
        "double_test",
        9.5,
        "zoe",
        0.5,
    )
    gpu, ours = report_numbers.waiting(results)
    assert (gpu.reason, gpu.points, gpu.students) == ("needs a GPU", 12.0, ("ada", "ben", "cleo", "hal"))
    assert (ours.reason, ours.points, ours.grade_ids) == ("harness error", 3.0, ("bandwidth_test",))


def test_noise_is_told_from_our_faults(results):
    """Times that differ too much to be worth points wait for a quiet machine, not for us."""
    noisy = judged("double_test", Verdict.HARNESS_ERROR, message="Too noisy to tell, grade again: 1.2× ± 0.9.")
    noisy = replace(noisy, cause=Noisy.cause)
    rows = {row.reason: row for row in report_numbers.waiting([*results, result_of("zoe", noisy)])}
    assert rows["too noisy to tell"].students == ("zoe",)
    assert rows["too noisy to tell"].remedy == "grade again on a quiet machine"
    assert rows["harness error"].grade_ids == ("bandwidth_test",)


def test_tests_whose_times_differ_are_listed_beside_the_slow_ones():
    """One that is slow for nobody, but takes one student thrice as long as the next."""

    def timed(name, seconds):
        return CellResult(name, Verdict.PASSED, TESTS[name][0], TESTS[name][0], seconds=seconds)

    def student(name, share):
        steady = [timed(test, 9.0) for test in list(TESTS)[1:]]
        return result_of(name, timed("double_test", share), *steady)

    rows = report_numbers.slow_and_noisy([student(str(n), 0.1 * (1 + n)) for n in range(6)], slow=1)
    assert [row.grade_id for row in rows] == ["KINDS_test", "double_test"]
    assert rows[1].noise > 0.25
    assert rows[0].spread_seconds == 0.0
    few = report_numbers.slow_and_noisy([student(str(n), 0.1 * (1 + n)) for n in range(3)], slow=1)
    assert [row.grade_id for row in few] == ["KINDS_test"]  # three tell nothing about spread


# ---------------------------------------------------------------------------------------------------------- the page


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
    table.write_html(course, chapter, results, load_key(chapter), path)
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_holds_the_class(course, results):
    """Unreadable first, then figures, every student, shared mistakes, what is pending and why."""
    page = page_of(course, results)
    text = " ".join(page.text.split())
    assert text.index("1 of 9 submissions could not be read") < text.index("The class")
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
    """No script, nothing loaded from anywhere, every figure described, text in the page's own colour."""
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
    for path in ("work/submitted/ivy/01_small.ipynb", "/a b/Omar Haddad/01_small/01_small.ipynb"):
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


def test_names_lead_to_feedback_pages_that_are_there(course, results):
    """A link where there is a page, relative, so that the folder can be moved; a name where there is none."""
    name = "ada #1 %20?"
    feedback = course.feedback / name / NAME / f"{NAME}.html"
    feedback.parent.mkdir(parents=True)
    feedback.write_text("hers")
    page = page_of(course, [result_of(name), *results])
    links = [attributes["href"] for attributes in page.all("a")]
    assert links == [f"../../feedback/ada%20%231%20%2520%3F/{NAME}/{NAME}.html"]


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
    table.write_csv(few, tmp_path / "grades.csv")


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
    sentence = "The cell saxpy, which is counted or timed, says 'sys.modules': look at it yourself."
    result = result_of("dan", repairs=("One deleted.",), look_at=(sentence,))
    assert report_numbers.remark(result).startswith(sentence.rstrip("."))
    assert SubmissionResult.from_json(result.to_json()) == result
    page = page_of(course, [result])
    places = [page.text.index(words) for words in ("Look at these", "at it yourself.", "Mended", "One deleted.")]
    assert places == sorted(places)
