"""`gpulab.check.values`: taking apart and showing."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from plain_values import WEIRD

from gpulab.check.values import PlainArray, TooLarge, article, as_python, plain, show
from gpulab.trace.python.host_arrays import FUNCTIONS


@pytest.mark.parametrize("name", ["holds itself", "dict of itself", "deep", "bushy"])
def test_what_has_no_end_is_too_large(name: str) -> None:
    with pytest.raises(TooLarge):
        plain(WEIRD[name]())


def test_a_million_numbers_are_not_too_large() -> None:
    assert plain(list(range(1_000_000)))[-1] == 999_999


def test_a_long_list_of_short_ones_is_not_too_large() -> None:
    assert len(plain([(i, i + 1) for i in range(20_000)])) == 20_000


@pytest.mark.parametrize(
    "name", [name for name in WEIRD if name not in ("holds itself", "dict of itself", "deep", "bushy")]
)
def test_everything_else_comes_apart_and_can_be_shown(name: str) -> None:
    value = plain(WEIRD[name]())
    assert len(show(value)) <= 300
    assert len(show(value, exact=True)) <= 300
    assert article(value)


def test_subclass_becomes_its_base() -> None:
    for name, kind in [("lying int", int), ("lying float", float), ("int enum", int), ("lying list", list)]:
        assert type(plain(WEIRD[name]())) is kind
    assert plain(WEIRD["lying list"]()) == [1, 2]
    assert show(plain(WEIRD["lying dict"]())) == "{'a': 1}"


EXACT = {
    Fraction(4): 4, Fraction(1, 4): 0.25, Fraction(10**400, 3): math.inf, Fraction(-(10**400), 3): -math.inf,
    Fraction(10**400): 10**400, Decimal("4.0"): 4, Decimal("0.1"): 0.1, Decimal("-0.25"): -0.25,
    Decimal("1e20"): 10**20, Decimal("1e999999999"): math.inf, Decimal("1e-999999999"): 0.0,
}  # fmt: skip


@pytest.mark.parametrize("exact", EXACT)
def test_fractions_and_decimal_numbers_are_numbers(exact: Fraction | Decimal) -> None:
    for found in (plain(exact), as_python(exact), plain({"a": [exact]}).pairs[0][1][0], as_python([exact])[0]):
        assert found == EXACT[exact]
        assert type(found) is type(EXACT[exact])


def test_decimal_numbers_may_be_none() -> None:
    assert all(math.isnan(plain(Decimal(name))) for name in ("nan", "sNaN"))


def test_subclasses_of_fractions_and_what_their_parts_are_not_stay_foreign() -> None:
    class Mine(Fraction):
        pass

    strange = Fraction(1, 3)
    strange._numerator = "x"  # type: ignore[attr-defined]
    assert article(plain(Mine(1, 3))) == "an object of type Mine"
    assert article(plain(type("Own", (Decimal,), {})(1))) == "an object of type Own"
    assert article(plain(strange)) == "an object of type Fraction"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("function", "a function"),
        ("generator", "a generator (make it a list)"),
        ("model", "an object of type Linear"),
        ("of lying type", "an object of type OfLyingType"),
        ("lying tensor", "an object of type LyingTensor"),
        ("lying array", "an object of type LyingArray"),
        ("masked array", "an object of type MaskedArray"),
        ("object array", "a NumPy array of type object"),
        ("meta tensor", "a tensor whose values cannot be read"),
        ("NumPy long double", "0.333333"),
        ("NumPy bool", "True"),
        ("0-d array", "3.0"),
        ("bfloat16 tensor", "tensor bfloat16, shape (3,): [1.0, 1.0, 1.0]"),
        ("huge int", "an int of 33220 bits"),
        ("set", "{(1, 2), 1.5, 1, '1', {3}}"),
        ("empty dict", "{}"),
    ],
)
def test_shown_as(name: str, said: str) -> None:
    if name == "set":
        assert sorted(show(plain(WEIRD[name]()))) == sorted(said)
    else:
        assert show(plain(WEIRD[name]())) == said


def test_floats_have_six_digits_and_look_like_floats() -> None:
    assert [show(value) for value in (1.0, 1 / 3, 1e10, 1e-10, float("nan"))] == [
        "1.0",
        "0.333333",
        "1e+10",
        "1e-10",
        "nan",
    ]
    assert show(1 / 3, exact=True) == "0.3333333333333333"


def test_long_arrays_are_elided() -> None:
    assert show(plain(np.arange(100))) == "NumPy array int64, shape (100,): [0, 1, 2, 3, 4, 5, …]"


@pytest.mark.parametrize("make", ["to_device", "device_array", "device_array_like"])
def test_device_arrays_of_numbas_are_arrays(make: str) -> None:
    """A visible test in a notebook gets them as they are."""
    given = FUNCTIONS[make]((4,) if make == "device_array" else np.zeros(4))
    given.copy_to_device(np.arange(4.0))
    found = plain([given])[0]
    assert type(found) is PlainArray
    assert found.values.tolist() == [0.0, 1.0, 2.0, 3.0]
