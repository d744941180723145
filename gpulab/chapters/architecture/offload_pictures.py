"""Draws which jobs are worth sending to a GPU, for the architecture chapter.

Where a picture needs an answer to an exercise, it is the student's own function, passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulab.figures.styling import FAINT, ORANGE, canvas, number, show, style, tidy_log
from gpulab.tables import gpu_row

LAUNCH_US = 10.0
"""From the host's call to the kernel's first instruction, and back: the usual order of magnitude, for models."""
PCIE_GBS = {"T4": 12.0, "A100 80GB": 25.0, "H200": 55.0}
"""What pinned copies reach over PCIe 3, 4 and 5 with 16 lanes, which is what these GPUs have."""


def offload_map(
    offload_pays: Callable[..., bool],
    attainable_tflops: Callable[[float, float, float], float],
    matmul_intensity: Callable[[int, int, int, int], float],
    memory_gbs: float,
    cpu_gflops: float,
) -> None:
    """For two jobs and three GPUs: at which sizes the round trip pays.

    Args:
        offload_pays: the student's, like the next two.
        attainable_tflops: the student's.
        matmul_intensity: the student's.
        memory_gbs: of a large copy on the CPU, read and written.
        cpu_gflops: of a float32 matrix product on the CPU.
    """

    def pays(gpu: str, flops: int, elements_in: int, elements_out: int, intensity: float) -> bool:
        row = gpu_row(gpu)
        on_cpu = attainable_tflops(intensity, cpu_gflops / 1e3, memory_gbs)
        on_gpu = attainable_tflops(intensity, row["fp32_tflops"], row["bandwidth_gbs"])
        return bool(
            offload_pays(4 * elements_in, 4 * elements_out, flops, PCIE_GBS[gpu], on_cpu * 1e3, on_gpu * 1e3, LAUNCH_US)
        )

    megabytes = [12 * 2 ** (power / 2) / 1e6 for power in range(20, 57)]  # of a job's three arrays together
    rows: dict[str, list[bool]] = {}
    for gpu in PCIE_GBS:
        lengths = [round(size * 1e6 / 12) for size in megabytes]
        rows[f"add: {gpu}"] = [pays(gpu, n, 2 * n, n, 1 / 12) for n in lengths]
    for gpu in PCIE_GBS:
        sides = [round((size * 1e6 / 12) ** 0.5) for size in megabytes]
        rows[f"multiply: {gpu}"] = [pays(gpu, 2 * n**3, 2 * n * n, n * n, matmul_intensity(n, n, n, 4)) for n in sides]
    sums, products = (sum(any(rows[f"{job}: {gpu}"]) for gpu in PCIE_GBS) for job in ("add", "multiply"))
    title = f"A sum pays off with {sums} of {len(PCIE_GBS)} GPUs, a product with {products}"
    links = ", ".join(f"{link:g}" for link in PCIE_GBS.values())
    note = f"Model, links of {links} GB/s. CPU, measured: {memory_gbs:.0f} GB/s, {cpu_gflops:.0f} GFLOPS"
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
