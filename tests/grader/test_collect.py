"""`grader collect`: Moodle's and Canvas' bulk downloads, honest and otherwise, and what the instructor is told."""

from __future__ import annotations

import copy
import json
import os
import re
import stat
import struct
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from recorded_class import NAME, released_notebook, small_course

from grader.cli.main import main
from grader.intake import collect, disk, ledger, roster
from grader.intake.decisions import Decision, State
from grader.intake.find_submissions import find_submissions
from grader.intake.names import Owner, Platform, folder_name, owner_of, platform_of, student_of
from grader.intake.sources import Entry, opened, without_common_top
from grader.intake.times import when_due
from grader.model.course import Course, CourseError
from grader.model.submission import MAX_NOTEBOOK_BYTES

NOON = (2026, 11, 20, 12, 0, 0)
EVENING = (2026, 11, 20, 20, 0, 0)
OTHER = "02_other"
IPYNB = f"{NAME}.ipynb"


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with one released chapter, and a second one whose cells have other names."""
    made, chapter = small_course(tmp_path / "course")
    other = copy.deepcopy(json.loads(chapter.release.read_text()))
    for cell in other["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["grade_id"] += "_2"
    second = made.root / "notebooks" / OTHER / f"{OTHER}.ipynb"
    second.parent.mkdir(parents=True)
    second.write_text(json.dumps(other))
    (made.root / "solutions" / f"{OTHER}.md").write_text("# other\n")
    return made


def notebook(answer: str = "") -> bytes:
    """A submission; another answer gives another file."""
    filled = released_notebook()
    filled.cells[2].source += f"\n# {answer}"
    text: str = nbformat.writes(filled)
    return text.encode()


Member = tuple[str, bytes] | tuple[str, bytes, tuple[int, ...]]


def zipped(path: Path, *members: Member) -> Path:
    """An archive; members without a time are all of one moment, as when a platform writes it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, *time in members:
            info = zipfile.ZipInfo(name, date_time=(time or [NOON])[0])  # type: ignore[arg-type]
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return path


def collected(course: Course, path: Path, **wishes: Any) -> list[Decision]:
    with opened(path) as source:
        decisions = collect.plan(course, source, path.stem, collect.Wishes(**wishes))
        disk.carry_out(course, source, decisions)
    return decisions


def moodle(name: str, file: str = IPYNB) -> str:
    return f"{name}_assignsubmission_file/{file}"


def told(decisions: Sequence[Decision]) -> list[tuple[str, str]]:
    return [(one.student, one.state.value) for one in decisions]


def lies(course: Course, student: str, chapter: str = NAME) -> bytes:
    return (course.submitted / student / chapter / f"{chapter}.ipynb").read_bytes()


class TestNames:
    @pytest.mark.parametrize(
        ("path", "owner"),
        [
            (moodle("Anna Müller_4711", "my work.ipynb"), Owner("Anna Müller", "my work.ipynb", "4711")),
            (f"Anna_4711_assignsubmission_file_/{IPYNB}", Owner("Anna", IPYNB, "4711")),  # before Moodle 4
            (f"Anna_4711_assignsubmission_file_{IPYNB}", Owner("Anna", IPYNB, "4711")),  # not as folders
            (moodle("安娜_4711", f"deep/er/{IPYNB}"), Owner("安娜", IPYNB, "4711")),
            (f"Course-01-99/{moodle('Anna_4711')}", Owner("Anna", IPYNB, "4711")),  # unpacked, zipped again
            (moodle("Group 3_12"), Owner("Group 3", IPYNB, "12")),
            (moodle("Default group"), Owner("Default group", IPYNB)),
            (f"readme/{IPYNB}", None),
        ],
    )
    def test_moodle(self, path: str, owner: Owner | None) -> None:
        assert owner_of(path.split("/"), Platform.MOODLE, [NAME]) == owner

    @pytest.mark.parametrize(
        ("path", "owner"),
        [
            (f"doejane_77_4711_{IPYNB}", Owner("doejane", IPYNB, "77", False, 4711)),
            (f"doejane_LATE_77_4711_{IPYNB}", Owner("doejane", IPYNB, "77", True, 4711)),
            (f"doejane_late_77_4711_{NAME}-2.ipynb", Owner("doejane", f"{NAME}-2.ipynb", "77", True, 4711)),
            (f"anon_x9Yz1_4711_{IPYNB}", Owner("anon", IPYNB, "x9Yz1", False, 4711)),
            (f"müllerzoë_7_8_{IPYNB}", Owner("müllerzoë", IPYNB, "7", False, 8)),
            ("doejane_77_text.html", None),
        ],
    )
    def test_canvas(self, path: str, owner: Owner | None) -> None:
        assert owner_of(path.split("/"), Platform.CANVAS, [NAME]) == owner

    @pytest.mark.parametrize(
        ("path", "student"),
        [
            (f"anna/{NAME}/{IPYNB}", "anna"),
            (f"anna/a/b/c/{IPYNB}", "anna"),
            (f"anna_{IPYNB}", "anna"),
            (f"{NAME}_anna (2).ipynb", "anna"),
            (f"{NAME}/anna/x.ipynb", "anna"),
            ("anna.ipynb", "anna"),
            (IPYNB, None),
        ],
    )
    def test_plain_folders(self, path: str, student: str | None) -> None:
        owner = owner_of(path.split("/"), Platform.FOLDER, [NAME])
        assert (owner and owner.name) == student

    def test_platform_is_told_by_the_paths(self) -> None:
        assert platform_of([[IPYNB], moodle("Anna_4").split("/")]) is Platform.MOODLE
        assert platform_of([[f"doejane_1_2_{IPYNB}"], ["doejane_1_text.html"]]) is Platform.CANVAS
        assert platform_of([["anna", IPYNB]]) is Platform.FOLDER

    @pytest.mark.parametrize(
        ("name", "folder"),
        [
            ("Zoe\u0308 Mu\u0308ller", "Zoë Müller"),  # as macOS writes it
            ("../../etc", "_.._etc"),
            ("=cmd|' /C calc'!A0", "=cmd_' _C calc'!A0"),
            ("a\u202egnp.\x1b[31m", "agnp._31m"),
            ("..", ""),
            ("///", ""),
            ("안나 김", "안나 김"),
        ],
    )
    def test_a_name_becomes_a_folder_that_is_safe(self, name: str, folder: str) -> None:
        assert folder_name(name) == folder
        assert "/" not in folder
        assert not folder.startswith(".")

    def test_long_names_leave_room_for_a_number(self) -> None:
        student = student_of(Owner("é" * 300, IPYNB, "123456"), Platform.CANVAS)
        assert student.endswith("é_123456")
        assert len(student.encode()) <= 200

    def test_a_folder_around_everything_is_nobody(self) -> None:
        around = [Entry(("all", name, IPYNB), 1) for name in ("anna", "bela")]
        assert [one.parts for one in without_common_top(around, "x", [NAME])] == [("anna", IPYNB), ("bela", IPYNB)]
        single = [Entry(("anna", NAME, IPYNB), 1), Entry(("anna", OTHER, "x.ipynb"), 1)]
        assert without_common_top(single, "x", [NAME, OTHER]) == single


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
        assert [(one.state, one.why) for one in only][1] == (State.SKIPPED, f"a notebook of {OTHER}")
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
        assert (decision.state, decision.why) == (State.REPLACED, "the earlier one is put aside")
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
        assert (decision.state, decision.why) == (State.TAKEN, "damaged: it cannot be read as a notebook")

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
        """Nobody is called late, or in time, on the strength of it; the instructor is told what would help."""
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


class TestBadInput:
    @pytest.mark.parametrize(
        "name", ["../../evil.ipynb", "/etc/evil.ipynb", "a/../../evil.ipynb", "C:\\evil.ipynb", "..\\x.ipynb"]
    )
    def test_no_path_leads_out(self, course: Course, tmp_path: Path, name: str) -> None:
        archive = zipped(tmp_path / "a.zip", (name, notebook()), ("anna.ipynb", notebook()))
        before = {path for path in tmp_path.rglob("*") if course.work not in path.parents}
        decisions = collected(course, archive)
        assert told(decisions) == [("anna", "taken"), ("", "skipped")]
        assert decisions[1].why == "its path leads out of the archive"
        after = {path for path in tmp_path.rglob("*") if course.work not in path.parents}
        assert after - before <= {course.work}

    def test_a_student_called_like_a_path_stays_inside(self, course: Course, tmp_path: Path) -> None:
        archive = zipped(tmp_path / "a.zip", (moodle("..＼.._1"), notebook()), (moodle(".hidden_2"), notebook("2")))
        for one in collected(course, archive):
            assert not one.student.startswith(".")
            assert one.taken is None or (course.submitted / one.student).resolve().parent == course.submitted.resolve()

    def test_a_bomb_costs_no_more_than_a_notebook(self, course: Course, tmp_path: Path) -> None:
        """2 GB of zeros in 2 MB are neither unpacked nor taken."""
        archive = tmp_path / "a.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("bela.ipynb", notebook())
            with file.open("anna.ipynb", "w", force_zip64=True) as member:
                for _ in range(30):
                    member.write(bytes(1_000_000))
        # The size that the archive declares is changed to 2 GB: no disk of a test should hold them.
        data = archive.read_bytes().replace(struct.pack("<I", 30_000_000), struct.pack("<I", 2_000_000_000))
        archive.write_bytes(data)
        decisions = collected(course, archive)
        assert told(decisions) == [("bela", "taken"), ("anna", "skipped")]
        assert decisions[1].why == "2,000 MB, and 20 MB is the most that is read"

    def test_an_archive_that_lies_about_sizes_is_not_believed(self, course: Course, tmp_path: Path) -> None:
        archive = tmp_path / "a.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("anna.ipynb", bytes(MAX_NOTEBOOK_BYTES + 5_000_000))
            file.writestr("bela.ipynb", notebook())
        size = struct.pack("<I", MAX_NOTEBOOK_BYTES + 5_000_000)
        archive.write_bytes(archive.read_bytes().replace(size, struct.pack("<I", 1000)))
        decisions = collected(course, archive)
        assert told(decisions) == [("bela", "taken"), ("anna", "skipped")]
        assert "damaged in the archive" in decisions[1].why

    def test_links_are_not_followed(self, course: Course, tmp_path: Path) -> None:
        archive = tmp_path / "a.zip"
        with zipfile.ZipFile(archive, "w") as file:
            link = zipfile.ZipInfo("anna.ipynb")
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            file.writestr(link, "/etc/passwd")
        assert [one.why for one in collected(course, archive)] == ["a link"]
        (tmp_path / "class").mkdir()
        (tmp_path / "class" / "anna.ipynb").symlink_to("/etc/passwd")
        assert [one.why for one in collected(course, tmp_path / "class")] == ["a link"]

    def test_a_link_in_the_course_is_not_written_through(self, course: Course, tmp_path: Path) -> None:
        course.submitted.mkdir(parents=True)
        (tmp_path / "elsewhere").mkdir()
        (course.submitted / "Anna").symlink_to(tmp_path / "elsewhere")
        (decision,) = collected(course, zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook())))
        assert decision.state is State.SKIPPED
        assert "is a link" in decision.why
        assert not list((tmp_path / "elsewhere").iterdir())

    @pytest.mark.parametrize(
        ("data", "says"),
        [
            (b"", "the file is empty"),
            (b"7z\xbc\xaf\x27\x1c", "not a zip archive but a 7z archive"),
            (b"\x1f\x8b\x08", "probably a tar archive"),
            (b"<!DOCTYPE html><title>Log in", "probably that of a login"),
            (b'{"cells": []}', "one notebook, not a class"),
            (b"PK\x03\x04 and then nothing", "breaks off or is damaged"),
            (b"hello", "not a zip archive"),
        ],
    )
    def test_what_is_no_archive_is_named(self, course: Course, tmp_path: Path, data: bytes, says: str) -> None:
        path = tmp_path / "download.zip"
        path.write_bytes(data)
        with pytest.raises(CourseError, match=says):
            collected(course, path)

    def test_an_archive_cut_off_anywhere_is_an_error_or_a_reason(self, course: Course, tmp_path: Path) -> None:
        whole = zipped(
            tmp_path / "a.zip", (moodle("Anna_1"), notebook()), (moodle("Bela_2"), notebook("b"))
        ).read_bytes()
        for end in range(1, len(whole), 97):
            (tmp_path / "cut.zip").write_bytes(whole[:end])
            with pytest.raises(CourseError):
                collected(course, tmp_path / "cut.zip")

    def test_flipped_bytes_are_an_error_or_a_reason(self, course: Course, tmp_path: Path) -> None:
        """Whatever is broken, no exception of ours, and never another student's file."""
        whole = zipped(
            tmp_path / "a.zip", (moodle("Anna_1"), notebook("a")), (moodle("Bela_2"), notebook("b"))
        ).read_bytes()
        for at in range(0, len(whole), 41):
            broken = bytearray(whole)
            broken[at] ^= 0x55
            (tmp_path / "broken.zip").write_bytes(broken)
            try:
                with opened(tmp_path / "broken.zip") as source:
                    collect.plan(course, source, "broken", collect.Wishes())
            except CourseError:
                continue

    def test_names_that_say_nothing_are_asked_about(self, course: Course, tmp_path: Path) -> None:
        decisions = collected(course, zipped(tmp_path / "a.zip", (IPYNB, notebook()), ("anna/notes.txt", b"hi")))
        assert [one.why for one in decisions] == [
            "neither folder nor file name says whose it is",
            "not a notebook",
        ]

    def test_names_written_by_macos_are_read(self, course: Course, tmp_path: Path) -> None:
        """UTF-8 that the archive does not declare, beside what macOS leaves in archives."""
        archive = zipped(tmp_path / "a.zip", ("zoe.ipynb", notebook()), ("__MACOSX/._zoe.ipynb", b"x"))
        data = archive.read_bytes().replace(b"zoe.ipynb", "zö.ipynb".encode())  # as many bytes
        archive.write_bytes(data)
        assert told(collected(course, archive)) == [("zö", "taken")]

    def test_nothing_to_take_is_a_failure(
        self, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(course.root)
        archive = zipped(tmp_path / "a.zip", ("x.txt", b"hi"))
        shown = CliRunner().invoke(main, ["collect", str(archive)])
        assert shown.exit_code == 1
        assert "1 skipped." in shown.output


@pytest.mark.parametrize("unpacked", [False, True], ids=["archive", "folder"])
def test_a_name_that_begins_with_a_dot_is_told(course: Course, tmp_path: Path, unpacked: bool) -> None:
    """Not taken, since hidden files are seldom anybody's, but not dropped without a word either."""
    names = (".anna/" + IPYNB, "bela/" + IPYNB, ".git/" + IPYNB, "bela/.ipynb_checkpoints/" + IPYNB, "._x.ipynb")
    download = zipped(tmp_path / "class.zip", *((name, notebook(name)) for name in names))
    if unpacked:
        with zipfile.ZipFile(download) as archive:
            archive.extractall(tmp_path / "class")
        download = tmp_path / "class"
    found = collected(course, download)
    assert [one.student for one in found if one.state is State.TAKEN] == ["bela"]
    skipped = [one for one in found if one.state is State.SKIPPED]
    assert [one.file for one in skipped] == [".anna/" + IPYNB]
    assert "begins with a dot" in skipped[0].why


def test_the_table_lists_every_file(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course.root)
    monkeypatch.setenv("COLUMNS", "160")
    archive = zipped(tmp_path / "a.zip", (moodle("Anna [red]_1"), notebook()), (moodle("Bela_2", "notes.txt"), b"hi"))
    shown = CliRunner().invoke(main, ["collect", str(archive)]).output
    assert "1 taken, 1 skipped." in shown
    assert "Anna _red_" in shown
    assert re.search(r"skipped +Bela +notes.txt +not a notebook", shown)
    assert 'Next: "grader autograde 01_small"' in shown
