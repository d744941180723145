"""The judge as a whole: one submission, real processes, the verdict of every cell."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from minikey import RIGHT, make_key

from gpulab.check import layout
from grader.judging import student_cells
from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.results import SubmissionResult, Verdict
from grader.model.submission import from_answers

QUICK = Limits(cell_seconds=3, call_seconds=2, test_seconds=10)


def run(limits: Limits = QUICK, seed: int = 7, **answers: str) -> SubmissionResult:
    key = make_key()
    return grade(from_answers(key, answers), key, student="someone", seed=seed, limits=limits)


def verdicts(result: SubmissionResult) -> dict[str, str]:
    return {cell.grade_id: cell.verdict.value for cell in result.cells}


def message(result: SubmissionResult, grade_id: str) -> str:
    return next(cell.message for cell in result.cells if cell.grade_id == grade_id)


def test_right_answers_earn_everything_but_the_pending() -> None:
    """A GPU row is neither earned nor lost where there is no GPU."""
    result = run(**RIGHT)
    assert verdicts(result) == {"double_test": "passed", "double_gpu": "needs a GPU", "SHARES_test": "passed"}
    assert (result.earned, result.pending, result.possible) == (5.0, 1.0, 6.0)


NOTEBOOK = """\
import builtins, os, sys, __main__
def double(x):
    shell = get_ipython()
    assert vars(__main__) is shell.user_ns and sys.modules["__main__"] is __main__
    assert shell.starting_dir == os.getcwd() == get_ipython().user_ns["_dh"][-1], shell.starting_dir
    assert shell.profile_dir.location.startswith(os.environ["IPYTHONDIR"])
    assert vars(builtins)["display"] is display and not hasattr(sys, "last_value")
    assert "math" not in shell.user_ns
    return 2 * x
"""
ELSEWHERE = """\
import builtins, sys
from IPython import get_ipython
assert get_ipython() is None
assert not {"display", "__IPYTHON__", "get_ipython"} & set(vars(builtins))
assert sys.modules["__main__"].__spec__ is not None
assert double(3) == 6
"""


def test_the_shell_that_was_there_before_the_fork_is_the_notebooks_own() -> None:
    """And nobody else's: the judge has none."""
    key = make_key()
    cells = tuple(replace(cell, source=ELSEWHERE) if cell.id == "double_test" else cell for cell in key.cells)
    cells = tuple(cell for cell in cells if cell.id != "imports")
    answers = from_answers(replace(key, cells=cells), {"double": NOTEBOOK})
    result = grade(answers, replace(key, cells=cells), student="someone", seed=7, limits=QUICK)
    assert verdicts(result)["double_test"] == "passed", message(result, "double_test")


def test_a_blank_notebook_is_not_attempted() -> None:
    result = run()
    assert set(verdicts(result).values()) == {"not attempted"}
    assert result.earned == 0


def test_what_a_library_does_not_implement_is_no_blank_answer() -> None:
    """PyTorch raises the same exception, with a text, for a module without forward."""
    result = run(double="import torch\n\n\ndef double(x):\n    return torch.nn.Module()(x)")
    assert verdicts(result)["double_test"] == "failed"
    assert 'missing the required "forward"' in message(result, "double_test")


def test_a_wrong_answer_fails_with_the_message_of_the_assertion() -> None:
    result = run(double="def double(x):\n    return 3 * x")
    assert message(result, "double_test") == "double(3): you returned 9, expected 6"


def test_partial_credit_is_exact() -> None:
    result = run(SHARES='SHARES = {"a": 1, "c": 3, "b": 7}')
    cell = next(cell for cell in result.cells if cell.grade_id == "SHARES_test")
    assert (cell.verdict, cell.earned, cell.message) == (Verdict.PARTIAL, 1.0, "2 of 4")
    assert cell.outputs[-1]["data"] == {"text/plain": "1.0"}


def test_an_exception_of_the_students_is_told_with_its_line() -> None:
    result = run(double="def double(x):\n    y = 1\n    return y / 0")
    assert (
        message(result, "double_test") == "Your code raised ZeroDivisionError: division by zero (line 3: return y / 0)"
    )


def test_the_line_that_is_told_is_the_students_own() -> None:
    """A library's frames are deeper, and their line numbers mean nothing to a student."""
    source = "import json\n\ndef double(x):\n    return json.loads(str(x) + '{')"
    told = message(run(double=source), "double_test")
    assert told.endswith("(line 4: return json.loads(str(x) + '{'))"), told


def test_a_line_that_the_exception_names_is_told_once() -> None:
    """As the tracer's errors do: they hold the line's number and its text."""
    kernel = "from numba import cuda\nfrom gpulab import device_array, trace\nimport numpy as np\n"
    kernel += "@cuda.jit\ndef bump(x):\n    x[cuda.grid(1)] += 1\n"
    kernel += "def double(x):\n    trace.run(bump, 1, 64, device_array(np.ones(50, 'float32')))"
    told = message(run(double=kernel), "double_test")
    assert told.startswith("Your code raised OutOfBoundsError: x[50] is out of bounds")
    assert told.count("line 6: x[cuda.grid(1)] += 1") == 1


def test_the_name_of_an_exception_is_told_once() -> None:
    source = "class Race(Exception): pass\ndef double(x):\n    raise Race('Race: two writers')"
    told = message(run(double=source), "double_test")
    assert told == "Your code raised Race: two writers (line 3: raise Race('Race: two writers'))"


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("def double(x):\n    while True: pass", "timed out", "within 2 s"),
        ("while True: pass", "timed out", "did not end within 3 s"),
        ("import os\ndef double(x): os._exit(0)", "crashed", "ended during the call"),
        ("import os; os._exit(0)", "crashed", "ended the notebook's process"),
        ("def double(x): raise SystemExit", "failed", "SystemExit"),
        ("def double(x): return double(x)", "failed", "RecursionError"),
        ("import ctypes\ndef double(x): ctypes.string_at(0)", "crashed", "ended during the call"),
        ("import ctypes\ndef double(x): ctypes.string_at(0)", "crashed", "It ended by SIGSEGV."),
        ("import os\ndef double(x): os._exit(3)", "crashed", "It ended with exit code 3."),
        ("import os; os.abort()", "crashed", "ended the notebook's process. It ended by SIGABRT."),
        ("while True: print('x' * 10_000)", "crashed", "printed more than"),
        ("def double(x): return lambda: 6", "failed", "must return a number"),
        ("def double(x): return iter([6])", "failed", "list(...)"),
        ("double = 6", "failed", "cannot use"),
        ("def double(x) return 6", "failed", "SyntaxError"),
        ("def double(x):\n    raise NotImplementedError", "failed", "NotImplementedError"),
        ("def twice(x): return 2 * x", "failed", "not defined"),
    ],
)
def test_a_fault_costs_its_own_cell_only(source: str, verdict: str, words: str) -> None:
    """After a hang or a crash the rest of the notebook is run again and graded."""
    result = run(double=source, SHARES=RIGHT["SHARES"])
    assert verdicts(result)["double_test"] == verdict
    assert words in message(result, "double_test")
    assert verdicts(result)["SHARES_test"] == "passed"


def test_restarts_are_counted_and_end() -> None:
    """A notebook that dies over and over stops being restarted; what it had earned stays."""
    key = make_key()
    poison = {"SHARES": RIGHT["SHARES"], "double": "import os\ndef double(x): os._exit(1)"}
    result = grade(
        from_answers(key, poison), key, student="s", seed=1, limits=Limits(call_seconds=2, cell_seconds=3, restarts=0)
    )
    assert verdicts(result)["SHARES_test"] == "crashed"
    assert "restarted 0 times" in message(result, "SHARES_test")


def test_printing_in_a_call_is_dropped_and_in_a_cell_kept() -> None:
    source = (
        "import os\nprint('from the cell')\nos.system('echo from a child')\n"
        "def double(x):\n    print('no')\n    return 2 * x"
    )
    result = run(double=source)
    assert verdicts(result)["double_test"] == "passed"
    (stream,) = result.outputs["double"]
    assert stream["text"] == "from the cell\nfrom a child\n"


def test_endless_output_is_cut_and_counted() -> None:
    result = run(limits=Limits(output_bytes=1000), double="for i in range(1000): print('x' * 100)")
    assert len(result.outputs["double"][0]["text"]) < 40_000
    assert "more characters of output were cut" in result.outputs["double"][0]["text"]


def test_pictures_and_results_are_kept() -> None:
    """What a notebook would show is in the result, as nbformat has it, with the words for those who do not see it."""
    drawn = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n"
    described = (
        "from gpulab.figures.styling import canvas, show, style\n"
        "with style():\n    show(canvas('Flat')[0], 'A line.')\n"
    )
    result = run(double=f"{drawn}{described}6 * 7")
    kinds = [output["output_type"] for output in result.outputs["double"]]
    assert kinds == ["display_data", "display_data", "execute_result"]
    plotted, figure, value = result.outputs["double"]
    assert plotted["data"]["image/png"].startswith("iVBOR")
    assert figure["metadata"] == {"image/png": {"alt": "A line.", "width": 864}}
    assert value["data"]["text/plain"] == "42"


def test_a_program_in_a_file_of_another_name_is_told() -> None:
    told = message(run(double="%%writefile train.py\nprint()"), "double_test")
    assert told == "`double` is not defined: its cell writes train.py, expected double.py."


def test_shell_lines_are_left_out() -> None:
    result = run(double="!echo hello\n%pip install something\ndef double(x): return 2 * x")
    assert verdicts(result)["double_test"] == "passed"
    (printed,) = result.outputs["double"]
    assert printed["text"].splitlines()[0] == "Not run for a grade: echo hello"


def test_an_argument_that_is_changed_is_told() -> None:
    key = make_key()
    cells = tuple(
        cell if cell.grade_id != "double_test" else type(cell)(**{**vars(cell), "source": "assert double([1]) == [2]"})
        for cell in key.cells
    )
    key = type(key)(key.name, cells, key.released)
    result = grade(
        from_answers(key, {"double": "def double(x):\n    x[0] *= 2\n    return x"}),
        key,
        student="s",
        seed=1,
        limits=QUICK,
    )
    assert "changed an argument" in message(result, "double_test")


CACHED = "import numpy as np\nROOM = np.zeros(1)\ndef double(x):\n    ROOM[:] = 2 * x[0]\n    return ROOM"
CACHED_IN_TORCH = (
    "import torch\nROOM = {'it': torch.zeros(3)}\n"
    "def double(x):\n    ROOM['it'][0] = 2 * x[0]\n    return [ROOM['it'][:1]]"
)
EACH_ITS_OWN = "import functools, numpy as np\n@functools.cache\ndef made(x):\n    return np.full(1, 2.0 * x)\n"
EACH_ITS_OWN += "def double(x):\n    return made(x[0])"
ONE_DICT = "FOUND = {}\ndef double(x):\n    FOUND['it'] = 2 * x[0]\n    return FOUND"
ONE_LIST = "def double(x, found=[]):\n    found[:] = [2 * x[0]]\n    return found"
ONE_SET = "FOUND = set()\ndef double(x):\n    FOUND.clear()\n    FOUND.add(2 * x[0])\n    return FOUND"
GROWING = "def double(x, found=[]):\n    found.append(2 * x[0])\n    return found"
CACHED_DICTS = "import functools\n@functools.cache\ndef made(x):\n    return {'it': 2 * x}\n"
CACHED_DICTS += "def double(x):\n    return made(x[0])"
ONE_EMPTY_LIST = "NONE = []\ndef double(x):\n    return [2 * x[0]] if x[0] > 7 else NONE"
A_CONSTANT = "import numpy as np\nNONE = np.zeros(2)\ndef double(x):\n    return NONE if x[0] > 5 else [2 * x[0]]"


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        (CACHED, True), (CACHED_IN_TORCH, True), (EACH_ITS_OWN, False), (A_CONSTANT, False),
        (ONE_DICT, True), (ONE_LIST, True), (ONE_SET, True), (GROWING, False),
        (CACHED_DICTS, False), (ONE_EMPTY_LIST, False),
    ],
)  # fmt: skip
def test_a_result_that_overwrites_an_earlier_one_is_refused(source: str, refused: bool) -> None:
    """Whether an object is kept for all calls; not one that is kept for equal arguments, or whose elements stay."""
    key = make_key()
    test = "double([1])\ndouble([1])\ndouble([7])\ndouble([8])\nassert double([1]) is not None"
    cells = tuple(
        cell if cell.grade_id != "double_test" else type(cell)(**{**vars(cell), "source": test}) for cell in key.cells
    )
    key = type(key)(key.name, cells, key.released)
    result = grade(from_answers(key, {"double": source}), key, student="s", seed=1, limits=QUICK)
    told = message(result, "double_test")
    assert ("overwrote what an earlier call had returned" in told) == refused, told


def test_an_answer_may_use_what_a_demonstration_imports_and_defines() -> None:
    """In the notebook it has run. Its results are another matter, and the student is told so."""
    assert verdicts(run(double="def double(x): return statistics.mean([twice(x)])"))["double_test"] == "passed"
    told = message(run(double="def double(x): return seen * x"), "double_test")
    assert "NameError" in told and "seen is set by a demonstration" in told
    told = message(run(double="half = seen\ndef double(x): return half * x"), "double_test")
    assert told.startswith("`double` is not defined") and "seen is set by a demonstration" in told


def test_the_same_seed_draws_the_same_inputs() -> None:
    """A result can be replayed: the message names the same hidden number for the same seed, another one for another."""
    wrong = "def double(x):\n    return 6"
    first, again, other = (message(run(double=wrong, seed=seed), "double_test") for seed in (1, 1, 2))
    assert first == again != other


def test_the_students_process_knows_no_secret() -> None:
    """Neither the seed nor hidden tests nor our environment are to be found in the student's process."""
    os.environ["GPULAB_TEST_SECRET"] = "hush"
    try:
        source = (
            "import os, sys, gpulab\n"
            "print('HIDDEN' in str(globals()), os.environ.get('GPULAB_TEST_SECRET'), os.listdir('.'), gpulab.seed())"
        )
        result = run(double=source, seed=123456)
    finally:
        del os.environ["GPULAB_TEST_SECRET"]
    text = result.outputs["double"][0]["text"]
    assert text.startswith("False None []")
    assert "123456" not in text


def running(words: str) -> list[str]:
    """Process ids of this machine whose command line holds these words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if words.encode() in (folder / "cmdline").read_bytes().replace(b"\0", b" "):
                found.append(folder.name)
    return found


def test_nothing_outlives_its_submission() -> None:
    """Children that the student's code started die with it, also those that hid in a session of their own."""
    source = (
        "import subprocess, time\n"
        "subprocess.Popen(['sleep', '4321.25'], start_new_session=True)\n"
        "subprocess.Popen('sleep 4321.25 & sleep 4321.25 &', shell=True)\n"
        "time.sleep(0.3)"
    )
    run(double=source)
    deadline = time.monotonic() + 3
    while running("sleep 4321.25") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert running("sleep 4321.25") == []


def test_what_a_fork_of_the_students_prints_does_not_break_the_connection() -> None:
    source = (
        "import os\npid = os.fork()\nif pid == 0:\n    print('child', flush=True)\n    os._exit(0)\n"
        "os.waitpid(pid, 0)\ndef double(x):\n    return 2 * x"
    )
    assert verdicts(run(double=source))["double_test"] == "passed"


def test_what_stands_below_the_last_wanted_test_is_not_run() -> None:
    key = make_key()
    submission = from_answers(key, {**RIGHT, "SHARES": "print('below')"})
    only = frozenset({"double_test"})
    result = grade(submission, key, student="s", seed=7, limits=QUICK, only=only)
    assert [(cell.grade_id, cell.earned) for cell in result.cells] == [("double_test", 3.0)]
    assert "double" in result.outputs and "SHARES" not in result.outputs
    every = grade(submission, key, student="s", seed=7, limits=QUICK, only=frozenset())
    assert every.cells == () and "SHARES" in every.outputs


def test_tests_that_each_take_nearly_too_long_end_together() -> None:
    slow = "import time\n\n\ndef double(x):\n    time.sleep(0.2)\n    return 2 * x"
    result = run(replace(QUICK, all_tests_seconds=0.1), double=slow, SHARES=RIGHT["SHARES"])
    assert verdicts(result) == {"double_test": "passed", "double_gpu": "needs a GPU", "SHARES_test": "timed out"}
    assert message(result, "SHARES_test") == "Not run: the tests before it took more than 0.1 s together."
    assert run(replace(QUICK, all_tests_seconds=60), SHARES=RIGHT["SHARES"]).cells[-1].earned == 2.0


def test_usage_is_measured() -> None:
    usage = run(**RIGHT).usage
    assert usage.wall_seconds > 0
    assert usage.cpu_seconds > 0
    assert usage.peak_memory_mb > 1


def test_what_the_judge_says_is_laid_out_where_it_is_shown() -> None:
    """What came back, what was expected and the hint have lines of their own; what nbgrader keeps is not touched."""
    said = f"copying {'64 MB and ' * 12}more: you returned 1, expected 2.5. A copy reads and writes.\n  'a': 'x'."
    output = student_cells.error_output("failed", said)
    shown = output["traceback"][0].splitlines()
    assert max(map(len, shown)) <= layout.WIDTH
    assert shown[0] == "failed:" and shown[1].startswith("copying 64 MB")
    assert shown[-4:] == ["  you returned: 1", "  expected:     2.5", "  A copy reads and writes.", "    'a': 'x'."]
    assert output["evalue"] == said


def test_a_copy_that_a_cell_forks_costs_nothing_and_is_told() -> None:
    """A bare `os.fork()` leaves two processes that would both go on with the notebook; the copy ends with its cell."""
    result = run(double="import os\npid = os.fork()\n" + RIGHT["double"], SHARES=RIGHT["SHARES"])
    assert verdicts(result)["double_test"] == "passed", message(result, "double_test")
    assert verdicts(result)["SHARES_test"] == "passed"
    (output,) = result.outputs["double"]
    assert "forked with os.fork() reached the end of the cell" in str(output["text"])


@pytest.mark.parametrize("ending", ["", "    raise ValueError\n", "    return lambda: 6\n"])
def test_a_copy_that_a_call_forks_answers_nothing(ending: str) -> None:
    """Whatever it would have returned or raised: the original's answer counts."""
    source = f"import os\ndef double(x):\n  if os.fork() == 0:\n    pass\n{ending}  return 2 * x"
    result = run(double=source)
    assert verdicts(result)["double_test"] == "passed", message(result, "double_test")
