"""Launches of Triton kernels are carried out again on other inputs, from the kernel's text alone."""

from __future__ import annotations

import linecache
import math
from typing import Any

import pytest
import torch

from gpulab.trace.errors import LaunchError
from gpulab.trace.triton import hook, origins
from grader.judging.counting import triton_replay
from grader.judging.counting.replay import Refused
from grader.judging.counting.triton_transcript import TritonTranscript

CELL = """\
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return 2 * x

@triton.jit
def kernel(x_ptr, out_ptr, n, by=note("default"), BLOCK: tl.constexpr = 16):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, twice(tl.load(x_ptr + at, mask=at < n)) + by, mask=at < n)
"""


def written(cell: str, x: Any, device: str | None = None, **more: Any) -> tuple[list[Any], Any, list[str]]:
    """The launch that this cell's kernel makes for x, where its result stands, and what ran when it was defined."""
    hook.install()
    noted: list[str] = []
    scope = {"__name__": "__main__", "note": lambda text: noted.append(text) or 0.5}
    linecache.cache["<cell>"] = (len(cell), None, cell.splitlines(keepends=True), "<cell>")
    exec(compile(cell, "<cell>", "exec", dont_inherit=True), scope)
    transcript = TritonTranscript((x,), {})
    with hook.recording(), hook.observed(transcript):
        out = torch.empty(len(x), device=device)
        scope["kernel"][(2,)](x, out, len(x), **more)  # type: ignore[index]
    return transcript.launches, transcript.result(out), noted


def test_the_kernel_computes_from_inputs_that_the_host_has_not_seen() -> None:
    launches, result, _ = written(CELL, torch.arange(20.0))
    value, counts = triton_replay.launched([CELL], launches, result, [torch.arange(20.0) + 100])
    assert value.tolist() == [2 * (x + 100) + 0.5 for x in range(20)]
    assert [(one["bytes_read"], one["lines"][0]["line"]) for one in counts] == [(80, 11)]


@pytest.mark.parametrize(
    ("outside", "factor", "value"),
    [
        ("import math", "math.sqrt(BLOCK)", 4),
        ("import math", "math.pi", math.pi),
        ("import math as m", "m.log2(BLOCK)", 4),
        ("import numpy as np", "np.pi", math.pi),
        ("import torch", "torch.pi", math.pi),
        ("LOG2E = tl.constexpr(1.5)", "LOG2E", 1.5),
        ("FACTORS = tl.constexpr((2.0, 3.0))", "FACTORS[1]", 3),
        ("from triton import language as language", "language.sqrt(4.0)", 2),
        ("import triton.language.math as tlm", "tlm.sqrt(4.0)", 2),
        ("KIND = tl.float32", "tl.full((BLOCK,), 3, KIND)", 3),
        ("KIND = tl.constexpr(tl.float32)", "tl.full((BLOCK,), 3, KIND)", 3),
        ("", "min(BLOCK, 3)", 3),
        ("", "float(3)", 3),
        ("", "triton.cdiv(BLOCK, 5)", 4),
        ("", "triton.language.cdiv(BLOCK, 5)", 4),
        ("", "tl.math.sqrt(4.0)", 2),
        ("", "tl.sum(tl.full((4,), 1.0, tl.float32), axis=0)", 4),
        ("", "tl.full((4,), 1.0, tl.float32).sum(axis=0)", 4),
    ],
)
def test_what_a_kernel_may_name_it_may_name_here(outside: str, factor: str, value: float) -> None:
    """What the language, the compiler, and the interpreter accept in a notebook."""
    cell = CELL.replace("@triton.jit", f"{outside}\n\n@triton.jit", 1)
    cell = cell.replace("twice(tl.load(x_ptr + at, mask=at < n))", f"({factor}) * tl.load(x_ptr + at, mask=at < n)")
    launches, result, _ = written(cell, torch.arange(20.0))
    found, _ = triton_replay.launched([cell], launches, result, [torch.arange(20.0) + 100])
    torch.testing.assert_close(found, value * (torch.arange(20.0) + 100) + 0.5)


def test_another_default_device_changes_nothing() -> None:
    """A page may make its tensors on the GPU by default; `meta` takes its place here, whose tensors have no values."""
    x = torch.arange(20.0)
    torch.set_default_device("meta")
    try:
        with origins.watching((x,), {}) as watched:
            launches, result, _ = written(CELL, x, device="cpu")
        value, _ = triton_replay.launched([CELL], launches, result, [x + 100])
    finally:
        torch.set_default_device(None)
    assert value.tolist() == [2 * (number + 100) + 0.5 for number in range(20)]
    assert watched.notes == []


def test_what_stands_in_the_head_of_a_kernel_does_not_run_again() -> None:
    """It would run where counts are taken."""
    launches, result, noted = written(CELL, torch.arange(20.0))
    assert noted
    before = len(noted)
    triton_replay.launched([CELL], launches, result, [torch.arange(20.0)])
    assert len(noted) == before


@pytest.mark.parametrize(
    "edit",
    [{"offset": -1}, {"offset": 1}, {"shape": [21]}, {"strides": [2]}, {"strides": [-1]}],
    ids=lambda edit: str(edit),
)
def test_a_transcript_that_reaches_beyond_its_memory_is_refused(edit: dict[str, Any]) -> None:
    launches, result, _ = written(CELL, torch.arange(20.0))
    launches[0]["arguments"]["out_ptr"]["tensor"] |= edit
    with pytest.raises(Refused):
        triton_replay.launched([CELL], launches, result, [torch.arange(20.0)])


@pytest.mark.parametrize(
    "form",
    [{"module": "os"}, {"member": ["os", "system"]}, {"member": ["triton", "runtime"]}, {"module": "triton.runtime"}],
)
def test_a_transcript_cannot_name_anything_of_the_hosts(form: dict[str, Any]) -> None:
    launches, result, _ = written(CELL, torch.arange(20.0))
    launches[0]["kernel"]["names"]["tl"] = form
    with pytest.raises(Refused):
        triton_replay.launched([CELL], launches, result, [torch.arange(20.0)])


def test_a_kernel_that_is_in_no_cell_is_refused() -> None:
    launches, result, _ = written(CELL, torch.arange(20.0))
    with pytest.raises(Refused, match="exercise's own cell"):
        triton_replay.launched(["import triton"], launches, result, [torch.arange(20.0)])


@pytest.mark.parametrize(
    ("words", "kind"),
    [("print.__self__", LaunchError), ("triton.runtime.build.compile_module_from_src(x, x)", Refused)],
)
def test_a_text_with_other_words_than_the_languages_is_refused(words: str, kind: type[Exception]) -> None:
    """Whatever the transcript says that they mean: Triton itself has a compiler of C, and loads what it compiles."""
    launches, result, _ = written(CELL, torch.arange(20.0))
    for one in (launches[0]["kernel"], launches[0]["kernel"]["names"]["twice"]["function"]):
        one["names"]["triton"] = {"module": "triton"}
    with pytest.raises(kind):
        triton_replay.launched([CELL.replace("2 * x", words)], launches, result, [torch.arange(20.0)])
