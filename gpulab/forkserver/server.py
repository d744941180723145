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
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

from gpulab.forkserver.ending import end, end_children, exit_code, resident_mb
from gpulab.forkserver.forking import can_fork, fork, keep_only
from gpulab.forkserver.importing import harmless, import_all
from gpulab.forkserver.process_control import adopt_orphans

MAX_MESSAGE = 131_072
"""Bytes of one message."""
MAX_DESCRIPTORS = 4
CLEAR_SECONDS = 5.0
"""How long processes that start new ones are chased."""

CAREFUL = "GPULAB_CAREFUL"
"""Set for a server that has begun again, since one of its first modules had initialized CUDA."""

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


def run_child(server: ForkingServer, ready: Ready, request: ForkRequest, descriptors: list[int]) -> int:
    """Becomes what was asked for, in the forked process. Returns its exit code."""
    try:
        return server.become(ready, request, descriptors)
    except BaseException:
        ready.failed()
        return 1
