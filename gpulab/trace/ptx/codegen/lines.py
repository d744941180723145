"""Lines of LLVM assembly, while they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpulab.trace.ptx.codegen.translate import KernelCode


class CodeLines:
    """A part of a kernel's code, written from its first line to its last.

    Args:
        kernel: gives names that nothing else in it has.
    """

    def __init__(self, kernel: KernelCode) -> None:
        self.kernel = kernel
        self.lines: list[str] = []

    def new(self, text: str) -> str:
        """The value of an instruction, under a new name."""
        name = self.kernel.fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def emit(self, text: str) -> None:
        """An instruction without a value."""
        self.lines.append("  " + text)

    def label(self) -> str:
        """A new label."""
        return self.kernel.fresh()[1:]
