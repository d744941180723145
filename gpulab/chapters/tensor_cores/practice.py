"""What the tests of exercises run products on: a GPU whose rate for every type is known, and a counter of outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpulab.virtual_gpu.practice import HOST, PracticeGPU

RATES = {"float32": 3e8, "bfloat16": 1.9e9, "float16": 1.4e9, "float32 tf32": 1.1e9}
"""FLOPs per second: so few that a small product takes milliseconds, as a large one does on a real GPU."""
CONSTANT = 1.3
"""How many times as fast a product is whose factor has equal elements only."""
UNITS = (
    (0.5, "One FLOP per multiply-add: a multiplication and an addition are 2 FLOPs."),
    (2.0, "Is something counted twice? A multiply-add is 2 FLOPs, and there are n³ of them."),
    (1e3, "That looks like GFLOPS: a TFLOPS is 1000 of them."),
    (1e6, "That looks like MFLOPS: a TFLOPS is 1e12 FLOPs per second."),
    (1e12, "That looks like FLOPS: a TFLOPS is 1e12 FLOPs per second."),
    (1e12 / 2**40, "That is divided by 2^40: a TFLOPS is 1e12 FLOPs per second."),
    (1e-3, "The time is in milliseconds: return FLOPs per second."),
    (
        CONSTANT,
        "Constant data, such as zeros, torch.empty, two values, or numbers in order? These draw less power and run "
        "faster: use torch.randn.",
    ),
)


class MatmulGPU(PracticeGPU):
    """`faster` multiplies every rate."""

    def __init__(self, faster: float = 1.0) -> None:
        rates = {f"matmul {dtype}": faster * rate for dtype, rate in RATES.items()}
        rates |= {f"{kind} constant": CONSTANT * rate for kind, rate in rates.items()}
        super().__init__(rates, "product", making=(*HOST, "touch"), making_gbs=0.1)

    def require(self, answer: Any, n: int, dtype: str) -> None:
        """Passes if the answer is this GPU's rate.

        Raises:
            AssertionError: it is not; the message names the mistake that it looks like.
        """
        kind = f"matmul {dtype}"
        what = f"matmul_tflops({n}, {dtype!r}) on a simulated GPU, in TFLOPS"
        absent = f"No product of {dtype} matrices of that size ran there: did you measure one on device()?"
        self.require_rate(answer, self.rates[kind] / 1e12, kind, 2 * n**3, what, absent, self._hints(n, kind))

    def _hints(self, n: int, kind: str) -> Iterator[tuple[float, str]]:
        right, seconds = self.rates[kind] / 1e12, 2 * n**3 / self.rates[kind]
        yield from ((factor * right, words) for factor, words in UNITS)
        yield right / n, "Too few FLOPs counted: n multiply-adds for each of the n² results."
        size = 4 if kind.startswith("matmul float32") else 2
        yield right * 3 * size / (2 * n), "Those are the bytes of the matrices, not the FLOPs."
        yield 1 / right, "That is upside down: divide the FLOPs by the time."
        yield from ((seconds * unit, "That looks like a time, not a rate.") for unit in (1.0, 1e3, 1e6))
        if kind == "matmul float32":
            yield self.rates["matmul float32 tf32"] / 1e12, "TF32 is on: float32 means all its bits."


class OutputCounter:
    """A machine that notes how large products are; see `gpulab.virtual_gpu.MachineModel`. They may run on the CPU."""

    def __init__(self) -> None:
        self._flops: list[int] = []

    def run(self, operations: list[list[Any]]) -> float:
        """See `gpulab.virtual_gpu.MachineModel`; no operation takes any time."""
        for name, *given in operations:
            if name in ("matmul", "host matmul"):
                self._flops.append(int(given[1 if name == "matmul" else 0]))
        return 0.0

    def require(self, outputs: int, padded: int, multiply_adds: int, what: str) -> None:
        """Passes if there was a product with `padded` outputs.

        Args:
            outputs: before padding.
            padded: afterwards.
            multiply_adds: for each output, of all rows.
            what: the call, in words.

        Raises:
            AssertionError: there was none.
        """
        seen = [flops / (2 * multiply_adds) for flops in self._flops]
        if padded in seen:
            return
        if not seen:
            raise AssertionError(f"{what}: right, but no matrix product of PyTorch's was seen.")
        missing = padded - outputs
        note = f"weight has {outputs} rows, and needs {missing} more before the product."
        if not missing:
            note = "It is a multiple already, and needs no padding."
        raise AssertionError(f"{what}: right, but the product has {max(seen):g} outputs, expected {padded}. {note}")
