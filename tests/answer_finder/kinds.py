"""The kinds of values that a result consists of: a cheap reason not to try a callable, from its annotation alone."""

from __future__ import annotations

import collections.abc
import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
import torch

from answer_finder.passing import hints_of

Kinds = frozenset[str]
ANYTHING: Kinds = frozenset({"number", "text", "bytes", "truth"})
NOTHING: Kinds = frozenset()
SINGLE = {int: "number", float: "number", complex: "number", str: "text", bytes: "bytes", bool: "truth"}


def may_return(hint: Any, expected: Any) -> bool:
    """False where the annotation of a result says that the expected one cannot be in it."""
    if isinstance(expected, bytes) and hint is not bytes:
        return hint is Any  # making a file takes long: only what says that it gives one is tried
    return kinds_of(expected) <= kinds(hint)


def kinds_of(value: Any) -> Kinds:
    """The kinds of the leaves of a value."""
    if isinstance(value, (bool, np.bool_)):
        return frozenset({"truth"})
    if isinstance(value, (int, float, np.number, np.ndarray, torch.Tensor)):
        return frozenset({"number"})
    if isinstance(value, (str, bytes)):
        return frozenset({SINGLE[type(value)]})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = vars(value)
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return NOTHING.union(*map(kinds_of, value))
    return NOTHING


def kinds(hint: Any, within: tuple[Any, ...] = ()) -> Kinds:
    """The kinds of leaves that a value with this annotation can have."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is type(None) or hint in (typing.NoReturn, typing.Never) or hint in within:
        return NOTHING
    if origin in (typing.Union, types.UnionType):
        return NOTHING.union(*(kinds(one, within) for one in inner))
    if origin is Literal:
        return NOTHING.union(*map(kinds_of, inner))
    if origin is collections.abc.Callable or hint is collections.abc.Callable:
        return NOTHING
    kind = origin or hint
    if not isinstance(kind, type) or kind in (object, Any):
        return ANYTHING
    if kind in SINGLE:
        return frozenset({SINGLE[kind]})
    if issubclass(kind, (np.ndarray, np.number, torch.Tensor, torch.nn.Module)):
        return frozenset({"number"})
    if issubclass(kind, Mapping):
        return kinds(inner[1], within) if len(inner) == 2 else ANYTHING
    if issubclass(kind, (Iterable,)) and issubclass(kind, (list, tuple, set, frozenset, collections.abc.Iterator)):
        return NOTHING.union(*(kinds(one, within) for one in inner if one is not ...)) if inner else ANYTHING
    if kind in (collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection):
        return kinds(inner[0], within) if inner else ANYTHING
    if dataclasses.is_dataclass(kind):
        hints = hints_of(kind)
        return NOTHING.union(*(kinds(hints.get(one.name, Any), (*within, kind)) for one in dataclasses.fields(kind)))
    return NOTHING
