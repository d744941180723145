"""The first contact with a GPU: what the course uses of it, tried inside a student's process as grading starts one.

Most of what can go wrong with a new machine (the sandbox hides a device, a driver is too old, a library does not load)
shows here, within a minute, and by name. What the course then computes with it is for the other steps.
"""

from __future__ import annotations

import functools
import secrets
import time
from collections.abc import Iterator
from typing import Any

from gpulab.doctor import gpu_troubles, hardware
from gpulab.doctor.looks import DoctorRow
from grader.dev.prove import rows as prove_rows
from grader.dev.prove.rows import RowResult, attempt, hashed
from grader.model.limits import Limits
from grader.processes import client
from grader.processes.channel import Closed

SECONDS = 120.0
"""For one check: a first load of CUDA's libraries, from a cold disk."""

CHECKS = {
    "torch": """\
import torch
x = torch.rand(512, 512, device="cuda")
assert torch.allclose((x @ x).cpu(), x.cpu() @ x.cpu(), rtol=1e-2), "a matrix product is wrong"
torch.nn.Conv2d(3, 8, 3, device="cuda")(torch.rand(2, 3, 32, 32, device="cuda")).sum().backward()
print(torch.__version__, torch.version.cuda, torch.cuda.get_device_name())
""",
    "Numba": """\
import numpy
from numba import cuda
@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2
x = cuda.to_device(numpy.ones(1000, numpy.float32))
double[4, 256](x)
assert (x.copy_to_host() == 2).all(), "a kernel gave wrong numbers"
print("a kernel ran")
""",
    "CUDA C++": """\
import torch
from gpulab import cuda_kernel
source = '''extern "C" __global__ void twice(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}'''
x = torch.ones(1000, device="cuda")
cuda_kernel(source, "twice")[4, 256](x, x.numel())
torch.cuda.synchronize()
assert bool((x == 2).all()), "a kernel gave wrong numbers"
print("a kernel ran")
""",
    "Triton": """\
import torch
import triton
import triton.language as tl
@triton.jit
def twice(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
x = torch.ones(1000, device="cuda")
twice[4,](x, x.numel(), BLOCK=256)
assert bool((x == 2).all()), "a kernel gave wrong numbers"
print("a kernel ran")
""",
    "profiler": """\
import torch
from torch.profiler import ProfilerActivity, profile
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
    x = torch.rand(256, 256, device="cuda")
    (x @ x).sum().item()
kernels = [one.name for one in seen.events() if "CUDA" in str(one.device_type)]
assert kernels, "torch.profiler saw no kernel"
print(len(kernels), "events on the device")
""",
    "NVML": """\
import pynvml
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
print(pynvml.nvmlDeviceGetName(handle), pynvml.nvmlDeviceGetMemoryInfo(handle).total)
pynvml.nvmlShutdown()
""",
    "NCCL": """\
from gpulab.ranks import launch
script = '''
import os, torch, torch.distributed
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
torch.distributed.init_process_group("nccl")
x = torch.full((1 << 20,), rank + 1.0, device="cuda")
torch.distributed.all_reduce(x)
assert bool((x == 3).all()), "the sum over two GPUs is wrong"
torch.distributed.destroy_process_group()
'''
launch.script(script, 2, seconds=90).check()
print("two GPUs added their tensors")
""",
}
"""What is tried → a cell that does it; it raises what is wrong, and prints what it saw."""
GPUS = {"NCCL": 2}
"""Of them, what takes more than one GPU."""


def lacking(name: str) -> str:
    """Why a check cannot be tried here; an empty text when it can."""
    there, needed = len(hardware.gpus()), GPUS.get(name, 1)
    return f"{name}: it takes {needed} GPUs, and this machine shows {there}" if there < needed else ""


def inside() -> Iterator[DoctorRow]:
    """For the doctor: a row for each check where there is a GPU, nothing without one."""
    if hardware.device_name() == "cpu":
        return
    for name, code in CHECKS.items():
        if lacking(name):
            continue
        found = attempt(prove_rows.GpuRow(name, hashed, functools.partial(tried, code)))
        what = f"{name} in a student's process"
        if found.findings:
            remedy = gpu_troubles.of_words(found.findings[0]) or "Grading meets the same: GPU rows stay pending."
            yield DoctorRow(what, found.findings[0], "bad", remedy)
        else:
            yield DoctorRow(what, f"{found.data['printed']}, {found.seconds:.1f} s")


def tried(code: str, seconds: float = SECONDS) -> RowResult:
    """The result of a cell in a student process of its own; an exception is the finding.

    Args:
        code: the cell.
        seconds: that it may take.

    Raises:
        gpulab.forkserver.client.StartError: no process could be started.
    """
    started = time.monotonic()
    student = client.StudentProcess(client.shared.get(), client.ProcessCost(), Limits())
    token, findings, printed = secrets.token_hex(8), [], []
    try:
        student.channel.send({"op": "run", "id": token, "code": code}, seconds=10)
        while True:
            header, _ = student.channel.receive(started + seconds, max_bytes=0)
            output: dict[str, Any] = header.get("output") or {}
            if output.get("output_type") == "error":
                findings.append(f"{output['ename']}: {output['evalue']}"[:500])
            elif output.get("output_type") == "stream":
                printed.append(str(output["text"]))
            if "done" in header:
                break
    except TimeoutError:
        findings.append(f"no answer within {seconds:g} s")
    except (Closed, OSError):
        findings.append("the process ended: " + (student.excess() or "a crash"))
    finally:
        student.end(at_once=True)
    return RowResult(tuple(findings), {"printed": "".join(printed).strip()[:500]}, round(time.monotonic() - started, 1))
