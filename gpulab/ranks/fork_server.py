"""A clean interpreter that has torch in memory and forks ranks: the second launch of a notebook starts at once.

Importing torch takes seconds of every rank, importing Lightning three times as many. Here it is done once. The nursery
is an interpreter of its own, started with the first launch, so no rank inherits anything of the notebook's; it ends,
with all its ranks, when the notebook's process does. How a fork is made to look like a fresh interpreter is the
business of `ranks.forks`, what is run in it that of `ranks.processes`.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from gpulab.ranks.prctl import adopt_orphans

MAX_MESSAGE = 1 << 20
AT_ONCE = ("numpy", "torch", "torch.distributed", "cloudpickle", "gpulab.training.problem", "gpulab.ranks.messages")
IF_NAMED = {
    "DistributedDataParallel": ("torch._dynamo", "gpulab.training.networks", "gpulab.training.data"),
    "torchvision": ("torchvision",),
    "resnet": ("torchvision",),
    "pytorch_lightning": ("pytorch_lightning", "torch._dynamo"),
    "lightning": ("lightning", "pytorch_lightning", "torch._dynamo"),  # either may be the one that is installed
}
"""Word in a program → what it will import, if only when it runs."""
OWN_SETTINGS = re.compile(r"PYTHON|OMP_|MKL_|OPENBLAS_|LD_|TORCH")
"""Variables that count when an interpreter starts or imports torch: a rank with its own cannot come from here."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Gone(RuntimeError):
    """The nursery does not answer; a fresh interpreter will have to do."""


class Nursery:
    """The notebook's side of it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.pathsep.join(
            [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gpulab.ranks.fork_server", str(theirs.fileno())],
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # interrupting the notebook is not meant for it
        )
        theirs.close()
        self._control, self._lock = ours, threading.Lock()

    def start(
        self, program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
    ) -> Rank:
        """A new rank: what `forks.start` does, over there.

        Raises:
            Gone: it does not answer.
        """
        request = {
            "op": "start",
            "program": str(program),
            "arguments": list(arguments),
            "folder": str(folder),
            "environment": dict(environment),
        }
        return Rank(self, int(self.ask(request, log)["pid"]))

    def clear(self) -> None:
        """Ends everything that ranks have left behind."""
        with contextlib.suppress(Gone):
            self.ask({"op": "clear"})

    def ask(self, request: dict[str, Any], log: IO[bytes] | None = None) -> dict[str, Any]:
        """The answer to one request.

        Raises:
            Gone: there is none.
        """
        try:
            with self._lock:
                descriptors = [log.fileno()] if log else []
                socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
                data = self._control.recv(MAX_MESSAGE)
        except OSError as error:
            raise Gone(str(error)) from None
        if not data:
            raise Gone("it ended")
        answer: dict[str, Any] = json.loads(data)
        return answer

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends it and all its ranks."""
        self._control.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Rank:
    """A process that the nursery has forked, to be asked as a `subprocess.Popen` is."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self.pid, self._nursery = pid, nursery
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._look("poll")

    def wait(self) -> int:
        """Its exit code, once it has one."""
        return self._look("wait") or 0

    def send_signal(self, number: int) -> None:
        """Signals it, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _look(self, how: str) -> int | None:
        if self._code is None:
            try:
                self._code = self._nursery.ask({"op": how, "pid": self.pid})["code"]
            except Gone:
                self._code = -signal.SIGKILL  # it took its ranks along
        return self._code


_shared: Nursery | None = None
_shared_lock = threading.Lock()


def shared() -> Nursery:
    """The nursery of this process, started when there is none, or none any more."""
    global _shared
    with _shared_lock:
        if _shared is None or not _shared.alive():
            if _shared is not None:
                atexit.unregister(_shared.close)
                _shared.close()
            _shared = Nursery()
            atexit.register(_shared.close)
        return _shared


def suits(environment: Mapping[str, str]) -> bool:
    """Whether ranks with these further variables can come from a nursery."""
    return sys.platform == "linux" and not any(OWN_SETTINGS.match(name) for name in environment)


# ----------------------------------------------------------------------------------------------------- over there


def main(descriptor: int) -> None:
    """Serves the notebook's process until that closes the socket or ends."""
    from gpulab.ranks import forks

    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    adopt_orphans()  # what leaves its session becomes a child of ours when its parent ends
    _import(AT_ONCE)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MAX_MESSAGE, 1)
        if not message:
            break
        request: dict[str, Any] = json.loads(message)
        answer: dict[str, Any] = {}
        if request["op"] == "start":
            program = Path(request["program"])
            words = set(re.findall(r"\w+", program.read_text(encoding="utf-8")))
            _import(module for name, modules in IF_NAMED.items() if name in words for module in modules)
            with os.fdopen(descriptors[0], "wb") as log:
                given = request["arguments"], Path(request["folder"]), request["environment"]
                answer = {"pid": forks.start(program, *given, log).pid}
        elif request["op"] == "clear":
            _clear()
        else:
            answer = {"code": _code(request["pid"], 0 if request["op"] == "wait" else os.WNOHANG)}
        control.send(json.dumps(answer).encode())
    _clear()
    os._exit(0)


def _import(names: Any) -> None:
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _code(pid: int, options: int) -> int | None:
    try:
        found, status = os.waitpid(pid, options)
    except ChildProcessError:
        return -signal.SIGKILL
    return os.waitstatus_to_exitcode(status) if found else None


def _clear() -> None:
    """Ends all children, again and again: those of a child that is killed become ours."""
    for _ in range(100):
        left = _children()
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


if __name__ == "__main__":
    main(int(sys.argv[1]))
