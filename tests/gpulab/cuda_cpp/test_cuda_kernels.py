"""A kernel in CUDA C++ is launched like one of Numba's, and traced like it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gpulab import cuda_cpp, cuda_kernel, device_array, empty, to_numpy, trace
from gpulab.backend import Backend, use

SOURCE = """
extern "C" __global__ void shift(const float* x, float* out, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i] + by;
}
"""


def test_a_launch_changes_the_arrays_and_is_counted() -> None:
    x, out = device_array(np.arange(100, dtype=np.float32)), empty(100)
    with trace.counting() as launches:
        cuda_kernel(SOURCE, "shift")[4, 32](x, out, 0.5, 100)
    np.testing.assert_array_equal(to_numpy(out), np.arange(100) + 0.5)
    (launch,) = launches
    assert (launch["kernel"], launch["global_reads"], launch["global_writes"]) == ("shift", 100, 100)


def test_tensors_are_arrays_too() -> None:
    x, out = torch.arange(100, dtype=torch.float32), torch.zeros(100)
    with trace.recording() as launches:  # counted, so on the CPU
        cuda_kernel(SOURCE)[4, 32](x, out, 1.0, 100)
    assert torch.equal(out, x + 1)
    assert len(launches) == 1


@pytest.mark.parametrize("configuration", [(1, 32, 128), (1, 32, 0, 128)])
def test_dynamic_shared_memory_may_follow_the_default_stream(configuration: tuple[int, ...]) -> None:
    """The second is the order of Numba's kernels."""
    out = empty(32)
    kernel = cuda_kernel("""
extern "C" __global__ void mirror(float* out) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}
""")
    with trace.counting() as launches:
        kernel[configuration](out)
    np.testing.assert_array_equal(to_numpy(out), np.arange(32)[::-1])
    assert launches[0]["shared_bytes"] == 128


def test_what_is_wrong_is_told_where_it_is_written() -> None:
    with pytest.raises(cuda_cpp.CudaCompileError, match="line 5"):
        cuda_kernel(SOURCE.replace("+ by", "+ bye"))
    with pytest.raises(trace.LaunchError, match=r"no kernel 'shirt'.*Its kernels: shift"):
        cuda_kernel(SOURCE, "shirt")
    kernel = cuda_kernel(SOURCE)
    with pytest.raises(trace.LaunchError, match="block 2000 has 2,000 threads"):
        kernel[1, 2000]
    with pytest.raises(trace.LaunchError, match="takes blocks and threads"):
        kernel[4]  # type: ignore[index]
    with pytest.raises(trace.LaunchError, match="'shift' passes arguments by name: by=…, n=…"):
        kernel[4, 32](empty(100), empty(100), by=0.5, n=100)  # type: ignore[call-arg]
    for wrong in [(4, 32, "128"), (4, 32, 7, 128), (4, 32, None, 128), (4, 32, 0, 128, 0)]:
        with pytest.raises(trace.LaunchError, match=r"\[blocks, threads, bytes\].*\[blocks, threads, 0, bytes\]"):
            kernel[wrong]
    x = device_array(np.zeros(4, np.float32))
    with trace.recording(), pytest.raises(trace.LaunchError, match=r"takes 4 arguments \(x, out, by, n\)"):
        kernel[1, 32](x, x, 1.0)
    with trace.recording(), pytest.raises(trace.LaunchError, match="is a list"):
        kernel[1, 32]([1.0], x, 1.0, 4)
    with trace.recording(), pytest.raises(trace.OutOfBoundsError, match=r"x\[4\].*line 5"):
        kernel[1, 32](x, x, 1.0, 5)


def test_the_judge_runs_no_kernel_of_a_student() -> None:
    """Neither launched nor traced: what runs in the judge could read the hidden tests."""
    with use(Backend(confined=lambda function, arguments, what, seconds: function(*arguments))):
        with pytest.raises(RuntimeError, match=r"cuda_cpp\.count_each"):
            cuda_kernel(SOURCE)
        with pytest.raises(RuntimeError, match=r"cuda_cpp\.trace would run .*count_each"):
            cuda_cpp.trace(SOURCE, "shift", 1, 1, np.zeros(1, np.float32), np.zeros(1, np.float32), 1.0, 1)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_it_works_on_tensors_without_copies() -> None:
    x, out = torch.arange(100, dtype=torch.float32, device="cuda"), torch.zeros(100, device="cuda")
    kernel = cuda_kernel(SOURCE)
    kernel[4, 32](x, out, 0.5, 100)
    assert torch.equal(out, x + 0.5)
    with pytest.raises(trace.LaunchError, match="takes 4 arguments"):
        kernel[4, 32](x, out)
    with pytest.raises(trace.LaunchError, match="has 8 bytes, the launch gives 4"):
        kernel[4, 32](x, 1, 0.5, 100)
