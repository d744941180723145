"""Runs a plain `@cuda.jit` kernel on the CPU and shows every memory access: which addresses each warp touched.

Importing it is enough for `kernel[grid, block](…)` to work on a machine without a GPU. On any machine `run` and
`recording` give a `Trace`: sectors for each warp request, elements read and written, bank conflicts, races with the two
lines that clash; `picture` draws a request. The counts are those of the source as written: caches, registers, and what
a compiler would remove are not modelled.

What differs from a GPU. Threads run one after another, in one of the orders that a GPU may choose. Integers never
overflow. A Python float is rounded to float32 as soon as it meets one, where a GPU would compute in float64; a product
and a sum are rounded one by one, where a GPU fuses them. Compare with a tolerance.
"""

from __future__ import annotations

from typing import Any

from gpulab.trace.counting import counting
from gpulab.trace.errors import (
    BarrierError,
    CompileError,
    EndlessKernelError,
    LaunchError,
    OutOfBoundsError,
    TraceError,
    UnsupportedError,
)
from gpulab.trace.hook import install
from gpulab.trace.launch import compile_launches, last, recording, run, where
from gpulab.trace.result import LineCount, Race, Request, Touch, Trace, UnwrittenRead
from gpulab.trace.typecheck import Compiled, CompilerMissingError, typecheck

__all__ = [
    "BarrierError",
    "CompileError",
    "Compiled",
    "CompilerMissingError",
    "EndlessKernelError",
    "LaunchError",
    "LineCount",
    "OutOfBoundsError",
    "Race",
    "Request",
    "Touch",
    "Trace",
    "TraceError",
    "UnsupportedError",
    "UnwrittenRead",
    "compile_launches",
    "counting",
    "install",
    "last",
    "picture",
    "recording",
    "run",
    "typecheck",
    "where",
]

install()


def picture(trace: Trace, line: int | None = None, **options: Any) -> None:
    """Draws one warp's request; the arguments are those of `gpulab.trace.pictures.draw`."""
    from gpulab.trace.pictures import draw

    draw(trace, line, **options)
