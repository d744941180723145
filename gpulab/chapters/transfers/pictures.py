"""Draws the first half of the transfers chapter: the way of a tensor, bytes over the link, early reads, orders,
loaders.

The second half is `transfers.overlap_pictures`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.patches import FancyArrowPatch, Rectangle

from gpulab.chapters.transfers.link import Sweep
from gpulab.chapters.transfers.models import LINK_GBS, SERIAL, STAGES, TWO_ENGINES, Early, Loading
from gpulab.figures import plot
from gpulab.figures.diagrams import bare, legend_below
from gpulab.figures.style import BLUE, GRAY, INK, ORANGE, canvas, ink_on, number, show, style, tidy
from gpulab.measuring import machine

CASTS = (("uint8", "float32"), ("float32", "float16"), ("int64", "int32"), ("float32", "float32"))


def draw_staging() -> None:
    """The two ways into a GPU's memory: through the staging buffer, or straight from pinned memory."""
    title = "Pageable memory is copied twice, pinned memory once"
    boxes = (
        (0.0, 2.2, 3.0, "pageable memory", "the system may move it", GRAY),
        (4.6, 2.2, 2.4, "staging buffer", "pinned, the driver's", ORANGE),
        (0.0, 0.2, 3.0, "pinned memory", "stays where it is", BLUE),
        (9.4, 1.2, 2.8, "GPU memory", "", INK),
    )
    arrows = (
        ((3.0, 2.75), (4.6, 2.75), "the CPU copies", (3.8, 2.9), GRAY),
        ((7.0, 2.75), (9.4, 1.95), "the copy engine fetches", (9.35, 2.85), ORANGE),
        ((3.0, 0.75), (9.4, 1.55), "the copy engine fetches, the CPU is free", (6.2, 0.55), BLUE),
    )
    with style():
        figure, axes = canvas(title, "Diagram of a copy from host to device", 2.9)
        for x, y, wide, name, words, color in boxes:
            axes.add_patch(Rectangle((x, y), wide, 1.1, color=color, lw=0))
            text = f"{name}\n{words}" if words else name
            axes.annotate(text, (x + wide / 2, y + 0.55), ha="center", va="center", color=ink_on(color), fontsize=10.5)
        for begin, end, words, place, color in arrows:
            axes.add_patch(FancyArrowPatch(begin, end, arrowstyle="-|>", mutation_scale=16, color=color, lw=2))
            axes.annotate(words, place, ha="center", va="center" if color == GRAY else "top", fontsize=9.5)
        axes.axvline(8.7, ymin=0.02, ymax=0.65, color=GRAY, ls=":", lw=1.4)
        axes.annotate("PCIe", (8.8, 0.05), fontsize=10, color="#555555")
        bare(axes, (-0.1, 12.3), (0, 3.6))
    show(figure, f"{title}. Pageable → staging buffer → GPU; pinned → GPU by the copy engine alone.")


def draw_bytes(bytes_moved: Callable[[Any, str, str, str], int], shape: tuple[int, ...] = (64, 3, 224, 224)) -> None:
    """Bars: what crosses the link for a batch of pictures, by the student's function."""
    groups: dict[str, dict[str, float]] = {
        f"cast on the {place.upper()}": {
            f"{host} → {there}": bytes_moved(shape, host, there, place) / 1e6 for host, there in CASTS
        }
        for place in ("cpu", "gpu")
    }
    first, last = (group["uint8 → float32"] for group in groups.values())
    plot.bars(
        groups,
        title=f"Bytes first, floats later: {number(first / last)} times less to carry",
        y="over the link, MB",
        x="type on the host → type on the GPU",
        note=f"A batch of {' × '.join(map(str, shape))}, by your function. At {LINK_GBS:g} GB/s (PCIe 5, by its "
        f"specification) {number(first)} MB take {first / LINK_GBS:.1f} ms",
    )


def draw_early(found: Early) -> None:
    """Line: how much of an asynchronous copy had arrived when somebody looked."""
    title = f"Asked for, and back after {number(found.returned_ms)} ms: the data took {found.asked_ms[-1]:.0f} ms"
    with style():
        figure, axes = canvas(title, found.note, 3.4)
        if found.kernel_ms:
            axes.axvspan(0, found.kernel_ms, color=GRAY, alpha=0.25, lw=0)
            axes.annotate("a slow kernel", (found.kernel_ms / 2, 50), ha="center", va="center", fontsize=10.5)
        axes.plot(found.asked_ms, [100 * part for part in found.arrived], color=BLUE, marker="o", ms=4)
        axes.axvline(found.returned_ms, color=ORANGE, lw=2)
        axes.annotate(
            "the call has returned", (found.returned_ms, 92), (6, 0), textcoords="offset points", color=INK, fontsize=10
        )
        axes.axvline(found.asked_ms[-1], color=INK, ls="--", lw=1.2)
        axes.annotate(
            "synchronized", (found.asked_ms[-1], 8), (-6, 0), textcoords="offset points", ha="right", fontsize=10
        )
        axes.set(xlabel="time since the copy was asked for, ms", ylabel="new values in the target, %", ylim=(-3, 105))
        tidy(axes.xaxis)
    words = ", ".join(
        f"{at:.0f} ms: {100 * part:.0f} %" for at, part in zip(found.asked_ms, found.arrived, strict=True)
    )
    show(figure, f"{title}. {words}.")


def draw_orders(which: str) -> None:
    """A timeline of three chunks: `"serial"`, `"stages"` or `"two engines"`."""
    spans, title = {
        "serial": (SERIAL, "One copy engine, chunk by chunk: nothing overlaps"),
        "stages": (STAGES, "One copy engine, stage by stage: kernels hide behind copies"),
        "two engines": (TWO_ENGINES, "One copy engine for each direction: in, compute and out at once"),
    }[which]
    end = max(span.stop for span in spans)
    plot.timeline(spans, title=f"{title}, {end:g} ms", note="Diagram: 3 chunks; 3 ms in, 2 ms compute, 3 ms out, each")


def draw_chunks(pipeline_ms: Callable[..., float], totals: tuple[float, float, float] = (30.0, 40.0, 20.0)) -> None:
    """Lines: the same work in more and more chunks, by the student's function."""
    counts = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    kinds = {
        "one engine, by chunk": (1, "chunk"),
        "one engine, by stage": (1, "stage"),
        "two engines": (2, "chunk"),
    }
    series: dict[str, dict[float, plot.Value]] = {
        name: {float(n): pipeline_ms(n, *(total / n for total in totals), engines, order) for n in counts}
        for name, (engines, order) in kinds.items()
    }
    best, flat = series["two engines"][32.0], series["one engine, by chunk"][32.0]
    plot.lines(
        series,
        title=f"The same {sum(totals):g} ms of work in 32 chunks: {best:.0f} ms, or still {flat:.0f}",
        x="chunks",
        y="from start to end, ms",
        note=f"By your pipeline_ms; {totals[0]:g} ms in, {totals[1]:g} ms compute, {totals[2]:g} ms out in all; "
        "a chunk costs nothing extra",
        limits={"compute alone": totals[1]},
    )


def draw_loading(found: Loading, loader_settings: Callable[..., dict[str, Any]]) -> None:
    """Bars: the time of a training step by the number of workers, with the step itself and the student's choice."""
    chosen = loader_settings(found.sample_ms, found.batch_size, found.step_ms, found.cores)["num_workers"]
    pageable = found.batch_ms["pageable"]
    slow = max(pageable.values()) / found.step_ms
    title = f"A step of {found.step_ms:.0f} ms takes up to {slow:.1f} times as long; you chose {chosen} workers"
    note = f"Measured on {found.device}: JPEG files, {found.sample_ms:.2f} ms a picture, batches of {found.batch_size}"
    with style():
        figure, axes = canvas(title, note, 3.6)
        wide = 0.6 / len(found.batch_ms)
        for place, (kind, times) in enumerate(found.batch_ms.items()):
            at = [column + (place - (len(found.batch_ms) - 1) / 2) * wide for column in range(len(times))]
            plain = (BLUE, GRAY)[place]
            colors = [ORANGE if count == chosen and not place else plain for count in times]
            bars = axes.bar(at, list(times.values()), wide * 0.95, color=colors, label=kind)
            axes.bar_label(bars, [number(value) for value in times.values()], padding=3, fontsize=10)
        axes.set_xticks(range(len(pageable)), [str(count) for count in pageable])
        if len(found.batch_ms) > 1:
            legend_below(figure, 2)
        axes.axhline(found.step_ms, color=INK, ls="--", lw=1.2)
        axes.annotate(
            "the step\nalone", (1, found.step_ms), (6, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", va="center", fontsize=10,
        )  # fmt: skip
        axes.set(xlabel="num_workers (0: the training process does it itself)", ylabel="from step to step, ms")
        axes.margins(y=0.15)
        axes.grid(visible=False, axis="x")
    words = "; ".join(
        f"{kind}: " + ", ".join(f"{count}: {value:.1f} ms" for count, value in times.items())
        for kind, times in found.batch_ms.items()
    )
    show(figure, f"{title}. {words}.")


def draw_sweep(found: Sweep) -> None:
    """Lines: GB/s over the size of a transfer; without a GPU, those of a copy within the CPU's memory."""
    largest = {name: points[max(points)] for name, points in found.gbs.items()}
    if "pinned" in largest:
        ratio = largest["pinned"] / largest["pageable"]
        title = (
            f"At {number(max(found.gbs['pinned']) / 1e6)} MB, pinned memory carries {ratio:.1f} times as much a second"
        )
    else:
        title = "No cable here: a copy within this memory, and what PCIe 5 could carry"
    limits = {f"PCIe 5 × 16: {LINK_GBS:g} GB/s": LINK_GBS}
    recording = None if "pinned" in largest else machine.recorded_gpu()
    if recording is not None and recording.h2d_gbs is not None:
        limits[f"pinned, recorded on {recording.device}: {recording.h2d_gbs:.3g} GB/s"] = recording.h2d_gbs
    plot.lines(
        {name: {size / 1e6: rate for size, rate in points.items()} for name, points in found.gbs.items()},
        title=title,
        x="size of the transfer, MB",
        y="GB/s, each byte counted once",
        note=f"Measured on {found.device}; PCIe 5 × 16 by its specification",
        log_x=True,
        limits=limits,
    )
