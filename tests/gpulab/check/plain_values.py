"""Values that students return by mistake, or by malice: what every check has to survive."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class AlwaysEqual:
    """Claims to be whatever it is compared with."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__

    def __float__(self) -> float:
        return 1.0


class LyingInt(int):
    """An int whose every comparison says yes."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class LyingFloat(float):
    def __sub__(self, other: object) -> float:
        return 0.0

    __rsub__ = __sub__

    def __abs__(self) -> float:
        return 0.0


class LyingList(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise RuntimeError("no iteration")

    def __len__(self) -> int:
        return -1


class LyingDict(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise RuntimeError("no items")

    def __contains__(self, key: object) -> bool:
        return True


class LyingType(type):
    """A metaclass that claims to be equal to every class."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(int)


class OfLyingType(metaclass=LyingType):
    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no attribute {name}")


class LyingTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        return True


class LyingArray(np.ndarray):  # type: ignore[type-arg]
    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        return np.bool_(True)


class Color(enum.IntEnum):
    RED = 1


def _holds_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(5000):
        found = [found]
    return found


def _bushy() -> list[Any]:
    found: list[Any] = []
    for _ in range(35):
        found = [found, found]  # 2 ** 35 parts, if one walks it
    return found


def _dict_of_itself() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["me"] = found
    return found


WEIRD: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "ellipsis": lambda: ...,
    "True": lambda: True,
    "zero": lambda: 0,
    "one": lambda: 1,
    "minus one": lambda: -1,
    "huge int": lambda: 10**10_000,
    "minus huge int": lambda: -(10**400),
    "float": lambda: 1.0,
    "minus zero": lambda: -0.0,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "subnormal": lambda: 5e-324,
    "largest": lambda: 1.7976931348623157e308,
    "complex": lambda: 1 + 2j,
    "complex NaN": lambda: complex("nan+infj"),
    "empty str": lambda: "",
    "number in a str": lambda: "1",
    "long str": lambda: "x" * 1_000_000,
    "lone surrogate": lambda: "\ud800\x00\n\t",
    "bytes": lambda: b"\xff\x00",
    "bytearray": lambda: bytearray(b"abc"),
    "memoryview": lambda: memoryview(b"abc"),
    "empty list": list,
    "list": lambda: [1, 2.0, "3", None],
    "nested": lambda: [[1, [2, (3, {4})]], {"a": [5]}],
    "long list": lambda: list(range(300_000)),
    "list of NaN": lambda: [float("nan")] * 3,
    "empty tuple": lambda: (),
    "tuple": lambda: (1, (2,)),
    "named tuple": lambda: collections.namedtuple("P", "x y")(1, 2),
    "set": lambda: {1, "1", 1.5, (1, 2), frozenset({3})},
    "empty dict": dict,
    "dict": lambda: {"a": 1, 2: [3], None: {}, (1, 2): "x"},
    "counter": lambda: collections.Counter("abca"),
    "default dict": lambda: collections.defaultdict(list, {"a": [1]}),
    "holds itself": _holds_itself,
    "dict of itself": _dict_of_itself,
    "deep": _deep,
    "bushy": _bushy,
    "range": lambda: range(3),
    "generator": lambda: (i for i in range(3)),
    "function": lambda: len,
    "class": lambda: int,
    "module": lambda: np,
    "decimal": lambda: decimal.Decimal("1.5"),
    "fraction": lambda: fractions.Fraction(1, 3),
    "date": lambda: datetime.date(2026, 1, 1),
    "int enum": lambda: Color.RED,
    "always equal": AlwaysEqual,
    "list of always equal": lambda: [AlwaysEqual(), AlwaysEqual()],
    "lying int": lambda: LyingInt(5),
    "lying float": lambda: LyingFloat(5.0),
    "lying list": lambda: LyingList([1, 2]),
    "lying dict": lambda: LyingDict(a=1),
    "of lying type": OfLyingType,
    "exception": lambda: ValueError("x"),
    "NumPy int": lambda: np.int64(3),
    "NumPy float": lambda: np.float32(0.1),
    "NumPy bool": lambda: np.bool_(True),
    "NumPy long double": lambda: np.longdouble(1) / 3,
    "NumPy long complex": lambda: np.clongdouble(1j),
    "NumPy str": lambda: np.str_("a"),
    "NumPy date": lambda: np.datetime64("2026-01-01"),
    "NumPy void": lambda: np.zeros(1, "i4,f4")[0],
    "0-d array": lambda: np.array(3.0),
    "empty array": lambda: np.zeros((0, 3)),
    "bool array": lambda: np.array([True, False]),
    "int array": lambda: np.arange(6).reshape(2, 3),
    "NaN array": lambda: np.full((2, 2), np.nan),
    "half array": lambda: np.ones(3, np.float16),
    "complex array": lambda: np.ones(2, complex),
    "str array": lambda: np.array(["a", "bc"]),
    "object array": lambda: np.array([AlwaysEqual(), None], dtype=object),
    "record array": lambda: np.zeros(2, "i4,f4"),
    "masked array": lambda: np.ma.masked_array([1, 2], [True, False]),
    "lying array": lambda: np.ones(3).view(LyingArray),
    "big-endian array": lambda: np.ones(3, ">f4"),
    "0-d tensor": lambda: torch.tensor(1.5),
    "tensor": lambda: torch.ones(2, 3),
    "bfloat16 tensor": lambda: torch.ones(3, dtype=torch.bfloat16),
    "float8 tensor": lambda: torch.ones(3).to(torch.float8_e4m3fn),
    "tensor with gradient": lambda: torch.ones(2, requires_grad=True) * 2,
    "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "conjugate tensor": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "sparse tensor": lambda: torch.eye(3).to_sparse(),
    "meta tensor": lambda: torch.ones(3, device="meta"),
    "empty tensor": lambda: torch.empty(0),
    "lying tensor": lambda: torch.ones(3).as_subclass(LyingTensor),
    "dtype": lambda: torch.float16,
    "size": lambda: torch.Size([1, 2]),
    "model": lambda: torch.nn.Linear(1, 1),
}
"""What it is → a function that makes a fresh one."""
