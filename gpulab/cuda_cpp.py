"""CUDA C++ in a string: compiled by NVRTC and run, on any machine.

Compiling needs no driver, so that a laptop says what is wrong with a kernel, with the line numbers of the string as the
student wrote it. `run` uses the GPU, with guard bytes around every buffer; where there is none it runs the kernel's PTX
on the CPU (`gpulab.trace.ptx`), where every access is checked. `trace` always does that, and counts.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpulab import confined
from gpulab.cuda_diagnostics import KERNEL_FILE, check_source, empty_loop, refused
from gpulab.cuda_diagnostics import CudaCompileError as CudaCompileError  # what `compile` raises
from gpulab.cuda_guarded import NO_GUARD, launch_guarded
from gpulab.cuda_guarded import BrokenContextError as BrokenContextError  # what `run` raises
from gpulab.cuda_guarded import GuardError as GuardError
from gpulab.measuring.devices import has_gpu

if TYPE_CHECKING:
    from gpulab.trace.ptx.text.resources import KernelResources
    from gpulab.trace.result import Trace

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
"""Turing, Ampere, Hopper."""

LONGEST_S = 10.0
"""A kernel may run in `run`."""

COMPILING = "Compiling the CUDA C++ source"
COMPILE_SECONDS = 60.0
"""For all three architectures. With the header of cooperative groups, that takes 5 s on an idle core."""


def compile(source: str, arch: str = "sm_80") -> bytes:
    """The machine code of CUDA C++ source, as a cubin.

    Args:
        source: with its kernels declared `extern "C" __global__`.
        arch: such as `"sm_90"`.

    Raises:
        CudaCompileError: NVRTC refuses it; with the source's own lines.
    """
    check_source(source)
    return _kept_cubins(source, (arch,))[arch]


def compile_all(source: str, architectures: tuple[str, ...] = ARCHITECTURES) -> dict[str, bytes]:
    """Compiles for several architectures, by default all that the course names: architecture → cubin.

    Raises:
        CudaCompileError: NVRTC refuses it for one of them, which is named.
    """
    check_source(source)
    return dict(_kept_cubins(source, architectures))


@functools.lru_cache(maxsize=16)
def _kept_cubins(source: str, architectures: tuple[str, ...]) -> dict[str, bytes]:
    return confined.call(_cubins, source, architectures, what=COMPILING, seconds=COMPILE_SECONDS)


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
    check_source(source)
    return _kept_ptx(source, arch)


@functools.lru_cache(maxsize=64)
def _kept_ptx(source: str, arch: str) -> str:
    return confined.call(_ptx, source, arch, what=COMPILING, seconds=COMPILE_SECONDS)


def _ptx(source: str, arch: str) -> str:
    from gpulab.trace.ptx.text.nvrtc import NvrtcError, ptx_of

    try:
        return ptx_of(source, arch)
    except NvrtcError as error:
        found = refused(str(error), source, arch)
        if found is None:
            raise
        raise found from None


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
    return next(run_each(source, name, [Call(grid, block, arguments, shared_bytes)]))


@dataclass(frozen=True)
class Call:
    """One launch of a kernel: what stands between `<<<` and `>>>`, and its arguments."""

    grid: Any
    """Blocks: an int or a tuple."""
    block: Any
    """Threads of a block: an int or a tuple."""
    arguments: Sequence[Any]
    """As for `run`."""
    shared_bytes: int = 0
    """Dynamic shared memory of a block."""
    seed: int = 0
    """Of another order of warps and lanes, without a GPU; 0 takes them in order."""
    tensor_key: int = 0
    """Without a GPU: tensor cores multiply each product by a number that depends on it and on this key, as
    `tensor_product` does. What a kernel leaves shows whether it used them. 0: they multiply as they should."""


def tensor_product(a: NDArray[Any], b: NDArray[Any], key: int) -> NDArray[Any]:
    """What simulated tensor cores with this key (`Call.tensor_key`) make of two matrices, as float64."""
    from gpulab.trace.ptx.tensor_cores import product

    return product(a.astype(np.float64), b.astype(np.float64), key)


def run_each(source: str, name: str, calls: Sequence[Call]) -> Iterator[list[NDArray[Any]]]:
    """Compiles a kernel once and runs it several times; in the judge, in one confined process.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
        calls: the launches. Those behind one that fails are not run.

    Yields:
        What `run` returns, for each launch in order.

    Raises:
        Exception: what `run` raises, when it is the turn of the launch that failed.
    """
    for arrays, _ in _each(source, name, calls, counted=False):
        yield arrays


def count_each(source: str, name: str, calls: Sequence[Call]) -> Iterator[tuple[list[NDArray[Any]], dict[str, Any]]]:
    """Compiles a kernel once, runs it several times on the CPU, and counts; in the judge, in one confined process.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
        calls: the launches. Those behind one that fails are not run.

    Yields:
        For each launch in order the arrays among its arguments, as the kernel left them, and `Trace.summary()`, with
        `most_written`: for each array the most elements that one block has written. The originals are unchanged.

    Raises:
        CudaCompileError: NVRTC refuses the source.
        TraceError: a GPU would not carry out a launch as written; raised when it is its turn.
    """
    return _each(source, name, calls, counted=True)


LaunchResult = tuple[list[NDArray[Any]], dict[str, Any]]


def _each(source: str, name: str, calls: Sequence[Call], counted: bool) -> Iterator[LaunchResult]:
    on_gpu = has_gpu() and not counted
    text = "" if on_gpu else ptx(source)  # compiled once: the judge keeps it, and what runs it need not compile
    given = source, text, name, [list(vars(call).values()) for call in calls], counted
    if not confined.in_judge():
        yield from _outcomes(*given)
        return
    # The last launch may be one that does not end.
    outcomes = confined.call(_plain_outcomes, *given, what=f"Running '{name}'", seconds=5 * LONGEST_S)
    for outcome in outcomes:
        match outcome:
            case ["value", list(arrays), dict(summary)]:
                yield arrays, summary
            case ["raised", str(module), str(kind), str(message)]:
                raise confined.exception(module, kind, message) or AssertionError(f"'{name}' failed: {message}")
            case _:
                raise AssertionError(f"Running '{name}' gave something that cannot be read.")


def _plain_outcomes(source: str, text: str, name: str, calls: list[Any], counted: bool) -> list[Any]:
    """Plain values, which can be sent: the outcomes up to the first launch that fails, and how it does."""
    found: list[Any] = []
    try:
        found.extend(["value", *outcome] for outcome in _outcomes(source, text, name, calls, counted))
    except Exception as error:
        if not type(error).__module__.startswith("gpulab"):
            raise
        found.append(["raised", type(error).__module__, type(error).__qualname__, str(error)[:20_000]])
    return found


def _outcomes(source: str, text: str, name: str, calls: list[Any], counted: bool) -> Iterator[LaunchResult]:
    from gpulab.trace.arguments import shape_of

    kernel = None
    for one in calls:
        call = Call(*one)
        grid, block = shape_of(call.grid, "grid"), shape_of(call.block, "block")
        if text:
            yield _on_cpu(source, text, name, call, counted)
            continue
        if kernel is None:
            kernel = gpu_kernel(source, name)
        try:
            after = launch_guarded(kernel, name, grid, block, call.arguments, call.shared_bytes, LONGEST_S)
        except GuardError as error:
            raise GuardError(str(error).replace(NO_GUARD, empty_loop(source) or NO_GUARD)) from None
        yield after, {}


def _on_cpu(source: str, text: str, name: str, call: Call, counted: bool) -> LaunchResult:
    from gpulab.trace.errors import OutOfBoundsError
    from gpulab.trace.ptx.cpp import launch_source
    from gpulab.trace.ptx.launch import Options
    from gpulab.trace.ptx.report import most_written, trace_of

    copies = [np.array(argument) if isinstance(argument, np.ndarray) else argument for argument in call.arguments]
    options = Options(LONGEST_S, call.seed, tensor_key=call.tensor_key)
    try:
        launch = launch_source(source, name, call.grid, call.block, copies, counted, call.shared_bytes, options, text)
    except OutOfBoundsError as error:
        if counted:
            raise
        told = str(error)
        outside = "is out of bounds" in told and "shared array" not in told
        raise GuardError(f"{told} {empty_loop(source) or NO_GUARD}" if outside else told) from None
    arrays = [copy for copy in copies if isinstance(copy, np.ndarray)]
    if not counted:
        return arrays, {}
    return arrays, trace_of(launch, name).summary() | {"most_written": most_written(launch)}


def gpu_kernel(source: str, name: str) -> Any:
    """A kernel compiled for this machine's GPU and loaded, as `cuda.core` launches it.

    Raises:
        CudaCompileError: NVRTC refuses the source.
    """
    import torch
    from cuda.core import Device

    major, minor = torch.cuda.get_device_capability()
    torch.cuda.synchronize()  # torch makes its context current, which the loading needs
    Device(torch.cuda.current_device()).set_current()
    return _object_code(source, f"sm_{major}{minor}").get_kernel(name)


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
        RuntimeError: in the judge, which must not run what a student wrote.
    """
    from gpulab.trace.launch import remember
    from gpulab.trace.ptx.cpp import launch_source
    from gpulab.trace.ptx.launch import Options
    from gpulab.trace.ptx.report import trace_of

    confined.refuse_in_judge("cuda_cpp.trace", "cuda_cpp.count_each")
    options = Options(LONGEST_S, seed)
    launch = launch_source(source, name, grid, block, arguments, True, shared_bytes, options, ptx(source))
    return remember(trace_of(launch, name))


def resources(source: str, name: str, block: Any, shared_bytes: int = 0, arch: str = "sm_80") -> KernelResources:
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
    log = confined.call(_ptxas_log, source, arch, what=COMPILING, seconds=COMPILE_SECONDS)
    return resources_of(name, arch, log, x * y * z, shared_bytes)


def _ptxas_log(source: str, arch: str) -> str:
    log = io.StringIO()
    _object_code(source, arch, log)
    return log.getvalue()


def _object_code(source: str, arch: str, log: io.StringIO | None = None) -> Any:
    from cuda.core import Program, ProgramOptions

    from gpulab.trace.ptx.text.nvrtc import header_folders

    check_source(source)
    try:
        verbose = ["-v"] if log is not None else None
        folders = list(header_folders()) or None
        options = ProgramOptions(arch=arch, name=KERNEL_FILE, include_path=folders, ptxas_options=verbose)
        return Program(source, "c++", options).compile("cubin", logs=log)
    except Exception as error:
        found = refused(str(error), source, arch)
        if found is None:
            raise
        raise found from None
