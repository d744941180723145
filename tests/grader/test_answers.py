"""The answer bank's format."""

from __future__ import annotations

import pytest
from minikey import make_key

from grader.answers import Kind, load, parse
from grader.course import CourseError

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
    assert (right.kind, right.title, right.earns) == (Kind.RIGHT, "plain", None)
    assert right.source == "def double(x):\n    return 2 * x"
    assert (wrong.kind, wrong.gpu, wrong.says, wrong.where) == (Kind.WRONG, True, "you returned 9", "double.py:5")
    assert (hostile.kind, hostile.earns) == (Kind.HOSTILE, 1.5)


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
