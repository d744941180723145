"""What keeps a GPU from being used, and what to do about it: by the driver's codes and by CUDA's words.

Facts and advice only: `hardware` asks the driver, `looks` shows it, docs/troubleshooting.md has the same list.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong."""

    found: str
    remedy: str
    fatal: bool = True
    """Whether there seems to be a GPU that cannot be used; else there is none, which is fine."""


NO_DRIVER = Trouble(
    "none: no NVIDIA driver answers", "Fine: rows that need a GPU stay pending and cost no points.", fatal=False
)
NOT_LOADED = Trouble(
    "the driver is installed but not loaded",
    'Run "sudo modprobe nvidia", then "sudo dmesg | tail": after a kernel update the driver has to be built again '
    "(reinstall it, or its dkms package); with Secure Boot its module has to be signed.",
)
MISMATCH = Trouble(
    "the driver's library and its kernel module are of two versions",
    "The driver was updated under a running system: restart the machine.",
)
REFUSED = Trouble(
    "the driver refuses this user",
    "Join the group that owns /dev/nvidia* (often video), or ask whoever runs the machine.",
)
LOST = Trouble(
    "a GPU has fallen off the bus",
    'Restart the machine; if it comes again, "sudo dmesg | grep Xid" tells what is to blame: power, heat or the card.',
)
RESET = Trouble(
    "a GPU waits for a reset", 'Nobody may use it: run "sudo nvidia-smi --gpu-reset", or restart the machine.'
)
NO_DEVICES = Trouble(
    "the driver's library is here, its devices are not",
    'In a container: start it with "--gpus all", on a host with the NVIDIA container toolkit. Under Slurm: ask for a '
    'GPU with "--gres=gpu:1".',
)
BY_CODE = {4: REFUSED, 9: NOT_LOADED, 12: NO_DRIVER, 15: LOST, 16: RESET, 18: MISMATCH}
"""NVML's return values that say what is wrong (nvml.h, nvmlReturn_t)."""

EXCLUSIVE = {1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
"""NVML's compute modes (nvml.h, nvmlComputeMode_t) in which processes cannot share a GPU."""
SHARE = 'To let several processes share it: "sudo nvidia-smi -c 0".'
WITHOUT = "To do without it: set CUDA_VISIBLE_DEVICES to nothing; rows that need a GPU then stay pending."

TOO_OLD = (
    "Install a driver of branch 580 or later (CUDA 13). From branch 525 on, this driver will do with packages for CUDA "
    '12: "make clean lab" chooses them by the driver.'
)
BY_WORDS = (
    (r"driver on your system is too old|driver version is insufficient|Error 35\b", TOO_OLD),
    (
        r"no kernel image is available|not compatible with the current PyTorch",
        "This GPU is older or newer than what torch was built for: install another torch, or use another GPU.",
    ),
    (
        r"system not yet initialized|Error 802\b",
        "A machine with NVSwitch needs its fabric manager, of the driver's very version: \"sudo systemctl start "
        'nvidia-fabricmanager".',
    ),
    (
        r"out of memory|Error 2\b",
        'Other processes hold the memory: "nvidia-smi" lists them. Restart the kernels that you no longer use.',
    ),
    (
        r"exclusive|devices? (is|are) busy or unavailable|Error 46\b",
        'Another process has the GPU for itself: "nvidia-smi" shows it. "sudo nvidia-smi -c 0" lets several share it.',
    ),
    (
        r"unknown error|Error 999\b",
        'Often after a suspended laptop wakes: "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm", or restart.',
    ),
)
"""Pattern in what CUDA says → what to do. The first that fits counts."""


def of_code(code: int) -> Trouble:
    """What NVML's return value means."""
    if code in BY_CODE:
        return BY_CODE[code]
    return Trouble(f"the driver does not answer (NVML error {code})", 'Look at what "nvidia-smi" says, and restart.')


def of_words(text: str) -> str:
    """What to do about what CUDA or torch said; an empty text when that is not known."""
    return next((remedy for pattern, remedy in BY_WORDS if re.search(pattern, text, re.IGNORECASE)), "")


def hidden() -> Trouble | None:
    """Whether the environment hides every GPU: told, and fine."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown is None:
        return None
    remedy = NO_DRIVER.remedy + ' To use the GPU: "unset CUDA_VISIBLE_DEVICES".'
    return Trouble(f"none: CUDA_VISIBLE_DEVICES={shown} shows none", remedy, fatal=False)


def without_devices(
    library: bool, proc: Path = Path("/proc/driver/nvidia"), dev: Path = Path("/dev")
) -> Trouble | None:
    """Whether this looks like a container that was not given the GPUs of its host.

    Args:
        library: whether the driver's library was found.
        proc: where a loaded driver shows itself; containers see their host's.
        dev: where its devices would be.
    """
    loaded = proc.exists()
    devices = any(dev.glob("nvidia[0-9]*"))
    return NO_DEVICES if not devices and (loaded or (library and Path("/.dockerenv").exists())) else None
