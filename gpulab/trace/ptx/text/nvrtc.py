"""CUDA C++ to PTX with NVRTC, which needs neither a GPU nor its driver."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

ARCHITECTURE = "compute_80"
"""What is compiled for where there is no GPU: Ampere."""
SOURCE_NAME = "kernel.cu"


class NvrtcError(Exception):
    """The compiler refuses the source; its log."""


@functools.lru_cache(maxsize=64)
def ptx_of(source: str, arch: str = ARCHITECTURE, options: tuple[str, ...] = ("-lineinfo",)) -> str:
    """The PTX of CUDA C++ source.

    Args:
        source: CUDA C++.
        arch: such as `"compute_75"`.
        options: of NVRTC.

    Raises:
        NvrtcError: with the compiler's log.
    """
    from cuda.bindings import nvrtc

    given = [f"--gpu-architecture={arch}", *options, *(f"-I{folder}" for folder in header_folders())]
    program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), SOURCE_NAME.encode(), 0, [], []), "")
    try:
        result = nvrtc.nvrtcCompileProgram(program, len(given), [option.encode() for option in given])
        if int(result[0]) != 0:
            raise NvrtcError(_text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program))
        return _text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


@functools.cache
def header_folders() -> tuple[str, ...]:
    """Where CUDA's headers are: `cuda_fp16.h` and the like, and what `mma.h` needs, which Triton brings."""
    from cuda.pathfinder import find_nvidia_header_directory

    found = []
    headers = find_nvidia_header_directory("cudart")
    if headers:  # None where that wheel is missing
        found += [str(headers), f"{headers}/cccl"]
    triton = importlib.util.find_spec("triton")
    for folder in triton.submodule_search_locations or () if triton else ():
        include = Path(folder) / "backends" / "nvidia" / "include"
        if (include / "crt" / "mma.h").is_file():
            found.append(str(include))
    return tuple(found)


def _text(size: Any, get: Any, program: Any) -> str:
    buffer = b" " * _checked(size(program), "")
    _checked(get(program, buffer), "")
    return str(buffer.rstrip(b"\0 "), errors="replace")


def _checked(result: Any, log: str) -> Any:
    if int(result[0]) != 0:
        raise NvrtcError(log or str(result[0]))
    return result[1] if len(result) == 2 else result[1:]
