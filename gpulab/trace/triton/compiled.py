"""Whether Triton's compiler accepts a kernel: its first step, from Python to Triton's intermediate form, needs no GPU.

The interpreter runs every program as Python, including what no compiler accepts: a number that becomes a block in a
loop, factors of `tl.dot` whose shapes do not fit, a load of a block through a pointer to a number.
"""

from __future__ import annotations

import ast
import functools
import re
from typing import Any

from gpulab.trace.errors import LaunchError
from gpulab.trace.triton import branches, language

TARGET = ("cuda", 90, 32)
"""For which GPU: backend, compute capability, threads of a warp. The same wherever the interpreter runs, so
that a kernel is accepted by all such machines or by none."""
HINTS = {
    "equal reduction dimensions": "The second needs as many rows as the first has columns: must tl.trans turn it?",
    "'int' object has no attribute": "Is it an argument of the kernel? One whose value is 1 becomes a plain Python"
    " number: convert it by arithmetic, such as n * 1.0, which works for every value.",
    "incompatible dimensions": "The shapes of two blocks do not fit: does one need [:, None] or [None, :]?",
}
"""Words of the compiler → what to say as well."""
_taken: dict[tuple[Any, ...], frozenset[branches.Place]] = {}
"""Kernels with the types and constants for which they were compiled → what the compiler visited of them."""


def require(kernel: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> frozenset[branches.Place]:
    """Passes if Triton compiles a kernel for these arguments, as a launch on a GPU does first.

    Returns what the compiler has visited of the kernel and of the functions that it calls.

    Args:
        kernel: marked with `@triton.jit`.
        arguments: of its launch, by position.
        named: by name; including options of the compiler, such as `num_warps`.

    Raises:
        LaunchError: the compiler refuses it; with its reason, and the line in the kernel.
    """
    from triton.compiler import ASTSource
    from triton.compiler.errors import CompilationError
    from triton.runtime.jit import create_function_from_signature

    backend = _backend()
    bound, specialization, options = create_function_from_signature(kernel.signature, kernel.params, backend)(
        *arguments, **named
    )
    key = (kernel.fn, repr(specialization), repr(options))
    if key in _taken:
        return _taken[key]
    options, signature, constants, attributes = kernel._pack_args(backend, named, bound, specialization, options)
    try:
        with branches.noted() as places:
            _intermediate(ASTSource(kernel, signature, constants, attributes), backend, options)
    except CompilationError as error:
        raise _refused(kernel, error) from None
    return _taken.setdefault(key, frozenset(places))


@functools.cache
def _backend() -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    return make_backend(GPUTarget(*TARGET))


def _intermediate(source: Any, backend: Any, options: Any) -> Any:
    """The kernel in TTIR."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    functions, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    return source.make_ir(backend.target, options, functions, modules, context)


def _refused(kernel: Any, error: Any) -> LaunchError:
    """In the words of the compiler, with the line in the kernel."""
    cause = error
    while isinstance(cause.__cause__, type(error)) and not cause.error_message:  # raised in a device function
        cause = cause.__cause__
    reason = _words(cause.error_message or type(cause).__name__)
    reason += "".join(f". {hint}" for words, hint in HINTS.items() if words in reason)
    line = kernel.fn.__code__.co_firstlineno - 2 + language.parsed(kernel.fn).lineno + error.node.lineno
    place = language.place(kernel.fn, line)
    return LaunchError(f"Triton's compiler refuses kernel '{kernel.fn.__name__}', {place}: {reason}", line)


def _words(reason: str) -> str:
    """The first line of an error message; Triton gives other exceptions by their `repr`."""
    if quoted := re.fullmatch(r"\w+\((['\"].*['\"])\)", reason.strip(), re.DOTALL):
        reason = str(ast.literal_eval(quoted[1]))
    return reason.strip().partition("\n")[0]
