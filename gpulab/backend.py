"""What tests and notebooks ask of the process that they run in, as one object that a judge replaces.

In a notebook everything happens in the notebook's own process, and that is what the default `Backend` says. A judge
keeps an answer in other processes, so it supplies its own functions for counting, timing, launching and compiling, and
its own seed; `use` puts them in place. The modules that students call look here before they do the work themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

NOTEBOOK_SEED = 20260101
"""The seed outside grading: a student sees the same inputs on every run."""


class Side(Protocol):
    """One of the two functions that a speedup compares; see `gpulab.measuring.speedup`."""

    def go(self, seed: int, calls: int, idle: bool) -> None:
        """Draws inputs for so many calls and, unless idle, makes them; returns when the device is done."""

    def project(self, which: int, seed: int) -> list[float]:
        """What the output of call number `which` projects to; an idle round looks at the outputs of the last one."""


class Process(Protocol):
    """A started program, to be asked as a `subprocess.Popen` is."""

    pid: int

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""

    def wait(self, timeout: float = ...) -> int:
        """Its exit code, once it has one.

        Raises:
            subprocess.TimeoutExpired: it still runs after `timeout` seconds.
        """

    def send_signal(self, number: int) -> None:
        """Signals it, if it still runs."""


Found = AbstractContextManager[list[dict[str, Any]]]
"""A block, and what was found in it: one dict of plain values each. The list is complete when the block has ended."""
Sides = Callable[[Callable[..., Any], Any, dict[str, Any]], tuple[Side, Side]]
"""(the exercise, its `speedup.Comparison`, sizes) → the exercise's side and the reference's."""
RunConfined = Callable[[Callable[..., Any], tuple[Any, ...], str, float], Any]
"""(function, its arguments, what it does, seconds) → what it returns; see `gpulab.confined.call`."""
StartRank = Callable[[Path, Sequence[str], Path, Mapping[str, str], IO[bytes]], Process]
"""(program, arguments, folder, environment, open file for its output) → the process; see `gpulab.ranks.forks.start`."""


@dataclass(frozen=True)
class Backend:
    """Where a process has its work done. A field that is left out means: in this process, as in a notebook."""

    seed: int = NOTEBOOK_SEED
    """What `seed()` returns."""
    services: frozenset[str] | None = None
    """Those that the running test cell declares as its needs: `counting`, `speedup`, …: `grader.model.needs`. None
    allows all."""
    counting: Callable[[int], Found] | None = None
    """Behind `gpulab.trace.counting`: the launches of the calls in a block; the key of what `tl.dot` multiplies by."""
    speedup: Sides | None = None
    """Behind `gpulab.measuring.speedup`."""
    script: Callable[[Any], Any] | None = None
    """Behind `gpulab.ranks.launch.script`: runs a `launch.Job`, gives a `launch.Run`."""
    ranks: Callable[[Any], tuple[Any, tuple[bytes, ...]]] | None = None
    """Behind `gpulab.ranks.launch.ranks`: `launch.RankCall` → `launch.Run` and what each rank returned."""
    listening: Callable[[float, float], Found] | None = None
    """Behind `gpulab.ranks.launch.listening`: what ranks send in a block; what is added to it, and what the numbers
    that they are given are multiplied by."""
    timeline: Callable[[], Found] | None = None
    """Behind `gpulab.streams.timeline`: the operations of simulated streams in a block."""
    measuring: Callable[[Any], AbstractContextManager[None]] | None = None
    """Behind `gpulab.virtual_gpu.running`: calls in the block find this `virtual_gpu.MachineModel`."""
    confined: RunConfined | None = None
    """Behind `gpulab.confined.call`."""
    start_rank: StartRank | None = None
    """Starts one rank of a launch; from the fork server of `gpulab.ranks` when left out."""
    launch_seconds: float = math.inf
    """No launch gets more time than that, whatever it asks for."""


_current = Backend()


def current() -> Backend:
    """The backend of this process."""
    return _current


@contextmanager
def use(backend: Backend) -> Iterator[None]:
    """Replaces the backend of this process inside the block."""
    global _current
    before, _current = _current, backend
    try:
        yield
    finally:
        _current = before


def seed() -> int:
    """The number that a test draws its random inputs from; the same at every call in a process.

    Returns:
        The judge's secret seed while it grades, `NOTEBOOK_SEED` everywhere else.
    """
    return _current.seed
