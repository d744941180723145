"""The gate goes red for every way in which a chapter's grading can be broken."""

from __future__ import annotations

from dataclasses import replace

import pytest
from minikey import RIGHT, make_key

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.gate import ChapterVerdict, Tries, drawn, earlier, judge_answer, try_all
from grader.authoring.visible_score import Tried
from grader.cli.verify import jobs_here
from grader.model.limits import Limits
from grader.model.notebooks import Cell, Role
from grader.model.results import CellResult, SubmissionResult, Verdict

GOOD = [
    Answer("double", AnswerKind.RIGHT, "plain", RIGHT["double"]),
    Answer("double", AnswerKind.WRONG, "triples", "def double(x):\n    return 3 * x", says="YOU returned 9"),
    Answer("double", AnswerKind.WRONG, "a GPU's matter", "def double(x):\n    return 2 * x", says="slow", gpu=True),
    Answer("SHARES", AnswerKind.RIGHT, "plain", RIGHT["SHARES"]),
    Answer("SHARES", AnswerKind.WRONG, "half", 'SHARES = {"a": 1}', says="1 of 4", earns=0.5),
    Answer("SHARES", AnswerKind.HOSTILE, "exits", "import os; os._exit(0)"),
]


def gate(*bank: Answer, key=None) -> ChapterVerdict:
    (report,) = try_all([Tries(key or make_key(), list(bank), seed=3)], 2, lambda done, total, what: None)
    return report


def test_a_sound_chapter_passes() -> None:
    report = gate(*GOOD)
    assert report.findings == ()
    assert report.checked == 6  # a blank notebook, and all but the one that needs a GPU
    assert report.unchecked == ("double, wrong: a GPU's matter: only a GPU can tell",)


def test_an_answer_may_call_an_earlier_exercise() -> None:
    """A student who follows a hint to do so has solved it."""
    calling = Answer(
        "SHARES", AnswerKind.RIGHT, "calls double", "one = 1\n" + RIGHT["SHARES"].replace("2", "double(1)")
    )
    assert gate(calling).findings == ()
    assert earlier(make_key(), calling) == {"double": make_key().cell("double").source}
    assert earlier(make_key(), GOOD[3]) == {}


def test_each_chapter_of_one_queue_gets_its_own_report() -> None:
    chapters = [Tries(replace(make_key(), name=name), bank, 3) for name, bank in (("one", GOOD[:2]), ("two", GOOD[5:]))]
    chapters[1].bank[0] = replace(GOOD[5], source=RIGHT["SHARES"])
    told = []
    one, two = try_all(chapters, 2, lambda done, total, what: told.append((done, total, what)))
    assert (one.chapter, one.checked, one.findings) == ("one", 3, ())
    assert (two.chapter, two.checked) == ("two", 2)
    assert "exits: earned 2, must earn 0" in two.findings[0]
    assert [entry[:2] for entry in told] == [(number, 5) for number in range(1, 6)]
    assert told[3][2] == "two, a blank notebook"


def test_a_sample_keeps_a_share_of_the_right_answers_and_of_the_others() -> None:
    wrong = [replace(GOOD[1], title=f"wrong {number}") for number in range(9)]
    hostile = Answer("double", AnswerKind.HOSTILE, "exits", "import os; os._exit(0)")
    right = [replace(GOOD[0], title=f"right {number}") for number in range(5)]
    bank = [*right, hostile, *wrong, GOOD[3]]
    for share, of_right, of_others in ((0.01, 1, 1), (0.3, 2, 3), (1.0, 5, 10)):
        sample = drawn(bank, share, seed=3)
        assert sum(one.title.startswith("right ") for one in sample) == of_right
        assert len(sample) == of_right + of_others + 1
        assert sample == [one for one in bank if one in sample]
        assert GOOD[3] in sample, "each exercise is tried"


def test_an_answer_that_cannot_be_graded_is_a_finding_and_the_others_are_graded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = Tries.try_one

    def broken(self: Tries, answer: Answer | None) -> tuple[list[str], list[Tried]]:
        if answer is GOOD[1]:
            raise RuntimeError("no sandbox")
        return whole(self, answer)

    monkeypatch.setattr(Tries, "try_one", broken)
    report = gate(GOOD[0], GOOD[1], replace(GOOD[5], source=RIGHT["SHARES"]))
    unable, paid, _ = report.findings
    assert "triples: could not be graded" in unable
    assert "RuntimeError: no sandbox" in unable
    assert "exits: earned 2, must earn 0" in paid


def test_a_right_answer_refused_once_is_named_but_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, tried = Tries.try_one, []

    def busy(self: Tries, answer: Answer | None) -> tuple[list[str], list[Tried]]:
        tried.append(answer)
        if tried.count(answer) == 1 and answer in GOOD[:2]:
            return [f"{answer}: timed out"], []
        return whole(self, answer)

    monkeypatch.setattr(Tries, "try_one", busy)
    report = gate(*GOOD[:2])
    assert report.unsteady == ("double, right: plain: timed out",)
    assert report.findings[0] == "double, wrong: triples: timed out", "a wrong answer has one try"


def test_fresh_seeds_come_to_every_wrong_answer() -> None:
    wrong = [replace(GOOD[1], title=f"wrong {number}") for number in range(10)]
    met = {one.title for seed in range(100) for one in drawn(wrong, 0.3, seed)}
    assert len(met) == 10


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("double", AnswerKind.RIGHT, "is not", "def double(x):\n    return 3 * x"), "earned 0, must earn 3"),
        (Answer("double", AnswerKind.WRONG, "is right", RIGHT["double"], says="x"), "earned 3, must earn 0"),
        (replace(GOOD[1], says="rows and columns"), "must hold 'rows and columns'"),
        (replace(GOOD[4], earns=1.0), "earned 0.5, must earn 1"),
        (Answer("double", AnswerKind.HOSTILE, "pays", RIGHT["double"]), "earned 3, must earn 0"),
    ],
)
def test_an_answer_that_gets_what_it_must_not_is_a_finding(answer: Answer, words: str) -> None:
    report = gate(answer)
    assert words in report.findings[0]
    assert "seed 3" in report.findings[-1]


@pytest.mark.parametrize(("simulated", "on_gpu", "findings"), [(0.0, 1.0, 0), (0.0, 0.0, 0), (3.0, 0.0, 1)])
def test_what_only_the_row_without_a_gpu_tells_may_pass_the_other(
    simulated: float, on_gpu: float, findings: int
) -> None:
    answer = replace(GOOD[1], cpu=True)
    cells = (
        CellResult("double_test", Verdict.PASSED if simulated else Verdict.FAILED, simulated, 3.0, "you returned 9"),
        CellResult("double_gpu", Verdict.PASSED if on_gpu else Verdict.FAILED, on_gpu, 1.0, ""),
    )
    result = SubmissionResult(student="s", chapter="01_mini", cells=cells)
    assert len(judge_answer(answer, result)) == findings
    assert len(judge_answer(replace(answer, cpu=False), result)) == int(simulated + on_gpu > 0)


def test_a_test_that_a_blank_notebook_passes_is_a_finding() -> None:
    key = make_key()
    cells = tuple(replace(cell, source="pass") if cell.grade_id == "SHARES_test" else cell for cell in key.cells)
    report = gate(key=replace(key, cells=cells))
    assert "blank notebook: SHARES_test reads 'passed' with 2 points" in report.findings[0]


def test_an_endless_answer_is_stopped_early_and_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.authoring.gate.SHORT", Limits(call_seconds=0.5))
    never = Answer(
        "double", AnswerKind.WRONG, "never", "def double(x):\n    while True: pass", says="0.5 s", endless=True
    )
    assert gate(never).findings == ()
    assert "is marked endless, but was not stopped" in gate(replace(GOOD[1], endless=True)).findings[0]


def test_a_given_cell_that_needs_a_demonstration_is_a_finding() -> None:
    """Students would be told of an error that is not theirs, after a quarter of a second spent on drawing it."""
    key = make_key()
    given = Cell("given", Role.CODE, "print(shown)")
    assert (
        "begins 'print(shown)' fails with NameError"
        in gate(key=replace(key, cells=(given, *key.cells), released={**key.released, "given": given.source})).findings[
            0
        ]
    )
    wanted = replace(given, tags=frozenset({"raises-exception"}))
    assert (
        gate(key=replace(key, cells=(wanted, *key.cells), released={**key.released, "given": given.source})).findings
        == ()
    )


def test_a_test_that_fails_by_itself_is_a_finding() -> None:
    """An exception before the test has asked for anything is ours, and is never laid at a student's door."""
    key = make_key()
    cells = tuple(
        replace(cell, source="import no_such_module\ndouble(1)") if cell.grade_id == "double_test" else cell
        for cell in key.cells
    )
    assert any("the harness failed" in text for text in gate(GOOD[0], key=replace(key, cells=cells)).findings)


@pytest.mark.parametrize(("device", "cores", "jobs"), [("cpu", 2, 3), ("cpu", 64, 9), ("NVIDIA H200", 16, 2)])
def test_answers_side_by_side_are_as_many_as_there_is_room_for(
    device: str, cores: int, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpulab.doctor.hardware.device_name", lambda: device)
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    assert jobs_here() == jobs
