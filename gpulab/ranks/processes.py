"""The processes of a launch: started together, watched, told to say where they hang, ended with all that they started.

What is run in them, and what becomes of what they leave, is for `launch` to say.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gpulab.backend import Process, StartRank, current
from gpulab.doctor.hosts import needs_unix
from gpulab.forkserver.client import StartError
from gpulab.forkserver.ending import KILL_SECONDS
from gpulab.forkserver.process_control import die_with_parent
from gpulab.ranks import forks

GRACE_SECONDS = 2.0
"""For the others, once a rank has failed: their own messages often say more than that one's."""
STACK_SECONDS = 3.0
"""For a rank that hangs to write down where."""
OUTPUT_CHARACTERS = 20_000
FLOOD_BYTES = 20_000_000
"""A rank that prints more than this is stopped."""
FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')
CALL = "called.run("
"""How the line begins in which `launch.ranks` calls the function: what hangs is inside."""
LOST = re.compile(rb"Connection (closed|reset) by peer|Broken pipe|Connection was likely closed|remote process exited")
"""What gloo, NCCL and the store say of a rank that is gone."""
LOST_BYTES = 1000
"""Of the end of a rank's output, in which that is looked for."""
MARK = "GPULAB_LAUNCH"
"""In the environment of every rank and of what it starts: whatever leaves its session is still known by it."""


@dataclass(frozen=True)
class Ended:
    """How a launch ended; the lists are by rank."""

    exit_codes: list[int | None]
    outputs: list[str]
    waits_in: list[str]
    seconds: float
    problem: str


def run_ranks(
    program: Path, arguments: Sequence[str], more: Sequence[Mapping[str, str]], folders: Sequence[Path], seconds: float
) -> Ended:
    """Runs the program once in each folder, as one rank each, and returns when none of them is left.

    Args:
        program: file with its source.
        arguments: of its command line.
        more: environment of each rank, besides the one that `env://` reads.
        folders: where each rank runs.
        seconds: wall time for all of them.

    Raises:
        OSError: this is Windows.
    """
    needs_unix("Several ranks")
    with ExitStack() as stack:
        # Open from the beginning to the end: what lies at a path is the ranks' to change.
        logs: list[IO[bytes]] = [stack.enter_context(tempfile.TemporaryFile()) for _ in folders]
        return _run_ranks(program, arguments, more, folders, logs, seconds)


def _run_ranks(
    program: Path,
    arguments: Sequence[str],
    more: Sequence[Mapping[str, str]],
    folders: Sequence[Path],
    logs: list[IO[bytes]],
    seconds: float,
) -> Ended:
    started = time.monotonic()
    world_size, mark = len(folders), secrets.token_hex(8)
    shared = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(world_size),
        "OMP_NUM_THREADS": "1",  # ranks that each take all cores wait for each other
        "GLOO_SOCKET_IFNAME": "lo",
        "PYTHONFAULTHANDLER": "1",  # so that SIGABRT leaves a stack
        "PYTHONUNBUFFERED": "1",
        MARK: mark,
    }
    if _gpus() < world_size:
        shared["CUDA_VISIBLE_DEVICES"] = ""
    source = program.read_text(encoding="utf-8").splitlines()
    processes: list[Process] = []
    start = current().start_rank or (forks.start if all(map(forks.suits, more)) else interpreter)
    try:
        for rank, (log, folder, around) in enumerate(zip(logs, folders, more, strict=True)):
            own = {**shared, "LOCAL_RANK": str(rank), **around, "RANK": str(rank)}
            processes.append(_started(start, program, arguments, folder, own, log))
        started = time.monotonic()  # the fork server may just have imported torch
        problem = _wait(processes, logs, started + seconds, seconds)
        codes = [process.poll() for process in processes]
        for process in processes:
            process.send_signal(signal.SIGABRT)
        _all_ended(processes, time.monotonic() + STACK_SECONDS)
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=KILL_SECONDS)
        if start is forks.start and forks.shared.server is not None:
            forks.shared.server.clear()
        _end_marked(mark)
    texts = [_split(log, stopped=code is None) for log, code in zip(logs, codes, strict=True)]
    outputs, waits_in = [text for text, _ in texts], [_waiting_line(trace, program, source) for _, trace in texts]
    return Ended(codes, outputs, waits_in, time.monotonic() - started, problem)


def _started(start: StartRank, *rank: Any) -> Process:
    """A rank; if it cannot be started that way, as a fresh interpreter."""
    try:
        return start(*rank)
    except StartError:
        return interpreter(*rank)


def interpreter(
    program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Starts a program as a fresh interpreter, which ends when this process does."""
    return subprocess.Popen(
        [sys.executable, str(program), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,  # what a rank starts (loader workers) ends with it
        preexec_fn=die_with_parent,  # a notebook's kernel that is restarted leaves no ranks
    )


def _wait(processes: list[Process], logs: list[IO[bytes]], until: float, seconds: float) -> str:
    """Waits until all have ended, one has failed, or the time is over; says which of the latter."""
    while True:
        codes = [process.poll() for process in processes]
        if all(code == 0 for code in codes):
            return ""
        if any(codes):
            _all_ended(processes, min(until, time.monotonic() + GRACE_SECONDS))
            codes = [process.poll() for process in processes]
            failed = [rank for rank, code in enumerate(codes) if code]
            # A rank that fails leaves the others without a connection; they fail too, and may be noticed first.
            rank = next((rank for rank in failed if not _lost(logs[rank])), failed[0])
            return _ended(rank, codes[rank] or 0)
        for rank, log in enumerate(logs):
            if os.fstat(log.fileno()).st_size > FLOOD_BYTES:
                return f"Rank {rank} printed more than {FLOOD_BYTES / 1e6:.0f} MB and was stopped."
        if time.monotonic() > until:
            running = [str(rank) for rank, code in enumerate(codes) if code is None]
            who = f"rank {running[0]}" if len(running) == 1 else f"ranks {', '.join(running)}"
            return f"After {seconds:g} s {who} still ran."
        time.sleep(0.02)


def _all_ended(processes: list[Process], until: float) -> None:
    while time.monotonic() < until and any(process.poll() is None for process in processes):
        time.sleep(0.02)


def _lost(log: IO[bytes]) -> bool:
    """Whether the last thing that a rank said is that another one is gone."""
    size = os.fstat(log.fileno()).st_size
    return bool(LOST.search(os.pread(log.fileno(), LOST_BYTES, max(0, size - LOST_BYTES))))


def _ended(rank: int, code: int) -> str:
    if code < 0:
        known = {one.value: one.name for one in signal.Signals}
        return f"Rank {rank} was ended by {known.get(-code, f'signal {-code}')}."
    return f"Rank {rank} ended with exit code {code}."


def _end_marked(mark: str) -> None:
    """Ends what has left its session but not the environment that it was started in."""
    wanted = f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)


def _split(log: IO[bytes], stopped: bool) -> tuple[str, str]:
    """The end of what a rank printed, and of one that was stopped what faulthandler wrote."""
    log.seek(max(0, os.fstat(log.fileno()).st_size - 4 * OUTPUT_CHARACTERS))
    text = log.read(4 * OUTPUT_CHARACTERS).decode("utf-8", "replace")
    before, _, stack = text.partition("Fatal Python error: Aborted") if stopped else (text, "", "")
    return before[-OUTPUT_CHARACTERS:], stack


def _waiting_line(stack: str, program: Path, source: list[str]) -> str:
    """The innermost line of the script, or of a function sent by `launch.ranks`, in what faulthandler wrote."""
    for frame in FRAME.finditer(stack):  # the most recent call comes first
        number = int(frame["line"])
        if frame["file"] == str(program):
            line = source[number - 1].strip() if number <= len(source) else ""
            if line.startswith(CALL):
                continue
            return f"line {number}: {line}"
        if of_a_cell(frame["file"]):
            return f"line {number} of {frame['function']}()"
    return ""


def of_a_cell(file: str) -> bool:
    """Whether a frame's file is a cell of a notebook."""
    return "ipykernel" in file or file.startswith("<ipython")


def free_port() -> int:
    """A port of this machine that nobody listens at just now."""
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
