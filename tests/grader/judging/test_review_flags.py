"""Cells that somebody should look at are named, and nobody else's."""

from __future__ import annotations

import time

import pytest
from courses import ROOT
from minikey import DOUBLE_TEST, RIGHT, with_test

from grader.authoring.answers import Answer, AnswerKind, load
from grader.judging import review_flags
from grader.judging.session import grade
from grader.model.course import Course
from grader.model.needs import Need
from grader.model.notebooks import ChapterKey, load_key
from grader.model.submission import from_answers


def told(key: ChapterKey, answer: Answer) -> list[str]:
    return review_flags.notes(from_answers(key, {answer.exercise: answer.source}), key)


@pytest.mark.parametrize("name", ["04_tensor_cores", "06_transfers", "08_profiling_and_monitoring", "10_fused_kernels"])
def test_of_the_banks_answers_only_those_that_meddle(name: str) -> None:
    chapter = Course(ROOT).chapter(name)
    key = load_key(chapter)
    bank = load(chapter.answers, key)
    assert [str(answer) for answer in bank if answer.kind is AnswerKind.RIGHT and told(key, answer)] == []
    assert any(told(key, answer) for answer in bank if answer.kind is AnswerKind.HOSTILE)


def test_what_is_counted_elsewhere_needs_no_look() -> None:
    """Nothing that a cell does to its own process changes the counts of its kernels."""
    chapter = Course(ROOT).chapter("02_cuda_basics")
    key = load_key(chapter)
    assert [str(answer) for answer in load(chapter.answers, key) if told(key, answer)] == []


SCRIPTS = {
    "names what it is given": ("double = \"import os; os.environ['PROBLEM']\"", False),
    "names nothing": ('double = "import os"', True),
    "names it beside": ('double = "import os"\nother = "PROBLEM"', True),
    "is assigned twice": ('double = "PROBLEM"\ndouble = "import os"', True),
    "is put together": ('double = "".join(["PROB", "LEM"])', True),
    "is added to": ('double = "PROBLEM"\ndouble += other', True),
    "cannot be read": ("double = (", True),
}


@pytest.mark.parametrize(("answer", "noted"), SCRIPTS.values(), ids=SCRIPTS)
def test_a_script_that_trains_what_it_likes_is_named(answer: str, noted: bool) -> None:
    key = with_test('from gpulab import launch\nlaunch.script(double)\n"PROBLEM" in double', Need.SCRIPTS)
    found = review_flags.notes(from_answers(key, {"double": answer}), key)
    assert [one.startswith("The script double trains on a task of its own") for one in found] == [True] * noted
    assert review_flags.notes(from_answers(key, {}), key) == []


TELLING = [
    "import gpulab.measuring.speedup",
    "gpulab . trace",
    "from gpulab.chapters import x",
    "from gpulab import check, speedup",
    "import gpulab.backend",
    "from gpulab import backend",
    "from gpulab.ranks import seals",
    "error.__traceback__",
    "here.tb_frame",
    "items.gi_frame",
    "frame.f_back",
    "linecache.cache",
    "import grader",
    "importlib",
    "__import__('x')",
    "inspect",
    "subprocess",
    "multiprocessing",
    "threading",
    "atexit",
    "weakref",
    "exec ('')",
    "eval('')",
    "globals()['x']",
    "vars()",
    "os.system('x')",
    "os.fork()",
    "os.posix_spawn",
    "os.execv",
    "sys.modules",
    "sys._getframe",
    "sys.settrace",
    "sys.setprofile",
    "ctypes",
    "gc.get_objects",
    "x.__torch_function__",
    "x.__class__",
    "x.__globals__",
    "x.__code__",
    "torch.matmul = mine",
    "np.linalg.norm = mine",
    "time.perf_counter=mine",
    "setattr(x, 'y', 1)",
    "from gpulab import virtual_gpu",
    "gpulab.virtual_gpu",
    "time.perf_counter.__closure__",
    "torch.cuda.current_stream()._recorder",
    "work._hidden",
    "time.sleep.__defaults__",
    "torch.utils._python_dispatch",
    "import gc as g",
    "from gc import get_objects",
    "import json, sys",
    "from sys import _getframe",
    "from _thread import start_new_thread",
    "from concurrent.futures import ThreadPoolExecutor",
    "double = 'import os; import gc'",
    "from unittest import mock",
    "from os import fork",
    "from numpy import ctypeslib",
    "torch.sys",
    "Tensor.copy_ = mine",
    "object.__subclasses__()",
    "torch._C._x",
]
HARMLESS = [
    "import torch",
    "model.eval()",
    "x.exec()",
    "torch.matmul == mine",
    "time.perf_counter()",
    "torch.backends.cuda.matmul.fp32_precision = 'ieee'",
    "evaluate(x)",
    "from gpulab import empty",
    "import json, os",
    "from os import environ",
    "import torch.distributed as dist",
    "if __name__ == '__main__':",
    "import numpy as np  # and gc",
]


@pytest.mark.parametrize("unit", ["from gpulab ", "A  .  ", "torch . x ", "import x "])
def test_a_long_cell_holds_up_nobody(unit: str) -> None:
    """The search would take minutes, in which the grader does nothing else."""
    key = with_test("double(3)", Need.SPEEDUP)
    start = time.process_time()
    for length in (19_000, 450_000):
        answer = f"def double(x):\n    return 2 * x\n#{unit * (length // len(unit))}"
        found = review_flags.notes(from_answers(key, {"double": answer}), key)
        assert bool(found) == (length == 450_000)
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(("says", "noted"), [*((one, True) for one in TELLING), *((one, False) for one in HARMLESS)])
def test_words_that_tell(says: str, noted: bool) -> None:
    """In a cell that is listened to."""
    key = with_test(f"from gpulab import launch\nwith launch.listening():\n    pass\n{DOUBLE_TEST}", Need.LISTENING)
    assert bool(review_flags.notes(from_answers(key, {"double": f"def double(x):\n    {says}"}), key)) == noted


def test_rings_of_processes_that_nobody_hears_are_named() -> None:
    chapter = Course(ROOT).chapter("07_ddp_scaling")
    key = load_key(chapter)
    bank = load(chapter.answers, key)
    assert [str(answer) for answer in bank if answer.kind is AnswerKind.RIGHT and told(key, answer)] == [
        "run_ring, right: processes of one's own",
    ]


def test_it_stands_in_the_result_and_costs_nothing() -> None:
    heard = "from gpulab.ranks.launch import listening\nwith listening() as sent:\n    pass\n" + DOUBLE_TEST
    key = with_test(heard, Need.LISTENING)
    answer = "import sys\n\n\ndef double(x):\n    sys.modules.get('gpulab')\n    return 2 * x"
    submission = from_answers(key, {**RIGHT, "double": answer})
    result = grade(submission, key, student="s", seed=1, only=frozenset({"double_test"}))
    assert result.repairs == ()
    assert result.look_at == (
        "The cell double, which is counted or timed, contains 'sys.modules': review it yourself.",
    )
    assert result.cells[0].earned == 3.0
