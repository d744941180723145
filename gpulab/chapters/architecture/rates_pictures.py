"""Draws what `architecture.rates` measures, beside what datasheets promise, for the architecture chapter.

Titles state the finding with the figures at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpulab.chapters.architecture.rates import CopyRate, FirstCopies, ReadTime, Roofline, reads_in_flight, worker
from gpulab.figures import plot
from gpulab.figures.style import BLUE, GREY, INK, ORANGE, canvas, number, show, style, tidy_log
from gpulab.measuring import machine
from gpulab.measuring.devices import device_name
from gpulab.tables import gpu_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REGISTERS_KIB_PER_SM = 256
"""65 536 registers of 4 bytes in each SM, from GP100 to Hopper (CUDA programming guide, technical specifications)."""
ROOM = {"T4": 32, "A100 80GB": 64, "H100": 64, "H200": 64}
"""Warps that an SM can hold (CUDA programming guide, technical specifications: compute capabilities 7.5, 8.0, 9.0)."""


def register_files(gpus: Sequence[str] = ("P100", "V100", "T4", "A100 80GB", "H200")) -> None:
    """Bars: all registers of a GPU beside its L2, in MiB, by the datasheets."""
    rows = {gpu: gpu_row(gpu) for gpu in gpus}
    plot.bars(
        {
            "all registers": {gpu: row["sm_count"] * REGISTERS_KIB_PER_SM / 1024 for gpu, row in rows.items()},
            "L2": {gpu: row["l2_mib"] for gpu, row in rows.items()},
        },
        title="For years a GPU's registers held more than its largest cache",
        y="capacity, MiB",
        note="By the datasheets: 256 KiB of registers in each SM, times the number of SMs",
    )


def read_staircase(reads: Sequence[ReadTime]) -> None:
    """Lines: time of a dependent and of an independent random read over the size of the table."""
    title = f"The same reads, {reads[-1].chase_ns / reads[-1].gather_ns:.0f} times cheaper when the places are known"
    with style():
        figure, axes = canvas(
            title, f"Measured on one core of {device_name('cpu').rsplit(',', 1)[0]}; medians of 21 and 9 runs", 4.2
        )
        sizes = [read.nbytes for read in reads]
        series: list[tuple[str, list[float], str]] = [
            ("each read waits\nfor the last", [read.chase_ns for read in reads], BLUE),
            ("places known\nbeforehand", [read.gather_ns for read in reads], ORANGE),
        ]
        for name, times, colour in series:
            axes.plot(sizes, times, color=colour, marker="o")
            _at_end(axes, name, sizes[-1], times[-1], colour)
        _byte_axis(axes, sizes)
        axes.set_yscale("log")
        tidy_log(axes.yaxis)
        axes.set(xlabel="size of the table", ylabel="time for one read, ns")
        apart = f"÷ {reads_in_flight(reads):.0f}"
        axes.annotate(
            "",
            (sizes[-1], series[0][1][-1]),
            (sizes[-1], series[1][1][-1]),
            arrowprops={"arrowstyle": "<->", "color": GREY},
        )
        middle = (series[0][1][-1] * series[1][1][-1]) ** 0.5
        axes.annotate(
            apart, (sizes[-1], middle), (-8, 0), textcoords="offset points", ha="right", va="center", color="#555555"
        )
    show(figure, f"{title}. Waiting for each read: {_span(series[0][1])} ns; places known: {_span(series[1][1])} ns.")


def copy_staircase(copies: Sequence[CopyRate]) -> None:
    """Line: bandwidth of a copy over its size, with the limit that the call alone sets."""
    best = max(copies, key=lambda copy: copy.gbs)
    call_us = min(copy.microseconds for copy in copies)
    title = f"One copy, three answers: {copies[0].gbs:.1f}, {best.gbs:.0f} or {copies[-1].gbs:.0f} GB/s"
    with style():
        figure, axes = canvas(title, f"Measured on {worker()}, read + written; medians", 4.0)
        sizes = [copy.nbytes for copy in copies]
        axes.plot(sizes, [copy.gbs for copy in copies], color=BLUE, marker="o", zorder=3)
        call = [(size, 2 * size / call_us / 1e3) for size in sizes]
        call = [(size, gbs) for size, gbs in call if gbs < 2.5 * best.gbs]
        axes.plot(*zip(*call, strict=True), color=ORANGE, linestyle="--", linewidth=1.4)
        axes.axhline(copies[-1].gbs, color=GREY, linestyle="--", linewidth=1.4)
        axes.annotate(
            f"no call is shorter than {call_us:.2g} µs",
            call[-1],
            (7, -4),
            textcoords="offset points",
            color="#b35900",
            fontsize=10,
        )
        axes.annotate(
            "the memory",
            (sizes[-1], copies[-1].gbs),
            (0, -14),
            textcoords="offset points",
            ha="right",
            color="#555555",
            fontsize=10,
        )
        axes.annotate(
            "the caches",
            (best.nbytes, best.gbs),
            (0, 8),
            textcoords="offset points",
            ha="center",
            color=BLUE,
            fontsize=10,
        )
        _byte_axis(axes, sizes)
        axes.set_yscale("log")
        tidy_log(axes.yaxis)
        axes.set(xlabel="size of the source", ylabel="bandwidth, GB/s")
    show(
        figure,
        f"{title}. {sizes[0]} to {sizes[-1]} bytes: bandwidth up with the size, down once the caches are outgrown.",
    )


def roofline(measured: Roofline) -> None:
    """This machine's roofline with measured programs, and the roofs of three GPUs by their datasheets."""
    vector = measured.points[0]
    title = f"Adding vectors reaches {100 * vector.gflops / measured.peak_gflops:.1f} % of the arithmetic at hand"
    machines: dict[str, Any] = {f"here: {measured.device}": (measured.peak_gflops / 1e3, measured.memory_gbs)}
    machines |= {f"{gpu} (datasheet)": gpu_row(gpu) for gpu in ("T4", "H200")}
    recording = machine.recorded_gpu()
    if recording is not None:
        machines[f"recorded on {recording.device}, {recording.date}"] = recording
    points = {point.name: (point.intensity, point.gflops / 1e3) for point in measured.points}
    plot.roofline(
        machines, points, title=title, note="float32. Diamonds: measured here; 64² multiplies two 64 × 64 matrices"
    )


def warps_needed(warps_to_hide: Callable[..., int], latency_ns: float) -> None:
    """Bars: warps an SM needs at 128 and 512 bytes a request, with the room that it has.

    Args:
        warps_to_hide: the student's.
        latency_ns: the same for all GPUs.
    """
    with style():
        title = "One float a lane is not enough, even with every place in the SM taken"
        figure, axes = canvas(
            title,
            f"Little's law with an assumed latency of {latency_ns:g} ns; SMs and bandwidth by the datasheets",
            3.8,
        )
        words = []
        for place, (gpu, room) in enumerate(ROOM.items()):
            row = gpu_row(gpu)
            for offset, request, colour in ((-0.19, 128, BLUE), (0.19, 512, ORANGE)):
                warps = warps_to_hide(latency_ns, row["bandwidth_gbs"], request, row["sm_count"])
                drawn = axes.bar(
                    place + offset, warps, 0.36, color=colour, label=f"{request} bytes a warp" if place == 0 else None
                )
                axes.bar_label(drawn, [str(warps)], padding=2, fontsize=10)
                words.append(f"{gpu} {request} bytes: {warps} of {room}")
            axes.plot([place - 0.44, place + 0.44], [room, room], color=INK, linewidth=2)
            axes.annotate(
                f"room for {room}", (place + 0.42, room), (0, 3), textcoords="offset points", ha="right", fontsize=9.5
            )
        axes.set_xticks(range(len(ROOM)), list(ROOM))
        axes.set(ylabel="warps needed in each SM")
        axes.legend(frameon=False, loc="upper left")
    show(figure, f"{title}. {'; '.join(words)}.")


def first_copies(copies: FirstCopies) -> None:
    """Bars: the time of every copy, in order."""
    title = f"The first copy took {copies.milliseconds[0] / copies.median_ms:.0f} times as long as its successors"
    with style():
        figure, axes = canvas(title, f"Measured on {copies.device}: {copies.nbytes / 1e6:.0f} MB each", 3.4)
        numbers = range(1, len(copies.milliseconds) + 1)
        axes.bar(numbers, copies.milliseconds, color=[ORANGE] + [BLUE] * (len(numbers) - 1))
        axes.axhline(copies.median_ms, color=INK, linestyle="--", linewidth=1.2)
        axes.annotate(
            f"dashed: median of the others, {number(copies.median_ms)} ms",
            (1, 0.95),
            xycoords="axes fraction",
            ha="right",
            va="top",
        )
        axes.set(xlabel="copy number", ylabel="time, ms", xlim=(0, len(numbers) + 1))
    show(figure, f"{title}. First {number(copies.milliseconds[0])} ms, median {number(copies.median_ms)} ms.")


def bandwidths(yours_gbs: float) -> None:
    """Bars: the student's figure beside the datasheets', and beside the recorded one where there is one."""
    here = f"here, measured: {device_name()}"
    values = {here: float(yours_gbs)}
    recording = machine.recorded_gpu()
    if recording is not None:
        values[f"recorded on {recording.device}, {recording.date}"] = recording.copy_gbs
    values |= {f"{gpu}, datasheet": gpu_row(gpu)["bandwidth_gbs"] for gpu in ("T4", "V100", "A100 80GB", "H200")}
    plot.bars(
        values,
        title=f"An H200 promises {values['H200, datasheet'] / yours_gbs:.3g} times what you measured",
        y="memory bandwidth, GB/s",
        note="Yours: a copy, read + written, warm, synchronised, median",
        highlight=here,
    )


def _at_end(axes: Axes, name: str, x: float, y: float, colour: str) -> None:
    axes.annotate(
        name,
        (x, y),
        (9, 0),
        textcoords="offset points",
        va="center",
        color=colour,
        weight="bold",
        fontsize=10.5,
        annotation_clip=False,
    )


def _byte_axis(axes: Axes, sizes: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    shown = sizes[::3] if len(sizes) > 8 else sizes
    axes.set_xticks(shown, [_bytes(size) for size in shown])
    axes.minorticks_off()


def _bytes(size: int) -> str:
    return f"{size // 1024**2} MiB" if size >= 1024**2 else f"{size // 1024} KiB"


def _span(values: Sequence[float]) -> str:
    return f"{number(values[0])} to {number(values[-1])}"
