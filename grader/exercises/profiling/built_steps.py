"""`bottleneck`, `mfu`, and the GPU: steps that are built to have a known limit, timed and traced on the device."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from gpulab import check
from gpulab.tables import row_of_device
from grader.exercises.confront import Absent, Unusable

ReadingValues = dict[str, Any]
SQUARE, LONG, NARROW = 4096, 8192, 8
"""Sides of the products: SQUARE³ is limited by arithmetic on every GPU, LONG × LONG times NARROW columns by memory:
1,365 and 8 FLOP per byte in float16, where ridges lie at 60 to 500."""
STEP_MS = 20.0
TINY = 400
"""Kernels of one element in the step that waits for launches."""
CLEARLY = 1.2
"""The largest part of a step over the second one, below which the step has no clear limit."""
HALVES = ("bfloat16", "float16")


def take() -> list[ReadingValues]:
    """The four steps: what each was built for, and its summary as `bottleneck` gets it."""
    import torch

    from grader.exercises.on_gpu import median_ms

    def half(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device="cuda", dtype=torch.float16)

    square, long, narrow = half(SQUARE, SQUARE), half(LONG, LONG), half(LONG, NARROW)
    one, large = torch.zeros(1, device="cuda"), torch.zeros(1 << 26, device="cuda")
    product_ms, skinny_ms = median_ms(lambda: square @ square), median_ms(lambda: long @ narrow)
    copy_ms, target = median_ms(lambda: large.clone()), {}
    target["peak_tflops"] = 2 * SQUARE**3 / product_ms / 1e9
    target["bandwidth_gbs"] = 2 * large.nbytes / copy_ms / 1e6
    products, skinny = (max(1, int(STEP_MS / ms)) for ms in (product_ms, skinny_ms))
    arithmetic = {"flops": 2.0 * SQUARE**3, "nbytes": 6.0 * SQUARE**2}
    moving = {"flops": 2.0 * LONG * LONG * NARROW, "nbytes": 2.0 * (LONG * LONG + 2 * LONG * NARROW)}

    def loading() -> None:
        time.sleep(STEP_MS / 1e3)

    def nothing() -> None:
        pass

    built: tuple[tuple[str, Callable[[], None], Callable[[], Any], int, dict[str, float]], ...] = (
        ("input", loading, lambda: square @ square, 1, arithmetic),
        ("launch", nothing, lambda: one.add_(1), TINY, {"flops": 1.0, "nbytes": 8.0}),
        ("compute", nothing, lambda: square @ square, products, arithmetic),
        ("memory", nothing, lambda: long @ narrow, skinny, moving),
    )
    return [
        {"made": made, **_step(wait, call, times), **target, **{key: times * value for key, value in each.items()}}
        for made, wait, call, times, each in built
    ]


def _step(wait: Callable[[], None], call: Callable[[], Any], times: int) -> ReadingValues:
    """Times of one step, by its trace: of all, of its input, and with a kernel at work."""
    import torch
    from torch.profiler import record_function

    from grader.exercises.device_events import traced

    def step() -> None:
        with record_function("the step"):
            with record_function("its input"):
                wait()
            for _ in range(times):
                call()
            torch.cuda.synchronize()

    _, events = traced(step)
    ranges = {one["name"]: one["dur"] / 1e3 for one in events if one.get("cat") == "user_annotation"}
    return {
        "step_ms": ranges["the step"],
        "input_ms": ranges["its input"],
        "communication_ms": 0.0,
        "kernel_ms": busy_us(events) / 1e3,
    }


def check_bottleneck(answer: Any, readings: Sequence[ReadingValues]) -> None:
    """Passes if the answer names what each step was built for.

    Raises:
        WrongAnswer: it does not.
        Unusable: a step turned out otherwise than it was built.
    """
    for one in readings:
        summary = {key: value for key, value in one.items() if key != "made"}
        parts = {"input": one["input_ms"], "kernel": one["kernel_ms"]}
        parts["launch"] = one["step_ms"] - sum(parts.values())
        largest = one["made"] if one["made"] in parts else "kernel"
        second = max(ms for name, ms in parts.items() if name != largest)
        ridge, intensity = 1e3 * one["peak_tflops"] / one["bandwidth_gbs"], one["flops"] / one["nbytes"]
        roof = "compute" if intensity > ridge else "memory"
        clear = parts[largest] > CLEARLY * second and min(parts.values()) >= 0
        if not clear or (largest == "kernel" and roof != one["made"]):
            raise Unusable(f"a step built for {one['made']} came to {parts}, {intensity:.3g} FLOP/byte of {ridge:.3g}")
        told = ", ".join(f"{name} {ms:.3g} ms" for name, ms in parts.items())
        what = f"a step on this GPU ({told}; {intensity:.3g} FLOP/byte, ridge at {ridge:.3g})"
        check.equal(answer(summary), one["made"], what)


def busy_us(events: Sequence[dict[str, Any]]) -> float:
    """Time in which at least one kernel runs, µs."""
    busy, until = 0.0, -math.inf
    kernels = [one for one in events if one["ph"] == "X" and one["cat"] == "kernel"]
    for one in sorted(kernels, key=lambda one: one["ts"]):
        stop = one["ts"] + one["dur"]
        busy += max(0.0, stop - max(one["ts"], until))
        until = max(until, stop)
    return busy


# --------------------------------------------------------------------------------------------------------------- mfu


def row_of(device: str) -> dict[str, Any]:
    """The row of `data/gpus.csv` for a device, by the words of its name.

    Raises:
        Absent: there is none.
    """
    row = row_of_device(device)
    if row is None:
        raise Absent(f"data/gpus.csv has no row for {device}")
    return row


def take_products() -> ReadingValues:
    """The time of some matrix products, of the 16-bit type that the card's datasheet gives a peak for."""
    import torch

    from grader.exercises.on_gpu import median_ms

    row = row_of(torch.cuda.get_device_name())
    dtype = next((name for name in HALVES if row.get(f"{name}_tflops")), None)
    if dtype is None:
        raise Absent(f"the datasheet of {row['gpu']} gives no peak for 16-bit types")
    x = torch.randn(SQUARE, SQUARE, device="cuda", dtype=getattr(torch, dtype))

    def step() -> None:
        for _ in range(4):
            x @ x

    return {"gpu": row, "dtype": dtype, "step_ms": median_ms(step), "flops": 4 * 2.0 * SQUARE**3}


def check_mfu(answer: Any, readings: ReadingValues) -> None:
    """Passes if the answer is the measured rate over the card's dense peak.

    Raises:
        WrongAnswer: it is not.
        Unusable: the rate is above the peak, or a twentieth of it.
    """
    gpu, dtype = readings["gpu"], readings["dtype"]
    peak, ms = gpu[f"{dtype}_tflops"], readings["step_ms"]
    right = readings["flops"] / ms / peak / 1e9
    if not 0.05 < right < 1.1:
        raise Unusable(f"matrix products at {right:.2g} of the peak of a {gpu['gpu']}")
    what = f"{readings['flops']:.4g} FLOPs that took {ms:.4g} ms on this GPU, {dtype}, {peak:g} TFLOPS dense"
    check.close(answer(ms, readings["flops"], gpu, dtype), right, what, rtol=1e-6)
