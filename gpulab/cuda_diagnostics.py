"""What a compiler says about CUDA C++: its log in, errors with the source's own lines out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

KERNEL_FILE = "kernel.cu"
"""What the compiler calls the source."""
_ELSEWHERE = re.compile(r"error\s*:")
_NO_HEADER = (
    ". The device compiler (NVRTC) has headers for kernels only: leave out the host's headers, and main. "
    "It knows printf and the functions of math.h without any."
)
_OF_FRAGMENTS = {
    r'"(nvcuda::wmma::)?mma_sync"': "Its arguments are the sums, a fragment of a, a fragment of b, and the sums again, "
    "in this order and with matching types.",
    r'"(nvcuda::wmma::)?store_matrix_sync"': "Its arguments are a pointer to elements of the fragment's type, the "
    "fragment, the leading dimension, and a layout.",
    r'"(nvcuda::wmma::)?load_matrix_sync"': "Its arguments are the fragment, a pointer to elements of the fragment's "
    "type, and the leading dimension (for an accumulator, also a layout).",
    r'incomplete type "nvcuda::wmma::fragment': "There is no such fragment: are its sizes and its type right, and "
    "do the fragments of a and b have a layout?",
}
"""Words of an error about tensor cores, and what is meant by it."""
_NO_FRAGMENTS = ". Does the source have #include <mma.h> and using namespace nvcuda? (wmma is nvcuda::wmma.)"
_DIRECTORIES = re.compile(r"\S*/(?=[\w.]+\(\d+\))")
_OLD = re.compile(r'identifier "(__(?:shfl(?:_up|_down|_xor)?|ballot|any|all))" is undefined')
"""Names of instructions of a warp that CUDA 9 replaced, on all GPUs since Volta."""
_TOO_MUCH = re.compile(
    r"ptxas error\s*: Entry function '(\w+)' uses too much shared data \(0x(\w+) bytes, 0x(\w+) max\)"
)
_EMPTY_LOOP = re.compile(r"\bfor\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*;")
"""A `for` whose body is a semicolon."""


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


def check_source(source: object) -> None:
    """Refuses what is no CUDA C++ at all."""
    if not isinstance(source, str) or not source.strip():
        raise CudaCompileError(f"The source must be a string with CUDA C++, not {source!r:.60}.")


def refused(log: str, source: str, arch: str) -> CudaCompileError | None:
    """The error that a compiler's log stands for; None if it is about something else."""
    if "--gpu-architecture" in log:
        return CudaCompileError(f"This NVRTC compiles for no architecture called {arch!r}.")
    found = diagnostics(log, source)
    elsewhere = [line.strip() for line in log.splitlines() if _ELSEWHERE.search(line)]
    if not found and not elsewhere:
        return None
    if not found:  # in a header, behind the end, or in what the assembler was given
        return CudaCompileError(_DIRECTORIES.sub("", _TOO_MUCH.sub(_too_much, elsewhere[0])))
    several = f"{len(found)} errors" if len(found) > 1 else "1 error"
    message = "\n".join([f"{several} in the CUDA C++ source, compiled for {arch}:", *map(str, found)])
    return CudaCompileError(message, found)


def _too_much(told: re.Match[str]) -> str:
    used, limit = int(told[2], 16), int(told[3], 16)
    return f"Kernel '{told[1]}' uses {used:,} bytes of shared memory in a block. A block has at most {limit:,}."


def empty_loop(source: str, word: str = "") -> str:
    """A sentence about the first `for` whose body is a semicolon and whose head holds this word, or an empty string."""
    code = re.sub(r"//[^\n]*", "", source)
    for found in _EMPTY_LOOP.finditer(code):
        if re.search(rf"\b{re.escape(word)}\b", found[0]):
            line = code.count("\n", 0, found.end()) + 1
            return f"The semicolon after for (…) in line {line} ends the loop: its body is empty."
    return ""


def diagnostics(log: str, source: str) -> tuple[Diagnostic, ...]:
    """The errors in a compiler's log, with the lines that they are about.

    Args:
        log: of NVRTC.
        source: that was compiled.
    """
    lines: Sequence[str] = source.splitlines()
    found: list[Diagnostic] = []
    for number, message in re.findall(
        rf"{re.escape(KERNEL_FILE)}\((\d+)\): (?:catastrophic )?error(?: #\S+)?: (.*)", log
    ):
        line = int(number)
        if message.startswith("cannot open source file"):
            message += _NO_HEADER
        if old := _OLD.search(message):
            message = f"{message.strip()}: write {old[1]}_sync, whose first argument is the mask of the lanes"
        name = re.search(r'identifier "(\w+)" is undefined', message)
        if name and (loop := empty_loop(source, name[1])):
            message = f"{message.strip()}. {loop}"
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        if "namespace name" in message and re.search(r"\b(wmma|nvcuda)\b", text) and not found:
            message += _NO_FRAGMENTS
        message += "".join(f". {note}" for words, note in _OF_FRAGMENTS.items() if re.search(words, message))
        found.append(Diagnostic(line, message.strip(), text))
    return tuple(found)
