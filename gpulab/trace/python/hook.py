"""`kernel[grid, block](…)` on a plain `@cuda.jit` kernel: the GPU where there is one, the tracer where there is none.

`install` puts a thin layer over Numba's dispatcher. With a GPU every launch goes the way it always goes, unless
`launch.recording` asks for its trace. The parts of Numba that are replaced are private in name or in spirit;
pyproject.toml therefore says up to which version it may be used.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gpulab.measuring.devices import has_gpu
from gpulab.trace.arguments import refuse_names
from gpulab.trace.errors import LaunchError
from gpulab.trace.launch import is_recording, launched
from gpulab.trace.python import host_arrays
from gpulab.trace.python.type_inference import ARCHITECTURE

_THREADS_OF_FORALL = 128
_installed: list[bool] = []
_gpu_seen: list[bool] = []


class Launch:
    """A kernel with its grid and block; calling it runs it in the tracer.

    Args:
        kernel: Numba's dispatcher.
        grid: blocks.
        block: threads of a block.
        shared_bytes: dynamic shared memory of a block.
    """

    def __init__(self, kernel: Any, grid: Any, block: Any, shared_bytes: int = 0) -> None:
        self._kernel, self._grid, self._block, self._shared_bytes = kernel, grid, block, shared_bytes

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Launches the kernel with these arguments."""
        refuse_names(self._kernel.__name__, named)
        launched(self._kernel, self._grid, self._block, arguments, self._shared_bytes)


def install() -> None:
    """Makes `kernel[grid, block](…)` work without a GPU. Does nothing the second time."""
    if _installed:
        return
    _installed.append(True)
    import numba.cuda
    from numba.cuda import dispatcher
    from numba.cuda.core import config

    import gpulab.numpy_names  # noqa: F401 # before a kernel compiles

    # It warns of grids under 128 blocks, on stderr; the course has many, and says why.
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    _hook_launches(dispatcher.CUDADispatcher)
    _hook_compiler(dispatcher)
    for name, here in host_arrays.FUNCTIONS.items():
        setattr(numba.cuda, name, _or_here(getattr(numba.cuda, name), here))


def _hook_launches(kernels: Any) -> None:
    """Replaces the ways in which a kernel gets its grid and block."""
    configure, forall = kernels.configure, kernels.forall

    def configured(self: Any, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Any:
        if _traced():
            return Launch(self, griddim, blockdim, sharedmem)
        return configure(self, _hashable(griddim), _hashable(blockdim), stream, sharedmem)

    def item(self: Any, configuration: Any) -> Any:
        if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
            raise LaunchError(f"{self.__name__}[…] takes blocks and threads: {self.__name__}[blocks, threads](…).")
        return configured(self, *configuration)

    def for_all(self: Any, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Any:
        if _traced():
            threads = tpb or _THREADS_OF_FORALL
            return Launch(self, -(-ntasks // threads), threads, sharedmem)
        return forall(self, ntasks, tpb, stream, sharedmem)

    kernels.configure, kernels.__getitem__, kernels.forall = configured, item, for_all


def _hook_compiler(dispatcher: Any) -> None:
    """Lets kernels be declared with a signature, and device functions be compiled, where there is no driver to ask."""
    compile_kernel, current_device = dispatcher.CUDADispatcher.compile, dispatcher.get_current_device

    def compile_if_possible(self: Any, sig: Any) -> Any:
        if on_gpu():
            return compile_kernel(self, sig)
        # Numba counts its compiled versions, and removes their entry points in the end.
        self.overloads[sig] = SimpleNamespace(entry_point=None)
        return None

    def device() -> Any:
        return current_device() if on_gpu() else SimpleNamespace(compute_capability=ARCHITECTURE)

    dispatcher.CUDADispatcher.compile, dispatcher.get_current_device = compile_if_possible, device


def on_gpu() -> bool:
    """Whether there is a GPU. A yes is kept: asking takes some microseconds, a launch not many more."""
    if not _gpu_seen and has_gpu():
        _gpu_seen.append(True)
    return bool(_gpu_seen)


def _traced() -> bool:
    return is_recording() or not on_gpu()


def _or_here(function: Callable[..., Any], here: Callable[..., Any]) -> Callable[..., Any]:
    def called(*arguments: Any, **named: Any) -> Any:
        if not on_gpu():
            return here(*arguments, **named)
        made = function(*arguments, **named)
        if is_recording() and here in (host_arrays.device_array, host_arrays.device_array_like):
            # The driver gives memory that still holds an earlier call's results; rubbish shows where it is read.
            made.copy_to_device(here(*arguments, **named).copy_to_host())
        return made

    return called


def _hashable(value: Any) -> Any:
    """Numba remembers configurations by their hash, which lists have none of."""
    return tuple(value) if isinstance(value, list) else value
