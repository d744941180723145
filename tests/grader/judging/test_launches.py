"""A student's script is launched for the judge in a process of its own; whatever it does there stays there."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from minikey import with_test

from gpulab.doctor import hardware
from grader.judging import scripts
from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.results import CellResult, Verdict
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import Tier

TEST = """\
from gpulab.ranks import launch

run = launch.script(double, 2, environment={"CHECKPOINT": "weights.pt"}, apart=True, seconds=20)
assert not run.problem, f"{run.problem} {[one.last_line for one in run.ranks]}"
print([sorted(one.left) for one in run.ranks])
assert [one.left.get("said") for one in run.ranks] == ["hello 0 of 2", "hello 1 of 2"], "nothing said"
"""
SAYS = """\
import os
with open("said", "w") as file:
    file.write(f"hello {os.environ['RANK']} of {os.environ['WORLD_SIZE']}")
"""
GLOO = """\
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
there = torch.ones(3) + dist.get_rank()
dist.all_reduce(there)
assert there.tolist() == [3.0, 3.0, 3.0]
if dist.get_rank() == 0:
    torch.save({"weight": there, "name": "a net"}, os.environ["CHECKPOINT"])
dist.destroy_process_group()
"""
LIMITS = Limits(launch_seconds=4)
BRIEF = {"ignores signals": Limits(launch_seconds=1), "stops who started it": Limits(test_seconds=3)}


@functools.cache
def parent(tier: Tier) -> client.SubmissionServer:
    return client.SubmissionServer((*fork_server.LIGHT_MODULES, "torch", "torch.distributed"), tier)


@pytest.fixture(scope="module", autouse=True)
def _end_parents() -> Iterator[None]:
    yield
    for tier in Tier:
        parent(tier).close()
    parent.cache_clear()


def cell(
    script: str,
    test: str = TEST,
    tier: Tier = Tier.NAMESPACES,
    solution: str = "",
    limits: Limits = LIMITS,
    needs: tuple[Need, ...] = (Need.SCRIPTS,),
) -> CellResult:
    key = with_test(test, *needs)
    submission = from_answers(key, {"double": solution or f"double = {script!r}"})
    only = frozenset({"double_test"})
    (result,) = grade(submission, key, student="s", seed=1, limits=limits, only=only, parent=parent(tier)).cells
    return result


@pytest.mark.parametrize("tier", list(Tier), ids=str)
def test_ranks_find_each_other_in_every_tier(tier: Tier) -> None:
    """gloo over loopback alone; a saved state dict comes back as a plain value."""
    test = f"{TEST.partition('print(')[0]}weights = run.ranks[0].left['weights.pt']\n"
    test += "assert (weights['weight'].tolist(), weights['name']) == ([3.0, 3.0, 3.0], 'a net'), weights\n"
    test += "assert run.ranks[1].left == {}, 'rank 1 saved too'\n"
    result = cell(GLOO, test, tier)
    assert (result.verdict.value, result.message) == ("passed", "")


def test_what_each_rank_left_is_its_own() -> None:
    result = cell(SAYS)
    assert (result.verdict.value, result.message) == ("passed", "")
    assert result.outputs[0]["text"] == "[['said'], ['said']]\n"


OWN = """\
from gpulab.ranks import launch

source = "import os; open('said', 'w').write(os.environ['A'] + os.environ['B'])"
own = [{}, {"B": "mine", "RANK": "9"}]
run = launch.script(source, 3, environment={"A": "all ", "B": "theirs"}, own=own, apart=True, seconds=20).check()
assert [one.left["said"] for one in run.ranks] == ["all theirs", "all mine", "all theirs"]
idle = launch.script("pass", 2, apart=True, seconds=20).crossed_bytes
assert idle is not None
talk = launch.script(double, 2, environment={"CHECKPOINT": "weights.pt"}, apart=True, seconds=20).check().crossed_bytes
assert idle < 200 < 4 * 3 * 2 + 200 < talk, f"{idle} and {talk} bytes"
"""


def test_ranks_may_find_things_of_their_own_and_what_they_send_is_counted_by_the_kernel() -> None:
    """In a network of their own: nothing else is counted there."""
    result = cell(GLOO, OWN)
    assert (result.verdict.value, result.message) == ("passed", "")


def test_a_script_sees_nothing_of_the_judges() -> None:
    """Its file system is the student's, and the test's source is nowhere in it, nor in the process that starts it."""
    script = SAYS + (
        "import pathlib\n"
        f"course = pathlib.Path({str(client.PACKAGES)!r})\n"
        "assert not any((course / name).exists() for name in ('solutions', 'tests'))\n"
        "try:\n"
        "    memory = open(f'/proc/{os.getppid()}/mem', 'rb', 0)\n"
        "    for line in open(f'/proc/{os.getppid()}/maps'):\n"
        "        start, end = (int(number, 16) for number in line.split()[0].split('-'))\n"
        "        memory.seek(start)\n"
        "        try: held = memory.read(end - start) if 'rw-p' in line else b''\n"
        "        except OSError: held = b''\n"
        "        assert ('noth' + 'ing said').encode() not in held\n"
        "except PermissionError: pass\n"
    )
    result = cell(script)
    assert (result.verdict.value, result.message) == ("passed", "")


HOSTILE = {
    "kills its sibling": (
        SAYS + "import signal, time\nif os.environ['RANK'] == '0':\n    time.sleep(0.3)\n"
        "    for name in os.listdir('/proc'):\n"
        "        if name.isdigit() and int(name) not in (1, os.getpid(), os.getppid()):\n"
        "            try: os.kill(int(name), 9)\n"
        "            except OSError: pass\n"
        "time.sleep(20)",
        ("failed", "Rank 1 was ended by SIGKILL"),
    ),
    "kills everything": (SAYS + "os.kill(-1, 9)", ("crashed", "the process ended during the call")),
    "stops who started it": (
        SAYS + "import time\nos.kill(os.getppid(), 19)\ntime.sleep(30)",
        ("timed out", "no answer within"),
    ),
    "prints for ever": (SAYS + "while True: print('x' * 100_000)", ("failed", "printed more than 20 MB")),
    "ignores signals": (
        SAYS + "import signal, time\nfor number in (15, 6, 2): signal.signal(number, signal.SIG_IGN)\ntime.sleep(30)",
        ("failed", "After 1 s ranks 0, 1 still ran"),
    ),
    "leaves an orphan": (
        SAYS + "import time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(3600)\n"
        "    os._exit(0)\nos.wait()",
        ("passed", ""),
    ),
    "leaves a pipe, a link and much data": (
        SAYS + "os.mkfifo('weights.pt')\nos.symlink('/etc/passwd', 'link')\nopen('big', 'wb').truncate(90_000_000)",
        ("passed", ""),
    ),
    "writes outside": (SAYS + "open('/usr/mine', 'w')", ("failed", "exit code 1")),
    "saves code": (
        SAYS + "import torch\nclass Evil:\n    def __reduce__(self): return os.system, ('touch /tmp/evil',)\n"
        "torch.save({'a': Evil()}, 'weights.pt')",
        ("passed", ""),
    ),
    "is no Python": ("def broken(:\n    pass", ("failed", "The script is not valid Python: line 1")),
    "nests too deep to be compiled": ("(" * 5000 + ")" * 5000, ("failed", "The script is not valid Python")),
    "is no text": (None, ("failed", "")),
    "lies to the judge": (
        SAYS + "import re, struct, json, socket\nfor fd in range(3, 200):\n"
        "    try: os.write(fd, b'\\x00\\x00\\x00\\x02{}' * 10)\n    except OSError: pass",
        ("passed", ""),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_script_does_costs_itself_only(name: str) -> None:
    script, (verdict, message) = HOSTILE[name]
    started = time.monotonic()
    result = cell(script or "", solution="double = 7" if script is None else "", limits=BRIEF.get(name, LIMITS))
    assert time.monotonic() - started < 20
    assert (result.verdict.value, message in result.message) == (verdict, True), result.message
    assert not Path("/tmp/evil").exists()
    deadline = time.monotonic() + 5
    while left_over() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_over() == []


def left_over() -> list[str]:
    """Folders of students that were not cleaned up: each process of theirs has one, for as long as it lives."""
    return [str(path) for path in Path(tempfile.gettempdir()).glob(f"{client.FOLDERS}{os.getpid()}-*")]


RING = """\
from gpulab.ranks import launch

def double(x):
    def rank(rank, world_size, number):
        import torch, torch.distributed as dist
        mine, theirs = torch.tensor([number]), torch.zeros(1)
        {order}
        return float(mine + theirs)
    return launch.ranks(rank, [(x,), (x,)])
"""
RIGHT_ORDER = "waiting = dist.isend(mine, 1 - rank); dist.recv(theirs, 1 - rank); waiting.wait()"
COUNTS = """\
from gpulab.ranks import launch
with launch.listening() as sent:
    answer = double(2.0)
assert answer == [4.0, 4.0], answer
assert [one["messages"] for one in sent] == [1, 1], sent
assert [one["bytes"] for one in sent] == [4, 4], sent
assert sent[0]["to"] == [1]
"""


def test_a_function_may_start_ranks_and_what_they_send_is_counted() -> None:
    result = cell("", COUNTS, solution=RING.format(order=RIGHT_ORDER), needs=(Need.LISTENING,))
    assert (result.verdict.value, result.message) == ("passed", "")


@pytest.mark.parametrize("seconds", ["float('nan')", "-1.0", "1e9"])
def test_ranks_that_wait_for_ever_end_in_time_whatever_limit_is_asked_for(seconds: str) -> None:
    waits = RING.format(order="dist.recv(theirs, 1 - rank)").replace("[(x,), (x,)]", f"[(x,), (x,)], seconds={seconds}")
    started = time.monotonic()
    result = cell("", COUNTS, solution=waits, needs=(Need.LISTENING,))
    assert result.verdict.value != "passed"
    assert time.monotonic() - started < scripts.FUNCTION_SECONDS + 20


FORGED = """\
from gpulab.ranks import launch, messages

def double(x):
    for record, *_ in launch._heard:
        record.extend({**messages.nothing(), "messages": 1, "bytes": 4, "to": [1 - rank]} for rank in range(2))
    return [2 * x, 2 * x]
"""


def test_what_a_cell_writes_into_the_record_does_not_count() -> None:
    result = cell("", COUNTS, solution=FORGED, needs=(Need.LISTENING,))
    assert (result.verdict.value, result.message) == ("failed", "[]")


def test_ranks_that_nobody_hears_are_listed_for_review() -> None:
    """Whatever the text of the answer: it is seen that its process started others, or it says so."""
    own = FORGED.replace('"messages": 1, "bytes": 4, "to": [1 - rank]', '"unseen_seconds": 1.0')
    test = COUNTS[: COUNTS.index("assert [one")]
    key = with_test(test, Need.LISTENING)
    result = grade(from_answers(key, {"double": own}), key, student="s", seed=1, only=frozenset({"double_test"}))
    assert result.cells[0].verdict.value == "passed"
    assert "started processes that nobody could listen to" in result.look_at[-1]


def test_a_launch_that_the_cell_does_not_declare_is_refused() -> None:
    """Nothing of the student's is ever run in the judge, by whichever name the test calls the function."""
    test = "from gpulab.ranks.launch import script as run\nended = run(double, 1).check()"
    undeclared, declared = cell(SAYS, test, needs=()), cell(SAYS, test)
    assert undeclared.verdict.value == "harness error"
    assert 'Add ":needs: scripts" below the points of the test cell' in undeclared.message
    assert declared.verdict.value == "passed"


RANK = {"exit_code": 0, "output": "", "waits_in": "", "left": {}}
NONSENSE = [
    None,
    {},
    {"ranks": [RANK], "seconds": 1.0, "problem": "", "crossed_bytes": None},
    {"ranks": [RANK, {**RANK, "exit_code": "0"}], "seconds": 1.0, "problem": "", "crossed_bytes": None},
    {"ranks": [RANK, {**RANK, "left": [1]}], "seconds": 1.0, "problem": "", "crossed_bytes": None},
    {"ranks": [RANK, {**RANK, "left": {1: "x"}}], "seconds": 1.0, "problem": "", "crossed_bytes": None},
    {"ranks": [RANK, {**RANK, "exit_code": 1}], "seconds": 1.0, "problem": "", "crossed_bytes": None},
    {"ranks": [RANK, RANK], "seconds": "soon", "problem": "", "crossed_bytes": None},
    {"ranks": [RANK, RANK], "seconds": 1.0, "problem": "", "crossed_bytes": "9"},
]


@pytest.mark.parametrize("plain", NONSENSE)
def test_a_run_that_cannot_be_is_not_believed(plain: object) -> None:
    """The answer may come from the student's script."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        scripts._run(plain, 2)


def test_a_run_that_can_be_is_one() -> None:
    run = scripts._run({"ranks": [RANK, RANK], "seconds": 1, "problem": "", "crossed_bytes": 9}, 2)
    assert ([one.rank for one in run.ranks], run.seconds, run.problem, run.crossed_bytes) == ([0, 1], 1.0, "", 9)
    assert (
        scripts._run({"ranks": [], "seconds": 1, "problem": "no Python", "crossed_bytes": None}, 2).problem
        == "no Python"
    )


@pytest.mark.parametrize(("device", "verdict"), [("cpu", Verdict.NEEDS_GPU), ("NVIDIA Test", Verdict.PASSED)])
def test_ranks_of_a_gpu_row_have_time_to_load_cuda(
    device: str, verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their launch may take longer than that of other rows, as long as the test allows it."""
    monkeypatch.setattr(hardware, "device_name", lambda: device)
    test = "from gpulab import launch\nrun = launch.script(double, 2, apart=True, seconds=20).check()"
    key = with_test(test, Need.SCRIPTS)
    row = replace(key.cell("double_test"), grade_id="double_gpu")
    others = (cell for cell in key.cells if cell.grade_id not in ("double_test", "double_gpu"))
    key = replace(key, cells=(*others, row))
    submission = from_answers(key, {"double": "double = 'import time; time.sleep(2.5)'"})
    limits, only = Limits(launch_seconds=1, test_seconds=2), frozenset({"double_gpu"})
    server = parent(Tier.NAMESPACES)
    (result,) = grade(submission, key, student="s", seed=1, limits=limits, only=only, parent=server, readings={}).cells
    assert result.verdict is verdict, result.message
