"""DDP and scaling: two real `torchrun` launchers side by side on this machine, as if each were on a node of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from gpulab.doctor.hosts import needs_unix
from gpulab.ranks.processes import free_port


def torchrun(node: int, port: int, nodes: int = 2, ranks_each: int = 1) -> list[str]:
    """The command line of one node's launcher, without the script."""
    return [
        "torchrun", f"--nnodes={nodes}", f"--node-rank={node}", f"--nproc-per-node={ranks_each}",
        "--master-addr=127.0.0.1", f"--master-port={port}",
    ]  # fmt: skip


def two_nodes(source: str, ranks_each: int = 1, seconds: float = 60.0) -> list[str]:
    """What the ranks of two nodes print, each node's launcher having started its own; all are gone afterwards.

    Not what the launchers themselves log: the one that ends last often complains that the other's store is gone.

    Raises:
        RuntimeError: a launcher failed, or did not end in time; with the end of what each of them printed.
    """
    needs_unix("Two nodes on one machine")
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="gpulab-nodes-"))
        program = Path(name) / "script.py"
        program.write_text(source, encoding="utf-8")
        port = free_port()
        logs, complaints = ([stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)] for _ in range(2))
        running = [
            subprocess.Popen(
                # The command `torchrun` is this module.
                [sys.executable, "-m", "torch.distributed.run", *torchrun(node, port, 2, ranks_each)[1:], str(program)],
                cwd=name,
                env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "CUDA_VISIBLE_DEVICES": ""},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=complaint,
                start_new_session=True,
            )
            for node, (log, complaint) in enumerate(zip(logs, complaints, strict=True))
        ]
        try:
            codes = _wait(running, time.monotonic() + seconds)
        finally:
            for process in running:
                process.send_signal(signal.SIGTERM)  # a launcher ends its ranks, which have sessions of their own
            for process in running:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(5)
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        printed, complained = ([_read(log) for log in each] for each in (logs, complaints))
    if any(codes):
        both = zip(printed, complained, strict=True)
        ends = "\n".join(f"node {node}: {_last(said or text)}" for node, (text, said) in enumerate(both))
        raise RuntimeError(f"The launchers ended with {codes} (None: not within {seconds:g} s).\n{ends}")
    return printed


def _wait(running: Sequence[subprocess.Popen[bytes]], until: float) -> list[int | None]:
    while time.monotonic() < until:
        codes = [process.poll() for process in running]
        if any(codes) or None not in codes:
            break
        time.sleep(0.05)
    return [process.poll() for process in running]


def _read(log: object) -> str:
    log.seek(0)  # type: ignore[attr-defined]
    return str(log.read()).strip()  # type: ignore[attr-defined]


def _last(text: str) -> str:
    return "\n".join(text.splitlines()[-3:])
