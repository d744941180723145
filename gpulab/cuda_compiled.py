"""What becomes of CUDA C++ on its way to the GPU: PTX, registers, and launches on torch's arrays.

Compiling itself, its messages, and runs with guard bytes are the business of `gpulab.cuda_cpp`; everything here but
`Kernel` works without a driver.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpulab import confined
from gpulab.cuda_cpp import COMPILING
from gpulab.cuda_cpp import compile as compiled
from gpulab.measuring.devices import needs_gpu

_NAME = "kernel.cu"


@dataclass(frozen=True)
class Resources:
    """What a thread and a block of a compiled kernel need."""

    kernel: str
    arch: str
    registers: int
    """Of one thread."""
    shared_bytes: int
    """Of one block, the static part."""
    spilled_bytes: int
    """Stored to memory and loaded back because the registers did not suffice."""

    def __str__(self) -> str:
        spilled = f", {self.spilled_bytes} bytes spilled" if self.spilled_bytes else ""
        needs = f"{self.registers} registers a thread, {self.shared_bytes} bytes shared a block{spilled}"
        return f"{self.kernel} for {self.arch}: {needs}"


def resources(source: str, arch: str = "sm_80") -> tuple[Resources, ...]:
    """What each kernel of CUDA C++ source needs, as the assembler reports it.

    Raises:
        CudaCompileError: NVRTC refuses the source.
    """
    found = confined.call(_resources, source, arch, what=COMPILING)
    return tuple(Resources(name, arch, *numbers) for name, numbers in found)


def _resources(source: str, arch: str) -> list[tuple[str, tuple[int, int, int]]]:
    from cuda.core import Program, ProgramOptions

    compiled(source, arch)  # for its messages, should there be any
    log = io.StringIO()
    options = ProgramOptions(arch=arch, name=_NAME, ptxas_options=["-v"])
    Program(source, "c++", options).compile("cubin", logs=log)
    found = []
    for part in re.split(r"Compiling entry function '", log.getvalue())[1:]:
        spilled = sum(map(int, re.findall(r"(\d+) bytes spill", part)))
        shared = re.search(r"(\d+) bytes smem", part)
        registers = re.search(r"Used (\d+) registers", part)
        name = part.partition("'")[0]
        found.append((name, (int(registers[1]) if registers else 0, int(shared[1]) if shared else 0, spilled)))
    return found


def ptx(source: str, arch: str = "sm_80") -> str:
    """The virtual instructions that NVRTC makes of CUDA C++ source; each knows its line.

    Raises:
        CudaCompileError: NVRTC refuses the source.
    """
    return confined.call(_ptx, source, arch, what=COMPILING)


def _ptx(source: str, arch: str) -> str:
    from cuda.bindings import nvrtc

    compiled(source, arch)
    error, program = nvrtc.nvrtcCreateProgram(source.encode(), _NAME.encode(), 0, [], [])
    try:
        options = [f"--gpu-architecture={arch.replace('sm_', 'compute_')}".encode(), b"-lineinfo"]
        (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        error, size = nvrtc.nvrtcGetPTXSize(program) if not error else (error, 0)
        text = b" " * size
        if not error:
            (error,) = nvrtc.nvrtcGetPTX(program, text)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    if error:
        raise RuntimeError(f"NVRTC gave {error} for source that it had compiled a moment ago")
    return text.decode(errors="replace").rstrip("\0")


def instructions(source: str, arch: str = "sm_80") -> list[str]:
    """The floating-point instructions in PTX and those that touch global or shared memory, in order."""
    memory, floats = r"(?:ld|st|atom|red)\.(?:volatile\.)?(?:global|shared)", r"\w+(?:\.\w+)*\.f(?:16|32|64)\b"
    wanted = re.compile(rf"\s*(?:@!?%p\d+\s+)?(?:{memory}|{floats})")
    found = (line.strip() for line in ptx(source, arch).splitlines() if wanted.match(line))
    return [line for line in found if not line.startswith(("ld.param", "mov", ".reg", ".param"))]


def float64_lines(source: str, arch: str = "sm_80") -> list[int]:
    """Lines of CUDA C++ source that compute in float64.

    Raises:
        CudaCompileError: NVRTC refuses the source.
    """
    found, line = set(), 0
    for text in ptx(source, arch).splitlines():
        location = re.match(r"\s*\.loc\s+\d+\s+(\d+)", text)
        if location:
            line = int(location[1])
        elif line and re.match(r"\s*(?:@!?%p\d+\s+)?(?:add|sub|mul|fma|mad|div|neg|min|max|cvt)\b\S*\.f64\b", text):
            found.add(line)
    return sorted(found)


class Kernel:
    """A kernel compiled for this machine's GPU, to be launched on torch's arrays without any copying.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.

    Raises:
        NeedsGPU: there is none.
        CudaCompileError: NVRTC refuses the source.
    """

    def __init__(self, source: str, name: str) -> None:
        needs_gpu()
        import torch
        from cuda.core import Device, ObjectCode

        major, minor = torch.cuda.get_device_capability()
        torch.cuda.synchronize()  # torch makes its context current, which the loading needs
        self._device = Device(torch.cuda.current_device())
        self._device.set_current()
        self._kernel = ObjectCode.from_cubin(compiled(source, f"sm_{major}{minor}")).get_kernel(name)

    def launch(self, grid: Any, block: Any, *arguments: Any) -> None:
        """Starts it on the default stream, where torch works, too; returns at once.

        Args:
            grid: blocks, an int or a tuple.
            block: threads of a block, an int or a tuple.
            arguments: CUDA tensors, which must outlive the launch, and NumPy scalars or Python ints (as C's `int`).
        """
        from cuda.core import LaunchConfig, launch

        config = LaunchConfig(grid=grid, block=block)
        launch(self._device.default_stream, config, self._kernel, *map(_passed, arguments))


def _passed(argument: Any) -> Any:
    """A tensor's address, or a number as C has it."""
    import numpy as np

    if hasattr(argument, "data_ptr"):
        return argument.data_ptr()
    return np.int32(argument) if type(argument) is int else argument


def transposing(source: str) -> Callable[[Any], Any]:
    """A host function around a CUDA C++ kernel `transpose(x, out, rows, columns)` with tiles of 32 × 32.

    Raises:
        NeedsGPU: there is none.
        CudaCompileError: NVRTC refuses the source.
    """
    kernel = Kernel(source, "transpose")

    def transpose(x: Any) -> Any:
        rows, columns = x.shape
        out = x.new_empty((columns, rows))
        kernel.launch((-(-columns // 32), -(-rows // 32)), (32, 8), x, out, rows, columns)
        return out

    return transpose
