"""CUDA C++ in a string: compiled by NVRTC on any machine, run where there is a GPU.

Compiling needs no driver, so that a laptop says what is wrong with a kernel, with the line numbers of the string as the
student wrote it. `run` puts guard bytes around every buffer: what a kernel writes beside its arrays is found.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.device import needs_gpu

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
"""Turing, Ampere, Hopper."""

LONGEST_S = 10.0
"""A kernel may run in `run`."""

_NAME = "kernel.cu"
_ELSEWHERE = re.compile(r"error\s*:")
_TOO_MUCH = re.compile(
    r"ptxas error\s*: Entry function '(\w+)' uses too much shared data \(0x(\w+) bytes, 0x(\w+) max\)"
)
_GUARD_BYTES = 4096
_GUARD = 0xCD


@dataclass(frozen=True)
class Diagnostic:
    """One error of the compiler."""

    line: int
    """In the source string, counted from 1."""
    message: str
    source: str
    """The line itself."""

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}\n    {self.source.strip()}"


class CudaCompileError(Exception):
    """NVRTC refuses the source.

    Args:
        message: all errors, each with its line.
        diagnostics: the same, one by one.
    """

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message, diagnostics)
        self.message = message
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return self.message


class GuardError(Exception):
    """A kernel wrote outside its arrays."""


class BrokenContextError(Exception):
    """A kernel failed in a way that ends the GPU's context: nothing more runs on the GPU in this process."""


def compile(source: str, arch: str = "sm_80") -> bytes:
    """The machine code of CUDA C++ source, as a cubin.

    Args:
        source: with its kernels declared `extern "C" __global__`.
        arch: such as `"sm_90"`.

    Raises:
        CudaCompileError: NVRTC refuses it; with the source's own lines.
    """
    return bytes(_object_code(source, arch).code)


def compile_all(source: str) -> dict[str, bytes]:
    """Compiles for all architectures of the course: architecture → cubin.

    Raises:
        CudaCompileError: NVRTC refuses it for one of them, which is named.
    """
    return {arch: compile(source, arch) for arch in ARCHITECTURES}


def run(source: str, name: str, grid: Any, block: Any, *arguments: Any) -> list[NDArray[Any]]:
    """Compiles a kernel and runs it once on the GPU, with guard bytes before and behind every array.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
        grid: blocks: an int or a tuple.
        block: threads of a block: an int or a tuple.
        arguments: arrays, which are copied to the device, and NumPy scalars or Python ints, floats (as C's `int`,
            `float`) in the order of the kernel's parameters.

    Returns:
        The arrays among the arguments, as the kernel left them; the originals are unchanged.

    Raises:
        LaunchError: no GPU launches such a grid or block.
        NeedsGPU: there is none.
        CudaCompileError: NVRTC refuses the source.
        GuardError: the kernel wrote outside an array.
        BrokenContextError: it read or wrote where there is no memory at all, or did not return.
    """
    from gpulab.trace.arguments import shape_of

    grid, block = shape_of(grid, "grid"), shape_of(block, "block")
    needs_gpu()
    import torch
    from cuda.core import Device, LaunchConfig, launch

    major, minor = torch.cuda.get_device_capability()
    kernel = _object_code(source, f"sm_{major}{minor}").get_kernel(name)
    torch.cuda.synchronize()
    device = Device(torch.cuda.current_device())
    device.set_current()
    buffers = [_Guarded(argument) if isinstance(argument, np.ndarray) else None for argument in arguments]
    passed = [
        buffer.address if buffer else _c_scalar(argument) for buffer, argument in zip(buffers, arguments, strict=True)
    ]
    try:
        # The default stream is torch's, too, so that torch can see the kernel end.
        launch(device.default_stream, LaunchConfig(grid=grid, block=block), kernel, *passed)
        _wait(torch.cuda.Event(), LONGEST_S)  # type: ignore[no-untyped-call] # torch leaves it untyped
        return [buffer.result(f"argument {place}") for place, buffer in enumerate(buffers) if buffer]
    except GuardError:
        raise
    except Exception as error:
        raise BrokenContextError(
            f"'{name}' failed on the GPU: {error}. It touched memory that is not there, or does not end. Nothing more "
            "runs on the GPU in this process: restart the notebook's kernel."
        ) from error


def _wait(event: Any, longest_s: float) -> None:
    """Waits for all that was launched so far; a synchronisation would never come back from an endless kernel.

    Args:
        event: a new one of torch's.
        longest_s: how long.

    Raises:
        TimeoutError: it takes longer.
    """
    event.record()
    ends_s = time.monotonic() + longest_s
    while not event.query():
        if time.monotonic() > ends_s:
            raise TimeoutError(f"it did not end within {longest_s:g} s")
        time.sleep(0.0005)


class _Guarded:
    """A device copy of an array, with bytes around it that must not change."""

    def __init__(self, array: NDArray[Any]) -> None:
        import torch

        self._host = np.ascontiguousarray(array)
        self._memory = torch.full((self._host.nbytes + 2 * _GUARD_BYTES,), _GUARD, dtype=torch.uint8, device="cuda")
        data = torch.from_numpy(self._host.reshape(-1).view(np.uint8).copy())
        self._memory[_GUARD_BYTES : _GUARD_BYTES + self._host.nbytes] = data.cuda()
        self.address = int(self._memory.data_ptr()) + _GUARD_BYTES
        torch.cuda.synchronize()

    def result(self, what: str) -> NDArray[Any]:
        """The array as it is now.

        Raises:
            GuardError: something else was written as well.
        """
        memory = self._memory.cpu().numpy()
        end = _GUARD_BYTES + self._host.nbytes
        for where, guard in (("before", memory[:_GUARD_BYTES]), ("behind", memory[end:])):
            changed = np.flatnonzero(guard != _GUARD)
            if len(changed):
                bytes_changed = f"{len(changed)} bytes {where} {what} have changed"
                raise GuardError(f"The kernel wrote outside its array: {bytes_changed}. Is there a guard, if (i < n)?")
        return memory[_GUARD_BYTES:end].copy().view(self._host.dtype).reshape(self._host.shape)


def _c_scalar(value: Any) -> Any:
    """Python's numbers as C's `int` and `float`; NumPy's scalars bring their own width."""
    if isinstance(value, np.generic):
        return value
    return np.int32(value) if isinstance(value, (bool, int)) else np.float32(value)


def _object_code(source: str, arch: str) -> Any:
    from cuda.core import Program, ProgramOptions
    from cuda.pathfinder import find_nvidia_header_directory

    if not isinstance(source, str) or not source.strip():
        raise CudaCompileError(f"The source must be a string with CUDA C++, not {source!r:.60}.")
    # For cuda_fp16.h and the like; None where that wheel is missing.
    headers = find_nvidia_header_directory("cudart")
    try:
        options = ProgramOptions(arch=arch, name=_NAME, include_path=[headers, f"{headers}/cccl"] if headers else None)
        return Program(source, "c++", options).compile("cubin")
    except Exception as error:
        if "--gpu-architecture" in str(error):
            raise CudaCompileError(f"This NVRTC compiles for no architecture called {arch!r}.") from None
        found = diagnostics(str(error), source)
        elsewhere = [line.strip() for line in str(error).splitlines() if _ELSEWHERE.search(line)]
        if not found and not elsewhere:
            raise
        if not found:  # in a header, behind the end, or in what the assembler was given
            raise CudaCompileError(_TOO_MUCH.sub(_too_much, elsewhere[0])) from None
        several = f"{len(found)} errors" if len(found) > 1 else "1 error"
        message = "\n".join([f"{several} in the CUDA C++ source, compiled for {arch}:", *map(str, found)])
        raise CudaCompileError(message, found) from None


def _too_much(told: re.Match[str]) -> str:
    used, limit = int(told[2], 16), int(told[3], 16)
    return f"Kernel '{told[1]}' uses {used:,} bytes of shared memory in a block. A block has at most {limit:,}."


def diagnostics(log: str, source: str) -> tuple[Diagnostic, ...]:
    """The errors in a compiler's log, with the lines that they are about.

    Args:
        log: of NVRTC.
        source: that was compiled.
    """
    lines: Sequence[str] = source.splitlines()
    found = []
    for number, message in re.findall(rf"{re.escape(_NAME)}\((\d+)\): (?:catastrophic )?error(?: #\S+)?: (.*)", log):
        line = int(number)
        found.append(Diagnostic(line, message.strip(), lines[line - 1] if 0 < line <= len(lines) else ""))
    return tuple(found)
