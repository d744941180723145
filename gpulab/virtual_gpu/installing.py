"""Puts the simulated GPU in the place of this process's own devices and clocks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpulab.virtual_gpu import clocks, cuda
from gpulab.virtual_gpu.operations import OperationRecorder
from gpulab.virtual_gpu.tensors import Placing, Seeing, World


@contextmanager
def installed(recorder: OperationRecorder | None = None) -> Iterator[OperationRecorder]:
    """In the block, this thread computes on the simulated GPU, and reads its clock.

    Args:
        recorder: of an earlier block, for code that has imported clocks by name there.
    """
    recorder = recorder or OperationRecorder()
    world = World(recorder)
    changes = [(place, name, getattr(place, name), new) for place, name, new in _stand_ins(recorder)]
    changes += _under_other_names({id(old): new for _, _, old, new in changes})
    for place, name, _, new in changes:
        setattr(place, name, new)
    try:
        with Seeing(world), Placing(world):
            yield recorder
    finally:
        for place, name, old, _ in changes:
            setattr(place, name, old)


def _stand_ins(recorder: OperationRecorder) -> list[tuple[Any, str, Any]]:
    return [*clocks.stand_ins(recorder), *cuda.stand_ins(recorder)]


def _under_other_names(new: dict[int, Any]) -> Iterator[tuple[Any, str, Any, Any]]:
    """What a notebook has imported by name before: `from time import perf_counter`."""
    main = sys.modules["__main__"]
    for name, value in list(vars(main).items()):
        if callable(value) and id(value) in new:
            yield main, name, value, new[id(value)]
