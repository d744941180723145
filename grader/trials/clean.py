"""A trial's clean process: it has run the chapter's own code and the answer, as the judge's has.

There the exercise's streams are on a timeline, or its GPU and its clocks are simulated.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
from collections.abc import Sequence

from IPython.core.interactiveshell import InteractiveShell

from gpulab.forkserver.process_control import die_with_parent
from grader.judging import student
from grader.judging.shell import Outputs
from grader.model.needs import Need
from grader.processes.channel import Channel

NEEDS = frozenset({Need.TIMELINE, Need.VIRTUAL_GPU})
"""Those for which a trial has a clean process. It counts memory accesses itself: no answer of ours forges them."""


def fork(shell: InteractiveShell, cells: Sequence[str], simulated: bool) -> Channel:
    """A fork of this process that runs these cells and then answers requests until its parent ends.

    Args:
        shell: what runs the cells.
        cells: in order.
        simulated: whether they run on a simulated GPU, and all later calls do.
    """
    ours, theirs = socket.socketpair()
    if os.fork():
        theirs.close()
        return Channel(ours)
    try:
        ours.close()
        die_with_parent()
        channel, outputs = Channel(theirs), Outputs(None)
        server = student.Server(channel, shell, outputs)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            if simulated:
                server.answer({"op": "simulate"}, [])
            for cell in cells:
                shell.run_cell(cell, store_history=False)
            server.serve()
    finally:
        os._exit(0)
