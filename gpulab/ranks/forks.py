"""Ranks that are forks: of this process, or of a fork server that has torch in memory. All else is as if fresh.

Importing torch takes seconds of every rank, importing Lightning three times as many; so the second launch of a notebook
starts at once. The server is an interpreter of its own, started with the first launch, so no rank inherits anything of
the notebook's; it ends, with all its ranks, when the notebook's process does. `processes` says where ranks come from.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import re
import signal
import subprocess
import sys
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from gpulab.forkserver.client import Forked, ForkServer, Shared, StartError
from gpulab.forkserver.ending import exit_code
from gpulab.forkserver.forking import can_fork, fork, take_streams
from gpulab.forkserver.importing import PROMPTS
from gpulab.forkserver.server import ForkingServer, Ready
from gpulab.ranks import lightning_name

AT_ONCE = ("numpy", "torch", "torch.distributed", "cloudpickle", "gpulab.training.problem", "gpulab.ranks.called")
IF_NAMED = {
    "DistributedDataParallel": ("torch._dynamo", "gpulab.training.networks", "gpulab.training.data"),
    "torchvision": ("torchvision",),
    "resnet": ("torchvision",),
    "optim": ("torch._dynamo",),
    "checkpoint": ("torch.distributed.checkpoint.state_dict",),
    "distribute_tensor": ("torch.distributed.tensor", "torch._dynamo"),
    "DTensor": ("torch.distributed.tensor", "torch._dynamo"),
    "_functional_collectives": ("torch._dynamo",),
    "fully_shard": ("torch.distributed.fsdp", "torch._dynamo"),
    "fsdp": ("torch.distributed.fsdp", "torch._dynamo"),
    "pytorch_lightning": ("pytorch_lightning", "torch._dynamo"),
    "lightning": ("lightning", "pytorch_lightning", "torch._dynamo"),  # either may be the one that is installed
}
"""Word in a program, or in a function that it is sent → what it will import, if only when it runs."""
OWN_SETTINGS = re.compile(r"PYTHON|OMP_|MKL_|OPENBLAS_|LD_|TORCH")
"""Variables that count when an interpreter starts or imports torch: a rank with its own cannot come from here."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def named(text: str) -> list[str]:
    """The words of `IF_NAMED` in a text."""
    words = set(re.findall(r"\w+", text))
    return [name for name in IF_NAMED if name in words]


def start(
    program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
) -> Forked:
    """Runs a program in a fork of the server, as `python program arguments…` would, in a session of its own.

    Args:
        program: file with its source.
        arguments: of its command line.
        folder: where it runs.
        environment: all of it.
        log: an open file that takes what it prints, stderr included.

    Raises:
        StartError: it could not be started.
    """
    server = shared.get()
    server.import_more(module for name in named(program.read_text(encoding="utf-8")) for module in IF_NAMED[name])
    request = {"op": "rank", **_request(program, arguments, folder, environment)}
    pid = server.fork(request, [log.fileno()], wait=False)["pid"]
    return Forked(pid, lambda: server.exit_code(pid))


def start_here(
    program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
) -> Forked:
    """The same in a fork of this process.

    Raises:
        StartError: this process has initialized CUDA, which does not survive a fork.
    """
    if not can_fork():
        raise StartError("this process cannot be forked")
    request = _request(program, arguments, folder, environment)
    pid = fork(lambda: _become(request, log.fileno()))
    return Forked(pid, lambda: exit_code(pid, unknown=0))  # the student's code may have asked before


def suits(environment: Mapping[str, str]) -> bool:
    """Whether ranks with these further variables can come from the server."""
    return sys.platform == "linux" and not any(OWN_SETTINGS.match(name) for name in environment)


shared = Shared(lambda: ForkServer(["-m", __name__], AT_ONCE, {**os.environ, **ONE_THREAD}, output=subprocess.DEVNULL))
"""The fork server of this process's ranks."""


# -------------------------------------------------------------------------------------------------- in a forked child


class _Server(ForkingServer):
    def become(self, ready: Ready, request: dict[str, Any], descriptors: list[int]) -> int:
        return _become(request, descriptors[0])


def _request(program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        "program": str(program), "arguments": list(arguments), "folder": str(folder), "environment": dict(environment)
    }  # fmt: skip


def _become(request: dict[str, Any], log: int) -> int:
    """Runs a program. Leaves behind what a fresh interpreter would not have: files, handlers, streams, modules."""
    program = Path(request["program"])
    take_streams((os.open(os.devnull, os.O_RDONLY), log, log))
    atexit._clear()
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w", 1, "utf-8"), os.fdopen(2, "w", 1, "utf-8")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    sys.excepthook = sys.__excepthook__
    for prompt in PROMPTS:  # Lightning, for one, takes a process with prompts for a notebook, and starts no ranks there
        vars(sys).pop(prompt, None)
    try:
        for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        faulthandler.enable(sys.stderr)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.argv = [str(program), *request["arguments"]]
        sys.path[:] = [str(program.parent), *(path for path in sys.path if path)]
        lightning_name.install()
        return _run(program)
    except BaseException:
        traceback.print_exc()
        return 1


def _run(program: Path) -> int:
    """Runs the program as `__main__` to the end of its threads and exit handlers. Its exit code."""
    module = types.ModuleType("__main__")
    module.__file__ = str(program)
    sys.modules["__main__"] = module
    code: object = 0
    try:
        exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), module.__dict__)
    except SystemExit as stop:
        code = stop.code
    except BaseException as error:
        told = error.__traceback__.tb_next if error.__traceback__ else None  # without this function's own frame
        traceback.print_exception(type(error), error, told)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(code, int):
        return code & 0xFF
    return 0 if code is None else 1


if __name__ == "__main__":
    _Server(adopts=True).serve(int(sys.argv[1]), sys.argv[2:])
