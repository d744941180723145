"""`kernel[grid, block](…)` for a kernel in CUDA C++: on the GPU where there is one, else its PTX on the CPU, counted.

The same form as for Numba's kernels, so that a host function may launch either. Nothing is copied: the kernel works on
the arrays that it is given.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from gpulab import confined, cuda_cpp
from gpulab.measuring.devices import has_gpu
from gpulab.trace.arguments import Arguments, host_array, is_scalar, refuse_names, shape_of
from gpulab.trace.errors import LaunchError
from gpulab.trace.launch import is_recording, remember, shown
from gpulab.trace.ptx.cpp import check_arguments, launch_source
from gpulab.trace.ptx.launch import Options
from gpulab.trace.ptx.program import parsed
from gpulab.trace.ptx.report import trace_of


class cuda_kernel:
    """A kernel of CUDA C++ source.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`; may be left out if there is only one.

    Raises:
        CudaCompileError: NVRTC refuses the source.
        LaunchError: it has no kernel of this name.
    """

    def __init__(self, source: str, name: str = "") -> None:
        confined.refuse_in_judge("cuda_kernel", "cuda_cpp.run_each or cuda_cpp.count_each")
        self.source, self.ptx = source, cuda_cpp.ptx(source)
        functions = parsed(self.ptx).functions.values()
        kernels = {function.name: function for function in functions if function.entry and function.defined}
        name = name or (next(iter(kernels)) if len(kernels) == 1 else "")
        if name not in kernels:
            has = ", ".join(kernels) or "none"
            raise LaunchError(f'There is no kernel {name!r} in the source. Its kernels: {has}. Is it extern "C"?')
        self.name, self._parameters = name, kernels[name].parameters
        self._on_gpu: Any = None

    def __getitem__(self, configuration: tuple[Any, ...]) -> Callable[..., None]:
        """The kernel with its grid, its block, and the bytes of dynamic shared memory if it uses any.

        As with Numba's kernels, the stream may stand before the bytes; it must be 0, the default stream.

        Arguments are arrays (NumPy's without a GPU, else CUDA tensors), NumPy scalars, and Python ints and floats, as
        C's `int` and `float`. The launch returns at once; what follows on the default stream waits for it.
        """
        match configuration:
            case (blocks, threads):
                shared_bytes = 0
            case (blocks, threads, numbers.Integral() as shared) | (blocks, threads, 0, numbers.Integral() as shared):
                shared_bytes = int(shared)
            case _:
                raise LaunchError(
                    f"{self.name}[…] takes blocks and threads: {self.name}[blocks, threads](…). If it uses dynamic "
                    f"shared memory, the bytes follow: {self.name}[blocks, threads, bytes](…), or, after the default "
                    f"stream, {self.name}[blocks, threads, 0, bytes](…)."
                )
        grid, block = shape_of(blocks, "grid"), shape_of(threads, "block")

        def launch(*arguments: Any, **named: Any) -> None:
            refuse_names(self.name, named)
            if has_gpu() and not is_recording():
                self._launch_on_gpu(grid, block, arguments, shared_bytes)
            else:
                self._launch_on_cpu(grid, block, arguments, shared_bytes)

        return launch

    def _launch_on_cpu(self, grid: Any, block: Any, arguments: tuple[Any, ...], shared_bytes: int) -> None:
        passed, hosts = Arguments(), dict[int, Any]()
        given = [value if is_scalar(value) else host_array(value, passed, hosts) for value in arguments]
        wrong = next((value for value, host in zip(arguments, given, strict=True) if host is None), None)
        if wrong is not None:
            raise LaunchError(f"An argument of '{self.name}' is a {type(wrong).__name__}. It takes arrays and numbers.")
        options = Options(cuda_cpp.LONGEST_S)
        with shown(self, grid, block, arguments, shared_bytes):
            launch = launch_source(self.source, self.name, grid, block, given, True, shared_bytes, options, self.ptx)
            passed.finish()
        remember(trace_of(launch, self.name))

    def _launch_on_gpu(self, grid: Any, block: Any, arguments: tuple[Any, ...], shared_bytes: int) -> None:
        import torch
        from cuda.core import Device, LaunchConfig, launch

        passed = [_passed(argument) for argument in arguments]
        check_arguments(self.name, self._parameters, [np.asarray(one).itemsize for one in passed])
        if self._on_gpu is None:
            self._on_gpu = cuda_cpp.gpu_kernel(self.source, self.name)
        device = Device(torch.cuda.current_device())
        device.set_current()
        config = LaunchConfig(grid=grid, block=block, shmem_size=shared_bytes)
        launch(device.default_stream, config, self._on_gpu, *passed)


def _passed(argument: Any) -> Any:
    """A tensor's address, or a number as C has it."""
    if hasattr(argument, "data_ptr"):
        if not (argument.is_cuda and argument.is_contiguous()):
            raise LaunchError("An argument is a tensor that is not contiguous, or not on the GPU.")
        return argument.data_ptr()
    if type(argument) is int:
        return np.int32(argument)
    return np.float32(argument) if type(argument) is float else argument


def transposing(source: str) -> Callable[[Any], Any]:
    """A host function around a CUDA C++ kernel `transpose(x, out, rows, columns)` with tiles of 32 × 32.

    Raises:
        CudaCompileError: NVRTC refuses the source.
    """
    kernel = cuda_kernel(source, "transpose")

    def transpose(x: Any) -> Any:
        rows, columns = x.shape
        out = x.new_empty((columns, rows))
        kernel[(-(-columns // 32), -(-rows // 32)), (32, 8)](x, out, rows, columns)
        return out

    return transpose
