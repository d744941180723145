"""Arrays on the course's device: torch CUDA tensors, or NumPy arrays where there is no GPU.

Making one for Numba's kernels prepares the tracer, so that `kernel[grid, block](…)` runs on them anywhere.
"""

from __future__ import annotations

import sys
from typing import Any

from gpulab.measuring.devices import device, has_gpu, to_numpy
from gpulab.unwritten import rubbish


def device_array(array: Any) -> Any:
    """A copy of `array` (any shape) in device memory, with the same element type.

    Returns:
        A contiguous torch CUDA tensor on a GPU, a NumPy array without one.
    """
    import numpy as np

    host = np.array(to_numpy(array), order="C")
    if not has_gpu():
        _prepare_kernels()
        return host
    import torch

    return torch.from_numpy(host).to(device())


def empty(shape: int | tuple[int, ...], dtype: Any = "float32") -> Any:
    """Device memory that nothing has been written to.

    Args:
        shape: extents.
        dtype: NumPy's element type or its name.

    Returns:
        A torch CUDA tensor on a GPU; without one a NumPy array. Where the tracer runs the launches it is filled with
        rubbish (NaN, or a number far outside of any array), so that a kernel that reads what was never written shows.
    """
    import numpy as np

    kind = np.dtype(dtype)
    if has_gpu():
        import torch

        if _recorded():  # PyTorch would give memory that still holds an earlier call's results
            return torch.from_numpy(rubbish(shape, kind)).to(device())
        return torch.empty(shape, dtype=torch.from_numpy(np.empty(0, kind)).dtype, device=device())
    _prepare_kernels()
    return rubbish(shape, kind)


def _recorded() -> bool:
    """Whether the tracer runs all launches now, on a machine with a GPU as well."""
    launches = sys.modules.get("gpulab.trace.launch")
    return launches is not None and bool(launches.is_recording())


def _prepare_kernels() -> None:
    """Lets `kernel[grid, block](…)` run in the tracer: arrays are made for Numba's kernels in order to launch them."""
    if "numba.cuda" in sys.modules:
        from gpulab import trace  # noqa: F401 - importing it is enough
