"""What the first half of the CUDA chapter measures and counts by hand: saxpy by grid size, reads by stride, sectors.

Counts of real launches come from `gpulab.trace`; drawing is `cuda_basics.pictures`. Answers to the exercises are not
here: where a measurement needs a kernel of the student's, it is passed in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.once import once
from gpulab.measuring.timing import Timing, measure, one_thread

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

SECTOR_BYTES = 32
FLOAT_BYTES = 4
WARP = 32
ELEMENTS = {"cpu": 1 << 23, "cuda": 1 << 27}
"""Of each array of saxpy: on a GPU so many that the launch itself does not count."""
SAXPY_FLOP, SAXPY_BYTES = 2, 3 * FLOAT_BYTES
"""Of one element: a multiply and an add; x and y are read, the result is written."""

PATTERNS = {
    "neighbors: x[t]": list(range(WARP)),
    "backwards: x[31 - t]": list(range(WARP))[::-1],
    "one further: x[t + 1]": list(range(1, WARP + 1)),
    "every other: x[2t]": list(range(0, 2 * WARP, 2)),
    "every eighth: x[8t]": list(range(0, 8 * WARP, 8)),
    "all the same: x[0]": [0] * WARP,
}
"""Name → the element of a float32 array, aligned to 32 bytes, that each lane t of a warp asks for."""


@dataclass(frozen=True)
class Rates:
    """GB/s by the one thing that was varied."""

    gbs: dict[float, float]
    """Blocks, cores or stride → GB/s, from the median of the runs."""
    kind: str
    """`cuda` or `cpu`: where it was measured."""
    device: str
    elements: int
    runs: int
    """The fewest that any of the medians was taken over."""
    copy_gbs: float = 0.0
    """Read + written, of a plain copy of an array of the same size; 0 when none was made."""


def sectors_touched(indexes: Sequence[int], item_bytes: int = FLOAT_BYTES) -> int:
    """How many 32-byte sectors hold these elements of an array that starts at a sector's beginning."""
    return len({index * item_bytes // SECTOR_BYTES for index in indexes})


def neighbors_doubled(double: Any, length: int = 100, threads: int = 128) -> int:
    """How many elements behind the end of an array are doubled by a launch of too many threads without a guard.

    On a GPU by the kernel itself; elsewhere by a loop of the same line, compiled for the CPU. Both stay inside memory
    that is ours: the array is the front part of a longer one.

    Args:
        double: a Numba kernel that doubles the element of each thread.
        length: of the array.
        threads: more than that, a multiple of 64.
    """
    import numpy as np

    if not has_gpu():
        from gpulab.chapters.cuda_basics.kernels import double_all

        memory = np.ones(threads, np.float32)
        double_all(memory[:length], threads)
        return int((memory[length:] == 2).sum())
    import torch

    on_gpu = torch.ones(threads, device="cuda")
    double[threads // 64, 64](on_gpu[:length])
    return int((on_gpu[length:] == 2).sum())


def saxpy_rates(saxpy_kernel: Any, runs: int = 9) -> Rates:
    """Bytes read and written per second by `out = alpha · x + y`, float32, in arrays larger than any cache.

    On a GPU by the student's kernel, launched with more and more blocks of 128 threads; elsewhere by torch on one core.

    Args:
        saxpy_kernel: a Numba kernel that takes alpha, x, y, out and works for any grid.
        runs: of which each median is taken.
    """
    import numpy as np
    import torch

    alpha = np.float32(1.5)
    if not has_gpu():
        elements = ELEMENTS["cpu"]
        x, y, out = torch.ones(elements), torch.ones(elements), torch.empty(elements)
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            timing = measure(lambda: torch.add(y, x, alpha=1.5, out=out), runs=runs, on="cpu", at_most_s=1.0)
        finally:
            torch.set_num_threads(before)
        return _rates({1: timing}, "cpu", elements, SAXPY_BYTES, copied_gbs())
    elements = ELEMENTS["cuda"]
    x, y = _on_gpu(elements), _on_gpu(elements)
    out = torch.empty_like(x)
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    sizes = sorted({8, *(max(1, processors * times // 4) for times in (1, 2, 4, 8, 16, 32, 64))})
    timings: dict[float, Timing] = {}
    for blocks in sizes:
        timings[blocks] = measure(saxpy_kernel[blocks, 128], alpha, x, y, out, runs=runs, at_most_s=1.5)
    return _rates(timings, "cuda", elements, SAXPY_BYTES, copied_gbs())


@once
def copied_gbs() -> float:
    """GB/s, read + written, of a plain copy of an array as large as those of `saxpy_rates`; on a CPU by one core."""
    import torch

    where = "cuda" if has_gpu() else "cpu"
    source = torch.rand(ELEMENTS[where], device=where)
    target = torch.empty_like(source)
    with one_thread():
        copy = measure(target.copy_, source, runs=9, on=where, at_most_s=1.0)
    return 2 * FLOAT_BYTES * ELEMENTS[where] / (copy.median_ms * 1e6)


def stride_rates(strides: Sequence[int] = (1, 2, 4, 8, 16, 32), runs: int = 9) -> Rates:
    """Useful bytes per second when reading every first, second, fourth … float32 of an array, never twice in a row.

    On a GPU by a kernel whose neighboring threads are `stride` floats apart; elsewhere by NumPy on one core.
    """
    if not has_gpu():
        return _cpu_strides(strides, runs)
    import torch

    from gpulab.chapters.cuda_basics.kernels import read_strided

    elements = 1 << 24
    x, out = _on_gpu(elements * max(strides)), torch.empty(1, device="cuda")
    blocks = 16 * torch.cuda.get_device_properties(0).multi_processor_count
    timings: dict[float, Timing] = {
        stride: measure(read_strided[blocks, 256], x, out, elements, stride, runs=runs) for stride in strides
    }
    return _rates(timings, "cuda", elements, FLOAT_BYTES)


def _cpu_strides(strides: Sequence[int], runs: int) -> Rates:
    import numpy as np

    elements = 1 << 20
    x, out = np.ones(elements * max(strides), np.float32), np.empty(elements, np.float32)
    timings: dict[float, Timing] = {}
    for stride in strides:
        length = elements * stride
        # A piece that was not read lately at every call: the smaller ones would stay in a cache.
        pieces = itertools.cycle([x[start : start + length : stride] for start in range(0, len(x), length)])
        timings[stride] = measure(_copy_next, out, pieces, runs=runs, on="cpu", at_most_s=1.5)
    return _rates(timings, "cpu", elements, FLOAT_BYTES)


def _copy_next(out: NDArray[np.float32], pieces: Iterator[NDArray[np.float32]]) -> None:
    out[:] = next(pieces)


def _on_gpu(elements: int) -> torch.Tensor:
    """Random float32: zeros would be moved faster."""
    import torch

    return torch.rand(elements, device="cuda")


def _rates(timings: dict[float, Timing], kind: str, elements: int, bytes_each: int, copy_gbs: float = 0.0) -> Rates:
    gbs = {value: elements * bytes_each / (timing.median_ms * 1e6) for value, timing in timings.items()}
    return Rates(gbs, kind, device_name(kind), elements, min(timing.runs for timing in timings.values()), copy_gbs)
