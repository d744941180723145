"""`kernel[grid, block](…)`: the tracer where there is no GPU, Numba's own way where there is one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import trace_kernels as kernels
from fake_gpu import FakeGPU
from numba import cuda

import gpulab
from gpulab import trace
from gpulab.trace.python import hook, host_arrays
from gpulab.trace.python.host_arrays import HostArray

no_gpu_here = pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")


pytestmark = pytest.mark.usefixtures("only_the_tracer")


@pytest.fixture(autouse=True)
def forget_the_fake_gpu() -> Iterator[None]:
    yield
    hook._gpu_seen.clear()


def double(x: Any) -> Any:
    """What a student writes."""
    out = gpulab.empty(x.shape, x.dtype)
    kernels.strided[-(-x.size // 64), 64](x, out, 1)
    kernels.strided[-(-x.size // 64), 64](x, out, 1)
    return out


X = np.arange(100, dtype=np.float32)


@no_gpu_here
@pytest.mark.parametrize(
    "configuration", [(2, 64), ((2,), (64,)), ((2, 1), [64]), ([2, 1, 1], (64, 1, 1)), (2, 64, 0), (2, 64, 0, 0)]
)
def test_launches_run_in_the_tracer(configuration: Any) -> None:
    out = gpulab.empty(100)
    kernels.copy[configuration](gpulab.device_array(X), out)
    np.testing.assert_array_equal(gpulab.to_numpy(out), X)
    assert trace.last().kernel == "copy"
    assert (trace.last().grid, trace.last().block) == ((2, 1, 1), (64, 1, 1))


@no_gpu_here
def test_launch_takes_dynamic_shared_memory() -> None:
    out = gpulab.empty(64)
    kernels.dynamic_shared[1, 64, 0, 512](np.ones(64, np.float32), out)
    assert (trace.last().shared_bytes, out[0]) == (512, 3)
    kernels.dynamic_shared.configure(1, 64, sharedmem=1024)(np.ones(64, np.float32), out)
    assert trace.last().shared_bytes == 1024


@no_gpu_here
def test_forall_chooses_its_blocks() -> None:
    out = np.zeros(300, np.float32)
    kernels.copy.forall(300)(np.ones(300, np.float32), out)
    assert (out.sum(), trace.last().grid, trace.last().block) == (300, (3, 1, 1), (128, 1, 1))
    kernels.copy.forall(300, tpb=64)(np.ones(300, np.float32), out)
    assert trace.last().grid == (5, 1, 1)


@no_gpu_here
def test_kernels_may_be_declared_with_their_types() -> None:
    """As older tutorials do; Numba compiles those at once, for which it would want a driver."""

    @cuda.jit("float32(float32)", device=True)
    def twice(value):
        return value + value

    @cuda.jit("void(float32[:], float32[:])")
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = twice(x[i])

    trace.compile_launches(True)
    out = np.zeros(100, np.float32)
    kernel[1, 100](X, out)
    np.testing.assert_array_equal(out, 2 * X)
    assert trace.last().float64_lines == ()


@pytest.mark.parametrize("configuration", [8, (8,), (1, 2, 3, 4, 5), "ab"])
def test_launch_needs_blocks_and_threads(configuration: Any) -> None:
    with pytest.raises(trace.LaunchError, match=r"copy\[…\] takes blocks and threads: copy\[blocks, threads\]"):
        kernels.copy[configuration]


@no_gpu_here
def test_launch_takes_no_names() -> None:
    with pytest.raises(
        trace.LaunchError, match=r"'copy' passes arguments by name: out=…\. A kernel takes them by position"
    ):
        kernels.copy[2, 64](X, out=gpulab.empty(100))


def test_recording_gives_every_launch_in_order() -> None:
    with trace.recording() as launches:
        double(X)
        kernels.broadcast[1, 32](X, np.zeros(32, np.float32))
    double(X)
    assert [launch.kernel for launch in launches] == ["strided", "strided", "broadcast"]
    assert sum(launch.global_reads for launch in launches) == 232


def test_recordings_may_be_nested() -> None:
    with trace.recording() as outer:
        with trace.recording() as inner:
            double(X)
        double(X)
    assert (len(inner), len(outer)) == (2, 4)


def test_recording_ends_when_the_launch_fails() -> None:
    with pytest.raises(trace.OutOfBoundsError), trace.recording() as launches:
        kernels.broadcast[1, 32](X, np.zeros(16, np.float32))
    assert launches == []
    double(X)
    assert launches == []


def test_counting_gives_plain_values() -> None:
    with trace.counting() as launches:
        double(X)
    assert [(launch["kernel"], launch["global_reads"]) for launch in launches] == [("strided", 100)] * 2


def test_with_a_gpu_launches_go_numbas_way(fake_gpu: FakeGPU, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the tracer is in between; a recording asks for it all the same."""
    gone: list[Any] = []

    class Configured:
        def __init__(self, *configuration: Any) -> None:
            gone.append(configuration)

        def __call__(self, *arguments: Any) -> None:
            gone.append(len(arguments))

    monkeypatch.setattr("numba.cuda.dispatcher._LaunchConfiguration", Configured)
    out = np.zeros(100, np.float32)
    kernels.copy[[2], 64](X, out)
    ((_, grid, block, stream, shared_bytes), count) = gone
    assert (grid, block, stream, shared_bytes, count) == ((2, 1, 1), (64, 1, 1), 0, 0, 2)
    assert not out.any()
    with trace.recording() as launches:
        kernels.copy[2, 64](X, out)
    assert len(gone) == 2
    assert launches[0].global_reads == 100
    np.testing.assert_array_equal(out, X)
    assert trace.run(kernels.copy, 2, 64, X, out).global_reads == 100


def test_with_a_gpu_numbas_new_memory_shows_while_launches_are_traced(fake_gpu: FakeGPU) -> None:
    """Outside it is the driver's, with whatever it holds."""
    made = hook._or_here(lambda shape, dtype: np.ones(shape, dtype).view(HostArray), host_arrays.device_array)
    assert (made(3, np.float32).copy_to_host() == 1).all()
    with trace.recording():
        assert np.isnan(made(3, np.float32).copy_to_host()).all()


def test_where_says_what_runs_kernels(fake_gpu: FakeGPU) -> None:
    assert trace.where() == "Kernels run on the GPU: NVIDIA Fake."


@no_gpu_here
def test_where_says_that_it_is_the_tracer() -> None:
    assert trace.where().startswith("No GPU here: kernels run on the CPU in gpulab.trace")


@no_gpu_here
def test_numbas_own_device_arrays_work_without_a_gpu() -> None:
    """What is not written to shows; the host can copy them, and cannot compute with them."""
    given, made = cuda.to_device(X), cuda.device_array_like(X)
    assert np.isnan(cuda.device_array(3, np.float32).copy_to_host()).all()
    assert np.isnan(made.copy_to_host()).all()
    kernels.copy[2, 64](given, made)
    np.testing.assert_array_equal(made.copy_to_host(), X)
    with pytest.raises(TypeError):
        given + given
    made.copy_to_device(X)
    host = np.empty_like(X)
    np.testing.assert_array_equal(made.copy_to_host(host), X)
    np.testing.assert_array_equal(cuda.to_device(2 * X, to=made).copy_to_host(), 2 * X)
    cuda.synchronize()


@no_gpu_here
def test_numbas_events_work_without_a_gpu() -> None:
    cuda.select_device(0)
    start, end = cuda.event(), cuda.event(timing=True)
    start.record()
    kernels.copy[2, 64](X, gpulab.empty(100))
    end.record(cuda.default_stream())
    end.wait()
    end.synchronize()
    assert end.query()
    assert cuda.event_elapsed_time(start, end) == start.elapsed_time(end) > 0
    cuda.close()


@no_gpu_here
@pytest.mark.parametrize("make", ["pinned_array", "mapped_array", "managed_array"])
def test_arrays_of_host_and_device_can_be_computed_with(make: str) -> None:
    made = getattr(cuda, make)(100, dtype=np.float32)
    assert np.isnan(made).all()
    kernels.copy[2, 64](X, made)
    np.testing.assert_array_equal(made + 1, X + 1)


@no_gpu_here
def test_what_only_a_gpu_could_answer_is_refused() -> None:
    with pytest.raises(trace.UnsupportedError, match=r"cuda\.get_current_device needs a GPU, and there is none here"):
        cuda.get_current_device()
    with pytest.raises(trace.UnsupportedError, match="the only device here is 0"):
        cuda.select_device(1)


@no_gpu_here
def test_numbas_streams_work_without_a_gpu() -> None:
    stream, made = cuda.stream(), cuda.device_array_like(X)
    kernels.copy[2, 64, stream](cuda.to_device(X, stream=stream), made)
    stream.synchronize()
    with stream.auto_synchronize() as same:
        np.testing.assert_array_equal(made.copy_to_host(stream=same), X)


def fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@no_gpu_here
def test_a_kernel_runs_whether_or_not_the_tracer_was_imported() -> None:
    """Who makes arrays with gpulab has asked for it; nothing is written to stderr, where stock graders look."""
    code = """
import gpulab
from numba import cuda
import numpy as np

@cuda.jit
def kernel(x):
    x[cuda.grid(1)] = cuda.grid(1)

x = gpulab.empty(4)
kernel[1, 4](x)
print(gpulab.to_numpy(x))
"""
    assert fresh(code) == "[0. 1. 2. 3.]\n"


def test_last_before_any_launch() -> None:
    code = "from gpulab import trace\ntry: trace.last()\nexcept trace.LaunchError as error: print(error)"
    assert fresh(code).startswith("Nothing was launched in the tracer yet.")
