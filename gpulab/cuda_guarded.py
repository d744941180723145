"""One launch of a CUDA C++ kernel on the GPU with bytes around every array that must not change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GUARD_BYTES = 4096
_GUARD = 0x3D
"""As a float32 0.05, which adding anything to changes; a large number would swallow small ones."""
NO_GUARD = "Is there a guard, if (i < n)?"


class GuardError(Exception):
    """A kernel wrote outside its arrays."""


class BrokenContextError(Exception):
    """A kernel failed in a way that ends the GPU's context: nothing more runs on the GPU in this process."""


def launch_guarded(
    kernel: Any, name: str, grid: Any, block: Any, arguments: Sequence[Any], shared_bytes: int, longest_s: float
) -> list[NDArray[Any]]:
    """Copies arrays to the GPU, launches, waits, and copies them back.

    Args:
        kernel: as `cuda.core` loads it.
        name: of it.
        grid: blocks, x, y, z.
        block: threads of a block, x, y, z.
        arguments: arrays, NumPy scalars, Python ints and floats (as C's `int`, `float`).
        shared_bytes: dynamic shared memory of a block.
        longest_s: that it may run.

    Returns:
        The arrays among the arguments, as the kernel left them; the originals are unchanged.

    Raises:
        GuardError: it wrote outside an array.
        BrokenContextError: it touched memory that is not there, or did not return.
    """
    import torch
    from cuda.core import Device, LaunchConfig, launch

    device = Device(torch.cuda.current_device())
    device.set_current()
    buffers = [_Guarded(argument) if isinstance(argument, np.ndarray) else None for argument in arguments]
    passed = [
        buffer.address if buffer else c_scalar(argument) for buffer, argument in zip(buffers, arguments, strict=True)
    ]
    try:
        # The default stream is torch's, too, so that torch can see the kernel end.
        launch(device.default_stream, LaunchConfig(grid=grid, block=block, shmem_size=shared_bytes), kernel, *passed)
        _wait(torch.cuda.Event(), longest_s)  # type: ignore[no-untyped-call] # torch leaves it untyped
        return [buffer.result(f"argument {place}") for place, buffer in enumerate(buffers) if buffer]
    except GuardError:
        raise
    except Exception as error:
        raise BrokenContextError(
            f"'{name}' failed on the GPU: {error}. It touched memory that is not there, or does not end. Nothing more "
            "runs on the GPU in this process: restart the notebook's kernel."
        ) from error


def _wait(event: Any, longest_s: float) -> None:
    """Waits for all that was launched so far; a synchronization would never come back from an endless kernel.

    Args:
        event: a new one of torch's.
        longest_s: how long.

    Raises:
        TimeoutError: it takes longer.
    """
    event.record()
    ends_s = time.monotonic() + longest_s
    while not event.query():
        if time.monotonic() > ends_s:
            raise TimeoutError(f"it did not end within {longest_s:g} s")
        time.sleep(0.0005)


class _Guarded:
    """A device copy of an array, with bytes around it that must not change."""

    def __init__(self, array: NDArray[Any]) -> None:
        import torch

        self._host = np.ascontiguousarray(array)
        self._memory = torch.full((self._host.nbytes + 2 * _GUARD_BYTES,), _GUARD, dtype=torch.uint8, device="cuda")
        data = torch.from_numpy(self._host.reshape(-1).view(np.uint8).copy())
        self._memory[_GUARD_BYTES : _GUARD_BYTES + self._host.nbytes] = data.cuda()
        self.address = int(self._memory.data_ptr()) + _GUARD_BYTES
        torch.cuda.synchronize()

    def result(self, what: str) -> NDArray[Any]:
        """The array as it is now.

        Raises:
            GuardError: something else was written as well.
        """
        memory = self._memory.cpu().numpy()
        end = _GUARD_BYTES + self._host.nbytes
        for where, guard in (("before", memory[:_GUARD_BYTES]), ("after", memory[end:])):
            changed = np.flatnonzero(guard != _GUARD)
            if len(changed):
                bytes_changed = f"{len(changed)} bytes {where} {what} have changed"
                raise GuardError(f"The kernel wrote outside its array: {bytes_changed}. {NO_GUARD}")
        return memory[_GUARD_BYTES:end].copy().view(self._host.dtype).reshape(self._host.shape)


def c_scalar(value: Any) -> Any:
    """Python's numbers as C's `int` and `float`; NumPy's scalars bring their own width."""
    if isinstance(value, np.generic):
        return value
    return np.int32(value) if isinstance(value, (bool, int)) else np.float32(value)
