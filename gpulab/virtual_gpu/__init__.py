"""A simulated GPU with a clock of its own, for tests of exercises that measure.

What a function measures depends on the machine and on what else runs there, so a test cannot tell a right number from a
wrong one. On the simulated GPU it can: every operation of PyTorch on a CUDA tensor takes the time that a *machine* of
the test's gives it, on a clock that stands still in between. Launches return at once, `torch.cuda.synchronize`
waits, and `time`, `timeit`, `datetime`, `torch.utils.benchmark` and CUDA events read that clock.

`running` is what a test cell uses. In one process, as in a notebook, it simulates here. The judge's `gpulab.backend`
has the exercise run in another process, which reports operations and asks for the time; the machine, and with it every
rate, stays in the judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from gpulab.backend import current
from gpulab.check.services import require

SentOperation = list[Any]
"""A name and numbers, such as `["copy", 0, 2000000]`; `operations` lists them."""


class MachineModel(Protocol):
    """Says how long everything takes."""

    def run(self, operations: list[SentOperation]) -> float:
        """Takes operations in their order; the value of the last one, such as the clock's seconds."""


@contextmanager
def running(machine: MachineModel) -> Iterator[None]:
    """In the block, calls of the exercise find one GPU, `machine`, whatever is installed here."""
    require("virtual_gpu")
    runner = current().measuring
    if runner is not None:
        with runner(machine):
            yield
        return
    from gpulab.virtual_gpu.installing import installed

    with installed() as recorder, recorder.asking(machine.run):
        yield
