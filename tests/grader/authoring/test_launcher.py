"""The page that students open first: made from the releases, and told when it no longer agrees with them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from courses import built_course
from recorded_class import NAME, ROOT, small_course

from grader.authoring import launcher
from grader.cli.main import main
from grader.model.course import Course


def page(course: Course) -> str:
    return "\n".join(cell.source for cell in nbformat.read(launcher.launcher_file(course), as_version=4).cells)


def test_lists_chapters_with_time_points_and_links(tmp_path: Path) -> None:
    course, _ = small_course(tmp_path)
    assert launcher.refresh(course)
    assert (
        f"| 01 | [Small]({NAME}/{NAME}.ipynb) | about\N{NO-BREAK SPACE}½\N{NO-BREAK SPACE}h | 3 | 7, and 3 on a GPU |"
        in page(course)
    )
    assert launcher.check(course) == []
    assert not launcher.refresh(course)


def test_a_chapter_that_changed_is_a_finding(tmp_path: Path) -> None:
    course, chapter = small_course(tmp_path)
    launcher.refresh(course)
    notebook = nbformat.read(chapter.release, as_version=4)
    notebook.cells[0].source = "# Another title"
    nbformat.write(notebook, chapter.release)
    (finding,) = launcher.check(course)
    assert "not what the released chapters make it" in str(finding)
    launcher.launcher_file(course).unlink()
    assert len(launcher.check(course)) == 1


def test_without_released_chapters_there_is_no_page(tmp_path: Path) -> None:
    course, chapter = small_course(tmp_path)
    chapter.release.unlink()
    assert not launcher.refresh(course)
    assert launcher.check(course) == []


def test_the_courses_own_page_is_up_to_date() -> None:
    assert launcher.check(Course(ROOT)) == []


def test_release_writes_it_and_its_check_finds_it_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = built_course(tmp_path / "course")
    monkeypatch.chdir(course.root)
    assert "brought up to date" in CliRunner().invoke(main, ["release"]).output
    assert CliRunner().invoke(main, ["release", "--check"]).exit_code == 0
    launcher.launcher_file(course).write_text("{}")
    shown = CliRunner().invoke(main, ["release", "--check"])
    assert shown.exit_code == 1
    assert "not what the released chapters make it" in " ".join(shown.output.split())
