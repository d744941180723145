"""A right answer passes the visible part of its test in a student's notebook, where both run in one process.

There a test sees more of the answer than a judge does: what it watches, patches and counts is in the same process, and
it gets the objects that were returned, not copies. A run tries answers of one exercise after another for a while,
drawn anew each time; ALL_ANSWERS=1 tries all of them.
"""

from __future__ import annotations

import math
import os
import random
import secrets
import time
from pathlib import Path

import pytest
from notebook_cells import failures

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.bank import banks_of
from grader.authoring.myst import ChapterSource
from grader.model.course import Course
from grader.trials.hidden_part import MARK
from grader.trials.runner import Runner, given_names

SECONDS = 20.0
"""After which no further answer is begun."""
TOLD = {
    # A cell that asks for the device before the practice GPU is there.
    ("copy_bandwidth", "CUDA events where there is a GPU, clocks imported by name"): "Is device() called inside?",
}
"""Exercise and title → what its author reads."""
SEED = os.environ.get("ANSWERS_SEED") or secrets.token_hex(4)


def _with_needed(chapter: ChapterSource, answer: Answer) -> str:
    """An answer below what it needs of the exercises above, as in a solved notebook."""
    needed = given_names(chapter, answer.exercise).needed(answer.source)
    return f"{needed}\n{answer.source}" if needed else answer.source


@pytest.mark.timeout(3600)  # all of them take half an hour
def test_right_answers_pass_in_their_own_process() -> None:
    draw, told = random.Random(SEED), []
    banks = banks_of(Course(Path(__file__).parents[3]).chapters())
    exercises = [(bank, name) for bank in banks for name in sorted({one.exercise for one in bank.answers})]
    draw.shuffle(exercises)
    until = math.inf if os.environ.get("ALL_ANSWERS") else time.monotonic() + SECONDS
    tried = 0
    for bank, name in exercises:
        if time.monotonic() > until:
            break
        rights = [one for one in bank.answers if one.exercise == name and one.kind is AnswerKind.RIGHT and not one.gpu]
        draw.shuffle(rights)
        cells = Runner(bank.source, name, jobs=1).cells
        for test in cells["tests"]:
            visible = MARK.split(test["source"])[0]
            said = list(failures(cells["given"], visible, [_with_needed(bank.source, one) for one in rights], until))
            tried += len(said)
            for one, words in zip(rights, said, strict=False):
                expected = TOLD.get((name, one.title), "")
                told += [f"{one} {words}"] if bool(words) != bool(expected) or expected not in words else []
    assert tried
    assert told == []


def test_a_wrong_answer_does_not_and_is_told_why() -> None:
    test = "assert double(3) == 6, 'double(3) is 6'\nprint(double.__module__)"
    answers = ["def double(x):\n    return two * x", "def double(x):\n    return x", "import os; os._exit(3)"]
    said = list(failures(["two = 2"], test, answers, math.inf))
    assert said == ["", "AssertionError: double(3) is 6", f"it ended with status {3 << 8}"]
