"""`grader collect`: Moodle's and Canvas' bulk downloads, honest and otherwise, and what the instructor learns."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from downloads import IPYNB, NOON, OTHER, collected, moodle, notebook, told, zipped
from recorded_class import NAME

from grader.cli.main import main
from grader.intake import ledger, roster
from grader.intake.decisions import FileState
from grader.intake.discovery import find_submissions
from grader.intake.times import when_due
from grader.model.course import Course, CourseError

EVENING = (2026, 11, 20, 20, 0, 0)


def lies(course: Course, student: str, chapter: str = NAME) -> bytes:
    return (course.submitted / student / chapter / f"{chapter}.ipynb").read_bytes()


class TestTaking:
    def test_moodle_gets_into_the_layout_that_grading_reads(self, course: Course, tmp_path: Path) -> None:
        archive = zipped(
            tmp_path / "GPU-01-99.zip",
            (moodle("Anna Müller_1"), notebook("anna")),
            (moodle("김 안나_2", f"sub/folder/{IPYNB}"), notebook("kim")),
        )
        assert told(collected(course, archive)) == [("Anna Müller", "taken"), ("김 안나", "taken")]
        assert lies(course, "김 안나") == notebook("kim")
        found = find_submissions(course.submitted, NAME)
        assert [(one.student, one.problem) for one in found] == [("Anna Müller", None), ("김 안나", None)]
        assert ledger.load(course, NAME)["Anna Müller"].id == "1"

    def test_canvas_counts_the_latest_attempt_and_tells_who_is_late(self, course: Course, tmp_path: Path) -> None:
        archive = zipped(
            tmp_path / "submissions.zip",
            (f"doejane_7_100_{IPYNB}", notebook("first")),
            (f"doejane_7_101_{NAME}-1.ipynb", notebook("second")),
            (f"roeriq_LATE_8_102_{IPYNB}", notebook("riq")),
            ("roeriq_8_text.html", b"<p>"),
        )
        decisions = collected(course, archive)
        assert told(decisions) == [
            ("doejane_7", "taken"),
            ("roeriq_8", "taken"),
            ("", "skipped"),
            ("doejane_7", "skipped"),
        ]
        assert lies(course, "doejane_7") == notebook("second")
        assert [one.why for one in decisions] == [
            "newest of 2",
            "late",
            "not a notebook",
            f"older than {NAME}-1.ipynb, which counts",
        ]

    def test_every_notebook_goes_to_its_own_chapter(self, course: Course, tmp_path: Path) -> None:
        """Told by its cells, whatever it is called; `--chapter` takes one chapter's only."""
        second = (course.root / "notebooks" / OTHER / f"{OTHER}.ipynb").read_bytes()
        folder = tmp_path / "class"
        (folder / "anna").mkdir(parents=True)
        (folder / "anna" / "homework.ipynb").write_bytes(notebook("a"))
        (folder / "anna" / IPYNB).write_bytes(second)
        only = collected(course, folder, chapter=NAME)
        assert [(one.state, one.why) for one in only][1] == (FileState.SKIPPED, f"a notebook of {OTHER}")
        collected(course, folder)
        assert lies(course, "anna") == notebook("a")
        assert lies(course, "anna", OTHER) == second

    def test_again_changes_nothing(self, course: Course, tmp_path: Path) -> None:
        archive = zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook()))
        collected(course, archive)
        before = (course.submitted / "Anna" / NAME / IPYNB).stat().st_mtime_ns
        assert told(collected(course, archive)) == [("Anna", "there already")]
        assert (course.submitted / "Anna" / NAME / IPYNB).stat().st_mtime_ns == before

    def test_a_resubmission_puts_the_earlier_one_aside(self, course: Course, tmp_path: Path) -> None:
        collected(course, zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook("first"))))
        (decision,) = collected(course, zipped(tmp_path / "b.zip", (moodle("Anna_1"), notebook("second"))))
        assert (decision.state, decision.why) == (FileState.REPLACED, "the earlier one is put aside")
        assert lies(course, "Anna") == notebook("second")
        (aside,) = (course.work / "replaced" / NAME / "Anna").iterdir()
        assert aside.read_bytes() == notebook("first")

    def test_what_an_instructor_put_there_by_hand_is_put_aside_too(self, course: Course, tmp_path: Path) -> None:
        by_hand = course.submitted / "Anna" / NAME / "renamed.ipynb"
        by_hand.parent.mkdir(parents=True)
        by_hand.write_bytes(b"by hand")
        collected(course, zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook())))
        (aside,) = (course.work / "replaced" / NAME / "Anna").iterdir()
        assert aside.read_bytes() == b"by hand"
        (found,) = find_submissions(course.submitted, NAME)
        assert found.problem is None

    def test_an_older_download_does_not_replace_a_newer_one(self, course: Course, tmp_path: Path) -> None:
        new = zipped(tmp_path / "b.zip", ("anna.ipynb", notebook("new"), EVENING), ("bela.ipynb", notebook("b"), NOON))
        old = zipped(tmp_path / "a.zip", ("anna.ipynb", notebook("old"), NOON), ("cleo.ipynb", notebook("c"), EVENING))
        collected(course, new)
        decisions = collected(course, old)
        assert told(decisions) == [("cleo", "taken"), ("anna", "skipped")]
        assert "older than what is there, of 2026-11-20" in decisions[1].why
        assert lies(course, "anna") == notebook("new")

    def test_namesakes_keep_apart(self, course: Course, tmp_path: Path) -> None:
        archive = zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook("1")), (moodle("anna_2"), notebook("2")))
        assert told(collected(course, archive)) == [("Anna_1", "taken"), ("anna_2", "taken")]

    def test_a_namesake_who_comes_later_gets_a_folder_of_their_own(self, course: Course, tmp_path: Path) -> None:
        collected(course, zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook("1"))))
        (decision,) = collected(course, zipped(tmp_path / "b.zip", (moodle("Anna_2"), notebook("2"))))
        assert (decision.student, decision.why) == ("Anna_2", "another Anna was collected before, number 1")
        assert lies(course, "Anna") == notebook("1")

    def test_two_people_of_one_folder_name_are_both_refused(self, course: Course, tmp_path: Path) -> None:
        """Rather than that one of them gets the other's points."""
        archive = zipped(tmp_path / "a.zip", ("a?b/x.ipynb", notebook("1")), ("a*b/x.ipynb", notebook("2")))
        decisions = collected(course, archive)
        assert [(one.student, one.why) for one in decisions] == [
            ("a_b", "the folder a_b would be that of a*b and a?b")
        ] * 2
        assert not course.submitted.exists()

    def test_the_same_file_of_two_students_is_told(self, course: Course, tmp_path: Path) -> None:
        blank = (course.root / "notebooks" / NAME / IPYNB).read_bytes()
        archive = zipped(
            tmp_path / "a.zip",
            (moodle("Anna_1"), notebook("same")),
            (moodle("Bela_2"), notebook("same")),
            (moodle("Cleo_3"), blank),
        )
        assert [one.why for one in collected(course, archive)] == [
            "the very same file as Bela's",
            "the very same file as Anna's",
            "as it was handed out",
        ]

    def test_a_damaged_notebook_is_taken_and_told(self, course: Course, tmp_path: Path) -> None:
        """It is the student's submission all the same: grading lists it, and they are asked again."""
        (decision,) = collected(course, zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook()[:900])))
        assert (decision.state, decision.why) == (FileState.TAKEN, "damaged: it cannot be read as a notebook")

    def test_a_dry_run_changes_nothing(self, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        archive = zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook()))
        monkeypatch.chdir(course.root)
        shown = CliRunner().invoke(main, ["collect", str(archive), "--dry-run"])
        assert (shown.exit_code, "Would be: 1 taken." in shown.output) == (0, True)
        assert not course.work.exists()


class TestTimes:
    def test_a_folder_tells_by_its_files(self, course: Course, tmp_path: Path) -> None:
        for student, hour in (("anna", 12), ("bela", 20)):
            path = tmp_path / "class" / f"{student}.ipynb"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(notebook(student))
            moment = datetime(2026, 11, 20, hour, tzinfo=UTC).timestamp()
            os.utime(path, (moment, moment))
        anna, bela = collected(course, tmp_path / "class", due=when_due("2026-11-20T18:00+00:00"))
        assert (anna.why, bela.why) == ("", "late by 2 h 0 min")
        noted = course.submitted / "bela" / NAME / "timestamp.txt"
        assert noted.read_text() == "2026-11-20 20:00:00 UTC\n"

    def test_late_ones_can_be_left_out(self, course: Course, tmp_path: Path) -> None:
        archive = zipped(
            tmp_path / "a.zip", ("anna.ipynb", notebook("a"), EVENING), ("bela.ipynb", notebook("b"), NOON)
        )
        decisions = collected(course, archive, due=when_due("2026-11-20 18:00"), skip_late=True)
        assert told(decisions) == [("bela", "taken"), ("anna", "skipped")]

    def test_the_time_of_a_download_is_not_that_of_a_submission(
        self, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody is called late, or in time, on the strength of it; the instructor learns what would help."""
        archive = zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook("a")), (moodle("Bela_2"), notebook("b")))
        decisions = collected(course, archive, due=when_due("2026-11-19"))
        assert [one.taken and one.taken.late for one in decisions] == [None, None]
        monkeypatch.chdir(course.root)
        shown = CliRunner().invoke(main, ["collect", str(archive), "--due", "2026-11-19"])
        assert "When 2 of them came is not known" in shown.output

    def test_moodles_worksheet_tells(self, course: Course, tmp_path: Path) -> None:
        sheet = tmp_path / "Grades.csv"
        sheet.write_text(
            'Identifier,"Full name","Email address",Status,Grade,"Maximum grade","Last modified (submission)",'
            '"Last modified (grade)"\n'
            'Participant 1,Anna,a@x.org,Submitted,,10,"Friday, 20 November 2026, 7:30 PM",-\n'
            "Participant 2,Bela,b@x.org,No submission,,10,-,-\n"
        )
        archive = zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook("a")), (moodle("Eve_9"), notebook("e")))
        due = when_due("2026-11-20 18:00")
        decisions = collected(course, archive, due=due, roster=roster.read(sheet))
        assert told(decisions) == [("Anna", "taken"), ("Eve", "skipped")]
        assert decisions[0].why == "late by 1 h 30 min"
        assert decisions[1].why == "nobody, or more than one, on Grades.csv is Eve"

    @pytest.mark.parametrize("text", ["tomorrow", "", "2026-13-01"])
    def test_no_time_is_refused(self, text: str) -> None:
        with pytest.raises(CourseError, match="is no time"):
            when_due(text)


def test_the_table_lists_every_file(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.setenv("COLUMNS", "160")
    archive = zipped(tmp_path / "a.zip", (moodle("Anna [red]_1"), notebook()), (moodle("Bela_2", "notes.txt"), b"hi"))
    shown = CliRunner().invoke(main, ["collect", str(archive)]).output
    assert "1 taken, 1 skipped." in shown
    assert "Anna _red_" in shown
    assert re.search(r"skipped +Bela +notes.txt +not a notebook", shown)
    assert 'Next: "grader autograde 01_small"' in shown
