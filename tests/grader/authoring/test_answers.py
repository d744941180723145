"""The answer bank's format."""

from __future__ import annotations

import pytest
from minikey import make_key

from grader.authoring.answers import AnswerKind, load, parse
from grader.model.course import CourseError
from grader.model.findings import Findings

BANK = '''\
# %% right: plain
def double(x):
    return 2 * x

# %% wrong gpu: triples — says "you returned 9"
def double(x):
    return 3 * x

# %% hostile: half of it — earns 1.5
x = """
"""
'''


def test_a_bank_is_read() -> None:
    right, wrong, hostile = parse(BANK, "double", "double.py")
    assert (right.kind, right.title, right.earns) == (AnswerKind.RIGHT, "plain", None)
    assert right.source == "def double(x):\n    return 2 * x"
    assert (wrong.kind, wrong.gpu, wrong.says, wrong.where) == (AnswerKind.WRONG, True, "you returned 9", "double.py:5")
    assert (hostile.kind, hostile.earns) == (AnswerKind.HOSTILE, 1.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no answers"),
        ("# %% wrong: no words\n", "must say which words"),
        ("# %% rihgt: typo\n", "not a header"),
        ("# %% right\n", "not a header"),
    ],
)
def test_a_malformed_bank_is_told(text: str, words: str) -> None:
    with pytest.raises(CourseError, match=words):
        parse(text, "double", "double.py")


def test_a_file_for_no_exercise_is_told(tmp_path) -> None:
    (tmp_path / "duoble.py").write_text(BANK)
    with pytest.raises(CourseError, match="Did you mean double"):
        load(tmp_path, make_key())


def test_a_missing_folder_is_told(tmp_path) -> None:
    with pytest.raises(CourseError, match="no such folder"):
        load(tmp_path / "none", make_key())


CHANGED = '''\
# %% right: plain
def double(x):
    if x:
        return 2 * x

    return 0

# %% wrong: triples — says "9" — from "plain": "2 *" → "3 *", `return 0` → `return "no"`

# %% wrong: quadruples — says "16" — earns 1 — from "triples": "3 *" → "4 *"

# %% wrong: no guard — says "x" — from "plain"
# -     if x:
# -         return 2 * x
# +     return 2 * x

#   def double(x):
# +     """Twice."""

# -
# -     return 0
'''


def test_an_answer_may_change_another_one() -> None:
    """Pairs in the header, lines in the body, and a change of a changed one."""
    plain, triples, quadruples, no_guard = parse(CHANGED, "double", "double.py")
    assert triples.source == plain.source.replace("2 *", "3 *").replace("return 0", 'return "no"')
    assert quadruples.source == triples.source.replace("3 *", "4 *")
    assert (quadruples.says, quadruples.earns, quadruples.title) == ("16", 1.0, "quadruples")
    assert no_guard.source == 'def double(x):\n    """Twice."""\n    return 2 * x'


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('"2 *" →', '"5 *" →', 8, "double, wrong: triples: the text to replace, '5 *', is not in the answer. Copy it"),
        ('"2 *" →', '"x" →', 8, "the text to replace, 'x', is in the answer 3 times. Take more of what surrounds it"),
        ('"2 *" →', '"" →', 8, "replaces an empty text"),
        ('"2 *" → "3 *"', '"return" "3"', 8, "cannot read the change"),
        ('"2 *" → "3 *"', '"return 0" → "3"', 8, "two of its changes overlap"),
        (
            '— from "plain": "2',
            '— from "palin": "2',
            8,
            'changes "palin", and no answer in this file has this title. Did',
        ),
        (': "3 *" → "4 *"', "", 10, "quadruples: changes nothing"),
        (
            "# %% right: plain",
            '# %% right: plain — from "no guard": "a" → "b"',
            12,
            'changes "plain", which is made from',
        ),
        ("# -     if x:", "    if x:", 13, "'if x:' is not a line of a change"),
        ("# -     if x:", "# -     if y:", 13, "the text to replace, 'if y:"),
        (
            "#   def double(x):\n",
            "",
            17,
            'does not say where the new lines stand. Write the line before them too: "#   same"',
        ),
        ('# +     """Twice."""\n', "", 17, "no guard: changes nothing"),
    ],
)
def test_a_change_that_does_not_fit_is_a_finding_at_its_line(old: str, new: str, line: int, words: str) -> None:
    assert old in CHANGED
    with pytest.raises(Findings) as raised:
        parse(CHANGED.replace(old, new), "double", "double.py")
    found = raised.value.found
    assert any(words in str(one) and one.where == f"double.py:{line}" for one in found), found


def test_a_fault_in_one_answer_is_named_once_however_many_change_it() -> None:
    with pytest.raises(Findings) as raised:
        parse(CHANGED.replace('"2 *" →', '"5 *" →'), "double", "double.py")
    assert len(raised.value.found) == 1


def test_two_answers_of_one_title_cannot_be_told_apart() -> None:
    text = CHANGED.replace("wrong: no guard", "wrong: triples")
    with pytest.raises(Findings, match='changes "triples", and 2 answers have this title') as raised:
        parse(text, "double", "double.py")
    assert raised.value.found[0].where == "double.py:10"
