"""The fork server's own process: it imports everything slow once, and forks a process for each request.

It has one thread, never initializes CUDA (a forked CUDA context is a broken one), and lives exactly as long as the
other end of its control socket, which a `client.ForkServer` holds. One request is one message: JSON, with file
descriptors beside it. A request for a process is answered twice: here with its process id, and by the process itself,
over a socket that came with the request, once it is ready. A process that dies before that is noticed at once, since
that socket then ends. What a fork becomes is for a subclass of `ForkingServer` to say.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

from gpulab.forkserver.process_control import SIGKILL, adopt_orphans, die_with_parent

MAX_MESSAGE = 131_072
"""Bytes of one message."""
MAX_DESCRIPTORS = 4
KILLED = (-SIGKILL, 256 - SIGKILL)
"""How a process ends that was killed, and how one ends that watched over it."""
KILL_SECONDS = 2.0
"""For a process that was killed to be gone; after that it is left to the kernel."""
CLEAR_SECONDS = 5.0
"""How long processes that start new ones are chased."""
MAX_DESCRIPTOR = 65_536
OPEN_FILES = Path("/proc/self/fd")
DRIVER = Path("/dev/nvidiactl")
"""The device file that is there where NVIDIA's driver is."""
UNIFIED_MEMORY = Path("/dev/nvidia-uvm")
"""The device file that CUDA opens in `cuInit` and keeps open. NVML, which survives a fork, opens the others only."""

ForkRequest = dict[str, Any]


class ForkingServer:
    """Answers the requests of one client. Subclasses say what a fork becomes.

    Args:
        adopts: whether it becomes the parent of processes that its forks leave behind, and ends them too.
    """

    def __init__(self, adopts: bool = False) -> None:
        self._adopts = adopts
        self._children: set[int] = set()
        """Those whose end nobody has asked about yet."""
        self._shared_mb = 0.0
        """Memory that every fork shares with this process, not to be counted as its own."""

    def become(self, ready: Ready, request: ForkRequest, descriptors: list[int]) -> int:
        """What a fork does, from the moment when it leads a session of its own. Returns its exit code.

        Args:
            ready: tells the client that the process is ready; an exception tells why it never will be.
            request: as the client sent it.
            descriptors: the file descriptors that came with it.
        """
        raise NotImplementedError

    def forking(self, request: ForkRequest, descriptors: Sequence[int]) -> AbstractContextManager[None]:
        """What holds around the fork that a request asks for, in this process.

        Args:
            request: as the client sent it.
            descriptors: as for `become`.
        """
        return contextlib.nullcontext()

    def prepare(self) -> None:
        """Called once, after the first imports."""

    def settle(self) -> None:
        """Called after imports: makes memory ready to be shared.

        The collector leaves it alone from then on, and so copies no page that all forks share.
        """
        gc.freeze()

    def serve(self, descriptor: int, modules: Iterable[str]) -> NoReturn:
        """Serves the client at the other end of this socket until that closes it or ends."""
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the client, which ends us by hanging up
        if self._adopts:
            adopt_orphans()
        import_all(harmless(modules) if CAREFUL in os.environ else modules)
        if not can_fork() and CAREFUL not in os.environ:
            keep_only([descriptor])
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, CAREFUL: "1"})
        self.prepare()
        control = socket.socket(fileno=descriptor)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client ended, perhaps in mid-request
            send(control, self._settled())
            while self._answered(control):
                pass
        if self._adopts:
            end_children(CLEAR_SECONDS)
        for pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)  # and what it confines dies with it: die_with_parent, or its watcher
        os._exit(0)  # no farewells from a hundred imported libraries

    def _settled(self) -> dict[str, Any]:
        self.settle()
        self._shared_mb = resident_mb()
        return {"threads": len(list(Path("/proc/self/task").iterdir()))}

    def _answered(self, control: socket.socket) -> bool:
        """Answers one request; False when the client has hung up."""
        message, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, MAX_DESCRIPTORS)
        if not message:
            return False
        request: ForkRequest = json.loads(message)
        operations = {"import": self._import, "look": self._look, "end": self._end, "clear": self._clear}
        operation = operations.get(request["op"])
        send(control, operation(request) if operation else self._fork(request, descriptors, control))
        for number in descriptors:
            os.close(number)
        return True

    def _import(self, request: ForkRequest) -> dict[str, Any]:
        import_all(harmless(request["modules"]))
        return self._settled()

    def _fork(self, request: ForkRequest, descriptors: list[int], control: socket.socket) -> dict[str, Any]:
        def child() -> int:
            control.close()
            return run_child(self, Ready(descriptors[0]), request, descriptors[1:])

        if not can_fork():
            return {"error": "it has initialized CUDA, which does not survive a fork"}
        try:
            with self.forking(request, descriptors[1:]):
                pid = fork(child)
        except OSError as error:  # no memory, or too many processes: the next one may be luckier
            return {"error": f"it could not be forked: {error}"}
        self._children.add(pid)
        return {"pid": pid}

    def _look(self, request: ForkRequest) -> dict[str, Any]:
        """The exit code of a fork that has ended, negative for a signal; None while it runs."""
        code = exit_code(request["pid"])
        if code is not None:
            self._children.discard(request["pid"])
        return {"code": code}

    def _end(self, request: ForkRequest) -> dict[str, Any]:
        self._children.discard(request["pid"])
        return end(request["pid"], request["inner"], request["grace_seconds"], self._shared_mb)

    def _clear(self, request: ForkRequest) -> dict[str, Any]:
        """Ends all forks and what they have left behind."""
        end_children(CLEAR_SECONDS)
        self._children.clear()
        return {}


class Ready:
    """A forked process's word to the client that asked for it."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)

    def __call__(self, inner: int | None = None, descriptors: Sequence[int] = ()) -> None:
        """Says that the process is ready.

        Args:
            inner: the process to kill, where that is another one.
            descriptors: file descriptors for the client.
        """
        message = {} if inner is None else {"inner": inner}
        socket.send_fds(self._socket, [json.dumps(message).encode()], list(descriptors))

    def failed(self) -> None:
        """Says that it never will be, and why: the exception that is being handled."""
        with contextlib.suppress(OSError):
            send(self._socket, {"error": traceback.format_exc()[-4000:]})


def send(control: socket.socket, message: dict[str, Any]) -> None:
    """One message to the client."""
    control.sendall(json.dumps(message).encode())


CAREFUL = "GPULAB_CAREFUL"
"""Set for a server that has begun again, since one of its first modules had initialized CUDA."""
PROMPTS = ("ps1", "ps2")
"""Attributes of `sys` in an interactive session."""


def import_all(modules: Iterable[str]) -> None:
    """Imports what can be imported; a course without torch is still a course.

    What is imported stays, so the collector would look for garbage in vain, for a sixth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        with without_prompts():
            for name in modules:
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
    finally:
        if collecting:
            gc.enable()


@contextlib.contextmanager
def without_prompts() -> Iterator[None]:
    """Inside, no import takes this process for an interactive session. Lightning would, where IPython has its shell,
    and would then start no ranks."""
    prompts = {name: vars(sys).pop(name) for name in PROMPTS if hasattr(sys, name)}
    try:
        yield
    finally:
        vars(sys).update(prompts)


def harmless(modules: Iterable[str]) -> list[str]:
    """Those of these modules that can be imported here without initializing CUDA, which this process must not do.

    Where there is no driver, that is all of them. Elsewhere forks try it: what a library asks a GPU as it is imported
    depends on its version, on what else is installed, and on the GPU.
    """
    left, found = list(modules), list[str]()
    while left and DRIVER.exists():
        count = _harmless_first(left)
        found += left[:count]
        del left[: count + 1]
    return found + left


def _harmless_first(modules: Sequence[str]) -> int:
    """How many of these a fork of this process imports, one after another, until one initializes CUDA or ends it."""
    reading, writing = os.pipe()

    def scout() -> int:
        keep_only([writing])
        for name in modules:
            import_all([name])
            if not can_fork():
                return 0
            os.write(writing, b".")
        return 0

    pid = fork(scout)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        count = len(pipe.read())
    os.waitpid(pid, 0)
    return count


# ------------------------------------------------------------------------------------------------------- forking


def can_fork() -> bool:
    """Whether a fork of this process can do all that a fresh interpreter can: CUDA does not survive one."""
    torch = sys.modules.get("torch")
    return hasattr(os, "fork") and not (torch is not None and torch.cuda.is_initialized()) and not _has_cuda_open()


def _has_cuda_open() -> bool:
    """Whether this process has called `cuInit`, which a mere question for a GPU does: torch itself does not say so."""
    for descriptor in OPEN_FILES.glob("*"):
        with contextlib.suppress(OSError):
            if descriptor.readlink() == UNIFIED_MEMORY:
                return True
    return False


def fork(child: Callable[[], int]) -> int:
    """Forks this process: its process id. The child leads a session, draws its own random numbers, and ends with us.

    Args:
        child: what it does; returns its exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # else the child prints it too
    parent = os.pidfd_open(os.getpid())  # its number means nothing to a child in another namespace
    try:
        pid = os.fork()
    except OSError:
        os.close(parent)
        raise
    if pid:
        os.close(parent)
        return pid
    code = 1
    try:
        os.setsid()
        die_with_parent()
        if not has_ended(parent):  # else it could not have taken us along
            os.close(parent)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            reseed()
            code = child()
    finally:
        os._exit(code)


def has_ended(process: int) -> bool:
    """Whether the process that a descriptor of `os.pidfd_open` names has ended."""
    return bool(select.select([process], [], [], 0)[0])


def run_child(server: ForkingServer, ready: Ready, request: ForkRequest, descriptors: list[int]) -> int:
    """Becomes what was asked for, in the forked process. Returns its exit code."""
    try:
        return server.become(ready, request, descriptors)
    except BaseException:
        ready.failed()
        return 1


def reseed() -> None:
    """Gives this process random numbers of its own: forks of one parent would all draw the same."""
    seed = int.from_bytes(os.urandom(4), "big")
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        # torch.manual_seed looks for accelerators too, which takes ten times as long; theirs begin anywhere as it is.
        sys.modules["torch"].default_generator.manual_seed(seed)


def take_streams(streams: Iterable[int], keep: Iterable[int] = ()) -> None:
    """Makes these descriptors 0, 1, 2 and so on, and closes all others but the standard three and those to `keep`."""
    for target, source in enumerate(streams):
        os.dup2(source, target)
    keep_only(keep)


def keep_only(descriptors: Iterable[int]) -> None:
    """Closes every file descriptor but these and the standard three."""
    start = 3
    for number in sorted(descriptors):
        os.closerange(start, number)
        start = number + 1
    os.closerange(start, MAX_DESCRIPTOR)


# ------------------------------------------------------------------------------------------------- ending a process


def exit_code(pid: int, unknown: int = -SIGKILL) -> int | None:
    """The exit code of a child of this process that has ended, negative for a signal; None while it runs.

    Args:
        pid: its process id.
        unknown: what to answer where another call has reaped it.
    """
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return unknown
    return os.waitstatus_to_exitcode(status) if found else None


def end(pid: int, inner: int, grace_seconds: float, shared_mb: float) -> dict[str, Any]:
    """Waits a moment for a child to end, kills it otherwise, and says what it and its children used.

    The answer's `killed` says whether something else had killed it before: the kernel because memory ran out, a
    person, or the student's own code. Its `code` is the exit code of one that ended by itself, else None.

    Args:
        pid: the child of ours that watches over the process.
        inner: the process to kill; the same, or the first process of its namespace.
        grace_seconds: how long that moment is.
        shared_mb: memory that every child shares with us, not to be counted as its own.
    """
    watched = os.pidfd_open(pid)
    try:
        by_itself = bool(select.select([watched], [], [], grace_seconds)[0])
        if not by_itself:
            for target in dict.fromkeys((inner, pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(target, signal.SIGKILL)
                    if target == pid:
                        os.killpg(pid, signal.SIGKILL)  # there may be none yet, of a process that was just forked
                if select.select([watched], [], [], KILL_SECONDS)[0]:
                    break
        ended, status, usage = os.wait4(pid, os.WNOHANG)
    finally:
        os.close(watched)
    if not ended:  # a kernel that cannot let go of it, such as one that waits for a dead disk, must not hold us up
        return {"cpu_seconds": 0.0, "peak_memory_mb": 0.0, "killed": False, "code": None}
    peak_mb = max(0.0, usage.ru_maxrss * 1024 / 1e6 - shared_mb)
    code = os.waitstatus_to_exitcode(status) if by_itself else None
    cpu_seconds = usage.ru_utime + usage.ru_stime
    return {"cpu_seconds": cpu_seconds, "peak_memory_mb": peak_mb, "killed": code in KILLED, "code": code}


def end_children(seconds: float) -> None:
    """Kills and reaps all children, again and again: those of a child that was killed may become ours.

    Args:
        seconds: after this long, leaves what is left alone.
    """
    until = time.monotonic() + seconds
    while (left := children_of(os.getpid())) and time.monotonic() < until:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        while left and time.monotonic() < until:
            left = [pid for pid in left if exit_code(pid) is None]
            time.sleep(0.001 if left else 0)


def children_of(pid: int) -> list[int]:
    """The processes whose parent this one is."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(folder.name))
    return found


def resident_mb() -> float:
    """This process's memory now, MB = 1e6 bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
