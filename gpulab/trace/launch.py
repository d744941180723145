"""Launches in the tracer, and who wants to know about them: `run`, `last`, `recording`.

How `kernel[grid, block](…)` comes here is up to `hook`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.host import no_gpu
from gpulab.trace.errors import LaunchError
from gpulab.trace.python.execute import traced_run
from gpulab.trace.python.type_inference import CompilerMissingError, typecheck
from gpulab.trace.result import Trace


@dataclass
class _State:
    last: Trace | None = None
    compile_first: bool = True


_state = _State()
_recordings: list[list[Trace]] = []


class Observer(Protocol):
    """Sees every launch in the tracer, with the arrays as the host code passed them."""

    def before(self, kernel: Any, grid: Any, block: Any, arguments: Sequence[Any], shared_bytes: int) -> None:
        """Called before the kernel runs."""

    def after(self) -> None:
        """Called when the kernel has run to its end."""


_observers: list[Observer] = []


def launched(kernel: Any, grid: Any, block: Any, arguments: Sequence[Any], shared_bytes: int = 0) -> Trace:
    """Runs one launch in the tracer and remembers its trace.

    Raises:
        TraceError: a GPU would not carry it out as written.
    """
    with shown(kernel, grid, block, arguments, shared_bytes):
        # What runs as Python may be none for a GPU; what fails as Python is better told by the tracer.
        trace = traced_run(kernel, grid, block, arguments, shared_bytes)
        if _state.compile_first:
            with suppress(CompilerMissingError):
                trace = replace(trace, float64_lines=typecheck(kernel, *arguments).float64_lines)
    return remember(trace)


@contextmanager
def shown(kernel: Any, grid: Any, block: Any, arguments: Sequence[Any], shared_bytes: int) -> Iterator[None]:
    """Shows the launch that is made in the block to all observers; its end only if it succeeds."""
    for observer in _observers:
        observer.before(kernel, grid, block, arguments, shared_bytes)
    yield
    for observer in _observers:
        observer.after()


def remember(trace: Trace) -> Trace:
    """Makes a trace the latest one, and gives it to those who record."""
    _state.last = trace
    for launches in _recordings:
        launches.append(trace)
    return trace


def run(kernel: Any, grid: Any, block: Any, *arguments: Any, shared_bytes: int = 0) -> Trace:
    """Runs a kernel in the tracer, on a machine with or without a GPU, and counts what it does.

    Args:
        kernel: decorated with `@cuda.jit`.
        grid: blocks: an int, or up to three.
        block: threads of a block: an int, or up to three.
        arguments: of the kernel. Arrays (NumPy's, torch tensors, device arrays) are written to as on a GPU.
        shared_bytes: dynamic shared memory of a block.

    Raises:
        TraceError: a GPU would not carry out the launch as written; its kinds are in `gpulab.trace.errors`.
    """
    return launched(kernel, grid, block, arguments, shared_bytes)


def last() -> Trace:
    """The trace of the latest launch in the tracer.

    Raises:
        LaunchError: there was none yet.
    """
    if _state.last is None:
        raise LaunchError(
            "Nothing was launched in the tracer yet. On a GPU ask for it: trace.run(kernel, grid, block, …)."
        )
    return _state.last


@contextmanager
def recording() -> Iterator[list[Trace]]:
    """Traces every launch inside the block, on a GPU as well, and gives their traces as a list that grows."""
    launches: list[Trace] = []
    _recordings.append(launches)
    try:
        yield launches
    finally:
        # By identity: two empty lists are equal.
        _recordings[:] = [one for one in _recordings if one is not launches]


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Runs every launch inside the block in the tracer, on a GPU as well, and shows it to the observer."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def is_recording() -> bool:
    """Whether somebody wants every launch to run in the tracer."""
    return bool(_recordings or _observers)


def compile_launches(wanted: bool) -> None:
    """Whether launches in the tracer are also given to Numba's compiler; 0.1 s for each kernel, once."""
    _state.compile_first = wanted


def where() -> str:
    """One line that says what runs the kernels here."""
    if has_gpu():
        return f"Kernels run on the GPU: {device_name('cuda')}."
    return no_gpu(
        "No GPU here: kernels run on the CPU in gpulab.trace, one thread after another. Every memory access is counted."
    )
