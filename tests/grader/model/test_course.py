"""A chapter is found by what people type for it, and never another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.model.course import Course, CourseError


@pytest.fixture
def course(tmp_path: Path) -> Course:
    (tmp_path / "solutions").mkdir()
    for name in ("01_machine", "02_kernels", "02_kernels_more", "10_inference"):
        (tmp_path / "solutions" / f"{name}.md").touch()
    return Course(tmp_path)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("01_machine", "01_machine"),
        ("1", "01_machine"),  # and not 10_inference, which begins with it
        ("01", "01_machine"),
        ("001", "01_machine"),
        ("10", "10_inference"),
        ("01_m", "01_machine"),
        ("02_kernels", "02_kernels"),
        ("02_kernels_", "02_kernels_more"),
        ("solutions/01_machine.md", "01_machine"),
        ("notebooks/10_inference/", "10_inference"),
    ],
)
def test_a_chapter_is_found(course: Course, typed: str, found: str) -> None:
    assert course.chapter(typed).name == found


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("2", "Did you mean 02_kernels or 02_kernels_more?"),
        ("0", "There are: 01_machine"),
        ("3", "There are: 01_machine"),
        ("", "There are: 01_machine"),
        ("01_mashine", "Did you mean 01_machine?"),
    ],
)
def test_what_is_not_one_chapter_is_said(course: Course, typed: str, words: str) -> None:
    with pytest.raises(CourseError, match="no such chapter") as caught:
        course.chapter(typed)
    assert words in str(caught.value)
