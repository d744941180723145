"""Jupyter kernels forked from the warm parent: the same kernel as ever, ready in a fraction of a second.

Registered as the kernel provisioner `gpulab-warm`: whatever starts kernels through jupyter_client (nbclient, nbval, a
notebook server) can have them by naming it in a kernel spec. They are as trusted as any kernel: nothing confines them.

Two things are not as in a kernel that starts cold, which is why `grader build` and `make test` start theirs cold: the
hash seed is not the one that the environment asks for, and what the warm parent has imported is there already, so that
a cell that forgets `import torch.utils.benchmark` works here and fails for a student.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from grader.processes import client
from grader.sandbox import Tier

NAME = "gpulab-warm"


_parent: client.Parent | None = None
_lock = threading.Lock()


def warm_parent() -> client.Parent:
    """The warm parent of this Python process's kernels, which may use all cores; started with the first of them."""
    global _parent
    with _lock:
        if _parent is None or not _parent.alive():
            if _parent is not None:
                atexit.unregister(_parent.close)
                _parent.close()
            _parent = client.Parent(tier=Tier.LIMITS, one_core=False)
            atexit.register(_parent.close)
        return _parent


class _Kernel:
    """A forked kernel, with as much of `subprocess.Popen` as a provisioner asks for."""

    stdin = stdout = stderr = None

    def __init__(self, parent: client.Parent, pid: int) -> None:
        self.pid, self._parent = pid, parent
        self._watched = os.pidfd_open(pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """0 when it has ended, None while it runs: its parent, not we, learns its exit status."""
        if self.returncode is None and select.select([self._watched], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        """Waits for its end and has it reaped."""
        if self.returncode is None:
            select.select([self._watched], [], [])
            os.close(self._watched)
            self.returncode = 0
            with contextlib.suppress(client.StartError):
                self._parent.ask({"op": "end", "pid": self.pid, "inner": self.pid, "grace_seconds": 1.0})
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Signals it; nothing happens when it has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Ends it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)


class WarmProvisioner(LocalProvisioner):
    """Starts a kernel by forking the warm parent instead of running the kernel spec's command."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Forks a kernel that listens where the command's connection file says.

        Raises:
            processes.StartError: it could not be forked.
        """
        connection_file = next(word for word in cmd if word.endswith(".json"))
        request = {
            "op": "kernel",
            "connection_file": connection_file,
            "folder": str(kwargs.get("cwd") or Path.cwd()),
            "environment": dict(kwargs.get("env") or os.environ),
        }
        null = os.open(os.devnull, os.O_RDWR)
        try:
            outputs = [_descriptor(kwargs.get(name), null) for name in ("stdout", "stderr")]
            parent = warm_parent()
            answer = parent.start(request, [null, *outputs])
        finally:
            os.close(null)
        self.process = _Kernel(parent, answer["pid"])  # type: ignore[assignment]  # all of Popen that is ever used
        self.pid, self.pgid = answer["pid"], answer["pid"]
        return self.connection_info


def _descriptor(stream: Any, null: int) -> int:
    """The file descriptor that a `Popen` argument means."""
    if stream is None or stream == subprocess.DEVNULL:
        return null
    return stream if isinstance(stream, int) and stream >= 0 else int(stream.fileno())
