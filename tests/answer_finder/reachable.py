"""What a student reaches in a module: functions, classes, methods, objects and what they hold; private names too."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gpulab

Constant = (str, float, set, frozenset, list, tuple, dict)

NOT_IMPORTED = {
    "gpulab.chapters.inference.exporter_signatures": "it loads what a judge's process needs, for seconds",
}
"""Module → why."""

STARTS = "it starts interpreters, processes or threads"
NOT_CALLED = {
    "gpulab.chapters.architecture.workers": STARTS,
    "gpulab.check.assertions._ratio": "it divides one argument by the other, which anybody can write",
    "gpulab.forkserver.ending.end": "it waits for a process, as long as an argument says",
    "gpulab.forkserver.ending.end_children": "it waits for processes, as long as its argument says",
    "gpulab.trace.ptx.launch.PtxLaunch.slots_at": "it reads memory at an address, and a wrong one ends the process",
    "gpulab.trace.python.interruption._clock_of": "the C library takes any number for a thread; a wrong one ends it",
}
"""Module, or callable with its module → why none is called there; what such a module holds is looked at."""


def modules() -> Iterator[types.ModuleType]:
    """All modules of `gpulab`."""
    for one in pkgutil.walk_packages(gpulab.__path__, "gpulab."):
        if one.name not in NOT_IMPORTED:
            yield importlib.import_module(one.name)


def callables(module: types.ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What a module itself defines and can be called, by dotted name; methods take their object first."""
    if module.__name__ not in NOT_CALLED:
        yield from (one for one in everything(module) if f"{module.__name__}.{one[0]}" not in NOT_CALLED)


def everything(module: types.ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The same, with what must not be called."""
    for name, value in list(vars(module).items()):
        yield from _callables(module, name, value)


def _callables(module: types.ModuleType, name: str, value: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    own = getattr(value, "__module__", None) == module.__name__
    if isinstance(value, functools.partial) or (callable(value) and own):
        yield name, value
    if isinstance(value, type):
        if own:
            yield from _methods(name, value)
    elif isinstance(value, (list, tuple)) and not name.startswith("__"):
        for place, inner in enumerate(value):
            yield from _held(f"{name}[{place}]", inner)
    elif isinstance(value, Mapping) and not name.startswith("__"):
        for key, inner in list(value.items()):
            yield from _held(f"{name}[{key!r}]", inner)
    elif type(value).__module__.startswith("gpulab."):
        for inner, method in list(vars(type(value)).items()):
            if inspect.isfunction(method) and not inner.startswith("__"):
                yield f"{name}.{inner}", getattr(value, inner)


def _held(place: str, value: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A function in a table of functions."""
    if inspect.isfunction(value) or isinstance(value, functools.partial):
        yield place, value


def _methods(name: str, owner: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for inner, method in list(vars(owner).items()):
        if isinstance(method, (staticmethod, classmethod)):
            yield f"{name}.{inner}", getattr(owner, inner)
        elif isinstance(method, property) and method.fget:
            yield f"{name}.{inner}", _bound(owner, method.fget)
        elif inspect.isfunction(method) and not inner.startswith("__"):
            yield f"{name}.{inner}", _bound(owner, method)


def _bound(owner: type, function: Callable[..., Any]) -> Callable[..., Any]:
    """The method with its first parameter annotated as what it is."""
    first = next(iter(inspect.signature(function).parameters), "")

    @functools.wraps(function)
    def method(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    method.__annotations__ = {**getattr(function, "__annotations__", {}), first: owner}
    return method


def constants(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Values that a module, its classes, its objects and its functions hold: strings, numbers, containers."""
    for name, value in list(vars(module).items()):
        if name.startswith("__"):
            continue
        if isinstance(value, Constant):
            yield name, value
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield from _inner(name, vars(value))
        elif inspect.isfunction(value) and value.__module__ == module.__name__:
            for number, held in enumerate(value.__code__.co_consts):
                if isinstance(held, Constant) and held != value.__doc__:
                    yield f"{name}'s constant {number}", held
        elif type(value).__module__.startswith("gpulab."):
            yield from _inner(name, getattr(value, "__dict__", {}))


def _inner(name: str, held: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for inner, value in list(held.items()):
        if isinstance(value, Constant) and not inner.startswith("__"):
            yield f"{name}.{inner}", value
