"""Starts the student's and the judge's processes, ends them with all that they started, and adds up what they used.

Processes are forked by a fork server, one for this Python process, started with the first of them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.doctor import hardware
from gpulab.forkserver.client import ForkServer, Shared, StartError
from grader.machine import gpu_memory, gpu_ready
from grader.model.limits import Limits
from grader.processes import box_server, fork_server
from grader.processes.accounts import cpu_seconds_of
from grader.processes.channel import Channel
from grader.processes.raw_output import RawOutput
from grader.processes.waiting import readable
from grader.sandbox import Tier, cgroups, course_folders
from grader.sandbox.probe import best_tier

PACKAGES = course_folders.PACKAGES
MODULES_VARIABLE = "GPULAB_PRELOAD"
"""Environment variable: what fork servers import, where that is not what this course uses."""
FOLDERS = "gpulab-student-"
"""How the names of students' temporary folders begin; the driver's process id follows."""


GRACE_SECONDS = 0.3
"""How long a process whose socket was closed may take to end by itself; then it is killed."""
REMOVE_SECONDS = 60.0
"""For a command that removes a folder."""
LINK_SECONDS = 10.0
SHARED_MEMORY = Path("/dev/shm")


@dataclass
class ProcessCost:
    """CPU seconds, and the most memory of a single process in MB (1e6 bytes), beyond what is shared where known."""

    cpu_seconds: float = 0.0
    peak_memory_mb: float = 0.0
    killed: int = 0
    """Processes that were killed, neither by us nor for taking too much: whatever they were doing says nothing."""

    def add(self, cpu_seconds: float, peak_memory_mb: float) -> None:
        """Books what one process used."""
        self.cpu_seconds += cpu_seconds
        self.peak_memory_mb = max(self.peak_memory_mb, peak_memory_mb)


class SubmissionServer(ForkServer):
    """The driver's fork server.

    Args:
        modules: imported before the first fork.
        tier: how far students' processes are confined; as far as the machine allows when left out.
        one_core: whether what it forks computes with one thread each.
        box_modules: imported where boxes are made, in which students' processes are confined.
    """

    def __init__(
        self,
        modules: tuple[str, ...] = fork_server.MODULES,
        tier: Tier | None = None,
        one_core: bool = True,
        box_modules: tuple[str, ...] = (),
    ) -> None:
        self.tier = best_tier() if tier is None else tier
        self._numbers = itertools.count(os.getpid() * 64)  # drivers side by side should not pick the same users
        named = {name: os.environ[name] for name in fork_server.OWN_VARIABLES if name in os.environ}
        kept = {**hardware.PCI_ORDER, **named}
        own = {
            name: value
            for name, value in fork_server.ENVIRONMENT.items()
            if one_core or name not in fork_server.THREADS
        }
        self._boxes = None
        if self.tier == Tier.NAMESPACES:
            self._boxes = ForkServer(["-P", "-m", "grader.processes.box_server"], box_modules, kept, folder="/")
        first_use = gpu_ready.begun()
        try:
            super().__init__(["-P", "-m", "grader.processes.fork_server"], modules, {**kept, **own}, folder="/")
        finally:
            if first_use is not None:
                first_use.wait()

    def number(self) -> int:
        """A number that no other living process of this driver has."""
        return next(self._numbers)

    @property
    def pids(self) -> set[int]:
        """Its process id, and that of the server of boxes where there is one."""
        return {self.pid, *([self._boxes.pid] if self._boxes else [])}

    def cpu_seconds(self) -> float:
        """CPU time that it has used itself, for its imports and for forking, without the processes that it forked."""
        return sum(map(cpu_seconds_of, self.pids))

    def box(self, request: dict[str, Any]) -> HeldBox | None:
        """A new box, as a request for a student's process describes it; None in a tier that has none.

        Raises:
            StartError: it could not be made.
        """
        return HeldBox(self._boxes, request) if self._boxes else None

    def alive(self) -> bool:
        """See `ForkServer`."""
        return super().alive() and (self._boxes is None or self._boxes.alive())

    def close(self) -> None:
        """See `ForkServer`."""
        super().close()
        if self._boxes:
            self._boxes.close()


class HeldBox:
    """The namespaces of one student's process, held by processes of their own.

    Args:
        server: makes it.
        request: says what it holds.

    Raises:
        StartError: it could not be made.
    """

    def __init__(self, server: ForkServer, request: dict[str, Any]) -> None:
        self._server = server
        answer = server.fork(request)
        self._pid, self.first = int(answer["pid"]), int(answer["inner"])
        (self.descriptor,) = answer["descriptors"]
        """Of its first process, with which it ends."""

    def end(self) -> dict[str, Any]:
        """Ends it with all that is in it: what its own processes used. Not before the student's process was ended."""
        os.close(self.descriptor)
        return self._server.ask({"op": "end", "pid": self._pid, "inner": self.first, "grace_seconds": 0.0})


class Child:
    """A running process of ours, with its socket."""

    def __init__(self, parent: SubmissionServer, answer: dict[str, Any], channel: Channel, cost: ProcessCost) -> None:
        self._parent, self.channel, self._cost = parent, channel, cost
        self._pid, self._inner = int(answer["pid"]), int(answer["inner"])
        self._ended = False
        self.how_it_ended = ""
        """In words, once it has been ended and had ended by itself before: `It ended by SIGSEGV.`"""

    def end(self, at_once: bool = False) -> None:
        """Hangs up, kills what does not end by itself, and books what it used. Once; later calls do nothing.

        Args:
            at_once: kill it without waiting: it hangs, or another process holds its socket open.
        """
        if not self._ended:
            self._ended = True
            self._end(0.0 if at_once else GRACE_SECONDS)

    def _end(self, grace_seconds: float) -> None:
        self.channel.close()
        _wait_for_end(self._pid, grace_seconds)  # here, not in the parent: that could fork for other threads meanwhile
        request = {"op": "end", "pid": self._pid, "inner": self._inner, "grace_seconds": 0.0}
        with contextlib.suppress(StartError):  # a parent that is gone has taken its children along
            used = self._parent.ask(request)
            self.how_it_ended = _in_words(used["code"])
            self._book(used)

    def _book(self, used: dict[str, Any]) -> None:
        self._cost.add(used["cpu_seconds"], used["peak_memory_mb"])
        self._cost.killed += used["killed"]


class StudentProcess(Child):
    """A process that runs student code: confined, in a scratch folder of its own."""

    def __init__(self, parent: SubmissionServer, cost: ProcessCost, limits: Limits, *, exercises: bool = False) -> None:
        self._cost = cost
        number = parent.number()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{FOLDERS}{os.getpid()}-"))
        work = self._folder / "work"
        work.mkdir()
        work.chmod(0o700)  # whatever the driver's umask is
        self._folder.chmod(0o711)
        request = {
            "op": "student",
            "tier": int(parent.tier),
            "folder": str(self._folder),
            "work": str(work),
            "number": number,
            "exercises": exercises,
            "courses": course_folders.hidden(),
        }
        settings = box_server.confinement(request)
        self._shares = settings.uid if settings.tier < Tier.NAMESPACES else None
        """The user whose files in `/dev/shm` are this process's alone; None where it has a `/dev/shm` of its own, or no
        user of its own."""
        if settings.uid is not None:
            os.chown(work, settings.uid, settings.uid)
        self._group = cgroups.create(f"{os.getpid()}-{number}", limits.memory_bytes, limits.processes)
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        self._box: HeldBox | None = None
        try:
            self._box = parent.box(request)
            if self._group is not None:
                request["group"] = [str(folder) for folder in set(self._group.folders.values())]
            answer = parent.fork(request, [theirs.fileno(), writing, *([self._box.descriptor] if self._box else [])])
        except StartError:
            ours.close()
            os.close(reading)
            self._clean()
            raise
        finally:
            theirs.close()
            os.close(writing)
        self.raw_output = RawOutput(reading, limits.output_bytes)
        if self._box:
            answer["inner"] = self._box.first
        super().__init__(parent, answer, Channel(ours), cost)
        self._guard = gpu_memory.watchdog().add((self._inner, self._pid), gpu_memory.most_bytes(limits))
        self._limits = limits

    def excess(self) -> str:
        """What it, or a process that it started, was killed for taking too much of; empty if for nothing."""
        if self._group is not None and self._group.out_of_memory():
            return f"used more memory than a submission may ({self._limits.memory_bytes / 1e6:.0f} MB)"
        if self._guard.exceeded:
            most = gpu_memory.most_bytes(self._limits) / 1e6
            return f"used more of the GPU's memory than a submission may ({most:.0f} MB)"
        return ""

    def _end(self, grace_seconds: float) -> None:
        gpu_memory.watchdog().remove(self._guard)
        on_gpu = gpu_memory.holders((self._inner, self._pid))
        super()._end(grace_seconds)
        if on_gpu:  # the next test on the GPU must not find an endless kernel there
            gpu_memory.wait_until_off(on_gpu)
        self.raw_output.close()
        self._clean()

    def _clean(self) -> None:
        if self._box is not None:
            with contextlib.suppress(StartError):  # a server that is gone has taken its boxes along
                self._cost.add(self._box.end()["cpu_seconds"], 0.0)
        if self._group is not None:
            self._group.remove()
        if self._shares is not None:
            remove_files_of(self._shares, SHARED_MEMORY)
        _remove(self._folder)

    def _book(self, used: dict[str, Any]) -> None:
        # A killed namespace takes its processes' own accounts along; the group's survive, but begin a little later.
        cpu = (self._group.cpu_seconds() if self._group else None) or 0.0
        memory = self._group.peak_memory_mb() if self._group else None
        self._cost.add(max(used["cpu_seconds"], cpu), used["peak_memory_mb"] if memory is None else memory)
        self._cost.killed += used["killed"] and not self.excess()


class JudgeProcess(Child):
    """A process that runs test cells."""

    def __init__(self, parent: SubmissionServer, cost: ProcessCost) -> None:
        ours, theirs = socket.socketpair()
        try:
            answer = parent.fork({"op": "judge"}, [theirs.fileno()])
        except StartError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._control = ours
        super().__init__(parent, answer, Channel(ours), cost)

    def link(self, student: StudentProcess, to: str = "notebook") -> None:
        """Hands the judge a student process's socket; judge and driver use it in turn.

        Args:
            student: the process.
            to: `notebook` for the one that ran all cells, `clean` for one with the exercise's own cell alone, where
                counts and times are taken, `reference` and `launcher` for ones with nothing of the student's: what an
                exercise is timed against, and where scripts are launched; `confined` for one that a test asked for,
                to have something of the student's compiled or read there.

        Raises:
            StartError: the judge is gone.
        """
        try:
            self.channel.send({"op": "link", "to": to}, seconds=LINK_SECONDS)
            self._control.settimeout(LINK_SECONDS)
            socket.send_fds(self._control, [b"x"], [student.channel.fileno()])
        except OSError as error:
            raise StartError(f"the judge could not be linked to a process: {error}") from None


def _in_words(code: int | None) -> str:
    """How a process ended, by its exit code; that of one that watched over it has no sign."""
    if not code:
        return ""
    with contextlib.suppress(ValueError):
        return f"It ended by {signal.Signals(-code if code < 0 else 256 - code).name}."
    return f"It ended with exit code {code}."


def _wait_for_end(pid: int, seconds: float) -> None:
    """Waits so long for a child of the parent's to end by itself; it stays a zombie until the parent looks at it."""
    with contextlib.suppress(OSError):
        watched = os.pidfd_open(pid)
        try:
            readable(watched, seconds)
        finally:
            os.close(watched)


def sweep() -> None:
    """Removes folders that an earlier driver left behind when it was killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{FOLDERS}*"):
        driver = left.name.removeprefix(FOLDERS).partition("-")[0]
        with contextlib.suppress(OSError):
            if left.lstat().st_uid == os.getuid() and not left.is_symlink() and not Path("/proc", driver).exists():
                _remove(left)


def remove_files_of(uid: int, folder: Path) -> None:
    """Removes what a user has left in a folder that everybody may write to: the next submission must not find it."""
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.lstat().st_uid == uid:
                _remove(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _remove(folder: Path) -> None:
    """Removes a folder whatever a student has made of it: nested deeper than Python can follow, or closed to us."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    [*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False, timeout=REMOVE_SECONDS
                )


def modules() -> tuple[str, ...]:
    """What a fork server imports: all that this course uses, or what `MODULES_VARIABLE` names."""
    return tuple(os.environ.get(MODULES_VARIABLE, "").split()) or fork_server.MODULES


def _start() -> SubmissionServer:
    cgroups.sweep()
    sweep()
    return SubmissionServer(modules())


shared = Shared(_start)
"""The fork server of this Python process's submissions."""


def shared_cpu_seconds() -> float:
    """What the fork server of this Python process has used itself; 0 when there is none."""
    return shared.server.cpu_seconds() if shared.server is not None else 0.0
