"""What matrix products and copies reach on this GPU: the rates, and the bytes and operations behind them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from gpulab import check
from grader.exercises.confront import Unusable

CUBE = {"float32": 2048, "tfloat32": 4096, "bfloat16": 4096, "float16": 4096}
"""Type → side of the product whose rate stands for the GPU's peak."""
COPIED = 1 << 28
"""Bytes, several times the largest L2 cache (126 MiB on a B200)."""
SHAPES = ((8192, 8192, 256), (4096, 4096, 2048), (16, 8192, 8192), (1024, 4096, 4096))
"""m, n, k of products with large and small results, many rows and few; some 20 µs at least on any GPU."""
LAYERS = ((8192, 2048), (4096, 4096))
"""Inputs, outputs of layers whose batch grows."""
BATCHES = (15, 16, 63, 64, 255, 256, 1023, 1024)
NARROW = (64, 64)
"""A layer that needs no batch: at most 32 FLOP per byte in 16 bits."""
APART = 0.05
"""How far the peak of a made-up GPU is put from the rate that a product reached."""


def rates(device: str = "cuda") -> dict[str, Any]:
    """The rate of a copy, of the best product of each type, and products of several shapes with time and traffic."""
    types = _types(device)
    peaks = {name: _peak(name, device) for name in types}
    products = [multiplied(*shape, name, device) for name in types for shape in SHAPES]
    return {"bandwidth_gbs": copied(device), "peak_tflops": peaks, "products": products}


def batches(device: str = "cuda") -> dict[str, Any]:
    """The same with layers whose batch grows, each by a row where two are compared."""
    kinds = ("float32", _types(device)[-1])
    layers = [
        [multiplied(rows, last, first, kind, device) for rows in BATCHES]
        for kind, (first, last) in itertools.product(kinds, LAYERS)
    ]
    peaks = {kind: _peak(kind, device) for kind in kinds}
    return {"bandwidth_gbs": copied(device), "peak_tflops": peaks, "layers": layers}


def _peak(kind: str, device: str) -> float:
    """TFLOPS of a large cube."""
    side = CUBE[kind]
    return _rate(multiplied(side, side, side, kind, device))


def _types(device: str) -> list[str]:
    """Those that the device has units for; the 16-bit one to train in is the last."""
    import torch

    newer = device == "cpu" or torch.cuda.get_device_capability() >= (8, 0)
    return ["float32", "tfloat32", "bfloat16"] if newer else ["float32", "float16"]


def copied(device: str) -> float:
    """GB/s of a copy in the device's memory: bytes read and bytes written."""
    import torch

    from grader.exercises import on_gpu

    source = torch.ones(COPIED, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * COPIED / on_gpu.median_ms(lambda: target.copy_(source)) / 1e6


def multiplied(m: int, n: int, k: int, kind: str, device: str) -> dict[str, Any]:
    """Time of an (m, k) by (k, n) product of random numbers, its FLOPs as torch counts them, its matrices' bytes."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from grader.exercises import on_gpu

    dtype = torch.float32 if kind == "tfloat32" else getattr(torch, kind)
    left, right = (torch.randn(shape, device=device).to(dtype) for shape in ((m, k), (k, n)))
    with _tf32(kind == "tfloat32"):
        with FlopCounterMode(display=False) as counter:
            result = torch.mm(left, right)
        ms = on_gpu.median_ms(lambda: torch.mm(left, right, out=result))
    moved = left.nbytes + right.nbytes + result.nbytes
    return {"m": m, "n": n, "k": k, "type": kind, "ms": ms, "flops": counter.get_total_flops(), "bytes": moved}


@contextlib.contextmanager
def _tf32(allowed: bool) -> Iterator[None]:
    """Lets float32 products run as TF32, or not, and puts the setting back."""
    import torch

    settings: Any = torch.backends.cuda.matmul
    before, settings.fp32_precision = settings.fp32_precision, "tf32" if allowed else "ieee"
    try:
        yield
    finally:
        settings.fp32_precision = before


def _rate(one: Any) -> float:
    """TFLOPS of a product."""
    return float(one["flops"] / one["ms"] / 1e9)


def _traffic(one: Any) -> float:
    """GB/s of a product, each matrix moved once."""
    return float(one["bytes"] / one["ms"] / 1e6)


def _row(bandwidth: float, kind: str, peak: float) -> dict[str, Any]:
    """A GPU's row with one type: twice the peak with sparsity, a third of it in float32."""
    row = {"gpu": "measured", "bandwidth_gbs": bandwidth, "float32_tflops": peak / 3}
    return row | {f"{kind}_tflops": peak, f"{kind}_sparse_tflops": 2 * peak}


def _require_rates(readings: Any, products: list[Any]) -> None:
    """Passes readings that a GPU can give.

    Raises:
        Unusable: a time or rate of zero, or a product beyond what the best product of its type reached.
    """
    positive = [readings["bandwidth_gbs"], *readings["peak_tflops"].values(), *(one["ms"] for one in products)]
    if not all(0 < value < float("inf") for value in positive):
        raise Unusable("a rate or a time is not above 0")
    for one in products:
        if _rate(one) > 1.5 * readings["peak_tflops"][one["type"]]:
            raise Unusable(f"{_named(one)} ran at {_rate(one):.4g} TFLOPS, 1.5 times the best product's rate")


def _named(one: Any) -> str:
    return f"({one['m']} × {one['k']}) times ({one['k']} × {one['n']}) in {one['type']}"


def _verdict(one: Any, readings: Any) -> bool | None:
    """Whether a product was at the limit of this GPU's arithmetic, not of its memory; None where neither is clear.

    By the two rates alone: a product that reached 60% of one and half of the other at most is on that side of the
    ridge between them, however noisy the times are.
    """
    of_peak = _rate(one) / readings["peak_tflops"][one["type"]]
    of_bandwidth = _traffic(one) / readings["bandwidth_gbs"]
    if of_peak >= 0.6 and of_bandwidth <= 0.5:
        return True
    return False if of_bandwidth >= 0.6 and of_peak <= 0.5 else None


def check_compute_bound(answer: Any, readings: Any) -> None:
    """`is_compute_bound` agrees with products that clearly were, and with each product's own rate and traffic."""
    _require_rates(readings, readings["products"])
    for one in readings["products"]:
        m, n, k, kind = one["m"], one["n"], one["k"], one["type"]
        rate, traffic = _rate(one), _traffic(one)
        told = f"{_named(one)}: this GPU reached {rate:.4g} TFLOPS and moved {traffic:.4g} GB/s"
        verdict = _verdict(one, readings)
        if verdict is not None:
            card = _row(readings["bandwidth_gbs"], kind, readings["peak_tflops"][kind])
            what = f"{told}, of {card[f'{kind}_tflops']:.4g} TFLOPS and {card['bandwidth_gbs']:.4g} GB/s at best"
            check.equal(answer(m, n, k, card, kind), verdict, what)
        for factor in (1 - APART, 1 + APART):
            what = f"{told}; of a GPU with {factor:g} times that rate as its peak and that traffic as its bandwidth"
            check.equal(answer(m, n, k, _row(traffic, kind, factor * rate), kind), factor < 1, what)


def check_smallest_batch(answer: Any, readings: Any) -> None:
    """`smallest_batch` agrees with layers that clearly were compute-bound, or not, and tells two batches apart."""
    _require_rates(readings, [one for layer in readings["layers"] for one in layer])
    for layer in readings["layers"]:
        first, last, kind = layer[0]["k"], layer[0]["n"], layer[0]["type"]
        card = _row(readings["bandwidth_gbs"], kind, readings["peak_tflops"][kind])
        found = answer(first, last, card, kind)
        for one in layer:
            verdict, rows = _verdict(one, readings), one["m"]
            if verdict is not None:
                enough = found is not None and rows >= found
                told = f"this GPU reached {_rate(one):.4g} TFLOPS and moved {_traffic(one):.4g} GB/s with {rows} rows"
                what = f"{first} × {last} in {kind}: {told}; you returned {found}. Are they enough"
                check.equal(enough, verdict, what)
        _between(answer, layer)
    _never(answer, readings)


def _between(answer: Any, layer: list[Any]) -> None:
    """A ridge between the operations per byte of two batches that differ by a row makes the larger one the smallest."""
    for less, more in zip(layer[::2], layer[1::2], strict=True):
        ridge = (less["flops"] / less["bytes"] + more["flops"] / more["bytes"]) / 2
        traffic, kind, rows = _traffic(more), more["type"], more["m"]
        told = f"this GPU moved {more['bytes']} bytes for {more['flops']} FLOPs with {rows} rows"
        what = f"{more['k']} × {more['n']} in {kind}, where the ridge is at {ridge:.6g} FLOP/byte and {told}"
        check.equal(answer(more["k"], more["n"], _row(traffic, kind, traffic * ridge / 1000), kind), rows, what)


def _never(answer: Any, readings: Any) -> None:
    """A layer of 64 × 64 in 16 bits stays below 32 FLOP per byte: never enough where the GPU's ridge is above that."""
    for kind, peak in readings["peak_tflops"].items():
        ridge = 1000 * peak / readings["bandwidth_gbs"]
        if ridge > 34 and kind.endswith("16"):
            what = f"64 × 64 in {kind}, whose limit is 32 FLOP/byte, where this GPU's rates meet at {ridge:.4g}"
            check.equal(answer(*NARROW, _row(readings["bandwidth_gbs"], kind, peak), kind), None, what)
