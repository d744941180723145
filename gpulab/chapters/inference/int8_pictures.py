"""Inference: the road from a network to an engine, and the figures of INT8 by hand.

Numbers come from `inference.int8`; here they are only drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.chapters.inference.int8 import clip_errors, codes
from gpulab.figures.diagrams import bare
from gpulab.figures.styling import BLUE, GRAY, INK, ORANGE, canvas, label_ends, number, show, style, tidy_log
from gpulab.measuring.devices import device_name
from gpulab.measuring.timing import Timing

Array = NDArray[Any]
SIMULATED = "500 test digits, sums in float32"


def draw_bits(found: Mapping[str, Mapping[int, float]], as_trained: float) -> None:
    """Accuracy over the bits of a weight, with one scale per tensor and per output channel."""
    best = found["per channel"]
    enough = min(bits for bits in best if all(best[more] > as_trained - 0.01 for more in best if more >= bits))
    with style():
        figure, axes = canvas(
            f"Of the 32 bits of a weight, {enough} would do for this network",
            f"Less than a percentage point lost; only weights are rounded; {SIMULATED}",
            3.6,
        )
        ends = []
        for (name, values), color, look in zip(found.items(), (BLUE, ORANGE), ("-", "--"), strict=True):
            bits = sorted(values)
            axes.plot(bits, [100 * values[at] for at in bits], look, color=color, marker="o")
            ends.append((f"one scale {name}", float(bits[0]), 100 * values[bits[0]], color))
        axes.axhline(100 * as_trained, color=GRAY, linestyle=":", linewidth=1.6)
        axes.annotate("float32", (5.5, 100 * as_trained), (0, 5), textcoords="offset points", ha="center", color=GRAY)
        axes.set(xlabel="bits of a weight", ylabel="accuracy, %", ylim=(0, 112), xlim=(8.2, 1.8))
        label_ends(axes, ends)
    show(
        figure,
        f"float32: {as_trained:.1%}. "
        + "; ".join(f"one scale {name}: {_in_words(values)}" for name, values in found.items()),
    )


def draw_ends(quantize: Callable[..., Any]) -> None:
    """What the student's `quantize` returns for numbers around ±127 steps, next to a bare conversion's values."""
    x = np.linspace(-300, 300, 1201).astype(np.float32)
    answers = {"wraps around": x.astype(np.int64).astype(np.int8), "quantize": np.asarray(quantize(x, 1.0))}
    with style():
        figure, axes = canvas(
            "Beyond the last step: stay there, or come back from the other side",
            "Scale 1; gray: the numbers taken over as they are with .astype(numpy.int8)",
            3.4,
        )
        for values, color in zip(answers.values(), (GRAY, BLUE), strict=True):
            jumps = np.abs(np.diff(values.astype(float), prepend=float(values[0]))) > 20
            axes.plot(x, np.where(jumps, np.nan, values), color=color, linewidth=1.4 if color == GRAY else 2.6)
        axes.annotate("wraps around", (175, -85), (10, -4), textcoords="offset points", color=GRAY, weight="bold")
        axes.annotate("yours", (215, 127), (0, -16), textcoords="offset points", color=BLUE, weight="bold")
        axes.set(xlabel="number", ylabel="int8", ylim=(-145, 145))
        axes.set_yticks([-127, -64, 0, 64, 127])
    ends = answers["quantize"]
    show(
        figure,
        f"Numbers from -300 to 300: yours run from {ends.min()} to {ends.max()}; converted as they are, they jump at"
        " 128 and at -129.",
    )


def draw_clipping(values: Array, bits: Sequence[int] = (8, 4)) -> None:
    """Root mean square error over the limit, for a layer's inputs, split into what rounding and what clipping cost."""
    largest = float(np.abs(values).max())
    limits = np.linspace(0.3, 1.3, 41) * largest
    percentile = float(np.percentile(np.abs(values), 99.9))
    ends, parts, told = [], [], []
    with style():
        figure, axes = canvas(
            "The fewer the steps, the earlier it pays to cut",
            f"{values.size:,} inputs of the last layer, from the calibration pictures",
            4.2,
        )
        for kept, color in zip(bits, (BLUE, ORANGE), strict=True):
            errors = clip_errors(values, [float(limit) for limit in limits], kept)
            totals = [error.total for error in errors]
            axes.plot(limits, totals, color=color)
            parts = [max(error.clipping, 1e-9) for error in errors]
            best = int(np.argmin(totals))
            axes.plot([limits[best]], [totals[best]], "v", color=color, markersize=9)
            ends.append((f"{kept} bits", float(limits[-1]), totals[-1], color))
            told.append(f"{kept} bits: least error {totals[best]:.2g} at {limits[best]:.3g}")
        axes.plot(limits, parts, color=GRAY, linestyle=":")
        axes.set(xlabel="limit: what lies beyond becomes ±127 (or ±7)", ylabel="root mean square error", yscale="log")
        axes.set_ylim(2e-3, 0.4)
        for text, at, side in (("99.9%", percentile, "right"), ("maximum", largest, "left")):
            axes.axvline(at, color=INK, linestyle="--", linewidth=1.1)
            shift = (-5, -12) if side == "right" else (5, -12)
            axes.annotate(text, (at, 1), shift, xycoords=("data", "axes fraction"), textcoords="offset points", ha=side)
        axes.annotate("clipping alone: dotted", (0.02, 0.08), xycoords="axes fraction", color=GRAY, weight="bold")
        tidy_log(axes.yaxis)
        label_ends(axes, ends)
    show(
        figure,
        f"Error against limit. {'; '.join(told)}; the largest input is {largest:.3g}, 99.9% below {percentile:.3g}.",
    )


def draw_hot_pixel(found: Mapping[str, Mapping[float, float]]) -> None:
    """Accuracy over the brightness of one broken pixel among the calibration pictures."""
    with style():
        figure, axes = canvas(
            "One broken pixel in one of 256 pictures, and the network "
            + ("is lost" if min(found["maximum"].values()) < 0.5 else "still works"),
            f"Scales from the calibration pictures; all rounded to 8 bits; {SIMULATED}",
            3.6,
        )
        ends = []
        for (name, values), color in zip(found.items(), (ORANGE, BLUE), strict=True):
            axes.plot(list(values), [100 * value for value in values.values()], color=color, marker="o")
            ends.append((name, max(values), 100 * values[max(values)], color))
        axes.set(
            xlabel="brightness of the pixel, over that of the brightest healthy one",
            ylabel="accuracy, %",
            xscale="log",
            ylim=(0, 105),
        )
        tidy_log(axes.xaxis)
        label_ends(axes, ends)
    show(
        figure,
        "Accuracy against the brightness of one pixel. "
        + "; ".join(f"{name}: {_in_words(values)}" for name, values in found.items()),
    )


def draw_codes(weight: Array) -> None:
    """The whole numbers that the widest and the narrowest output channel of a layer become."""
    found = codes(weight)
    used = {way: int(np.abs(channels["narrowest"]).max()) for way, channels in found.items()}
    with style():
        figure, axes = canvas("", height=4.4)
        figure.delaxes(axes)
        rows = figure.subplots(2, 1, sharex=True, sharey=True)
        figure.suptitle(
            f"With one scale for all, this channel uses {2 * used['per tensor'] + 1} of the 255 steps",
            x=0.02, ha="left", fontsize=13, weight="bold",
        )  # fmt: skip
        for axes, (way, channels) in zip(rows, found.items(), strict=True):
            for name, color in (("widest", GRAY), ("narrowest", ORANGE)):
                axes.hist(
                    channels[name], bins=np.arange(-130.5, 131, 9), color=color, alpha=0.75 if color == GRAY else 0.8
                )
            axes.set_ylabel("weights")
            axes.annotate(f"one scale {way}", (0.01, 0.86), xycoords="axes fraction", weight="bold")
            axes.annotate(
                "widest channel", (0.99, 0.86), xycoords="axes fraction", ha="right", color=GRAY, weight="bold"
            )
            axes.annotate(
                "narrowest channel", (0.99, 0.72), xycoords="axes fraction", ha="right", color=ORANGE, weight="bold"
            )
        rows[1].set(xlabel="whole number that a weight becomes", xlim=(-131, 131))
        rows[1].set_xticks([-127, -64, 0, 64, 127])
    show(
        figure,
        "Histograms of int8 weights. "
        + "; ".join(f"one scale {way}: the narrowest channel reaches ±{reach}" for way, reach in used.items()),
    )


def draw_variations(found: Mapping[str, float], as_trained: float) -> None:
    """Accuracy of the network with its batch norms folded in, rightly and wrongly."""
    from gpulab.figures import plot

    plot.bars(
        {"as trained": 100 * as_trained, **{name: 100 * value for name, value in found.items()}},
        title="A fold that is wrong is not wrong enough to be noticed at once",
        y="accuracy, %",
        note=f"500 test digits; the same network with a term of the fold left out; {device_name('cpu')}",
        highlight=[name for name in found if name.startswith("no ")],
    )


def draw_product_times(times: Mapping[str, Timing]) -> None:
    """Times of the same product: int8 by the student's function, float32, and int8 by a library where there is one."""
    from gpulab.figures import plot

    title = "; ".join(f"{name}: {number(timing.median_ms)} ms" for name, timing in times.items())
    plot.bars(times, title=title, y="ms, logarithmic", highlight="int8, library", log=True)


def _in_words(values: Mapping[Any, float]) -> str:
    return ", ".join(f"{at}: {value:.1%}" for at, value in values.items())


# ---------------------------------------------------------------------------------------- from a network to an engine


STEPS = (
    ("1", "network\ndefinition", "parser,\nnetwork definition", "export_onnx"),
    ("2", "custom\nlayers", "plugin", "—"),
    ("3", "builder", "builder:\nfuses, picks kernels", "fold_batchnorm"),
    ("4", "calibration", "ranges of\nthe activations", "quantize,\ncalibrate,\nint8_linear"),
    ("5", "serialized\nengine", "plan file", "accuracy_cost"),
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
                    arrowprops={"arrowstyle": "-|>", "color": GRAY, "lw": 2},
                )
        for text, height in (("TensorRT:", -0.22), ("exercise:", -0.95)):
            axes.annotate(text, (-0.2, height), ha="right", va="top", fontsize=9.5, color="#555555")
        bare(axes, (-1.35, len(STEPS) * (_WIDE + _GAP) - 0.2), (-1.6, _HIGH + 0.05))
    words_of = "; ".join(f"{number} {step}".replace("\n", " ") for number, step, _, _ in STEPS)
    show(
        figure,
        f"From a trained network to an engine in six steps: {words_of}. By hand in this half: 3 and 4.",
    )


def _box(axes: Any, left: float, text: str, color: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape = FancyBboxPatch(
        (left, 0), _WIDE, _HIGH, boxstyle="round,pad=0,rounding_size=0.1", facecolor=color, linewidth=0
    )
    axes.add_patch(shape)
    ink = "white" if color == BLUE else INK
    axes.annotate(
        text.rstrip("\n"),
        (left + _WIDE / 2, _HIGH / 2),
        ha="center",
        va="center",
        color=ink,
        fontsize=11,
        weight="bold",
    )
