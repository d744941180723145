"""Our own tensors name their device where a student's default may hold: a page makes the GPU the default one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

from grader.processes import wire

ROOT = Path(__file__).resolve().parents[1]
BESIDE_STUDENTS = (
    *("gpulab/trace", "gpulab/ranks", "gpulab/forkserver", "gpulab/streams"),
    *("grader/judging", "grader/processes"),
)
"""Packages that run in a student's process, or in one that runs a page's imports."""
FACTORIES = {
    *("empty", "zeros", "ones", "full", "arange", "linspace", "eye", "tensor", "as_tensor", "asarray", "scalar_tensor"),
    *("rand", "randn", "randint", "randperm", "empty_strided"),
}


def without_a_device(source: str) -> list[int]:
    """Lines that make a tensor wherever the default device is."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "torch"
        and node.func.attr in FACTORIES
        and "device" not in {one.arg for one in node.keywords}
        and None not in {one.arg for one in node.keywords}  # **named may hold it
    ]


@pytest.mark.parametrize("package", BESIDE_STUDENTS)
def test_every_tensor_has_its_device(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    assert paths
    found = {str(path.relative_to(ROOT)): without_a_device(path.read_text(encoding="utf-8")) for path in paths}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_scan_finds_one() -> None:
    assert without_a_device("x = 1\ny = torch.empty(0, dtype=torch.uint8)") == [2]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (2, 2)])
def test_what_is_sent_arrives_where_it_was(shape: tuple[int, ...]) -> None:
    buffers: list[wire.Buffer] = []
    sent = wire.encode(torch.zeros(shape, device="cpu"), buffers)
    torch.set_default_device("meta")
    try:
        arrived = wire.decode(sent, [bytearray(one) for one in buffers])
    finally:
        torch.set_default_device(None)
    assert (arrived.device.type, tuple(arrived.shape)) == ("cpu", shape)
