"""`@cuda.jit` kernels as Numba's compiler translates them: their PTX, run on the CPU."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Iterator, Sequence
from tokenize import TokenError
from types import FunctionType
from typing import Any

import numpy as np

from gpulab.trace.arguments import Arguments, host_array, is_scalar, shape_of
from gpulab.trace.errors import LaunchError
from gpulab.trace.ptx.cpp import memory_of
from gpulab.trace.ptx.launch import Options, PtxLaunch
from gpulab.trace.ptx.program import kernel_names, translated
from gpulab.trace.ptx.report import trace_of
from gpulab.trace.ptx.runtime.buffers import DeviceMemory
from gpulab.trace.ptx.text.dialect import NUMBA
from gpulab.trace.ptx.text.sources import Sources
from gpulab.trace.python.type_inference import typecheck
from gpulab.trace.result import Trace


def trace_kernel(
    kernel: Any, grid: Any, block: Any, *arguments: Any, shared_bytes: int = 0, seed: int = 0, seconds: float = 10.0
) -> Trace:
    """Compiles a `@cuda.jit` kernel, runs its PTX on the CPU, and counts what it does.

    Args:
        kernel: decorated with `@cuda.jit`.
        grid: blocks: an int, or up to three.
        block: threads of a block: an int, or up to three.
        arguments: of the kernel. Arrays and tensors are written to as on a GPU.
        shared_bytes: dynamic shared memory of a block.
        seed: of another order of warps and lanes; 0 takes them in order.
        seconds: of processor time that the kernel may take.

    Raises:
        TraceError: Numba refuses the kernel, or a GPU would not carry out the launch as written.
    """
    launch = run_kernel(kernel, grid, block, arguments, shared_bytes, Options(seconds, seed))
    return trace_of(launch, kernel.py_func.__name__)


def run_kernel(
    kernel: Any, grid: Any, block: Any, arguments: Sequence[Any], shared_bytes: int = 0, options: Options | None = None
) -> PtxLaunch:
    """The same, without the account: the launch that has run out."""
    shapes = shape_of(grid, "grid"), shape_of(block, "block")
    names = list(inspect.signature(kernel.py_func).parameters)
    if len(names) != len(arguments):
        wanted = f"{len(names)} argument{'s' * (len(names) != 1)} ({', '.join(names)})"
        raise LaunchError(f"Kernel '{kernel.py_func.__name__}' takes {wanted}, the launch gives {len(arguments)}.")
    text = typecheck(kernel, *arguments).ptx
    program = translated(text, kernel_names(text)[0], True)
    memory, passed = memory_of(program), Arguments()
    raw = _parameters(program.code.entry.parameter_offsets, names, arguments, memory, passed)
    sources = Sources.of(program.code.module, None)
    launch = PtxLaunch(program, *shapes, memory, raw, sources, NUMBA, int(shared_bytes), options)
    launch.name_shared(_shared_names(kernel.py_func))
    launch.run()
    passed.finish()
    return launch


def _shared_names(function: FunctionType) -> list[str]:
    """What a kernel calls its shared arrays, in the order of its source; Numba only numbers them."""
    lines = linecache.getlines(function.__code__.co_filename)[function.__code__.co_firstlineno - 1 :]
    try:
        text = "".join(inspect.getblock(lines))
    except (SyntaxError, IndentationError, TokenError):
        return []
    return re.findall(r"(\w+)\s*=\s*(?:\w+\.)*shared\.array\(", text)


def _parameters(
    places: dict[str, int], names: list[str], arguments: Sequence[Any], memory: DeviceMemory, passed: Arguments
) -> bytes:
    """Numba's calling convention: an array is two pointers, two counts, its data, its shape and its strides."""
    fields: list[bytes] = []
    hosts: dict[int, Any] = {}
    for name, value in zip(names, arguments, strict=True):
        array = host_array(value, passed, hosts)
        if array is None:
            fields += _scalars(name, value)
            continue
        address = memory.add(array, name, flat=False)
        fields += [number.to_bytes(8, "little") for number in (0, 0, array.size, array.itemsize, address)]
        fields += [number.to_bytes(8, "little", signed=True) for number in (*array.shape, *array.strides)]
    if len(fields) != len(places):
        raise LaunchError(f"The kernel has {len(places)} parameters in PTX, the arguments have {len(fields)} parts.")
    raw = bytearray()
    for place, value in zip(places.values(), fields, strict=True):
        raw += bytes(place - len(raw)) + value
    return bytes(raw)


def _scalars(name: str, value: Any) -> Iterator[bytes]:
    if isinstance(value, tuple):
        for part in value:
            yield from _scalars(name, part)
    elif isinstance(value, np.generic):
        yield value.tobytes()
    elif isinstance(value, bool):
        yield bytes([value])
    elif isinstance(value, int):
        yield (value & (1 << 64) - 1).to_bytes(8, "little")
    elif isinstance(value, float):
        yield np.float64(value).tobytes()
    else:
        kind = "number" if is_scalar(value) else type(value).__name__
        raise LaunchError(f"Argument '{name}' is a {kind} that no kernel takes here.")
