"""`grader prove`: the results travel as a bundle, and a bundle that holds anything else is refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from courses import NAME

from grader.dev.prove import proof_bundle
from grader.model.course import Course, CourseError


def test_a_bundle_comes_out_as_it_went_in(course: Course, tmp_path: Path) -> None:
    packed = tmp_path / "proof.tar.xz"
    kept = ["work/prove/h200/gate.rows.json", "work/prove/h200/readings/01_small.json"]
    for name in kept:
        (course.root / name).parent.mkdir(parents=True, exist_ok=True)
        (course.root / name).write_text("{}")
    names = proof_bundle.pack(course, packed)
    assert set(kept) <= set(names)  # the next machine continues with them
    assert {f"solutions/{NAME}/{NAME}.ipynb", f"notebooks/{NAME}/{NAME}.ipynb"} <= set(names)
    elsewhere = Course(tmp_path / "elsewhere")
    elsewhere.root.mkdir()
    assert proof_bundle.apply(elsewhere, packed) == names
    assert all((elsewhere.root / name).read_bytes() == (course.root / name).read_bytes() for name in names)
    assert proof_bundle.apply(elsewhere, packed) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside.ipynb", tarfile.REGTYPE),
        ("solutions/../../x/y.ipynb", tarfile.REGTYPE),
        ("solutions/../x.ipynb", tarfile.REGTYPE),
        ("/etc/passwd", tarfile.REGTYPE),
        ("grader/cli/main.py", tarfile.REGTYPE),
        ("solutions/01_small/deep/x.ipynb", tarfile.REGTYPE),
        ("data/machines/h200.json", tarfile.SYMTYPE),
        ("data/machines/h200.json", tarfile.DIRTYPE),
    ],
)
def test_a_bundle_with_anything_else_changes_nothing(tmp_path: Path, name: str, kind: bytes) -> None:
    packed = tmp_path / "proof.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        good = tarfile.TarInfo("data/machines/a100.md")
        good.size = 4
        archive.addfile(good, io.BytesIO(b"good"))
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member, io.BytesIO(b""))
    root = tmp_path / "tree"
    root.mkdir()
    with pytest.raises(CourseError, match=r"which no proof writes\. Nothing was taken"):
        proof_bundle.apply(Course(root), packed)
    assert list(root.iterdir()) == []


def test_a_bundle_is_not_written_through_a_link(course: Course, tmp_path: Path) -> None:
    packed = tmp_path / "proof.tar.xz"
    proof_bundle.pack(course, packed)
    (tmp_path / "tree").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tree" / "solutions").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CourseError, match="is a link"):
        proof_bundle.apply(Course(tmp_path / "tree"), packed)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_bundle_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_bundle, "LARGEST_UNPACKED_BYTES", 1000)
    packed = tmp_path / "proof.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        member = tarfile.TarInfo("data/machines/h200.json")
        member.size = 5000
        archive.addfile(member, io.BytesIO(bytes(5000)))
    with pytest.raises(CourseError, match="unpacks to more"):
        proof_bundle.apply(Course(tmp_path), packed)


def test_nothing_and_too_much_cannot_be_packed(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CourseError, match="Run grader prove first"):
        proof_bundle.pack(Course(tmp_path), tmp_path / "proof.tar.xz")
    monkeypatch.setattr(proof_bundle, "LARGEST_BYTES", 100)
    with pytest.raises(CourseError, match="more than 0"):
        proof_bundle.pack(course, tmp_path / "proof.tar.xz")
    assert not (tmp_path / "proof.tar.xz").exists()
