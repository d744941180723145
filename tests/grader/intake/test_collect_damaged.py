"""Damaged and hostile downloads: each such file is reported, the rest is taken, nothing else is written."""

from __future__ import annotations

import os
import stat
import struct
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from downloads import IPYNB, collected, moodle, notebook, told, zipped
from recorded_class import NAME

from grader.cli.main import main
from grader.intake import collect, disk, ledger
from grader.intake.decisions import Decision, FileState
from grader.intake.discovery import find_submissions
from grader.intake.roster import read
from grader.intake.sources import opened
from grader.intake.times import moment_of
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


class TestChangedMeanwhile:
    """A folder in which students still work: what was planned for a file is done only if it is the same file."""

    def plan(self, course: Course, folder: Path, change: Callable[[Path], object]) -> list[Decision]:
        """What becomes of two submissions of which one is changed after it was looked at."""
        for name in ("anna", "eve", "zoe"):
            (folder / name).mkdir(parents=True)
            (folder / name / IPYNB).write_bytes(notebook(name))
        with opened(folder) as source:
            decisions = collect.plan(course, source, "in", collect.Wishes())
            change(folder / "eve")
            return disk.carry_out(course, source, decisions)

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (lambda eve: (eve / IPYNB).unlink(), "cannot be read (No such file or directory)"),
            (lambda eve: (eve / IPYNB).write_bytes(b"not looked at"), "collect it again"),
            (lambda eve: ((eve / IPYNB).unlink(), os.mkfifo(eve / IPYNB)), "not an ordinary file"),
            (lambda eve: (eve.rename(eve.with_name("x")), eve.symlink_to("anna")), "a link in its path"),
        ],
        ids=["gone", "other content", "pipe", "link"],
    )
    def test_it_is_skipped_and_the_others_are_taken(
        self, course: Course, tmp_path: Path, change: Callable[[Path], object], why: str
    ) -> None:
        decisions = self.plan(course, tmp_path / "in", change)
        states = {one.student: one.state for one in decisions}
        assert states == {"anna": FileState.TAKEN, "eve": FileState.SKIPPED, "zoe": FileState.TAKEN}
        assert why in next(one.why for one in decisions if one.student == "eve")
        assert sorted(path.name for path in course.submitted.iterdir()) == ["anna", "zoe"]
        assert sorted(ledger.load(course, NAME)) == ["anna", "zoe"]

    def test_two_collections_at_a_time_keep_each_others_numbers(
        self, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = zipped(tmp_path / "a.zip", (moodle("Anna_1"), notebook("a")))
        second = zipped(tmp_path / "b.zip", (moodle("Bela_2"), notebook("b")))
        write, other = disk._write, threading.Thread(target=collected, args=(course, second))

        def slow(*planned: Any) -> None:
            write(*planned)
            if not other.ident:
                other.start()
                other.join(1.0)  # it must wait for the ledger

        monkeypatch.setattr(disk, "_write", slow)
        collected(course, first)
        other.join()
        assert sorted(ledger.load(course, NAME)) == ["Anna", "Bela"]

    def test_a_run_that_was_stopped_leaves_no_earlier_time(
        self, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After the notebook, and before the note of when it was handed in."""
        day = (2026, 11, 2, 10, 0, 0)
        for number, time in enumerate([(2026, 11, 1, 10, 0, 0), (2026, 11, 28, 10, 0, 0)]):
            both = (moodle("Anna_1"), notebook(f"{number}"), time), (moodle("Bela_2"), notebook("b"), day)
            archive = zipped(tmp_path / f"{number}.zip", *both)
            with monkeypatch.context() as patch:
                if number:
                    patch.setattr(disk, "_note_time", lambda *planned: (_ for _ in ()).throw(KeyboardInterrupt))
                    with pytest.raises(KeyboardInterrupt):
                        collected(course, archive)
                else:
                    collected(course, archive)
        collected(course, archive)
        assert "2026-11-28" in (course.submitted / "Anna" / NAME / "timestamp.txt").read_text()


class TestOddFiles:
    def test_bytes_that_are_no_text_in_a_name(self, course: Course, tmp_path: Path) -> None:
        """In the name of a file; the ledger keeps it."""
        for name in (b"anna/" + IPYNB.encode(), b"eve/x\xff.ipynb", b"zo\xffe/" + IPYNB.encode()):
            path = Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/" + name))
            path.parent.mkdir(parents=True)
            path.write_bytes(notebook(repr(name)))
        assert [one for one, _ in told(collected(course, tmp_path / "in"))] == ["anna", "eve", "zoe"]
        assert ledger.load(course, NAME)["eve"].file == "eve/x\udcff.ipynb"

    def test_a_time_that_no_calendar_has(self, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever owns a file sets its time; not every file system keeps it."""
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "eve.ipynb").write_bytes(notebook())
        ask = Path.lstat

        def far(path: Path) -> object:
            return SimpleNamespace(st_mode=ask(path).st_mode, st_size=ask(path).st_size, st_mtime=1e12)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "lstat", far)
            with opened(tmp_path / "in") as source:
                (entry,) = source.entries
        assert entry.time is None
        assert entry.fault == ""
        assert moment_of(-1e20) is moment_of(float("inf")) is None

    def test_a_folder_that_cannot_be_opened_is_told(
        self, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Root can open every folder, so the refusal is made."""
        for name in ("anna", "eve"):
            (tmp_path / "in" / name).mkdir(parents=True)
            (tmp_path / "in" / name / IPYNB).write_bytes(notebook(name))
        scan = os.scandir

        def refused(path: str) -> object:
            if Path(path).name == "eve":
                raise PermissionError(13, "Permission denied", path)
            return scan(path)

        monkeypatch.setattr(os, "scandir", refused)
        anna, eve = collected(course, tmp_path / "in")
        assert anna.state is FileState.TAKEN
        assert (eve.file, eve.why) == ("eve", "cannot be opened (Permission denied)")

    def test_a_path_that_is_too_long(self, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "in" / "anna").mkdir(parents=True)
        (tmp_path / "in" / "anna" / IPYNB).write_bytes(notebook())
        folder, deep = tmp_path / "in" / "eve", 0
        folder.mkdir()
        monkeypatch.chdir(folder)
        while len(str(folder)) + 201 * (deep + 1) < 4_000:
            Path("d" * 200).mkdir()
            os.chdir("d" * 200)
            deep += 1
        Path("e" * 60).mkdir()
        os.chdir("e" * 60)
        Path(f"{'x' * 200}.ipynb").write_text("{}")
        monkeypatch.chdir(tmp_path)
        anna, eve = collected(course, tmp_path / "in")
        assert anna.state is FileState.TAKEN
        assert "File name too long" in eve.why

    def test_members_that_a_decompressor_refuses(self, course: Course, tmp_path: Path) -> None:
        archive = tmp_path / "a.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_LZMA) as file:
            for name in ("anna", "eve"):
                file.writestr(f"{name}.ipynb", notebook(name))
        data = bytearray(archive.read_bytes())
        start = data.index(b"eve.ipynb") + len("eve.ipynb") + 9
        data[start : start + 60] = b"\xff" * 60
        archive.write_bytes(data)
        anna, eve = collected(course, archive)
        assert anna.state is FileState.TAKEN
        assert "damaged in the archive" in eve.why

    def test_an_archive_of_a_later_version_is_said_in_one_line(self, tmp_path: Path) -> None:
        archive = zipped(tmp_path / "a.zip", ("anna.ipynb", notebook()))
        data = bytearray(archive.read_bytes())
        data[data.rindex(b"PK\x01\x02") + 6] = 99
        archive.write_bytes(data)
        with pytest.raises(CourseError, match="zip file version"), opened(archive):
            pass

    def test_a_file_of_lists_is_not_parsed(self, course: Course, tmp_path: Path) -> None:
        """It would take half a gigabyte."""
        lists = b'{"cells": [' + b"{}," * 2_000_000 + b"0]}"
        (one,) = collected(course, zipped(tmp_path / "a.zip", (f"eve/{IPYNB}", lists)))
        assert "cannot be read as a notebook" in one.why


class TestNamesOfOthers:
    @pytest.mark.parametrize("roster", [False, True])
    def test_no_name_drives_the_terminal(self, course: Course, tmp_path: Path, roster: bool) -> None:
        names = ("An\x1b]0;x\x07na_7", "An]0;xna_8")
        (tmp_path / "r.csv").write_text("name\nZoe\n")
        archive = zipped(tmp_path / "a.zip", *((moodle(name), notebook(name)) for name in names))
        wishes = {"roster": read(tmp_path / "r.csv")} if roster else {}
        for one in collected(course, archive, **wishes):
            assert "\x1b" not in one.why + one.file + one.student

    @pytest.mark.parametrize(
        "names",
        [("Anna Lee", "An\u200bna Lee"), ("A" * 190 + "b", "A" * 190 + "c"), ("Anna*Lee", "Anna?Lee")],
        ids=["invisible", "long", "replaced"],
    )
    def test_nobody_takes_anothers_folder(self, course: Course, tmp_path: Path, names: tuple[str, str]) -> None:
        archive = zipped(tmp_path / "a.zip", *((moodle(f"{name}_{i}"), notebook(name)) for i, name in enumerate(names)))
        decisions = collected(course, archive)
        assert [one.state for one in decisions] == [FileState.TAKEN] * 2
        assert sorted(one.student[-2:] for one in decisions) == ["_0", "_1"]

    def test_nobody_is_called_like_a_chapter(self, course: Course, tmp_path: Path) -> None:
        """Their folder would be taken for that of one student's notebooks, and the class would not be found."""
        number, _, rest = NAME.partition("_")
        names = (f"{number}[{rest}_3", "Anna_4")
        archive = zipped(tmp_path / "a.zip", *((moodle(name), notebook(name)) for name in names))
        assert told(collected(course, archive)) == [(f"{NAME}_3", "taken"), ("Anna", "taken")]
        plain = zipped(tmp_path / "b.zip", (f"{NAME}./{IPYNB}", notebook()), (f"bela/{IPYNB}", notebook("a")))
        assert told(collected(course, plain)) == [("bela", "taken"), (NAME, "skipped")]
        assert len(find_submissions(course.submitted, NAME)) == 3


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
