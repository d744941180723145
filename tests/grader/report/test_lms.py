"""Grades get into Moodle and Canvas: tables as they read them, points as the gradebook has them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from click.testing import CliRunner
from recorded_class import NAME, composed, judged, result_of, small_course

from grader.cli.main import main
from grader.gradebook import gradebook
from grader.intake import ledger
from grader.intake import roster as rosters
from grader.intake.ledger import Taken
from grader.intake.names import Platform
from grader.model.course import CourseError
from grader.model.records import Records, make_folder
from grader.model.results import SubmissionResult, Verdict
from grader.report import lms

GPU = judged("bandwidth_gpu", Verdict.NEEDS_GPU)
FAILED = judged("double_test", Verdict.FAILED, message="no")
RESULTS = [
    result_of("Anna Müller", GPU),
    result_of("bela_77", FAILED),
    result_of("=cleo", GPU),
    SubmissionResult("dan", NAME, problem="empty"),
]
GRADES = lms.grades_of(RESULTS, {})


def taken(student: str, platform: Platform, id: str, name: str = "") -> Taken:
    return Taken(student, platform, name or student, id, "x.ipynb", "0" * 64)


LEDGER = {
    "Anna Müller": taken("Anna Müller", Platform.MOODLE, "4711"),
    "=cleo": taken("=cleo", Platform.MOODLE, "4713"),
    "bela_77": taken("bela_77", Platform.CANVAS, "77", "bela"),
}


def rows_of(text: str | None) -> list[dict[str, str]]:
    assert text is not None
    return list(csv.DictReader(io.StringIO(text)))


def sheet(folder: Path, text: str) -> rosters.Roster:
    path = folder / "table.csv"
    path.write_text("\ufeff" + text, encoding="utf-8")
    return rosters.read(path)


MOODLE = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"\n'
    'Participant 4711,"Anna Müller",anna@x.org,"Submitted for grading",,{most},Yes,'
    '"Friday, 20 November 2026, 7:30 PM",-,\n'
    'Participant 4712,"Bela Kun",bela_77@x.org,"Submitted for grading",,{most},Yes,-,-,\n'
    'Participant 4799,"Zoë O""Neil, jr.",z@x.org,"No submission",,{most},Yes,-,-,\n'
)
CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Homework (1),{title},Current Score\n"
    "    Points Possible,,,,,5,{most},(read only)\n"
    '"Kun, Bela",77,S77,bkun,S1,4,,80\n'
    '"Müller, Anna",78,S78,annamueller,S1,5,,100\n'
    '"Student, Test",79,,,S1,,,\n'
)


class TestTables:
    def test_moodle_gets_its_own_numbers(self) -> None:
        """The columns without which Moodle refuses a worksheet: Identifier, Grade, Last modified (grade)."""
        anna, cleo = rows_of(lms.moodle_text(GRADES, LEDGER))
        assert (anna["Identifier"], anna["Grade"], anna["Maximum grade"]) == ("Participant 4711", "7", "10")
        assert anna["Last modified (grade)"] == "-"
        assert anna["Feedback comments"] == "7 of 10 points; 3 pending"
        assert cleo["Full name"] == "'=cleo"  # a spreadsheet runs no name

    def test_canvas_gets_a_row_of_points(self) -> None:
        """Names of the first columns, and the row that says what an assignment gives, as Canvas checks them."""
        text = lms.canvas_text(GRADES, LEDGER, "Small")
        assert text is not None
        lines = text.splitlines()
        assert lines[0] == "Student,ID,SIS User ID,SIS Login ID,Section,Small"
        assert lines[1] == "    Points Possible,,,,,10"
        assert lines[2:] == ["bela,77,,,,8"]

    def test_there_is_no_table_for_a_platform_that_nobody_came_from(self) -> None:
        assert lms.moodle_text(GRADES, {}) is None
        assert lms.canvas_text(GRADES, {"=cleo": LEDGER["=cleo"]}, "Small") is None

    def test_points_given_by_hand_count(self) -> None:
        (anna, *_) = lms.grades_of(RESULTS, {"Anna Müller": 9.5})
        assert anna.earned == 9.5
        assert lms.by_hand(RESULTS, {"Anna Müller": 9.5, "bela_77": 8.0}) == ["Anna Müller"]


class TestFilling:
    def test_moodles_worksheet_keeps_everything_else(self, tmp_path: Path) -> None:
        roster = sheet(tmp_path, MOODLE.format(most="10"))
        filled = lms.filled(roster, GRADES, LEDGER, [NAME])
        anna, bela, zoe = rows_of(filled.text)
        assert (anna["Grade"], anna["Feedback comments"]) == ("7", "7 of 10 points; 3 pending")
        assert (bela["Grade"], bela["Email address"]) == ("8", "bela_77@x.org")  # found by the address's first part
        assert (zoe["Grade"], zoe["Full name"], zoe["Status"]) == ("", 'Zoë O"Neil, jr.', "No submission")
        assert filled.nowhere == ("=cleo",)
        assert filled.ungraded == ('Zoë O"Neil, jr.',)
        assert filled.scaled_to is None

    def test_an_assignment_of_other_points_is_scaled_and_told(self, tmp_path: Path) -> None:
        filled = lms.filled(sheet(tmp_path, MOODLE.format(most="100,00".replace(",", "."))), GRADES, LEDGER, [NAME])
        assert rows_of(filled.text)[0]["Grade"] == "70"
        assert filled.scaled_to == 100.0

    def test_canvas_column_is_the_chapters(self, tmp_path: Path) -> None:
        roster = sheet(tmp_path, CANVAS.format(title="Small numbers (4711)", most="10"))
        filled = lms.filled(roster, GRADES, LEDGER, [NAME, "Small"])
        lines = list(csv.reader(io.StringIO(filled.text)))
        assert [line[6] for line in lines] == ["Small numbers (4711)", "10", "8", "7", ""]
        assert lines[2][5] == "4"  # another column
        assert filled.nowhere == ("=cleo",)
        assert filled.ungraded == ()

    @pytest.mark.parametrize("title", ["Other (4711)", "Small (1),Small too (2)"])
    def test_a_column_that_is_not_clear_is_asked_about(self, tmp_path: Path, title: str) -> None:
        roster = sheet(tmp_path, CANVAS.format(title=title, most="10"))
        with pytest.raises(CourseError, match="column that begins with"):
            lms.filled(roster, GRADES, LEDGER, [NAME, "Small"])

    def test_two_people_of_one_name_get_nobodys_points(self, tmp_path: Path) -> None:
        text = MOODLE.format(most="10").replace("Bela Kun", "Anna Müller")
        filled = lms.filled(sheet(tmp_path, text), [GRADES[0]], {}, [NAME])
        assert filled.nowhere == ("Anna Müller",)

    def test_a_name_that_matches_anothers_row_writes_nothing_there(self, tmp_path: Path) -> None:
        """Somebody may be called like another one's login."""
        roster = sheet(tmp_path, MOODLE.format(most="10"))
        impostor = lms.Grade("anna müller", 0.0, 10.0, 0.0)
        filled = lms.filled(roster, [GRADES[0], impostor], {}, [NAME])
        assert rows_of(filled.text)[0]["Grade"] == ""
        assert filled.nowhere == ("Anna Müller", "anna müller")
        known = lms.filled(roster, [GRADES[0], impostor], LEDGER, [NAME])
        assert rows_of(known.text)[0]["Grade"] == "7", "the platform's number tells whose row it is"
        assert known.nowhere == ("anna müller",)

    def test_a_number_goes_before_a_name(self, tmp_path: Path) -> None:
        text = MOODLE.format(most="10").replace("Bela Kun", "Anna Müller")
        filled = lms.filled(sheet(tmp_path, text), [GRADES[0]], LEDGER, [NAME])
        assert [row["Grade"] for row in rows_of(filled.text)] == ["7", "", ""]

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "no table in it"),
            ("a,b\n1,2\n", "no students in it"),
            ("name\nanna\n", "neither Moodle's table nor Canvas'"),
            ("Identifier,Full name\nParticipant 1,Anna\n", "no column 'Grade'"),
        ],
    )
    def test_another_table_is_refused(self, tmp_path: Path, text: str, says: str) -> None:
        with pytest.raises(CourseError, match=says):
            lms.filled(sheet(tmp_path, text), GRADES, LEDGER, [NAME])

    def test_what_is_no_text_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04\xff\xfe")
        with pytest.raises(CourseError, match="not a text file"):
            rosters.read(tmp_path / "x.xlsx")


def test_the_command_writes_every_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a recorded class, with a grade changed by hand in the gradebook."""
    course, chapter = small_course(tmp_path / "course")
    monkeypatch.chdir(course.root)
    anna, bela = RESULTS[0], RESULTS[1]
    gradebook.prepare(course, chapter)
    make_folder(course.results / NAME)
    for one in (anna, bela):
        gradebook.record(course, chapter, composed(one), one)
        Records.of(course, NAME).save(one)
    with gradebook.open_gradebook(course) as book:
        grade = book.find_grade("double_test", NAME, NAME, "bela_77")
        grade.manual_score = 1.5
        book.db.commit()
    ledger.save(course, NAME, LEDGER.values())
    worksheet = tmp_path / "Grades.csv"
    worksheet.write_text(MOODLE.format(most="10"), encoding="utf-8")
    shown = CliRunner().invoke(main, ["report", NAME, "--fill", str(worksheet)])
    assert shown.exit_code == 0, shown.output
    folder = course.reports(NAME)
    assert {"grades.csv", "report.html", "moodle.csv", "canvas.csv", "Grades.csv"} == {p.name for p in folder.iterdir()}
    assert "bela,77,,,,9.5" in (folder / "canvas.csv").read_text()
    assert [row["Grade"] for row in rows_of((folder / "Grades.csv").read_text())] == ["7", "9.5", ""]
    assert worksheet.read_text(encoding="utf-8") == MOODLE.format(most="10")
    output = " ".join(shown.output.split())
    assert "1 with points that were given by hand: bela_77" in output
    assert "1 with points pending, which are not counted yet: Anna Müller" in output


@pytest.mark.parametrize("data", ["", "{}", "[1]", '[{"student": "x"}]', "\x00"])
def test_a_damaged_ledger_is_an_empty_one(tmp_path: Path, data: str) -> None:
    course, _ = small_course(tmp_path)
    path = ledger.ledger_file(course, NAME)
    path.parent.mkdir(parents=True)
    path.write_text(data)
    assert ledger.load(course, NAME) == {}
    ledger.save(course, NAME, LEDGER.values())
    assert ledger.load(course, NAME) == LEDGER
