"""Inference: the road from a trained network to an engine, drawn. A diagram: nothing in it is measured."""

from __future__ import annotations

from typing import Any

from gpulab.figures.style import BLUE, GREY, INK, ORANGE, canvas, show, style

STEPS = (
    ("1", "network\ndefinition", "parser,\nnetwork definition", "export_onnx"),
    ("2", "custom\nlayers", "plugin", "—"),
    ("3", "builder", "builder:\nfuses, picks kernels", "fold_batchnorm"),
    ("4", "calibration", "ranges of\nthe activations", "quantize,\ncalibrate,\nint8_linear"),
    ("5", "serialised\nengine", "plan file", "accuracy_cost"),
    ("6", "feeding", "runtime,\nexecution context", "accuracy_cost"),
)
"""Number, step, what TensorRT calls what does it, the chapter's exercise about it."""
_WIDE, _HIGH, _GAP = 1.55, 1.0, 0.4


def draw_road() -> None:
    """The six steps in a row, TensorRT's words under them, and under those the exercises of this chapter."""
    with style():
        figure, axes = canvas(
            "Six steps lie between a trained network and an engine",
            "Diagram; orange: what this half of the chapter does by hand",
            3.0,
        )
        for place, (number, step, words, exercise) in enumerate(STEPS):
            left = place * (_WIDE + _GAP)
            by_hand = number in ("3", "4")
            _box(
                axes, left, f"{number}\n{step}" if "\n" in step else f"{number}\n{step}\n", ORANGE if by_hand else BLUE
            )
            middle: dict[str, Any] = {"ha": "center", "va": "top"}
            axes.annotate(words, (left + _WIDE / 2, -0.22), fontsize=9.5, color=INK, **middle)
            axes.annotate(exercise, (left + _WIDE / 2, -0.95), fontsize=9, family="monospace", color=INK, **middle)
            if place:
                axes.annotate(
                    "",
                    (left - 0.04, _HIGH / 2),
                    (left - _GAP + 0.04, _HIGH / 2),
                    arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 2},
                )
        for text, height in (("TensorRT:", -0.22), ("exercise:", -0.95)):
            axes.annotate(text, (-0.2, height), ha="right", va="top", fontsize=9.5, color="#555555")
        axes.set(xlim=(-1.35, len(STEPS) * (_WIDE + _GAP) - 0.2), ylim=(-1.6, _HIGH + 0.05))
        axes.set_axis_off()
    words_of = "; ".join(f"{number} {step}".replace("\n", " ") for number, step, _, _ in STEPS)
    show(
        figure,
        f"From a trained network to an engine in six steps: {words_of}. By hand in this half: 3 and 4.",
    )


def _box(axes: Any, left: float, text: str, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape = FancyBboxPatch(
        (left, 0), _WIDE, _HIGH, boxstyle="round,pad=0,rounding_size=0.1", facecolor=colour, linewidth=0
    )
    axes.add_patch(shape)
    ink = "white" if colour == BLUE else INK
    axes.annotate(
        text.rstrip("\n"),
        (left + _WIDE / 2, _HIGH / 2),
        ha="center",
        va="center",
        color=ink,
        fontsize=11,
        weight="bold",
    )
