"""What hidden tests need is nowhere that a student's code could look."""

from __future__ import annotations

import gc
import importlib
import pkgutil

import pytest
from minikey import with_test

import grader.exercises
from gpulab.forkserver import server
from gpulab.measuring.speedup import Comparison, find
from grader.judging.session import grade
from grader.judging.student import _comparison
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.results import CellResult
from grader.model.submission import from_answers
from grader.processes import fork_server

LOOK = """
import gc, importlib, os, sys
def found():
    signs = []
    if any(name.startswith("grader.exercises") for name in sys.modules):
        signs.append("in sys.modules")
    for name in ("grader.exercises", "grader.exercises.transfers.comparisons"):
        try:
            importlib.import_module(name)
            signs.append("imported " + name)
        except ImportError:
            pass
    import grader
    if os.path.exists(os.path.join(os.path.dirname(grader.__file__), "exercises")):
        signs.append("on the disk")
    for one in gc.get_objects():
        module = getattr(one, "__module__", None) if callable(one) else None
        if isinstance(module, str) and module.startswith("grader.exercises"):
            signs.append("in memory: " + repr(one))
    return ", ".join(signs)
LOOKED = found()
def double(x):
    return found() or LOOKED
"""


def graded(test: str, answer: str) -> CellResult:
    key = with_test(test, *([Need.COUNTING] if "counting" in test else []))
    submission = from_answers(key, {"double": answer})
    only = frozenset({"double_test"})
    result = grade(submission, key, student="s", seed=1, limits=Limits(call_seconds=8), only=only)
    return result.cells[0]


TESTS = {
    "the judge": "from grader.exercises.transfers import comparisons\nanswer = double(1)\n",
    "its own cell alone": (
        "from gpulab import trace\nfrom grader.exercises.transfers import comparisons\n"
        "with trace.counting():\n    answer = double(1)\n"
    ),
}


@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_a_student_process_has_no_exercises(test: str) -> None:
    """Neither imported, nor importable, nor on its disk, nor in its memory; while the judge has imported them."""
    result = graded(f"{test}assert answer == '', answer", LOOK)
    unearned = "`double` launched no kernel: what it returned must be computed by kernels."
    told = ("failed", unearned) if "counting" in test else ("passed", "")
    assert (result.verdict.value, result.message) == told


def test_the_look_from_inside_finds_what_is_there() -> None:
    """The code of the test above, in this process, which has all of it."""
    importlib.import_module("grader.exercises.transfers.comparisons")
    namespace: dict[str, object] = {}
    gc.unfreeze()  # see conftest: what is frozen, the collector does not show
    exec(LOOK, namespace)
    for sign in ("in sys.modules", "imported grader.exercises.transfers.comparisons", "on the disk", "in memory"):
        assert sign in str(namespace["LOOKED"])


def test_a_fork_server_that_has_imported_exercises_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    importlib.import_module("grader.exercises.transfers")
    monkeypatch.setattr(server.gc, "freeze", lambda: None)
    with pytest.raises(RuntimeError, match=r"has imported .*grader\.exercises\.transfers"):
        fork_server.GraderServer().settle()


def test_every_comparison_is_found_under_its_name() -> None:
    """The process of the reference looks it up by that name, the student's by the workload's."""
    seen = set()
    for module in pkgutil.walk_packages(grader.exercises.__path__, "grader.exercises."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Comparison):
                assert _comparison(value.name) is value
                assert find(value.workload).inputs
                seen.add(value.name.rpartition(":")[2])
    assert {"PADDED", "TRANSPOSE", "MATMUL", "OVERLAP", "LATE"} <= seen


@pytest.mark.parametrize("where", ["os:system", "gpulab.measuring.speedup:Comparison", "grader.exercises.x:NAME"])
def test_other_names_are_no_comparison(where: str) -> None:
    with pytest.raises((ValueError, ImportError)):
        _comparison(where)
