"""Searches a module for something that could be handed in as the answer to an exercise, or nearly so.

A call of an exercise is known by its arguments and its right result. A callable is tried with those arguments: by name,
by position, and by the types that its parameters are annotated with (reordered, dropped, wrapped in a list, unwrapped,
turned into one of the course's records, scaled by a number of the right answer). What it gives agrees if the result is
in it: itself, an attribute, an element, the same up to a factor, or the same numbers in another container.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import itertools
import math
import signal
import time
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

MOST_TRIES = 60
"""Ways to pass one call's arguments to one callable."""
SECONDS, SECONDS_FOR_FILES = 0.2, 30.0
"""For one try, and for one that is to make a file."""
SECONDS_TOGETHER = 0.4
"""For all tries of one callable, those that make a file left out."""
MOST_LEAVES = 2_000


@dataclass(frozen=True)
class Call:
    """A call that a test made, with its right result."""

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    result: Any


@dataclass(frozen=True)
class Exercise:
    """What is known of an exercise."""

    chapter: str
    name: str
    parameters: tuple[str, ...]
    """Of its function; empty for a value."""
    calls: tuple[Call, ...]
    value: Any
    """Of an exercise that is no function."""
    numbers: tuple[float, ...]
    """That stand in the right answer."""
    launches: bool = False
    """Whether its tests count kernels, so that a right result earns nothing without one."""


@dataclass(frozen=True)
class Finding:
    """Something in a module that gives a right result."""

    module: str
    what: str
    exercise: str

    def __str__(self) -> str:
        return f"{self.module}: {self.what} answers {self.exercise}"


class _Stuck(BaseException):
    """A try took too long."""


# ---------------------------------------------------------------------------------------------------- what is there


def callables(module: types.ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions and classes that a module itself defines, private ones and methods too, by dotted name."""
    for name, value in list(vars(module).items()):
        own = getattr(value, "__module__", None) == module.__name__
        if isinstance(value, functools.partial) or (callable(value) and own):
            yield name, value
        if isinstance(value, type) and own:
            for inner, method in list(vars(value).items()):
                if isinstance(method, (staticmethod, classmethod)):
                    yield f"{name}.{inner}", getattr(value, inner)
                elif isinstance(method, property) and method.fget:
                    yield f"{name}.{inner}", _bound(value, method.fget)
                elif inspect.isfunction(method) and not inner.startswith("__"):
                    yield f"{name}.{inner}", _bound(value, method)


def _bound(owner: type, function: Callable[..., Any]) -> Callable[..., Any]:
    """The method with its first parameter annotated as what it is."""
    first = next(iter(inspect.signature(function).parameters), "")

    @functools.wraps(function)
    def method(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    method.__annotations__ = {**getattr(function, "__annotations__", {}), first: owner}
    return method


def constants(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Values that a module, its classes and its functions hold: strings, numbers, containers."""
    for name, value in list(vars(module).items()):
        if name.startswith("__"):
            continue
        if isinstance(value, (str, float, set, frozenset, list, tuple, dict)):
            yield name, value
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for inner, held in list(vars(value).items()):
                if isinstance(held, (str, float, set, frozenset, list, tuple, dict)) and not inner.startswith("__"):
                    yield f"{name}.{inner}", held
        elif inspect.isfunction(value) and value.__module__ == module.__name__:
            for number, held in enumerate(value.__code__.co_consts):
                if isinstance(held, (str, float, frozenset, tuple)) and held != value.__doc__:
                    yield f"{name}'s constant {number}", held


# ------------------------------------------------------------------------------------------------------- the search


def search(module: types.ModuleType, exercises: Sequence[Exercise]) -> list[Finding]:
    """What a module holds for these exercises."""
    found = [
        Finding(module.__name__, name, one.name)
        for name, value in constants(module)
        for one in exercises
        if not one.calls and same_value(value, one.value)
    ]
    topic = module.__name__.split(".")[2:3]
    near = sorted(exercises, key=lambda one: not (topic and topic[0] in one.chapter))
    for name, function in callables(module):
        hints = _hints(function)
        signature = _signature(function)
        if signature is None or hints.get("return", Any) in (None, type(None)):
            continue
        left = SECONDS_TOGETHER
        for one in near:
            makes_file = bool(one.calls) and isinstance(one.calls[0].result, bytes)
            if not one.calls or (left <= 0 and not makes_file):
                continue
            if not _may_return(hints.get("return", Any), one.calls[0].result):
                continue
            started = time.perf_counter()
            with contextlib.suppress(_Stuck):
                if _answers(function, signature, hints, one):
                    found.append(Finding(module.__name__, name, one.name))
            if not makes_file:
                left -= time.perf_counter() - started
    return found


def _answers(
    function: Callable[..., Any], signature: inspect.Signature, hints: Mapping[str, Any], exercise: Exercise
) -> bool:
    first, *others = exercise.calls
    ways = itertools.islice(_ways(signature, hints, exercise, first), MOST_TRIES)
    if not any(
        agrees(_result(function, named, first.result), first, named)
        and (not exercise.launches or _launches(function, named))
        for named in ways
    ):
        return False
    return all(
        any(
            agrees(_result(function, named, other.result), other, named)
            for named in itertools.islice(_ways(signature, hints, exercise, other), MOST_TRIES)
        )
        for other in others
    )


def _launches(function: Callable[..., Any], named: Mapping[str, Any]) -> bool:
    from gpulab.trace import counting

    with counting() as launches:
        _result(function, named, None)
    return bool(launches)


def _result(function: Callable[..., Any], named: Mapping[str, Any], expected: Any) -> Any:
    """What a call gives; None for one that raises."""

    def stop(number: int, frame: object) -> None:
        raise _Stuck

    before = signal.signal(signal.SIGALRM, stop)
    warnings.simplefilter("ignore")  # numbers that the callable was not made for
    signal.setitimer(signal.ITIMER_REAL, SECONDS_FOR_FILES if isinstance(expected, bytes) else SECONDS)
    try:
        given = {name: _copied(value) for name, value in named.items()}
        _spoil_free_memory(expected)
        result = function(**given)
        if isinstance(result, Iterator):
            result = list(itertools.islice(result, 1000))
        return result
    except _Stuck:
        raise
    except BaseException:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _spoil_free_memory(expected: Any) -> None:
    """Overwrites what freed results left behind: memory that nobody has written to must not hold the right answer."""
    if size := getattr(expected, "nbytes", 0):
        blocks = [torch.full((size,), 0x7F, dtype=torch.uint8) for _ in range(8)]
        del blocks


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    return value.clone() if isinstance(value, torch.Tensor) else value


# ------------------------------------------------------------------------------------- arguments for its parameters


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _hints(function: Any) -> dict[str, Any]:
    target = function.__init__ if isinstance(function, type) else function
    try:
        hints = typing.get_type_hints(target)
    except Exception:
        hints = dict(getattr(target, "__annotations__", {}))
        hints = {name: hint for name, hint in hints.items() if not isinstance(hint, str)}
    return {**hints, "return": function} if isinstance(function, type) else hints


def _ways(
    signature: inspect.Signature, hints: Mapping[str, Any], exercise: Exercise, call: Call
) -> Iterator[dict[str, Any]]:
    """Arguments by name of a parameter, the likeliest first."""
    names = dict(zip(exercise.parameters, call.arguments, strict=False)) | call.named
    values = list(names.values())
    parameters = [one for one in signature.parameters.values() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if any(one.kind is one.POSITIONAL_ONLY for one in parameters):
        return
    needed = [one for one in parameters if one.default is one.empty]
    if len(needed) > max(len(values) + 2, 4):
        return
    if all(one.name in names for one in needed):
        yield {one.name: names[one.name] for one in parameters if one.name in names}
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


@dataclass(frozen=True)
class _Same:
    """A value that is hashed by its identity."""

    value: Any

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


@functools.lru_cache(maxsize=512)
def _pool(held: tuple[_Same, ...], numbers: tuple[float, ...]) -> list[Any]:
    """The arguments, what is in them if that is one thing, and numbers made of theirs and the right answer's."""
    values = [one.value for one in held]
    pool = list(values)
    for value in values:
        if isinstance(value, (list, tuple)) and len(value) == 1:
            pool.append(value[0])
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
        yield from ([value] for value in pool if _fits(inner[0], value))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint.__name__ != "Problem":
        yield from _records(hint, pool)


def _records(kind: type, pool: Sequence[Any]) -> Iterator[Any]:
    hints = _hints(kind)
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


def _may_return(hint: Any, expected: Any) -> bool:
    """False where an annotation says that the result is a single value of another kind than the expected one."""
    single: dict[Any, tuple[type, ...]] = {str: (str,), bytes: (bytes,), bool: (bool,)}
    if isinstance(expected, bytes):  # making a file takes long: only what says that it gives one is tried
        return hint is bytes or hint is Any
    if hint in (int, float):
        return isinstance(expected, (int, float, np.number)) or getattr(expected, "ndim", 1) == 0
    return hint not in single or isinstance(expected, single[hint])


# --------------------------------------------------------------------------------------------------------- agreement


def agrees(found: Any, call: Call, passed: Mapping[str, Any]) -> bool:
    """Whether the right result of a call is in what was found, and not already in what was passed."""
    if found is None or call.result is None or isinstance(call.result, bool):
        return False
    try:
        return _agrees(found, call.result, [*call.arguments, *call.named.values(), *passed.values()])
    except (TypeError, ValueError, AttributeError, IndexError):  # what cannot be compared is not the same
        return False


def _agrees(found: Any, expected: Any, given: Sequence[Any]) -> bool:
    if any(_same(part, expected) for part in _parts(found)):
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
    return len(ratios) >= 4 and bool(np.allclose(ratios, ratios[0], rtol=1e-4)) and not zeros.any()


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
        return [float(value)]
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
