"""What the first half of the tensor-core chapter models and measures: number formats, sweeps over sizes, networks as
layers.

Drawing is `tensor_cores.diagrams` (hardware) and `tensor_cores.pictures` (figures); the programs to be reviewed are
`tensor_cores.cases`. Answers to the exercises are not here: where one is needed, the student's function is passed in.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpulab.chapters.tensor_cores.clock import in_turns
from gpulab.measuring.devices import device, device_name, has_gpu
from gpulab.measuring.timing import Timing
from gpulab.tables import table

GENERATIONS = ("P100", "V100", "A100 80GB", "H200")
"""Data-center GPUs of 2016 to 2024, one a generation, as named in `data/gpus.csv`."""

NETWORKS = (
    "resnet50",
    "densenet121",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "vit_b_16",
    "efficientnet_b0",
    "shufflenet_v2_x1_0",
)
"""What `reviewed` looks at, as torchvision names them."""

SWEEP_SIZES = {"cuda": range(4088, 4105), "cpu": range(504, 521)}
ELEMENTS = {"cuda": 1 << 26, "cpu": 1 << 20}
"""Of the tensor that activations are applied to: beyond the GPU's L2 cache; a few MB on a CPU."""


@dataclass(frozen=True)
class Format:
    """A floating-point format: a sign, then exponent bits, then mantissa bits."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    finite_only: bool = False
    """Whether the highest exponent holds numbers too, all but the last: `float8_e4m3fn` has no infinity."""

    @property
    def bits(self) -> int:
        """How many bits it has; `tfloat32` has 19, and lies in 32 in memory."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def _bias(self) -> int:
        return int(2 ** (self.exponent_bits - 1) - 1)

    @property
    def largest(self) -> float:
        """The largest finite number."""
        if self.finite_only:
            return float((2 - 2 * 2**-self.mantissa_bits) * 2.0 ** (self._bias + 1))
        return float((2 - 2**-self.mantissa_bits) * 2.0**self._bias)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with all of its digits."""
        return float(2.0 ** (1 - self._bias))

    @property
    def smallest(self) -> float:
        """The smallest positive number: only its last digit is left."""
        return self.smallest_normal * self.epsilon

    @property
    def epsilon(self) -> float:
        """From 1 to the next number above."""
        return float(2.0**-self.mantissa_bits)


FORMATS = (
    Format("float32", 8, 23),
    Format("tfloat32", 8, 10),
    Format("bfloat16", 8, 7),
    Format("float16", 5, 10),
    Format("float8, e5m2", 5, 2),
    Format("float8, e4m3", 4, 3, finite_only=True),
)
"""What tensor cores multiply. Layouts: IEEE 754; NVIDIA A100 whitepaper (tfloat32); OCP 8-bit floating point, 2023."""


@dataclass(frozen=True)
class Sweep:
    """How long a matrix product takes at neighboring sizes."""

    timings: dict[int, Timing]
    """By the number of columns."""
    aligned: frozenset[int]
    """The sizes whose rows are whole multiples of 16 bytes, by the student's `align`."""
    dtype: str
    element_bytes: int

    @property
    def off_over_on(self) -> float:
        """The median time at sizes off the multiple over that at sizes on it."""
        off, on = (
            statistics.median(timing.median_ms for size, timing in self.timings.items() if (size in self.aligned) == on)
            for on in (False, True)
        )
        return off / on


@dataclass(frozen=True)
class Reviewed:
    """What a reviewer found in one network."""

    name: str
    layers: int
    """Convolutions and linear layers."""
    off: tuple[tuple[int, int], ...]
    """(in, out) of those with a size off the multiple."""


def architecture_of(capability: tuple[int, int]) -> str | None:
    """The name of an architecture, as in `data/precision.csv`; None for one that is not in it.

    Args:
        capability: the compute capability. Source: NVIDIA, "CUDA GPU compute capability".
    """
    major, minor = capability
    if major == 7:
        return "Turing" if minor == 5 else "Volta"
    if major == 8:
        return "Ada" if minor == 9 else "Ampere"
    return {6: "Pascal", 9: "Hopper", 10: "Blackwell", 11: "Blackwell", 12: "Blackwell"}.get(major)


def this_gpu() -> None:
    """Prints what this page runs on, and how many tensor cores it has to offer."""
    if not has_gpu():
        print(f"{device_name('cpu')}. No GPU here, so no tensor cores: measurements below are this processor's.")
        return
    import torch

    capability = torch.cuda.get_device_capability()
    architecture = architecture_of(capability)
    count = torch.cuda.get_device_properties(0).multi_processor_count
    print(f"{device_name()}: {architecture or 'an architecture that our table does not know'}, {count} SMs")
    if architecture == "Pascal":
        print("It has no tensor cores: everything below runs on its CUDA cores.")


def rates() -> dict[str, dict[str, float]]:
    """Datasheet peaks of four generations, TFLOPS: `float32` on CUDA cores, and the fastest 16-bit product (dense)."""
    rows = {str(row["gpu"]): row for row in table("gpus")}
    return {
        "float32, CUDA cores": {name: float(rows[name]["float32_tflops"] or 0) for name in GENERATIONS},
        "float16, the fastest unit": {name: float(rows[name]["float16_tflops"] or 0) for name in GENERATIONS},
    }


def alignment_sweep(align: Callable[[int, int], int], rounds: int = 5) -> Sweep:
    """Times (m × n) · (n × n) for seventeen neighboring n: bfloat16 on a GPU, float32 on a CPU.

    Sizes take turns, so that a slow moment of the machine hits all of them alike.

    Args:
        align: the student's; tells which sizes are aligned to 16 bytes.
        rounds: how often each size is timed.
    """
    import torch

    where = device().type
    sizes = SWEEP_SIZES[where]
    dtype = torch.bfloat16 if where == "cuda" else torch.float32
    generator = torch.Generator(device=where).manual_seed(7)
    rows = sizes[len(sizes) // 2]

    def matrix(height: int, width: int) -> Any:
        # Random, not zeros: zeros draw less power, and would run at a higher clock.
        return torch.randn(height, width, device=where, generator=generator).to(dtype)

    inputs = {size: (matrix(rows if where == "cuda" else rows // 4, size), matrix(size, size)) for size in sizes}
    timings = in_turns({size: partial(torch.mm, *pair) for size, pair in inputs.items()}, rounds)
    aligned = frozenset(size for size in sizes if align(size, dtype.itemsize) == size)
    return Sweep(timings, aligned, str(dtype).removeprefix("torch."), dtype.itemsize)


def activation_times(rounds: int = 9) -> dict[str, Timing]:
    """How long one pass of an activation over a large tensor takes, and a copy of it for comparison.

    Args:
        rounds: how often each is timed; they take turns.
    """
    import torch
    from torch.nn import functional

    where = device().type
    values = torch.randn(ELEMENTS[where], device=where, generator=torch.Generator(device=where).manual_seed(7))
    target = torch.empty_like(values)
    functions: dict[str, Callable[..., Any]] = {
        "copy": target.copy_,
        "relu": functional.relu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "gelu": functional.gelu,
    }
    with torch.inference_mode():
        return in_turns({name: partial(function, values) for name, function in functions.items()}, rounds)


def layers_of(model: Any) -> list[dict[str, Any]]:
    """The layers of a model as `review` takes them, in the order in which they are defined.

    Modules that `review` knows nothing about (norms, pooling) are left out.
    """
    from torch import nn

    activations: dict[type, str] = {nn.ReLU: "relu", nn.GELU: "gelu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid"}
    layers: list[dict[str, Any]] = []
    for module in model.modules():
        if isinstance(module, nn.Linear):
            layers.append({"kind": "linear", "in_features": module.in_features, "out_features": module.out_features})
        elif isinstance(module, nn.Conv2d):
            layers.append({"kind": "conv", "in_channels": module.in_channels, "out_channels": module.out_channels})
        elif type(module) in activations:
            layers.append({"kind": activations[type(module)]})
    return layers


def reviewed(
    review: Callable[[list[dict[str, Any]], int, str], Sequence[tuple[int, str]]], names: Sequence[str] = NETWORKS
) -> list[Reviewed]:
    """What the student's reviewer says about the sizes in well-known networks of torchvision, at batch 64 in float16.

    The networks are built without their numbers (on torch's `meta` device): only their shapes are looked at.
    """
    import torch
    import torchvision  # type: ignore[import-untyped]  # it ships no types

    found = []
    for name in names:
        with torch.device("meta"):
            layers = layers_of(torchvision.models.get_model(name, weights=None))
        told = review([dict(layer) for layer in layers], 64, "float16")
        off = sorted({index for index, code in told if code in SIZES})
        count = sum(len(layer) == 3 for layer in layers)  # a kind and two sizes: no activation
        found.append(Reviewed(name, count, tuple(_sizes(layers[index]) for index in off)))
    return found


SIZES = ("in", "out")
"""The codes of `review` that are about sizes."""


def _sizes(layer: dict[str, Any]) -> tuple[int, int]:
    sizes = [value for key, value in layer.items() if key != "kind"]
    return sizes[0], sizes[1]
