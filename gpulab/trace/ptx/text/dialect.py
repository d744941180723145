"""How a source language names what PTX has other names for."""

from __future__ import annotations

from dataclasses import dataclass

from gpulab.trace.ptx.text.syntax import Instruction


@dataclass(frozen=True)
class Dialect:
    """CUDA C++, or Numba's Python."""

    barrier: str
    warp_barrier: str
    flat: bool
    """An array has one index, as through a C pointer."""

    def name_of(self, one: Instruction) -> str:
        """What the source calls an instruction at which threads meet."""
        if one.opcode in ("bar", "barrier"):
            return self.warp_barrier if "warp" in one.modifiers else self.barrier
        if one.opcode == "wmma":
            part = "mma" if "mma" in one.modifiers else f"{'load' if 'load' in one.modifiers else 'store'}_matrix"
            return f"wmma::{part}_sync"
        return one.name


CUDA_CPP = Dialect("__syncthreads()", "__syncwarp()", flat=True)
NUMBA = Dialect("cuda.syncthreads()", "cuda.syncwarp()", flat=False)
