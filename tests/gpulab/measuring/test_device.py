"""`gpulab.measuring.devices`: where code runs, with and without a GPU."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from fake_gpu import FakeGPU

from gpulab import NeedsGPU, device, device_array, empty, needs_gpu, synchronize, to_numpy
from gpulab.measuring.devices import device_name

no_gpu_here = pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")


@no_gpu_here
def test_without_a_gpu_points_stay_pending() -> None:
    with pytest.raises(
        NeedsGPU, match=r"No GPU here: these points are pending, not lost\. This says nothing about your answer"
    ):
        needs_gpu()
    with pytest.raises(NeedsGPU, match="No GPU here: 3 points are pending"):
        needs_gpu("3 points")


def test_with_a_gpu_nothing_stops_the_cell(fake_gpu: FakeGPU) -> None:
    needs_gpu()
    assert device().type == "cuda"
    assert device_name() == "NVIDIA Fake"
    synchronize()
    assert fake_gpu.log == ["synchronize"]


@no_gpu_here
def test_cpu_is_named_with_its_cores() -> None:
    assert device().type == "cpu"
    assert re.search(r", \d+ cores?$", device_name())
    assert "(R)" not in device_name()


@no_gpu_here
@pytest.mark.parametrize(
    "given", [[1, 2], np.arange(6.0).reshape(2, 3)[:, ::2], torch.ones(2, dtype=torch.bfloat16), np.float32(2)]
)
def test_device_array_is_a_copy(given: object) -> None:
    made = device_array(given)
    assert isinstance(made, np.ndarray)
    assert made.flags.c_contiguous
    np.testing.assert_array_equal(made, to_numpy(given))
    assert not isinstance(given, np.ndarray) or not np.shares_memory(made, given)


@no_gpu_here
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool", "complex64"])
def test_empty_memory_holds_rubbish(dtype: str) -> None:
    """Fresh pages are zero: a kernel that forgets to write would look right."""
    made = empty((3, 4), dtype)
    assert made.shape == (3, 4)
    assert made.dtype == dtype
    assert not (made == 0).any()


def test_to_numpy_takes_what_numba_gives() -> None:
    class OnDevice:
        def copy_to_host(self) -> np.ndarray:  # type: ignore[type-arg]
            return np.arange(3)

    np.testing.assert_array_equal(to_numpy(OnDevice()), [0, 1, 2])


def test_to_numpy_detaches_and_copies() -> None:
    tensor = torch.ones(3, requires_grad=True)
    made = to_numpy(tensor)
    made[0] = 5
    assert tensor[0] == 1
