"""What the course's notebooks import: measuring, drawing, predicting, checking.

Light on purpose: importing it loads neither torch nor matplotlib, because the processes that run test cells import it
thousands of times in a batch. What needs them (`plot`, `timing`, `machine`) is loaded when it is first used.

Three names are both a module and what is in it. `gpulab.device` and `gpulab.predict` are the callables; import other
names of those modules with `from gpulab.device import …`. `gpulab.seed` lives in `gpulab.seeding`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gpulab import check
from gpulab.device import NeedsGPU, device, device_array, empty, needs_gpu, synchronize, to_numpy
from gpulab.predict import predict
from gpulab.seeding import seed
from gpulab.tables import table

if TYPE_CHECKING:
    import gpulab.bolts as bolts
    import gpulab.cuda_cpp as cuda_cpp
    import gpulab.data as data
    import gpulab.machine as machine
    import gpulab.plot as plot
    import gpulab.problem as problem
    import gpulab.streams as streams
    import gpulab.timing as timing
    import gpulab.trace as trace
    from gpulab.problem import History, Problem
    from gpulab.streams import work
    from gpulab.timing import measure, race

__all__ = [
    "History",
    "NeedsGPU",
    "Problem",
    "bolts",
    "check",
    "cuda_cpp",
    "data",
    "device",
    "device_array",
    "empty",
    "machine",
    "measure",
    "needs_gpu",
    "plot",
    "predict",
    "problem",
    "race",
    "seed",
    "streams",
    "synchronize",
    "table",
    "timing",
    "to_numpy",
    "trace",
    "work",
]

_MODULES = frozenset({"bolts", "cuda_cpp", "data", "machine", "plot", "problem", "streams", "timing", "trace"})
_OF_MODULES = {"History": "problem", "Problem": "problem", "measure": "timing", "race": "timing", "work": "streams"}


def __getattr__(name: str) -> Any:
    """The heavier half of the package, on first use."""
    if name in _MODULES:
        return importlib.import_module(f"gpulab.{name}")
    if name in _OF_MODULES:
        return getattr(importlib.import_module(f"gpulab.{_OF_MODULES[name]}"), name)
    raise AttributeError(f"module 'gpulab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
