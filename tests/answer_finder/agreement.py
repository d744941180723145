"""Whether what a callable gave is the right result of a call, or holds it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from answer_finder.known import Call

MOST_LEAVES = 2_000
MEASURED_FACTOR = 4.0
"""How far two measurements of the same rate may be apart."""


def agrees(found: Any, call: Call, passed: Mapping[str, Any], telling: bool = True) -> bool:
    """Whether the right result of a call is in what was found.

    Args:
        found: what a callable gave.
        call: with its right result.
        passed: the callable's arguments.
        telling: whether that must show something: a result that was passed already, or is 0 or 1, does not.
    """
    if found is None or call.result is None or isinstance(call.result, bool):
        return False
    try:
        given = [*call.arguments, *call.named.values(), *passed.values()] if telling else None
        return _agrees(found, call.result, given)
    except (TypeError, ValueError, AttributeError, IndexError, OverflowError):  # they cannot be compared
        return False


def rates_near(found: Any, call: Call, passed: Mapping[str, Any], factor: float = MEASURED_FACTOR) -> list[float]:
    """The numbers in what was found that are of the order of a measured result; none that was passed."""
    given = {leaf for value in [*call.arguments, *passed.values()] for leaf in _leaves(value)}
    expected = float(call.result)
    numbers = [leaf for part in _parts(found) if isinstance(part, (int, float, np.number)) for leaf in _leaves(part)]
    return [one for one in numbers if expected / factor < one < expected * factor and one not in given and one % 1]


def _agrees(found: Any, expected: Any, given: Sequence[Any] | None) -> bool:
    if any(_same(part, expected) for part in _parts(found)):
        if given is None:
            return True
        numbers = {leaf for value in given for leaf in _leaves(value)}
        wanted = _leaves(expected)
        if wanted and set(wanted) <= numbers | {0.0, 1.0} and not isinstance(expected, (np.ndarray, torch.Tensor)):
            return False  # numbers that were passed, or are usual ones, show nothing
        return not any(_same(part, expected) for value in given for part in _parts(value))
    if isinstance(expected, (int, float, str, bytes, np.ndarray, torch.Tensor)):
        return False
    mine, wanted = _leaves(found), _leaves(expected)
    if not 1 <= len(wanted) == len(mine):
        return False
    if not np.allclose(sorted(mine), sorted(wanted), rtol=1e-4, equal_nan=True):
        return False
    if given is None:
        return True
    numbers = {round(leaf, 9) for value in given for leaf in _leaves(value)}
    return bool({round(leaf, 9) for leaf in wanted} - numbers - {0.0, 1.0})


def _parts(found: Any) -> Iterator[Any]:
    """The result, and its attributes or elements."""
    yield found
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        yield from (getattr(found, one.name, None) for one in dataclasses.fields(found))
    elif isinstance(found, (tuple, list)) and len(found) <= 16:
        yield from found
    elif isinstance(found, Mapping) and len(found) <= 64:
        yield from found.values()
    elif isinstance(found, torch.nn.Module):
        yield dict(found.state_dict())


def _same(found: Any, expected: Any) -> bool:
    if found is None:
        return False
    if isinstance(expected, bytes):
        return isinstance(found, bytes) and (found == expected or _same_network(found, expected))
    if isinstance(expected, (str, bool)) or isinstance(found, (str, bool)):
        return type(found) is type(expected) and bool(found == expected)
    if isinstance(expected, Mapping):
        return (
            isinstance(found, Mapping)
            and set(map(repr, found)) == set(map(repr, expected))
            and all(_same(found.get(key), value) for key, value in expected.items())
        )
    if isinstance(expected, (set, frozenset)):
        return isinstance(found, (set, frozenset)) and bool(found == expected)
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(found, (list, tuple, np.ndarray))
            and len(found) == len(expected)
            and all(_same(one, other) for one, other in zip(found, expected, strict=True))
        )
    return _same_numbers(found, expected)


def _same_numbers(found: Any, expected: Any) -> bool:
    one, other = _array(found), _array(expected)
    if one is None or other is None or one.shape != other.shape:
        return False
    top = float(np.abs(other[np.isfinite(other)]).max(initial=0.0))
    if np.allclose(one, other, rtol=1e-4, atol=1e-5 * top * (other.size > 1), equal_nan=True):
        return True
    if len(np.unique(other)) < 4:
        return False
    with np.errstate(all="ignore"):
        ratios = (one / other)[np.isfinite(other) & (np.abs(other) > 1e-12)]
    # A whole number that stands for a step is the step times a scale: what is left is no work.
    zeros = np.abs(one[np.abs(other) <= 1e-12])
    # And an array of zeros is the right one times 0: it shows nothing.
    return len(ratios) >= 4 and ratios[0] != 0 and bool(np.allclose(ratios, ratios[0], rtol=1e-4)) and not zeros.any()


def _array(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().double().numpy()
    if isinstance(value, (int, float, np.number, np.ndarray)):
        array = np.asarray(value)
        return array.astype(float) if array.dtype.kind in "iufb" else None
    return None


def _same_network(found: bytes, expected: bytes) -> bool:
    """Whether both are ONNX files of the same operations and as many weights, whatever their names."""
    import onnx

    def told(content: bytes) -> tuple[Any, ...]:
        graph = onnx.load_from_string(content).graph
        weights = sorted((tensor.data_type, *tensor.dims) for tensor in graph.initializer if len(tensor.dims) > 1)
        batch = [one.type.tensor_type.shape.dim[0].dim_value for one in graph.input]
        return batch, sorted(node.op_type for node in graph.node), weights

    try:
        return told(found) == told(expected)
    except Exception:
        return False


def _leaves(value: Any, depth: int = 0) -> list[float]:
    """The numbers in a value."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, bytes)) or depth > 5:
        return []
    if isinstance(value, (int, float, np.number)):
        return [float(value)] if abs(value) < 1e300 else []
    array = _array(value)
    if array is not None:
        return [float(one) for one in array.ravel()[:MOST_LEAVES]]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, one.name, None) for one in dataclasses.fields(value)]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)) and len(value) <= MOST_LEAVES:
        return [leaf for one in value for leaf in _leaves(one, depth + 1)]
    return []


def same_value(found: Any, expected: Any) -> bool:
    """Whether a constant is the right value of an exercise, or a program that holds most lines of the right one."""
    if isinstance(expected, str) and isinstance(found, str):
        lines = {line.strip() for line in expected.splitlines() if len(line.strip()) > 12}
        if len(lines) < 4:
            return len(expected) > 8 and found == expected
        return len(lines & {line.strip() for line in found.splitlines()}) > 0.6 * len(lines)
    if isinstance(expected, float):
        return isinstance(found, float) and expected == found and not expected.is_integer()
    if not isinstance(expected, (set, frozenset, dict, list, tuple)) or len(expected) < 2:
        return False
    try:
        if isinstance(expected, dict):
            return isinstance(found, dict) and bool(found == expected)
        return isinstance(found, (set, frozenset, list, tuple)) and set(found) == set(expected)
    except (TypeError, ValueError):  # what cannot be hashed or compared is no such value
        return False
