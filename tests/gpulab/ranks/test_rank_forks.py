"""Ranks that are forked from a clean interpreter cannot tell that they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpulab.forkserver import forking
from gpulab.forkserver.client import StartError
from gpulab.ranks import forks, launch, processes

PROGRAM = """
import os, sys, threading, atexit, random, signal
print("name", __name__, "file", os.path.basename(__file__), "arguments", sys.argv[1:])
print("folder", os.getcwd() == os.environ["HERE"], "first on the path", os.path.basename(sys.path[0]) != "")
print("session", os.getsid(0) == os.getpid(), "descriptors", sorted(os.listdir("/proc/self/fd"))[:4])
print("mine", os.environ["MINE"], "secret", os.environ.get("NOT_MINE"))
print("prompts", hasattr(sys, "ps1"), hasattr(sys, "ps2"))
print("interrupt", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
atexit.register(print, "at exit")
threading.Thread(target=lambda: print("thread ended")).start()
"""


def told(start: Any, source: str, folder: Path, **more: str) -> tuple[int, str]:
    """Exit code and output of a program started in one of the ways."""
    program = folder / "script.py"
    program.write_text(source)
    with tempfile.TemporaryFile() as log:
        environment = {**os.environ, "HERE": str(folder), "MINE": "yes", "PYTHONFAULTHANDLER": "1", **more}
        process = start(program, ["-v", "2"], folder, environment, log)
        code = process.wait()
        log.seek(0)
        return code, log.read().decode()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as in a terminal: what runs in the background ignores it, and a fresh interpreter inherits that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


WAYS = [forks.start, forks.start_here, processes.interpreter]


@pytest.mark.parametrize("start", WAYS[:2], ids=["server", "fork"])
def test_a_fork_is_like_a_fresh_interpreter(
    start: Any, tmp_path: Path, interruptible: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "ps1", "In [1]: ", raising=False)
    code, forked = told(start, PROGRAM, tmp_path)
    assert (code, forked) == told(processes.interpreter, PROGRAM, tmp_path)
    assert forked.endswith("thread ended\nat exit\n")


ENDINGS = {
    "a number": ("import sys\nsys.exit(3)", 3, ""),
    "a text": ("import sys\nsys.exit('good-bye')", 1, "good-bye"),
    "nothing": ("raise SystemExit", 0, ""),
    "an exception": ("def f():\n    raise KeyError('no such layer')\nf()", 1, "KeyError: 'no such layer'"),
    "a signal": ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", -15, ""),
    "no more output": ("import os\nos._exit(4)", 4, ""),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_it_ends_as_a_fresh_interpreter_does(name: str, tmp_path: Path) -> None:
    source, code, last = ENDINGS[name]
    found, text = told(forks.start, source, tmp_path)
    assert (found, (text.strip().splitlines() or [""])[-1]) == (code, last)


def test_a_traceback_shows_the_program_alone(tmp_path: Path) -> None:
    _, text = told(forks.start, ENDINGS["an exception"][0], tmp_path)
    assert text.count("File") == 2
    assert "ranks.forks" not in text


def test_two_forks_draw_different_numbers(tmp_path: Path) -> None:
    """Else a script that forgets its seed would look right."""
    source = "import random, numpy, torch\nprint(random.random(), numpy.random.rand(), torch.rand(1).item())"
    first, second = (told(forks.start, source, tmp_path)[1].split() for _ in range(2))
    assert all(one != two for one, two in zip(first, second, strict=True))


def test_the_server_imports_what_a_program_names(tmp_path: Path) -> None:
    """Else each rank of each launch would: for `fully_shard` that is some seconds."""
    asks = "import sys; print('torch.distributed.fs' 'dp' in sys.modules)"
    assert told(forks.start, f"{asks}  # fully_shard", tmp_path) == (0, "True\n")


def test_the_server_imports_what_a_function_names() -> None:
    def imported(rank: int, world_size: int) -> bool:
        there = "torch.distributed.checkpoint.state_dict" in sys.modules
        from torch.distributed import checkpoint  # noqa: F401 - named

        return there

    assert launch.ranks(imported, [[], []]) == [True, True]


def test_a_server_that_was_killed_is_replaced(tmp_path: Path) -> None:
    old = forks.shared.get()
    old._process.kill()
    old._process.wait()
    assert launch.script("print('still here')", 2, seconds=60).check().ranks[1].last_line == "still here"
    assert forks.shared.get() is not old


def test_a_rank_with_settings_of_its_own_is_a_fresh_interpreter() -> None:
    """What counts when torch is imported must be there before."""
    assert forks.suits({"CHECKPOINT": "weights.pt"})
    assert not forks.suits({"OMP_NUM_THREADS": "2"})
    run = launch.script("import sys\nprint(sys.flags.optimize)", 1, environment={"PYTHONOPTIMIZE": "1"}, seconds=60)
    assert run.check().ranks[0].last_line == "1"


def test_ranks_and_their_server_end_with_the_notebooks_process(tmp_path: Path) -> None:
    """However that ends: here it is killed while its rank sleeps."""
    source = f"""
    import os, signal, threading, time
    from pathlib import Path
    from gpulab.ranks import launch
    pid = Path({str(tmp_path / "pid")!r})
    script = f"import os, time\\nopen({{str(pid)!r}}, 'w').write(str(os.getpid()))\\ntime.sleep(300)"
    threading.Thread(target=launch.script, args=(script, 1), daemon=True).start()
    while not (pid.exists() and pid.read_text()):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(source)], check=False, timeout=60)
    rank = Path("/proc", (tmp_path / "pid").read_text())
    for _ in range(200):
        if not rank.exists() or "Z" in (rank / "stat").read_text().split():
            return
        subprocess.run(["sleep", "0.02"], check=True)
    pytest.fail("the rank still runs")


def test_cuda_does_not_survive_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert forking.can_fork()
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert not forking.can_fork()


def test_a_mere_question_for_a_gpu_initializes_cuda_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`torch.cuda.is_available()` calls `cuInit`, and torch still says that CUDA is not initialized."""
    device = tmp_path / "nvidia-uvm"
    device.touch()
    monkeypatch.setattr(forking, "UNIFIED_MEMORY", device)
    assert forking.can_fork()
    with device.open():
        assert not forking.can_fork()
        with pytest.raises(StartError, match="cannot be forked"):
            told(forks.start_here, "print()", tmp_path)
    assert forking.can_fork()
