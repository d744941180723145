"""What the second half of the tensor-core chapter models and measures: rounding errors, tiles, padding, layouts, matmul
rates.

Drawing is in `rates_pictures`. Answers to the exercises are not here: where one is needed, the student's function is
passed in.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gpulab.chapters.tensor_cores.clock import in_turns
from gpulab.measuring import machine
from gpulab.measuring.devices import device, device_name, has_gpu
from gpulab.measuring.once import once
from gpulab.measuring.timing import Timing, measure
from gpulab.tables import gpu_row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

TILE = (256, 128)
"""Rows and columns that a thread block of cuBLAS often takes on Ampere and later (NVIDIA, "Matrix Multiplication
Background User's Guide": 256×128 is its most efficient tile)."""

VOCABULARY = 50257
"""Tokens of GPT-2: outputs of its last linear layer."""

STAIRCASE: Sequence[int] = range(256, 8193, 128)
"""Rows of the products whose efficiency is drawn."""

SIZES = {"cuda": 8192, "cpu": 512}
"""Rows of the matrices whose product is timed."""


@dataclass(frozen=True)
class Accumulation:
    """How far sums of products are from the truth, by the number of terms."""

    short: dict[int, float]
    """Median relative error when the running sum is a float16."""
    student: dict[int, float]
    """The same for the student's `mma`."""


@dataclass(frozen=True)
class Staircase:
    """Square products of growing size: what part of the peak tiles and waves leave, and what was measured."""

    gpu: str
    sm_count: int
    model: dict[int, float]
    """Rows → tile efficiency × wave efficiency."""
    measured_tflops: dict[int, float]
    """Rows → TFLOPS in bfloat16; empty without a GPU."""


def bits(value: float) -> str:
    """The 32 bits of a float32: sign, exponent, mantissa; a bar where TF32 (10 bits) and BF16 (7 bits) end."""
    (pattern,) = struct.unpack(">I", struct.pack(">f", value))
    text = f"{pattern:032b}"
    return f"{text[0]} {text[1:9]} {text[9:16]}|{text[16:19]}|{text[19:]}"


def accumulation(mma: Callable[[Any, Any, Any], Any], longest: int = 1 << 14) -> Accumulation:
    """Errors of dot products of numbers between 0 and 1, with a float16 sum and with the student's `mma`.

    Args:
        mma: the student's, (8, k) by (k, 8) plus (8, 8).
        longest: the largest k.
    """
    import numpy as np

    draw = np.random.default_rng(7)
    short, student = {}, {}
    k = 16
    while k <= longest:
        a, b = draw.random((8, k)).astype(np.float16), draw.random((k, 8)).astype(np.float16)
        c = np.zeros((8, 8), np.float32)
        truth = a.astype(np.float64) @ b.astype(np.float64)
        running = c.astype(np.float16)
        for at in range(k):  # the product is exact, each sum is rounded to float16
            running = (running + np.outer(a[:, at], b[at]).astype(np.float32)).astype(np.float16)
        short[k] = float(np.median(abs(running - truth) / truth))
        student[k] = float(np.median(abs(np.asarray(mma(a, b, c), np.float64) - truth) / truth))
        k *= 4
    return Accumulation(short, student)


def product_errors(
    to_tf32: Callable[[Floats], Any], to_bf16: Callable[[Floats], Any], size: int = 256
) -> dict[str, float]:
    """Relative error of a product of random matrices whose elements were rounded first; sums in float32.

    Returns:
        Type → Frobenius norm of the error over that of the true product.
    """
    import numpy as np

    draw = np.random.default_rng(7)
    left, right = (draw.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    truth = left.astype(np.float64) @ right.astype(np.float64)
    rounded: dict[str, Callable[[Floats], Any]] = {
        "float32": np.asarray,
        "tfloat32": to_tf32,
        "float16": lambda x: x.astype(np.float16).astype(np.float32),
        "bfloat16": to_bf16,
    }
    errors = {}
    for name, function in rounded.items():
        product = np.asarray(function(left), np.float32) @ np.asarray(function(right), np.float32)
        errors[name] = float(np.linalg.norm(product - truth) / np.linalg.norm(truth))
    return errors


def agreement(to_bf16: Callable[[Floats], Any], count: int = 1_000_000) -> int:
    """Of `count` random bit patterns read as float32, how many the student's function rounds as torch does."""
    import numpy as np
    import torch

    patterns = np.random.default_rng(7).integers(0, 1 << 32, count, dtype=np.uint32)
    x = patterns.view(np.float32)
    theirs = torch.from_numpy(x.copy()).bfloat16().float().numpy()
    mine = np.asarray(to_bf16(x.copy()), np.float32)
    same = (mine.view(np.uint32) == theirs.view(np.uint32)) | (np.isnan(mine) & np.isnan(theirs))
    return int(same.sum())


def smallest_batches(
    smallest_batch: Callable[[int, int, dict[str, Any], str], int | None],
    gpus: Sequence[str] = ("T4", "A100 80GB", "H100", "H200"),
    widths: Sequence[int] = (128, 256, 512, 768, 1024, 2048, 4096, 8192, 16384),
) -> dict[str, dict[int, int | None]]:
    """The student's smallest batch for square layers in float16: GPU → width → batch, None where none is enough."""
    rows = {gpu: gpu_row(gpu) for gpu in gpus}
    return {
        gpu: {width: smallest_batch(width, width, dict(row), "float16") for width in widths}
        for gpu, row in rows.items()
    }


def staircase(quantization: Callable[[int, int, int, int, int], dict[str, Any]]) -> Staircase:
    """Tile efficiency × wave efficiency of square products by the student's function, and measured rates on a GPU.

    Without a GPU the model is drawn for an H200.
    """
    sms, name = int(gpu_row("H200")["sm_count"]), "H200"
    measured: dict[int, float] = {}
    if has_gpu():
        import torch

        sms, name = torch.cuda.get_device_properties(0).multi_processor_count, device_name()
        measured = _measured_staircase()
    model = {}
    for size in STAIRCASE:
        found = quantization(size, size, *TILE, sms)
        model[size] = float(found["tile_efficiency"] * found["wave_efficiency"])
    return Staircase(name, sms, model, measured)


@once
def _measured_staircase() -> dict[int, float]:
    """TFLOPS of square products in bfloat16 on the GPU, by their rows."""
    import torch

    generator = torch.Generator(device="cuda").manual_seed(7)
    found = {}
    for size in STAIRCASE:
        pair = (torch.randn(size, size, device="cuda", generator=generator).bfloat16() for _ in range(2))
        found[size] = 2 * size**3 / (measure(torch.mm, *pair, runs=5, at_most_s=1.0).median_ms * 1e9)
    return found


def padding_times(rounds: int = 5) -> dict[str, Timing]:
    """How long x @ weight.T takes with 50257, 50256 and 50304 outputs: GPT-2's last layer, smaller on a CPU."""
    import torch

    where = device()
    tokens, width = (8192, 768) if where.type == "cuda" else (32, 128)
    dtype = torch.bfloat16 if where.type == "cuda" else torch.float32
    generator = torch.Generator(device=where).manual_seed(7)
    x = torch.randn(tokens, width, device=where, generator=generator).to(dtype)
    weight = torch.randn(50304, width, device=where, generator=generator).to(dtype)
    parts = {f"{outputs}": weight[:outputs].clone() for outputs in (VOCABULARY, VOCABULARY - 1, 50304)}
    return in_turns({name: partial(torch.nn.functional.linear, x, part) for name, part in parts.items()}, rounds)


def convolution_times(rounds: int = 7) -> dict[str, Timing]:
    """How long a 3 × 3 convolution takes in both layouts; bfloat16 on a GPU, float32 on a CPU."""
    import torch

    where = device()
    count, channels, size = (64, 256, 56) if where.type == "cuda" else (4, 64, 32)
    dtype = torch.bfloat16 if where.type == "cuda" else torch.float32
    generator = torch.Generator(device=where).manual_seed(7)
    images = torch.randn(count, channels, size, size, device=where, generator=generator).to(dtype)
    kernel = torch.randn(channels, channels, 3, 3, device=where, generator=generator).to(dtype)
    convolve: dict[str, Callable[[], Any]] = {}
    for name, layout in (("NCHW", torch.contiguous_format), ("NHWC", torch.channels_last)):
        pair = images.to(memory_format=layout), kernel.to(memory_format=layout)
        convolve[name] = partial(torch.nn.functional.conv2d, *pair, padding=1)
    with torch.inference_mode():
        return in_turns(convolve, rounds)


@once
def rates() -> dict[str, float]:
    """TFLOPS of a square product by type, measured on this device.

    On a GPU the machine's ceilings, 8192 × 8192, with TF32 where it has that. On a CPU 512 × 512, and 256 × 256 in
    float16, for which few have a unit.
    """
    import torch

    if has_gpu():
        ceilings = machine.ceilings().matmul_gflops
        return {name: rate / 1e3 for name, rate in ceilings.items() if name != "float64"}
    found = {}
    for name, size, runs in (
        ("float32", SIZES["cpu"], 9),
        ("bfloat16", SIZES["cpu"], 9),
        ("float16", SIZES["cpu"] // 2, 3),
    ):
        generator = torch.Generator().manual_seed(7)
        pair = (torch.randn(size, size, generator=generator).to(getattr(torch, name)) for _ in range(2))
        timing = measure(torch.mm, *pair, runs=runs, on="cpu", at_most_s=1.0)
        found[name] = 2 * size**3 / (timing.median_ms * 1e9)
    return found


def zeros_over_random(rounds: int = 5) -> float:
    """How many times as fast a product of zeros runs as one of random numbers: float16 on a GPU, float32 on a CPU."""
    import torch

    where = device()
    dtype, size = (torch.float16 if where.type == "cuda" else torch.float32), SIZES[where.type]
    generator = torch.Generator(device=where).manual_seed(7)
    random = torch.randn(2, size, size, device=where, generator=generator).to(dtype)
    zeros = torch.zeros_like(random)
    timings = in_turns({"random": partial(torch.mm, *random), "zeros": partial(torch.mm, *zeros)}, rounds)
    return timings["random"].median_ms / timings["zeros"].median_ms
