"""`gpulab.backend`: one object says where counting, timing, launching and compiling happen, and what the seed is."""

from __future__ import annotations

import ast
from contextlib import nullcontext
from pathlib import Path

import pytest

import gpulab
from gpulab import confined, seed, trace
from gpulab.backend import NOTEBOOK_SEED, Backend, current, use
from gpulab.ranks import launch


def test_fixed_in_a_notebook_secret_in_the_judge() -> None:
    assert seed() == seed() == NOTEBOOK_SEED == 20260101
    with use(Backend(seed=7)):
        assert seed() == seed() == 7
    assert seed() == NOTEBOOK_SEED


def test_a_block_that_raises_gives_the_old_backend_back() -> None:
    outer = Backend(seed=1)
    with use(outer):
        with pytest.raises(KeyError), use(Backend(seed=2)):
            raise KeyError
        assert current() is outer
    assert current() == Backend()


def test_every_facility_asks_the_backend() -> None:
    """And goes back to this process afterwards."""
    sent = {"messages": 3}
    judge = Backend(
        counting=lambda dot_key: nullcontext([{"global_reads": 1}]),
        listening=lambda perturb, scale: nullcontext([{"global_reads": 1}, sent]),
        confined=lambda function, arguments, what, seconds: (function, arguments, what, seconds),
        script=lambda job: job.seconds,
        launch_seconds=3.0,
    )
    with use(judge):
        with trace.counting() as launches:
            pass
        with launch.listening() as heard:
            pass
        assert (launches, heard) == ([{"global_reads": 1}], [sent])
        assert confined.call(abs, -2, what="Asking", seconds=1.0) == (abs, (-2,), "Asking", 1.0)
        assert launch.script("print(1)", seconds=60) == 3.0
    with trace.counting() as launches:
        pass
    assert launches == []
    assert confined.call(abs, -2, what="Asking") == 2


def switches(tree: ast.Module) -> list[str]:
    """The functions at the top level of a module that put something given to them into one of its globals."""
    return [
        function.name
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        and function.args.args
        and any(isinstance(node, ast.Global) for node in ast.walk(function))
    ]


def test_no_other_module_keeps_what_a_judge_supplies() -> None:
    """A second switch would have to be thrown by every judge as well."""
    root = Path(gpulab.__file__).parent
    found = {
        f"{path.relative_to(root)}: {name}"
        for path in root.rglob("*.py")
        for name in switches(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == {"backend.py: use", "streams/__init__.py: watched"}  # the latter watches, and is no judge's
    assert switches(ast.parse("def limit(seconds):\n    global _most\n    _most = seconds")) == ["limit"]
