"""Ranks from a fork server that has torch in memory: the second launch of a notebook starts at once.

Importing torch takes seconds of every rank, importing Lightning three times as many. The server is an interpreter of
its own, started with the first launch, so no rank inherits anything of the notebook's; it ends, with all its ranks,
when the notebook's process does. How a fork is made to look like a fresh interpreter is the business of `ranks.forks`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from gpulab.forkserver import server
from gpulab.forkserver.client import Forked, ForkServer, Shared
from gpulab.ranks import forks

AT_ONCE = ("numpy", "torch", "torch.distributed", "cloudpickle", "gpulab.training.problem", "gpulab.ranks.messages")
IF_NAMED = {
    "DistributedDataParallel": ("torch._dynamo", "gpulab.training.networks", "gpulab.training.data"),
    "torchvision": ("torchvision",),
    "resnet": ("torchvision",),
    "pytorch_lightning": ("pytorch_lightning", "torch._dynamo"),
    "lightning": ("lightning", "torch._dynamo"),
}
"""Word in a program → what it will import, if only when it runs."""
OWN_SETTINGS = re.compile(r"PYTHON|OMP_|MKL_|OPENBLAS_|LD_|TORCH")
"""Variables that count when an interpreter starts or imports torch: a rank with its own cannot come from here."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def start(
    program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
) -> Forked:
    """A new rank: what `forks.start` does, in a fork of the server.

    Raises:
        StartError: it could not be started.
    """
    words = set(re.findall(r"\w+", program.read_text(encoding="utf-8")))
    there = shared.get()
    there.import_more(module for name, modules in IF_NAMED.items() if name in words for module in modules)
    request = {
        "op": "rank",
        "program": str(program),
        "arguments": list(arguments),
        "folder": str(folder),
        "environment": dict(environment),
    }
    pid = there.fork(request, [log.fileno()])["pid"]
    return Forked(pid, lambda: there.exit_code(pid))


def suits(environment: Mapping[str, str]) -> bool:
    """Whether ranks with these further variables can come from the server."""
    return sys.platform == "linux" and not any(OWN_SETTINGS.match(name) for name in environment)


def _start() -> ForkServer:
    return ForkServer(
        ["-m", "gpulab.ranks.fork_server"], AT_ONCE, {**os.environ, **ONE_THREAD}, output=subprocess.DEVNULL
    )


shared = Shared(_start)
"""The fork server of this process's ranks."""


class RankServer(server.Server):
    """Forks ranks."""

    def become(self, ready: server.Ready, request: dict[str, Any], descriptors: list[int]) -> int:
        """See `forks.become`."""
        given = request["arguments"], Path(request["folder"]), request["environment"]
        return forks.become(Path(request["program"]), *given, descriptors[0], ready)


if __name__ == "__main__":
    RankServer(adopts=True).serve(int(sys.argv[1]), sys.argv[2:])
