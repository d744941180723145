"""The server of boxes: makes the namespaces that students' processes then enter.

It has imported next to nothing, so that the processes which hold a box cost little: making one takes two forks, and a
fork of the server that has PyTorch in its memory, which `fork_server` is, takes many times as long.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpulab.forkserver.forking import keep_only
from gpulab.forkserver.server import ForkingServer, ForkRequest, Ready
from grader import sandbox
from grader.processes.watcher import exit_code_of
from grader.sandbox import Confinement, Tier, tiers
from grader.sandbox.root import box_for

EXERCISES = Path(__file__).resolve().parents[1] / "exercises"


class BoxServer(ForkingServer):
    """Forks a process for each box, which lives as long as the box does."""

    @contextlib.contextmanager
    def forking(self, request: ForkRequest, descriptors: Sequence[int]) -> Iterator[None]:
        """See `ForkingServer`."""
        confinement(request)  # what it finds out is the same for all, and a fork knows what its parent knew
        yield

    def become(self, ready: Ready, request: ForkRequest, descriptors: list[int]) -> int:
        """Makes a box, hands the client its first process, and waits for the end of that."""
        first = sandbox.make_box(confinement(request))
        ready(inner=first, descriptors=[os.pidfd_open(first)])  # it alone knows its number out here
        keep_only([])
        return exit_code_of(first)


def confinement(request: ForkRequest) -> Confinement:
    """The settings that a request describes."""
    # A reference's process, in which no code of a student's ever runs, sees the references too.
    more = (str(EXERCISES),) if request.get("exercises") else ()
    box = box_for(request["folder"], request["work"], tuple(request["courses"]), more)
    return Confinement(Tier(request["tier"]), box, request["number"])


if __name__ == "__main__":
    os.umask(tiers.UMASK)
    BoxServer().serve(int(sys.argv[1]), sys.argv[2:])
