"""A right answer passes where its test runs in its own process, too, as the visible part does in a student's notebook.

There a test sees more of the answer than a judge does: what it watches, patches and counts is in the same process. A
run tries answers for a while, drawn anew each time; ALL_ANSWERS=1 tries all of them.
"""

from __future__ import annotations

import math
import os
import random
import secrets
import time
from pathlib import Path

import pytest

from grader.authoring.answers import AnswerKind
from grader.authoring.bank import banks_of
from grader.model.course import Course
from grader.trials.seeds import steadiness

SECONDS = 20.0
"""After which no further answer is begun."""


@pytest.mark.timeout(3600)  # all of them take half an hour
def test_right_answers_pass_in_their_own_process() -> None:
    banks = banks_of(Course(Path(__file__).parents[3]).chapters())
    rights = [(bank, one) for bank in banks for one in bank.answers if one.kind is AnswerKind.RIGHT]
    random.Random(secrets.randbits(32)).shuffle(rights)
    until = math.inf if os.environ.get("ALL_ANSWERS") else time.monotonic() + SECONDS
    findings: list[str] = []
    for bank, answer in rights:
        if time.monotonic() > until:
            break
        findings += steadiness(bank.source, answer.exercise, [answer], seeds=1, jobs=1).findings
    assert findings == []
