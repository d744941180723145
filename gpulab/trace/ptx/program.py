"""PTX text to something that can be launched, kept by text."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from gpulab.trace.errors import LaunchError
from gpulab.trace.ptx.codegen.translate import KernelCode
from gpulab.trace.ptx.instructions import (
    arithmetic,
    asynchronous,
    atomics,
    bits,
    comparison,
    convert,
    floats,
    matrix,
    memory,
    signs,
    warps,
)
from gpulab.trace.ptx.runtime.buffers import plain_name
from gpulab.trace.ptx.runtime.machine import CompiledModule
from gpulab.trace.ptx.text.parser import parse
from gpulab.trace.ptx.text.syntax import Module

HANDLER_MODULES = (arithmetic, asynchronous, atomics, bits, comparison, convert, floats, matrix, memory, signs, warps)
"""Importing them registers what they translate."""


@dataclass
class Program:
    """A kernel that can be launched."""

    code: KernelCode
    text: str
    """LLVM assembly of it."""
    compiled: CompiledModule
    """At first in a hurry: most launches of a course end sooner than a better translation would."""
    hurried: bool = True

    def improve(self) -> None:
        """Compiles it for a longer run; state is in memory, so that a launch can go on with the other code."""
        if self.hurried:
            self.compiled, self.hurried = CompiledModule(self.text, level=1), False


@functools.lru_cache(maxsize=256)
def parsed(text: str) -> Module:
    """The module of a PTX text."""
    return parse(text)


def kernel_names(text: str) -> list[str]:
    """The kernels that a PTX text defines."""
    return [function.name for function in parsed(text).functions.values() if function.entry and function.defined]


def _missing(name: str, names: list[str]) -> str:
    """What to say of a kernel that is not there."""
    mangled = next((one for one in names if one != plain_name(one) == name), "")
    if mangled.startswith(f"_Z{len(name)}{name}I"):
        remedy = 'It is a template: make it a __device__ function, and call that from an extern "C" kernel.'
    elif mangled:
        remedy = f'Write extern "C" __global__ void {name}(…): without it C++ gives the kernel the name {mangled}.'
    else:
        return f"There is no kernel '{name}' in the source. Its kernels: {', '.join(map(plain_name, names)) or 'none'}."
    return f"There is no kernel of the plain name '{name}' in the source. {remedy}"


@functools.lru_cache(maxsize=256)
def translated(text: str, name: str, counted: bool) -> Program:
    """A kernel of a PTX text.

    Raises:
        LaunchError: there is none of this name.
        UnsupportedError: it uses something that does not run without a GPU.
    """
    names = kernel_names(text)
    if name not in names:
        raise LaunchError(_missing(name, names))
    code = KernelCode(parsed(text), name, counted)
    assembly = code.text()
    return Program(code, assembly, CompiledModule(assembly, level=0))
