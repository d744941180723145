"""A process of ours that is killed or hangs, at any stage of its life, changes no grade and leaves nothing behind."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from leftovers import left_behind
from minikey import RIGHT, make_key
from random_kills import comparable

from gpulab.forkserver import client as forkserver
from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.results import SubmissionResult
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import Tier
from grader.sandbox.probe import best_tier

pytestmark = pytest.mark.long

DYING = """
import mmap, os, signal, sys, time
from pathlib import Path
from gpulab.forkserver import server
from grader import sandbox
from grader.processes import watcher
from grader.sandbox import kernel

main = sys.modules["__main__"]
boxes = main.__spec__.name == "grader.processes.box_server"
KIND, STAGE, HOW, FLAG = {kind!r}, {stage!r}, {how!r}, Path({flag!r})
with FLAG.with_name("met").open("r+b") as file:
    met = mmap.mmap(file.fileno(), 1)  # shared by all forks, whatever files they still see
doomed = False


def meet(stage):
    if not doomed or stage != STAGE:
        return
    met[0] = 1
    if HOW == "hangs":
        time.sleep(600)
    if os.getpid() == 1:
        os._exit(256 - signal.SIGKILL)  # the first process of a namespace cannot kill itself
    os.kill(os.getpid(), signal.SIGKILL)


def at(stage, place, name, after=False):
    real = getattr(place, name)

    def patched(*arguments, **named):
        if not after:
            meet(stage)
        value = real(*arguments, **named)
        if after:
            meet(stage)
        return value

    setattr(place, name, patched)


def run_child(which, ready, request, *others):
    global doomed
    if ("box" if boxes else request["op"]) == KIND and FLAG.exists():
        FLAG.unlink()  # only the first one dies
        doomed = True
    meet("at its fork")
    return real_run_child(which, ready, request, *others)


def end(*arguments):
    global doomed
    if KIND == "parent" and FLAG.exists():
        FLAG.unlink()
        doomed = True
    meet("asked to end a process")
    return real_end(*arguments)


real_run_child, server.run_child = server.run_child, run_child
real_end, server.end = server.end, end
if boxes:
    at("before it is made", sandbox, "make_box")
    at("as its first process", kernel, "enter_root")
    at("holding it", main, "exit_code_of")
else:
    from grader.judging import judge, student

    at("before it is confined", sandbox, "enter")
    at("confined", sandbox, "enter", after=True)
    at("watching", main, "exit_code_of")
    at("watching", main, "watch_worker")
    at("running a cell", student.Server, "_run")
    at("in mid-answer", student.Server, "_call")
    at("in mid-answer", judge, "run_cell")
    at("taking a link", judge._Judge, "_link")
    at("at the end", student, "main", after=True)
    at("at the end", judge, "main", after=True)
"""
QUICK = Limits(cell_seconds=10, call_seconds=5, test_seconds=20)
STAGES = {
    "student": (
        "at its fork", "before it is confined", "confined", "watching", "running a cell", "in mid-answer", "at the end",
    ),
    "judge": ("at its fork", "taking a link", "in mid-answer", "at the end"),
    "box": ("at its fork", "before it is made", "as its first process", "holding it"),
}  # fmt: skip


def happens(tier: Tier, kind: str, stage: str) -> bool:
    """Whether such a process has such a stage: in tier 2 there are boxes, and root needs nobody who watches."""
    if tier < Tier.NAMESPACES:
        return kind != "box"
    return stage != "watching" or os.getuid() != 0


CASES = [
    pytest.param(tier, kind, stage, id=f"{tier.name.lower()}-{kind}-{stage}".replace(" ", "-"))
    for tier in (Tier.FILES, Tier.NAMESPACES)
    for kind, stages in STAGES.items()
    for stage in stages
    if tier <= best_tier() and happens(tier, kind, stage)
]


@pytest.fixture
def parent_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., client.SubmissionServer]:
    """Makes a fork server of which one process dies or hangs, once."""
    parents = []

    def make(kind: str, stage: str, how: str = "dies", tier: Tier | None = None) -> client.SubmissionServer:
        flag = tmp_path / "flag"
        flag.touch()
        (tmp_path / "met").write_bytes(b"\0")
        (tmp_path / "dying.py").write_text(DYING.format(kind=kind, stage=stage, how=how, flag=str(flag)))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [PATHS, str(tmp_path)])))
        parents.append(client.SubmissionServer((*fork_server.LIGHT_MODULES, "dying"), tier, box_modules=("dying",)))
        return parents[-1]

    yield make
    for parent in parents:
        parent.close()


PATHS = os.environ.get("PYTHONPATH")


def graded(parent: client.SubmissionServer | None) -> SubmissionResult:
    key = make_key()
    return grade(from_answers(key, RIGHT), key, student="s", seed=7, limits=QUICK, parent=parent)


@pytest.mark.parametrize(("tier", "kind", "stage"), CASES)
def test_a_kill_at_any_stage_changes_nothing(
    tier: Tier, kind: str, stage: str, parent_that: Callable[..., client.SubmissionServer], tmp_path: Path
) -> None:
    """The submission is graded again, with the same result, and nothing of the first attempt stays."""
    parent = parent_that(kind, stage, tier=tier)
    result = graded(parent)
    assert (tmp_path / "met").read_bytes() == b"\1", "nothing was killed"
    assert [(cell.verdict.value, cell.earned) for cell in result.cells] == [
        ("passed", 3.0), ("needs a GPU", 0.0), ("passed", 2.0),
    ]  # fmt: skip
    assert comparable(result) == comparable(graded(parent))
    assert left_behind("dying", parent.pids) == []


@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        ("student", "at its fork"),
        ("student", "before it is confined"),
        ("box", "as its first process"),
        ("judge", "at its fork"),
    ],
    ids=lambda one: one.replace(" ", "-"),
)
def test_a_process_that_is_never_ready_is_given_up(
    kind: str, stage: str, parent_that: Callable[..., client.SubmissionServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its deadline passes, it is killed, and the submission is graded with another one."""
    parent = parent_that(kind, stage, how="hangs")
    monkeypatch.setattr(forkserver, "READY_SECONDS", 1.0)
    started = time.monotonic()
    assert graded(parent).earned == 5.0
    assert time.monotonic() - started < 15
    assert left_behind("dying", parent.pids) == []


def test_a_fork_server_that_does_not_answer_is_given_up(
    parent_that: Callable[..., client.SubmissionServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed with all that it started; the grading that used it ends all the same, and the next has its own."""
    parent = parent_that("parent", "asked to end a process", how="hangs")
    monkeypatch.setattr(forkserver, "ANSWER_SECONDS", 1.0)
    started = time.monotonic()
    assert graded(parent).earned == 5.0
    assert time.monotonic() - started < 15
    assert not parent.alive()
    assert left_behind("dying", parent.pids) == []


def test_a_submission_that_kills_itself_gets_its_verdict() -> None:
    """It is tried again, as one is that the machine killed, but not for ever."""
    key = make_key()
    answers = {**RIGHT, "double": "import os\ndef double(x): os.kill(os.getpid(), 9)"}
    result = grade(from_answers(key, answers), key, student="s", seed=7, limits=QUICK)
    assert [cell.verdict.value for cell in result.cells] == ["crashed", "needs a GPU", "passed"]


def test_results_are_compared_by_all_but_what_differs_each_time() -> None:
    """The check of the check: points, verdicts, messages and outputs count; times do not."""
    one = json.loads(comparable(graded(None)))
    assert "usage" not in one
    assert {"verdict", "earned", "message"} <= set(one["cells"][0])
    assert "seconds" not in one["cells"][0]
