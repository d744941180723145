"""What tests ask of CUDA C++ in a string: that it is the kernel that was asked for, and what is in its PTX.

Compiling, running and counting are the business of `gpulab.cuda_cpp`, which does it in confined processes
(`gpulab.confined`) where it is called by the judge.
"""

from __future__ import annotations

import re

from gpulab import cuda_cpp

_OWN_FILE = re.compile(r"#\s*include(?!\s*<\w[\w/]*(\.\w+)?>)|%:|\?\?=")


def require_kernel(
    source: object, what: str, declaration: str, architectures: tuple[str, ...] = cuda_cpp.ARCHITECTURES
) -> None:
    """Refuses a source that does not compile for each of these architectures, or declares another kernel.

    Args:
        source: that should be CUDA C++.
        what: the name of the exercise.
        declaration: of the kernel, such as `extern "C" __global__ void copy(const float* x, float* y)`.
        architectures: such as `("sm_80", "sm_90")`; without them, all that the course names.

    Raises:
        AssertionError: for the student, with what is wrong.
    """
    if not isinstance(source, str) or not source.strip():
        raise AssertionError(f"{what} must be a string with CUDA C++.")
    code = _without_comments(source)
    if _OWN_FILE.search(code):
        raise AssertionError(f"{what} includes a file of its own. Put everything into the string.")
    name = re.findall(r"(\w+)\s*\(", declaration)[0]
    try:
        # With its declaration from the start: a source that is right is compiled once.
        cubins = cuda_cpp.compile_all(f"{source}\n{declaration};\n", architectures)
    except cuda_cpp.CudaCompileError as error:
        _compiled(source, f"{what} does not compile.", architectures)
        _require_name(code, what, name, declaration)
        note = f"{what} compiles, but {name} has another signature than {declaration}."
        raise AssertionError(f"{note} {error}") from None
    _require_name(code, what, name, declaration)
    if not all(f".text.{name}\0".encode() in cubin for cubin in cubins.values()):
        raise AssertionError(
            f"{what} compiles, but {name} has no body, or is not a __global__ function: nothing can run."
        )


def _require_name(code: str, what: str, name: str, declaration: str) -> None:
    if not re.search(r'extern\s*"C"', code):
        without = 'without extern "C" the compiler decorates the name'
        raise AssertionError(f"{what} compiles, but {without}, and no {name} is found.")
    if not re.search(rf"\b{name}\s*\(", code):
        raise AssertionError(f"{what} compiles, but there is no {name} in it. Declare it as {declaration}.")


def _without_comments(source: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source.replace("\\\n", ""), flags=re.DOTALL)


def _compiled(source: str, note: str, architectures: tuple[str, ...]) -> None:
    try:
        cuda_cpp.compile_all(source, architectures)
    except cuda_cpp.CudaCompileError as error:
        raise AssertionError(f"{note} {error}") from None


def instructions_named(source: str, *names: str) -> list[int]:
    """How many lines of a source's PTX contain each name, such as `shfl.sync` or `.shared`.

    Raises:
        CudaCompileError: NVRTC refuses the source.
    """
    lines = [line.partition("//")[0] for line in cuda_cpp.ptx(source).splitlines()]
    return [sum(name in line for line in lines) for name in names]
