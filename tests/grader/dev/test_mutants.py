"""Mutants are distinguished from right answers, and those that pass are told."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from click.testing import CliRunner
from clipping import RIGHT, chapter

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.bank import banks_of
from grader.cli.verify import command
from grader.model.course import Course, CourseError
from grader.trials.mutants import EQUIVALENTS, equivalents, survivors, takes_nothing
from grader.trials.mutate import mutants_of


def changes(source: str) -> set[str]:
    return {one.change for one in mutants_of(source)}


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("x = a < b", "x = a < b → x = a <= b"),
        ("x = a + b", "x = a + b → x = a - b"),
        ("x = a and b", "x = a and b → x = a or b"),
        ("x = 3", "x = 3 → x = 4"),
        ("x = 3", "x = 3 → x = 2"),
        ("x = f(a, b)", "x = f(a, b) → x = f(b, a)"),
        ("for i in range(n):\n    f(i)", "for i in range(n): → for i in range(n - 1):"),
        ("cuda.syncthreads()", "cuda.syncthreads() → pass"),
        ("if i < n:\n    f(i)", "if i < n: → if True:"),
        ("x += a", "x += a → x = a"),
        ("x = a.sum(axis=1)", "x = a.sum(axis=1) → x = a.sum(axis=0)"),
        ("x = np.zeros(3, np.float32)", "x = np.zeros(3, np.float32) → x = np.zeros(3, np.int32)"),
        ("i = cuda.threadIdx.x", "i = cuda.threadIdx.x → i = cuda.threadIdx.y"),
        ("%%writefile S.py\nimport os\nx = 1\n", "x = 1 → x = 2"),
        ('S = """\nx = 1\ny = 2\n"""', "y = 2 → y = 3"),
        ('S = """\n__global__\n  if (i < n)\n    x;\n"""', "if (i < n) → if (i <= n)"),
        ('S = """\n__global__\n  __syncthreads();\n    x;\n"""', "__syncthreads(); → (nothing)"),
    ],
)  # fmt: skip
def test_every_operator_makes_its_mutant(source: str, change: str) -> None:
    assert change in changes(source)


def test_mutants_are_programs_and_differ_from_the_answer() -> None:
    source = 'def f(a: int, n=2):\n    """Adds 1."""\n    return max(a, n) + 1'
    made = mutants_of(source)
    assert len({one.source for one in made}) == len(made) > 5
    for one in made:
        ast.parse(one.source)
        assert one.source != ast.unparse(ast.parse(source))
    assert not any("Adds 2" in one.source or "max(n, a)" in one.source for one in made)  # equivalent from the start


def test_a_mutant_that_no_hidden_input_tells_survives(tmp_path: Path) -> None:
    found = survivors(chapter(tmp_path, "(1, 2)"), "clipped", [RIGHT], {}, jobs=2)
    assert "return top if 2 * x > top else 2 * x → return 2 * x" in {one.mutant.change for one in found.found}
    tight = survivors(chapter(tmp_path, "(25, 40, 70)"), "clipped", [RIGHT], {}, jobs=2)
    change = "return top if 2 * x > top else 2 * x → return top if 2 * x >= top else 2 * x"
    assert change in {one.mutant.change for one in tight.found}, "at a tie both are top"
    assert len(tight.found) < len(found.found)
    known = {one.mutant.change: "a reason" for one in tight.found} | {"x": "y"}
    explained = survivors(chapter(tmp_path, "(25, 40, 70)"), "clipped", [RIGHT], known, 2)
    assert (explained.found, explained.equivalent, explained.unused) == ((), len(tight.found), ("x",))


def test_a_right_answer_that_is_not_accepted_is_named(tmp_path: Path) -> None:
    lost = Answer("clipped", AnswerKind.RIGHT, "lost", "def clipped(x, top):\n    return x")
    found = survivors(chapter(tmp_path, "(25, 40, 70)"), "clipped", [RIGHT, lost], {}, jobs=2)
    (told,) = found.left_out
    assert told.startswith("clipped, right: lost: failed: clipped(3, 100): you returned 3")
    assert found.tried == survivors(chapter(tmp_path, "(25, 40, 70)"), "clipped", [RIGHT], {}, jobs=2).tried


def test_a_sample_is_a_share_of_the_mutants(tmp_path: Path) -> None:
    source = chapter(tmp_path, "(25, 40, 70)")
    whole, half = (survivors(source, "clipped", [RIGHT], {"x": "y"}, 2, share) for share in (1.0, 0.5))
    assert (half.tried, half.unused) == ((whole.tried + 1) // 2, ())
    assert {one.mutant.change for one in half.found} <= {one.mutant.change for one in whole.found}
    assert whole.unused == ("x",)


def test_an_equivalent_mutant_needs_a_reason(tmp_path: Path) -> None:
    (tmp_path / EQUIVALENTS).write_text('[f]\n"a → b" = " "\n', encoding="utf-8")
    assert equivalents(tmp_path, "g") == {}
    with pytest.raises(CourseError, match="no reason"):
        equivalents(tmp_path, "f")
    assert equivalents(tmp_path / "nowhere", "f") == {}


def test_what_takes_no_input_has_equivalent_survivors_only() -> None:
    assert takes_nothing([Answer("f", AnswerKind.RIGHT, "", "def f():\n    return 1")], "f")
    assert not takes_nothing([Answer("f", AnswerKind.RIGHT, "", "def f(x):\n    return 1")], "f")


@pytest.mark.parametrize("exercise", ["crossover", "warps_to_hide"])
def test_a_sample_of_the_course_has_no_unexplained_survivors_and_no_luck(exercise: str) -> None:
    """The rest is tried on demand: `grader verify --mutants`, `grader verify --seeds 100`."""
    found = CliRunner().invoke(command, ["01", exercise, "--mutants", "--sample", "25", "--seeds", "3", "--jobs", "2"])
    assert found.exit_code == 0, found.output
    assert "0 pass unexplained" in found.output
    assert "no verdict changes" in found.output


def test_the_list_of_equivalents_names_exercises_of_the_course() -> None:
    course = Course.find()
    path = course.root / "answers" / EQUIVALENTS
    import tomllib

    listed = set(tomllib.loads(path.read_text(encoding="utf-8")))
    assert listed <= {name for bank in banks_of(course.chapters()) for name in bank.exercises}
