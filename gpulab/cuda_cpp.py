"""CUDA C++ in a string: compiled by NVRTC and run, on any machine.

Compiling needs no driver, so that a laptop says what is wrong with a kernel, with the line numbers of the string as the
student wrote it. `run` uses the GPU, with guard bytes around every buffer; where there is none it runs the kernel's PTX
on the CPU (`gpulab.trace.ptx`), where every access is checked. `trace` always does that, and counts.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpulab import confined
from gpulab.measuring.devices import has_gpu

if TYPE_CHECKING:
    from gpulab.trace.ptx.launch import Launch, Options
    from gpulab.trace.ptx.text.resources import Resources
    from gpulab.trace.result import Trace

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
"""Turing, Ampere, Hopper."""

LONGEST_S = 10.0
"""A kernel may run in `run`."""

COMPILING = "Compiling the CUDA C++ source"
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
    return confined.call(_cubins, source, (arch,), what=COMPILING)[arch]


def compile_all(source: str) -> dict[str, bytes]:
    """Compiles for all architectures of the course: architecture → cubin.

    Raises:
        CudaCompileError: NVRTC refuses it for one of them, which is named.
    """
    return confined.call(_cubins, source, ARCHITECTURES, what=COMPILING)


def _cubins(source: str, architectures: tuple[str, ...]) -> dict[str, bytes]:
    return {arch: bytes(_object_code(source, arch).code) for arch in architectures}


def ptx(source: str, arch: str = "compute_80") -> str:
    """The PTX of CUDA C++ source, with the lines of the source in it.

    Args:
        source: CUDA C++.
        arch: such as `"compute_75"`.

    Raises:
        CudaCompileError: NVRTC refuses it; with the source's own lines.
    """
    return confined.call(_ptx, source, arch, what=COMPILING)


def _ptx(source: str, arch: str) -> str:
    from gpulab.trace.ptx.text.nvrtc import NvrtcError, ptx_of

    _check_source(source)
    try:
        return ptx_of(source, arch)
    except NvrtcError as error:
        refused = _refused(str(error), source, arch)
        if refused is None:
            raise
        raise refused from None


def run(source: str, name: str, grid: Any, block: Any, *arguments: Any, shared_bytes: int = 0) -> list[NDArray[Any]]:
    """Compiles a kernel and runs it once: on the GPU, or on the CPU where there is none.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
        grid: blocks: an int or a tuple.
        block: threads of a block: an int or a tuple.
        arguments: arrays, which are copied to the device, and NumPy scalars or Python ints, floats (as C's `int`,
            `float`) in the order of the kernel's parameters.
        shared_bytes: dynamic shared memory of a block.

    Returns:
        The arrays among the arguments, as the kernel left them; the originals are unchanged.

    Raises:
        LaunchError: no GPU launches such a grid or block.
        CudaCompileError: NVRTC refuses the source.
        GuardError: the kernel wrote outside an array; without a GPU also if it read there.
        BrokenContextError: on a GPU it read or wrote where there is no memory at all, or did not return.
        TraceError: without a GPU, anything else that a GPU would not carry out; its kinds are in `gpulab.trace`.
    """
    if has_gpu():
        return _run_on_gpu(source, name, grid, block, arguments, shared_bytes)
    given = source, name, grid, block, list(arguments), shared_bytes
    return confined.call(_run_on_cpu, *given, what=f"Running '{name}'", seconds=3 * LONGEST_S)


def _run_on_cpu(
    source: str, name: str, grid: Any, block: Any, arguments: list[Any], shared_bytes: int
) -> list[NDArray[Any]]:
    from gpulab.trace.errors import OutOfBoundsError

    copies = [np.array(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments]
    try:
        _launch(source, name, grid, block, copies, shared_bytes, counted=False)
    except OutOfBoundsError as error:
        raise GuardError(f"{error} Is there a guard, if (i < n)?") from None
    return [copy for copy in copies if isinstance(copy, np.ndarray)]


def trace(
    source: str, name: str, grid: Any, block: Any, *arguments: Any, shared_bytes: int = 0, seed: int = 0
) -> Trace:
    """Compiles a kernel, runs it on the CPU, on a machine with or without a GPU, and counts what it does.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
        grid: blocks: an int or a tuple.
        block: threads of a block: an int or a tuple.
        arguments: as for `run`; arrays are written to as on a GPU.
        shared_bytes: dynamic shared memory of a block.
        seed: of another order of warps and lanes; 0 takes them in order.

    Raises:
        CudaCompileError: NVRTC refuses the source.
        TraceError: a GPU would not carry out the launch as written.
    """
    from gpulab.trace.launch import remember
    from gpulab.trace.ptx.launch import Options
    from gpulab.trace.ptx.report import trace_of

    launch = _launch(source, name, grid, block, arguments, shared_bytes, True, Options(LONGEST_S, seed))
    return remember(trace_of(launch, name))


def resources(source: str, name: str, block: Any, shared_bytes: int = 0, arch: str = "sm_80") -> Resources:
    """What a kernel takes of a multiprocessor (registers, shared memory), and how many of its blocks fit there.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
        block: threads of a block: an int or a tuple.
        shared_bytes: dynamic shared memory of a block.
        arch: such as `"sm_90"`.

    Raises:
        CudaCompileError: NVRTC refuses the source.
        LaunchError: there is no such kernel, or its block does not fit.
    """
    from gpulab.trace.arguments import shape_of
    from gpulab.trace.ptx.text.resources import resources_of

    x, y, z = shape_of(block, "block")
    log = confined.call(_ptxas_log, source, arch, what=COMPILING)
    return resources_of(name, arch, log, x * y * z, shared_bytes)


def _ptxas_log(source: str, arch: str) -> str:
    log = io.StringIO()
    _object_code(source, arch, log)
    return log.getvalue()


def _launch(
    source: str,
    name: str,
    grid: Any,
    block: Any,
    arguments: Sequence[Any],
    shared_bytes: int,
    counted: bool,
    options: Options | None = None,
) -> Launch:
    """One launch on the CPU."""
    from gpulab.trace.ptx.cpp import launch_source

    text = ptx(source)
    return launch_source(source, name, grid, block, arguments, counted, shared_bytes, options, text)


def _run_on_gpu(
    source: str, name: str, grid: Any, block: Any, arguments: Sequence[Any], shared_bytes: int
) -> list[NDArray[Any]]:
    from gpulab.trace.arguments import shape_of

    grid, block = shape_of(grid, "grid"), shape_of(block, "block")
    what = f"Running '{name}'"
    given = source, name, grid, block, list(arguments), shared_bytes
    return confined.call(_run_once, *given, what=what, seconds=3 * LONGEST_S)


def _run_once(
    source: str, name: str, grid: Any, block: Any, arguments: list[Any], shared_bytes: int
) -> list[NDArray[Any]]:
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
        launch(device.default_stream, LaunchConfig(grid=grid, block=block, shmem_size=shared_bytes), kernel, *passed)
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


def _object_code(source: str, arch: str, log: io.StringIO | None = None) -> Any:
    from cuda.core import Program, ProgramOptions

    from gpulab.trace.ptx.text.nvrtc import header_folders

    _check_source(source)
    try:
        verbose = ["-v"] if log is not None else None
        folders = list(header_folders()) or None
        options = ProgramOptions(arch=arch, name=_NAME, include_path=folders, ptxas_options=verbose)
        return Program(source, "c++", options).compile("cubin", logs=log)
    except Exception as error:
        refused = _refused(str(error), source, arch)
        if refused is None:
            raise
        raise refused from None


def _check_source(source: object) -> None:
    if not isinstance(source, str) or not source.strip():
        raise CudaCompileError(f"The source must be a string with CUDA C++, not {source!r:.60}.")


def _refused(log: str, source: str, arch: str) -> CudaCompileError | None:
    """The error that a compiler's log stands for; None if it is about something else."""
    if "--gpu-architecture" in log:
        return CudaCompileError(f"This NVRTC compiles for no architecture called {arch!r}.")
    found = diagnostics(log, source)
    elsewhere = [line.strip() for line in log.splitlines() if _ELSEWHERE.search(line)]
    if not found and not elsewhere:
        return None
    if not found:  # in a header, behind the end, or in what the assembler was given
        return CudaCompileError(_TOO_MUCH.sub(_too_much, elsewhere[0]))
    several = f"{len(found)} errors" if len(found) > 1 else "1 error"
    message = "\n".join([f"{several} in the CUDA C++ source, compiled for {arch}:", *map(str, found)])
    return CudaCompileError(message, found)


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
