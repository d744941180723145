"""What the grader was started with, and from where, decides about nobody's points."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import pytest
import surroundings
from minikey import make_key

from grader.judging.session import grade
from grader.model.course import Course
from grader.model.needs import Need
from grader.model.notebooks import load_key
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import Tier
from grader.sandbox.probe import best_tier

pytestmark = pytest.mark.long


@functools.cache
def plain() -> surroundings.Outcome:
    return surroundings.outcomes("plain", surroundings.FEW)


@pytest.mark.slow
def test_the_plain_surrounding_tells_right_from_wrong() -> None:
    """The check of the check: what is compared below are points that were earned and lost."""
    earned = {answer: sum(points for _, points, _ in cells) for answer, cells in plain().items()}
    assert len(earned) == 2 * len(surroundings.FEW)
    assert all(bool(points) == answer.endswith("right") for answer, points in earned.items()), plain()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["all at once", "spaces and accents"])
def test_points_do_not_depend_on_the_surroundings(name: str) -> None:
    """The other surroundings, one by one and with more exercises: `python tests/surroundings.py`."""
    assert surroundings.outcomes(name, surroundings.FEW) == plain()


def test_every_exercise_that_starts_compiles_or_writes_is_graded_there() -> None:
    """All whose tests need other processes, compile CUDA C++, run a file of theirs, or train with Lightning."""
    course, wanted = Course(surroundings.ROOT), set()
    for chapter in course.chapters():
        for cell in load_key(chapter).tests:
            needs = cell.needs & {Need.COUNTING, Need.SCRIPTS, Need.LISTENING, Need.VIRTUAL_GPU, Need.TIMELINE}
            if needs or re.search(r"\b(?:cuda_cpp|onnx_sandbox|engine_checks|lightning|profile)\b", cell.source):
                wanted.add(f"{chapter.name[:2]}:{cell.exercise}")
    assert wanted - set(surroundings.EXERCISES) == set()


SEEN = """
import json, os, tempfile
os.umask(mask := os.umask(0))
print(json.dumps([dict(os.environ), tempfile.gettempdir(), mask, oct(os.stat(os.environ["HOME"]).st_mode)]))
"""


@pytest.mark.parametrize("tier", [tier for tier in Tier if tier <= best_tier()], ids=lambda tier: tier.name.lower())
def test_a_students_environment_is_a_list_of_our_own_values(
    tier: Tier, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two graders with nothing in common give their students the same variables, folders and modes."""
    others = {
        "TMPDIR": str(tmp_path),
        "LANG": "C",
        "LC_ALL": "C",
        "PATH": "/x",
        "HOME": "/nowhere",
        "VIRTUAL_ENV": "/y",
    }
    seen = []
    others |= {"RANK": "1", "https_proxy": "x", "OMP_NUM_THREADS": "9"}
    variables: dict[str, str]
    for variables, umask in (({}, 0o022), (others, 0o077)):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        before = os.umask(umask)
        try:
            parent = client.SubmissionServer((*fork_server.LIGHT_MODULES, "asks_where"), tier)
            submission = from_answers(make_key(), {"double": SEEN})
            result = grade(submission, make_key(), student="s", seed=1, only=frozenset(), parent=parent)
        finally:
            os.umask(before)
        parent.close()
        text = str(result.outputs["double"][0]["text"])
        seen.append(text.replace(_home_in(text), "HOME"))
    assert seen[0] == seen[1]
    assert '"LANG": "C.UTF-8"' in seen[0]


def _home_in(text: str) -> str:
    """The home that a student's process printed: without namespaces, a folder with a random name."""
    return text.split('"HOME": "')[1].split('"')[0]
