"""Runs a plain `@cuda.jit` kernel on the CPU and shows every memory access: which addresses each warp touched.

Importing it is enough for `kernel[grid, block](…)` to work on a machine without a GPU. On any machine `run` and
`recording` give a `Trace`: sectors for each warp request, elements read and written, bank conflicts, races with the two
lines that clash; `picture` draws a request. The counts are those of the source as written: caches, registers, and what
a compiler would remove are not modeled.

What differs from a GPU. Threads run one after another, in one of the orders that a GPU may choose. Integers never
overflow. A Python float is rounded to float32 as soon as it meets one, where a GPU would compute in float64; a product
and a sum are rounded one by one, where a GPU fuses them. Compare with a tolerance.
"""

from __future__ import annotations

from typing import Any

from gpulab.trace.counted_launches import counting, even_threads, exchanged, many_threads
from gpulab.trace.errors import (
    BarrierError,
    CompileError,
    EndlessKernelError,
    LaunchError,
    OutOfBoundsError,
    TraceError,
    UnsupportedError,
)
from gpulab.trace.indexing import misindexed
from gpulab.trace.launch import compile_launches, last, recording, run, where
from gpulab.trace.python.hook import install
from gpulab.trace.python.type_inference import CompilerMissingError, TypedKernel, typecheck
from gpulab.trace.result import LineCount, Request, ThreadRace, Touch, Trace, UnwrittenRead
from gpulab.trace.triton.counts import table_of
from gpulab.trace.triton.fusion import all_written, one_kernel, stored_again
from gpulab.trace.triton.oddities import nan_of

__all__ = [
    "BarrierError",
    "CompileError",
    "CompilerMissingError",
    "EndlessKernelError",
    "LaunchError",
    "LineCount",
    "OutOfBoundsError",
    "Request",
    "ThreadRace",
    "Touch",
    "Trace",
    "TraceError",
    "TypedKernel",
    "UnsupportedError",
    "UnwrittenRead",
    "all_written",
    "compile_launches",
    "counting",
    "even_threads",
    "exchanged",
    "install",
    "last",
    "many_threads",
    "misindexed",
    "nan_of",
    "one_kernel",
    "picture",
    "recording",
    "run",
    "stored_again",
    "table_of",
    "typecheck",
    "use_triton",
    "where",
]

install()


def use_triton() -> str:
    """Makes `@triton.jit` kernels run, and be counted, without a GPU, too. Returns a sentence on where they run."""
    from gpulab.trace.triton import hook

    hook.install()
    return hook.where()


def picture(trace: Trace, line: int | None = None, **options: Any) -> None:
    """Draws one warp's request; the arguments are those of `gpulab.trace.pictures.draw`."""
    from gpulab.trace.pictures import draw

    draw(trace, line, **options)
