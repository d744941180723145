"""Draws what `architecture.offload_model` measures and models, for the architecture chapter.

Where a picture needs an answer to an exercise, it is the student's own function, passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulab.chapters.architecture.offload_model import LAUNCH_US, PCIE_GBS, HostRates, Lifetime, Race
from gpulab.figures import plot
from gpulab.figures.style import BLUE, FAINT, GREY, INK, ORANGE, canvas, number, show, style, tidy_log
from gpulab.measuring.devices import device_name
from gpulab.tables import gpu_row

STATIONS = (("copy in", BLUE), ("launch", INK), ("compute", ORANGE), ("copy out", GREY))


def lifetimes(lives: Sequence[Lifetime]) -> None:
    """Bars of full length: which share of a job's life each station takes."""
    title = f"Adding two vectors, the GPU adds for {100 * lives[0].compute_share:.0f} % of the time"
    with style():
        figure, axes = canvas(title, lives[0].origin, 1.7 + 0.55 * len(lives))
        for place, life in enumerate(lives):
            total, start = sum(life.stations_ms), 0.0
            for (station, colour), took in zip(STATIONS, life.stations_ms, strict=True):
                share = 100 * took / total
                axes.barh(
                    place, share, 0.66, start, color=colour, edgecolor="white", label=station if place == 0 else None
                )
                if share > 7:
                    axes.annotate(
                        f"{share:.0f} %",
                        (start + share / 2, place),
                        ha="center",
                        va="center",
                        color="white",
                        weight="bold",
                    )
                start += share
            axes.annotate(f"{number(total)} ms", (101, place), va="center", annotation_clip=False)
        axes.set_yticks(range(len(lives)), [life.job for life in lives])
        axes.set(xlabel="share of the job's time, %", xlim=(0, 100))
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.legend(
            frameon=False,
            ncols=4,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.32 if len(lives) > 2 else -0.5),
            fontsize=10,
        )
    words = "; ".join(
        f"{life.job}: "
        + ", ".join(f"{name} {number(ms)} ms" for (name, _), ms in zip(STATIONS, life.stations_ms, strict=True))
        for life in lives
    )
    show(figure, f"{title}. {words}.")


def offload_map(
    offload_pays: Callable[..., bool],
    attainable_tflops: Callable[[float, float, float], float],
    matmul_intensity: Callable[[int, int, int, int], float],
    host: HostRates,
) -> None:
    """For two jobs and three GPUs: at which sizes the round trip pays. All three functions are the student's."""

    def pays(gpu: str, flops: int, elements_in: int, elements_out: int, intensity: float) -> bool:
        row = gpu_row(gpu)
        at_home = attainable_tflops(intensity, host.peak_gflops / 1e3, host.memory_gbs)
        abroad = attainable_tflops(intensity, row["fp32_tflops"], row["bandwidth_gbs"])
        return bool(
            offload_pays(
                4 * elements_in, 4 * elements_out, flops, PCIE_GBS[gpu], at_home * 1e3, abroad * 1e3, LAUNCH_US
            )
        )

    megabytes = [12 * 2 ** (power / 2) / 1e6 for power in range(20, 57)]  # of a job's three arrays together
    rows: dict[str, list[bool]] = {}
    for gpu in PCIE_GBS:
        lengths = [round(size * 1e6 / 12) for size in megabytes]
        rows[f"add: {gpu}"] = [pays(gpu, n, 2 * n, n, 1 / 12) for n in lengths]
    for gpu in PCIE_GBS:
        sides = [round((size * 1e6 / 12) ** 0.5) for size in megabytes]
        rows[f"multiply: {gpu}"] = [pays(gpu, 2 * n**3, 2 * n * n, n * n, matmul_intensity(n, n, n, 4)) for n in sides]
    title = "Products are worth the trip; for sums it depends on the door"
    links = ", ".join(f"{link:g}" for link in PCIE_GBS.values())
    note = f"Model, links of {links} GB/s. Home, measured: {host.memory_gbs:.0f} GB/s, {host.peak_gflops:.0f} GFLOPS"
    with style():
        figure, axes = canvas(title, note, 4.0)
        for place, verdicts in enumerate(rows.values()):
            for yes, colour, size in ((False, FAINT, 4.5), (True, ORANGE, 9)):
                at = [mb for mb, verdict in zip(megabytes, verdicts, strict=True) if verdict is yes]
                axes.plot(at, [place] * len(at), color=colour, marker="s", markersize=size, linestyle="")
        axes.set_xscale("log")
        tidy_log(axes.xaxis)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set(xlabel="size of the three arrays together, MB (orange: the trip pays)")
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.tick_params(axis="y", length=0)
    words = "; ".join(f"{name}: {_from(megabytes, verdicts)}" for name, verdicts in rows.items())
    show(figure, f"{title}. {words}.")


def race(result: Race) -> None:
    """Lines: the time of the same job in two places over its size, with and without the luggage."""
    ends = {
        result.home: result.home_seconds,
        f"{result.away}, data there": result.away_seconds,
        f"{result.away}, with luggage": result.round_trip_seconds,
    }
    plot.lines(
        {
            name: {size: seconds * 1e6 for size, seconds in zip(result.sizes, times, strict=True)}
            for name, times in ends.items()
        },
        title="Flat and slow beats steep and quick, from some size on",
        x="elements",
        y="time, µs",
        note=f"x³ − 2x + 1 for every x, measured on {device_name()}, medians",
        log_x=True,
        log_y=True,
    )


def _from(sizes: Sequence[float], verdicts: Sequence[bool]) -> str:
    paying = [size for size, verdict in zip(sizes, verdicts, strict=True) if verdict]
    return f"pays from {number(paying[0])} MB" if paying else "never pays"
