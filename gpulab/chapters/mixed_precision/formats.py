"""Mixed precision: what numbers of 16 bits can hold, and where the gradients of a real network lie among them.

Rounding is done by torch, gradients come from a backward pass in float32. Training loops are in `loops`, drawing is in
`pictures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpulab.training.problem import Problem

FORMATS = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
FLOAT16_LARGEST = 65504.0
FLOAT16_NORMAL = 2.0**-14


def bits(value: float, name: str) -> tuple[str, str, str]:
    """Sign, exponent and mantissa of a number in one of `FORMATS`, as strings of 0 and 1."""
    wide = {"float32": torch.int32}.get(name, torch.int16)
    held = int(torch.tensor(value).to(FORMATS[name]).view(wide))
    size, exponent = (32, 8) if name == "float32" else (16, 8 if name == "bfloat16" else 5)
    text = f"{held % (1 << size):0{size}b}"
    return text[0], text[1 : 1 + exponent], text[1 + exponent :]


def show_bits(values: Sequence[float]) -> None:
    """Prints what becomes of each value in each format: its bits, and the number that they mean."""
    for value in values:
        for name, kind in FORMATS.items():
            sign, exponent, mantissa = bits(value, name)
            held = torch.tensor(value).to(kind).item()
            print(f"{value:<9g} {name:<9} {sign} {exponent:<8} {mantissa:<23}  {held:.9g}")
        print()


def rounding_errors(name: str, exponents: Sequence[float], draws: int = 400) -> list[float]:
    """The largest relative rounding error among random numbers around each power of two; NaN where they overflow.

    Args:
        name: of one of `FORMATS`.
        exponents: base 2.
        draws: numbers tried at each.
    """
    generator = torch.Generator().manual_seed(4)
    errors = []
    for exponent in exponents:
        exact = torch.exp2(exponent + torch.rand(draws, generator=generator, dtype=torch.float64))
        error = ((exact.to(FORMATS[name]).double() - exact) / exact).abs().max().item()
        errors.append(error if np.isfinite(error) else float("nan"))
    return errors


def creeping_sums(steps: int = 2000, step: float = 1e-4) -> dict[str, list[float]]:
    """1 + step + step + …, kept in each format: the value after every addition."""
    sums: dict[str, list[float]] = {}
    for name, kind in FORMATS.items():
        value, by = torch.tensor(1.0, dtype=kind), torch.tensor(step, dtype=kind)
        found = [1.0]
        for _ in range(steps):
            value = value + by
            found.append(value.item())
        sums[name] = found
    return sums


@dataclass(frozen=True)
class Gradients:
    """All gradients that flowed between the layers in one backward pass, zeros left out."""

    values: NDArray[np.float32]
    problem: Problem
    step: int
    lost: float
    """Share of them that becomes zero in float16, as they are."""


def flowing_gradients(problem: Problem) -> Gradients:
    """The gradients of the outputs of all layers with weights, at the last batch of an epoch in float32.

    These are what a backward pass hands from layer to layer, in half precision under autocast.
    """
    model, criterion = problem.model(), problem.criterion()
    optimizer = problem.optimizer(model)
    outputs: list[torch.Tensor] = []

    def keep(_: Any, __: Any, output: torch.Tensor) -> None:
        output.retain_grad()
        outputs.append(output)

    for layer in model.modules():
        if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear)):
            layer.register_forward_hook(keep)
    step = 0
    for images, labels in problem.loader():
        outputs.clear()
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
        step += 1
    values = torch.cat([output.grad.flatten() for output in outputs if output.grad is not None]).numpy()
    values = values[values != 0]
    with np.errstate(over="ignore"):
        lost = float((values.astype(np.float16) == 0).mean())
    return Gradients(values, problem, step, lost)
