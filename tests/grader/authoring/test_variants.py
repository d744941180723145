"""A notebook per student: menus in codes of their own, graded by the real judge, on a chapter of the course."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from courses import ROOT
from nbformat import NotebookNode

from gpulab.check import WrongAnswer
from grader.authoring import variant_notebooks
from grader.authoring.releasing import prove_clean, release
from grader.authoring.variant_notebooks import prove_variant, variant_of
from grader.batch.batch import grade_class
from grader.cli.main import main
from grader.intake import variants
from grader.model.course import Chapter, Course, CourseError
from grader.model.findings import Findings
from grader.model.menus import Menu, menus_of
from grader.model.notebooks import cells_of, load_key, read_own
from grader.model.results import SubmissionResult

ANNA, BEN = "Anna Ågren", "Ben_7"
NAME, EXERCISE = "06_transfers", "SYNC_POINTS"
SECRET = b"of this course"
WITH_MENUS = (
    "01_gpu_architecture",
    "04_tensor_cores",
    "05_mixed_precision",
    NAME,
    "07_ddp_scaling",
    "10_fused_kernels",
)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """A course of one real chapter, built and released for everybody."""
    folder = tmp_path / "course"
    shutil.copytree(ROOT / "solutions" / NAME, folder / "solutions" / NAME)
    shutil.copy(ROOT / "solutions" / f"{NAME}.md", folder / "solutions")
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    monkeypatch.chdir(folder)
    found = Course(folder.resolve())
    release(found.chapter(NAME))
    return found


@pytest.fixture
def released(course: Course) -> Course:
    """The course after a release for two students; that of everybody stays as it was."""
    before = course.chapter(NAME).release.read_bytes()
    roster = course.root / "class.csv"
    roster.write_text(f"name,mark\n{ANNA},\n{BEN},\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["release", "06", "--variants", str(roster)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "for each of 2 students, with codes for SYNC_POINTS" in done.output
    assert course.chapter(NAME).release.read_bytes() == before
    return course


def menu_of(course: Course) -> Menu:
    (menu,) = menus_of(load_key(course.chapter(NAME)).cells)
    return menu


def codes(course: Course, student: str) -> dict[str, str]:
    """Word → code, as the student's own notebook lists them."""
    legend = next(cell for cell in notebook(course, student).cells if cell.id == f"{EXERCISE}-codes")
    rows = [line.split('"') for line in legend.source.splitlines() if line.startswith('| `"')]
    return {word: code for _, code, _, word, _ in rows}


def notebook(course: Course, student: str) -> NotebookNode:
    return nbformat.read(course.work / "variants" / student / NAME / f"{NAME}.ipynb", as_version=4)


def submit(course: Course, student: str, answer: object, variant: str = "") -> None:
    """Hands in the student's variant (or that of another) with this answer."""
    read = notebook(course, variant or student)
    next(cell for cell in read.cells if cell.id == EXERCISE).source = f"{EXERCISE} = {answer!r}"
    path = course.submitted / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(read, path)


def graded(course: Course) -> dict[str, SubmissionResult]:
    key = load_key(course.chapter(NAME))
    results = grade_class(course, course.chapter(NAME), course.submitted, key=key, slots=1)
    return {one.student: one for one in results}


def row(result: SubmissionResult) -> tuple[str, float, str]:
    cell = next(cell for cell in result.cells if cell.grade_id == f"{EXERCISE}_test")
    return cell.verdict.value, cell.earned, cell.message


def test_the_right_answer_in_one_students_codes_is_worth_nothing_for_another(released: Course) -> None:
    """And neither are plain words; a partly right answer earns its part, and a stranger's points stay pending."""
    right, anna, ben = menu_of(released).items, codes(released, ANNA), codes(released, BEN)
    in_annas = {item: anna[word] for item, word in right.items()}
    submit(released, ANNA, in_annas)
    submit(released, BEN, in_annas)
    results = graded(released)
    assert row(results[ANNA])[:2] == ("passed", 4.0)
    verdict, points, message = row(results[BEN])
    assert (verdict, points) == ("failed", 0.0) and "is not on your menu. Every student has different" in message

    submit(released, ANNA, right)
    submit(released, BEN, {item: ben[word] for item, word in right.items()} | {"gpu": ben["race"]})
    submit(released, "Stranger", in_annas, variant=ANNA)
    results = graded(released)
    verdict, points, message = row(results[ANNA])
    assert (verdict, points) == ("failed", 0.0) and "Write the code of the word, not the word." in message
    verdict, points, message = row(results[BEN])
    assert verdict == "partial" and 0 < points < 4 and "7 of 8" in message and "'race'" in message
    verdict, points, message = row(results["Stranger"])
    assert (verdict, points) == ("harness error", 0.0) and "no variant was released" in message
    assert results["Stranger"].pending >= 4


def test_without_variants_words_are_graded_as_ever(course: Course) -> None:
    """Nothing is written below work/ by a release; once there are variants, the same notebook is graded again."""
    before = course.chapter(NAME).release.read_bytes()
    done = CliRunner().invoke(main, ["release", "06"], catch_exceptions=False)
    assert done.exit_code == 0 and course.chapter(NAME).release.read_bytes() == before
    assert not course.work.exists()
    assert variants.codes_for(course, load_key(course.chapter(NAME)))("anybody") == {}
    read = read_own(course.chapter(NAME).release, "")
    next(cell for cell in read.cells if cell.id == EXERCISE).source = f"{EXERCISE} = {dict(menu_of(course).items)!r}"
    path = course.submitted / "anna" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(read, path)
    assert row(graded(course)["anna"])[:2] == ("passed", 4.0)
    variants.enroll(course, NAME, variants.people_in(_names(course, "anna")), SECRET)
    assert row(graded(course)["anna"])[:2] == ("failed", 0.0)


def test_two_students_share_no_code(released: Course) -> None:
    assert notebook(released, ANNA) != notebook(released, BEN)
    assert not set(codes(released, ANNA).values()) & set(codes(released, BEN).values())


def test_the_secret_is_the_owners_alone_and_stays(released: Course) -> None:
    """A second release, for a latecomer, gives the others the codes that they had."""
    path = variants.path_of(released)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before, secret = codes(released, ANNA), json.loads(path.read_text())["secret"]
    late = released.root / "late.txt"
    late.write_text(f"Carl\n{ANNA}\n", encoding="utf-8")
    CliRunner().invoke(main, ["release", "06", "--variants", str(late)], catch_exceptions=False)
    kept = json.loads(path.read_text())
    assert kept["secret"] == secret and set(kept["chapters"][NAME]) == {ANNA, BEN, "Carl"}
    assert codes(released, ANNA) == before
    assert secret not in (released.work / "variants" / ANNA / NAME / f"{NAME}.ipynb").read_text()


@pytest.mark.parametrize("name", WITH_MENUS)
def test_the_check_in_the_notebook_takes_codes(name: str) -> None:
    """For every menu of the course: the right codes pass, words do not, and nothing secret is in the notebook."""
    chapter = Chapter(name, ROOT)
    solution, plain = read_own(chapter.solution, ""), read_own(chapter.release, "")
    menus = menus_of(cells_of(solution))
    codes_of = {menu.exercise: menu.codes_of(SECRET, ANNA, name) for menu in menus}
    variant = variant_of(plain, menus, codes_of)
    nbformat.validate(variant)
    assert menus and prove_variant(solution, plain, variant, menus) == []
    sources = {cell.id: cell.source for cell in variant.cells}
    for menu in menus:
        code, test = codes_of[menu.exercise], sources[f"{menu.exercise}_test"]
        assert len(set(code.values())) == len(menu.words)
        assert max(map(len, test.splitlines())) <= 88
        in_codes = {item: code[word] for item, word in menu.items.items()} or {code[word] for word in menu.chosen}
        in_words = dict(menu.items) or set(menu.chosen)
        exec(test, {menu.exercise: in_codes})
        with pytest.raises(WrongAnswer):
            exec(test, {menu.exercise: in_words})


def test_every_chapter_with_a_menu_is_tested() -> None:
    found = [chapter.name for chapter in Course(ROOT).chapters() if "check.menu(" in chapter.source.read_text()]
    found += [chapter.name for chapter in Course(ROOT).chapters() if "check.choice(" in chapter.source.read_text()]
    assert set(found) == set(WITH_MENUS)


def test_a_variant_with_an_answer_in_it_is_found_and_not_written(
    released: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    chapter = released.chapter(NAME)
    solution, plain, menu = read_own(chapter.solution, ""), read_own(chapter.release, ""), menu_of(released)
    assert prove_clean(solution, plain) == []
    made = variant_of(plain, [menu], {EXERCISE: menu.codes_of(SECRET, ANNA, NAME)})
    answer = next(cell for cell in solution.cells if cell.id == EXERCISE).source
    next(cell for cell in made.cells if cell.id == f"{EXERCISE}-codes").source += answer
    assert any("a line of an answer" in fault for fault in prove_variant(solution, plain, made, [menu]))
    monkeypatch.setattr(variant_notebooks, "variant_of", lambda *_: made)
    with pytest.raises(Findings):
        variant_notebooks.write_variants(released, chapter, variants.people_in(_names(released, "Dora")))
    assert not (released.work / "variants" / "Dora").exists()
    assert "Dora" not in variants.path_of(released).read_text()


def test_a_changed_cell_is_found() -> None:
    chapter = Chapter(NAME, ROOT)
    solution, plain = read_own(chapter.solution, ""), read_own(chapter.release, "")
    menus = menus_of(cells_of(solution))
    made = variant_of(plain, menus, {menu.exercise: menu.codes_of(SECRET, ANNA, NAME) for menu in menus})
    made.cells[0].source += " more"
    assert prove_variant(solution, plain, made, menus) == [f"cell {made.cells[0].id} is not that of the release"]


def _names(course: Course, *names: str) -> Path:
    path = course.root / "names.txt"
    path.write_text("\n".join(names), encoding="utf-8")
    return path


def test_namesakes_in_a_list_of_names_are_refused(course: Course) -> None:
    with pytest.raises(CourseError, match="no folder of its own"):
        variants.people_in(_names(course, "Anna Berg", "Anna Berg"))


def test_a_damaged_record_is_not_replaced_by_a_new_secret(released: Course) -> None:
    """Every notebook that is out would be worthless."""
    path = variants.path_of(released)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(CourseError, match="cannot be used"):
        variants.enroll(released, NAME, {}, SECRET)
    assert path.read_text() == "{"


def test_canvas_submissions_find_their_variant(course: Course) -> None:
    """Their folders are named after files without spaces and a number."""
    from grader.intake.ledger import Taken
    from grader.intake.names import Platform

    roster = course.root / "canvas.csv"
    roster.write_text('Student,ID,Section\n"Smith, Anna",41,\n"Lee, Bo",42,\n', encoding="utf-8")
    variants.enroll(course, NAME, variants.people_in(roster), SECRET)
    there = variants.load(course, NAME)
    assert there is not None and there.secret == SECRET
    taken = Taken("smithanna_41", Platform.CANVAS, "smithanna", "41", "f", "0")
    assert there.folder_of("smithanna_41", taken) == "Smith, Anna"
    assert there.folder_of("Anna Smith") == "Smith, Anna"
    assert there.folder_of("Anna Berg") is None
