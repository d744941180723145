"""How the exercises on inference are checked on the GPU: rounding, int8 products, networks, a server."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab import Problem, check
from gpulab.check.outcomes import WrongAnswer
from grader.exercises.confront import Absent, Confrontation
from grader.exercises.inference import serving

Array = NDArray[Any]
GPU = "the GPU"
TOGETHER = ("max", 99.9), ("percentile", 99.9), ("percentile", 50.0), ("percentile", 75.0)


def rounded(device: str = "cuda") -> list[dict[str, Any]]:
    """Numbers, and the steps that the device's own quantization makes of them, at four scales."""
    import torch

    draw, found = torch.Generator().manual_seed(9), []
    halves = torch.cat([torch.arange(-279, 279) / 2, torch.tensor([3e9, -3e9])])  # and beyond an int32
    for scale in (2.0**-30, 0.0173, 0.125, 4096.0):
        near = torch.randint(-300, 300, (40,), generator=draw) + 0.9 * torch.rand(40, generator=draw) - 0.45
        steps = torch.cat([halves, near]) if np.log2(scale).is_integer() else near  # a half stays a half
        x = (steps * scale).to(device, torch.float32)
        back = torch.fake_quantize_per_tensor_affine(x, scale, 0, -127, 127)
        found.append({"scale": scale, "x": x.tolist(), "steps": (back / scale).round().int().tolist()})
    return found


def check_quantize(quantize: Any, readings: Any) -> None:
    """Every number must become the integer that the GPU made of it."""
    for one in readings:
        x = np.array(one["x"], np.float32).reshape(-1, 5)
        steps = np.array(one["steps"], np.int8 if np.abs(one["steps"]).max() < 128 else np.int64).reshape(-1, 5)
        check.equal(
            quantize(x, one["scale"]), steps, f"quantize: {GPU} rounds {x.size} numbers at scale {one['scale']:.4g}"
        )


def flowed(device: str = "cuda") -> list[dict[str, Any]]:
    """What a convolution on the device gives for three batches, with and without a ReLU, and the limits found there."""
    import torch

    draw, found = torch.Generator().manual_seed(10), []
    kernel = torch.randn(4, 3, 3, 3, generator=draw, dtype=torch.float64).to(device)
    for relu in (False, True):
        images = [
            torch.randn(n, 3, side, side, generator=draw, dtype=torch.float64) ** 3
            for n, side in ((3, 10), (1, 8), (2, 6))
        ]
        flowing = [torch.nn.functional.conv2d(one.to(device), kernel) - 2 for one in images]
        flowing = [one.relu() if relu else -one.abs() if place == 1 else one for place, one in enumerate(flowing)]
        row = torch.cat([one.float().double().flatten() for one in flowing]).abs()
        limits = [
            float(row.max() if method == "max" else torch.quantile(row, share / 100)) for method, share in TOGETHER
        ]
        found.append({"batches": [one.float().tolist() for one in flowing], "limits": limits})
    return found


def check_calibrate(calibrate: Any, readings: Any) -> None:
    """The scale must be a 127th of what the GPU found over all batches."""
    for place, one in enumerate(readings):
        for (method, percentile), limit in zip(TOGETHER, one["limits"], strict=True):
            batches = [np.array(batch, np.float32) for batch in one["batches"]]
            what = f"calibrate, {method}, {percentile}: {GPU} finds a limit of {limit:.6g} in reading {place + 1}"
            check.close(calibrate(batches, method, percentile), limit / 127, what, rtol=1e-4)


def factors() -> list[tuple[Array, Array]]:
    """int8 factors (24, 64) and (64, 64); and (24, 132000) and (8, 132000), whose sums climb to 2**30 and come back."""
    draw = np.random.default_rng(11)
    x, square = (draw.integers(-127, 128, (rows, 64), dtype=np.int8) for rows in (24, 64))
    up, weights = draw.integers(100, 128, (24, 66000)), draw.integers(100, 128, (8, 66000))
    down = np.where(draw.random((8, 66000)) < 0.01, weights - 1, weights)
    return [(x, square), (np.hstack([up, up]).astype(np.int8), np.hstack([weights, -down]).astype(np.int8))]


def summed(device: str = "cuda") -> list[list[list[int]]]:
    """The sums of the device's int8 product with each pair of factors."""
    import torch

    try:
        return [
            torch._int_mm(*(torch.from_numpy(one).to(device) for one in (x, weight.T))).tolist()
            for x, weight in factors()
        ]
    except RuntimeError as error:
        raise Absent(f"an int8 product: {str(error).splitlines()[0]}") from None


def check_int8_linear(int8_linear: Any, readings: Any) -> None:
    """The sums must be those of the GPU, to the last one, then scaled."""
    for (x, weight), sums in zip(factors(), readings, strict=True):
        scales = np.linspace(0.01, 0.09, len(weight)).astype(np.float32)
        expected = (np.array(sums, np.float64) * 0.02 * scales).astype(np.float32)
        what = f"int8_linear: int32 sums of {GPU}'s int8 product of {x.shape} and {weight.shape}, scaled"
        check.close(int8_linear(x, weight, 0.02, scales), expected, what, rtol=2e-6)


def normed(device: str = "cuda") -> list[dict[str, Any]]:
    """Three convolutions with their batch norms, not folded, run on the device in float64."""
    import torch

    draw, found = torch.Generator().manual_seed(12), []
    for out, inside, height, width, eps in ((4, 4, 3, 3, 1e-3), (5, 2, 1, 4, 0.02), (3, 3, 2, 3, 1e-5)):
        weight, bias, mean, gamma, beta = (
            torch.randn(*shape, generator=draw) for shape in ((out, inside, height, width), *[(out,)] * 4)
        )
        given = {"weight": weight, "bias": bias, "mean": mean, "gamma": gamma, "beta": beta}
        given["variance"] = eps * (0.5 + 3.5 * torch.rand(out, generator=draw))
        images = torch.randn(2, inside, 6, 6, generator=draw)
        on = {name: value.double().to(device) for name, value in given.items()}
        flowing = torch.nn.functional.conv2d(images.double().to(device), on["weight"], on["bias"])
        back = torch.nn.functional.batch_norm(flowing, on["mean"], on["variance"], on["gamma"], on["beta"], eps=eps)
        plain = {name: value.tolist() for name, value in given.items()}
        found.append({"given": plain, "eps": eps, "images": images.tolist(), "scores": back.tolist()})
    return found


def check_fold_batchnorm(fold_batchnorm: Any, readings: Any) -> None:
    """The folded convolution must give what convolution and norm gave on the GPU."""
    import torch

    for one in readings:
        given = {name: np.array(value, np.float32) for name, value in one["given"].items()}
        folded = fold_batchnorm(**given, eps=one["eps"])
        weight, bias = (torch.from_numpy(np.array(part, np.float64)) for part in folded)
        shape = given["weight"].shape
        what = f"fold_batchnorm: a convolution {shape} and its norm with eps {one['eps']:g}, as {GPU} runs both"
        check.equal((tuple(weight.shape), tuple(bias.shape)), (shape, shape[:1]), f"{what}: shapes")
        expected = np.array(one["scores"])
        found = torch.nn.functional.conv2d(torch.tensor(one["images"], dtype=torch.float64), weight, bias).numpy()
        check.close(found, expected, what, rtol=1e-4, atol=1e-4 * float(np.abs(expected).max()))


EXPORTED = Problem("cnn", samples=64, seed=13, device="cpu")


def scored(device: str = "cuda") -> list[list[list[float]]]:
    """The scores of PyTorch's network on the device, in float64, for a batch of 1 and one of 7."""
    import torch

    network = EXPORTED.model().eval().double().to(device)
    with torch.no_grad():
        return [network(images.double().to(device)).tolist() for images in pictures()]


def pictures() -> list[Any]:
    """Two batches of images (N, 3, 32, 32)."""
    import torch

    return [torch.randn(size, 3, 32, 32, generator=torch.Generator().manual_seed(size)) for size in (1, 7)]


def check_export_onnx(export_onnx: Any, readings: Any) -> None:
    """The exported file must give the scores that the network has on the GPU."""
    from gpulab.chapters.inference.engine_checks import same_scores, scores
    from gpulab.chapters.inference.engine_files import quiet

    with quiet():
        content = export_onnx(EXPORTED)
    what = "export_onnx, cnn"
    try:
        for found, right in zip(scores(content, pictures(), what), readings, strict=True):
            same_scores(found, np.array(right, np.float32), f"{what}: the scores of {GPU} for {len(found)} pictures")
    except AssertionError as error:
        raise error if isinstance(error, WrongAnswer) else WrongAnswer(str(error)) from None


CONFRONTATIONS = [
    Confrontation(
        "quantize",
        "The integers of 1,840 numbers, including halves and numbers beyond the range, are compared with the results of"
        " `torch.fake_quantize_per_tensor_affine` on the GPU.",
        rounded, check_quantize,
    ),
    Confrontation(
        "calibrate",
        "Scales are compared with a 127th of the maximum, and of percentiles, that the GPU finds in the activations "
        "of a convolution.",
        flowed, check_calibrate,
    ),
    Confrontation(
        "int8_linear",
        "The int32 sums are compared with those of the GPU's own int8 product, `torch._int_mm`, with 132,000 terms "
        "each.",
        summed, check_int8_linear,
    ),
    Confrontation(
        "fold_batchnorm",
        "The folded convolutions are compared with convolution and batch norm, not folded, on the GPU.",
        normed, check_fold_batchnorm,
    ),
    Confrontation(
        "export_onnx",
        "The exported file's scores are compared with those of PyTorch's network on the GPU.",
        scored, check_export_onnx,
    ),
    Confrontation(
        "serve_batches",
        "The batches, and when each starts and ends, are compared with those of a server that ran a network on this "
        "GPU, given the times that it measured by batch size.",
        serving.taken, serving.check_serve_batches,
    ),
]  # fmt: skip

ON_DEVICE: dict[str, tuple[str, str]] = {}

NONE: dict[str, str] = {}
"""`accuracy_cost` has a row of its own."""
