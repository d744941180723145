"""The GPU on which the visible half of `copy_bandwidth`'s test measures: the rate of its copies is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpulab.virtual_gpu.practice import HOST, SLOW, PracticeGPU

COPIED = 3.7e8
"""Bytes that are copied per second, each of them read and written: so few that a small copy takes milliseconds."""
UNITS = (
    (0.5, "That counts one direction: every byte is read and written."),
    (0.25, "Were four times as many bytes copied? A torch.uint8 has one byte."),
    (1e3, "That looks like MB/s: a GB is 1000 MB."),
    (1e-3, "A thousand times too small: is a time in milliseconds taken for seconds, or is it in TB/s?"),
    (1e9, "That looks like bytes per second: a GB is 1e9 bytes."),
    (1e9 / 2**30, "That looks like GiB (2^30 bytes): a GB is 1e9 bytes."),
    (8.0, "That looks like bits: GB/s counts bytes."),
)


class CopyGPU(PracticeGPU):
    """`faster` multiplies its rate."""

    def __init__(self, faster: float = 1.0) -> None:
        super().__init__({"copy": faster * COPIED}, "copy", making=(*HOST, "alloc", "touch"))

    def require(self, answer: Any, nbytes: int) -> None:
        """Passes if the answer is this GPU's bandwidth, read and written.

        Raises:
            AssertionError: it is not; the message names the mistake that it looks like.
        """
        right = 2 * self.rates["copy"] / 1e9
        what = f"copy_bandwidth({nbytes}) on a simulated GPU, in GB/s"
        absent = "No copy within the memory of gpulab.device() was seen: was it measured? Is device() called inside?"
        absent += " Are both the source and the target on that device?"
        self.require_rate(answer, right, "copy", nbytes, what, absent, self._hints(nbytes, right))

    def _hints(self, nbytes: int, right: float) -> Iterator[tuple[float, str]]:
        yield from ((factor * right, words) for factor, words in UNITS)
        yield 1 / right, "Upside down: divide the bytes by the seconds."
        yield right / SLOW, "That is as slow as the slowest run: warm up first, and take the median of all."
        yield from ((nbytes / self.rates["copy"] * unit, "That is a time, not a rate.") for unit in (1.0, 1e3, 1e6))
