"""Draws warps per SM and measured bandwidth next to datasheets, for the architecture chapter."""

from __future__ import annotations

from collections.abc import Callable

from gpulab.figures import plot
from gpulab.figures.styling import BLUE, INK, ORANGE, canvas, number, show, style
from gpulab.measuring import machine
from gpulab.measuring.devices import device_name
from gpulab.tables import gpu_row

ROOM = {"T4": 32, "A100 80GB": 64, "H100": 64, "H200": 64}
"""Warps that an SM can hold (CUDA programming guide, technical specifications: compute capabilities 7.5, 8.0, 9.0)."""


def warps_needed(warps_to_hide: Callable[..., int], latency_ns: float) -> None:
    """Bars: warps an SM needs at 128 and 512 bytes a request, with the room that it has.

    Args:
        warps_to_hide: the student's.
        latency_ns: the same for all GPUs.
    """
    with style():
        title = "One float per lane is not enough, even at full occupancy"
        figure, axes = canvas(
            title,
            f"Little's law with an assumed latency of {latency_ns:g} ns; SMs and bandwidth by the datasheets",
            3.8,
        )
        words = []
        for place, (gpu, room) in enumerate(ROOM.items()):
            row = gpu_row(gpu)
            for offset, request, color in ((-0.19, 128, BLUE), (0.19, 512, ORANGE)):
                warps = warps_to_hide(latency_ns, row["bandwidth_gbs"], request, row["sm_count"])
                drawn = axes.bar(
                    place + offset, warps, 0.36, color=color, label=f"{request} bytes per warp" if place == 0 else None
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


def bandwidths(yours_gbs: float) -> None:
    """Bars: the student's number next to the datasheets', and next to the recorded one if there is one."""
    here = f"here, measured: {device_name()}"
    values = {here: float(yours_gbs)}
    recording = machine.recorded_gpu()
    if recording is not None:
        values[f"recorded on {recording.device}, {recording.date}"] = recording.copy_gbs
    values |= {f"{gpu}, datasheet": gpu_row(gpu)["bandwidth_gbs"] for gpu in ("T4", "V100", "A100 80GB", "H200")}
    yours, theirs = number(yours_gbs), number(values["H200, datasheet"])
    plot.bars(
        values,
        title=f"You measured {yours} GB/s; an H200's datasheet says {theirs} GB/s",
        y="memory bandwidth, GB/s",
        note="Yours: a copy, read + written, warm, synchronized, median",
        highlight=here,
    )
