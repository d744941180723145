"""Runs a script, or a function, as several ranks: one process each, with a time limit, and none left afterwards.

`script` does what `torchrun` does on one machine, sooner and with better news: the environment that `env://` reads, a
free port, output and exit code of every rank, and of a rank that hangs the line that it hangs in. `ranks` sends a
function of the notebook to fresh interpreters and brings the results back.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 60.0
GRACE_SECONDS = 2.0
"""For the others, once a rank has failed: their own messages often say more than that one's."""
STACK_SECONDS = 3.0
"""For a rank that hangs to write down where."""
OUTPUT_CHARACTERS = 20_000
FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')


@dataclass(frozen=True)
class Rank:
    """How one process ended."""

    rank: int
    exit_code: int | None
    """None: it had to be stopped. Negative: the signal that ended it."""
    output: str
    """What it printed, stderr included; the end of it if it was very much."""
    waits_in: str = ""
    """For a rank that hung: the line of the script, or of the function, that it hung in."""

    @property
    def last_line(self) -> str:
        """Of its output; of a traceback, the exception."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1] if lines else "(it printed nothing)"


@dataclass(frozen=True)
class Run:
    """How all ranks ended."""

    ranks: tuple[Rank, ...]
    seconds: float
    problem: str = ""
    """One sentence on what went wrong; empty when every rank ended with 0."""

    def check(self) -> Run:
        """This run, if nothing went wrong.

        Raises:
            LaunchError: with the problem, and the end of what each rank printed.
        """
        if not self.problem:
            return self
        told = [f"rank {one.rank}: {textwrap.shorten(one.last_line, 300)}" for one in self.ranks]
        raise LaunchError("\n".join([self.problem, *told]))


class LaunchError(RuntimeError):
    """Ranks that did not all end well."""


def script(
    source: str,
    world_size: int = 2,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    seconds: float = SECONDS,
) -> Run:
    """Runs a program as `world_size` ranks on this machine.

    With as many GPUs as ranks each sees all of them (and takes number LOCAL_RANK); with fewer they see none.

    Args:
        source: text of the program.
        world_size: how many processes.
        arguments: of its command line.
        environment: added to what `torchrun` sets: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR,
            MASTER_PORT.
        folder: where it runs; one of its own, gone afterwards, when left out.
        seconds: wall time for all of them.

    Raises:
        ValueError: `world_size` is not positive.
    """
    if world_size < 1:
        raise ValueError(f"world_size = {world_size}: at least one rank is needed")
    try:
        compile(source, "<script>", "exec")
    except SyntaxError as error:
        return Run((), 0.0, f"The script is no Python: line {error.lineno}: {error.msg}.")
    with tempfile.TemporaryDirectory(prefix="gpulab-ranks-") as name:
        program = Path(name) / "script.py"
        program.write_text(source, encoding="utf-8")
        where = folder or Path(name)
        run = _launch(program, world_size, arguments, environment or {}, where, seconds)
        if "address already in use" in "".join(one.output for one in run.ranks).lower():
            # Between our look for a free port and rank 0's taking it, somebody else did.
            run = _launch(program, world_size, arguments, environment or {}, where, seconds)
        return run


def ranks(function: Callable[..., Any], inputs: Sequence[Sequence[Any]], *, seconds: float = SECONDS) -> list[Any]:
    """What `function(rank, world_size, *inputs[rank])` returns on every rank, each a process in one gloo group.

    Inside, `torch.distributed` is ready: `dist.send`, `dist.recv`, `dist.all_reduce` work at once.

    Args:
        function: may be one typed in a notebook; it is sent with what it needs.
        inputs: further arguments for each rank; their number is the world size.
        seconds: wall time for all of them.

    Raises:
        LaunchError: a rank raised, ended, or did not end in time; with the line that it waited in.
    """
    import cloudpickle

    with tempfile.TemporaryDirectory(prefix="gpulab-ranks-") as name:
        folder = Path(name)
        for rank, given in enumerate(inputs):
            (folder / f"{rank}.in").write_bytes(cloudpickle.dumps((function, tuple(given))))
        script(_RANK, len(inputs), folder=folder, seconds=seconds).check()
        return [cloudpickle.loads((folder / f"{rank}.out").read_bytes()) for rank in range(len(inputs))]


_RANK = """
import os, pathlib, cloudpickle, torch, torch.distributed as dist
torch.set_num_threads(1)
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
store = f"file://{pathlib.Path('store').absolute()}"
dist.init_process_group("gloo", init_method=store, rank=rank, world_size=world_size)
function, given = cloudpickle.loads(pathlib.Path(f"{rank}.in").read_bytes())
result = function(rank, world_size, *given)
pathlib.Path(f"{rank}.out").write_bytes(cloudpickle.dumps(result))
dist.barrier()
dist.destroy_process_group()
"""


# ------------------------------------------------------------------------------------------------------- processes


def _launch(
    program: Path, world_size: int, arguments: Sequence[str], more: Mapping[str, str], folder: Path, seconds: float
) -> Run:
    started = time.monotonic()
    shared = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(world_size),
        "OMP_NUM_THREADS": "1",  # ranks that each take all cores wait for each other
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONFAULTHANDLER": "1",  # so that SIGABRT leaves a stack
        "PYTHONUNBUFFERED": "1",
    }
    if _gpus() < world_size:
        shared["CUDA_VISIBLE_DEVICES"] = ""
    shared |= more
    logs = [program.with_name(f"{rank}.log") for rank in range(world_size)]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for rank, log in enumerate(logs):
            own = {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            with log.open("wb") as output:
                processes.append(
                    subprocess.Popen(
                        [sys.executable, str(program), *arguments],
                        cwd=folder,
                        env=own,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=output,
                        start_new_session=True,  # what a rank starts (loader workers) ends with it
                    )
                )
        problem = _wait(processes, started + seconds, seconds)
        codes = [process.poll() for process in processes]
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGABRT)
        _all_ended(processes, time.monotonic() + STACK_SECONDS)
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    found = tuple(_rank(rank, code, log, program) for rank, (code, log) in enumerate(zip(codes, logs, strict=True)))
    return Run(found, time.monotonic() - started, _told(problem, found))


def _wait(processes: list[subprocess.Popen[bytes]], until: float, seconds: float) -> str:
    """Waits until all have ended, one has failed, or the time is over; says which of the latter."""
    while True:
        codes = [process.poll() for process in processes]
        if all(code == 0 for code in codes):
            return ""
        failed = next((rank for rank, code in enumerate(codes) if code), None)
        if failed is not None:
            _all_ended(processes, min(until, time.monotonic() + GRACE_SECONDS))
            return _ended(failed, codes[failed] or 0)
        if time.monotonic() > until:
            running = [str(rank) for rank, code in enumerate(codes) if code is None]
            who = f"rank {running[0]}" if len(running) == 1 else f"ranks {', '.join(running)}"
            return f"After {seconds:g} s {who} still ran."
        time.sleep(0.02)


def _all_ended(processes: list[subprocess.Popen[bytes]], until: float) -> None:
    while time.monotonic() < until and any(process.poll() is None for process in processes):
        time.sleep(0.02)


def _ended(rank: int, code: int) -> str:
    if code < 0:
        return f"Rank {rank} was ended by {signal.Signals(-code).name}."
    return f"Rank {rank} ended with exit code {code}."


def _rank(rank: int, code: int | None, log: Path, program: Path) -> Rank:
    text = log.read_text(encoding="utf-8", errors="replace")
    before, _, stack = text.partition("Fatal Python error: Aborted") if code is None else (text, "", "")
    return Rank(rank, code, before[-OUTPUT_CHARACTERS:], _waiting_line(stack, program))


def _waiting_line(stack: str, program: Path) -> str:
    """The innermost line of the script, or of a function sent by `ranks`, in what faulthandler wrote."""
    for frame in FRAME.finditer(stack):  # the most recent call comes first
        number = int(frame["line"])
        if frame["file"] == str(program):
            lines = program.read_text(encoding="utf-8").splitlines()
            if lines[number - 1].startswith("result = function("):
                continue
            return f"line {number}: {lines[number - 1].strip()}"
        if "ipykernel" in frame["file"] or frame["file"].startswith("<ipython"):
            return f"line {number} of {frame['function']}()"
    return ""


def _told(problem: str, found: Sequence[Rank]) -> str:
    waiting = [f"rank {one.rank} in {one.waits_in}" for one in found if one.waits_in]
    return f"{problem} Waiting: {'; '.join(waiting)}." if problem and waiting else problem


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _gpus() -> int:
    """GPUs that ranks may use; asked of the driver, since torch would take a piece of each."""
    with suppress(ImportError):
        import pynvml

        with suppress(pynvml.NVMLError):
            pynvml.nvmlInit()
            try:
                visible = os.environ.get("CUDA_VISIBLE_DEVICES")
                count = int(pynvml.nvmlDeviceGetCount())
                return count if visible is None else min(count, len([one for one in visible.split(",") if one]))
            finally:
                pynvml.nvmlShutdown()
    return 0
