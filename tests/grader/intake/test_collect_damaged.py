"""Damaged and hostile downloads: each such file is reported, the rest is taken, nothing else is written."""

from __future__ import annotations

import stat
import struct
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from downloads import IPYNB, collected, moodle, notebook, told, zipped

from grader.cli.main import main
from grader.intake import collect
from grader.intake.decisions import FileState
from grader.intake.sources import opened
from grader.model.course import Course, CourseError
from grader.model.submission import MAX_NOTEBOOK_BYTES


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
        assert decision.state is FileState.SKIPPED
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
    assert [one.student for one in found if one.state is FileState.TAKEN] == ["bela"]
    skipped = [one for one in found if one.state is FileState.SKIPPED]
    assert [one.file for one in skipped] == [".anna/" + IPYNB]
    assert "begins with a dot" in skipped[0].why
