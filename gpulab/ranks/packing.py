"""Pickles what `launch.ranks` sends to a rank, each number once and as narrow as it is: `messages` counts its bytes.

A view does not bring the rest of its storage, and a float64 array whose values fit float32 takes four bytes each. In
the rank, arrays and tensors are of the type that they were.
"""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray

NARROWER = {"float64": "float32", "int64": "int32"}


def packed(part: Any) -> bytes:
    """The pickle of a function and its arguments. `cloudpickle.loads` reads it; arrays are bytearrays in it."""
    file = io.BytesIO()
    _Packer(file, protocol=pickle.HIGHEST_PROTOCOL).dump(part)
    return file.getvalue()


class _Packer(cloudpickle.Pickler):
    def reducer_override(self, part: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and type(part) is torch.Tensor and part.layout is torch.strided and not vars(part):
            try:
                return tensor, (part.detach().numpy(), part.requires_grad)
            except (RuntimeError, TypeError):  # a type that NumPy does not have, or another device
                return super().reducer_override(part)
        if type(part) is np.ndarray:
            with np.errstate(over="ignore", invalid="ignore"):
                same = part.astype(NARROWER.get(part.dtype.name, part.dtype))
            if same.dtype != part.dtype and np.array_equal(same.astype(part.dtype), part, equal_nan=True):
                return widened, (same, part.dtype)
            if not (part.flags.forc and part.flags.writeable) and part.dtype != object:
                return np.array(part, order="C").__reduce_ex__(pickle.HIGHEST_PROTOCOL)
        return super().reducer_override(part)


def tensor(array: NDArray[Any], requires_grad: bool) -> Any:
    """A tensor that shares the array's memory."""
    import torch

    return torch.from_numpy(array).requires_grad_(requires_grad)


def widened(array: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """The same numbers as another type."""
    return array.astype(kind)
