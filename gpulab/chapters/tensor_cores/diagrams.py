"""Draws what the tensor-core chapter explains: one tensor-core instruction, number formats, rows in memory, the
products of a layer.

What a student's function decides, or a table says, is drawn by `tensor_cores.pictures`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.figures.diagrams import bare, rectangle
from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, number, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALE_BLUE, PALE_ORANGE = "#cfe0ee", "#ffe3c7"
"""Fills that can be written on: 16-bit and 32-bit matrices."""
BYTES_OF_LINE = 128
LOAD_BYTES = 16


@dataclass(frozen=True)
class Format:
    """A floating-point format: a sign, then exponent bits, then mantissa bits."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    finite_only: bool = False
    """Whether the highest exponent holds numbers too, all but the last: `float8_e4m3fn` has no infinity."""

    @property
    def bits(self) -> int:
        """How many bits it has; `tfloat32` has 19, and lies in 32 in memory."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def _bias(self) -> int:
        return int(2 ** (self.exponent_bits - 1) - 1)

    @property
    def largest(self) -> float:
        """The largest finite number."""
        if self.finite_only:
            return float((2 - 2 * 2**-self.mantissa_bits) * 2.0 ** (self._bias + 1))
        return float((2 - 2**-self.mantissa_bits) * 2.0**self._bias)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with all of its digits."""
        return float(2.0 ** (1 - self._bias))

    @property
    def smallest(self) -> float:
        """The smallest positive number: only its last digit is left."""
        return self.smallest_normal * self.epsilon

    @property
    def epsilon(self) -> float:
        """From 1 to the next number above."""
        return float(2.0**-self.mantissa_bits)


FORMATS = (
    Format("float32", 8, 23),
    Format("tfloat32", 8, 10),
    Format("bfloat16", 8, 7),
    Format("float16", 5, 10),
    Format("float8, e5m2", 5, 2),
    Format("float8, e4m3", 4, 3, finite_only=True),
)
"""What tensor cores multiply. Layouts: IEEE 754; NVIDIA A100 whitepaper (tfloat32); OCP 8-bit floating point, 2023."""


def draw_mma(row: int = 1, column: int = 2) -> None:
    """D = A × B + C for 4 × 4 matrices, one element of D traced back to what it is made of."""
    with style():
        figure, axes = canvas(
            "One instruction computes 64 multiply-adds and keeps the sums in 32 bits",
            "Diagram of a first-generation tensor core (V100); blue: 16-bit numbers, orange: 32-bit numbers",
            3.7,
        )
        bare(axes, (-0.4, 27), (9.5, -1.2))
        axes.set_aspect("equal")
        _matrix(axes, (5.6, 0), "B", PALE_BLUE, BLUE, lambda _, at: at == column)
        _matrix(axes, (0, 5.4), "A", PALE_BLUE, BLUE, lambda at, _: at == row)
        _matrix(axes, (5.6, 5.4), "D", PALE_ORANGE, ORANGE, lambda at, other: (at, other) == (row, column))
        _matrix(axes, (12.6, 5.4), "C", PALE_ORANGE, ORANGE, lambda at, other: (at, other) == (row, column))
        axes.annotate("+", (11.1, 7.4), fontsize=20, ha="center", va="center")
        words = (
            f"D[{row}][{column}] is C[{row}][{column}] plus four products:",
            f"row {row} of A with column {column} of B.",
            "",
            "11 significant bits times 11 make at most 22:",
            "a 32-bit number holds each product exactly,",
            "and the sum stays in 32 bits to the end.",
            "",
            "All 16 elements of D at once:",
            "16 × 4 = 64 multiplications, 64 additions.",
        )
        axes.annotate("\n".join(words), (17.9, 0.0), va="top", fontsize=10.5, linespacing=1.45, annotation_clip=False)
    show(
        figure,
        "Diagram. Matrices A and B, 4 by 4, 16-bit; C and D, 4 by 4, 32-bit. One element of D is the sum of the four "
        "products of a row of A with a column of B, and of the element of C at the same place.",
    )


def _matrix(
    axes: Axes, corner: tuple[float, float], name: str, pale: str, strong: str, chosen: Callable[[int, int], bool]
) -> None:
    left, top = corner
    for row in range(4):
        for column in range(4):
            fill = strong if chosen(row, column) else pale
            rectangle(axes, (left + column, top + row), 0.92, 0.92, fill, edge="none")
    axes.annotate(name, (left - 0.25, top - 0.15), fontsize=14, weight="bold", ha="right")


def draw_formats(formats: tuple[Format, ...] = FORMATS) -> None:
    """The bits of each format, and the range of numbers that they reach."""
    with style():
        figure, whole = canvas(
            "Exponent bits set the range, mantissa bits the precision",
            "Left: gray sign, orange exponent, blue mantissa. Right: range, from the smallest number to the largest; "
            "pale: subnormal numbers",
            3.9,
        )
        whole.set_axis_off()
        left, right = whole.inset_axes((0.12, 0.1, 0.4, 0.88)), whole.inset_axes((0.55, 0.1, 0.45, 0.88))
        for place, form in enumerate(formats):
            parts = ((1, GRAY), (form.exponent_bits, ORANGE), (form.mantissa_bits, BLUE))
            at = 0
            for count, color in parts:
                left.broken_barh([(at + bit, 0.86) for bit in range(count)], (place - 0.3, 0.6), facecolors=color)
                at += count
            left.annotate(f"{form.bits} bits", (at + 0.5, place), va="center", fontsize=10)
            low, normal, high = (math.log10(value) for value in (form.smallest, form.smallest_normal, form.largest))
            right.barh(place, high - normal, 0.5, normal, color=ORANGE)
            right.barh(place, normal - low, 0.5, low, color=PALE_ORANGE)
            digits = f"≤ {number(form.largest)}, steps of {number(form.epsilon)} at 1"
            right.annotate(digits, (0, place - 0.29), ha="center", va="bottom", fontsize=9)
        left.set(xlim=(0, 37), ylim=(len(formats) - 0.4, -0.7), xticks=[])
        left.set_yticks(range(len(formats)), [form.name for form in formats])
        left.tick_params(axis="y", length=0)
        right.set(xlim=(-48, 48), ylim=(len(formats) - 0.4, -0.7), yticks=[])
        right.set_xticks([-45, -30, -15, 0, 15, 30], [number(10.0**power) for power in (-45, -30, -15, 0, 15, 30)])
        for axes in (left, right):
            axes.grid(visible=False)
            axes.spines["left"].set_visible(False)
        left.spines["bottom"].set_visible(False)
    words = "; ".join(
        f"{form.name}: {form.exponent_bits} + {form.mantissa_bits} bits, up to {number(form.largest)}"
        for form in formats
    )
    show(figure, f"Bit layouts and ranges. {words}.")


def draw_rows(columns: tuple[int, int] = (15, 16), rows: int = 8, bytes_per_element: int = 2) -> None:
    """Two small matrices as they lie in memory: where rows begin, and where loads of 16 bytes may begin."""
    per_line = BYTES_OF_LINE // bytes_per_element
    good = [sum(row * width * bytes_per_element % LOAD_BYTES == 0 for row in range(rows)) for width in columns]
    with style():
        figure, axes = canvas(
            f"{columns[0]} columns: {good[0]} of {rows} rows begins at a multiple of 16 bytes; {columns[1]}: all do",
            f"Memory of two matrices with {rows} rows of float16; a strip has {BYTES_OF_LINE} bytes, with a tick every "
            f"{LOAD_BYTES} bytes",
            3.4,
        )
        top = 0.0
        for width in columns:
            axes.annotate(f"{width} columns", (0, top - 0.35), fontsize=10.5, weight="bold")
            for element in range(rows * width):
                shade = PALE_BLUE if element // width % 2 else FAINT
                spot = (element % per_line, top + element // per_line * 1.25)
                axes.broken_barh([(spot[0], 1.0)], (spot[1], 1.0), facecolors=shade)
            for row in range(rows):
                begin = row * width
                fits = begin * bytes_per_element % LOAD_BYTES == 0
                at, line = begin % per_line, top + begin // per_line * 1.25
                axes.broken_barh([(at, 0.35)], (line, 1.0), facecolors=BLUE if fits else ORANGE)
                axes.annotate(f"row {row}", (at + 0.6, line + 0.5), fontsize=9, va="center")
            strips = -(-rows * width // per_line)
            for tick in range(0, per_line + 1, LOAD_BYTES // bytes_per_element):
                axes.plot([tick, tick], [top + strips * 1.25 - 0.2, top + strips * 1.25 + 0.1], color=INK, linewidth=1)
            top += strips * 1.25 + 1.3
        axes.annotate(
            "blue edge: aligned to 16 bytes; orange edge: not", (per_line, top - 0.75), ha="right", fontsize=10,
        )  # fmt: skip
        bare(axes, (-0.5, per_line + 0.5), (top - 0.6, -1.0))
    show(
        figure,
        f"Rows of two float16 matrices in memory. {columns[0]} columns: rows begin every "
        f"{columns[0] * bytes_per_element} bytes, {good[0]} of {rows} at a multiple of 16. {columns[1]} columns: every "
        f"{columns[1] * bytes_per_element} bytes, {good[1]} of {rows}.",
    )


PRODUCTS = (
    ("forward", ("batch", "in"), ("in", "out"), "the layer's output"),
    ("backward, for the input", ("batch", "out"), ("out", "in"), "gradient of the input"),
    ("backward, for the weights", ("out", "batch"), ("batch", "in"), "gradient of the weights"),
)
"""The three products of training a linear layer: name, shape of the left and of the right factor, what comes out."""
EXTENT = {"batch": 2.1, "in": 3.0, "out": 1.5}


def draw_products() -> None:
    """The three matrix products of a layer in training; the inner size of each in orange."""
    with style():
        figure, axes = canvas(
            "Training a layer takes three products; each size is the inner one once",
            "Diagram of a linear layer; orange: the inner size, which is summed over",
            2.1,
        )
        left = 0.0
        for name, (rows, inner), (_, columns), result in PRODUCTS:
            axes.annotate(name, (left, -0.75), fontsize=11, weight="bold")
            at = left + 0.5
            for high, wide, fill, sign in (
                (rows, inner, PALE_BLUE, "×"),
                (inner, columns, PALE_BLUE, "="),
                (rows, columns, FAINT, ""),
            ):
                _block(axes, at, high, wide, fill, inner)
                axes.annotate(sign, (at + EXTENT[wide] + 0.42, 1.6), ha="center", va="center", fontsize=13)
                at += EXTENT[wide] + 1.45
            axes.annotate(f"= {result}", (left, 3.9), fontsize=10)
            left = at + 0.1
        bare(axes, (-0.2, left - 1.2), (4.1, -1.1))
        axes.set_aspect("equal")
    words = "; ".join(f"{name}: inner size {shape[1]}" for name, shape, _, _ in PRODUCTS)
    show(figure, f"Three matrix products. {words}.")


def _block(axes: Axes, left: float, rows: str, columns: str, fill: str, inner: str) -> None:
    wide, high = EXTENT[columns], EXTENT[rows]
    top = 1.6 - high / 2
    rectangle(axes, (left, top), wide, high, fill, edge=GRAY, line=0.8)
    for name, start, stop, spot, turn in (
        (columns, (left, top), (left + wide, top), (left + wide / 2, top - 0.12), 0),
        (rows, (left, top), (left, top + high), (left - 0.1, top + high / 2), 90),
    ):
        color = ORANGE if name == inner else INK
        axes.plot([start[0], stop[0]], [start[1], stop[1]], color=color, linewidth=3 if name == inner else 0.8)
        axes.annotate(
            name, spot, ha="right" if turn else "center", va="center" if turn else "bottom", rotation=turn,
            color=color if name != inner else "#b85600", fontsize=9.5,
        )  # fmt: skip
