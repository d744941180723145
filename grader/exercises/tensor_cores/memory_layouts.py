"""Where this GPU's memory has rows and elements: padding, alignment, strides, and what a kernel's name says of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

from gpulab import check
from grader.exercises.confront import Unusable

# ------------------------------------------------------------------------------------------------------------- align

WIDTHS = (1, 17, 60, 127, 128, 129, 250, 256, 500, 511, 512, 513, 1000, 2040, 2055, 2056, 4096, 50257)
"""Elements of a row that the driver is asked to pad."""
SIZES = (1020, 1022, 1023, 1024, 1025, 1028, 1032)
"""Of square products in 16 bits whose kernels' names are read."""


def padded_rows() -> dict[str, Any]:
    """The driver's pitch of rows of various widths, and how many elements the kernels of some products load at once."""
    import torch

    half = torch.bfloat16 if torch.cuda.get_device_capability() >= (8, 0) else torch.float16
    factors = {n: torch.ones(n, n, device="cuda", dtype=half) for n in SIZES}
    named = {n: kernels_of(lambda n=n: torch.mm(factors[n], factors[n])) for n in SIZES}  # type: ignore[misc]
    rows = [[n, size, pitch(n * size)] for n in WIDTHS for size in (1, 2, 4)]
    loads = [[n, at_once(name), name] for n, names in named.items() for name in names if at_once(name)]
    return {"rows": rows, "loads": loads}


def pitch(width: int) -> int:
    """Bytes from row to row when the driver lays out two rows of this many bytes."""
    import torch
    from cuda.bindings import driver

    torch.cuda.synchronize()
    error, address, found = driver.cuMemAllocPitch(width, 2, 16)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"cuMemAllocPitch({width}) says {error.name}")
    driver.cuMemFree(address)
    return int(found)


def kernels_of(work: Callable[[], Any]) -> list[str]:
    """Names of the kernels that a call launches, by torch's profiler; empty where it may not look."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    work()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recording:
        work()
        torch.cuda.synchronize()
    found = [one for one in recording.events() or [] if one.device_type.name == "CUDA"]
    return [one.name for one in found if not one.name.startswith(("Memcpy", "Memset"))]


def at_once(kernel: str) -> int:
    """Elements that a kernel may load at once, by its name; 0 where the name does not say."""
    found = re.search(r"_align(\d+)", kernel)
    return int(found[1]) if found else 0


def check_align(answer: Any, readings: Any) -> None:
    """`align` pads as the driver does, and leaves a row as it is that a kernel loads by so many elements at once."""
    alignment = min(found for *_, found in readings["rows"])
    if alignment < 16 or alignment & (alignment - 1):
        raise Unusable(f"the smallest pitch is {alignment} bytes, no power of two")
    if any(n * size > found or found % alignment for n, size, found in readings["rows"]):
        raise Unusable("a pitch is shorter than its row, or no multiple of the smallest one")
    # A driver may pad further, to spread rows over memory channels: such a row says nothing about rounding up.
    rows = [(n, size, found) for n, size, found in readings["rows"] if found - n * size < alignment]
    if len(rows) < len(readings["rows"]) / 2:
        raise Unusable(f"the driver pads most rows by more than {alignment} bytes")
    for n, size, found in rows:
        what = f"align({n}, {size}, {alignment}), where this GPU's driver gives such a row {found} bytes"
        check.equal(answer(n, size, alignment), found // size, what)
    for n, together, name in readings["loads"]:
        what = f"align({n}, 2, {2 * together}), where this GPU's kernel {name} loads {together} elements at once"
        check.equal(answer(n, 2, 2 * together), n, what)


# ----------------------------------------------------------------------------------------------------------- strides

SHAPES = ((2, 3, 4, 5), (3, 7, 2, 6), (2, 16, 9, 4), (5, 2, 3, 8))


def places_in_memory(device: str = "cuda") -> list[dict[str, Any]]:
    """How far apart in the device's memory two neighbors along each dimension of a tensor are."""
    import torch

    found = []
    for shape, layout in itertools.product(SHAPES, ("NCHW", "NHWC")):
        kind = torch.channels_last if layout == "NHWC" else torch.contiguous_format
        count = torch.Size(shape).numel()
        numbered = torch.arange(count, dtype=torch.float32, device=device).reshape(shape).contiguous(memory_format=kind)
        memory = torch.empty(0, dtype=torch.float32, device=device).set_(numbered.untyped_storage()).tolist()
        first = memory.index(float(numbered[0, 0, 0, 0]))
        neighbors = (float(numbered[tuple(int(at == axis) for at in range(4))]) for axis in range(4))
        steps = [memory.index(one) - first for one in neighbors]
        found.append({"shape": list(shape), "layout": layout, "steps": steps})
    return found


def check_strides(answer: Any, readings: Any) -> None:
    """`strides` is how far apart neighbors are in the GPU's memory."""
    for one in readings:
        shape, steps = tuple(one["shape"]), one["steps"]
        if sorted(steps)[0] != 1 or any(not 0 < step < shape[0] * shape[1] * shape[2] * shape[3] for step in steps):
            raise Unusable(f"neighbors of a tensor of {shape} are {steps} elements apart")
        what = f"strides({shape}, {one['layout']!r}), where this GPU's memory has neighbors {steps} elements apart"
        check.equal(answer(shape, one["layout"]), tuple(steps), what)


# ------------------------------------------------------------------------------------------------------------ review


def _linear(first: int, last: int) -> dict[str, Any]:
    return {"kind": "linear", "in_features": first, "out_features": last}


def _conv(first: int, last: int) -> dict[str, Any]:
    return {"kind": "conv", "in_channels": first, "out_channels": last}


RELU, GELU, TANH, SIGMOID = ({"kind": kind} for kind in ("relu", "gelu", "tanh", "sigmoid"))
NETWORKS: Sequence[tuple[list[dict[str, Any]], int, str]] = (
    ([_linear(40, 64), RELU, _linear(64, 30), TANH, _linear(30, 24), _linear(24, 17)], 24, "float16"),
    ([_conv(3, 16), GELU, _conv(16, 24), _conv(24, 20), _linear(20, 40)], 32, "bfloat16"),
    ([_linear(24, 16), SIGMOID, _linear(16, 40), GELU, _linear(40, 48), RELU, _linear(48, 56)], 16, "int8"),
)
"""Layers, batch, type. The images of the second are of one pixel, so that a linear layer can follow."""


def laid_out(device: str = "cuda") -> dict[str, Any]:
    """Networks on the device: rows that begin off 16 bytes, how far two layers are from one, kernels of activations."""
    networks = [
        {"layers": layers, "batch": batch, "dtype": dtype, "rows": rows_off(layers, batch, dtype, device),
         "bend": bends(layers, device)}
        for layers, batch, dtype in NETWORKS
    ]  # fmt: skip
    return {"networks": networks, "fused": fused() if device == "cuda" else {}}


def rows_off(layers: Sequence[dict[str, Any]], batch: int, dtype: str, device: str) -> list[list[Any]]:
    """[place, "in" or "out", rows whose address is no multiple of 16 bytes, rows] of each layer with sizes.

    `in` are the rows of its weights (a convolution's, one per pixel of its kernels), `out` those of its result.
    """
    import torch

    found = []
    for place, layer in enumerate(layers):
        if len(layer) > 1:
            first, last = list(layer.values())[1:]
            for code, rows, length in (("in", last, first), ("out", batch, last)):
                matrix = torch.empty(rows, length, dtype=getattr(torch, dtype), device=device)
                off = sum(matrix[row].data_ptr() % 16 > 0 for row in range(rows))
                found.append([place, code, off, rows])
    return found


def bends(layers: Sequence[dict[str, Any]], device: str) -> list[list[Any]]:
    """[place, how far from additive] of each layer with sizes together with what follows it, up to the next such layer.

    f(x + y) + f(0) − f(x) − f(y) is 0 where two layers are one layer in two steps; in float64, up to 1e-12. A
    convolution of one pixel is a linear layer.
    """
    import torch
    from torch import nn

    torch.manual_seed(5)
    kinds = {"relu": nn.ReLU, "gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}
    made = [nn.Linear(*list(one.values())[1:]) if len(one) > 1 else kinds[one["kind"]]() for one in layers]
    sized = [place for place, one in enumerate(layers) if len(one) > 1]
    found = []
    for place, then in itertools.pairwise(sized):
        part = nn.Sequential(*made[place : then + 1]).to(device, torch.float64)
        x, y = torch.randn(2, 64, made[place].in_features, dtype=torch.float64).mul(4).to(device)
        with torch.no_grad():
            off = part(x + y) + part(torch.zeros_like(x)) - part(x) - part(y)
            found.append([place, float(off.norm() / part(x).norm())])
    return found


def fused() -> dict[str, int]:
    """Kernels that torch launches for a linear layer and an activation, where it has a call for both at once."""
    import torch

    x, weight = (torch.randn(4096, 1024, device="cuda").half() for _ in range(2))
    bias = torch.zeros(4096, device="cuda").half()
    calls = {"relu": False, "gelu": True}
    return {
        kind: len(kernels_of(lambda gelu=gelu: torch._addmm_activation(bias, x, weight.T, use_gelu=gelu)))  # type: ignore[misc]
        for kind, gelu in calls.items()
    }


def check_review(answer: Any, readings: Any) -> None:
    """`review` reports widths whose rows begin off 16 bytes, two layers that are one, no activation that is fused."""
    for one in readings["networks"]:
        layers, batch, dtype = one["layers"], one["batch"], one["dtype"]
        if any(0.01 > off > 1e-9 or off != off for _, off in one["bend"]):
            raise Unusable(f"layers are neither one nor two: {one['bend']}")
        if any(0 < off < rows / 8 for *_, off, rows in one["rows"]):
            raise Unusable(f"rows of one length begin off 16 bytes now and then only: {one['rows']}")
        right = {(place, code) for place, code, off, _ in one["rows"] if off}
        right |= {(place, "no_activation") for place, off in one["bend"] if off <= 1e-9}
        told = {tuple(pair) for pair in answer([dict(layer) for layer in layers], batch, dtype)}
        sizes = [" → ".join(map(str, (layer["kind"], *list(layer.values())[1:]))) for layer in layers]
        what = f"review of {', '.join(sizes)} in {dtype}, of which this GPU's memory and results say"
        shown = sorted(pair for pair in told if pair[1] in ("in", "out", "no_activation"))
        check.equal(shown, sorted(right), f"{what} {sorted(right)}")
        for place, layer in enumerate(layers):
            if readings["fused"].get(layer["kind"]) == 1:
                found = (place, "math_heavy") in told
                check.equal(found, False, f"{what} that {layer['kind']} costs no kernel: is it reported as math-heavy")
