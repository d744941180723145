"""What a kernel takes of a multiprocessor, and how many blocks therefore run on it at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpulab.trace.errors import LaunchError


@dataclass(frozen=True)
class Multiprocessor:
    """Limits of one SM (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability")."""

    threads: int
    blocks: int
    registers: int
    shared_bytes: int
    reserved_bytes: int
    """Of shared memory, that the system takes for every block."""


MULTIPROCESSORS = {
    "sm_75": Multiprocessor(1024, 16, 65_536, 64 << 10, 0),
    "sm_80": Multiprocessor(2048, 32, 65_536, 164 << 10, 1024),
    "sm_86": Multiprocessor(1536, 16, 65_536, 100 << 10, 1024),
    "sm_89": Multiprocessor(1536, 24, 65_536, 100 << 10, 1024),
    "sm_90": Multiprocessor(2048, 32, 65_536, 228 << 10, 1024),
}
_REGISTERS_AT_ONCE = 256
"""Registers are given to a warp in such pieces, and a warp's come from one of four partitions of the SM."""
_PARTITIONS = 4


@dataclass(frozen=True)
class KernelResources:
    """What a kernel needs, and what follows from it."""

    kernel: str
    arch: str
    registers: int
    """Of one thread, as ptxas reports them."""
    spilled_bytes: int
    """Stored to memory by one thread because registers do not suffice."""
    shared_bytes: int
    """Of one block, static and dynamic."""
    threads: int
    """Of one block."""
    blocks: int
    """That run on one SM at a time."""
    occupancy: float
    """Share of the threads that the SM could hold, 0 to 1."""
    limited_by: str
    """`threads`, `blocks`, `registers` or `shared memory`."""

    def __str__(self) -> str:
        return (
            f"{self.kernel} ({self.arch}): {self.registers} registers, {self.shared_bytes:,} bytes of shared memory, "
            f"{self.blocks} blocks of {self.threads} threads on an SM, {self.occupancy:.0%} occupancy, "
            f"limited by {self.limited_by}"
        )


def resources_of(kernel: str, arch: str, log: str, threads: int, dynamic_bytes: int) -> KernelResources:
    """What ptxas says about a kernel, and the occupancy that this allows.

    Args:
        kernel: its name.
        arch: such as `"sm_80"`.
        log: of ptxas with `-v`.
        threads: of a block.
        dynamic_bytes: of shared memory.

    Raises:
        LaunchError: there is no such kernel, or its block does not fit on an SM.
    """
    part = re.search(rf"Compiling entry function '{re.escape(kernel)}'.*?Used (\d+) registers([^\n]*)", log, re.DOTALL)
    if part is None:
        raise LaunchError(f"There is no kernel '{kernel}' in the source. Is it extern \"C\"?")
    if arch not in MULTIPROCESSORS:
        raise LaunchError(f"The limits of {arch} are not known here. Known are {', '.join(MULTIPROCESSORS)}.")
    sm = MULTIPROCESSORS[arch]
    registers = int(part[1])
    static = re.search(r"(\d+) bytes smem", part[2])
    spilled = re.search(r"(\d+) bytes spill stores", part[0])
    shared = (int(static[1]) if static else 0) + dynamic_bytes
    warps = -(-threads // 32)
    by_warp = -(-registers * 32 // _REGISTERS_AT_ONCE) * _REGISTERS_AT_ONCE
    warps_by_registers = sm.registers // _PARTITIONS // max(by_warp, 1) * _PARTITIONS
    limits = {
        "threads": sm.threads // (warps * 32),
        "blocks": sm.blocks,
        "registers": warps_by_registers // warps,
        "shared memory": sm.shared_bytes // max(shared + sm.reserved_bytes, 1),
    }
    limited_by = min(limits, key=lambda name: limits[name])
    blocks = limits[limited_by]
    if not blocks:
        raise LaunchError(f"A block of {threads} threads of '{kernel}' does not fit on an SM: its {limited_by}.")
    spilled_bytes = int(spilled[1]) if spilled else 0
    occupancy = blocks * warps * 32 / sm.threads
    return KernelResources(kernel, arch, registers, spilled_bytes, shared, threads, blocks, occupancy, limited_by)
