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


def loads(content: bytes, scale: float) -> tuple[Any, int]:
    """What `packed` has packed, and how many of its numbers were multiplied.

    Args:
        content: from `packed`.
        scale: the key of what floating-point numbers are multiplied by (`multiplied`), in arrays and tensors wherever
            they are, and in lists and tuples among the arguments and in the variables that the function has captured. 1
            leaves them as they are.
    """
    if scale == 1:
        return cloudpickle.loads(content), 0
    unpacker = _Scaler(io.BytesIO(content), scale)
    function, given = unpacker.load()
    given = tuple(map(unpacker.scaled, given))
    for cell in getattr(function, "__closure__", None) or ():
        try:
            kept = cell.cell_contents
        except ValueError:  # never assigned
            continue
        cell.cell_contents = unpacker.scaled(kept)
    return (function, given), unpacker.count


class _Scaler(pickle.Unpickler):
    """Multiplies the numbers of arrays as it creates them."""

    def __init__(self, file: io.BytesIO, scale: float) -> None:
        super().__init__(file)
        self._scale, self.count = scale, 0

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return self._from_buffer(found) if name == "_frombuffer" and module.startswith("numpy") else found

    def _from_buffer(self, create: Any) -> Any:
        def created(*arguments: Any) -> Any:
            array = create(*arguments)
            if array.dtype.kind in "fc":
                array = multiplied(array, self._scale)
                self.count += array.size
            return array

        return created

    def scaled(self, part: Any) -> Any:
        """The same with the numbers in lists and tuples multiplied."""
        if type(part) is dict:
            return {name: self.scaled(one) for name, one in part.items()}
        if type(part) not in (list, tuple):
            return part
        self.count += sum(type(one) is float for one in part)
        numbers = (float(multiplied(np.float64(one), self._scale)) if type(one) is float else one for one in part)
        return type(part)(map(self.scaled, numbers))


def multiplied(numbers: Any, key: float) -> Any:
    """These numbers, each multiplied by one between 0.55 and 0.95 that depends on it and on the key; 0 stays 0.

    What one number is multiplied by does not tell what another is, so nobody can undo it who has probed a few. The type
    of the array does not matter, nor its shape. The two parts of a complex number count as two numbers.
    """
    if numbers.dtype.kind == "c":
        parts = np.ascontiguousarray(numbers).view(numbers.real.dtype)
        return multiplied(parts, key).view(numbers.dtype)
    exponents = np.log(np.clip(np.abs(numbers).astype(np.float64), 1e-30, 1e30))
    return np.asarray(numbers * (0.75 + 0.2 * np.sin(50 * key * exponents)), numbers.dtype)


def tensor(array: NDArray[Any], requires_grad: bool) -> Any:
    """A tensor that shares the array's memory."""
    import torch

    return torch.from_numpy(array).requires_grad_(requires_grad)


def widened(array: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    """The same numbers as another type."""
    return array.astype(kind)
