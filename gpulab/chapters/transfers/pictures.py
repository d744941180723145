"""Draws what the transfers chapter models, measures, and quotes; timelines of real runs are `overlap_pictures`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.patches import FancyArrowPatch, Rectangle

from gpulab.chapters.transfers.models import LINK_GBS, SERIAL, STAGES, TWO_ENGINES
from gpulab.figures import plot
from gpulab.figures.diagrams import bare
from gpulab.figures.styling import BLUE, GRAY, INK, ORANGE, canvas, ink_on, number, show, style, tidy
from gpulab.measuring.devices import device_name

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
    """Bars: what crosses the link for a batch of images, by the student's function."""
    groups: dict[str, dict[str, float]] = {
        f"cast on the {place.upper()}": {
            f"{host} → {there}": bytes_moved(shape, host, there, place) / 1e6 for host, there in CASTS
        }
        for place in ("cpu", "gpu")
    }
    first, last = (group["uint8 → float32"] for group in groups.values())
    plot.bars(
        groups,
        title=f"Over the link: {number(first)} MB if the CPU casts, {number(last)} MB if the GPU does",
        y="bytes over the link, MB",
        x="type on the host → type on the GPU",
        note=f"A batch of {' × '.join(map(str, shape))}, by your function",
    )


def draw_early(seen: Mapping[float, float]) -> None:
    """Line: how much of a running copy had arrived when somebody looked.

    Args:
        seen: ms since the copy was started → part of the target that held the new values by then.
    """
    last = max(seen)
    title = f"The copy takes {last:.0f} ms; until then the target is a mixture"
    with style():
        figure, axes = canvas(title, "Measured: a thread plays the copy engine; the target is read meanwhile", 3.4)
        axes.plot(list(seen), [100 * part for part in seen.values()], color=BLUE, marker="o", ms=4)
        axes.axvline(0, color=ORANGE, lw=2)
        axes.annotate("the call has returned", (0, 92), (6, 0), textcoords="offset points", color=INK, fontsize=10)
        axes.set(xlabel="time since the copy was started, ms", ylabel="new values in the target, %", ylim=(-3, 105))
        tidy(axes.xaxis)
    words = ", ".join(f"{at:.0f} ms: {100 * part:.0f}%" for at, part in seen.items())
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


def draw_loading(batch_ms: Mapping[int, float], step_ms: float, chosen: int) -> None:
    """Bars: the time from step to step by the number of workers, with the step itself and the student's choice."""
    fast, slow = (number(pick(batch_ms.values())) for pick in (min, max))
    title = f"From step to step: {fast} to {slow} ms, for a step of {number(step_ms)} ms; num_workers={chosen}"
    with style():
        figure, axes = canvas(title, f"Measured on {device_name('cpu')}: JPEG files, decoded and cropped", 3.6)
        colors = [ORANGE if count == chosen else BLUE for count in batch_ms]
        bars = axes.bar(range(len(batch_ms)), list(batch_ms.values()), 0.6, color=colors)
        axes.bar_label(bars, [number(value) for value in batch_ms.values()], padding=3, fontsize=10)
        axes.set_xticks(range(len(batch_ms)), [str(count) for count in batch_ms])
        axes.axhline(step_ms, color=INK, ls="--", lw=1.2)
        axes.annotate(
            "the step\nalone", (1, step_ms), (6, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", va="center", fontsize=10,
        )  # fmt: skip
        axes.set(xlabel="num_workers (0: the training process decodes)", ylabel="from step to step, ms")
        axes.margins(y=0.15)
        axes.grid(visible=False, axis="x")
    words = ", ".join(f"{count}: {value:.1f} ms" for count, value in batch_ms.items())
    show(figure, f"{title}. {words}.")


def draw_pinning(rows: Sequence[Mapping[str, Any]]) -> None:
    """Bars: host to device from pinned and from pageable memory, as others have measured it.

    Args:
        rows: of `data/transfer_rates.csv`.
    """
    pairs: dict[str, dict[str, float]] = {"pinned": {}, "pageable": {}}
    for row in rows:
        if row["direction"] == "h2d" and row["gpu"].startswith("A100"):
            pairs[row["memory"]][row["gpu"]] = row["gbs"]
    ratios = [pairs["pinned"][gpu] / pairs["pageable"][gpu] for gpu in pairs["pinned"]]
    plot.bars(
        pairs,
        title=f"Pinned memory is {min(ratios):.1f} to {max(ratios):.1f} times as fast on two A100 servers",
        y="host to device, GB/s",
        note="Published: bandwidthTest, 32 MB, PCIe 4.0 × 16 (gengwg/gpu at f1ce2499)",
    )


def draw_loader_pinning(rows: Sequence[Mapping[str, Any]]) -> None:
    """Bars: a data loader's loop with and without pinned memory and non-blocking copies, as others have measured it.

    Args:
        rows: of `data/loader_pinning.csv`.
    """
    words = {"yes": "with", "no": "without"}
    bars = {
        f"{words[row['pin_memory']]} pin_memory,\n{words[row['non_blocking']]} non_blocking": row["seconds"]
        for row in rows
    }
    best = min(bars.values())
    neither = next(row["seconds"] for row in rows if row["pin_memory"] == row["non_blocking"] == "no")
    plot.bars(
        bars,
        title=f"Both switches together: {1 - best / neither:.0%} less time; non_blocking alone: nothing",
        y="seconds for the same loop",
        note=f"Published: {rows[0]['gpu']} (stas00/ml-engineering at 744d01e1)",
        highlight=next(name for name, seconds in bars.items() if seconds == best),
    )


def draw_casts(cast_ms: float, transfer_ms: Mapping[str, float]) -> None:
    """Bars: one core casts a batch; the link transfers it as either type."""
    floats_ms = number(transfer_ms["float32"])
    title = f"The cast on one core: {number(cast_ms)} ms; the transfer of the floats: {floats_ms} ms"
    bars = {"cast to float32, one core": cast_ms} | {f"transfer as {name}": ms for name, ms in transfer_ms.items()}
    note = f"Cast: measured on {device_name('cpu')}.\nTransfers: computed at {LINK_GBS:g} GB/s, PCIe 5.0 × 16"
    plot.bars(bars, title=title, y="time for one batch, ms", note=note, highlight="cast to float32, one core")


def draw_layouts(times_ms: Mapping[str, float]) -> None:
    """Bars: one convolution in both layouts."""
    first, last = (number(times_ms[layout]) for layout in ("channels first", "channels last"))
    title = f"A convolution here: channels first {first} ms, channels last {last} ms"
    note = f"Measured on {device_name()}, median of 9"
    plot.bars(dict(times_ms), title=title, y="one convolution, ms", note=note, highlight="channels last")


def draw_sweep(gbs: Mapping[str, Mapping[int, float]], published: Sequence[Mapping[str, Any]]) -> None:
    """Lines: GB/s by size of a transfer, with a published curve; without a GPU, one's own is a copy in host memory.

    Args:
        gbs: way → bytes → GB/s.
        published: rows of `data/transfer_rates.csv`.
    """
    series: dict[str, dict[float, plot.Value]] = {
        name: {size / 1e6: rate for size, rate in points.items()} for name, points in gbs.items()
    }
    v100 = [row for row in published if row["gpu"].startswith("Tesla V100")]
    series["V100, pinned, published"] = {row["bytes"] / 1e6: row["gbs"] for row in v100}
    small, best = (pick(row["gbs"] for row in v100) for pick in (min, max))
    plot.lines(
        series,
        title=f"A V100's PCIe link: {small:g} GB/s at 1 kB, {best:g} GB/s from 10 MB on",
        x="size of the transfer, MB",
        y="GB/s, each byte counted once",
        note=f"Measured on {device_name()}. Published: PCIe 3.0 × 16, bandwidthTest (microsoft/superbenchmark)",
        log_x=True,
    )
