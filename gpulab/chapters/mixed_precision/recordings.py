"""Mixed precision: trainings that its figures compare the student's with, recorded once in `data/recordings`.

They are stored and not run, because the loop behind some of them is what the chapter asks for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gpulab.tables import data_folder

NAME = "mixed_precision"
"""Of the file."""
FOUR_WAYS = ("float32", "bfloat16, no scaler", "float16, scaler", "float16, no scaler")
"""The same training of 5 epochs, its loss weighted by 2⁻²⁰."""
CLIPPED_FIRST = "clipped first"
"""A float16 training that clips before it unscales: 4 epochs, windows of 2 batches, gradients of norm 1 at most."""
IMPATIENT = "impatient scaler"
"""A float16 training of 5 epochs whose scaler grows after `INTERVAL` good steps."""
INTERVAL = 8


@dataclass(frozen=True)
class Recording:
    """What the trainings printed, and where."""

    device: str
    """The processor and the version of torch."""
    losses: dict[str, list[float]]
    """Training → loss after every batch, as if it had weight 1."""
    scales: dict[str, list[float]]
    """Training → scale after every update."""


def recording() -> Recording:
    """The recorded trainings.

    Raises:
        LookupError: there is no folder `data/`.
    """
    path = (data_folder() / "recordings" / NAME).with_suffix(".json")
    return Recording(**json.loads(path.read_text(encoding="utf-8")))
