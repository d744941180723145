"""Counts and checks what a Triton kernel does in the interpreter: every load, store, atomic operation, and `tl.dot`."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpulab.trace.errors import EndlessKernelError
from gpulab.trace.ptx.tensor_cores import product
from gpulab.trace.triton import repairs
from gpulab.trace.triton.counts import Programs

SECONDS = 7.0
"""Of CPU time that a launch may take in the interpreter; a test waits ten seconds for a call."""
running: list[Programs] = []
"""The launch that the interpreter is in."""
_dot_keys: list[int] = []
"""Of the blocks of `dots_with` that are running; the innermost one counts."""


@contextmanager
def dots_with(key: int) -> Iterator[None]:
    """Has `tl.dot` multiply each product by a number of its own in the block, unless the key is 0."""
    _dot_keys.append(key)
    try:
        yield
    finally:
        _dot_keys.pop()


def install(interpreter: Any) -> None:
    """Has every load, store, atomic operation and `tl.dot` of the interpreter counted before it is made."""
    builder = type(interpreter.interpreter_builder)
    load, store, dot = builder.create_masked_load, builder.create_masked_store, builder.create_dot
    update, exchange = builder.create_atomic_rmw, builder.create_atomic_cas

    def everywhere(ptrs: Any) -> Any:
        return interpreter.TensorHandle(np.ones_like(ptrs.data, dtype=bool), interpreter.tl.int1)

    def bare_load(self: Any, ptrs: Any, *rest: Any) -> Any:
        _access(ptrs, None, "load")
        return load(self, ptrs, everywhere(ptrs), None, *rest)

    def bare_store(self: Any, ptrs: Any, value: Any, *rest: Any) -> Any:
        _access(ptrs, None, "store")
        return store(self, ptrs, value, everywhere(ptrs), *rest)

    def counted_load(self: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        _access(ptrs, mask, "load")
        if other is None and mask is not None and not np.all(mask.data):
            other = _rubbish(interpreter, ptrs)
        return load(self, ptrs, mask, other, *rest, **named)

    def counted_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        _access(ptrs, mask, "store")
        return store(self, ptrs, value, mask, *rest, **named)

    def counted_update(self: Any, operation: Any, ptr: Any, value: Any, mask: Any, *rest: Any) -> Any:
        _access(ptr, mask, "atomic")
        return update(self, operation, ptr, value, mask, *rest)

    def counted_exchange(self: Any, ptr: Any, *rest: Any) -> Any:
        _access(ptr, None, "atomic")
        return exchange(self, ptr, *rest)

    def counted_dot(self: Any, a: Any, b: Any, sums: Any, *rest: Any) -> Any:
        if running:
            running[-1].dot(a, b, sums)
        a, b = repairs.widened(a), repairs.widened(b)
        found = dot(self, a, b, sums, *rest)
        if key := _dot_keys[-1] if _dot_keys else 0:
            one, two = (np.asarray(factor.data, np.float64) for factor in (a, b))
            made = product(one, two, key) if one.ndim == 2 else np.stack(
                [product(*pair, key) for pair in zip(one, two, strict=True)]
            )  # fmt: skip
            found.data = (made + sums.data).astype(found.data.dtype)
        return found

    checked = interpreter.TensorHandle.__post_init__

    def measured(self: Any) -> None:
        checked(self)
        if running:
            running[-1].largest_value = max(running[-1].largest_value, int(np.size(self.data)))

    interpreter.TensorHandle.__post_init__ = measured
    builder.create_load, builder.create_store = bare_load, bare_store  # theirs have a mask that is true everywhere
    builder.create_masked_load, builder.create_masked_store = counted_load, counted_store
    builder.create_atomic_rmw, builder.create_atomic_cas = counted_update, counted_exchange
    builder.create_dot = counted_dot


def _access(ptrs: Any, mask: Any, kind: str) -> None:
    if running:
        from triton.runtime.interpreter import _get_np_dtype, interpreter_builder

        launch = running[-1]
        if time.thread_time() > launch.deadline:
            raise EndlessKernelError(_too_slow(launch))
        line, program = _line(launch.file), interpreter_builder.grid_idx
        size = _get_np_dtype(ptrs.get_element_ty()).itemsize
        launch.access(ptrs.data, None if mask is None else mask.data, kind, line, program, size)


def _too_slow(programs: Programs) -> str:
    """What to say of a launch that has used up its time."""
    total = math.prod(programs.grid)
    size = f"{total:,} program{'s' if total > 1 else ''}, blocks of at most {programs.largest_block:,} elements"
    cure = "Let each program handle a larger block, and see that its loops come to an end."
    return f"Kernel '{programs.kernel}' was stopped after {SECONDS:g} s in the interpreter: {size}. {cure}"


def _line(file: str) -> int:
    """The line of the kernel that is being run."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == file:
            return int(frame.f_lineno)
        frame = frame.f_back
    return 0


def _rubbish(interpreter: Any, ptrs: Any) -> Any:
    """What a load without `other` gives where its mask is false: NaN, or the lowest integer."""
    kind = ptrs.get_element_ty()
    shown = interpreter._get_np_dtype(kind)
    if shown.kind == "f":
        value: Any = np.nan
    elif kind.is_floating():  # bfloat16 and float8 are stored as integers; all bits but the sign are NaN
        value = np.iinfo(shown).max >> 1
    else:
        value = np.iinfo(shown).min if shown.kind == "i" else 0
    return interpreter.TensorHandle(np.full(np.shape(ptrs.data), value, shown), kind)
