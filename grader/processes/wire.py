"""Plain values to JSON and raw buffers, and back, between processes that do not trust each other.

Nothing is ever executed or unpickled: what arrives is numbers, strings, containers, arrays, tensors and the course's
own two records, whatever the sender meant. Which values may be sent when is for `student` and `judge` to say; how they
travel, for `channel`.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, Sequence, ValuesView
from typing import Any

from gpulab.check.contents import bytes_of
from gpulab.check.values import from_exact

MAX_ITEMS = 2_000_000
MAX_DEPTH = 40
EXACT_INT = 2**53
"""Integers up to here survive JSON readers that know only doubles; larger ones travel as hexadecimal text."""

ARRAY_TYPE = re.compile(r"[<>|]?(?:[biufc]\d{1,2}|[SU]\d{1,9}|[mM]8(?:\[\d{0,9}[A-Za-z]{1,2}\])?)")
"""How NumPy writes the types that may travel; it would take descriptions of far stranger ones."""
TENSOR_TYPES = {
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu",
}  # fmt: skip
"""A list, since asking torch for any name that a student sends would import half of torch."""

Buffer = bytes | bytearray | memoryview


class NotPlain(TypeError):
    """A value that cannot leave its process: neither number, string, list, array nor tensor."""


class WireError(ValueError):
    """Bytes that are not a frame, or a frame over its limits."""


# --------------------------------------------------------------------------------------------------- values → JSON


def encode(value: Any, buffers: list[Buffer]) -> Any:
    """JSON-ready form of a plain value; raw bytes of arrays are appended to `buffers`.

    Subclasses of plain types travel as the plain type; a fraction or a decimal number as an int or a float; an array or
    a tensor by its values, type, and the order of its dimensions in memory, a tensor with its device.

    Raises:
        NotPlain: the value, or one inside it, is none of the plain types; or it holds itself.
    """
    return _encode(value, buffers, 0)


def _encode(value: Any, buffers: list[Buffer], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NotPlain("a value nested more than 40 levels deep (does it hold itself?)")
    if value is None or value is True or value is False:
        return value
    own = type(value)
    if (plainly := _SCALARS.get(own)) is not None:
        return plainly(value)
    if own not in _CONTAINERS:
        for kind, encoded in _SCALARS.items():
            if isinstance(value, kind) and not _is_numpy(value):
                return encoded(value)
    if isinstance(value, list):
        return [_encode(item, buffers, depth + 1) for item in value]
    if isinstance(value, tuple):
        return {"t": [_encode(item, buffers, depth + 1) for item in value]}
    if isinstance(value, dict):
        pairs = dict.items(value)
        return {"d": [[_encode(k, buffers, depth + 1), _encode(v, buffers, depth + 1)] for k, v in pairs]}
    array = _encode_array(value, buffers)
    if array is not None:
        return array
    if isinstance(value, (bytes, bytearray, memoryview)):
        buffers.append(bytes(value))
        return {"b": len(buffers[-1])}
    if isinstance(value, (set, frozenset)):
        return {"s": [_encode(item, buffers, depth + 1) for item in sorted(value, key=repr)]}
    if isinstance(value, (range, KeysView, ValuesView, ItemsView)):
        return [_encode(item, buffers, depth + 1) for item in value]
    record = _encode_record(value, buffers, depth)
    if record is not None:
        return record
    number = from_exact(value)
    if number is not None:
        return _encode(number, buffers, depth)
    if how := bytes_of(value):
        raise NotPlain(f"a value of type {type(value).__name__}; {how}")
    if isinstance(value, Iterator):
        raise NotPlain(f"a {type(value).__name__}, which yields its items only once; wrap it in list(...)")
    raise NotPlain(f"a value of type {type(value).__name__}")


def _encode_int(value: int) -> Any:
    number = int.__index__(value)
    return number if -EXACT_INT < number < EXACT_INT else {"i": hex(number)}


def _encode_float(value: float) -> Any:
    number = float.__float__(value)
    return number if math.isfinite(number) else {"f": number.hex()}


def _encode_complex(value: complex) -> Any:
    return {"c": [value.real.hex(), value.imag.hex()]}


_SCALARS: dict[type, Any] = {int: _encode_int, float: _encode_float, str: str.__str__, complex: _encode_complex}
_CONTAINERS = {list, tuple, dict}


RECORDS = {"P": "Problem", "H": "History"}
"""Tag → the frozen dataclass of `gpulab.problem` that travels under it, field by field."""


def _encode_record(value: Any, buffers: list[Buffer], depth: int) -> Any:
    """The form of a `Problem` or a `History`; None for anything else."""
    problem = sys.modules.get("gpulab.training.problem")
    for tag, name in RECORDS.items() if problem is not None else ():
        kind: Any = getattr(problem, name)
        if isinstance(value, kind):
            names = kind.__dataclass_fields__
            return {tag: [[name, _encode(object.__getattribute__(value, name), buffers, depth + 1)] for name in names]}
    return None


def _is_numpy(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.generic)


def _encode_array(value: Any, buffers: list[Buffer]) -> Any:
    """The form of a NumPy array, NumPy scalar, torch tensor, torch dtype or torch size; None for anything else."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        if value.dtype.hasobject or value.dtype.names or value.dtype.kind not in "biufcSUMm":
            raise NotPlain(f"an array with elements of type {value.dtype}")
        whole = numpy.asarray(value)
        order = _memory_order(
            whole.strides, whole.flags.c_contiguous, lambda to: whole.transpose(to).flags.c_contiguous
        )
        laid_out = whole.transpose(order)
        array = numpy.ascontiguousarray(laid_out)
        buffers.append(memoryview(array.reshape(-1).view(numpy.uint8)) if array.size else b"")
        back = [order.index(dimension) for dimension in range(len(order))]
        return {"n": [array.dtype.str, list(laid_out.shape), back, isinstance(value, numpy.generic)]}
    if torch is not None and isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        if value.layout is not torch.strided or name not in TENSOR_TYPES:
            raise NotPlain("a sparse or quantized tensor")
        order = _memory_order(value.stride(), value.is_contiguous(), lambda to: value.permute(to).is_contiguous())
        tensor = value.detach().permute(order).resolve_conj().resolve_neg().cpu().contiguous()
        extents = list(tensor.shape)
        if tensor.numel() == 1:  # contiguous whatever its strides are, which `view` would mind
            tensor = tensor.reshape(()).clone()
        buffers.append(memoryview(tensor.reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else b"")
        return {"T": [name, extents, [order.index(dimension) for dimension in range(len(order))], str(value.device)]}
    if torch is not None and isinstance(value, torch.dtype) and str(value).removeprefix("torch.") in TENSOR_TYPES:
        return {"D": str(value).removeprefix("torch.")}
    return None


def _memory_order(strides: Sequence[int], contiguous: bool, becomes: Callable[[list[int]], bool]) -> list[int]:
    """The dimensions of a dense array from the outermost in memory to the innermost; of any other, in their order.

    Args:
        strides: of each dimension.
        contiguous: whether the elements lie in memory in the order of the dimensions.
        becomes: whether they do when the dimensions are put in this order.
    """
    dimensions = list(range(len(strides)))
    order = sorted(dimensions, key=strides.__getitem__, reverse=True)
    return order if not contiguous and becomes(order) else dimensions


# --------------------------------------------------------------------------------------------------- JSON → values


def decode(form: Any, buffers: list[bytearray]) -> Any:
    """The plain value behind a JSON form and its buffers, built from scratch.

    A tensor that was on a GPU comes back on that GPU where this process sees one, else in host memory.

    Raises:
        WireError: the form is not one that `encode` makes, or does not match its buffers.
    """
    try:
        reader = _Reader(buffers)
        value = reader.read(form, 0)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
        raise WireError(f"malformed value ({type(error).__name__}: {str(error)[:100]})") from None
    if reader.left():
        raise WireError("more buffers than values")
    return value


class _Reader:
    def __init__(self, buffers: list[bytearray]) -> None:
        self._buffers = iter(buffers)
        self._items = 0

    def left(self) -> bool:
        return next(self._buffers, None) is not None

    def _buffer(self, size: int) -> bytearray:
        buffer = next(self._buffers, None)
        if buffer is None or len(buffer) != size:
            raise WireError("a buffer is missing or has another size")
        return buffer

    def read(self, form: Any, depth: int) -> Any:
        self._items += 1
        if self._items > MAX_ITEMS or depth > 2 * MAX_DEPTH:
            raise WireError("too many items, or nested too deeply")
        if form is None or isinstance(form, (bool, int, float, str)):
            return form
        if isinstance(form, list):
            return [self.read(item, depth + 1) for item in form]
        ((tag, body),) = form.items()
        if tag == "i":
            return int(body, 16)
        if tag == "f":
            return float.fromhex(body)
        if tag == "c":
            return complex(float.fromhex(body[0]), float.fromhex(body[1]))
        if tag == "b":
            return bytes(self._buffer(body))
        if tag == "t":
            return tuple(self.read(item, depth + 1) for item in body)
        if tag == "s":
            return {self.read(item, depth + 1) for item in body}
        if tag == "d":
            return {self.read(key, depth + 1): self.read(value, depth + 1) for key, value in body}
        if tag == "n":
            return self._array(*body)
        if tag == "T":
            return self._tensor(*body)
        if tag == "D":
            return _torch_dtype(body)
        if tag in RECORDS:
            return _record(RECORDS[tag], {name: self.read(value, depth + 1) for name, value in body})
        raise WireError(f"unknown tag {str(tag)[:20]!r}")

    def _array(self, dtype_text: str, shape: list[int], order: list[int], scalar: bool) -> Any:
        import numpy

        if not ARRAY_TYPE.fullmatch(dtype_text):
            raise WireError("an array of another type")
        dtype = numpy.dtype(dtype_text)
        count = _product(shape)
        _require_order(order, shape)
        array = numpy.frombuffer(self._buffer(count * dtype.itemsize), dtype=dtype).reshape(shape).transpose(order)
        return array[()] if scalar else array

    def _tensor(self, dtype_name: str, shape: list[int], order: list[int], device: str) -> Any:
        dtype = _torch_dtype(dtype_name)  # before the import, which takes a while where nobody uses torch
        import torch

        count = _product(shape)
        _require_order(order, shape)
        buffer = self._buffer(count * dtype.itemsize)
        if count:
            tensor = torch.frombuffer(buffer, dtype=dtype).reshape(shape)
        else:
            tensor = torch.empty(shape, dtype=dtype, device="cpu")
        tensor = tensor.permute(order)
        if re.fullmatch(r"cuda(:\d{1,3})?", device) and torch.cuda.is_available():
            return tensor.to(device)
        return tensor


def _product(shape: list[int]) -> int:
    if len(shape) > 64 or any(type(extent) is not int or extent < 0 for extent in shape):
        raise WireError("an impossible shape")
    return math.prod(shape)


def _require_order(order: list[int], shape: list[int]) -> None:
    if sorted(order) != list(range(len(shape))) or any(type(dimension) is not int for dimension in order):
        raise WireError("an impossible order of dimensions")


def _record(name: str, fields: dict[str, Any]) -> Any:
    """A `Problem` or `History` of these fields, all of them; a `Problem` checks its own."""
    from gpulab.training import problem  # light: it imports torch only when something is made from a Problem

    kind: Any = getattr(problem, name)
    if set(fields) != set(kind.__dataclass_fields__):
        raise WireError(f"a {name} with other fields")
    return kind(**fields)


def _torch_dtype(name: str) -> Any:
    if name not in TENSOR_TYPES:
        raise WireError("not a torch type")
    import torch

    return getattr(torch, name)
