"""Jupyter kernels forked by a fork server: the same kernel as ever, ready in a fraction of a second.

Registered as the kernel provisioner `gpulab-warm`: whatever starts kernels through jupyter_client (nbclient, nbval, a
notebook server) can have them by naming it in a kernel spec. They are as trusted as any kernel: nothing confines them.

Two things are not as in a kernel that starts cold, which is why `grader build` and `make test` start theirs cold: the
hash seed is not the one that the environment asks for, and what the fork server has imported is there already, so that
a cell that forgets `import torch.utils.benchmark` works here and fails for a student.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from gpulab.forkserver.client import Forked, Shared
from grader.processes import client
from grader.sandbox import Tier

NAME = "gpulab-warm"


def _start() -> client.SubmissionServer:
    return client.SubmissionServer(client.modules(), Tier.LIMITS, one_core=False)


shared = Shared(_start)
"""The fork server of this Python process's kernels, which may use all cores."""


class WarmProvisioner(LocalProvisioner):
    """Starts a kernel by forking the fork server instead of running the kernel spec's command."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Forks a kernel that listens where the command's connection file says.

        Raises:
            gpulab.forkserver.client.StartError: it could not be forked.
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
            server = shared.get()
            pid = server.fork(request, [null, *outputs])["pid"]
        finally:
            os.close(null)
        kernel = Forked(pid, lambda: server.exit_code(pid))
        self.process = kernel  # type: ignore[assignment]  # all of Popen that is ever used
        self.pid, self.pgid = pid, pid
        return self.connection_info


def _descriptor(stream: Any, null: int) -> int:
    """The file descriptor that a `Popen` argument means."""
    if stream is None or stream == subprocess.DEVNULL:
        return null
    return stream if isinstance(stream, int) and stream >= 0 else int(stream.fileno())
