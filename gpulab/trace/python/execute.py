"""Runs one launch in the tracer, from its arguments to its `Trace`."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from gpulab.trace.arguments import shape_of, traced_arguments
from gpulab.trace.assembly import assemble
from gpulab.trace.counts import Counter
from gpulab.trace.errors import LaunchError, TraceError, UnsupportedError
from gpulab.trace.log import Log
from gpulab.trace.python.binding import Binder
from gpulab.trace.python.engine import Engine
from gpulab.trace.python.interruption import Budget, watched
from gpulab.trace.python.intrinsics import Cuda, wanted_call
from gpulab.trace.python.scratch import SharedMemory
from gpulab.trace.races import RaceFinder
from gpulab.trace.result import Trace

_COUNTED_AT_ONCE = 300_000
"""Accesses that wait before they are counted, at the end of a block: the tables of a million take 100 MB."""


def traced_run(
    kernel: Any, grid: Any, block: Any, arguments: Sequence[Any], shared_bytes: int = 0, budget: Budget | None = None
) -> Trace:
    """Runs a kernel on the CPU, one thread after another, and counts what it does.

    Args:
        kernel: decorated with `@cuda.jit`.
        grid: blocks, an int or up to three.
        block: threads of a block, an int or up to three.
        arguments: arrays, which are written to as on a GPU, and numbers.
        shared_bytes: dynamic shared memory of a block.
        budget: how long the kernel may run.

    Raises:
        TraceError: a GPU would not carry out this launch as written.
    """
    function = getattr(kernel, "py_func", None)
    if not isinstance(function, FunctionType):
        raise LaunchError(f"{kernel!r} is no kernel. Write @cuda.jit above the function.")
    log = Log()
    engine = Engine(shape_of(grid, "grid"), shape_of(block, "block"), log)
    shared = SharedMemory(engine, int(shared_bytes))
    binder = Binder(Cuda(engine, shared), engine)
    bound = binder.bind(function)
    engine.codes = binder.codes
    passed = traced_arguments(function, arguments, log)
    counter, finder = Counter(), RaceFinder(passed.unwritten)

    def count(at_least: int = _COUNTED_AT_ONCE) -> None:
        if log.waiting >= at_least:
            accesses = log.take()
            counter.add(accesses, log.views)
            finder.add(accesses)

    try:
        with watched(engine, budget or Budget()):
            engine.run(bound, passed.values, shared.renew, count)
    except TraceError:
        raise
    except Exception as error:
        place = engine.place_raised(error)
        wanted = wanted_call(error)
        if place and wanted:
            what = f"These arguments do not fit ({place}). The call is {wanted}."
            raise UnsupportedError(what, place.line, log.thread, log.block) from None
        if place:
            error.add_note(f"In kernel '{function.__name__}', {place} (thread {log.thread} of block {log.block}).")
        raise
    count(at_least=1)
    passed.finish()
    return assemble(function.__name__, engine, counter, finder, shared.used_bytes)
