"""The text in which metrics are handed to Prometheus: made-up pages to read, and samples to render.

What a real server makes of a page is for `profiling.scrape`; a machine's own numbers are those of `gpulab.exporter`.
"""

from __future__ import annotations

from typing import Any

_UUIDS = ("GPU-1f0e6c1a-5d2b-4a7e-9c41-0b7d3a52e810", "GPU-8c93b7d4-02aa-4f1d-b6e5-77c1f0a9e2d6")
_FIELDS = {
    "DCGM_FI_DEV_SM_CLOCK": ("gauge", "SM clock frequency (in MHz).", ("1980", "345")),
    "DCGM_FI_DEV_POWER_USAGE": ("gauge", "Power draw (in W).", ("412.337000", "76.115000")),
    "DCGM_FI_DEV_GPU_UTIL": ("gauge", "GPU utilization (in %).", ("100", "0")),
    "DCGM_FI_DEV_FB_USED": ("gauge", "Framebuffer memory used (in MiB).", ("71204", "71198")),
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": (
        "counter",
        "Total energy consumption since boot (in mJ).",
        ("81263340127", "11807526113"),
    ),
}
JOB = "sweep,lr=0.1,gpu=7"
"""A job's name with everything in it that breaks a careless parser."""


def dcgm_page() -> str:
    """A page as the DCGM exporter serves it, of a node with two GPUs. Form and names are its own, numbers made up."""
    lines = []
    for name, (kind, words, values) in _FIELDS.items():
        lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
        for gpu, value in enumerate(values):
            labels = {"gpu": str(gpu), "UUID": _UUIDS[gpu], "device": f"nvidia{gpu}", "modelName": "NVIDIA H200"}
            labels |= {"Hostname": "node7"} | ({"hpc_job": JOB} if gpu == 0 else {})
            inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
            lines.append(f"{name}{{{inside}}} {value}")
    return "\n".join([*lines, ""])


def training_samples() -> list[dict[str, Any]]:
    """What a training run might want to tell: two GPUs, one run with an awkward name; the numbers are made up."""
    run = 'resnet "big"'
    loss, seen = "Loss of the last batch.", "Images since the start."
    rows: list[tuple[str, str, str, dict[str, str], float]] = [
        ("train_loss", "gauge", loss, {"run": run}, 0.693147),
        ("train_images_total", "counter", seen, {"run": run, "gpu": "0"}, 1_843_200.0),
        ("train_images_total", "counter", seen, {"run": run, "gpu": "1"}, 1_843_136.0),
        ("train_steps_total", "counter", "Optimizer steps.", {}, 28_799.0),
    ]
    return [dict(zip(("name", "type", "help", "labels", "value"), row, strict=True)) for row in rows]
