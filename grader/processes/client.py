"""Starts the student's and the judge's processes, ends them with all that they started, and adds up what they used.

Processes are forked from a warm parent (`warm`), one for this Python process, started with the first of them.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.machine import gpu_memory
from grader.model.limits import Limits
from grader.processes import fork_server
from grader.processes.accounts import cpu_seconds_of
from grader.processes.wire import Channel
from grader.sandbox import Tier, cgroups, course_folders
from grader.sandbox.probe import best_tier

PACKAGES = course_folders.PACKAGES
MODULES_VARIABLE = "GPULAB_WARM"
"""Environment variable: what warm parents import, where that is not what this course uses."""
FOLDERS = "gpulab-student-"
"""How the names of students' temporary folders begin; the driver's process id follows."""


START_SECONDS = 300.0
"""For a warm parent to import everything, from a cold disk at worst; for further imports likewise."""
ANSWER_SECONDS = 60.0
"""For a warm parent to answer anything else."""
READY_SECONDS = 60.0
"""For a new process to confine itself and say that it is ready."""
LINK_SECONDS = 10.0
SHARED_MEMORY = Path("/dev/shm")


class StartError(RuntimeError):
    """A process of ours could not be started: a fault of the harness or the machine, never of a submission."""


class ParentGone(StartError):
    """There is no warm parent any more to start it; another one can be made."""


@dataclass
class Cost:
    """CPU seconds, and the most memory of a single process in MB (1e6 bytes), beyond what is shared where known."""

    cpu_seconds: float = 0.0
    peak_memory_mb: float = 0.0
    killed: int = 0
    """Processes that were killed, neither by us nor for taking too much: whatever they were doing says nothing."""

    def add(self, cpu_seconds: float, peak_memory_mb: float) -> None:
        """Books what one process used."""
        self.cpu_seconds += cpu_seconds
        self.peak_memory_mb = max(self.peak_memory_mb, peak_memory_mb)


class Parent:
    """The driver's side of a warm parent. Threads may share it.

    Args:
        modules: imported before the first fork.
        tier: how far students' processes are confined; as far as the machine allows when left out.
        one_core: whether what it forks computes with one thread each.
    """

    def __init__(
        self, modules: tuple[str, ...] = fork_server.MODULES, tier: Tier | None = None, one_core: bool = True
    ) -> None:
        self.tier = best_tier() if tier is None else tier
        self._lock, self._importing = threading.Lock(), threading.Lock()
        self._numbers = itertools.count(os.getpid() * 64)  # drivers side by side should not pick the same users
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        paths = dict.fromkeys([str(PACKAGES), *(str(Path(path).absolute()) for path in given)])
        kept = {name: os.environ[name] for name in fork_server.OWN_VARIABLES if name in os.environ}
        own = {
            name: value
            for name, value in fork_server.ENVIRONMENT.items()
            if one_core or name not in fork_server.THREADS
        }
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.processes.fork_server", str(theirs.fileno()), *modules],
            cwd="/",
            env={**kept, **own, "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C in the terminal is for the driver to handle
        )
        theirs.close()
        self._control = ours
        self._gone = False
        """Known before its exit status is: a big process takes a while to die."""
        try:
            self.threads = int(self._answer(START_SECONDS)["threads"])
            """How many it has: one, or forking would not be safe."""
        except StartError:
            self.close()
            raise
        self._modules = set(modules)

    def ask(
        self, request: dict[str, Any], descriptors: list[int] | None = None, seconds: float | None = None
    ) -> dict[str, Any]:
        """The answer to one request.

        Args:
            request: what is asked.
            descriptors: file descriptors that go with it.
            seconds: for the answer; `ANSWER_SECONDS` when left out.

        Raises:
            ParentGone: it was killed, or did not answer in time.
            StartError: it could not do what it was asked.
        """
        seconds = ANSWER_SECONDS if seconds is None else seconds
        with self._lock:
            try:
                self._control.settimeout(seconds)
                socket.send_fds(self._control, [json.dumps(request).encode()], descriptors or [])
            except OSError as error:
                raise self._lost(str(error)) from None
            answer = self._answer(seconds)
        if "error" in answer:
            raise StartError(str(answer["error"]))
        return answer

    def _answer(self, seconds: float) -> dict[str, Any]:
        try:
            self._control.settimeout(seconds)
            data = self._control.recv(fork_server.MAX_MESSAGE)
        except TimeoutError:
            self._process.kill()  # else its answer would be taken for that to a later request
            raise self._lost(f"it did not answer within {seconds:g} s") from None
        except OSError as error:
            raise self._lost(str(error)) from None
        if not data:
            raise self._lost("it ended")
        answer: dict[str, Any] = json.loads(data)
        return answer

    def _lost(self, how: str) -> ParentGone:
        self._gone = True
        return ParentGone(f"the warm parent is gone ({how})")

    def start(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        """Has it fork a process, and waits until that is ready: its process ids.

        Raises:
            ParentGone: see `ask`.
            StartError: the process could not be made, or was killed before it was ready.
        """
        ready, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ready:
            try:
                pid = int(self.ask(request, [theirs.fileno(), *descriptors])["pid"])
            finally:
                theirs.close()  # the new process's is then the only one, and its end is seen here
            try:
                ready.settimeout(READY_SECONDS)
                answer: dict[str, Any] = json.loads(ready.recv(fork_server.MAX_MESSAGE) or '{"error": "it was killed"}')
            except TimeoutError:
                answer = {"error": f"it was not ready within {READY_SECONDS:g} s"}
            except OSError as error:
                answer = {"error": str(error)}
        if "error" in answer:
            self.ask({"op": "end", "pid": pid, "inner": pid, "grace_seconds": 0.0})
            raise StartError(f"a process could not be started: {answer['error']}")
        return answer

    def import_more(self, modules: Iterable[str]) -> None:
        """Has it import what it has not imported yet; processes forked from now on have it too.

        Raises:
            ParentGone: it was killed, or did not survive the import.
        """
        with self._importing:
            missing = [name for name in modules if name not in self._modules]
            if missing:
                self.threads = int(self.ask({"op": "import", "modules": missing}, seconds=START_SECONDS)["threads"])
                self._modules.update(missing)

    def number(self) -> int:
        """A number that no other living process of this driver has."""
        return next(self._numbers)

    def alive(self) -> bool:
        """Whether it still runs."""
        return not self._gone and self._process.poll() is None

    def cpu_seconds(self) -> float:
        """CPU time that it has used itself, for its imports and for forking, without the processes that it forked."""
        return cpu_seconds_of(self._process.pid)

    def close(self) -> None:
        """Ends it and every process that it started."""
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Child:
    """A running process of ours, with its socket."""

    def __init__(self, parent: Parent, answer: dict[str, Any], channel: Channel, cost: Cost) -> None:
        self._parent, self.channel, self._cost = parent, channel, cost
        self._pid, self._inner = int(answer["pid"]), int(answer["inner"])
        self._ended = False

    def end(self, at_once: bool = False) -> None:
        """Hangs up, kills what does not end by itself, and books what it used. Once; later calls do nothing.

        Args:
            at_once: kill it without waiting: it hangs, or another process holds its socket open.
        """
        if not self._ended:
            self._ended = True
            self._end(0.0 if at_once else fork_server.GRACE_SECONDS)

    def _end(self, grace_seconds: float) -> None:
        self.channel.close()
        _wait_for_end(self._pid, grace_seconds)  # here, not in the parent: that could fork for other threads meanwhile
        request = {"op": "end", "pid": self._pid, "inner": self._inner, "grace_seconds": 0.0}
        with contextlib.suppress(StartError):  # a parent that is gone has taken its children along
            self._book(self._parent.ask(request))

    def _book(self, used: dict[str, Any]) -> None:
        self._cost.add(used["cpu_seconds"], used["peak_memory_mb"])
        self._cost.killed += used["killed"]


class StudentProcess(Child):
    """A process that runs student code: confined, in a scratch folder of its own."""

    def __init__(self, parent: Parent, cost: Cost, limits: Limits, *, exercises: bool = False) -> None:
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
        settings = fork_server.confinement(request)
        self._shares = settings.uid if settings.tier < Tier.NAMESPACES else None
        """The user whose files in `/dev/shm` are this process's alone; None where it has a `/dev/shm` of its own, or no
        user of its own."""
        if settings.uid is not None:
            os.chown(work, settings.uid, settings.uid)
        self._group = cgroups.create(f"{os.getpid()}-{number}", limits.memory_bytes, limits.processes)
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        try:
            if self._group is not None:
                request["group"] = [str(folder) for folder in set(self._group.folders.values())]
            answer = parent.start(request, [theirs.fileno(), writing])
        except StartError:
            ours.close()
            os.close(reading)
            self._clean()
            raise
        finally:
            theirs.close()
            os.close(writing)
        self.raw_output = _Drain(reading, limits.output_bytes)
        super().__init__(parent, answer, Channel(ours), cost)
        self._guard = gpu_memory.watch().add(self._inner, gpu_memory.most_bytes(limits))
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
        gpu_memory.watch().remove(self._guard)
        on_gpu = gpu_memory.holders(self._inner)
        super()._end(grace_seconds)
        if on_gpu:  # the next test on the GPU must not find an endless kernel there
            gpu_memory.wait_until_off(on_gpu)
        self.raw_output.close()
        self._clean()

    def _clean(self) -> None:
        if self._group is not None:
            self._group.remove()
        if self._shares is not None:
            remove_files_of(self._shares, SHARED_MEMORY)
        _remove(self._folder)

    def _book(self, used: dict[str, Any]) -> None:
        # A killed namespace takes its processes' own accounts along; the group's survive.
        cpu = self._group.cpu_seconds() if self._group else None
        memory = self._group.peak_memory_mb() if self._group else None
        self._cost.add(
            used["cpu_seconds"] if cpu is None else cpu, used["peak_memory_mb"] if memory is None else memory
        )
        self._cost.killed += used["killed"] and not self.excess()


class JudgeProcess(Child):
    """A process that runs test cells."""

    def __init__(self, parent: Parent, cost: Cost) -> None:
        ours, theirs = socket.socketpair()
        try:
            answer = parent.start({"op": "judge"}, [theirs.fileno()])
        except StartError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._control = ours
        super().__init__(parent, answer, Channel(ours), cost)

    def link(self, student: StudentProcess, to: str = "notebook") -> None:
        """Gives the judge a hold of a student process's socket; it and the driver take turns.

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


def _wait_for_end(pid: int, seconds: float) -> None:
    """Waits so long for a child of the parent's to end by itself; it stays a zombie until the parent looks at it."""
    with contextlib.suppress(OSError):
        watched = os.pidfd_open(pid)
        try:
            select.select([watched], [], [], seconds)
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
                    [*command, "--", str(folder)], stderr=subprocess.DEVNULL, check=False, timeout=ANSWER_SECONDS
                )


class _Drain:
    """Reads a pipe to its end in a thread, so that its writer never blocks, and keeps the beginning."""

    def __init__(self, descriptor: int, keep_bytes: int) -> None:
        self._descriptor, self._keep = descriptor, keep_bytes
        os.set_blocking(descriptor, False)  # the thread and `take` both read
        self._data = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        more = True
        while more:
            select.select([self._descriptor], [], [])
            with self._lock:
                more = self._read()

    def _read(self) -> bool:
        """Reads what is there; False at the end."""
        try:
            chunk = os.read(self._descriptor, 65_536)
        except BlockingIOError:
            return True
        self._data += chunk[: max(0, self._keep - len(self._data))]
        return bool(chunk)

    def take(self) -> str:
        """What has been written since the last call, whether or not the thread has got to it yet."""
        with self._lock:
            for _ in range(8):  # a pipe holds less; an endless writer must not keep us here
                if not select.select([self._descriptor], [], [], 0)[0] or not self._read():
                    break
            text, self._data = self._data.decode("utf-8", "replace"), bytearray()
        return text

    def close(self) -> None:
        """Stops reading. A process that outlived its group may still hold the other end; it is not waited for."""
        self._thread.join(timeout=1.0)
        if not self._thread.is_alive():
            os.close(self._descriptor)


_shared: Parent | None = None
_shared_lock = threading.Lock()


def shared_parent() -> Parent:
    """The warm parent of this Python process, started when there is none, or none any more."""
    global _shared
    with _shared_lock:
        if _shared is None or not _shared.alive():
            if _shared is not None:
                atexit.unregister(_shared.close)
                _shared.close()
            cgroups.sweep()
            sweep()
            _shared = Parent(tuple(os.environ.get(MODULES_VARIABLE, "").split()) or fork_server.MODULES)
            atexit.register(_shared.close)
        return _shared


def shared_parent_cpu_seconds() -> float:
    """What the warm parent of this Python process has used itself; 0 when there is none."""
    return _shared.cpu_seconds() if _shared is not None else 0.0
