"""The doctor finds what is wrong with a machine, says what to do about it, and never falls ill itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from recorded_class import small_course

from gpulab.doctor.looks import DoctorRow
from grader.machine import doctor
from grader.model.course import Course
from grader.sandbox import Tier, cgroups, probe


def row(rows: Iterator[DoctorRow] | list[DoctorRow], what: str) -> DoctorRow:
    return next(one for one in rows if one.what == what)


def test_all_is_looked_at_and_every_lack_has_a_remedy(tmp_path: Path) -> None:
    course, _ = small_course(tmp_path)
    rows = doctor.examine(course)
    things = "Python system torch Numba NVRTC nvcc kernel sandbox course work/ gradebook"
    assert set(things.split()) <= {one.what for one in rows}
    assert [one for one in rows if one.state != "good" and not one.remedy] == []
    assert [one for one in rows if one.state == "bad"] == []
    assert "answers ok" in row(rows, "kernel").found
    assert not course.work.exists()  # looking changes nothing


def test_no_nvcc_is_fine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = doctor._nvcc()
    assert (found.state, found.found) == ("fair", "not there")
    assert "NVRTC" in found.remedy


def test_a_broken_nvcc_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "nvcc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = doctor._nvcc()
    assert found.state == "fair"
    assert "does not run" in found.found


def test_a_missing_kernel_is_red(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel spec whose interpreter is gone."""
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text('{"argv": ["/nowhere/python"], "display_name": "gone", "language": "python"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setattr("jupyter_client.kernelspec.NATIVE_KERNEL_NAME", "another")
    (found,) = doctor._kernel()
    assert found.state == "bad"
    assert "does not start" in found.found


@pytest.mark.parametrize(
    ("refused", "state", "found"),
    [
        ({}, "good", "tier 2 (namespaces)"),
        ({Tier.NAMESPACES: "unshare: EPERM"}, "fair", "tier 1 (files), not 2 (namespaces): unshare: EPERM"),
        (
            {Tier.NAMESPACES: "unshare: EPERM", Tier.FILES: "no Landlock"},
            "fair",
            "tier 0 (limits), not 2 (namespaces): unshare: EPERM; 1 (files): no Landlock",
        ),
    ],
)
def test_the_sandbox_is_told_with_the_reason_why_it_is_no_better(
    monkeypatch: pytest.MonkeyPatch, refused: dict[Tier, str], state: str, found: str
) -> None:
    monkeypatch.setattr(probe, "refusals", lambda: refused)
    told = row(doctor._sandbox(), "sandbox")
    assert (told.state, told.found) == (state, found)
    assert bool(told.remedy) is (state == "fair")


def test_a_machine_without_control_groups_is_told_what_that_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "parents", lambda: None)
    told = row(doctor._sandbox(), "memory limit")
    assert told.state == "fair"
    assert "use up the memory" in told.remedy


def test_outside_a_course_is_red() -> None:
    (found,) = doctor._folders(None)
    assert found.state == "bad"
    assert "nbgrader_config.py" in found.remedy


def test_a_full_disk_is_red_before_grading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = doctor.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: usage._replace(free=1_000_000))
    course, _ = small_course(tmp_path)
    assert row(doctor._folders(course), "work/").state == "bad"


def test_a_damaged_gradebook_is_red(tmp_path: Path) -> None:
    course = Course(tmp_path)
    course.work.mkdir()
    course.gradebook.write_bytes(b"not a database, but long enough to be taken for one" * 40)
    (found,) = doctor._gradebook(course)
    assert found.state == "bad"
    assert "grade the class again" in found.remedy


def test_a_gradebook_that_is_damaged_in_one_place_is_red(tmp_path: Path) -> None:
    """Its students can still be counted; what lies further back is gone."""
    course = Course(tmp_path)
    course.work.mkdir()
    with closing(sqlite3.connect(course.gradebook)) as book:
        book.executescript("CREATE TABLE student (id); CREATE TABLE grade (id); CREATE INDEX by_id ON grade (id);")
        book.executemany("INSERT INTO grade VALUES (?)", [(f"grade {number:050}",) for number in range(500)])
        book.commit()
    (found,) = doctor._gradebook(course)
    assert found.state == "good"
    data = bytearray(course.gradebook.read_bytes())
    data[-12_000:] = bytes(12_000)
    course.gradebook.write_bytes(data)
    (found,) = doctor._gradebook(course)
    assert (found.state, "damaged" in found.found or "cannot be read" in found.found) == ("bad", True)
