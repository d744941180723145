"""A chapter's new number reaches everything that says the old one, and nothing has to run again."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result
from courses import SOURCE, built_course

from grader.authoring.building import check_build, is_current
from grader.authoring.releasing import check_release
from grader.authoring.renumbering import Renumbering, plan
from grader.cli.main import main
from grader.model.course import Course, CourseError

MOVED = Renumbering({"03_cores": "04_cores", "04_amp": "05_amp"})
OTHER = SOURCE.replace("Two exercises.", "Two exercises, as in chapter 1 (chapter 01); chapters 1 and\n2 agree.")


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """`01_small`, built and released with answers, and `02_other`, a source that mentions it."""
    course = built_course(tmp_path)
    (course.root / "solutions" / "02_other.md").write_text(OTHER)
    (course.root / "answers" / "01_small").mkdir(parents=True)
    (course.root / "answers" / "01_small" / "double.py").write_text("# %% right: as in chapter 1\n")
    (course.root / "README.md").write_text("| 01 | [Small](notebooks/01_small/01_small.ipynb): 01 of 2 |\n| 01 | x |\n")
    (course.root / "CHANGELOG.md").write_text("Chapter 01 is new.\n")
    (course.root / "tests").mkdir()
    (course.root / "tests" / "test_it.py").write_text('assert "chapter 01" in toy("01_small")\n')
    monkeypatch.chdir(course.root)
    return course


def renumber(*arguments: str) -> Result:
    return CliRunner().invoke(main, ("renumber", *arguments))


def test_a_chapter_is_inserted_without_running_a_cell(course: Course) -> None:
    """Both chapters move up; what was built and released still agrees with its source, outputs included."""
    outputs = [cell.get("outputs") for cell in nbformat.read(course.chapter("01").solution, as_version=4).cells]
    done = renumber("01", "2")
    assert done.exit_code == 0, done.output
    small, other = course.chapters()
    assert (small.name, other.name) == ("02_small", "03_other")
    assert is_current(small)
    assert check_build(small) == []
    assert check_release(small) == []
    assert outputs == [cell.get("outputs") for cell in nbformat.read(small.solution, as_version=4).cells]
    assert nbformat.read(small.solution, as_version=4).metadata["gpulab"]["chapter"] == "02_small"
    assert small.answers.joinpath("double.py").read_text() == "# %% right: as in chapter 2\n"
    assert "as in chapter 2 (chapter 02); chapters 2 and\n3 agree." in other.source.read_text()
    left = [path for path in course.root.rglob("*") if "01_small" in path.name or "renumbered" in path.name]
    assert left == []


def test_what_a_number_stands_beside_decides_whether_it_is_a_chapters(course: Course) -> None:
    """The table of chapters is rewritten, other tables are not; history stays; tests have courses of their own."""
    assert renumber("01", "2").exit_code == 0
    readme = "| 02 | [Small](notebooks/02_small/02_small.ipynb): 01 of 2 |\n| 01 | x |\n"
    assert (course.root / "README.md").read_text() == readme
    assert (course.root / "CHANGELOG.md").read_text() == "Chapter 01 is new.\n"
    assert (course.root / "tests" / "test_it.py").read_text() == 'assert "chapter 01" in toy("02_small")\n'


def test_a_notebook_that_was_stale_stays_stale(course: Course) -> None:
    """Its outputs are not those of its code, whatever its name."""
    source = course.chapter("01").source
    source.write_text(source.read_text().replace("scale = 2", "scale = 3"))
    assert renumber("01", "5").exit_code == 0
    assert not is_current(course.chapter("05"))


def test_a_dry_run_changes_nothing(course: Course) -> None:
    before = {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}
    done = renumber("02", "1", "--dry-run")
    assert "01_small → 02_small\n02_other → 01_other\n" in done.output
    assert "README.md: 1 line\n" in done.output
    assert before == {path: path.read_bytes() for path in course.root.rglob("*") if path.is_file()}


def test_only_chapters_in_the_way_move(tmp_path: Path) -> None:
    (tmp_path / "solutions").mkdir()
    for name in ("01_a", "02_b", "03_c", "05_d", "06_e"):
        (tmp_path / "solutions" / f"{name}.md").touch()
    course = Course(tmp_path)
    assert plan(course, course.chapter("02"), 3).names == {"02_b": "03_b", "03_c": "04_c"}
    assert plan(course, course.chapter("05"), 2).names == {"05_d": "02_d", "02_b": "03_b", "03_c": "04_c"}
    assert plan(course, course.chapter("06"), 9).names == {"06_e": "09_e"}
    for number, words in ((6, "has the number 6 already"), (0, "not a number for a chapter"), (100, "from 1 to 99")):
        with pytest.raises(CourseError, match=words):
            plan(course, course.chapter("06"), number)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Chapter 3, and chapter 04.", "Chapter 4, and chapter 05."),
        ("chapters 1, 3, and 4 say so", "chapters 1, 4, and 5 say so"),
        ("chapters 3 to 4, chapters 03–04", "chapters 4 to 5, chapters 04–05"),
        ("chapter 3, 4 threads; 3 chapters", "chapter 4, 4 threads; 3 chapters"),
        ("chapter 3.5 and chapter 13", "chapter 3.5 and chapter 13"),
        ("grader bundle 01 03; make CHAPTER=04", "grader bundle 01 04; make CHAPTER=05"),
        ("solutions/03_cores.md 103_cores 03_cores_old", "solutions/04_cores.md 103_cores 03_cores_old"),
    ],
)
def test_a_mention_of_a_chapter_is_told_from_another_number(old: str, new: str) -> None:
    assert MOVED.text(old) == new
