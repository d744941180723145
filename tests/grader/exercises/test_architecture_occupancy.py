"""`occupancy` against what NVIDIA's own calculator says of the kernels that the driver is asked about."""

from __future__ import annotations

import itertools
import re
import types
from pathlib import Path
from typing import Any

import cuda.core
import numpy as np
import on_cpu
import pytest
import torch
from confronted import findings
from cuda.bindings import driver

from gpulab import cuda_cpp
from gpulab.trace.ptx.text.nvrtc import header_folders
from grader.exercises.architecture import warps
from grader.exercises.architecture.confrontations import CONFRONTATIONS

CALCULATOR = r"""
extern "C" __global__ void occupancy(const int* sm, const int* block, int* blocks, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    cudaOccDeviceProp device = {};
    device.computeMajor = sm[0], device.computeMinor = sm[1];
    device.maxThreadsPerMultiprocessor = sm[2];
    device.sharedMemPerMultiprocessor = sm[3], device.reservedSharedMemPerBlock = sm[4];
    device.sharedMemPerBlockOptin = sm[3] - sm[4], device.sharedMemPerBlock = 48 * 1024;
    device.regsPerBlock = device.regsPerMultiprocessor = 65536;
    device.maxThreadsPerBlock = 1024, device.warpSize = 32, device.numSms = 1;
    cudaOccFuncAttributes kernel = {};
    kernel.maxThreadsPerBlock = 1024, kernel.numBlockBarriers = 1;
    kernel.numRegs = block[3 * i + 1], kernel.sharedSizeBytes = block[3 * i + 2];
    cudaOccDeviceState state = {};
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, block[3 * i], 0);
    blocks[i] = error ? -error : result.activeBlocksPerMultiprocessor;
}
"""
SMS = {  # compute capability, threads, shared bytes, reserved bytes (CUDA C++ Programming Guide), blocks
    "V100": (7, 0, 2048, 98304, 0, 32),
    "T4": (7, 5, 1024, 65536, 0, 16),
    "A100": (8, 0, 2048, 167936, 1024, 32),
    "RTX 3060, A10": (8, 6, 1536, 102400, 1024, 16),
    "RTX 4090, L4, L40S": (8, 9, 1536, 102400, 1024, 24),
    "H100, H200": (9, 0, 2048, 233472, 1024, 32),
    "B200": (10, 0, 2048, 233472, 1024, 32),
    "RTX 5090": (12, 0, 1536, 102400, 1024, 24),
}


@pytest.fixture(scope="module")
def compiled() -> list[tuple[int, int]]:
    """Registers and shared bytes of the twenty kernels, as ptxas reports them for an H100."""
    used = [cuda_cpp.resources(source, name, 32, arch="sm_90") for name, source in warps.kernels().items()]
    return [(one.registers, one.shared_bytes) for one in used]


@pytest.fixture(scope="module")
def told_by_nvidia(compiled: list[tuple[int, int]]) -> dict[str, Any]:
    """The readings, with NVIDIA's own occupancy calculator, which runs in the tracer, in place of the driver."""
    header = next(path for one in header_folders() if (path := Path(one) / "cuda_occupancy.h").is_file())
    text = re.sub(r"#include <\w+\.h>", "", header.read_text())
    source = f"#define INT_MAX 2147483647\n{text}\n{CALCULATOR}"
    blocks = [(threads, *used) for used, threads in itertools.product(compiled, warps.BLOCK_THREADS)]
    array, zeros = np.array(blocks, np.int32), np.zeros(len(blocks), np.int32)
    calls = [cuda_cpp.Call(1, 96, (np.array(sm[:5], np.int32), array, zeros, len(blocks))) for sm in SMS.values()]
    readings = {}
    for (name, (major, minor, threads, shared, reserved, most)), (_, _, told) in zip(
        SMS.items(), cuda_cpp.run_each(source, "occupancy", calls), strict=True
    ):
        sm = {
            "max_warps": threads // 32, "max_blocks": most, "registers": 65536, "shared_bytes": shared,
            "warp_size": 32, "register_unit": 256, "shared_unit": 128 if major >= 8 else 256,
        }  # fmt: skip
        cases = [
            [{"threads": one[0], "registers_per_thread": one[1], "shared_bytes": one[2] + reserved}, int(count)]
            for one, count in zip(blocks, told, strict=True)
        ]
        readings[name] = {"sm": sm, "parts": warps.parts_of_an_sm(major, minor), "cases": cases}
    return readings


def test_kernels_differ_in_what_they_use(compiled: list[tuple[int, int]]) -> None:
    registers = {one for one, _ in compiled}
    assert len(compiled) == 20
    assert max(registers) > 120
    assert sum(one % 8 != 0 for one in registers) >= 8, "or no unit is ever rounded up to"


def test_occupancy(told_by_nvidia: dict[str, Any]) -> None:
    good = told_by_nvidia["H100, H200"]
    broken = {
        "no answer": good | {"cases": []},
        "always the same": good | {"cases": [[block, 1] for block, _ in good["cases"] if block["threads"] == 32]},
        "more than fit": good | {"cases": [[block, 100] for block, _ in good["cases"]]},
        "another GPU's limits": good | {"sm": told_by_nvidia["T4"]["sm"]},
        "reserved bytes left out": good | {
            "cases": [[block | {"shared_bytes": block["shared_bytes"] - 1024}, count] for block, count in good["cases"]]
        },
        "less of the SM's memory is shared": good | {"cases": told_by_nvidia["A100"]["cases"]},
    }  # fmt: skip
    passing = {
        "a unit of registers is added where they fit exactly": "one more unit changes no number of blocks here",
        "one unit more of shared memory": "no block here fills whole units of shared memory exactly",
        "32 threads make a warp everywhere": "on every NVIDIA GPU they do",
        "the register unit of an H200": "on every GPU of these it is the same",
        "the shared unit of an H200": "where it is 256, no kernel here fits once more in units of 128",
        "masks the register unit": "on every NVIDIA GPU it is a power of two",
        "masks the shared unit": "on every NVIDIA GPU it is a power of two",
        "no limit by one unit of shared memory": "no kernel here is limited by one unit",
        "divides by no shared memory": "every kernel here uses some",
        "one block even if its warps are too many": "one block of every kernel here fits",
        "one block even if its shared memory is too large": "one block of every kernel here fits",
        "no more than 32 warps": "no block here has more",
        "takes a value by its place": "the readings have the order of the page",
        "takes a limit by its place": "the readings have the order of the page",
    }
    (one,) = (one for one in CONFRONTATIONS if one.exercise == "occupancy")
    assert findings(one, "01", told_by_nvidia, broken, passing) == []


def test_the_driver_is_asked(
    told_by_nvidia: dict[str, Any], compiled: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers of the driver are the readings of the test above; kernel and driver are stand-ins here."""
    kept, used = [], dict(zip(warps.kernels(), compiled, strict=True))
    told = iter(count for _, count in told_by_nvidia["H100, H200"]["cases"])

    def gpu_kernel(source: str, name: str) -> Any:
        occupancy = types.SimpleNamespace(max_active_blocks_per_multiprocessor=lambda threads, dynamic: next(told))
        return types.SimpleNamespace(handle=name, occupancy=occupancy)

    def attribute(one: Any, name: str, ordinal: int) -> tuple[Any, int]:
        registers, shared = used[name]
        return driver.CUresult.CUDA_SUCCESS, registers if one.name.endswith("NUM_REGS") else shared

    def set_attribute(one: Any, percent: int, name: str, ordinal: int) -> tuple[Any]:
        kept.append((one.name, percent, name))
        return (driver.CUresult.CUDA_SUCCESS,)

    says = {
        "WARP_SIZE": 32, "COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 0,
        "MAX_THREADS_PER_MULTIPROCESSOR": 2048, "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
        "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536, "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 233472,
        "RESERVED_SHARED_MEMORY_PER_BLOCK": 1024,
    }  # fmt: skip
    on_cpu.use(monkeypatch, says, ())
    monkeypatch.setattr(cuda_cpp, "gpu_kernel", gpu_kernel)
    monkeypatch.setattr(cuda.core, "Device", lambda ordinal: types.SimpleNamespace(set_current=lambda: None))
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(driver, "cuKernelGetAttribute", attribute)
    monkeypatch.setattr(driver, "cuKernelSetAttribute", set_attribute)
    assert warps.occupancies() == told_by_nvidia["H100, H200"]
    assert kept == [("CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT", 100, name) for name in used]
