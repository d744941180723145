from __future__ import annotations

import enum
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch

from gpulab.ranks import messages
from gpulab.ranks.packing import loads, multiplied, packed

SECRET = random.Random(7).randbytes(24_000)
"""Six thousand numbers, as bytes."""
WORDS = [int(word) for word in np.frombuffer(SECRET, np.uint32)]


def cut(size: int) -> list[bytes]:
    return [SECRET[at : at + size] for at in range(0, len(SECRET), size)]


class Shaped:
    """Looks like an array of one number."""

    shape = ()

    def __init__(self) -> None:
        self.secret = SECRET


class Shy(list[int]):
    """Takes its time to say what it holds: whoever asks again hears nothing."""

    asked = False

    def __reduce__(self) -> Any:
        first, Shy.asked = not Shy.asked, True
        return Shy, (list(self) if first else [],)


def written(line: str) -> Callable[[], object]:
    made: dict[str, Any] = {}
    exec(f"def function():\n    {line}", made)
    return made["function"]  # type: ignore[no-any-return]


def tensor_with_more() -> torch.Tensor:
    tensor = torch.zeros(1)
    tensor.more = SECRET  # type: ignore[attr-defined]
    return tensor


DISGUISES: dict[str, Callable[[], object]] = {
    "short texts": lambda: [part.hex() for part in cut(28)],
    "short bytes": lambda: cut(3),
    "bytes": lambda: SECRET,
    "a bytearray": lambda: bytearray(SECRET),
    "integers": lambda: WORDS,
    "a long integer": lambda: int.from_bytes(SECRET, "little"),
    "booleans": lambda: [bool(byte >> bit & 1) for byte in SECRET for bit in range(8)],
    "decimal numbers": lambda: [Decimal(word) for word in WORDS],
    "fractions": lambda: [Fraction(word, 2**32) for word in WORDS],
    "complex numbers": lambda: [complex(*pair) for pair in np.frombuffer(SECRET, np.float32).reshape(-1, 2).tolist()],
    "times": lambda: [datetime(2000, 1, 1) + timedelta(seconds=word) for word in WORDS],
    "ranges": lambda: [range(word) for word in WORDS],
    "slices": lambda: [slice(word) for word in WORDS],
    "a set": lambda: set(WORDS),
    "keys": lambda: dict.fromkeys(WORDS),
    "nested tuples": lambda: [(((word,),),) for word in WORDS],
    "an enumeration": lambda: list(enum.Enum("Made", {f"w{number}": word for number, word in enumerate(WORDS)})),
    "wide floats": lambda: [float(word) for word in np.frombuffer(SECRET, np.int64).astype(np.float64) + 0.5],
    "an array of wide floats": lambda: np.frombuffer(SECRET, np.float64),
    "an array of complex numbers": lambda: np.frombuffer(SECRET, np.complex128),
    "an array of one record": lambda: np.frombuffer(SECRET, f"V{len(SECRET)}"),
    "an array of texts": lambda: np.array([SECRET.hex()]),
    "an array of objects": lambda: np.array([SECRET, None], object),
    "arrays of nothing, by their shapes": lambda: [np.empty((0, word)) for word in WORDS],
    "a class with a shape": Shaped,
    "a class that is pickled once": lambda: Shy(WORDS),
    "an attribute of a tensor": tensor_with_more,
    "a text in a function": lambda: [written(f"return {part.hex()!r}") for part in cut(450)],
    "the constants of a function": lambda: written(f"return {tuple(WORDS)}"),
    "the names of a function": lambda: written(f"return [{', '.join('x' + part.hex() for part in cut(20))}]"),
    "the code of a function": lambda: written(f"return [{', '.join('ab'[bit > 127] for bit in SECRET * 2)}]"),
}


@pytest.mark.parametrize("disguise", DISGUISES)
def test_whatever_a_rank_is_given_is_counted(disguise: str) -> None:
    """However numbers are dressed up, they count, but for a few bytes."""
    Shy.asked = False
    count = messages.numbers_in(packed((len, (DISGUISES[disguise](),))))
    assert count >= 0.95 * (len(SECRET) - messages.FREE_BYTES) / 4


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        (np.zeros((30, 20), np.float32), 600),
        (np.ones((30, 20)), 600),  # its numbers are those of float32
        (np.arange(600), 600),
        (np.full(600, 0.1), 1200),
        (np.zeros((30, 20), np.float32)[:, ::2], 300),
        (torch.ones(30, 20), 600),
        (torch.ones(30, 20)[:, :5], 150),
        (torch.nn.Parameter(torch.ones(30, 20, dtype=torch.float64)), 600),
        ([[0.5] * 20] * 2 + [[1.5] * 20], 0),  # two lists of twenty: the same one counts once
        (np.ones((30, 20), np.float32).tolist(), 560),
        ("seven" * 100, 0),
        ([0.1, 2.5, {"lr": 0.3}], 0),
    ],
    ids=str,
)
def test_numbers_count_by_what_they_hold(given: object, numbers: int) -> None:
    """An array by its numbers, a view by its own; a few floats and texts not at all."""
    assert messages.numbers_in(packed((len, (given,)))) == numbers


@pytest.mark.parametrize(
    "given",
    [
        np.arange(6.0).reshape(2, 3)[:, ::2], np.full(3, 0.1), np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array([1, None]), np.float64(0.1), np.array(2.5), np.zeros((0, 3)), np.array([np.nan, -0.0, 1e300]),
        np.array(["a", "bc"]), np.array([2**40, 1]),
    ],
    ids=str,
)  # fmt: skip
def test_arrays_arrive_as_they_were(given: Any) -> None:
    there = cloudpickle.loads(packed(given))
    assert (type(there), there.dtype, there.shape) == (type(given), given.dtype, given.shape)
    np.testing.assert_array_equal(there, given)
    assert not isinstance(there, np.ndarray) or there.flags.writeable


@pytest.mark.parametrize(
    "given",
    [
        torch.arange(6.0).reshape(2, 3)[:, ::2], torch.tensor(2), torch.ones(3, dtype=torch.bfloat16),
        torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2)),
    ],
    ids=str,
)  # fmt: skip
def test_tensors_arrive_as_they_were(given: torch.Tensor) -> None:
    there = cloudpickle.loads(packed(given))
    assert (type(there), there.dtype, there.requires_grad) == (type(given), given.dtype, given.requires_grad)
    assert torch.equal(there, given)


def test_numbers_are_multiplied_wherever_they_are() -> None:
    """In arrays and tensors, in lists, and in what a function has captured; its own constants stay."""
    kept, listed = np.ones(3), [1.0, 2.0]

    def function(*given: Any) -> Any:
        return [*given, kept, listed, 0.5]

    tensor = torch.ones(2, requires_grad=True)
    given = (np.full((2, 2), 0.1), tensor, {"a": [(1.0, "b", 3)]}, np.arange(3), 0.25)
    (there, arguments), count = loads(packed((function, given)), 2.0)
    one, two, three, four, five = arguments
    tenth, unit, double = (float(multiplied(np.float64(one), 2.0)) for one in (0.1, 1.0, 2.0))
    assert len({tenth / 0.1, unit, double / 2}) == 3
    assert one.tolist() == [[tenth, tenth], [tenth, tenth]]
    assert two.tolist() == [unit, unit]
    assert two.requires_grad
    assert (three, four.tolist(), five) == ({"a": [(unit, "b", 3)]}, [0, 1, 2], 0.25)
    assert [np.asarray(part).tolist() for part in there()] == [[unit, unit, unit], [unit, double], 0.5]
    assert count == 4 + 2 + 1 + 3 + 2
    (_, arguments), count = loads(packed((function, given)), 1.0)
    assert (arguments[0][0, 0], count) == (0.1, 0)
