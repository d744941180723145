"""Which answers the gate takes, and that every fault of a bank is named at once, before anything is graded."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from courses import NAME, SOURCE, built_course, make_course

from grader.authoring.bank import banks_of
from grader.cli.main import main
from grader.model.course import Chapter, CourseError
from grader.model.findings import Findings

DOUBLE = """\
# %% right: plain
def double(number):
    return 2 * number

# %% right: shift — from "plain": "2 * number" → "number << 1"

# %% wrong: square — says "you returned 441" — from "plain": "2 *" → "number *"
"""
KINDS = """\
# %% right: plain
KINDS = {"one": "odd", "two": "even"}

# %% right: by calls — from "plain"
# - KINDS = {"one": "odd", "two": "even"}
# + KINDS = dict(one="odd", two="even")

# %% wrong: swapped — says "1 of 2" — earns 1.5 — from "plain": `"even"` → `"odd"`
"""


def with_bank(root: Path, double: str = DOUBLE, kinds: str = KINDS) -> Chapter:
    folder = root / "answers" / NAME
    folder.mkdir(parents=True)
    (folder / "double.py").write_text(double)
    (folder / "KINDS.py").write_text(kinds)
    return Chapter(NAME, root)


@pytest.fixture
def chapter(tmp_path: Path) -> Chapter:
    """A chapter that has not been built, with answers."""
    return with_bank(make_course(tmp_path).root)


def verify(*arguments: str) -> Result:
    return CliRunner().invoke(main, ("verify", *arguments))


def test_a_bank_without_faults_gives_all_answers(chapter: Chapter) -> None:
    (bank,) = banks_of([chapter])
    assert [str(answer) for answer in bank.answers] == [
        "double, right: plain",
        "double, right: shift",
        "double, wrong: square",
        "KINDS, right: plain",
        "KINDS, right: by calls",
        "KINDS, wrong: swapped",
    ]


def test_some_exercises_give_their_answers_only(chapter: Chapter) -> None:
    other = Chapter("02_other", chapter.root)
    other.source.write_text(SOURCE.replace("double", "triple").replace("KINDS", "SORTS"))
    (bank,) = banks_of([chapter, other], ["KINDS"])
    assert (bank.chapter, {answer.exercise for answer in bank.answers}) == (chapter, {"KINDS"})


def test_an_exercise_that_is_nowhere_is_compared_with_those_that_are(chapter: Chapter) -> None:
    with pytest.raises(CourseError, match=f"duoble: no such exercise in {NAME}. Did you mean double?"):
        banks_of([chapter], ["duoble"])


def test_all_faults_of_a_bank_are_named_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although nothing is built: no `says`, too few right ones, changes that do not fit, a file for nothing."""
    double = DOUBLE.replace(' — says "you returned 441"', "").replace('"2 * number"', '"number"')
    kinds = KINDS.replace('by calls — from "plain"', 'by calls — from "plian"').replace("# %% wrong", "# %% rwong")
    chapter = with_bank(make_course(tmp_path).root, double, kinds)
    (chapter.answers / "duoble.py").write_text(DOUBLE)
    monkeypatch.chdir(tmp_path)
    done = verify("01")
    said = [line for line in done.output.splitlines() if line]
    words = (
        "duoble.py: 01_small has no exercise duoble. Did you mean double?",
        "double.py:5: double, right: shift: the text to replace, 'number', is in the answer 2 times.",
        "double.py:7: a wrong answer must say which words its message holds.",
        'KINDS.py:4: KINDS, right: by calls: changes "plian", and no answer in this file has this title. Did you mean',
        "KINDS.py:8: not a header: '# %% rwong: swapped",
        "KINDS.py: needs a wrong answer.",
    )
    assert done.exit_code == 1
    assert len(said) == len(words)
    for word, line in zip(words, said, strict=True):
        assert word in line
    with pytest.raises(Findings):
        banks_of([chapter])


def test_one_right_answer_is_too_few(tmp_path: Path) -> None:
    chapter = with_bank(
        make_course(tmp_path).root, kinds=KINDS.replace("# %% right: by calls", "# %% hostile: by calls")
    )
    with pytest.raises(Findings, match="needs two right answers, written differently, and has one") as raised:
        banks_of([chapter])
    assert len(raised.value.found) == 1
    assert banks_of([chapter], ["double"]), "another exercise's bank is another matter"
    assert banks_of([chapter], answers=chapter.answers), "a private bank need not be complete"


def test_the_whole_text_of_every_answer_is_shown(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(chapter.root)
    shown = verify("double", "--show").output
    assert shown.count("def double(number):") == 3
    assert "# %% double, right: shift\ndef double(number):\n    return number << 1\n" in shown


def test_one_exercise_of_a_built_chapter_is_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answers and a blank notebook. Its cells that changed since they were built are findings, others are not."""
    course = built_course(tmp_path)
    chapter = with_bank(course.root, kinds="nothing that can be read")
    monkeypatch.chdir(course.root)
    chapter.source.write_text(chapter.source.read_text().replace("scale = 2", "scale = 3"))
    done = verify("01", "double")
    assert done.exit_code == 0, done.output
    assert "01_small: 4 answers checked, 0 not; every one gets what it must." in done.output
    chapter.source.write_text(chapter.source.read_text().replace("double(21), 42", "double(22), 44"))
    done = verify("01", "double")
    assert done.exit_code == 1
    assert 'cell "double_test" changed since it was built. Run "grader build 01_small"' in done.output
