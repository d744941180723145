"""Takes any value apart into plain parts, and shows it in a few words.

`check` compares and prints what students return. A student's object may lie in every method that it has, may hold
itself, or may have ten million elements: nothing here calls a method that a student can have written, and nothing here
raises anything but `TooLarge`. Comparing is up to `compare`.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

MAX_DEPTH = 40
MAX_PARTS = 100_000
FLAT = 100
"""A list of scalars only is taken over at once: so many of its items cost as much as one part."""
WIDTH = 300
"""Characters that one shown value may take."""


class TooLarge(Exception):
    """A value has too many parts, or too many levels, to be compared."""


@dataclass(frozen=True, eq=False)
class Foreign:
    """Stands for a value that is not plain: a function, a model, an object of the student's own."""

    article: str
    """What it is: "a function"."""


@dataclass(frozen=True, eq=False)
class PlainArray:
    """A NumPy array or a torch tensor, in host memory."""

    values: Any
    """The elements as an ordinary NumPy array."""
    kind: str
    """`NumPy array` or `tensor`."""
    dtype: str
    """Element type as the student sees it: `bfloat16` for such a tensor, although NumPy holds it as float32."""


@dataclass(frozen=True, eq=False)
class SetOf:
    """A set or frozen set: its elements, in no order that means anything."""

    elements: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class DictOf:
    """A dict: its pairs, in its order."""

    pairs: tuple[tuple[Any, Any], ...]


def plain(value: Any) -> Any:
    """The value, built from exact builtin scalars, lists, tuples, `SetOf`, `DictOf`, `PlainArray` and `Foreign` only.

    NumPy scalars, zero-dimensional arrays and tensors, fractions and decimal numbers become Python scalars, subclasses
    their builtin base.

    Raises:
        TooLarge: more than `MAX_PARTS` parts, or nested deeper than `MAX_DEPTH`.
    """
    return _plain(value, 0, [MAX_PARTS])


def _plain(value: Any, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise TooLarge(f"it has too many parts (more than {MAX_PARTS:,})")
    if id(type(value)) in _SCALAR_IDS:
        return value
    if depth > MAX_DEPTH:
        raise TooLarge(f"it is nested deeper than {MAX_DEPTH} levels, or holds itself")

    # Everything goes through the builtin base's own methods: a subclass may have replaced those of the instance.
    def parts(items: Any) -> tuple[Any, ...]:
        found = tuple(items)
        if len(found) > FLAT and set(map(id, map(type, found))) <= _SCALAR_IDS:
            budget[0] -= len(found) // FLAT
            return found
        return tuple(_plain(item, depth + 1, budget) for item in found)

    if derives(value, list):
        return list(parts(list.__iter__(value)))
    if derives(value, tuple):
        return parts(tuple.__iter__(value))
    if derives(value, set):
        return SetOf(parts(set.__iter__(value)))
    if derives(value, frozenset):
        return SetOf(parts(frozenset.__iter__(value)))
    if derives(value, dict):
        return DictOf(tuple((parts((key,))[0], parts((item,))[0]) for key, item in dict.items(value)))
    found = _from_numpy(_on_host(value)) or _from_torch(value)
    if found is not None:
        return found[0]
    for base, exact in _SCALARS.items():
        if derives(value, base):
            return exact(value)
    if derives(value, bytearray):
        return bytes(memoryview(value))
    number = from_exact(value)
    if number is not None:
        return number
    return Foreign(_describe(type(value)))


_SCALARS: dict[type, Any] = {
    bool: bool,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: bytes.__bytes__,
}
"""Builtin scalar → the function that makes an exact one from a subclass."""

DEVICE_ARRAYS = {"gpulab.trace.python.host_arrays": "HostArray", "numba.cuda.cudadrv.devicearray": "DeviceNDArray"}
"""Module → its type of device arrays."""

# Types are compared by id everywhere: a student's metaclass may have an `__eq__` and a `__hash__` of its own.
_SCALAR_IDS = frozenset(map(id, [*_SCALARS, type(None)]))


def derives(value: Any, base: type) -> bool:
    """Whether the value's real type derives from `base`; unlike `isinstance`, not to be fooled by `__class__`."""
    return any(ancestor is base for ancestor in type.__dict__["__mro__"].__get__(type(value)))


def from_exact(value: Any) -> int | float | None:
    """What a `Fraction` or a `Decimal` is as an int, or as a float if it is not whole.

    None for anything else, also for subclasses of the two.
    """
    if type(value) is Fraction:
        above, below = (part.__get__(value) for part in _PARTS)
        if type(above) is not int or type(below) is not int or below < 1:
            return None
        if below == 1:
            return above
        try:
            return above / below
        except OverflowError:
            return math.inf if above > 0 else -math.inf
    if type(value) is Decimal:
        number = math.nan if value.is_nan() else float(value)
        if abs(number) < MOST_WHOLE and value == int(value):
            return int(value)
        return number
    return None


_PARTS = (vars(Fraction)["_numerator"], vars(Fraction)["_denominator"])
MOST_WHOLE = 1e300
"""Decimal numbers from here on become floats: as ints, they could have any number of digits."""


def _on_host(value: Any) -> Any:
    """A NumPy array in place of one of Numba's device arrays, or of what stands for them without a GPU."""
    for module, name in DEVICE_ARRAYS.items():
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and type(value) is kind:
            return kind.copy_to_host(value)
    return value


def _from_numpy(value: Any) -> tuple[Any] | None:
    """What a NumPy value is in plain terms, in a tuple of one; None when it is not one."""
    numpy = sys.modules.get("numpy")
    if numpy is None:  # then nobody can have made such a value
        return None
    known = (numpy.ndarray, numpy.memmap, numpy.matrix, *numpy.sctypeDict.values())
    if not any(type(value) is kind for kind in known):
        return (Foreign(_describe(type(value))),) if derives(value, numpy.ndarray) else None
    array = numpy.asarray(value)
    if array.dtype.kind not in "biufcUS":
        return (Foreign(f"a NumPy array of type {array.dtype.name}"[:80]),)
    if array.ndim:
        return (PlainArray(array, "NumPy array", str(array.dtype)),)
    scalar = array.item()
    if type(scalar) not in _SCALARS:  # long doubles come out as themselves
        scalar = complex(scalar) if array.dtype.kind == "c" else float(scalar)
    return (scalar,)


def _from_torch(value: Any) -> tuple[Any] | None:
    """What a torch value is in plain terms, in a tuple of one; None when it is not one."""
    torch = sys.modules.get("torch")
    # A half-imported torch has no Tensor yet.
    if torch is None or not hasattr(torch, "Tensor") or not derives(value, torch.Tensor):
        return None
    if not any(type(value) is kind for kind in (torch.Tensor, torch.nn.Parameter)):
        return (Foreign(_describe(type(value))),)
    try:
        held = value.detach().cpu().resolve_conj().resolve_neg()
        if not held.ndim:
            return (held.item(),)
        if held.is_floating_point() and held.dtype not in (torch.float16, torch.float32, torch.float64):
            held = held.float()  # NumPy has no bfloat16 and no float8; float32 holds both exactly
        return (PlainArray(held.numpy(), "tensor", str(value.dtype).removeprefix("torch.")),)
    except Exception:  # sparse, quantized, meta, on a device that has gone: torch has many ways to refuse
        return (Foreign("a tensor whose values cannot be read"),)


def as_python(value: Any) -> Any:
    """The value with Python numbers in place of NumPy scalars, zero-dimensional arrays and tensors, and `from_exact`'s.

    Lists, tuples, sets and dicts that hold such a number are built anew, as exact lists, tuples, sets and dicts;
    everything else, and what is nested deeper than `MAX_DEPTH` levels, is the object itself.
    """
    return _as_python(value, 0, [MAX_PARTS])


def _as_python(value: Any, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    if id(type(value)) in _SCALAR_IDS or depth > MAX_DEPTH or budget[0] < 0:
        return value
    for base in (list, tuple, set, frozenset):
        if derives(value, base):
            held = list(base.__iter__(value))
            if set(map(id, map(type, held))) <= _SCALAR_IDS:
                return value
            found = [_as_python(part, depth + 1, budget) for part in held]
            same = all(new is old for new, old in zip(found, held, strict=True))
            return value if same else base(found)
    if derives(value, dict):
        pairs = list(dict.items(value))
        made = [(_as_python(key, depth + 1, budget), _as_python(part, depth + 1, budget)) for key, part in pairs]
        same = all(new[0] is old[0] and new[1] is old[1] for new, old in zip(made, pairs, strict=True))
        return value if same else dict(made)
    exact = from_exact(value)
    if exact is not None:
        return exact
    if not _has_no_dimension(value):
        return value
    number = _from_numpy(value) or _from_torch(value)
    return number[0] if number is not None and id(type(number[0])) in _SCALAR_IDS else value


def _has_no_dimension(value: Any) -> bool:
    """Whether it is a NumPy scalar, or an array or a tensor without dimensions."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and derives(value, numpy.ndarray):
        return not numpy.ndarray.ndim.__get__(value)
    if numpy is not None and derives(value, numpy.generic):
        return True
    return torch is not None and hasattr(torch, "Tensor") and derives(value, torch.Tensor) and not value.dim()


def _describe(kind: type) -> str:
    name = type.__dict__["__name__"].__get__(kind)[:60]
    if name in ("function", "builtin_function_or_method", "method"):
        return "a function"
    if name in ("generator", "map", "filter", "zip", "range", "enumerate"):
        return f"a {name} (make it a list)"
    if name == "ellipsis":
        return "... (the blank is still there)"
    return f"an object of type {name}"


def article(value: Any) -> str:
    """What kind of thing a plain value is, with its article: "an int", "a list", "None"."""
    if value is None:
        return "None"
    if isinstance(value, Foreign):
        return value.article
    if isinstance(value, PlainArray):
        return f"a {value.kind}"
    name = {SetOf: "set", DictOf: "dict"}.get(type(value), type(value).__name__)
    return f"an {name}" if name == "int" else f"a {name}"


def show(value: Any, exact: bool = False) -> str:
    """A plain value in at most `WIDTH` characters; floats to 6 significant digits, or all of them when `exact`."""
    text = _show(value, exact, levels=3)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 53]} … {text[-50:]}"


def _show(value: Any, exact: bool, levels: int) -> str:
    if isinstance(value, float) and not exact:
        text = f"{value:.6g}"
        return text if any(mark in text for mark in ".en") else f"{text}.0"
    if isinstance(value, int) and value.bit_length() > 400:
        return f"an int of {value.bit_length()} bits"  # Python refuses to print more than 4300 digits
    if isinstance(value, (str, bytes)):
        return repr(value) if len(value) <= 120 else f"{value[:80]!r}… ({len(value)} characters)"
    if isinstance(value, Foreign):
        return value.article
    if isinstance(value, PlainArray):
        return _show_array(value, exact)
    if isinstance(value, list):
        return f"[{_items(value, exact, levels)}]"
    if isinstance(value, tuple):
        return f"({_items(value, exact, levels)}{',' if len(value) == 1 else ''})"
    if isinstance(value, SetOf):
        ordered = sorted(value.elements, key=lambda part: (type(part).__name__, _show(part, True, 1)))
        return f"{{{_items(ordered, exact, levels)}}}" if ordered else "set()"
    if isinstance(value, DictOf):
        return f"{{{_items(value.pairs, exact, levels, pair=True)}}}"
    return repr(value)


def _items(parts: Any, exact: bool, levels: int, pair: bool = False) -> str:
    if levels == 0 and parts:
        return "…"

    def one(part: Any) -> str:
        if pair:
            return f"{_show(part[0], exact, levels - 1)}: {_show(part[1], exact, levels - 1)}"
        return _show(part, exact, levels - 1)

    if len(parts) <= 10:
        return ", ".join(map(one, parts))
    return ", ".join([*map(one, parts[:6]), f"… ({len(parts)} items)", *map(one, parts[-2:])])


def _show_array(array: PlainArray, exact: bool) -> str:
    size = array.values.size
    parts = array.values.tolist() if size <= 12 else array.values.ravel()[:6].tolist()
    inside = _show(parts, exact, levels=3)
    return f"{array.kind} {array.dtype}, shape {array.values.shape}: {inside if size <= 12 else inside[:-1] + ', …]'}"
