"""Mutants are distinguished from right answers, and luck over seeds is found; both in forks of one process."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from courses import FRONT_MATTER

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.bank import banks_of
from grader.authoring.myst import ChapterSource, read_source
from grader.cli.verify import command
from grader.model.course import Course, CourseError
from grader.trials.mutants import EQUIVALENTS, equivalents, survivors, takes_nothing
from grader.trials.mutate import mutants_of
from grader.trials.runner import Runner, Trial
from grader.trials.seeds import steadiness
from grader.trials.tried_seeds import TriedSeeds

CHAPTER = (
    FRONT_MATTER
    + '''\
# A chapter

```{code-cell} ipython3
FACTOR = 2
```

```{code-cell} ipython3
:exercise: clipped

def clipped(x, top):
    """Twice x, at most top."""
    ### BEGIN SOLUTION
    return min(FACTOR * x, top)
    ### END SOLUTION
```

```{code-cell} ipython3
:test: clipped
:points: 2

import random

from gpulab import check, seed

check.equal(clipped(3, 100), 6, "clipped(3, 100)")
### BEGIN HIDDEN TESTS
draw = random.Random(seed())
for x in HIDDEN:
    check.equal(clipped(x, 50), min(2 * x, 50), f"clipped({x}, 50)")
### END HIDDEN TESTS
```
'''
)
RIGHT = Answer("clipped", AnswerKind.RIGHT, "plain", "def clipped(x, top):\n    return top if 2 * x > top else 2 * x")
NO_TOP = Answer("clipped", AnswerKind.WRONG, "no top", "def clipped(x, top):\n    return 2 * x", says="you returned")


def chapter(folder: Path, hidden: str) -> ChapterSource:
    """The chapter with these hidden inputs."""
    path = folder / "01_clipped.md"
    path.write_text(CHAPTER.replace("HIDDEN:", f"{hidden}:"), encoding="utf-8")
    return read_source(path)


def drawing(folder: Path, hidden: str) -> ChapterSource:
    """The chapter with these hidden inputs, whose visible part reads the seed, too."""
    chapter(folder, hidden)
    path = folder / "01_clipped.md"
    path.write_text(path.read_text().replace("check.equal(clipped(3,", "seed() and check.equal(clipped(3,"))
    return read_source(path)


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
    assert found[2].cells[0].message == "The call gave no answer within 0.5 s. Does a loop never end?"
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


def test_a_sample_is_a_share_of_the_mutants(tmp_path: Path) -> None:
    source = chapter(tmp_path, "(25, 40, 70)")
    whole, half = (survivors(source, "clipped", [RIGHT], {"x": "y"}, 2, share) for share in (1.0, 0.5))
    assert (half.tried, half.unused) == ((whole.tried + 1) // 2, ())
    assert {one.mutant.change for one in half.found} <= {one.mutant.change for one in whole.found}
    assert whole.unused == ("x",)


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
