"""Tells exceptions that come from the machine or the harness from those that an answer causes in a test.

A test runs in the judge's process, so memory, files, packages and the GPU that it meets there are not the student's.
"""

from __future__ import annotations

import contextlib
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OURS = (MemoryError, OSError, ImportError, EOFError, subprocess.SubprocessError)
HARNESS = (
    "grader.judging.judge_client",
    "grader.judging.counting.counted",
    "grader.judging.scripts",
    "grader.processes",
)
"""Modules and packages whose own code raises nothing because of an answer but what `judge_client` defines for that."""
DEVICE_CLASSES = {
    "torch": ("OutOfMemoryError", "AcceleratorError"),
    "torch.cuda": ("CudaError",),
    "numba.cuda.cudadrv.error": ("CudaDriverError", "CudaRuntimeError", "CudaSupportError", "NvvmError"),
}
"""Module → its exceptions for a device that fails or has no memory left."""
DEVICE_MESSAGES = ("CUDA error: ", "CUDA driver error: ", "cuDNN error: ", "CUDA out of memory")
"""How the messages of those begin that torch raises as plain `RuntimeError`."""
STUCK = re.compile(r"CUDA(?: driver)? error: |cudaError|CUDA_ERROR_|cuDNN error: |device-side assert")
"""In what torch, Numba and CUDA's own bindings say of an error that stays with the process that met it."""
FAILED_DEVICE = re.compile(
    r"CUDA (?:driver |unknown )?error|CUDA out of memory|CUDA driver initialization|No CUDA GPUs|Found no NVIDIA driver"
    r"|Unexpected error from cuda|cuDNN error|CUDA_ERROR_"
)
"""How torch and `cuda.core` begin to tell of a device that fails before it runs anything of the student's."""
ALLOCATOR_MESSAGE = "DefaultCPUAllocator: "
"""In the message of torch's plain `RuntimeError` when the host has no memory left."""
TRIED_BYTES = re.compile(r"tried to allocate (\d+) bytes")
"""In the same message."""
MOST_BYTES = 1e9
"""That a test asks for at once where the answer is a right one, several times over: inputs have a few MB."""


def is_ours(error: BaseException) -> bool:
    """Whether an exception of a test cell is the harness's or the machine's fault and says nothing about the answer.

    An `AssertionError` that the test raised because of such an exception counts as that exception.
    """
    if not isinstance(error, Exception):
        return True  # an interrupt, an exit: no test does that because of an answer
    if isinstance(error, OURS) or _raised_in_harness(error):
        return True
    return is_of_device(error) or any(isinstance(one, MemoryError) for one in _chain(error))


def is_of_device(error: BaseException) -> bool:
    """Whether the GPU failed or had no memory left; the process may meet the error again at every later call."""
    return any(_of_device(one) for one in _chain(error))


def asks_too_much(error: BaseException, taken_bytes: float = 0.0) -> bool:
    """Whether a test that found no memory had asked for more than a right answer makes any test ask for.

    Shapes that fit each other by broadcasting alone come to that: a column of a million numbers minus a row of them.
    So does a list of the numbers of a large array.

    Args:
        error: of the test.
        taken_bytes: the most memory that the test has had: `MemoryUse.taken_bytes`.
    """
    chain = list(_chain(error))
    many = taken_bytes > MOST_BYTES and any(isinstance(one, MemoryError) for one in chain)
    return many or any(_asked_bytes(one) > MOST_BYTES for one in chain)


class MemoryUse:
    """How much memory this process takes from here on."""

    def __init__(self) -> None:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # Linux forgets the most that there has been
        self._before = _status_bytes("VmRSS")

    def taken_bytes(self) -> float:
        """The most that it has had more than at first; 0 where nobody counts."""
        return _status_bytes("VmHWM") - self._before


def _status_bytes(what: str) -> float:
    with contextlib.suppress(OSError):
        found = re.search(rf"^{what}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
        return 1024.0 * int(found[1]) if found else 0.0
    return 0.0


def may_stay(text: str) -> bool:
    """Whether an exception that says this may have left its process with a GPU that it cannot use any more.

    After an illegal access, CUDA gives the same error to every later call; a lack of memory passes.
    """
    return STUCK.search(text) is not None and "out of memory" not in text and "OUT_OF_MEMORY" not in text


def failed_device(text: str) -> bool:
    """Whether an exception that says this tells of a GPU that cannot be used, or has no memory left."""
    return FAILED_DEVICE.match(text) is not None


def _raised_in_harness(error: Exception) -> bool:
    """Whether the harness's own code raised it, not the test cell or what that called."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    name = str(trace.tb_frame.f_globals.get("__name__", "")) if trace is not None else ""
    return any(name == package or name.startswith(f"{package}.") for package in HARNESS)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception, and those in whose handling it was raised."""
    seen: list[BaseException] = []
    while error is not None and not any(error is one for one in seen):
        seen.append(error)
        yield error
        error = error.__cause__ or error.__context__


def _asked_bytes(error: BaseException) -> float:
    """How much memory an exception says that there was not; 0 if it does not say."""
    if isinstance(error, MemoryError) and hasattr(error, "shape") and hasattr(error, "dtype"):  # NumPy's own kind
        return float(math.prod(error.shape) * error.dtype.itemsize)
    tried = TRIED_BYTES.search(str(error)) if isinstance(error, RuntimeError) else None
    return float(tried[1]) if tried else 0.0


def _of_device(error: BaseException) -> bool:
    for module, names in DEVICE_CLASSES.items():
        # Not imported here: an exception of a module that nobody has imported cannot be raised.
        loaded = sys.modules.get(module)
        if any(isinstance(error, getattr(loaded, name)) for name in names if hasattr(loaded, name)):
            return True
    if type(error) is RuntimeError and (str(error).startswith(DEVICE_MESSAGES) or ALLOCATOR_MESSAGE in str(error)):
        return True
    return _initializing_cuda(error)


def _initializing_cuda(error: BaseException) -> bool:
    """Whether torch raised it while it set up CUDA: a `RuntimeError` or `AssertionError` of no class of its own."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == "_lazy_init" and frame.f_globals.get("__name__") == "torch.cuda":
            return True
        trace = trace.tb_next
    return False
