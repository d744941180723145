"""The readings of this machine's GPU that answers are compared with: taken once a chapter, kept, and looked up.

A process of its own takes them (`grader.exercises.taking`), with the GPU to itself. They are taken anew when the GPU,
its driver, the chapter or the harness has changed. Nothing here fails a grading: an exercise without good readings is
graded without them.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpulab.doctor import hardware
from grader.machine.gpu_lock import turns
from grader.model.harness import harness_digest
from grader.model.notebooks import ChapterKey, Role
from grader.model.readings import ReadingState

START_SECONDS = 120.0
"""For the first line, before which torch is imported and the chapter's cells run."""
SECONDS = 90.0
"""For each reading."""
COMMAND = (sys.executable, "-m", "grader.exercises.taking")

_lock = threading.Lock()
_known: dict[str, dict[str, Reading]] = {}
"""Fingerprint → what this process has looked up."""


@dataclass(frozen=True)
class Reading:
    """What became of reading the GPU for one exercise."""

    state: ReadingState
    why: str = ""
    values: Any = None
    """Plain values; None unless something was read."""


def of_this_machine(key: ChapterKey) -> Mapping[str, Any]:
    """Exercise → readings that its answers are compared with; none without a GPU. Takes them if they are not there."""
    if hardware.device_name() == "cpu":
        return {}
    try:
        known = taken(key)
    except (OSError, ValueError):  # no turn at the GPU, no process, no memory: graded without
        return {}
    return {name: one.values for name, one in known.items() if one.state is ReadingState.GOOD}


def taken(key: ChapterKey, again: bool = False) -> dict[str, Reading]:
    """What is known of each exercise of a chapter that has a confrontation, taken now if it is not known.

    Args:
        key: the chapter.
        again: takes them now in any case.
    """
    mark = _fingerprint(key)
    with _lock:
        if again or mark not in _known:
            found = None if again else known(key)
            if found is None:
                with turns().alone():
                    found = take(key)
                _keep(_path(key), mark, found)
            _known[mark] = found
        return _known[mark]


def known(key: ChapterKey) -> dict[str, Reading] | None:
    """What was kept of a chapter on this machine; None when nothing was, or something has changed since."""
    return _load(_path(key), _fingerprint(key))


def take(key: ChapterKey, command: tuple[str, ...] = COMMAND) -> dict[str, Reading]:
    """Reads the GPU for every exercise of a chapter that has a confrontation.

    A reading that fails ends its process; the rest gets a new one, as long as each process says something.

    Args:
        key: the chapter.
        command: the process to start; it serves requests as `grader.exercises.taking` does.
    """
    given = [cell for cell in key.cells if cell.role in (Role.CODE, Role.SOLUTION) and "demo" not in cell.tags]
    found: dict[str, Reading] = {}
    waiting = list(key.exercises)
    while waiting:
        lines = _told(command, {"cells": [cell.source for cell in given], "exercises": waiting})
        waiting = list(next(lines, []))
        last = ""
        for name, state, why, values in lines:
            found[name], last = Reading(ReadingState(state), why, values), state
            waiting.remove(name)
        if waiting and last != ReadingState.FAILED:  # else it ended by itself, for the next one to start afresh
            found[waiting.pop(0)] = Reading(
                ReadingState.FAILED, f"its process crashed, or took longer than {SECONDS:g} s"
            )
    return found


def _told(command: tuple[str, ...], request: dict[str, Any]) -> Iterator[list[Any]]:
    """The lines of one process. It is killed when it says nothing in time, and when nobody listens any more."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()

    def listen(pipe: Any) -> None:
        for line in itertools.chain(iter(pipe.readline, b""), [b""]):
            lines.put(line)

    listener = threading.Thread(target=listen, args=(process.stdout,), daemon=True)
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode())
            process.stdin.close()
        listener.start()
        seconds = START_SECONDS
        with contextlib.suppress(queue.Empty):
            while line := lines.get(timeout=seconds):
                yield json.loads(line)
                seconds = SECONDS
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with the ranks that it may have started
        process.wait()
        listener.join()
        process.stdout.close()


def _fingerprint(key: ChapterKey) -> str:
    """Hash over everything that readings depend on."""
    gpus = [(gpu.name, gpu.driver) for gpu in hardware.gpus()]  # without their clocks, which change
    parts = (gpus, os.environ.get("CUDA_VISIBLE_DEVICES"), harness_digest(), key.name, key.digest)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _path(key: ChapterKey) -> Path:
    """Where a chapter's readings are kept, for this user."""
    home = os.environ.get("GPULAB_HOME")
    folder = Path(home) if home else Path(os.path.expanduser("~")) / ".cache" / "gpulab"  # noqa: PTH111 - Path.home() raises without a home
    return folder / "readings" / f"{key.name}.json"


def _load(path: Path, mark: str) -> dict[str, Reading] | None:
    """What was kept under this fingerprint; None when there is nothing, or nothing that can be read."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["fingerprint"] != mark:
            return None
        return {
            name: Reading(ReadingState(one["state"]), one["why"], one["values"]) for name, one in kept["taken"].items()
        }
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(path: Path, mark: str, found: dict[str, Reading]) -> None:
    """Writes what was found; where nothing can be written, the next process takes it again."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        kept: dict[str, Any] = {"fingerprint": mark, "taken": {name: asdict(one) for name, one in found.items()}}
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(kept), encoding="utf-8")
        temporary.replace(path)
