"""What tests ask of CUDA C++ in a string: that it is the kernel that was asked for, and what a launch of it does.

Compiling and running are the business of `gpulab.cuda_cpp`. Here, too, the judge's compiler and kernel run in confined
processes (`gpulab.confined`), and only plain values come back.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab import confined, cuda_cpp

_OWN_FILE = re.compile(r"#\s*include(?!\s*<\w[\w/]*(\.\w+)?>)|%:|\?\?=")


def require_kernel(source: object, what: str, declaration: str) -> None:
    """Refuses a source that does not compile for all architectures of the course, or declares another kernel.

    Args:
        source: that should be CUDA C++.
        what: the name of the exercise.
        declaration: of the kernel, such as `extern "C" __global__ void copy(const float* x, float* y)`.

    Raises:
        AssertionError: for the student, with what is wrong.
    """
    if not isinstance(source, str) or not source.strip():
        raise AssertionError(f"{what} must be a string with CUDA C++.")
    code = _without_comments(source)
    if _OWN_FILE.search(code):
        raise AssertionError(f"{what} includes a file of its own. Put everything into the string.")
    cubins = _compiled(source, f"{what} does not compile.")
    name = re.findall(r"(\w+)\s*\(", declaration)[0]
    if not re.search(r'extern\s*"C"', code):
        without = 'without extern "C" the compiler decorates the name'
        raise AssertionError(f"{what} compiles, but {without}, and no {name} is found.")
    if not re.search(rf"\b{name}\s*\(", code):
        raise AssertionError(f"{what} compiles, but there is no {name} in it. Declare it as {declaration}.")
    _compiled(f"{source}\n{declaration};\n", f"{what} compiles, but {name} has another signature than {declaration}.")
    if not all(f".text.{name}\0".encode() in cubin for cubin in cubins.values()):
        raise AssertionError(f"{what} compiles, but {name} has no body, or is no __global__ function: nothing can run.")


def _without_comments(source: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source.replace("\\\n", ""), flags=re.DOTALL)


def _compiled(source: str, note: str) -> dict[str, bytes]:
    try:
        return cuda_cpp.compile_all(source)
    except cuda_cpp.CudaCompileError as error:
        raise AssertionError(f"{note} {error}") from None


def instructions_named(source: str, name: str) -> int:
    """How many lines of a source's PTX contain a name, such as `shfl.sync` or `.shared`.

    Raises:
        CudaCompileError: NVRTC refuses the source.
    """
    lines = (line.partition("//")[0] for line in cuda_cpp.ptx(source).splitlines())
    return sum(name in line for line in lines)


def counted(
    source: str, name: str, grid: Any, block: Any, *arguments: Any, seed: int = 0
) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    """Runs a kernel once on the CPU, on a machine with or without a GPU, and counts what it does.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
        grid: blocks: an int or a tuple.
        block: threads of a block: an int or a tuple.
        arguments: as for `cuda_cpp.run`.
        seed: of another order of warps and lanes; 0 takes them in order. Lanes that meet late count as several
            requests, so requests are to be judged with 0.

    Returns:
        The arrays among the arguments, as the kernel left them, and `Trace.summary()`; the originals are unchanged.

    Raises:
        CudaCompileError: NVRTC refuses the source.
        TraceError: a GPU would not carry out the launch as written.
    """
    given = source, name, grid, block, list(arguments), seed
    arrays, summary = confined.call(_counted, *given, what=f"Running '{name}'", seconds=3 * cuda_cpp.LONGEST_S)
    return list(arrays), dict(summary)


def _counted(source: str, name: str, grid: Any, block: Any, arguments: list[Any], seed: int) -> list[Any]:
    copies = [np.array(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments]
    trace = cuda_cpp.trace(source, name, grid, block, *copies, seed=seed)
    return [[copy for copy in copies if isinstance(copy, np.ndarray)], trace.summary()]
