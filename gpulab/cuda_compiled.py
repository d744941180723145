"""What becomes of CUDA C++ on its way to the GPU: PTX and registers.

Compiling itself, its messages, and runs are the business of `gpulab.cuda_cpp`; everything here works without a driver.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from gpulab import confined, cuda_cpp

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
    found = confined.call(_resources, source, arch, what=cuda_cpp.COMPILING, seconds=cuda_cpp.COMPILE_SECONDS)
    return tuple(Resources(name, arch, *numbers) for name, numbers in found)


def _resources(source: str, arch: str) -> list[tuple[str, tuple[int, int, int]]]:
    from cuda.core import Program, ProgramOptions

    cuda_cpp.compile(source, arch)  # for its messages, should there be any
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
    return cuda_cpp.ptx(source, arch.replace("sm_", "compute_"))


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
