"""Imported once, by a process that will fork others: pays for what the first launch in a process pays for.

That is the import of Numba's compiler and its first use, half a second together, and as much for the part of the PTX
emulator that is the same for every kernel. The GPU's driver is left alone: a
process that had asked for it could no longer lend it to its forks.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from numba import cuda

from gpulab.trace.ptx.runtime.machine import runtime
from gpulab.trace.python.type_inference import ARCHITECTURE


def warm_up() -> None:
    """Compiles a small kernel for a GPU that need not be there, without a compiler none; and the PTX emulator."""

    def kernel(x: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            x[i] = x[i] + x[i]

    with suppress(Exception):  # whatever is missing here is told where somebody launches a kernel
        signature = cuda.types.void(cuda.types.float32[::1])
        cuda.compile(kernel, signature, cc=ARCHITECTURE, device=False, abi="numba", lineinfo=True)
    runtime()


warm_up()
