"""The kernels that eager PyTorch would launch, and the bytes that each of them reads and writes.

One entry for each operator that computes something, in the order of the calls. Views cost nothing and are left out;
memory that is only reserved stands as an `allocation`. Fusions inside an operator are PyTorch's own business: a call of
`torch.softmax` is one kernel, and reads its input once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gpulab.trace.triton.fusion import UNWRITTEN

_RESERVING = ("empty", "new_empty")
_SILENT = ("_local_scalar_dense", "resize_", "set_", "record_stream")
"""Operators that move no tensor worth counting."""


class EagerKernels(TorchDispatchMode):  # type: ignore[no-untyped-call] # torch leaves its __init_subclass__ untyped
    """Calls `found` with a plain dict for each operator that runs inside the `with` block.

    Args:
        found: takes `kind` (`"torch"` or `"allocation"`), `kernel`, `bytes_read`, `bytes_written`, `elements`, `dtype`.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Said no: wrapping the method for `torch.compile` would import its compiler, which takes two seconds."""
        return False

    def __init__(self, found: Callable[[dict[str, Any]], None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call] # likewise
        self._found = found
        self.paused = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        """Runs the operator and counts it."""
        given = kwargs or {}
        result = func(*args, **given)
        if not self.paused:
            self._count(func, [*tree_leaves(args), *tree_leaves(given)], tree_leaves(result))
        return result

    def _count(self, func: Any, inputs: list[Any], outputs: list[Any]) -> None:
        name = func.overloadpacket.__name__
        read = [one for one in inputs if isinstance(one, torch.Tensor)]
        made = [one for one in outputs if isinstance(one, torch.Tensor)]
        if name in _SILENT or not made:
            return
        entry = {
            "kernel": f"aten::{name}",
            "bytes_read": sum(map(_bytes, read)),
            "bytes_written": sum(map(_bytes, made)),
            "elements": sum(one.numel() for one in made),
            "dtype": str(made[0].dtype).removeprefix("torch."),
        }
        if name.startswith(_RESERVING):
            for one in made:
                with self._pause():
                    _fill_with_rubbish(one)
            self._found({"kind": "allocation"} | entry | {"bytes_read": 0, "bytes_written": 0})
            return
        places = {one.untyped_storage().data_ptr() for one in read if one.numel()}
        if not func._schema.is_mutable and all(one.untyped_storage().data_ptr() in places for one in made):
            return  # a view: no kernel
        self._found({"kind": "torch"} | entry)

    @contextmanager
    def _pause(self) -> Iterator[None]:
        self.paused, before = True, self.paused
        try:
            yield
        finally:
            self.paused = before


def _fill_with_rubbish(tensor: torch.Tensor) -> None:
    """Writes a NaN of its own kind, so that an element that no kernel wrote shows."""
    bits = UNWRITTEN.get(str(tensor.dtype).removeprefix("torch."))
    if bits is None:
        tensor.fill_(torch.nan if tensor.is_floating_point() else 93)
    else:
        tensor.view(torch.int32 if tensor.element_size() == 4 else torch.int16).fill_(bits)


def _bytes(tensor: torch.Tensor) -> int:
    """Of the elements that a tensor really holds: an expanded dimension is stored once."""
    elements = 1
    for extent, stride in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= extent if stride or not extent else 1
    return int(elements * tensor.element_size())
