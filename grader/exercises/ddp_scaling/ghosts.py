"""`pids_to_kill` and the GPU: the processes of this machine, with a ghost among them that is made for the purpose."""

from __future__ import annotations

import contextlib
import os
import pwd
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpulab import check
from grader.exercises.confront import Absent, Unusable

Row = dict[str, Any]
SUBREAPERS = ("systemd --user", "containerd-shim")
SECONDS = 30.0
"""For the ghost to import torch and take some memory."""
HOLDER = """
import os, time, torch
held = torch.zeros(1 << 24, device=DEVICE)
print(os.getpid(), flush=True)
time.sleep(60)
"""
LAUNCHER = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]])"


def take() -> dict[str, Any]:
    """All processes with what they hold on the GPU; which of them is the ghost, and which is this one, which lives.

    Raises:
        Absent: NVML does not list processes by the numbers that they have here, as in most containers.
    """
    import torch

    held = torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    ghost = start_ghost("cuda")
    try:
        holding = _holding()
        if not {ghost, os.getpid()} <= set(holding):
            raise Absent("NVML does not list this machine's processes by the numbers that they have here")
        rows = processes(holding)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(ghost, signal.SIGKILL)
    del held
    me = next(row for row in rows if row["pid"] == os.getpid())
    return {"processes": rows, "user": me["user"], "alive": os.getpid(), "ghost": ghost}


def start_ghost(device: str) -> int:
    """The number of a process that holds memory and whose parent has ended; it ends by itself after a minute.

    Raises:
        Absent: it did not start in time.
    """
    command = [sys.executable, "-c", LAUNCHER, HOLDER.replace("DEVICE", repr(device))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as launcher:
        assert launcher.stdout is not None
        launcher.wait(SECONDS)
        readable, _, _ = select.select([launcher.stdout], [], [], SECONDS)
        said = launcher.stdout.readline() if readable else b""
    if not said.strip().isdigit():
        raise Absent("a process that outlives its parent did not get memory on the GPU")
    return int(said)


def _holding() -> dict[int, int]:
    """Process → bytes that it holds on the GPUs, as NVML lists them."""
    import pynvml

    found: dict[int, int] = {}
    try:
        pynvml.nvmlInit()
        for number in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(number)
            for one in pynvml.nvmlDeviceGetComputeRunningProcesses(handle):
                found[one.pid] = found.get(one.pid, 0) + (one.usedGpuMemory or 0)
    except pynvml.NVMLError as error:
        raise Absent(f"NVML lists no processes ({error})") from None
    return found


def processes(holding: dict[int, int]) -> list[Row]:
    """All processes that `/proc` shows, as the exercise describes them.

    Args:
        holding: process → bytes on the GPU.
    """
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat, words = (folder / "stat").read_text(), (folder / "cmdline").read_bytes().split(b"\0")
            user = pwd.getpwuid(folder.stat().st_uid).pw_name
        except (OSError, KeyError):  # it has ended, or belongs to a user without a name
            continue
        name = Path(words[0].decode(errors="replace")).name or stat[stat.index("(") + 1 : stat.rindex(")")]
        name += " --user" if name == "systemd" and b"--user" in words else ""
        parent, pid = int(stat[stat.rindex(")") + 1 :].split()[1]), int(folder.name)
        row = {"pid": pid, "ppid": parent, "user": user, "gpu_bytes": holding.get(pid, 0), "name": name}
        found.append(row)
    return found


def check_answer(answer: Any, readings: dict[str, Any]) -> None:
    """Passes if the answer names this user's ghosts, the one that was made among them, and not the process that lives.

    Raises:
        WrongAnswer: it does not.
        Unusable: the ghost was given to a process that counts as alive, or the one that lives has lost its parent.
    """
    rows: Sequence[Row] = readings["processes"]
    user, living, ghost = readings["user"], readings["alive"], readings["ghost"]
    parents = {row["pid"] for row in rows if row["pid"] != 1 and not row["name"].startswith(SUBREAPERS)}
    mine = [row for row in rows if row["user"] == user and row["gpu_bytes"] > 0]
    ghosts = sorted(row["pid"] for row in mine if row["ppid"] not in parents)
    if ghost not in ghosts:
        raise Unusable(f"process {ghost} has lost its parent, but was given to one that is no subreaper")
    if living in ghosts or living not in {row["pid"] for row in mine}:
        raise Unusable(f"process {living}, which lives, holds nothing on the GPU, or has no parent")
    told = f"{len(rows)} processes of this machine, {sum(row['gpu_bytes'] > 0 for row in rows)} on the GPU"
    found = check.as_python(answer([dict(row) for row in rows], user))
    note = f"Process {living} is alive: it took this reading."
    mistakes = [(sorted(row["pid"] for row in mine), note), ([], f"Process {ghost} has no parent any more.")]
    check.equal(sorted(found), ghosts, f"{told}, as NVML lists them", mistakes=mistakes)
