"""The figures of mixed precision. Numbers come from `formats`, `recordings` and the student; here they are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpulab.chapters.mixed_precision.formats import (
    FLOAT16_LARGEST,
    FLOAT16_NORMAL,
    Gradients,
    creeping_sums,
    rounding_errors,
)
from gpulab.chapters.mixed_precision.recordings import Recording
from gpulab.figures.style import BLUE, FAINT, GRAY, INK, ORANGE, canvas, label_ends, number, show, style
from gpulab.measuring.devices import device_name

COLOR = {"float32": GRAY, "float16": BLUE, "bfloat16": ORANGE}
_ZERO, _SMALL, _NORMAL, _INFINITE = "#f2d5d5", "#fdf0d5", "#e3f0e3", "#d9d9d9"


def draw_rounding() -> None:
    """Relative rounding error over magnitude, of the three formats."""
    with style():
        figure, axes = canvas(
            "FP16 rounds finer, BF16 reaches further",
            "Largest error among 400 random numbers at each size, by rounding",
        )
        exponents = [float(exponent) for exponent in range(-44, 45)]
        ends = []
        for name, color in COLOR.items():
            errors = rounding_errors(name, exponents)
            kept = [(2.0**at, error) for at, error in zip(exponents, errors, strict=True) if np.isfinite(error)]
            axes.plot(*zip(*kept, strict=True), color=color)
            ends.append((name, *kept[-1], color))
        axes.set(xscale="log", yscale="log", xlim=(2.0**-45, 2.0**45), ylim=(2e-8, 3))
        axes.set(xlabel="size of the number", ylabel="relative rounding error")
        axes.axvline(FLOAT16_LARGEST, color=BLUE, linestyle="--", linewidth=1)
        place: dict[str, Any] = {"textcoords": "offset points", "fontsize": 10, "color": BLUE}
        axes.annotate("65 504:\nbeyond it, infinity", (FLOAT16_LARGEST, 0.1), (5, -4), **place)
        axes.annotate("below 2⁻¹⁴ digits go,\nbelow 2⁻²⁵ everything", (2.0**-44, 0.2), (0, -8), **place)
        axes.grid(visible=True, axis="both")
        label_ends(axes, [end for end in ends if end[0] != "float16"])
        axes.annotate(
            "float16", (1.0, 2.0**-11), (0, -14), ha="center", **{**place, "fontsize": 10.5, "weight": "bold"}
        )
    show(
        figure,
        "Rounding error against size. float32 stays at 6e-8 and bfloat16 at 0.004 over the whole range; float16 is at"
        " 0.0005 between 6e-5 and 65504, above that infinite, below that worse and worse until everything is zero.",
    )


def draw_creeping(steps: int = 2000, step: float = 1e-4) -> None:
    """What 1 + 0.0001 + 0.0001 + … comes to in each format."""
    sums = creeping_sums(steps, step)
    with style():
        figure, axes = canvas(
            "Small steps are lost on a 16-bit weight",
            f"1 + {step:g} added {steps} times, every sum rounded to the format",
            3.4,
        )
        ends = []
        for name, values in sums.items():
            dashed = "--" if name == "bfloat16" else "-"
            axes.plot(values, color=COLOR[name], linestyle=dashed)
            ends.append((f"{name}: {values[-1]:.4g}", steps, values[-1], COLOR[name]))
        axes.set(xlabel="additions", ylabel="value")
        label_ends(axes, ends)
    show(figure, "Sums: " + ", ".join(f"{name} ends at {values[-1]:.5g}" for name, values in sums.items()) + ".")


def draw_gradients(gradients: Gradients, scale: float) -> None:
    """Where gradients lie in float16's range: as they are, and multiplied by a scale."""
    from matplotlib.figure import Figure

    sizes = np.log2(np.abs(gradients.values))
    edges = np.arange(-44, 21)
    fates = []
    for factor in (1.0, scale):
        with np.errstate(over="ignore"):
            held = np.abs((gradients.values * np.float32(factor)).astype(np.float16))
        parts = (held == 0, (held > 0) & (held < FLOAT16_NORMAL), np.isinf(held))  # zero, subnormal, infinite
        fates.append([float(part.mean()) for part in parts])
    before, after = fates
    problem = gradients.problem
    with style():
        figure: Figure
        figure, upper = canvas(
            f"{before[0]:.0%} of these gradients are zero in FP16; times {number(scale, 5)}, {_share(after[0])}",
            f"{len(sizes):,} non-zero gradients between the layers of the small CNN on {problem.data}, step"
            f" {gradients.step}, batches of {problem.batch_size}, loss × {problem.loss_weight:.3g}",
            5.6,
        )
        figure.delaxes(upper)
        texts = [
            (note.get_text(), note.get_fontsize(), note.get_fontweight(), note.get_color()) for note in upper.texts
        ]
        rows = figure.subplots(2, 1, sharex=True)
        _title(rows[0], texts)
        for axes, factor, color, what in (
            (rows[0], 1.0, BLUE, "as they are"),
            (rows[1], scale, ORANGE, f"times {number(scale, 5)}"),
        ):
            _regions(axes, labeled=axes is rows[0])
            axes.hist(sizes + np.log2(factor), bins=edges, color=color, weights=np.full(len(sizes), 100 / len(sizes)))
            axes.set_ylabel("% of gradients")
            axes.annotate(what, (0.99, 0.72), xycoords="axes fraction", ha="right", color=color, weight="bold")
        rows[1].set_xlabel("size of the gradient, as a power of two")
        rows[1].set_xlim(-44, 20)
        rows[1].set_xticks(range(-40, 21, 8), [f"2{_raised(power)}" for power in range(-40, 21, 8)])
    show(
        figure,
        f"Histogram of gradients by power of two. As they are, {before[0]:.0%} lie below what FP16 can hold and"
        f" {before[1]:.0%} among its subnormal numbers. Times {scale:g}: {after[0]:.1%} and {after[1]:.0%}, and"
        f" {after[2]:.0%} overflow.",
    )


def _share(part: float) -> str:
    return "next to none" if part < 0.0005 else f"{part:.1%}"


def _title(axes: Any, texts: Sequence[tuple[str, Any, Any, Any]]) -> None:
    for (text, size, weight, color), rise in zip(texts, (24, 8), strict=False):
        rise += 14 * (texts[1][0].count("\n")) if size > 11 else 0
        axes.annotate(
            text,
            (0, 1),
            (0, rise),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=size,
            weight=weight,
            color=color,
        )


def _regions(axes: Any, labeled: bool) -> None:
    """Shades what FP16 makes of each size: zero, subnormal, normal, infinity."""
    places = [(-60, -25, _ZERO, "becomes 0"), (-25, -14, _SMALL, "loses digits"), (-14, 16, _NORMAL, "safe")]
    for left, right, color, name in [*places, (16, 40, _INFINITE, "∞")]:
        axes.axvspan(left, right, color=color, zorder=0)
        if labeled:
            middle = (max(left, -44) + min(right, 20)) / 2
            axes.annotate(name, (middle, 0.99), xycoords=("data", "axes fraction"), ha="center", va="top", fontsize=10)
    axes.grid(visible=False)


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def draw_window(gradients: Gradients, scales: Sequence[float], underflow: Sequence[float], safe: float) -> None:
    """Shares of gradients that become zero or infinite, over the scale.

    Args:
        gradients: whose overflow is counted here.
        scales: powers of two, growing.
        underflow: for each scale the share that becomes zero, by the student's function.
        safe: the largest scale at which none becomes infinite, by the student's function.
    """
    with np.errstate(over="ignore"):
        products = (gradients.values * np.float32(scale) for scale in scales)
        overflow = [float(np.isinf(product.astype(np.float16)).mean()) for product in products]
    with style():
        figure, axes = canvas("Between too small and too large there is room", "The gradients of the picture above")
        axes.plot(scales, [100 * share for share in underflow], color=BLUE)
        axes.plot(scales, [100 * share for share in overflow], color=ORANGE)
        axes.set(xscale="log", xlabel="scale", ylabel="% of gradients", ylim=(-3, 103))
        axes.set_xscale("log", base=2)
        axes.axvline(safe, color=INK, linestyle="--", linewidth=1.2)
        axes.annotate(
            f"largest safe scale: 2{_raised(round(np.log2(safe)))}",
            (safe, 62),
            (-8, 0),
            textcoords="offset points",
            ha="right",
        )
        beside: dict[str, Any] = {"textcoords": "offset points", "weight": "bold"}
        axes.annotate("become zero", (scales[2], 100 * underflow[2]), (34, -4), color=BLUE, **beside)
        axes.annotate("become infinite", (scales[-1], 100 * overflow[-1]), (-12, 8), color=ORANGE, ha="right", **beside)
    show(
        figure,
        f"With growing scale the share that becomes zero falls from {underflow[0]:.0%} to {underflow[-1]:.0%}; the"
        f" share that becomes infinite rises from 0 to {overflow[-1]:.0%}, beginning above {safe:g}.",
    )


def draw_losses(losses: Mapping[str, Sequence[float]], title: str, recorded: Recording) -> None:
    """Loss over steps, a line for each way of training.

    Args:
        losses: name → loss after every batch.
        title: the finding, as a sentence.
        recorded: where all of them come from but `yours`, which was measured here.
    """
    note = f"Small CNN on digits, same first weights, same batches; recorded on {recorded.device}"
    if "yours" in losses:
        note += f", yours measured on {device_name('cpu')}"
    looks = {
        "float32": (GRAY, "-"),
        "bfloat16, no scaler": (ORANGE, "--"),
        "float16, scaler": (BLUE, ":"),
        "float16, no scaler": ("#8c564b", "-"),
        "yours": (BLUE, "-"),
    }
    with style():
        figure, axes = canvas(title, note, 4.0)
        ends = []
        for name, values in losses.items():
            color, line = looks.get(name, (ORANGE, "-"))
            axes.plot(range(1, len(values) + 1), values, color=color, linestyle=line)
            ends.append((name, float(len(values)), values[-1], color))
        axes.set(xlabel="step", ylabel="loss", ylim=(0, None))
        label_ends(axes, ends)
    ending = ", ".join(f"{name} {values[-1]:.3g}" for name, values in losses.items())
    show(figure, f"{title}. Loss over steps; it ends at: {ending}.")


def draw_scales(scales: Sequence[float], simulated: Sequence[float], interval: int) -> None:
    """The scale after every update of a real training, and as simulated."""
    drops = [step for step in range(1, len(scales)) if scales[step] < scales[step - 1]]
    with style():
        figure, axes = canvas(
            "The scale feels its way: double after a while, halve at once",
            f"A real float16 training, growth_interval = {interval}; {len(drops)} later halvings, each a skipped step",
            3.6,
        )
        steps = np.arange(1, len(scales) + 1)
        axes.step(steps, scales, where="mid", color=BLUE)
        axes.plot(steps, simulated, linestyle="", marker=".", markersize=4, color=ORANGE)
        axes.set_yscale("log", base=2)
        axes.set(xlabel="update", ylabel="scale")
        axes.plot([step + 1 for step in drops], [scales[step] for step in drops], "v", color=INK, markersize=6)
        ends = [("GradScaler", steps[-1], scales[-1], BLUE)]
        axes.set_xlim(0, len(scales) + 1)
        label_ends(axes, ends)
        axes.annotate("● your simulation", (1.02, 0.06), xycoords="axes fraction", color=ORANGE, weight="bold")
    show(figure, f"The scale over {len(scales)} updates: from {scales[0]:g} to {scales[-1]:g}, {len(drops)} halvings.")


def draw_window_of_batches(accumulate: int = 4) -> None:
    """Who is called when, over two windows of accumulated batches."""
    rows = ["forward, scale, backward", "unscale, clip", "step, update, zero"]
    with style():
        figure, axes = canvas(
            "Unscale, clip and step belong to the window, not to the batch",
            f"Two windows of {accumulate} batches; schematic, time not to scale",
            2.7,
        )
        at, ticks = 0.0, []
        for batch in range(2 * accumulate):
            axes.barh(0, 0.9, left=at, height=0.7, color=BLUE)
            ticks.append((at + 0.45, str(batch + 1)))
            at += 1
            if (batch + 1) % accumulate == 0:
                axes.barh(1, 0.45, left=at, height=0.7, color=ORANGE)
                axes.barh(2, 0.45, left=at + 0.5, height=0.7, color=GRAY)
                at += 1.1
                axes.axvline(at - 0.05, color=FAINT, linewidth=1.5)
        axes.set_yticks(range(3), rows)
        axes.set_xticks([place for place, _ in ticks], [label for _, label in ticks])
        axes.set(xlabel="batch", ylim=(2.6, -0.6))
        axes.grid(visible=False)
        axes.tick_params(length=0)
    show(
        figure,
        f"For every batch: forward, scale, backward. After each {accumulate} of them once: unscale and clip; then step,"
        " update and zero the gradients.",
    )
