"""The GPU on which the visible half of `transfer_bandwidth`'s test measures: the four rates of its link are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpulab.virtual_gpu.practice import HOST, PracticeGPU

RATES_GBS = {"h2d pinned": 25.7, "h2d pageable": 10.0, "d2h pinned": 22.1, "d2h pageable": 8.5}
"""About those of an A100 on PCIe 4; all different, so that a mistake shows which way was taken."""
UNITS = (
    (2.0, "Each byte crosses once: is it counted twice?"),
    (0.25, "A quarter: are elements of four bytes each counted, not bytes?"),
    (1e9, "That looks like bytes per second: a GB is 1e9 bytes."),
    (1e3, "That looks like MB/s: a GB is 1000 MB."),
    (1e-3, "A thousand times too small: is a time in milliseconds taken for seconds? elapsed_time gives milliseconds."),
    (1e9 / 2**30, "That looks like GiB (2^30 bytes): a GB is 1e9 bytes."),
    (8.0, "That looks like bits: GB/s counts bytes."),
)


class TransferGPU(PracticeGPU):
    """`faster` multiplies every rate of the link."""

    def __init__(self, faster: float = 1.0) -> None:
        rates = {way: faster * rate * 1e9 for way, rate in RATES_GBS.items()}
        super().__init__(rates, "transfer", making=(*HOST, "alloc"))

    def require(self, answer: Any, nbytes: int, pinned: bool, direction: str) -> None:
        """Passes if the answer is this GPU's rate.

        Raises:
            AssertionError: it is not; the message names the mistake that it looks like.
        """
        way = f"{direction} {'pinned' if pinned else 'pageable'}"
        what = f"transfer_bandwidth({nbytes}, {pinned}, {direction!r}) on a simulated GPU, in GB/s"
        absent = "No such transfer was seen there: was it measured, from the host's memory to gpulab.device() or back?"
        self.require_rate(answer, self.rates[way] / 1e9, way, nbytes, what, absent, self._hints(nbytes, way))

    def _of_other_size(self, kind: str, amount: float) -> str:
        sizes = set(self.amounts[kind])
        if not sizes or amount in sizes:
            return ""
        share = max(sizes) / amount
        elements = f" Are there nbytes elements of {share:g} bytes each?" if share in (2, 4, 8) else ""
        return f"The largest transfer had {max(sizes):,.0f} bytes, expected {amount:,.0f}.{elements}"

    def _hints(self, nbytes: int, way: str) -> Iterator[tuple[float, str]]:
        right, seconds = self.rates[way] / 1e9, nbytes / self.rates[way]
        yield from ((factor * right, words) for factor, words in UNITS)
        yield 1 / right, "That looks like seconds per GB: divide the bytes by the time."
        yield from ((seconds * unit, "That looks like a time, not a rate.") for unit in (1.0, 1e3, 1e6))
        for other, rate in self.rates.items():
            if other != way:
                slip = "was pageable memory pinned?" if "pageable" in way else "is nothing pinned?"
                if way == "d2h pinned":
                    slip = "was the target pinned? .cpu() and .to() make a new tensor, which is not pinned."
                slip = slip if other[:3] == way[:3] else "is it the wrong direction?"
                yield rate / 1e9, f"That is the rate of {other}: {slip}"
