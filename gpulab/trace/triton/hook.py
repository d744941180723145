"""`kernel[grid](…)` on a plain `@triton.jit` kernel: the GPU where there is one, Triton's own interpreter elsewhere.

`install` puts a thin layer over Triton's launch, so that it does not matter when `triton` was imported, and no
environment variable is needed (without this course, set `TRITON_INTERPRET=1` before the import). The interpreter runs
only what Triton's compiler takes. While it runs a kernel, every load and store is counted and checked against the
tensors that the kernel was given; what is read without `other` where the mask is false is NaN, as on a GPU it may be
anything. The parts of Triton that are replaced are private; pyproject.toml therefore says which versions may be used.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.host import no_gpu
from gpulab.trace.errors import LaunchError, TraceError
from gpulab.trace.triton import accesses, branches, compiled, language, oddities, reductions, repairs, truths
from gpulab.trace.triton.blocks import ArgumentMemory
from gpulab.trace.triton.counts import Programs

_installed: list[bool] = []
_interpreted: dict[Any, Any] = {}
"""Kernel or device function → its interpreted form."""
_recordings: list[list[dict[str, Any]]] = []
_observers: list[Any] = []
"""Each is told of a launch before and after it: see `observed`."""
_modes: list[Any] = []
"""The counter of eager kernels of each recording."""


def install() -> None:
    """Makes Triton kernels run, and be counted, without a GPU. Does nothing the second time."""
    if _installed:
        return
    _installed.append(True)
    import triton
    from triton.runtime import autotuner, interpreter, jit

    triton.knobs.runtime.interpret = False  # else kernels would be made for the interpreter alone
    run, call, tuned = jit.JITFunction.run, jit.JITFunction.__call__, autotuner.Autotuner.run

    def run_here(self: Any, *arguments: Any, grid: Any, warmup: bool, **named: Any) -> Any:
        if not _interprets():
            return run(self, *arguments, grid=grid, warmup=warmup, **named)
        if warmup:  # compiles, and launches nothing
            return None
        return _launched(self, grid, arguments, named)

    def call_here(self: Any, *arguments: Any, **named: Any) -> Any:
        if accesses.running:
            return interpreted(self)(*arguments, **named)
        try:
            return call(self, *arguments, **named)
        except RuntimeError as error:  # no function but a kernel may call it
            name = self.fn.__name__
            raise LaunchError(f"{name} was called without a grid: a launch is {name}[(programs,)](…).") from error

    def tuned_here(self: Any, *arguments: Any, **named: Any) -> Any:
        if not _interprets():
            return tuned(self, *arguments, **named)
        # Times of an interpreter say nothing about a GPU: the first configuration will do.
        self.best_config = self.configs[0]
        return self.fn.run(*arguments, **named, **self.best_config.all_kwargs())

    jit.JITFunction.run, jit.JITFunction.__call__ = run_here, call_here
    # Its own way patches the whole language again at every call of tl.sum, and for good.
    interpreter.InterpretedFunction.__call__ = call_here
    autotuner.Autotuner.run = tuned_here
    accesses.install(interpreter)
    _hook_tensor(interpreter)
    repairs.install(interpreter)
    oddities.install(interpreter, accesses.running, accesses.line_of)
    truths.install(interpreter)
    reductions.install(interpreter)
    branches.install(interpreter)


def installed() -> bool:
    """Whether `install` has been called in this process."""
    return bool(_installed)


def where() -> str:
    """Where Triton kernels run on this machine, as a sentence."""
    if has_gpu():
        return f"Triton kernels are compiled for and run on the {device_name()}."
    return no_gpu("No GPU here: Triton kernels run in Triton's interpreter, on the CPU.")


@contextmanager
def recording() -> Iterator[list[dict[str, Any]]]:
    """The Triton launches, eager kernels and allocations inside the block, as plain dicts, in order.

    Kernels run in the interpreter, also on a machine with a GPU: counts do not depend on the machine.
    """
    from gpulab.trace.triton.eager import EagerKernels

    found: list[dict[str, Any]] = []
    mode = EagerKernels(found.append)
    _recordings.append(found)
    _modes.append(mode)
    try:
        with mode:
            yield found
    finally:
        _recordings.remove(found)
        _modes.remove(mode)


@contextmanager
def observed(observer: Any) -> Iterator[None]:
    """Tells `observer` of each launch in the block: `before(kernel, arguments)`, by name, and `after(grid)`."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def launch(kernel: Any, grid: tuple[int, ...], named: dict[str, Any]) -> None:
    """Launches a kernel in the interpreter, with all arguments by name."""
    _launched(kernel, grid, (), named)


def recording_if_used() -> AbstractContextManager[list[dict[str, Any]]]:
    """`recording` where this process runs Triton kernels, an empty list elsewhere."""
    return recording() if _installed else nullcontext([])


def _interprets() -> bool:
    return bool(_recordings) or not has_gpu()


def interpreted(function: Any) -> Any:
    """The function that the interpreter runs for a kernel or a device function, rewritten from its source once."""
    from triton.runtime.interpreter import InterpretedFunction

    known = _interpreted.get(function.fn)
    if known is None:
        known = _interpreted[function.fn] = InterpretedFunction(function.fn)
    return known.rewrite()


def _launched(kernel: Any, grid: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Runs every program of a launch in the interpreter, one after another, and counts it."""
    import triton
    from triton.runtime.errors import InterpreterError
    from triton.runtime.interpreter import GridExecutor

    from gpulab.trace.triton import origins

    name, shape = kernel.fn.__name__, grid if callable(grid) else _grid(kernel.fn.__name__, grid)
    names = list(inspect.signature(kernel.fn).parameters)
    _require_language(kernel.fn, {**dict(zip(names, arguments, strict=False)), **named})
    with _quiet():
        places = compiled.require(kernel, arguments, named)
    deadline = time.thread_time() + accesses.SECONDS
    programs = Programs(name, kernel.fn.__code__.co_filename, deadline, compiled=places)
    function = interpreted(kernel)
    for one in _observers:
        parameters = inspect.signature(kernel.fn).parameters.items()
        defaults = {key: its.default for key, its in parameters if its.default is not its.empty}
        given = {**defaults, **dict(zip(names, arguments, strict=False)), **named}
        one.before(kernel, {key: given[key] for key in names if key in given})

    class Executor(GridExecutor):
        """Notes where the tensors lie that the interpreter works on: copies in the host's memory, on a GPU machine."""

        def _init_args_hst(self, args_dev: Any, kwargs: Any) -> Any:
            host, named_host = super()._init_args_hst(args_dev, kwargs)
            tensors = _tensors({**dict(zip(names, host, strict=False)), **named_host})
            given = _tensors({**dict(zip(names, args_dev, strict=False)), **kwargs})
            origins.taken([(key, value, tensors[key]) for key, value in given.items()])
            programs.memories = tuple(_memory(key, one) for key, one in tensors.items() if hasattr(one, "data_ptr"))
            return host, named_host

    def sized(meta: dict[str, Any]) -> tuple[int, ...]:
        programs.grid = _three(_grid(name, shape(meta) if callable(shape) else shape))
        return programs.grid

    accesses.running.append(programs)
    try:
        with _quiet(), triton.knobs.runtime.scope(), _language():
            triton.knobs.runtime.interpret = True
            Executor(function, names, sized)(*arguments, **named)
    except InterpreterError as error:
        raise _explained(name, error) from None
    finally:
        accesses.running.remove(programs)
    for one in _observers:
        one.after(programs.grid)
    for found in _recordings:
        found.append(programs.summary())


def _require_language(function: Any, given: dict[str, Any]) -> None:
    """Passes if a compiler would take the kernel and its arguments; the interpreter takes any Python."""
    language.require(function, function.__name__)
    for name, value in given.items():
        if not language.allowed(value):
            what = f"Kernel '{function.__name__}' was given {name} of type {type(value).__name__}"
            raise LaunchError(f"{what}. It takes tensors and single numbers.")


@contextmanager
def _quiet() -> Iterator[None]:
    """A GPU warns of no overflow; and what the interpreter does with tensors is not the student's doing."""
    before = [mode.paused for mode in _modes]
    for mode in _modes:
        mode.paused = True
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for mode, paused in zip(_modes, before, strict=True):
            mode.paused = paused


@contextmanager
def _language() -> Iterator[None]:
    """Triton's language as the interpreter needs it, for the kernel and for the standard library (`tl.sum`)."""
    import triton.language as tl
    from triton.runtime.interpreter import _patch_lang

    scope = _patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    try:
        yield
    finally:
        if scope is not None:
            scope.restore()


def _explained(kernel: str, error: BaseException) -> TraceError:
    """What went wrong in a kernel, with its line."""
    cause = error.__cause__ or error
    while type(cause).__name__ == "InterpreterError" and cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(cause, TraceError):
        return cause
    return LaunchError(f"Kernel '{kernel}' failed in Triton's interpreter: {type(cause).__name__}: {cause}")


def _grid(kernel: str, grid: Any) -> tuple[int, ...]:
    if isinstance(grid, int):
        comma = f"a grid is a tuple, so write {kernel}[({grid},)](…), with the comma."
        raise LaunchError(f"{kernel} was launched with the grid {grid!r}, a number: {comma}")
    sizes = grid if isinstance(grid, (tuple, list)) else (grid,)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(size, int) and size > 0 for size in sizes):
        remedy = f"{kernel}[(programs,)](…) takes one to three positive numbers of program instances."
        if any(isinstance(size, int) and size == 0 for size in sizes):
            remedy += " Was the number rounded down? triton.cdiv rounds up."
        raise LaunchError(f"{kernel} was launched with the grid {grid!r}: {remedy}")
    return tuple(sizes)


def _three(grid: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*grid, 1, 1)[:3]
    return x, y, z


def _tensors(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a launch, with the tensor in place of a tensor descriptor that the host made of it."""
    return {name: one if hasattr(one, "data_ptr") else getattr(one, "base", one) for name, one in given.items()}


def _memory(name: str, tensor: Any) -> ArgumentMemory:
    """The bytes that a tensor's elements lie in."""
    size = int(tensor.element_size())
    last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride(), strict=True))
    start = int(tensor.data_ptr())
    shape = tuple(map(int, tensor.shape)) if tensor.is_contiguous() else ()
    return ArgumentMemory(name, start, start + (last + 1) * size if tensor.numel() else start, size, shape)


def _hook_tensor(interpreter: Any) -> None:
    """Gives the interpreter's tensors the methods that they have in a compiled kernel only, such as `x.sum(axis=0)`.

    And `range` takes a number of the interpreter's, an array of one element: NumPy 2.5 refuses what Triton 3.6 does.
    """
    from triton.runtime.jit import JITFunction

    patch = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))
        for name, function in list(vars(tensor).items()):
            if isinstance(function, JITFunction):
                scope.set_attr(tensor, name, _method(function))

    interpreter._patch_lang_tensor = patched


def _method(function: Any) -> Any:
    """A device function that takes the tensor on which it is called first."""
    return lambda self, *arguments, **named: function(self, *arguments, **named)
