"""Bounds the memory of the GPU that a submission may take: the driver of NVIDIA has no limit of its own to set.

One thread of this process asks NVML twice a second which processes hold how much, and ends a submission that holds more
than it may. A neighbor can still be short of memory for that half second; it then gets CUDA's own error, and no more.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gpulab.doctor import hardware
from grader.model.limits import Limits

SECONDS = 0.5
OFF_SECONDS = 20.0
"""For the driver to stop what a killed process had started."""


@dataclass
class GuardedSubmission:
    """One submission under watch."""

    pids: tuple[int, ...]
    """Of the processes whose descendants count, themselves included. The first is the one to kill."""
    most_bytes: int
    exceeded: bool = field(default=False, init=False)


class MemoryWatchdog:
    """All submissions of this process under watch. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guards: list[GuardedSubmission] = []
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, pids: tuple[int, ...], most_bytes: int) -> GuardedSubmission:
        """Puts processes, and whatever they start, under watch; on a machine without a GPU, nothing is done."""
        guard = GuardedSubmission(pids, most_bytes)
        if hardware.gpus():
            with self._lock:
                self._guards.append(guard)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="gpu-memory", daemon=True)
                    self._thread.start()
            self._wake.set()
        return guard

    def remove(self, guard: GuardedSubmission) -> None:
        """Ends the watch over one."""
        with self._lock:
            self._guards = [one for one in self._guards if one is not guard]
            if not self._guards:
                self._wake.clear()

    def look(self) -> None:
        """Compares once, and kills what holds too much."""
        used = {pid: (size, set(ancestors(pid))) for pid, size in used_bytes().items()}
        with self._lock:
            guards = list(self._guards)
        for guard in guards:
            if sum(size for size, above in used.values() if not above.isdisjoint(guard.pids)) > guard.most_bytes:
                guard.exceeded = True
                with contextlib.suppress(ProcessLookupError):
                    os.kill(guard.pids[0], signal.SIGKILL)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self.look()
            time.sleep(SECONDS)


def most_bytes(limits: Limits) -> int:
    """What a submission may take of the smallest GPU here; 0 without one, where nothing is watched."""
    return int(limits.gpu_memory_of(1e6 * min((gpu.memory_mb for gpu in hardware.gpus()), default=0.0)))


def used_bytes() -> dict[int, int]:
    """Process id → bytes of GPU memory that it holds, on all GPUs; empty where the driver does not say."""
    import pynvml

    found: dict[int, int] = {}
    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        try:
            for index in range(pynvml.nvmlDeviceGetCount()):
                for process in pynvml.nvmlDeviceGetComputeRunningProcesses(pynvml.nvmlDeviceGetHandleByIndex(index)):
                    found[process.pid] = found.get(process.pid, 0) + (process.usedGpuMemory or 0)
        finally:
            pynvml.nvmlShutdown()
    return found


def holders(pids: tuple[int, ...]) -> set[int]:
    """Those processes that hold memory of a GPU and descend from one of these, or are it; empty without a GPU."""
    return {one for one in used_bytes() if not set(pids).isdisjoint(ancestors(one))} if hardware.gpus() else set()


def wait_until_off(pids: set[int], seconds: float = OFF_SECONDS) -> bool:
    """Waits until none of these processes is on a GPU any more; gives whether that was in time.

    A process that is killed in the middle of a kernel without end stays there until the driver has stopped the kernel.
    """
    until = time.monotonic() + seconds
    while pids & used_bytes().keys():
        if time.monotonic() > until:
            return False
        time.sleep(OFF_SECONDS / 500)
    return True


def ancestors(pid: int) -> list[int]:
    """A process, its parent, and so on; as far as they still run."""
    found = []
    with contextlib.suppress(OSError, ValueError):
        while pid > 1:
            found.append(pid)
            # After the name, which may hold anything: state, then the parent's id.
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return found


@cache
def watchdog() -> MemoryWatchdog:
    """The one of this process."""
    return MemoryWatchdog()
