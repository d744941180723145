"""The visible half of a test is graded apart, and the report names the wrong answers that it lets through."""

from __future__ import annotations

from dataclasses import replace

from minikey import RIGHT, make_key

from grader.authoring import visible_score
from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.gate import Tries, try_all

TRIPLES = Answer("double", AnswerKind.WRONG, "triples", "def double(x):\n    return 3 * x", says="you returned 9")
ONLY_SMALL = Answer(
    "double", AnswerKind.WRONG, "only small", "def double(x):\n    return min(2 * x, 99)", says="double("
)


def score(*bank: Answer, key=None) -> list[tuple[str, bool]]:
    (report,) = try_all([Tries(key or make_key(), list(bank), seed=3)], 1, lambda done, total, what: None)
    assert report.findings == ()
    return [(one.title, one.refused) for one in report.visible]


def test_what_the_visible_half_refuses_alone_counts() -> None:
    """A wrong answer that only hidden inputs tell from a right one gets through it."""
    assert score(TRIPLES, ONLY_SMALL) == [("triples", True), ("only small", False)]


def test_other_words_than_the_promised_ones_do_not_count() -> None:
    """`double(x)` fails on both halves; the sentence that the bank promises comes from the hidden one."""
    answer = Answer("double", AnswerKind.WRONG, "zero", "def double(x):\n    return 6 if x == 3 else 0", says="double(")
    assert score(answer) == [("zero", False)]


def test_a_partly_right_answer_counts_by_its_message() -> None:
    half = Answer("SHARES", AnswerKind.WRONG, "half", 'SHARES = {"a": 1}', says="1 of 4", earns=0.5)
    assert score(half) == [("half", True)]


def test_right_answers_gpu_answers_and_clocks_do_not_count() -> None:
    """A measurement differs from run to run: what a visible test can say about it is no property of the test."""
    right = Answer("double", AnswerKind.RIGHT, "plain", RIGHT["double"])
    assert score(right, replace(TRIPLES, gpu=True)) == []
    key = make_key()
    timed = replace(key.cell("double_test"), source="import time\ntime.perf_counter()\nassert double(3) == 6")
    cells = tuple(timed if cell.grade_id == "double_test" else cell for cell in key.cells)
    assert not visible_score.counts(TRIPLES, replace(key, cells=cells))


def test_the_report_names_what_gets_through() -> None:
    tried = [visible_score.Tried("double", f"number {n}", refused=n > 1) for n in range(10)]
    tried += [visible_score.Tried("SHARES", "half", refused=True)]
    assert visible_score.told("01_mini", tried) == [
        "01_mini: the visible tests alone refuse 9 of 11 (82%) wrong answers.",
        '  double: 8 of 10 (80%); these get through: "number 0", "number 1".',
    ]
    assert visible_score.told("01_mini", []) == []
