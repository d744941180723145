"""Carries out the launch of a Triton kernel in a process that has run nothing of the student's: counts, and result.

As `replay` does for Numba's kernels. Of the student's there is only the kernel's text, in Triton's language: it can
compute, and reaches nothing of the process that counts. The inputs are ones that the host code has not seen.
"""

from __future__ import annotations

import ast
import importlib
import linecache
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import torch

from gpulab.trace.triton import accesses, hook
from grader.judging.counting.replay import MOST_BYTES, Refused, definition


def launched(
    sources: Sequence[str], launches: list[Any], result: Any, given: Sequence[Any], dot_key: int = 0
) -> tuple[Any, list[Any]]:
    """The value and the counts that these launches come to, for these tensors.

    Raises:
        Refused, TraceError: see `replay.answer`.
    """
    hook.install()
    replay = TritonReplay(sources, given)
    with hook.recording() as found, accesses.dots_with(dot_key):
        for one in launches:
            replay.launch(one)
    counts = [one for one in found if one.get("kind") == "triton"]
    return replay.value(result) if result is not None else None, counts


class TritonReplay:
    """The memory and the kernels of one transcript.

    Args:
        sources: the cells that the student's process ran, the exercise's own first.
        given: the call's tensors, of which these are copies from here on.
    """

    def __init__(self, sources: Sequence[str], given: Sequence[Any]) -> None:
        self._sources = sources
        self._memories = [one.detach().cpu().contiguous().clone().untyped_storage() for one in given]
        self._functions: dict[str, Any] = {}

    def launch(self, one: dict[str, Any]) -> None:
        """Makes one launch."""
        for made in one["made"]:
            size, item = int(made["bytes"]), bytes(made["item"])
            if made["number"] != len(self._memories) or size + sum(map(len, self._memories)) > MOST_BYTES:
                raise Refused("its transcript contradicts itself, or takes too much memory")
            content = bytearray((item or b"\0") * (size // max(len(item), 1) + 1))[:size]
            memory = torch.empty(size, dtype=torch.uint8, device="cpu")
            if size:
                memory.copy_(torch.frombuffer(content, dtype=torch.uint8))
            self._memories.append(memory.untyped_storage())
        named = {str(name): self._meaning(form) for name, form in one["arguments"].items()}
        hook.launch(self._function(one["kernel"]), tuple(int(size) for size in one["grid"]), named)

    def value(self, form: dict[str, Any]) -> Any:
        """What the call returned, as the launches left it."""
        if "items" in form:
            items = [self.value(item) for item in form["items"]]
            return tuple(items) if form["tuple"] else items
        return self._tensor(form).clone(memory_format=torch.contiguous_format)

    def _tensor(self, form: dict[str, Any]) -> Any:
        empty = torch.empty(0, dtype=form["type"], device="cpu")
        shape, strides, offset = tuple(form["shape"]), tuple(form["strides"]), int(form["offset"])
        last = offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
        memory = self._memories[form["memory"]]
        inside = min((*strides, offset, 0)) >= 0 and (last + 1) * empty.element_size() <= len(memory)
        if 0 not in shape and not inside:  # set_ would make the memory larger
            raise Refused("its transcript contradicts itself")
        return empty.set_(memory, offset, shape, strides)

    def _meaning(self, form: dict[str, Any]) -> Any:
        """What a name in a kernel, or an argument of it, stands for."""
        import triton
        import triton.language as tl

        if "tensor" in form:
            return self._tensor(form["tensor"])
        if "descriptor" in form:
            from triton.tools.tensor_descriptor import TensorDescriptor

            lists = (form[name] for name in ("shape", "strides", "block_shape"))
            return TensorDescriptor(self._meaning(form["descriptor"]), *lists, form["padding"])
        if "reinterpreted" in form:
            return triton.reinterpret(self._meaning(form["reinterpreted"]), getattr(tl, _public(form["as"])))
        if "tuple" in form:
            return tuple(map(self._meaning, form["tuple"]))
        if "function" in form:
            return self._function(form["function"])
        if "module" in form:
            return _module(form["module"])
        if "member" in form:
            module, member = form["member"]
            if module == "triton" and member not in OF_TRITON:
                raise Refused(f"a kernel cannot use triton.{member}")
            return getattr(_module(module), _public(member))
        if "constexpr" in form:
            return tl.constexpr(self._meaning(form["constexpr"]))
        return tl.dtype(form["type"]) if "type" in form else form["value"]

    def _function(self, form: dict[str, Any]) -> Any:
        """A kernel or device function, made from its text in the cell, whose names mean what they meant there."""
        import triton
        import triton.language as tl

        name, line = str(form["name"]), int(form["line"])
        key = f"<kernel {name} in line {line}>"
        if key not in self._functions:
            found = ((source, definition(source, name, line)) for source in self._sources)
            source, node = next(((source, node) for source, node in found if node is not None), ("", None))
            if node is None:
                raise Refused(f"the kernel '{name}' is not defined by a def in the exercise's own cell")
            _require_language(node, form["names"])
            text = _plain_text(source, node)
            linecache.cache[key] = (len(text), None, text.splitlines(keepends=True), key)
            scope = {known: self._meaning(value) for known, value in form["names"].items()}
            scope |= {"__name__": "__main__", CONSTANT: tl.constexpr}
            exec(compile(text, key, "exec", dont_inherit=True), scope)
            function = scope[name]
            if not isinstance(function, FunctionType):
                raise Refused(f"the kernel '{name}' is no function")
            self._functions[key] = triton.jit(function)
        return self._functions[key]


LANGUAGE = "triton.language"
OF_TRITON = ("cdiv", "language", "next_power_of_2")
"""What a kernel may take from `triton` itself."""
OF_NUMBERS = ("math", "numpy", "torch")
"""Modules whose numbers a kernel may name; `gpulab.trace.triton.language` lets nothing else of them through."""
CONSTANT = "constexpr"
"""What `tl.constexpr` is called in the head of a kernel."""


def _plain_text(source: str, node: ast.FunctionDef) -> str:
    """A function's text on the lines of its cell, without decorators, defaults and annotations: those run at once."""
    from IPython.core.inputtransformer2 import TransformerManager

    lines = TransformerManager().transform_cell(source).splitlines()
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs:
        raise Refused(f"the kernel '{node.name}' has other parameters than Triton's kernels have")
    first, last = node.body[0].lineno, node.end_lineno or node.body[-1].lineno
    indent = node.body[0].col_offset
    if first <= node.lineno or lines[first - 1][:indent].strip():
        raise Refused(f"the kernel '{node.name}' has no body of its own lines")
    names = [one.arg + (f": {CONSTANT}" if _is_constant(one.annotation) else "") for one in given.args]
    body = [
        line[node.col_offset :] if not line[: node.col_offset].strip() else line for line in lines[first - 1 : last]
    ]
    head = f"def {node.name}({', '.join(names)}):"
    return "\n".join([*[""] * (first - 2), head, *body, ""])


def _is_constant(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation).rpartition(".")[2] == "constexpr"


def _require_language(node: ast.FunctionDef, names: dict[str, Any]) -> None:
    """Refuses what `gpulab.trace.triton.language` lets through, of Triton's but not of its language: its C compiler."""
    roots = {name for name, form in names.items() if form == {"module": "triton"}}
    attributes = [part for one in node.body for part in ast.walk(one) if isinstance(part, ast.Attribute)]
    for part in attributes:
        if isinstance(part.value, ast.Name) and part.value.id in roots and part.attr not in OF_TRITON:
            raise Refused(f"the kernel '{node.name}' uses triton.{part.attr}, which no GPU knows")


def _public(name: str) -> str:
    if not str(name).isidentifier() or str(name).startswith("_"):
        raise Refused(f"a kernel cannot use '{name}'")
    return str(name)


def _module(name: str) -> Any:
    if name not in (*OF_NUMBERS, "triton", LANGUAGE) and not str(name).startswith(f"{LANGUAGE}."):
        raise Refused(f"a kernel cannot use the module {name}")
    return importlib.import_module(str(name))
