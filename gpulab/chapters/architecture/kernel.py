"""The kernel behind the architecture chapter's divergence experiment; the only module of the chapter that needs Numba.

`architecture` imports it where there is a GPU, and decides what to launch and how to time it.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

import gpulab.numpy_names  # noqa: F401 # before a kernel compiles


@cuda.jit  # type: ignore[untyped-decorator]
def diverge(result: Any, warps_touched: int, in_each: int, scale: int) -> None:
    """Every thread runs a chain of multiply-adds: 90 · `scale` on the expensive branch, 10 · `scale` on the cheap one.

    Of every 32 warps the first `warps_touched` have `in_each` threads on the expensive branch. The result, float32 and
    one element a thread, ends near 2 for those and near 4 for the others: neither chain can be optimised away.
    """
    thread = cuda.grid(1)
    if thread < result.size:
        value = float32(thread)
        if (thread // 32) % 32 < warps_touched and thread % 32 < in_each:
            for _ in range(90 * scale):
                value = value * float32(0.5) + float32(1.0)
        else:
            for _ in range(10 * scale):
                value = value * float32(0.25) + float32(3.0)
        result[thread] = value
