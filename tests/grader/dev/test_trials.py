"""Trials run in forks of one process: they judge as the judge does, and luck over seeds is found."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from clipping import CHAPTER, NO_TOP, RIGHT, chapter, drawing

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.myst import ChapterSource, read_source
from grader.trials.runner import Runner, Trial
from grader.trials.seeds import steadiness
from grader.trials.tried_seeds import TriedSeeds

pytestmark = pytest.mark.long


def test_a_trial_gets_the_judges_verdict_and_words(tmp_path: Path) -> None:
    endless = "def clipped(x, top):\n    while True: pass"
    crashes = "def clipped(x, top):\n    import os; os._exit(3)"
    raises = "def clipped(x, top):\n    return x[0]"
    with Runner(chapter(tmp_path, "(1, 40)"), "clipped", jobs=2) as runner:
        sources = [RIGHT.source, NO_TOP.source, endless, crashes, raises, "clipped = None"]
        found = runner.run([Trial(source, (1,), 60.0 if source is not endless else 0.5) for source in sources])
    assert [one.accepted for one in found] == [True, False, False, False, False, False]
    assert "clipped(40, 50): you returned 80, expected 50." in found[1].told
    assert found[2].cells[0].verdict.value == "timed out"
    assert (
        found[2].cells[0].message
        == "The call gave no answer within 0.5 s. Does a loop never end, or take very many steps?"
    )
    assert found[3].cells[0].verdict.value == "crashed"
    assert "(line 2: return x[0])" in found[4].told
    assert not found[1].broke
    assert all(one.broke for one in found[2:5])


def test_the_visible_part_runs_once_for_many_seeds(tmp_path: Path) -> None:
    """Every seed goes on from its end, whatever the hidden part of another one has left behind."""
    asked = tmp_path / "asked.txt"
    noted = f"""CALLS = []
def clipped(x, top):
    CALLS.append(x)
    with open({str(asked)!r}, "a") as asked:
        asked.write(f"{{x}} {{len(CALLS)}}\\n")
    return min(2 * x, top - (x in (31, 37)))"""
    source = chapter(tmp_path, "draw.sample(range(30, 40), 2)")
    seeds = tuple(range(1, 9))
    with Runner(source, "clipped", jobs=1) as runner:
        single = [runner.run([Trial(noted, (seed,), 60.0)])[0] for seed in seeds]
        calls_of_single = asked.read_text().splitlines()
        asked.unlink()
        together = runner.run([Trial(noted, seeds, 60.0)])
    assert together == single
    assert {one.accepted for one in single} == {True, False}
    calls = asked.read_text().splitlines()
    assert calls_of_single.count("3 1") == 8 and calls.count("3 1") == 1
    assert sorted({*calls}) == sorted({*calls_of_single})


def test_an_answer_may_use_what_its_test_does_not_declare(tmp_path: Path) -> None:
    """In the judge the declared needs bind the test's process; the answer runs in another one."""
    ranks = """
from gpulab import launch


def clipped(x, top):
    return launch.ranks(lambda rank, world_size, mine: min(2 * mine, top), [[x]])[0]
"""
    with Runner(chapter(tmp_path, "(40,)"), "clipped", jobs=1) as runner:
        (found,) = runner.run([Trial(ranks, (1,), 60.0)])
    assert found.accepted, found.told


def test_an_answer_sees_nothing_of_the_judges(tmp_path: Path) -> None:
    """In a student's process the checkers are not there; here they are, and the test has imported them."""
    text = CHAPTER.replace("HIDDEN:", "(40,):").replace("import random", "import grader.exercises.confront, random")
    (tmp_path / "01_clipped.md").write_text(text, encoding="utf-8")
    asks = "def clipped(x, top):\n    import grader.exercises.confront\n    return min(2 * x, top)"
    early = "import grader.exercises.confront\n" + RIGHT.source
    with Runner(read_source(tmp_path / "01_clipped.md"), "clipped", jobs=1) as runner:
        found = runner.run([Trial(one, (1,), 60.0) for one in (asks, early, RIGHT.source)])
    assert [one.accepted for one in found] == [False, False, True], found
    assert "No module named 'grader.exercises" in found[0].told


def test_what_a_test_imports_does_not_take_a_trial_for_an_interactive_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning, which starts no ranks in one, looks as it is imported."""
    (tmp_path / "asks.py").write_text("import sys\ninteractive = hasattr(sys, 'ps1')\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    text = CHAPTER.replace("HIDDEN:", "(40,):").replace("import random", "import asks, random")
    (tmp_path / "01_clipped.md").write_text(text, encoding="utf-8")
    asks = "import asks\ndef clipped(x, top):\n    return min(2 * x, top) + asks.interactive"
    with Runner(read_source(tmp_path / "01_clipped.md"), "clipped", jobs=1) as runner:
        (found,) = runner.run([Trial(asks, (1,), 60.0)])
    assert found.accepted, found.told


def needing(folder: Path, need: str, hidden: str) -> ChapterSource:
    """The chapter with a need declared, and this instead of its hidden loop."""
    text = CHAPTER.replace(":points: 2", f":points: 2\n:needs: [{need}]")
    start = text.index("for x in HIDDEN")
    end = text.index("### END HIDDEN")
    path = folder / "01_clipped.md"
    path.write_text(text[:start] + hidden + text[end:], encoding="utf-8")
    return read_source(path)


TOY = """
from gpulab.virtual_gpu import running


class Machine:
    def run(self, operations):
        return 12.0


with running(Machine()):
    check.equal(clipped(40, 50), 50, "clipped(40, 50) at noon")
check.equal(clipped(40, 50), 7, "clipped(40, 50) later")
"""


def test_a_trial_measures_on_the_simulated_gpu_from_the_cells_first_line_on(tmp_path: Path) -> None:
    """As the judge's clean process does: a device and a clock of the cell's own top level are the simulated ones."""
    answer = """
from time import perf_counter
from gpulab import device
DEVICE = device()


def clipped(x, top):
    if x == 3:
        return 6
    return top if str(DEVICE) == "cuda" and perf_counter() == 12.0 else 7
"""
    with Runner(needing(tmp_path, "virtual_gpu", TOY), "clipped", jobs=1) as runner:
        (found,) = runner.run([Trial(answer, (1,), 60.0)])
    assert found.accepted, found.told


def test_a_timeline_is_that_of_the_answers_cell_alone(tmp_path: Path) -> None:
    """The judge's clean process has made no call before, and none of its state is that of the other one."""
    hidden = """
from gpulab import streams

clipped(40, 50)
with streams.timeline() as operations:
    check.equal(clipped(40, 50), 1, "calls in the process with the timeline")
check.equal(clipped(40, 50), 2, "calls in the notebook's process")
"""
    answer = "calls = 0\ndef clipped(x, top):\n    global calls\n    calls += x != 3\n    return calls or 6"
    with Runner(needing(tmp_path, "timeline", hidden), "clipped", jobs=1) as runner:
        (found,) = runner.run([Trial(answer, (1,), 60.0)])
    assert found.accepted, found.told


def test_a_clean_process_that_hangs_ends_with_its_trial(tmp_path: Path) -> None:
    answer = """
import os

while os.getpgrp() != os.getpid():
    pass  # a trial leads its group, its clean process does not


def clipped(x, top):
    os._exit(3)
"""
    with Runner(needing(tmp_path, "timeline", ""), "clipped", jobs=1) as runner:
        (found,) = runner.run([Trial(answer, (1,), 20.0)])
    assert found.cells[0].verdict.value == "crashed"


def test_luck_is_found_and_told_with_its_seed(tmp_path: Path) -> None:
    lucky = chapter(tmp_path, "[draw.choice([1, 40])]")
    report = steadiness(lucky, "clipped", [RIGHT, NO_TOP], 20, jobs=2)
    (finding,) = report.findings
    assert "of 20 seeds" in finding
    assert "earned 2, must earn 0" in finding
    assert steadiness(chapter(tmp_path, "(1, 40)"), "clipped", [RIGHT, NO_TOP], 5, jobs=2).findings == ()


ONCE = """
seen = []


def clipped(x, top):
    seen.append(x)
    return min(2 * x, top) if seen.count(3) < 2 else None
"""


"""Right with one seed in a process, where the visible line asks for 3 once a seed."""


def test_where_the_visible_part_draws_all_runs_again_in_one_process(tmp_path: Path) -> None:
    with Runner(drawing(tmp_path, "(1, 40)"), "clipped", jobs=2) as runner:
        found = runner.run([Trial(ONCE, (1, 2, 3), 60.0), Trial("import os; os._exit(3)", (4, 5), 60.0)])
    assert [one.accepted for one in found] == [True, False, False, False, False]
    assert [one.cells[0].verdict.value for one in found[3:]] == ["crashed", "crashed"]


def test_a_fork_that_dies_is_a_crash_with_its_seed(tmp_path: Path) -> None:
    dies = "def clipped(x, top):\n    import os\n    return min(2 * x, top) if x < 35 else os._exit(3)"
    with Runner(chapter(tmp_path, "[draw.randrange(30, 40)]"), "clipped", jobs=1) as runner:
        single = {seed: runner.run([Trial(dies, (seed,), 60.0)])[0] for seed in range(10)}
        assert {one.cells[0].verdict.value for one in single.values()} == {"passed", "crashed"}
        seeds = tuple(sorted(single, key=lambda seed: not single[seed].accepted))  # the first one's process forks
        assert runner.run([Trial(dies, seeds, 60.0)]) == [single[seed] for seed in seeds]


def test_what_is_refused_before_the_seed_is_read_is_refused_with_every_seed(tmp_path: Path) -> None:
    """So a trial of ten seeds takes as long as one; the answer's own use of the seed changes nothing."""
    wrong = "from gpulab import seed\ncalls = []\ndef clipped(x, top):\n    calls.append(seed())\n    return len(calls)"
    with Runner(chapter(tmp_path, "[draw.randrange(90)]"), "clipped", 1) as runner:
        outcomes = runner.run([Trial(wrong, tuple(range(4)), 20)])
    assert [one.told for one in outcomes] == ["failed: clipped(3, 100): you returned 1, expected 6."] * 4


def test_what_an_answer_keeps_from_another_seed_does_not_count_against_it(tmp_path: Path) -> None:
    once = Answer("clipped", AnswerKind.RIGHT, "once", ONCE)
    record = TriedSeeds(tmp_path / "seeds.jsonl")
    source = drawing(tmp_path, "(1, 40)")
    assert steadiness(source, "clipped", [once], 12, jobs=2, record=record).findings == ()
    assert steadiness(source, "clipped", [once], 12, jobs=2, record=record).earlier == 12


def test_a_clean_process_is_asked_with_one_seed(tmp_path: Path) -> None:
    """It is as fresh as the answer's own; for the next seed it would not be."""
    hidden = "check.equal(clipped(40, 50), 50, 'clipped(40, 50)')"
    source = needing(tmp_path, "timeline", hidden)
    with Runner(source, "clipped", jobs=1) as runner, pytest.raises(AssertionError):
        runner.run([Trial(RIGHT.source, (1, 2), 60.0)])
    assert steadiness(source, "clipped", [RIGHT, replace(NO_TOP, says="")], 3, jobs=1).findings == ()


def test_an_answer_may_run_as_long_as_the_gate_lets_it(tmp_path: Path) -> None:
    """A tracer stops an endless kernel after 10 s and says where; a trial that ended before would say less."""
    slow = Answer(
        "clipped",
        AnswerKind.WRONG,
        "slow",
        "def clipped(x, top):\n    import time\n    time.sleep(11)",
        says="return statement",
    )
    assert steadiness(chapter(tmp_path, "(1, 40)"), "clipped", [RIGHT, slow], 1, jobs=2).findings == ()


def test_many_seeds_can_be_tried_in_pieces(tmp_path: Path) -> None:
    """What came out as it must is not run again, unless the answer or the test has changed; luck is tried again."""
    record = TriedSeeds(tmp_path / "work" / "seeds.jsonl")
    source = chapter(tmp_path, "[draw.choice([1, 40])]")
    runs = [steadiness(source, "clipped", [RIGHT, NO_TOP], seeds, jobs=2, record=record) for seeds in (7, 12, 12)]
    lucky = [int(run.findings[0].split()[1]) for run in runs]
    assert lucky[1] == lucky[2] >= lucky[0] > 0
    assert [run.earlier for run in runs] == [0, 14 - lucky[0], 24 - lucky[1]]
    assert all("earned 2, must earn 0" in run.findings[0] for run in runs)
    reworded = replace(NO_TOP, says="expected 50")
    fresh = steadiness(source, "clipped", [RIGHT, reworded], 12, jobs=2, record=record)
    assert fresh.earlier == 12
    tightened = steadiness(chapter(tmp_path, "(1, 40)"), "clipped", [RIGHT, NO_TOP], 12, jobs=2, record=record)
    assert (tightened.earlier, tightened.findings) == (0, ())


def test_what_the_first_trial_imports_is_there_for_the_others(tmp_path: Path) -> None:
    tells = """
import sys
was_there = "this" in sys.modules
import this


def clipped(x, top):
    return min(2 * x, top) if was_there else None
"""
    with Runner(chapter(tmp_path, "(40,)"), "clipped", jobs=1) as runner:
        (before,) = runner.run([Trial(tells, (1,), 60.0)])
        (first,) = runner.run([Trial(tells, (1,), 60.0, imports=True)])
        (second,) = runner.run([Trial(tells, (1,), 60.0)])
    assert [one.accepted for one in (before, first, second)] == [False, False, True], second.told
