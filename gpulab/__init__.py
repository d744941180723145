"""What the course's notebooks import: measuring, drawing, predicting, checking.

Light on purpose: importing it loads neither torch nor matplotlib, because the processes that run test cells import it
thousands of times in a batch. What needs them (`plot`, `timing`, `machine`) is loaded when it is first used. The
packages below (`gpulab.measuring`, `gpulab.figures`, …) hold the code; names that notebooks use are listed here.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from gpulab import check
from gpulab.arrays import device_array, empty
from gpulab.backend import seed
from gpulab.check.notebook import install_here as _install_here
from gpulab.check.predictions import predict
from gpulab.measuring.devices import NeedsGPU, device, device_name, has_gpu, needs_gpu, synchronize, to_numpy
from gpulab.tables import gpu_row, table

if TYPE_CHECKING:
    from gpulab import cuda_cpp, exporter, streams, trace, virtual_gpu
    from gpulab.cuda_kernels import cuda_kernel
    from gpulab.figures import plot
    from gpulab.measuring import machine, speedup, timing
    from gpulab.measuring.host import this_machine
    from gpulab.measuring.timing import measure, race
    from gpulab.ranks import launch
    from gpulab.streams import work
    from gpulab.training import bolts, data, problem
    from gpulab.training.problem import History, Problem

__all__ = [
    "History",
    "NeedsGPU",
    "Problem",
    "bolts",
    "check",
    "cuda_cpp",
    "cuda_kernel",
    "data",
    "device",
    "device_array",
    "device_name",
    "empty",
    "exporter",
    "gpu_row",
    "has_gpu",
    "launch",
    "machine",
    "measure",
    "needs_gpu",
    "plot",
    "predict",
    "problem",
    "race",
    "seed",
    "speedup",
    "streams",
    "synchronize",
    "table",
    "this_machine",
    "timing",
    "to_numpy",
    "trace",
    "virtual_gpu",
    "work",
]

# PyTorch 2.11 warns of what nobody asked for: at the first profile of a process, and when Lightning moves a batch.
warnings.filterwarnings("ignore", "Warning: Profiler clears events at the end of each cycle", append=True)
warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)` is deprecated", append=True)

_MODULES = {
    "bolts": "gpulab.training.bolts",
    "cuda_cpp": "gpulab.cuda_cpp",
    "data": "gpulab.training.data",
    "exporter": "gpulab.exporter",
    "launch": "gpulab.ranks.launch",
    "machine": "gpulab.measuring.machine",
    "plot": "gpulab.figures.plot",
    "problem": "gpulab.training.problem",
    "speedup": "gpulab.measuring.speedup",
    "streams": "gpulab.streams",
    "timing": "gpulab.measuring.timing",
    "trace": "gpulab.trace",
    "virtual_gpu": "gpulab.virtual_gpu",
}
_OF_MODULES = {
    "History": "gpulab.training.problem",
    "Problem": "gpulab.training.problem",
    "cuda_kernel": "gpulab.cuda_kernels",
    "measure": "gpulab.measuring.timing",
    "race": "gpulab.measuring.timing",
    "this_machine": "gpulab.measuring.host",
    "work": "gpulab.streams",
}


_install_here()


def __getattr__(name: str) -> Any:
    """The heavier half of the package, on first use."""
    if name in _MODULES:
        if name == "cuda_cpp":
            importlib.import_module("gpulab.cuda_magic")  # so that a notebook has %%cuda too
        if name == "launch":
            importlib.import_module("gpulab.ranks.written")  # so that %%writefile NAME.py is an answer
        return importlib.import_module(_MODULES[name])
    if name in _OF_MODULES:
        return getattr(importlib.import_module(_OF_MODULES[name]), name)
    raise AttributeError(f"module 'gpulab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
