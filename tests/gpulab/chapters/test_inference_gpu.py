"""The inference chapter's engines on a GPU: which runtime is there, what is not the student's fault, and how fast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnxruntime  # type: ignore[import-untyped] # it ships no types
import pytest
import torch
from onnx_files import exported, random_network

from gpulab.chapters.inference import engine_gpu as on_gpu
from gpulab.doctor import onnx_runtimes
from gpulab.measuring import devices
from gpulab.measuring.timing import Ratio
from grader.model.course import Course
from grader.model.notebooks import load_key
from grader.model.results import LACKING

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[3]
IMAGES = torch.randn(64, 3, 32, 32, generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="module")
def network() -> torch.nn.Sequential:
    """Made before `fake_gpu`, which makes tensors small."""
    return random_network()


@pytest.fixture
def no_tensorrt(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A GPU, and of the two runtimes only ONNX Runtime, of which nothing is known yet."""
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    monkeypatch.setattr(on_gpu, "has_gpu", lambda: True)
    monkeypatch.setattr(on_gpu.importlib.util, "find_spec", lambda name: None)
    onnx_runtimes.trouble.cache_clear()
    yield
    onnx_runtimes.trouble.cache_clear()


@pytest.mark.usefixtures("no_tensorrt")
def test_the_gpu_row_is_not_here_where_onnx_runtime_is_the_one_for_cpus() -> None:
    """The row itself, up to where it stops: before it has called anything of the student's."""
    row = next(one for one in load_key(Course(ROOT).chapter("09")).cells if one.grade_id == "accuracy_cost_gpu")
    with pytest.raises(on_gpu.NeedsPart, match="built without CUDA: 2 points are pending, not lost") as stopped:
        exec(row.source, {"accuracy_cost": None})
    assert stopped.value.cause == LACKING
    assert stopped.value.verdict == "needs a GPU"


@pytest.mark.usefixtures("no_tensorrt")
def test_a_session_that_fell_back_to_the_cpu_is_not_the_students_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ONNX Runtime is built with CUDA, loads none of it, and says nothing: the row must not time the CPU."""

    class OnTheCpu:
        def __init__(self, *_: Any, **__: Any) -> None:
            print("Failed to load libcublasLt.so.13")

        def get_providers(self) -> list[str]:
            return [onnx_runtimes.ON_CPU]

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [onnx_runtimes.ON_CUDA, onnx_runtimes.ON_CPU])
    monkeypatch.setattr(onnxruntime, "InferenceSession", OnTheCpu)
    monkeypatch.setattr(on_gpu, "_stream", lambda: SimpleNamespace(cuda_stream=1))
    assert on_gpu.runtime() == ""
    for stopped in (lambda: on_gpu.needs_runtime("2 points"), lambda: on_gpu.engine(b"a file")):
        with pytest.raises(on_gpu.NeedsPart, match=r"Failed to load libcublasLt.*not lost"):
            stopped()


@pytest.mark.gpu
def test_a_file_on_the_gpu_says_the_same(network: torch.nn.Sequential) -> None:
    if not on_gpu.runtime():
        pytest.skip("needs TensorRT, or an ONNX Runtime with CUDA")
    on_device = on_gpu.engine(exported(network))(IMAGES.to("cuda"))
    torch.testing.assert_close(on_device.float().cpu(), network(IMAGES), rtol=1e-2, atol=1e-2)


def test_files_that_a_runtime_refuses_are_left_out_unless_it_is_all(
    network: torch.nn.Sequential, monkeypatch: pytest.MonkeyPatch, fake_gpu: Any
) -> None:
    """With a GPU that is made up: an engine as slow as PyTorch, and one that cannot be built."""

    def built(content: bytes) -> Callable[[torch.Tensor], torch.Tensor]:
        if content == b"int8":
            raise ValueError("zero points")
        return lambda images: network(images)

    generator = torch.Generator
    monkeypatch.setattr(torch, "Generator", lambda *_: generator())
    monkeypatch.setattr(torch, "randn", lambda *_, **__: IMAGES[:2])
    monkeypatch.setattr(torch.nn.Module, "to", lambda module, *_: module)
    monkeypatch.setattr(on_gpu, "engine", built)
    monkeypatch.setattr(on_gpu, "race", lambda *_, **__: Ratio(0.5, 0.01, 15, "made up"))
    found = on_gpu.ratios({"float16": b"float16", "int8": b"int8"}, network, 3)
    assert {name: list(row) for name, row in found.items()} == {"float16": [1, 256]}
    with pytest.raises(AssertionError, match=r"refuses every file.*zero points"):
        on_gpu.ratios({"int8": b"int8"}, network, 3)
    monkeypatch.setattr(on_gpu, "race", lambda *_, **__: Ratio(0.5, 0.2, 15, "made up"))
    with pytest.raises(on_gpu.Noisy, match="grade again"):
        on_gpu.ratios({"float16": b"float16"}, network, 3)
