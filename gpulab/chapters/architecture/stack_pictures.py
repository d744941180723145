"""Pictures for the end of the architecture chapter: where a clock stops, how to read `nvidia-smi`, who brings which
layer.

Schematic all of them, drawn from facts and not from measurements; the one recording is labeled with its date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALE = {BLUE: "#cfe2f1", ORANGE: "#ffe1c4", GRAY: "#e6e6e6"}
LAYERS = (
    "your program, PyTorch",
    "CUDA runtime, cuDNN, NCCL",
    "compiler (nvcc)",
    "Python and its tools",
    "driver",
    "GPU",
)
BRINGERS: dict[str, tuple[str, ...]] = {
    "venv + pip": ("box", "box", "host", "host", "host", "host"),
    "conda": ("box", "box", "asked", "box", "host", "host"),
    "container": ("box", "box", "asked", "box", "lent", "host"),
    "cloud image": ("box", "box", "box", "box", "box", "rent"),
}
MEANING = {
    "box": ("included", BLUE),
    "asked": ("if you ask\nfor it", BLUE),
    "host": ("from the host", GRAY),
    "lent": ("the host's,\nwith --gpus", ORANGE),
    "rent": ("rented with\nthe machine", ORANGE),
}


def stopwatch() -> None:
    """Draws two lanes, host and GPU: where a clock stops with and without synchronizing."""
    title = "A launch returns at once: a clock that does not wait measures the launch"
    with style():
        figure, axes = canvas(title, "Schematic: an asynchronous copy on a GPU", 2.9)
        blocks = [
            (1, 0.0, 1.0, "launch", INK),
            (0, 1.0, 8.0, "the copy", BLUE),
            (1, 1.0, 8.0, "synchronize(): waits", FAINT),
        ]
        for lane, start, length, label, color in blocks:
            axes.barh(lane, length, 0.5, start, color=color, edgecolor="white")
            axes.annotate(
                label,
                (start + length / 2, lane),
                ha="center",
                va="center",
                color=INK if color == FAINT else "white",
                fontsize=10,
            )
        for at, text, color in ((1.0, "stopped here:\nfar too fast", ORANGE), (9.0, "stopped here:\nright", BLUE)):
            axes.plot([at, at], [-0.4, 1.75], color=color, linewidth=2)
            axes.annotate(
                text, (at, 1.7), (6, 0), textcoords="offset points", va="top", color=color, weight="bold", fontsize=10
            )
        axes.plot([0, 0], [-0.4, 1.75], color=GRAY, linewidth=1.4)
        axes.set(xlim=(-0.1, 10.6), ylim=(-0.5, 1.9), xlabel="time →", yticks=[0, 1], xticks=[])
        axes.set_yticklabels(["GPU", "host"])
        axes.grid(visible=False)
        axes.tick_params(axis="y", length=0)
    show(figure, f"{title}. The launch takes one unit of time, the copy eight more; the clock has to wait for both.")


def nvidia_smi() -> None:
    """Draws the two rows that matter of `nvidia-smi`, each number marked and explained."""
    title = "Nine numbers, two of which mislead"
    note = "Schematic layout. Numbers: an idle A100-SXM4-40GB with driver 470.57.02, recorded on 9 March 2022"
    fields = [  # x, y, text, width, explanation, whether it misleads
        (0.0, 3, "Driver Version: 470.57.02", 3.1, "of this machine, not of your environment", False),
        (3.3, 3, "CUDA Version: 11.4", 2.6, "the newest that this driver can serve", True),
        (0.0, 2, "0  A100-SXM4-40GB", 3.1, "index for CUDA_VISIBLE_DEVICES, and name", False),
        (3.3, 2, "Persistence: Off", 2.6, "off: the driver may sleep between programs (nvidia-smi -pm 1)", False),
        (0.0, 1, "29C  P0", 1.45, "temperature; P0 fastest … P12 asleep", False),
        (1.65, 1, "53W / 400W", 1.45, "power now, and its limit: the best hint at real work", False),
        (3.3, 1, "3MiB / 39.59GiB", 2.6, "taken by processes, whether they use it or not", False),
        (0.0, 0, "GPU-Util 0%", 3.1, "time with at least one kernel running, not share of the GPU", True),
        (3.3, 0, "Volatile ECC 0", 2.6, "memory errors since the driver started that could not be corrected", False),
    ]
    with style():
        figure, axes = canvas(title, note, 5.0)
        for position, (x, y, text, width, explanation, misleads) in enumerate(fields, start=1):
            color = ORANGE if misleads else BLUE
            axes.barh(y, width, 0.72, x, color=PALE[color], edgecolor=color, linewidth=1.6 if misleads else 0.8)
            axes.annotate(text, (x + width / 2 + 0.1, y), ha="center", va="center", family="monospace", fontsize=9.5)
            line = -0.85 - 0.42 * (position - 1)
            for left, height in ((x + 0.13, y + 0.2), (0.13, line)):
                _badge(axes, left, height, position, color)
            axes.annotate(explanation, (0.4, line), va="center", fontsize=10, weight="bold" if misleads else "normal")
        axes.set(xlim=(-0.05, 6.0), ylim=(-4.6, 3.5))
        axes.axis("off")
    show(figure, f"{title}. " + "; ".join(f"{text}: {explanation}" for _, _, text, _, explanation, _ in fields) + ".")


def who_brings_what() -> None:
    """Draws a grid: layers against ways to get an environment, each cell says who brings the layer."""
    title = "Only a cloud image brings its own driver"
    with style():
        figure, axes = canvas(title, "Who brings which layer; schematic", 4.2)
        for column, (_, brought) in enumerate(BRINGERS.items()):
            for row, how in enumerate(brought):
                text, color = MEANING[how]
                axes.barh(row, 0.96, 0.92, column - 0.48, color=PALE[color], edgecolor=color, linewidth=0.8)
                axes.annotate(text, (column, row), ha="center", va="center", fontsize=10)
        axes.set_xticks(range(len(BRINGERS)), list(BRINGERS), weight="bold")
        axes.set_yticks(range(len(LAYERS)), LAYERS)
        axes.tick_params(length=0)
        axes.set(xlim=(-0.5, len(BRINGERS) - 0.5), ylim=(len(LAYERS) - 0.5, -0.5))
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
    words = [
        f"{name}: " + ", ".join(f"{layer} {MEANING[how][0]}" for layer, how in zip(LAYERS, brought, strict=True))
        for name, brought in BRINGERS.items()
    ]
    show(figure, f"{title}. {'; '.join(words)}.".replace("\n", " "))


def _badge(axes: Axes, x: float, y: float, position: int, color: str) -> None:
    axes.annotate(
        str(position),
        (x, y),
        ha="center",
        va="center",
        color="white",
        weight="bold",
        fontsize=8.5,
        bbox={"boxstyle": "circle,pad=0.18", "facecolor": color, "edgecolor": "none"},
    )
