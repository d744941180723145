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
import os, signal, sys, time
from pathlib import Path
from gpulab.forkserver import server
from grader import sandbox
from grader.judging import judge, student

fork_server = sys.modules["__main__"]
KIND, STAGE, HOW, FLAG = {kind!r}, {stage!r}, {how!r}, Path({flag!r})
doomed = False


def meet(stage):
    if not doomed or stage != STAGE:
        return
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
    if request["op"] == KIND and FLAG.exists():
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
at("before it is confined", sandbox, "confine")
at("half confined", sandbox, "enter")
at("watching", fork_server, "exit_code_of")
at("watching", fork_server, "watch_worker")
at("running a cell", student.Server, "_run")
at("in mid-answer", student.Server, "_call")
at("in mid-answer", judge, "run_cell")
at("taking a link", judge._Judge, "_link")
at("at the end", student, "main", after=True)
at("at the end", judge, "main", after=True)
"""
QUICK = Limits(cell_seconds=10, call_seconds=5, test_seconds=20)
STUDENT = (
    "at its fork", "before it is confined", "half confined", "watching", "running a cell", "in mid-answer",
    "at the end",
)  # fmt: skip
JUDGE = ("at its fork", "taking a link", "in mid-answer", "at the end")
STAGES = [("student", stage) for stage in STUDENT] + [("judge", stage) for stage in JUDGE]
TIERS = [tier for tier in (Tier.FILES, Tier.NAMESPACES) if tier <= best_tier()]


@pytest.fixture
def parent_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., client.SubmissionServer]:
    """Makes a fork server of which one process dies or hangs, once."""
    parents = []

    def make(kind: str, stage: str, how: str = "dies", tier: Tier | None = None) -> client.SubmissionServer:
        flag = tmp_path / "flag"
        flag.touch()
        (tmp_path / "dying.py").write_text(DYING.format(kind=kind, stage=stage, how=how, flag=str(flag)))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [PATHS, str(tmp_path)])))
        parents.append(client.SubmissionServer((*fork_server.LIGHT_MODULES, "dying"), tier))
        return parents[-1]

    yield make
    for parent in parents:
        parent.close()


PATHS = os.environ.get("PYTHONPATH")


def graded(parent: client.SubmissionServer | None) -> SubmissionResult:
    key = make_key()
    return grade(from_answers(key, RIGHT), key, student="s", seed=7, limits=QUICK, parent=parent)


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.name.lower())
@pytest.mark.parametrize(("kind", "stage"), STAGES, ids=lambda one: one.replace(" ", "-"))
def test_a_kill_at_any_stage_changes_nothing(
    kind: str, stage: str, tier: Tier, parent_that: Callable[..., client.SubmissionServer], tmp_path: Path
) -> None:
    """The submission is graded again, with the same result, and nothing of the first attempt stays."""
    parent = parent_that(kind, stage, tier=tier)
    result = graded(parent)
    assert not (tmp_path / "flag").exists(), "nothing was killed"
    assert [(cell.verdict.value, cell.earned) for cell in result.cells] == [
        ("passed", 3.0), ("needs a GPU", 0.0), ("passed", 2.0),
    ]  # fmt: skip
    assert comparable(result) == comparable(graded(parent))
    assert left_behind("dying", parent.pid) == []


@pytest.mark.parametrize(
    ("kind", "stage"),
    [("student", "at its fork"), ("student", "half confined"), ("judge", "at its fork")],
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
    assert left_behind("dying", parent.pid) == []


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
    assert left_behind("dying", parent.pid) == []


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
