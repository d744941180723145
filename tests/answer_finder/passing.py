"""The ways to pass a call's arguments to a callable that names and orders its parameters differently.

By name, by position, and by the types that its parameters are annotated with: reordered, dropped, wrapped in a list,
unwrapped, turned into one of the course's records, scaled by a number of the right answer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import itertools
import math
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from answer_finder.known import Call, Exercise

HALVES = (torch.float16, torch.bfloat16)


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def hints_of(function: Any) -> dict[str, Any]:
    """The annotations of a callable's parameters, and of what it returns."""
    target = function.__init__ if isinstance(function, type) else function
    try:
        hints = typing.get_type_hints(target)
    except Exception:
        hints = dict(getattr(target, "__annotations__", {}))
        hints = {name: hint for name, hint in hints.items() if not isinstance(hint, str)}
    return {**hints, "return": function} if isinstance(function, type) else hints


def make_arguments(exercises: Sequence[Exercise]) -> None:
    """Makes what arguments are made of, networks and first batches too: before a fork, so that it is done once."""
    for exercise in exercises:
        for call in exercise.calls:
            _pool(tuple(map(_Same, _named(exercise, call).values())), exercise.numbers)


def _named(exercise: Exercise, call: Call) -> dict[str, Any]:
    return dict(zip(exercise.parameters, call.arguments, strict=False)) | call.named


def ways(
    signature: inspect.Signature, hints: Mapping[str, Any], exercise: Exercise, call: Call
) -> Iterator[dict[str, Any]]:
    """Arguments by name of a parameter, the likeliest first."""
    names = _named(exercise, call)
    values = list(names.values())
    parameters = [one for one in signature.parameters.values() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if any(one.kind is one.POSITIONAL_ONLY for one in parameters):
        return
    needed = [one for one in parameters if one.default is one.empty]
    if len(needed) > max(len(values) + 2, 4):
        return
    if all(one.name in names for one in needed):
        same = {one.name: names[one.name] for one in parameters if one.name in names}
        yield from _with_tools(parameters, hints, same)
    if len(needed) <= len(values):
        for several in {len(needed), min(len(values), len(parameters))}:
            yield {one.name: value for one, value in zip(parameters[:several], values, strict=False)}
    if needed and all(one.name in hints for one in needed):
        pool = _pool(tuple(map(_Same, values)), exercise.numbers)
        choices = [list(_choices(hints[one.name], pool))[:12] for one in needed]
        if math.prod(map(len, choices)) <= 2_000:
            for chosen in itertools.product(*choices):
                yield {one.name: value for one, value in zip(needed, chosen, strict=True)}
    elif 1 < len(needed) <= 3:
        for chosen in itertools.permutations(values, len(needed)):
            yield {one.name: value for one, value in zip(needed, chosen, strict=True)}


def _with_tools(parameters: Sequence[inspect.Parameter], hints: Mapping[str, Any], named: dict[str, Any]) -> Any:
    """The same arguments, and a type or a scaler for each optional parameter that is made for one."""
    choices = {
        one.name: [tool for tool in (*HALVES, torch.amp.GradScaler("cpu")) if _names(hints.get(one.name), type(tool))]
        for one in parameters
        if one.default is None and one.name not in named
    }
    kept = {name: tools for name, tools in choices.items() if tools}
    for chosen in itertools.product(*([None, *tools] for tools in kept.values())):
        yield named | {name: tool for name, tool in zip(kept, chosen, strict=True) if tool is not None}


def _names(hint: Any, kind: type) -> bool:
    """Whether an annotation names this class itself, not only one that it fits by chance."""
    return hint is kind or kind in typing.get_args(hint)


@dataclass(frozen=True)
class _Same:
    """A value that is hashed by its identity."""

    value: Any

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


@functools.cache
def _pool(held: tuple[_Same, ...], numbers: tuple[float, ...]) -> list[Any]:
    """The arguments, what is in them if that is one thing, and numbers made of theirs and the right answer's."""
    values = [one.value for one in held]
    pool = list(values)
    for value in values:
        if isinstance(value, (list, tuple)) and len(value) == 1:
            pool.append(value[0])
        if isinstance(value, str) and isinstance(getattr(torch, value, None), torch.dtype):
            pool.append(getattr(torch, value))
        if type(value).__name__ == "Problem":
            pool += [value.model(), next(iter(value.loader()))[0]]
    scalars = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    pool += [scalar * number for scalar in scalars for number in numbers]
    return [*pool, *numbers, 8, 1, 2]


def _choices(hint: Any, pool: Sequence[Any]) -> Iterator[Any]:
    """Values of the pool that a parameter with this annotation may take, and such as are made of them."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        yield from inner
        return
    yield from (value for value in pool if _fits(hint, value))
    if origin in (list, Sequence, tuple, Iterable) and inner:
        yield from ([value] * times for times in (1, 2) for value in pool if _fits(inner[0], value))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint.__name__ != "Problem":
        yield from _records(hint, pool)


def _records(kind: type, pool: Sequence[Any]) -> Iterator[Any]:
    hints = hints_of(kind)
    needed = [one for one in dataclasses.fields(kind) if one.default is one.default_factory is dataclasses.MISSING]
    if len(needed) > 3:
        return
    choices = [
        [value for value in pool if _fits(hints.get(one.name, Any), value)][:4] or _empty(hints.get(one.name))
        for one in needed
    ]
    for chosen in itertools.islice(itertools.product(*choices), 6):
        with contextlib.suppress(Exception):
            yield kind(**{one.name: value for one, value in zip(needed, chosen, strict=True)})


def _empty(hint: Any) -> list[Any]:
    return [{}] if typing.get_origin(hint) in (dict, Mapping) or hint is dict else []


def _fits(hint: Any, value: Any) -> bool:
    """Whether a parameter with this annotation may take the value, as far as a glance tells."""
    origin = typing.get_origin(hint)
    if hint is Any or isinstance(hint, (str, typing.TypeVar)):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(one, value) for one in typing.get_args(hint))
    if origin is typing.Literal:
        return value in typing.get_args(hint)
    if hint in (int, float):
        return isinstance(value, (int, np.integer) if hint is int else (int, float, np.number)) and value is not True
    kind = origin or hint
    if not isinstance(kind, type):
        return True
    if kind is Sequence or kind is list or kind is tuple:
        if not isinstance(value, (list, tuple)):
            return False
        inner = typing.get_args(hint)
        return not value or not inner or _fits(inner[0], value[0])
    try:
        return isinstance(value, kind)
    except TypeError:
        return True
