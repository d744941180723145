"""The figures of mixed precision. Numbers come from the page, from `recordings`, or from `data/`; this only draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, label_ends, number, show, style
from gpulab.measuring.devices import device_name
from gpulab.training.problem import Problem

FLOAT16_LARGEST = 65504.0
FLOAT16_NORMAL = 2.0**-14
COLOR = {torch.float32: GRAY, torch.float16: BLUE, torch.bfloat16: ORANGE}
_ZERO, _SMALL, _NORMAL, _INFINITE = "#f2d5d5", "#fdf0d5", "#e3f0e3", "#d9d9d9"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def draw_rounding(exponents: torch.Tensor, errors: Mapping[torch.dtype, torch.Tensor]) -> None:
    """Relative rounding error over magnitude.

    Args:
        exponents: base 2, of the numbers that were rounded.
        errors: type → the largest relative error at each exponent; infinite or NaN where the numbers overflow.
    """
    with style():
        figure, axes = canvas(
            "FP16 is more precise, BF16 has more range",
            "Largest relative rounding error of 400 random numbers per power of two",
        )
        ends = []
        for dtype, found in errors.items():
            pairs = zip(exponents.tolist(), found.tolist(), strict=True)
            kept = [(2.0**at, error) for at, error in pairs if np.isfinite(error)]
            axes.plot(*zip(*kept, strict=True), color=COLOR[dtype])
            ends.append((_name(dtype), *kept[-1], COLOR[dtype]))
        axes.set(xscale="log", yscale="log", xlim=(2.0**-45, 2.0**45), ylim=(2e-8, 3))
        axes.set(xlabel="magnitude of the number", ylabel="relative rounding error")
        axes.axvline(FLOAT16_LARGEST, color=BLUE, linestyle="--", linewidth=1)
        place: dict[str, Any] = {"textcoords": "offset points", "fontsize": 10, "color": BLUE}
        axes.annotate("65,504: larger\nnumbers overflow", (FLOAT16_LARGEST, 0.1), (5, -4), **place)
        axes.annotate("less precise\nbelow 2⁻¹⁴,\nzero below 2⁻²⁵", (2.0**-44, 0.2), (0, -20), **place)
        axes.grid(visible=True, axis="both")
        label_ends(axes, [end for end in ends if end[0] != "float16"])
        axes.annotate(
            "float16", (1.0, 2.0**-11), (0, -14), ha="center", **{**place, "fontsize": 10.5, "weight": "bold"}
        )
    show(
        figure,
        "Rounding error over magnitude. float32 stays at 6e-8 and bfloat16 at 0.004 over the whole range; float16 is at"
        " 0.0005 between 6e-5 and 65504, above that infinite, below that worse and worse until everything is zero.",
    )


def draw_small_updates(sums: Mapping[torch.dtype, Sequence[float]]) -> None:
    """A weight to which the same small update is added again and again, by type."""
    with style():
        figure, axes = canvas(
            "A 16-bit weight loses small updates",
            "0.0001 added to 1 repeatedly, every sum rounded to the type",
            3.4,
        )
        ends = []
        for dtype, values in sums.items():
            dashed = "--" if dtype == torch.bfloat16 else "-"
            axes.plot(values, color=COLOR[dtype], linestyle=dashed)
            ends.append((f"{_name(dtype)}: {values[-1]:.4g}", len(values) - 1.0, values[-1], COLOR[dtype]))
        axes.set(xlabel="updates", ylabel="weight")
        label_ends(axes, ends)
    said = ", ".join(f"{_name(dtype)} ends at {values[-1]:.5g}" for dtype, values in sums.items())
    show(figure, f"The weight over the updates: {said}.")


def draw_gradients(values: NDArray[np.float32], scale: float, problem: Problem) -> None:
    """Histogram of nonzero gradients over float16's range: unscaled, and multiplied by a scale."""
    from matplotlib.figure import Figure

    sizes = np.log2(np.abs(values))
    edges = np.arange(-44, 21)
    fates = []
    for factor in (1.0, scale):
        with np.errstate(over="ignore"):
            held = np.abs((values * np.float32(factor)).astype(np.float16))
        parts = (held == 0, (held > 0) & (held < FLOAT16_NORMAL), np.isinf(held))  # zero, subnormal, infinite
        fates.append([float(part.mean()) for part in parts])
    before, after = fates
    steps = len(problem.loader())
    with style():
        figure: Figure
        figure, upper = canvas(
            f"{before[0]:.0%} of these gradients become zero in FP16; times {number(scale, 5)}, {_share(after[0])}",
            f"{len(sizes):,} nonzero gradients of the layer outputs of the small CNN on {problem.data}, step"
            f" {steps}, batches of {problem.batch_size}, loss × {problem.loss_weight:.3g}",
            5.6,
        )
        figure.delaxes(upper)
        texts = [
            (note.get_text(), note.get_fontsize(), note.get_fontweight(), note.get_color()) for note in upper.texts
        ]
        rows = figure.subplots(2, 1, sharex=True)
        _title(rows[0], texts)
        for axes, factor, color, what in (
            (rows[0], 1.0, BLUE, "unscaled"),
            (rows[1], scale, ORANGE, f"times {number(scale, 5)}"),
        ):
            _regions(axes, labeled=axes is rows[0])
            axes.hist(sizes + np.log2(factor), bins=edges, color=color, weights=np.full(len(sizes), 100 / len(sizes)))
            axes.set_ylabel("% of gradients")
            axes.annotate(what, (0.99, 0.72), xycoords="axes fraction", ha="right", color=color, weight="bold")
        rows[1].set_xlabel("magnitude of the gradient")
        rows[1].set_xlim(-44, 20)
        rows[1].set_xticks(range(-40, 21, 8), [f"2{_raised(power)}" for power in range(-40, 21, 8)])
    show(
        figure,
        f"Histogram of gradients by power of two. Unscaled, {before[0]:.0%} lie below what FP16 can hold and"
        f" {before[1]:.0%} among its subnormal numbers. Times {scale:g}: {after[0]:.1%} and {after[1]:.0%}, and"
        f" {after[2]:.0%} overflow.",
    )


def _share(part: float) -> str:
    return "almost none" if part < 0.0005 else f"{part:.1%}"


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
    places = [(-60, -25, _ZERO, "becomes 0"), (-25, -14, _SMALL, "loses precision"), (-14, 16, _NORMAL, "safe")]
    for left, right, color, name in [*places, (16, 40, _INFINITE, "∞")]:
        axes.axvspan(left, right, color=color, zorder=0)
        if labeled:
            middle = (max(left, -44) + min(right, 20)) / 2
            axes.annotate(name, (middle, 0.99), xycoords=("data", "axes fraction"), ha="center", va="top", fontsize=10)
    axes.grid(visible=False)


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def draw_scale_window(
    values: NDArray[np.float32], scales: Sequence[float], underflow: Sequence[float], safe: float
) -> None:
    """Shares of gradients that become zero or infinite, over the scale.

    Args:
        values: the gradients, whose overflow is counted here.
        scales: powers of two, growing.
        underflow: for each scale the share that becomes zero, by the student's function.
        safe: the largest scale at which none becomes infinite, by the student's function.
    """
    with np.errstate(over="ignore"):
        products = (values * np.float32(scale) for scale in scales)
        overflow = [float(np.isinf(product.astype(np.float16)).mean()) for product in products]
    with style():
        figure, axes = canvas("Many scales avoid both underflow and overflow", "The gradients of the histogram above")
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


def draw_losses(losses: Mapping[str, Sequence[float]], title: str, recorded_on: str) -> None:
    """Loss over steps, a line for each way of training.

    Args:
        losses: name → loss after every batch.
        title: the finding, as a sentence.
        recorded_on: the device of all of them but `yours`, which was measured here.
    """
    note = f"Small CNN on digits, same first weights, same batches; recorded on {recorded_on}"
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
            "The scale doubles after good steps and halves after an overflow",
            f"A recorded float16 run, growth_interval = {interval}; ▼ = skipped step, {len(drops)} after the first",
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


def draw_accumulation(accumulate: int = 4) -> None:
    """Which call belongs to every batch and which to the end of a window, over two windows of accumulated batches."""
    rows = ["forward, scale, backward", "unscale, clip", "step, update, zero"]
    with style():
        figure, axes = canvas(
            "Unscale, clip, and step once per window, not once per batch",
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


def draw_speedups(rows: Sequence[Mapping[str, Any]]) -> None:
    """Speedup of mixed precision for whole networks, a pair of bars per network.

    Args:
        rows: of `data/amp_speedups.csv`.
    """
    networks = list(dict.fromkeys(row["network"] for row in rows))
    kinds = {"V100": ("V100, compared with FP32", GRAY), "A100": ("A100, compared with TF32", BLUE)}
    with style():
        figure, axes = canvas(
            "On a V100 mixed precision gains more than on an A100, whose baseline is TF32",
            "Training throughput on one GPU. Source: NVIDIA/DeepLearningExamples, commit 729963dd",
            4.2,
        )
        for place, (gpu, (label, color)) in enumerate(kinds.items()):
            gains = {row["network"]: row["mixed_rate"] / row["baseline_rate"] for row in rows if gpu in row["gpu"]}
            at = [networks.index(name) + 0.38 * (place - 0.5) for name in gains]
            bars = axes.bar(at, list(gains.values()), 0.36, color=color, label=label)
            axes.bar_label(bars, [f"{gain:.1f}×" for gain in gains.values()], fontsize=9.5, padding=2)
        axes.axhline(1, color=INK, linewidth=1, linestyle="--")
        axes.set_xticks(range(len(networks)), networks)
        axes.set(ylabel="times as fast")
        axes.grid(visible=False, axis="x")
        axes.legend(loc="upper right", frameon=False)
    said = "; ".join(
        f"{row['network']} on {row['gpu']} {row['mixed_rate'] / row['baseline_rate']:.2g} times" for row in rows
    )
    show(figure, f"Speedup of mixed precision over FP32 or TF32: {said}.")
