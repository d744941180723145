"""The client's side of a fork server: starts it, asks it, and ends it with everything that it forked.

Every wait has a deadline. A server that misses one is killed, and its forks with it: an answer that came late would be
taken for the answer to a later request.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from gpulab.forkserver.server import MAX_DESCRIPTORS, MAX_MESSAGE

START_SECONDS = 300.0
"""For a server to import everything, from a cold disk at worst; for further imports likewise."""
ANSWER_SECONDS = 60.0
"""For a server to answer anything else."""
READY_SECONDS = 60.0
"""For a new process to say that it is ready."""
WAIT_SECONDS = 60.0
"""For a process to end, where nobody says how long to wait for it."""
CLOSE_SECONDS = 5.0
"""For a server to end after its socket was closed; then it is killed."""
PACKAGES = Path(__file__).resolve().parents[2]
"""Where this package lies: the server finds it there, wherever it runs."""


class StartError(RuntimeError):
    """A process could not be started: a fault of the machine or of its software."""


class ServerGone(StartError):
    """There is no server any more to start it; another one can be made."""


class ForkServer:
    """A running fork server. Threads may share it.

    Args:
        command: arguments of the interpreter, up to the module that serves: `["-m", "package.module"]`. It gets the
            number of its socket and the names of the modules as further arguments.
        modules: imported before the first fork.
        environment: all of its environment but the path of packages.
        folder: where it runs; here when left out.
        output: where its output and errors go, as `subprocess.Popen` takes them.

    Raises:
        StartError: it did not get as far as to serve.
    """

    def __init__(
        self,
        command: Sequence[str],
        modules: Iterable[str],
        environment: Mapping[str, str],
        folder: str | None = None,
        output: int | None = None,
    ) -> None:
        self._lock, self._importing = threading.Lock(), threading.Lock()
        self._modules = set(modules)
        self._owner = os.getpid()
        given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        paths = dict.fromkeys([str(PACKAGES), *(str(Path(path).absolute()) for path in given)])
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *command, str(theirs.fileno()), *modules],
                cwd=folder,
                env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C in the terminal, or an interrupted notebook, is for us to handle
            )
        self._gone = False
        """Known before its exit status is: a big process takes a while to die."""
        try:
            self.threads = int(self._answer(START_SECONDS)["threads"])
            """How many it has: one, or forking would not be safe."""
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(
        self, request: dict[str, Any], descriptors: Sequence[int] = (), seconds: float | None = None
    ) -> dict[str, Any]:
        """The answer to one request.

        Args:
            request: what is asked.
            descriptors: file descriptors that go with it.
            seconds: for the answer; `ANSWER_SECONDS` when left out.

        Raises:
            ServerGone: it was killed, or did not answer in time.
            StartError: it could not do what it was asked.
        """
        seconds = ANSWER_SECONDS if seconds is None else seconds
        message = json.dumps(request).encode()
        if len(message) > MAX_MESSAGE:
            raise StartError(f"a request of {len(message)} bytes: at most {MAX_MESSAGE} can be sent")
        with self._lock:
            if self._gone:
                raise ServerGone("the fork server is gone")
            try:
                self._control.settimeout(seconds)
                socket.send_fds(self._control, [message], list(descriptors))
                answer = self._answer(seconds)
            except OSError as error:
                raise self._lost(str(error)) from None
            except BaseException:  # an interrupt: the answer is still on its way
                self._lost("interrupted")
                raise
        if "error" in answer:
            raise StartError(str(answer["error"]))
        return answer

    def _answer(self, seconds: float) -> dict[str, Any]:
        try:
            self._control.settimeout(seconds)
            data = self._control.recv(MAX_MESSAGE)
        except TimeoutError:
            raise self._lost(f"it did not answer within {seconds:g} s") from None
        if not data:
            raise self._lost("it ended")
        answer: dict[str, Any] = json.loads(data)
        return answer

    def _lost(self, how: str) -> ServerGone:
        self._gone = True
        self._process.kill()
        return ServerGone(f"the fork server is gone ({how})")

    def fork(self, request: dict[str, Any], descriptors: Sequence[int] = (), wait: bool = True) -> dict[str, Any]:
        """Has it fork a process, and waits until that is ready: its `pid`, the `inner` one to kill, its `descriptors`.

        Args:
            request: what the process is to become.
            descriptors: file descriptors for it.
            wait: False for a process that never says that it is ready: its exit code says how it ended.

        Raises:
            ServerGone: see `ask`.
            StartError: the process could not be made, or was killed before it was ready.
        """
        ready, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ready:
            with theirs:  # the new process's is then the only one, and its end is seen here
                pid = int(self.ask(request, [theirs.fileno(), *descriptors])["pid"])
            answer: dict[str, Any] = {"pid": pid, "inner": pid, "descriptors": []}
            if not wait:
                return answer
            try:
                ready.settimeout(READY_SECONDS)
                said, answer["descriptors"], _, _ = socket.recv_fds(ready, MAX_MESSAGE, MAX_DESCRIPTORS)
                answer |= json.loads(said or '{"error": "it was killed"}')
            except TimeoutError:
                answer = {"error": f"it was not ready within {READY_SECONDS:g} s"}
            except OSError as error:
                answer = {"error": str(error)}
        if "error" in answer:
            self.ask({"op": "end", "pid": pid, "inner": pid, "grace_seconds": 0.0})
            raise StartError(f"a process could not be started: {answer['error']}")
        return answer

    def exit_code(self, pid: int) -> int | None:
        """The exit code of a process that it has forked, negative for a signal; None while it runs."""
        try:
            code: int | None = self.ask({"op": "look", "pid": pid})["code"]
        except ServerGone:
            code = -signal.SIGKILL  # it took its forks along
        return code

    def clear(self) -> None:
        """Ends all its forks and everything that they have left behind."""
        with contextlib.suppress(ServerGone):
            self.ask({"op": "clear"})

    def import_more(self, modules: Iterable[str]) -> None:
        """Has it import what it has not imported yet; processes forked from now on have it too.

        Raises:
            ServerGone: it was killed, or did not survive the import.
        """
        with self._importing:
            missing = [name for name in modules if name not in self._modules]
            if missing:
                self.threads = int(self.ask({"op": "import", "modules": missing}, seconds=START_SECONDS)["threads"])
                self._modules.update(missing)

    def alive(self) -> bool:
        """Whether it still runs, and is this process's own."""
        return not self._gone and self._owner == os.getpid() and self._process.poll() is None

    def close(self) -> None:
        """Ends it and every process that it forked."""
        self._gone = True
        self._control.close()
        for _ in range(2):
            try:
                self._process.wait(timeout=CLOSE_SECONDS)
                return
            except subprocess.TimeoutExpired:
                self._process.kill()


class Forked:
    """A forked process, with as much of `subprocess.Popen` as launches and Jupyter ask for.

    Args:
        pid: its process id.
        look: gives its exit code, negative for a signal; None while it runs.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int, look: Callable[[], int | None]) -> None:
        self.pid, self._look = pid, look
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self._look()
        return self.returncode

    def wait(self, timeout: float = WAIT_SECONDS) -> int:
        """Its exit code, once it has one.

        Raises:
            subprocess.TimeoutExpired: it still runs after `timeout` seconds.
        """
        until, pause = time.monotonic() + timeout, 0.0005
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired(f"forked process {self.pid}", timeout)
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return code

    def send_signal(self, number: int) -> None:
        """Signals it, if it still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)


S = TypeVar("S", bound=ForkServer)


class Shared(Generic[S]):
    """One server for this Python process: started when there is none, or none any more; it ends with the process."""

    def __init__(self, start: Callable[[], S]) -> None:
        self._start, self._lock = start, threading.Lock()
        self.server: S | None = None
        """The last one that was started."""

    def get(self) -> S:
        """The server.

        Raises:
            StartError: none can be started.
        """
        with self._lock:
            if self.server is None or not self.server.alive():
                if self.server is not None:
                    atexit.unregister(self.server.close)
                    self.server.close()
                    self.server = None
                self.server = self._start()
                atexit.register(self.server.close)
            return self.server
