"""CUDA C++ kernels without a GPU: source and arguments in, a launch that has run out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpulab.trace.arguments import shape_of
from gpulab.trace.errors import LaunchError
from gpulab.trace.ptx.launch import Options, PtxLaunch
from gpulab.trace.ptx.program import Program, translated
from gpulab.trace.ptx.runtime.buffers import DeviceMemory
from gpulab.trace.ptx.text.dialect import CUDA_CPP
from gpulab.trace.ptx.text.nvrtc import ptx_of
from gpulab.trace.ptx.text.sources import Sources, parameter_names
from gpulab.trace.ptx.text.syntax import Variable


def launch_source(
    source: str,
    name: str,
    grid: Any,
    block: Any,
    arguments: Sequence[Any],
    counted: bool = False,
    shared_bytes: int = 0,
    options: Options | None = None,
    ptx: str | None = None,
) -> PtxLaunch:
    """Runs a kernel of CUDA C++ on the CPU; arrays are written to as on a GPU.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
        grid: blocks: an int or a tuple.
        block: threads of a block: an int or a tuple.
        arguments: contiguous NumPy arrays, CPU tensors, NumPy scalars, Python ints (C's `int`) and floats (`float`).
        counted: whether accesses are counted and races looked for.
        shared_bytes: dynamic shared memory of a block.
        options: how it runs.
        ptx: of the source, if it was compiled with other options than usual.

    Raises:
        NvrtcError: the compiler refuses the source.
        TraceError: a GPU would not carry out the launch as written.
    """
    grid, block = shape_of(grid, "grid"), shape_of(block, "block")
    text = ptx if ptx is not None else ptx_of(source)
    program = translated(text, name, counted)
    memory = memory_of(program)
    parameters = _parameters(program, memory, arguments, parameter_names(source, name))
    launch = PtxLaunch(
        program,
        grid,
        block,
        memory,
        parameters,
        Sources.of(program.code.module, source),
        CUDA_CPP,
        shared_bytes,
        options,
    )
    launch.run()
    return launch


def memory_of(program: Program) -> DeviceMemory:
    """Device memory that holds a module's own variables."""
    code = program.code
    variables = [(number, code.module.variables[name]) for name, number in code.regions.items()]
    return DeviceMemory(variables, code.regions)


def _parameters(program: Program, memory: DeviceMemory, arguments: Sequence[Any], names: list[str]) -> bytes:
    entry = program.code.entry
    wanted = entry.syntax.parameters
    if len(wanted) != len(names):
        names = [f"argument {number}" for number in range(len(wanted))]
    values: list[bytes] = []
    if len(arguments) == len(wanted):
        values = [_bytes_of(argument, name, memory) for name, argument in zip(names, arguments, strict=True)]
    check_arguments(program.code.name, wanted, list(map(len, values)) if values else [0] * len(arguments), names)
    raw = bytearray(entry.parameter_bytes)
    for variable, value in zip(wanted, values, strict=True):
        place = entry.parameter_offsets[variable.name]
        raw[place : place + len(value)] = value
    return bytes(raw)


def check_arguments(kernel: str, wanted: Sequence[Variable], sizes: Sequence[int], names: Sequence[str] = ()) -> None:
    """Refuses a launch whose arguments do not fit the kernel's parameters: a GPU would read others.

    Args:
        kernel: its name.
        wanted: its parameters in PTX.
        sizes: bytes of each argument.
        names: of the parameters in the source.

    Raises:
        LaunchError: there are too few or too many, or one has another size.
    """
    names = names or [f"argument {number}" for number in range(len(wanted))]
    if len(wanted) != len(sizes):
        takes = f"{len(wanted)} argument{'s' * (len(wanted) != 1)} ({', '.join(names)})"
        raise LaunchError(f"Kernel '{kernel}' takes {takes}, the launch gives {len(sizes)}.")
    for variable, name, size in zip(wanted, names, sizes, strict=True):
        if size != variable.bytes:
            raise LaunchError(
                f"Parameter '{name}' has {variable.bytes} bytes, the launch gives {size}. A Python int is an int "
                "of 4 bytes, a float a float of 4; pass np.int64(…), np.float64(…) and the like for other types."
            )


def _bytes_of(argument: Any, name: str, memory: DeviceMemory) -> bytes:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(argument, torch.Tensor):
        argument = _array_of(argument, name)
    if isinstance(argument, np.ndarray):
        if not argument.flags.c_contiguous:
            raise LaunchError(f"Argument '{name}' is not contiguous. Pass numpy.ascontiguousarray(…).")
        if argument.dtype.kind not in "biufcV":
            raise LaunchError(f"Argument '{name}' is an array of {argument.dtype}. A kernel takes numbers.")
        return np.int64(memory.add(argument, name, flat=True)).tobytes()
    if isinstance(argument, np.generic):
        return argument.tobytes()
    if isinstance(argument, (bool, int)):
        if not -(1 << 31) <= argument < 1 << 32:
            raise LaunchError(f"Argument '{name}' is {argument:,}, which does not fit into C's int. Pass np.int64(…).")
        return int(argument & 0xFFFFFFFF).to_bytes(4, "little")
    if isinstance(argument, float):
        return np.float32(argument).tobytes()
    raise LaunchError(f"Argument '{name}' is a {type(argument).__name__}. A kernel takes arrays and numbers.")


def _array_of(tensor: Any, name: str) -> Any:
    """A CPU tensor's memory as an array; bfloat16 as 16-bit integers."""
    if tensor.device.type != "cpu" or not tensor.is_contiguous():
        raise LaunchError(f"Argument '{name}' is a tensor that is not contiguous, or not on the CPU.")
    import torch

    tensor = tensor.detach()
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
