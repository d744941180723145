"""Mixed precision: which type an operation gives under CUDA's autocast, found by asking torch, with or without a GPU.

The operations run on torch's fake tensors: they have a shape, a type and a device that need not exist, and no values.
Autocast's rules are applied to them as to real ones. (Those of a CPU are others, and not what the chapter is about.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def result_type(operation: Callable[..., Any], *types: str) -> str:
    """The element type of an operation's result under float16 autocast on a GPU, such as `"float32"`.

    Args:
        operation: takes one 8 × 8 matrix for each type; gives a tensor.
        types: element types of the inputs, as torch names them.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "CUDA is not available": right, and no matter
        with FakeTensorMode(), _cuda_autocast():
            inputs = [torch.empty(8, 8, dtype=getattr(torch, name), device="cuda") for name in types]
            found: Tensor = operation(*inputs)
            return str(found.dtype).removeprefix("torch.")


class _cuda_autocast:
    """Autocast for CUDA, also where `torch.autocast` would switch itself off because there is no GPU."""

    def __enter__(self) -> None:
        self._before = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.float16)
        torch.autocast_increment_nesting()

    def __exit__(self, *_: object) -> None:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled("cuda", self._before[0])
        torch.set_autocast_dtype("cuda", self._before[1])
