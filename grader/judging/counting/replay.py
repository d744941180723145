"""Carries out a transcript of launches in a process that has run nothing of the student's: counts, and results.

Only kernels come from the student, as text of the exercise's cell, and only those that Numba can translate for a GPU
run here: they can compute, and reach nothing of the process that counts. The inputs are ones that the student's process
has not seen. What the transcript says is checked, never believed.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import importlib
import inspect
import linecache
import math
import pickle
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.cuda_cpp import CudaCompileError
from gpulab.cuda_kernels import cuda_kernel
from gpulab.trace.errors import TraceError
from gpulab.trace.launch import launched, recording
from gpulab.trace.python.binding import global_names
from gpulab.trace.python.type_inference import CompilerMissingError, typecheck
from grader.judging.counting.kernel_forms import MODULES
from grader.judging.counting.transcript import arrays_of
from grader.model.syntax import syntax_tree
from grader.processes import wire

BUILTINS = (
    "abs", "bool", "complex", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow", "print", "range",
    "round", "sum", "tuple", "zip",
)  # fmt: skip
"""Of Python's own names, those that Numba knows in kernels."""
MOST_BYTES = 2_000_000_000
"""Of all buffers of a transcript."""

Bytes = NDArray[np.uint8]


class Refused(Exception):
    """The transcript cannot be carried out; the text is for the student."""


def answer(request: dict[str, Any], buffers: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
    """Carries out a transcript for the judge: the handler of `student` for it."""
    launches, result, arguments, named = wire.decode(request["replay"], buffers)
    out: list[wire.Buffer] = []
    try:
        if request["kind"] == "streams":
            from grader.judging.counting import stream_replay

            value, counts = stream_replay.carried_out(launches, result, [*arguments, named])
        elif request["kind"] == "triton":
            from grader.judging.counting import triton_replay  # with Triton, which takes a moment

            given, key = arrays_of(arguments, named), request["dot_key"]
            value, counts = triton_replay.launched(request["sources"], launches, result, given, key)
        else:
            replay = Replay(request["sources"], arrays_of(arguments, named), own_bytes(launches, result))
            counts = [replay.launch(one) for one in launches]
            value = replay.value(result) if result is not None else None
        return {"value": wire.encode((value, counts), out)}, out
    except Refused as error:
        return {"refused": str(error)}, []
    except (CudaCompileError, TraceError) as error:
        return {"error": [type(error).__name__, str(error), ""]}, []
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        return {"refused": f"its launches cannot be carried out again ({type(error).__name__}: {error})"}, []


class Replay:
    """The memory and the kernels of one transcript.

    Args:
        sources: the cells that the student's process ran, the exercise's own first.
        given: the call's arrays, of which these are copies from here on.
        own: `own_bytes` of the transcript.
    """

    def __init__(self, sources: Sequence[str], given: Sequence[Any], own: Mapping[int, int] | None = None) -> None:
        self._sources, self._own = sources, dict(own or {})
        self._buffers: dict[int, Bytes] = {}
        self._functions: dict[bytes, FunctionType] = {}
        for number, value in enumerate(given):
            array = value.detach().cpu().numpy() if hasattr(value, "untyped_storage") else value
            self._buffers[number] = np.frombuffer(array.tobytes(), np.uint8).copy()
            self._own[number] = min(self._own.get(number, array.itemsize), array.itemsize)

    # --------------------------------------------------------------------------------------------------------- memory

    def _host_write(self, one: dict[str, Any]) -> None:
        """What the host did to a buffer before a launch."""
        size = int(one["bytes"])
        if "copy_of" in one and "made" not in one:  # two elements that were copied as one are still two
            self._own[one["buffer"]] = min(self._own[number] for number in (one["buffer"], one["copy_of"]))
        if size + sum(buffer.nbytes for buffer in self._buffers.values()) > MOST_BYTES:
            raise Refused("its arrays take too much memory")
        if "made" in one:
            content = _padded(self._buffers[one["copy_of"]], one)
        elif "copy_of" in one:
            content = self._buffers[one["copy_of"]].copy()
        elif "filled" in one:
            content = np.frombuffer(one["filled"] * (size // max(len(one["filled"]), 1)), np.uint8).copy()
        else:
            content = np.frombuffer(one["written"], np.uint8).copy()
        if content.nbytes != size:
            raise Refused("its transcript contradicts itself")
        known = self._buffers.get(one["buffer"])
        if known is not None and known.nbytes == size:
            known[:] = content  # in place: the tracer tells buffers by their addresses
        else:
            self._buffers[one["buffer"]] = content

    def _array(self, form: dict[str, Any]) -> NDArray[Any]:
        dtype = np.dtype(form["type"])
        if dtype.hasobject:
            raise Refused("a kernel takes arrays of numbers")
        buffer = self._buffers.setdefault(form["buffer"], np.empty(0, np.uint8))
        return np.ndarray(tuple(form["shape"]), dtype, buffer, form["offset"], tuple(form["strides"]))

    def value(self, form: dict[str, Any]) -> Any:
        """What the call returned, taken from the buffers as they are now."""
        if "items" in form:
            items = [self.value(item) for item in form["items"]]
            return tuple(items) if form["tuple"] else items
        array = self._array(form["array"]).copy(order="K")
        if "as" in form:
            with np.errstate(all="ignore"):
                array = array.astype(np.dtype(form["as"]))
        if "python" in form:
            return {"int": int, "float": float, "complex": complex}[form["python"]](array[()])
        return array[()] if not array.shape else array

    # --------------------------------------------------------------------------------------------------------- kernels

    def launch(self, one: dict[str, Any]) -> dict[str, Any]:
        """Makes one launch. Gives its counts, as `Trace.summary` does."""
        from numba import cuda

        for write in one["host_writes"]:
            self._host_write(write)
        if "cpp" in one["kernel"]:
            return self._launch_cpp(one)
        kernel = cuda.jit(self._function(one["kernel"]))
        arguments = [self._array(form["array"]) if "array" in form else form["value"] for form in one["arguments"]]
        with suppress(CompilerMissingError):
            typecheck(kernel, *arguments)  # before it runs as Python, which can do more than a kernel
        trace = launched(kernel, tuple(one["grid"]), tuple(one["block"]), arguments, one["shared_bytes"])
        names = inspect.signature(kernel.py_func).parameters
        return self._in_own_elements(trace.summary(), names, one["arguments"])

    def _launch_cpp(self, one: dict[str, Any]) -> dict[str, Any]:
        text, name = str(one["kernel"]["cpp"]), str(one["kernel"]["name"])
        arguments = [self._array(form["array"]) if "array" in form else form["value"] for form in one["arguments"]]
        for place, form in enumerate(one["arguments"]):
            if self._several(form) > 1:  # C sees bytes, whatever the array is of; its accesses count in elements of it
                arguments[place] = arguments[place].view(f"u{self._own[form['array']['buffer']]}")
        with recording() as traces:
            cuda_kernel(text, name)[tuple(one["grid"]), tuple(one["block"]), one["shared_bytes"]](*arguments)
        return traces[0].summary()

    def _several(self, form: dict[str, Any]) -> int:
        """How many elements of an array the host has passed as one."""
        if "array" not in form:
            return 1
        return int(np.dtype(form["array"]["type"]).itemsize // max(1, self._own.get(form["array"]["buffer"], 1 << 30)))

    def _in_own_elements(
        self, summary: dict[str, Any], names: Iterable[str], passed: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        """The counts of a launch in elements as its arrays have them: the host may have passed two of them as one."""
        for name, form in zip(names, passed, strict=False):
            several = self._several(form)
            for line in summary["lines"] if several > 1 else ():
                if (line["array"], line["space"]) == (name, "global"):
                    summary[TOTALS[line["kind"]]] += line["elements"] * (several - 1)
                    line["elements"] *= several
                    line["element_bytes"] //= several
        return summary

    def _function(self, form: dict[str, Any]) -> FunctionType:
        key = pickle.dumps(form)
        if key not in self._functions:
            self._functions[key] = self._made(form)
        return self._functions[key]

    def _made(self, form: dict[str, Any]) -> FunctionType:
        """A kernel or device function, compiled from its text in the cell, whose names mean what they meant there."""
        name, line = str(form["name"]), int(form["line"])
        found = [(source, definition(source, name, line)) for source in self._sources]
        source, node = next(((source, node) for source, node in found if node is not None), ("", None))
        if node is None:
            raise Refused(f"the kernel '{name}' is not defined by a def in the exercise's own cell")
        scope = {known: self._meaning(value) for known, value in form["globals"].items()}
        free = {known: self._meaning(value) for known, value in form["free"].items()}
        file = f"<cell {self._sources.index(source)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        function: FunctionType = _compiled(node, tuple(free), file, {**scope, "__name__": "__main__"})(*free.values())
        function.__defaults__ = tuple(map(self._meaning, form["defaults"])) or None
        for known in global_names(function.__code__):
            if known not in scope and hasattr(builtins, known) and not _of_kernels(known):
                raise Refused(f"the kernel '{name}' uses '{known}', which no GPU knows")
        return function

    def _meaning(self, form: dict[str, Any]) -> Any:
        """The value that a name in a kernel has."""
        from numba import cuda

        if "function" in form:
            return cuda.jit(device=True)(self._function(form["function"]))
        if "module" in form:
            return _module(form["module"])
        if "member" in form:
            module, name = form["member"]
            if name.startswith("_"):
                raise Refused(f"a kernel cannot use {module}.{name}")
            return getattr(_module(module), name)
        return np.dtype(form["dtype"]) if "dtype" in form else form["value"]


TOTALS = {"load": "global_reads", "store": "global_writes", "atomic": "global_atomics"}
"""Kind of an access → where a summary has the number of all elements."""


def own_bytes(launches: Sequence[dict[str, Any]], result: dict[str, Any] | None) -> dict[int, int]:
    """For each buffer the bytes of the smallest element that the host takes its memory for: buffer → bytes."""
    forms = [form["array"] for launch in launches for form in launch["arguments"] if "array" in form]
    waiting = [result] if result is not None else []
    while waiting:
        one = waiting.pop()
        forms += [one["array"]] if "array" in one else []
        waiting += one.get("items", [])
    found: dict[int, int] = {}
    for form in forms:
        size = np.dtype(form["type"]).itemsize
        found[form["buffer"]] = min(found.get(form["buffer"], size), size)
    return found


def _padded(given: Bytes, one: dict[str, Any]) -> Bytes:
    """The content of an array that the host has made from an argument, by another type or by padding."""
    (given_type, given_shape), (made_type, made_shape) = one["given"], one["made"]
    old = given.view(np.dtype(given_type)).reshape(given_shape)
    if np.dtype(made_type).itemsize * math.prod(made_shape) != int(one["bytes"]):
        raise Refused("its transcript contradicts itself")
    made = np.empty(made_shape, np.dtype(made_type))
    if one["filled"]:
        made[...] = np.frombuffer(one["filled"], made.dtype)[0]
    with np.errstate(all="ignore"):
        made[tuple(slice(0, extent) for extent in old.shape)] = old.astype(made.dtype)
    return made.reshape(-1).view(np.uint8)


def _of_kernels(name: str) -> bool:
    """Whether a kernel may use this name of Python's own."""
    value = getattr(builtins, name)
    return name in BUILTINS or (isinstance(value, type) and issubclass(value, Exception))


def _module(name: str) -> Any:
    if name not in MODULES:
        raise Refused(f"a kernel cannot use the module {name}")
    return importlib.import_module(name)


def definition(source: str, name: str, line: int) -> ast.FunctionDef | None:
    """The `def` of that name whose first line, a decorator's if it has one, is this one."""
    for node in _definitions(source):
        if node.name == name and min([node.lineno, *(one.lineno for one in node.decorator_list)]) == line:
            return copy.deepcopy(node)
    return None


@functools.lru_cache(maxsize=64)
def _definitions(source: str) -> tuple[ast.FunctionDef, ...]:
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        tree = syntax_tree(TransformerManager().transform_cell(source))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _compiled(node: ast.FunctionDef, free: tuple[str, ...], file: str, scope: dict[str, Any]) -> Any:
    """A function that takes the values of free names and gives the kernel; nothing of the student's runs in it."""
    for part in ast.walk(node):
        if isinstance(part, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
            raise Refused(f"the kernel '{node.name}' has a statement that no GPU knows in line {part.lineno}")
        if isinstance(part, ast.Attribute) and part.attr.startswith("_"):
            raise Refused(f"the kernel '{node.name}' uses '{part.attr}', which no GPU knows")
        if isinstance(part, ast.arg):
            part.annotation = None
    node.decorator_list, node.returns, node.args.defaults, node.args.kw_defaults = [], None, [], []
    if node.args.kwonlyargs:
        raise Refused(f"the kernel '{node.name}' has parameters that can only be named")
    made = syntax_tree(f"def make({', '.join(free)}):\n    return {node.name}")
    outer = made.body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body.insert(0, node)
    exec(compile(made, file, "exec"), scope)
    return scope.pop("make")
