"""Where in the student's source something happened: frames and bytecode positions to lines and expressions.

An access is identified by the source range of its expression, which the compiler keeps for every instruction. The
instruction's own offset would not do: the interpreter leaves it on the instruction or on its inline cache, depending
on how often the code has run.
"""

from __future__ import annotations

import dis
import linecache
import sys
from collections.abc import Collection
from dataclasses import dataclass
from types import CodeType, FrameType

import numpy as np
from numpy.typing import NDArray

_OURS = __name__.rpartition(".")[0] + "."
"""What the names of the tracer's own modules begin with; none of those that a kernel calls is the package itself."""


@dataclass(frozen=True)
class SourcePlace:
    """A line of the student's source, and the expression on it."""

    line: int
    source: str
    """The line without its indentation; empty where the source cannot be had."""
    expression: str = ""
    """Such as `tile[ty, tx]`."""

    def __str__(self) -> str:
        source = self.source.removesuffix(";")  # it is part of a sentence
        return f"line {self.line}: {source}" if source else f"line {self.line}"


class Places:
    """Numbers the places of a launch, so that a million accesses can be grouped as integers."""

    def __init__(self) -> None:
        self._known: list[tuple[CodeType, int]] = []
        self._numbers: dict[int, NDArray[np.int64]] = {}
        self._at: dict[tuple[int, int], int] = {}

    def numbers_of(self, code: CodeType) -> NDArray[np.int64]:
        """For each code unit (`f_lasti // 2`) the number of its place; one place has one number."""
        # By identity: hashing a code object looks at all its constants, and equal codes may stand on different lines.
        found = self._numbers.get(id(code))
        if found is not None:
            return found
        first: dict[object, int] = {}
        numbers = []
        for unit, position in enumerate(code.co_positions()):
            if position not in first:
                first[position] = len(self._known)
                self._known.append((code, unit))  # holds the code, so that its id stays its own
            numbers.append(first[position])
        self._numbers[id(code)] = np.array(numbers, dtype=np.int64)
        return self._numbers[id(code)]

    def number_at(self, frame: FrameType) -> int:
        """The number of the place where a frame stands."""
        key = (id(frame.f_code), frame.f_lasti)
        number = self._at.get(key)
        if number is None:
            number = self._at[key] = int(self.numbers_of(frame.f_code)[frame.f_lasti // 2])
        return number

    def place(self, number: int) -> SourcePlace:
        """The place that has this number."""
        code, unit = self._known[number]
        return _place(code, unit)

    def __len__(self) -> int:
        return len(self._known)


def _place(code: CodeType, unit: int) -> SourcePlace:
    positions = list(code.co_positions())
    line, last, start, stop = positions[min(unit, len(positions) - 1)]
    text = linecache.getline(code.co_filename, line or 0)
    # Columns count bytes of UTF-8.
    whole = line == last and start is not None and stop is not None
    expression = text.encode()[start:stop].decode(errors="replace") if whole else ""
    return SourcePlace(line or code.co_firstlineno, text.strip(), expression)


def place_of(frame: FrameType) -> SourcePlace:
    """Where this frame stands."""
    return _place(frame.f_code, frame.f_lasti // 2)


def kernel_frame() -> FrameType:
    """The innermost frame that is not the tracer's own: the kernel's, or a device function's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame = frame.f_back
    if frame is None:
        raise RuntimeError("called outside a kernel")
    return frame


def place_raised(error: BaseException, codes: Collection[CodeType]) -> SourcePlace | None:
    """Where in one of these functions an exception was raised; the innermost, if several were running."""
    found = None
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code in codes:
            found = _place(step.tb_frame.f_code, step.tb_lasti // 2)
        step = step.tb_next
    return found


def assigned_name(frame: FrameType) -> str:
    """The variable that the call at which this frame stands is assigned to: `tile` in `tile = cuda.shared.array(…)`."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset > frame.f_lasti and instruction.opname not in ("CACHE", "NOP"):
            # Python 3.13 stores and loads in one instruction, which has two names.
            name = instruction.argval[0] if isinstance(instruction.argval, tuple) else instruction.argval
            return str(name) if instruction.opname.startswith("STORE_") else ""
    return ""
