"""Ranks: what each of them gets, what comes back, and that none stays, whatever happens."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from gpulab.backend import Backend, use
from gpulab.ranks import launch, processes
from gpulab.ranks.launch import LaunchError, Rank

MARK = "gpulab_test_launch_mark"


def left_over() -> list[str]:
    """Processes of these tests that still run: they carry a mark in their environment.

    One that was killed just now may take a moment to go.
    """
    for _ in range(50):
        if not (found := marked()):
            break
        time.sleep(0.02)
    return found


def marked() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if MARK.encode() in path.read_bytes():
                found.append((path.parent / "cmdline").read_bytes().decode().replace("\0", " "))
        except OSError:
            continue
    return found


def run(source: str, world_size: int = 2, **options: object) -> launch.Run:
    return launch.script(source, world_size, environment={MARK: "1"}, **{"seconds": 20.0} | options)  # type: ignore[arg-type]


def test_every_rank_knows_who_it_is(tmp_path: Path) -> None:
    """As with torchrun; the folder is the one asked for."""
    source = """
import os, pathlib, sys
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
pathlib.Path(os.environ["RANK"]).write_text(" ".join(os.environ[name] for name in names))
print("hello from", os.environ["RANK"], sys.argv[1:], int(os.environ["MASTER_PORT"]) > 0)
"""
    ended = run(source, 3, folder=tmp_path, arguments=["--quick"])
    assert ended.check() is ended
    assert [(tmp_path / str(rank)).read_text() for rank in range(3)] == [
        f"{rank} {rank} 3 3 127.0.0.1" for rank in range(3)
    ]
    assert [one.last_line for one in ended.ranks] == [f"hello from {rank} ['--quick'] True" for rank in range(3)]
    assert [one.exit_code for one in ended.ranks] == [0, 0, 0]


def test_a_rank_that_dies_takes_the_others_along() -> None:
    source = """
import os, time
if os.environ["RANK"] == "1":
    raise ValueError("my data is gone")
time.sleep(60)
"""
    started = time.monotonic()
    ended = run(source)
    assert time.monotonic() - started < 15
    assert ended.problem.startswith("Rank 1 ended with exit code 1. Waiting: rank 0 in line 5: time.sleep(60)")
    with pytest.raises(LaunchError, match="rank 1: ValueError: my data is gone"):
        ended.check()
    assert left_over() == []


def test_a_rank_that_is_killed_is_told_by_its_signal() -> None:
    ended = run("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", 1)
    assert ended.problem == "Rank 0 was ended by SIGSEGV."


def test_ranks_that_wait_for_each_other_are_stopped_with_the_line() -> None:
    """A deadlock: both block in a receive, nobody sends."""
    source = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
there = torch.zeros(1)
other = 1 - dist.get_rank()
print("ready", flush=True)
dist.recv(there, src=other)
dist.send(there, dst=other)
"""
    ended = run(source, seconds=6.0)
    assert ended.problem.startswith("After 6 s ranks 0, 1 still ran. Waiting: rank 0 in line 7: dist.recv(there")
    assert [one.exit_code for one in ended.ranks] == [None, None]
    assert all("ready" in one.output for one in ended.ranks)
    assert left_over() == []


STARTS = "import subprocess\nsubprocess.Popen(['sleep', '300'])"
DETACHES = "import subprocess\nsubprocess.Popen(['sleep', '300'], start_new_session=True)"
FORKS = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("pid", "w").write(str(os.getpid()))
        time.sleep(300)
    os._exit(0)
os.wait()
while not os.path.exists("pid"):
    time.sleep(0.01)
time.sleep(0.1)
"""


@pytest.mark.parametrize("source", [STARTS, DETACHES], ids=["starts", "detaches"])
@pytest.mark.parametrize("fresh", [False, True], ids=["from the fork server", "fresh"])
def test_what_a_rank_starts_ends_with_it(source: str, fresh: bool) -> None:
    """Also what has left the rank's session."""
    with use(Backend(start_rank=processes.interpreter if fresh else None)):
        assert run(source, 1).problem == ""
    assert left_over() == []


def test_an_orphan_that_a_rank_forks_ends_too(tmp_path: Path) -> None:
    """One that execs nothing has no mark in its environment; but the fork server inherits it."""
    assert run(FORKS, 1, folder=tmp_path).problem == ""
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()


def test_a_rank_that_never_joins_is_named() -> None:
    source = """
import os, time, torch.distributed as dist
if os.environ["RANK"] == "1":
    time.sleep(300)
dist.init_process_group("gloo")
"""
    ended = run(source, seconds=6.0)
    assert "rank 0 in line 5: dist.init_process_group" in ended.problem
    assert "rank 1 in line 4: time.sleep(300)" in ended.problem


def test_endless_output_is_stopped() -> None:
    started = time.monotonic()
    ended = run("while True: print('x' * 100_000)", 1)
    assert ended.problem.startswith("Rank 0 printed more than 20 MB and was stopped.")
    assert time.monotonic() - started < 15


def test_a_rank_that_ignores_signals_is_stopped_all_the_same() -> None:
    source = "import signal, time\nfor n in (2, 6, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)"
    ended = run(source, 1, seconds=1.0)
    assert ended.problem.startswith("After 1 s rank 0 still ran.")
    assert left_over() == []


def test_ranks_apart_bring_back_what_they_left() -> None:
    source = """
import json, os, torch
json.dump([1, 2], open(f"samples-{os.environ['RANK']}", "w"))
if os.environ["RANK"] == "1":
    torch.save({"weight": torch.ones(2)}, "weights.pt")
"""
    first, second = run(source, 2, apart=True).check().ranks
    assert first.left == {"samples-0": "[1, 2]"}
    assert sorted(second.left) == ["samples-1", "weights.pt"]
    assert second.left["weights.pt"]["weight"].tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="folders of their own"):
        run(source, 2, apart=True, folder=Path("/tmp"))


def test_a_judge_may_run_scripts_elsewhere() -> None:
    jobs = []

    def elsewhere(job: launch.Job) -> launch.Run:
        jobs.append(job)
        return launch.Run((), 0.5)

    with use(Backend(script=elsewhere)):
        assert launch.script("print(1)", 3, arguments=["-v"], seconds=9).seconds == 0.5
    assert jobs == [launch.Job("print(1)", 3, ("-v",), {}, (), False, 9)]
    assert run("print(1)", 1).ranks[0].last_line == "1"


def test_a_process_may_have_less_time_to_give() -> None:
    with use(Backend(launch_seconds=1.0)):
        assert run("import time\ntime.sleep(30)", 1).problem.startswith("After 1 s rank 0 still ran.")


def test_ranks_may_find_something_of_their_own() -> None:
    """It goes before what all find, also a number on a machine, and not before the number among all."""
    source = "import os; print(os.environ['RANK'], os.environ['LOCAL_RANK'], os.environ['WHO'])"
    ended = run(source, 3, own=[{"WHO": "first"}, {"WHO": "second", "RANK": "7"}, {"WHO": "third", "LOCAL_RANK": "0"}])
    assert [one.last_line for one in ended.ranks] == ["0 0 first", "1 1 second", "2 0 third"]


def test_a_script_must_be_a_text() -> None:
    with pytest.raises(TypeError, match="a str is expected"):
        launch.script(7)  # type: ignore[arg-type]


def test_a_syntax_error_is_told_before_anything_starts() -> None:
    ended = run("import os\ndef broken(:\n    pass")
    assert ended.ranks == ()
    assert ended.problem.startswith("The script is not valid Python: line 2: ")


def test_endless_output_is_cut() -> None:
    ended = run("print('x' * 1_000_000)\nprint('the end')", 1)
    assert len(ended.ranks[0].output) <= processes.OUTPUT_CHARACTERS
    assert ended.ranks[0].last_line == "the end"


def test_a_port_that_somebody_takes_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    free = processes.free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = iter([taken.getsockname()[1], free])
        monkeypatch.setattr(processes, "free_port", lambda: next(ports))
        source = "import torch.distributed as dist\ndist.init_process_group('gloo')\nprint(dist.get_world_size())"
        assert run(source, 1).check().ranks[0].last_line == "1"


def test_no_rank_is_not_a_run() -> None:
    with pytest.raises(ValueError, match="at least one rank"):
        launch.script("", 0)


def test_a_function_runs_on_every_rank() -> None:
    """Also one that is defined here and not in a module that ranks could import."""
    offset = 0.5

    def local(rank: int, world_size: int, number: float) -> tuple[int, float]:
        there = torch.tensor([number + offset])
        dist.all_reduce(there)
        return rank, float(there)

    assert launch.ranks(local, [(1.0,), (2.0,)]) == [(0, 4.0), (1, 4.0)]


def test_a_function_that_raises_names_the_rank() -> None:
    def fails(rank: int, world_size: int) -> None:
        if rank == 1:
            raise KeyError("no such layer")

    with pytest.raises(LaunchError, match=r"Rank 1 ended with exit code 1[\s\S]*KeyError: 'no such layer'"):
        launch.ranks(fails, [(), ()])


@pytest.mark.parametrize("call", ["(dist.recv if rank else dist.send)(mine, 1 - rank)", "dist.all_reduce(mine)"])
def test_what_gloo_says_of_a_message_of_another_size_is_translated(call: str) -> None:
    def differ(rank: int, world_size: int, code: str) -> None:
        exec(code, {"dist": dist, "rank": rank, "mine": torch.zeros(8 - 4 * rank)})

    with pytest.raises(LaunchError) as caught:
        launch.ranks(differ, [(call,), (call,)])
    told = str(caught.value)
    assert "bytes arrived where" in told
    assert "are both tensors of the same length and type?" in told
    # Of the other rank, unless it was ended before it noticed.
    assert "The connection to another rank broke" in told or "(it printed nothing)" in told
    assert not re.search("gloo|GLHF|preamble|Extension modules", told)


def test_warnings_of_a_connection_are_no_last_line() -> None:
    warning = "[W1128 20:29:00.123 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved."
    assert Rank(1, 0, f"done\n{warning}\n").last_line == "done"


def test_of_an_exception_all_lines_are_told() -> None:
    fails = run("raise TypeError('a tensor is expected\\n but got an array')", 1)
    assert fails.ranks[0].last_line == "TypeError: a tensor is expected but got an array (line 1)"
    assert run("print('ValueError: all is well')\nprint('the end')", 1).ranks[0].last_line == "the end"


def test_what_faulthandler_writes_is_no_last_line() -> None:
    dump = (
        'Current thread 0x00007f01 (most recent call first):\n  File "<frozen runpy>", line 198 in _run_module_as_main'
    )
    assert launch.Rank(0, 1, f"begin\nFatal Python error: Aborted\n\n{dump}").last_line == "Fatal Python error: Aborted"


CELL = """
def block(rank, world_size):
    kept = [1]
    return kept[rank + 3]
"""


@pytest.mark.parametrize("file", ["<ipython-input-3-0a1b>", "/tmp/ipykernel_41/2718.py"])
def test_an_error_of_a_function_is_placed_in_its_cell(file: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, file, "exec"), names)
    with pytest.raises(LaunchError, match=r"rank 0: IndexError: list index out of range \(line 4 of block\(\)\)"):
        launch.ranks(names["block"], [()])


def test_a_rank_that_only_lost_another_is_not_blamed() -> None:
    lost = (
        "import os, sys\nif os.environ['RANK'] == '0': sys.exit('RuntimeError: Connection closed by peer [127.0.0.1]')"
    )
    assert run(f"{lost}\nimport time; time.sleep(0.5); sys.exit('KeyError')", 2).problem.startswith("Rank 1 ended")
    assert run(lost, 2).problem.startswith("Rank 0 ended")


def test_gpus_are_hidden_from_ranks_that_outnumber_them(monkeypatch: pytest.MonkeyPatch) -> None:
    show = "import os\nprint(os.environ.get('CUDA_VISIBLE_DEVICES', 'all'))"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(processes, "_gpus", lambda: 1)
    assert run(show, 2).ranks[0].output == "\n"
    assert run(show, 1).ranks[0].output == "all\n"
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_a_reduce_scatter_of_other_lengths_is_told_in_plain_words() -> None:
    def short(rank, world_size):  # type: ignore[no-untyped-def]
        import torch
        import torch.distributed as dist

        dist.reduce_scatter_tensor(torch.zeros(3), torch.zeros(8))

    with pytest.raises(launch.LaunchError, match=r"shares together have 6 elements, .* has 8\. Pad it") as caught:
        launch.ranks(short, [(), ()], seconds=30)
    assert "outputShape" not in str(caught.value)
