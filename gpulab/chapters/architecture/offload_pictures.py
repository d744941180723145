"""Draws which jobs are worth sending to a GPU, for the architecture chapter.

Where a picture needs an answer to an exercise, it is the student's own function, passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulab.chapters.architecture.offload_model import LAUNCH_US, PCIE_GBS, HostRates
from gpulab.figures.style import FAINT, ORANGE, canvas, number, show, style, tidy_log
from gpulab.tables import gpu_row


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
    title = "Products pay off; for sums it depends on the link"
    links = ", ".join(f"{link:g}" for link in PCIE_GBS.values())
    note = f"Model, links of {links} GB/s. Home, measured: {host.memory_gbs:.0f} GB/s, {host.peak_gflops:.0f} GFLOPS"
    with style():
        figure, axes = canvas(title, note, 4.0)
        for place, verdicts in enumerate(rows.values()):
            for yes, color, size in ((False, FAINT, 4.5), (True, ORANGE, 9)):
                at = [mb for mb, verdict in zip(megabytes, verdicts, strict=True) if verdict is yes]
                axes.plot(at, [place] * len(at), color=color, marker="s", markersize=size, linestyle="")
        axes.set_xscale("log")
        tidy_log(axes.xaxis)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set(xlabel="size of the three arrays together, MB (orange: the GPU is faster)")
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.tick_params(axis="y", length=0)
    words = "; ".join(f"{name}: {_from(megabytes, verdicts)}" for name, verdicts in rows.items())
    show(figure, f"{title}. {words}.")


def _from(sizes: Sequence[float], verdicts: Sequence[bool]) -> str:
    paying = [size for size, verdict in zip(sizes, verdicts, strict=True) if verdict]
    return f"pays from {number(paying[0])} MB" if paying else "never pays"
