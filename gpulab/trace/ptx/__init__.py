"""Runs PTX, the assembly that CUDA C++ and Numba kernels are compiled to, on the CPU.

The API for notebooks and exercises is in `gpulab.cuda_cpp`:

    cuda_cpp.run(source, name, grid, block, *arguments, shared_bytes=0)   → the arrays as the kernel left them
    cuda_cpp.trace(source, name, grid, block, *arguments, shared_bytes=0, seed=0)   → `gpulab.trace.Trace`
    cuda_cpp.ptx(source)   → PTX text
    cuda_cpp.resources(source, name, block, shared_bytes=0)   → registers, shared memory, blocks for each SM

and, for `@cuda.jit` kernels as the compiler sees them, in `kernels`:

    trace_kernel(kernel, grid, block, *arguments, shared_bytes=0, seed=0)   → `Trace`

How it works: `parser` reads the text, `flow` finds basic blocks and an order of them in which lanes meet again early,
`translate` makes one LLVM function of a kernel, in which each block is a loop over the lanes that stand at it, and
`runtime` schedules lanes, warps and blocks. `observe` counts sectors and bank conflicts for each request of a warp and
looks for races as accesses happen, so that no log has to be kept. `report` adds up by source line.

What is found: accesses outside their buffer, misaligned ones, writes to constants; races between lanes, warps and
blocks; reads of shared memory, of a thread's local arrays, and of global memory from `gpulab.empty`, that nothing was
written to; barriers that never complete; loops that never end. What is not: a local variable that the compiler keeps in
a register, because PTX does not tell whether it has a value; an index that leaves one shared or local array and lands
in another one; and an order of memory that comes from atomics alone: data handed over by a flag is reported as a race.

What differs from a GPU. Blocks run one after another, in order; warps of a block in order, each up to a barrier. Lanes
of a warp run a basic block one after another, and meet at jumps, barriers and warp-wide instructions. With a `seed`,
warps, lanes and basic blocks are taken in an order drawn from it, which a GPU may choose as well: a kernel whose result
depends on it misses a barrier or a `__syncwarp`. Caches are not modeled. The approximate functions (`sin.approx` and
the like) are rounded results of the C library, and so within PTX's stated errors. A clock counts instructions. What
is not supported is refused with `UnsupportedError`, by name and line.
"""

from __future__ import annotations
