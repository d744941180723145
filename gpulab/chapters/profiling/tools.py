"""What is here to look with: the tools of the profiling chapter, and a quiet profiler.

Metrics are read and served elsewhere (`profiling.metrics`, `profiling.scrape`), traces too (`profiling.traces`).
"""

from __future__ import annotations

import os
import shutil

# Kineto, the profiler's recorder, writes lines with process numbers to stderr, in a notebook below every profile.
os.environ.setdefault("KINETO_LOG_LEVEL", "9")

TOOLS = {
    "nvidia-smi": "one look at every GPU; comes with the driver",
    "nvitop": "the same, live, with processes; pip install nvitop",
    "nsys": "Nsight Systems: who waits for whom; comes with CUDA",
    "ncu": "Nsight Compute: one kernel, under the microscope; comes with CUDA",
    "prometheus": "keeps what many machines say about themselves; apt install prometheus",
}
"""Command → what it is for, and where it comes from."""


def these_tools() -> None:
    """Prints the device, and which of the chapter's tools are on this machine."""
    from gpulab.measuring.devices import device_name, has_gpu
    from gpulab.measuring.host import no_gpu

    here = f"This page runs on: {device_name()}"
    print(here if has_gpu() else no_gpu(here))
    for command, use in TOOLS.items():
        print(f"  {'here' if shutil.which(command) else 'not here':8}  {command:11} {use}")
    print("None of them is needed for a single point. The profiler that is comes with PyTorch.")
