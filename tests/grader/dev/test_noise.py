"""The experiment next to busy neighbors counts right and wrong verdicts, and goes on where it stopped."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from minikey import with_test

from grader.authoring.answers import Answer, AnswerKind
from grader.dev import noise, noise_counts
from grader.dev.noise_counts import Counts
from grader.model.course import CourseError
from grader.model.needs import Need

pytestmark = pytest.mark.long

CELL = with_test("from gpulab import seed\nassert double(3) == 6 and seed()", Need.VIRTUAL_GPU).cell("double_test")
RIGHT = Answer("double", AnswerKind.RIGHT, "twice", "def double(x):\n    print(x)\n    return 2 * x")
WRONG = Answer(
    "double", AnswerKind.WRONG, "once", "def double(x):\n    assert False, 'not doubled'", says="not doubled"
)
UNNAMED = replace(WRONG, title="in silence", source="def double(x):\n    return x")
ENDLESS = Answer("double", AnswerKind.HOSTILE, "endless", "def double(x):\n    while True: pass")
LEAVING = Answer("double", AnswerKind.HOSTILE, "leaves", "import os\ndef double(x):\n    os._exit(0)")
MISTAKEN = Answer("double", AnswerKind.WRONG, "passes", RIGHT.source, says="a mistake")
REFUSED = Answer("double", AnswerKind.RIGHT, "fails", UNNAMED.source)
ALL = [RIGHT, WRONG, UNNAMED, ENDLESS, LEAVING, MISTAKEN, REFUSED]


def run(path: Path, answers: list[Answer], times: int, neighbors: int = 0) -> Counts:
    counts = Counts(path)
    noise.graded({"double": (CELL, answers)}, counts, times, neighbors, lambda done, total, text: None)
    return Counts(path)


def test_every_kind_of_verdict_is_counted(tmp_path: Path) -> None:
    found = run(tmp_path / "counts.json", ALL, len(ALL), neighbors=1).total("double", 1, CELL, ALL)
    assert (found.right, found.wrong, found.pending, found.unnamed) == (2, 5, 0, 1)
    assert sorted(one.partition(", seed")[0] for one in found.mistaken) == sorted([str(MISTAKEN), str(REFUSED)])
    assert found.longest_right_seconds > 0


def test_pieces_add_up_and_no_seed_is_used_twice(tmp_path: Path) -> None:
    path, answers = tmp_path / "work" / "counts.json", [RIGHT, WRONG]
    for times in (3, 3, 5):
        found = run(path, answers, times).total("double", 0, CELL, answers)
        assert found.right + found.wrong == found.gradings == times
    run(path, answers, 2, neighbors=1)
    ranges = [
        (one["neighbors"], one["first_seed"], one["right"] + one["wrong"]) for one in json.loads(path.read_text())
    ]
    assert ranges == [(0, 1, 3), (0, 4, 2), (1, 1 + noise.SEEDS_APART, 2)]


def test_what_was_graded_before_a_change_does_not_count(tmp_path: Path) -> None:
    path, changed = tmp_path / "counts.json", [RIGHT, replace(WRONG, source=RIGHT.source)]
    run(path, [RIGHT, WRONG], 2)
    assert Counts(path).total("double", 0, CELL, changed).gradings == 0
    assert Counts(path).total("double", 0, replace(CELL, source="pass"), [RIGHT, WRONG]).gradings == 0
    assert Counts(path).total("double", 0, CELL, [RIGHT, WRONG]).gradings == 2
    assert run(path, changed, 2).total("double", 0, CELL, changed).mistaken


@pytest.mark.parametrize("place", ["gpulab/virtual_gpu/clocks.py", "grader/dev/noise.py", "grader/model/limits.py"])
def test_what_was_graded_under_other_limits_or_code_does_not_count(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece that stricter limits cut off may not be added to one that ran under the judge's."""
    for deciding in noise_counts.DECIDING:
        source, copy = noise_counts.ROOT / deciding, tmp_path / deciding
        copy.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copy)
    monkeypatch.setattr(noise_counts, "ROOT", tmp_path)
    before = Counts.digest(CELL, [RIGHT])
    assert Counts.digest(CELL, [RIGHT]) == before
    with (tmp_path / place).open("a", encoding="utf-8") as file:
        file.write("PROCESSOR_SECONDS = 1\n")
    assert Counts.digest(CELL, [RIGHT]) != before


def test_an_interrupt_keeps_what_was_graded(tmp_path: Path) -> None:
    counts = Counts(tmp_path / "counts.json")

    def interrupted(done: int, total: int, text: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        noise.graded({"double": (CELL, [RIGHT])}, counts, 100, 0, interrupted)
    assert Counts(tmp_path / "counts.json").total("double", 0, CELL, [RIGHT]).gradings == 2


def test_each_call_is_timed_on_the_real_clock() -> None:
    """The judge ends a call after ten seconds, so a right answer that takes longer counts as a wrong verdict."""
    calls: list[float] = []
    assert noise.verdict(CELL, "import time\ndef double(x):\n    time.sleep(0.2)\n    return 6", 1, calls) is None
    assert len(calls) == 1 and 0.2 <= calls[0] < 5


def test_a_file_that_holds_no_counts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "counts.json").write_text('[{"exercise": 1, "color": "red"}]')
    with pytest.raises(CourseError, match="Remove it, and grade again"):
        Counts(tmp_path / "counts.json")
