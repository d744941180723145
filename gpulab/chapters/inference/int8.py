"""Inference: what rounding to a few bits and clipping do to arrays, for the figures in `inference.int8_pictures`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]


def largest_step(bits: int) -> int:
    """The largest whole number of a symmetric format: 127 for 8 bits, 1 for 2."""
    return (1 << bits - 1) - 1


@dataclass(frozen=True)
class Errors:
    """Root mean square errors at one limit, in the unit of the values."""

    rounding: float
    """Of the numbers within the limit, spread over all."""
    clipping: float
    """Of those beyond."""

    @property
    def total(self) -> float:
        """Of all together."""
        return float(np.hypot(self.rounding, self.clipping))


def clip_errors(values: Array, limits: Sequence[float], bits: int) -> list[Errors]:
    """What rounding to steps and cutting at a limit cost, for each limit (> 0)."""
    found, steps = [], largest_step(bits)
    for limit in limits:
        given = torch.as_tensor(values)
        nearest = torch.fake_quantize_per_tensor_affine(given, limit / steps, 0, -steps, steps)
        squares = (nearest - given).double().square().numpy()
        beyond = np.abs(values) > limit
        parts = [float(np.sqrt(squares[part].sum() / values.size)) for part in (~beyond, beyond)]
        found.append(Errors(*parts))
    return found


def codes(weight: Array) -> dict[str, dict[str, NDArray[np.int64]]]:
    """The widest and the narrowest output channel as whole numbers from −127 to 127, with one scale and with their own.

    Args:
        weight: (out, …).

    Returns:
        `"per tensor"`, `"per channel"` → `"widest"`, `"narrowest"` → the channel's numbers.
    """
    flat = torch.as_tensor(weight, dtype=torch.float32).flatten(1)
    widths = flat.abs().amax(1)
    places = {"widest": int(widths.argmax()), "narrowest": int(widths.argmin())}
    scales = {"per tensor": (widths.max() / 127).expand(len(widths)), "per channel": widths / 127}
    found: dict[str, dict[str, NDArray[np.int64]]] = {}
    for name, each in scales.items():
        zeros = torch.zeros(len(each), dtype=torch.int32)
        nearest = torch.fake_quantize_per_channel_affine(flat, each, zeros, 0, -127, 127)
        whole = (nearest / each[:, None]).round().long().numpy()
        found[name] = {which: whole[place] for which, place in places.items()}
    return found
