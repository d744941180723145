"""What is imported for some chapters only, before their processes are forked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from minikey import make_key

from gpulab.chapters.inference import preload as inference
from grader.judging.session import grade
from grader.model.notebooks import Cell, Role
from grader.model.submission import from_answers
from grader.processes import client, fork_server, preload

ASKS = """\
import sys


def double(x):
    assert "wave" in sys.modules and "aifc" not in sys.modules, sorted(sys.modules)
    return 2 * x
"""

TELLS = """\
import sys


def double(x):
    raise ValueError(sys.modules.keys() & {"torch", "pytorch_lightning", "sklearn"})
"""


def test_a_chapter_gets_the_modules_that_it_names() -> None:
    key = make_key()
    assert preload.modules_for(key) == ()
    cell = Cell("more", Role.CODE, "from gpulab.chapters.inference.engine_files import read")
    modules = preload.modules_for(replace(key, cells=(*key.cells, cell)))
    own = [one for one in modules if one.startswith("gpulab.chapters.inference.")]
    assert "gpulab.chapters.inference.engine_files" in own
    assert modules == (*inference.MODULES, *own)


def test_the_others_do_not() -> None:
    every = [
        "onnxruntime.quantization",
        "gpulab.chapters.inference.engine_files",
        "gpulab.chapters.mixed_precision.pictures",
    ]
    assert preload.for_all(every) == ["gpulab.chapters.mixed_precision.pictures"]


@pytest.mark.parametrize("source", ["import pytorch_lightning as pl", 'SCRIPT = """\nimport pytorch_lightning\n"""'])
def test_lightning_is_for_chapters_that_name_it(source: str) -> None:
    key = make_key()
    assert preload.modules_for(key) == ()
    modules = preload.modules_for(replace(key, cells=(*key.cells, Cell("more", Role.CODE, source))))
    assert "pytorch_lightning" in modules
    assert set(preload.for_all(list(modules))) == set()


def test_no_other_chapter_pays_for_lightning() -> None:
    """With SciPy and scikit-learn, which it brings along, it is a quarter of what a fork server would have mapped."""
    parent = client.SubmissionServer(fork_server.MODULES)
    try:
        key = make_key()
        result = grade(from_answers(key, {"double": TELLS}), key, student="s", seed=1, parent=parent)
    finally:
        parent.close()
    (said,) = {cell.message for cell in result.cells if cell.grade_id == "double_test"}
    assert "ValueError: {'torch'} " in said


def test_a_submission_finds_them_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a fork server that runs already, and once: what is asked of it is told apart from what it has."""
    asked = []
    preload._modules_for.cache_clear()
    monkeypatch.setattr(preload, "_groups", lambda: {"math": ("wave",)})
    parent = client.SubmissionServer(fork_server.LIGHT_MODULES)
    try:
        ask = parent.ask
        monkeypatch.setattr(
            parent, "ask", lambda *request, **more: asked.append(request[0]["op"]) or ask(*request, **more)
        )
        key = make_key()  # which imports math
        for _ in range(2):
            result = grade(from_answers(key, {"double": ASKS}), key, student="s", seed=1, parent=parent)
            assert {cell.grade_id: cell.earned for cell in result.cells}["double_test"] == 3.0, result.cells
        assert asked.count("import") == 1
        assert parent.threads == 1
    finally:
        preload._modules_for.cache_clear()
        parent.close()
