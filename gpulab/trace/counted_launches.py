"""`counting`: what a test cell uses to learn what an exercise's kernels do to memory.

In one process, as in a notebook, it records the launches made inside the block. The judge's `gpulab.backend` asks
another process instead: a clean one that holds only the exercise's own cell.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from gpulab.backend import current
from gpulab.check.services import require
from gpulab.trace.launch import recording

Launches = list[dict[str, Any]]
"""One `Trace.summary()` for each launch, in order: plain values. Triton's launches, and the eager kernels around them,
are `triton.counts.Programs.summary()` and what `triton.eager` finds."""


@contextmanager
def counting() -> Iterator[Launches]:
    """The launches made by the calls in the block, as plain dicts; the list is complete when the block has ended.

    They run in the tracer, also on a machine with a GPU: counts do not depend on the machine.
    """
    require("counting")
    counter = current().counting
    if counter is not None:
        with counter() as launches:
            yield launches
        return
    launches = []
    with recording() as traces, _programs() as programs:
        yield launches
    launches.extend(trace.summary() for trace in traces)
    launches.extend(programs)


def _programs() -> AbstractContextManager[Launches]:
    """What Triton and eager PyTorch launch, where this process has asked for Triton (`trace.use_triton`)."""
    hook = sys.modules.get("gpulab.trace.triton.hook")
    return hook.recording_if_used() if hook is not None else nullcontext([])
