"""A transcript is carried out where it launches kernels, and refused where it does anything else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gpulab
import gpulab.arrays
from gpulab.trace import LaunchError, TraceError
from gpulab.trace.launch import observed
from grader.judging.counting.counted import other_values
from grader.judging.counting.replay import Refused, Replay, answer, definition, own_bytes
from grader.judging.counting.transcript import Transcript
from grader.processes import wire

CELL = """\
from numba import cuda
import os

SCALE = 3

@cuda.jit
def scaled(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = SCALE * x[i]
"""
X = np.arange(40, dtype=np.float32)


def transcript_of(cell: str, launch: Any = None) -> tuple[list[Any], Any]:
    """What a host function in this cell launches, and where its result stands."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(cell, "<cell>", "exec"), scope)
    noted, out = Transcript([X], {}), gpulab.empty(40, "float32")
    with observed(noted):
        (launch or (lambda kernel, x, out: kernel[2, 32](x, out)))(scope["scaled"], X, out)
    return noted.launches, noted.result(out)


def test_a_launch_is_made_again_on_other_inputs() -> None:
    launches, result = transcript_of(CELL)
    replay = Replay([CELL], [2 * X])
    (counts,) = map(replay.launch, launches)
    np.testing.assert_array_equal(replay.value(result), 6 * X)
    assert (counts["global_reads"], counts["kernel"], counts["lines"][0]["line"]) == (40, "scaled", 10)
    assert counts["lines"][0]["source"] == "out[i] = SCALE * x[i]"


def test_the_hosts_own_numbers_stay_what_they_were() -> None:
    """They were computed from other inputs."""

    def host(kernel: Any, x: Any, out: Any) -> None:
        kernel[2, 32](2 * x + np.float32(0), out)

    launches, result = transcript_of(CELL, host)
    assert sorted(launches[0]["host_writes"][0]) == ["buffer", "bytes", "written"]
    replay = Replay([CELL], [5 * X])
    replay.launch(launches[0])
    np.testing.assert_array_equal(replay.value(result), 6 * X)


def test_another_type_and_padding_by_a_constant_are_made_again() -> None:
    """Both are copies: no result of the host's is in them."""

    def host(kernel: Any, x: Any, out: Any) -> None:
        padded = np.full(64, -1.0)
        padded[:40] = x
        kernel[2, 32](padded, out_of_64)

    out_of_64 = gpulab.empty(64, "float32")
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, "<cell>", "exec"), scope)
    noted = Transcript([X], {})
    with observed(noted):
        host(scope["scaled"], X, None)
    result = noted.result(out_of_64[:40].astype(np.float64))
    replay = Replay([CELL], [7 * X])
    replay.launch(noted.launches[0])
    np.testing.assert_array_equal(replay.value(result or {}), 21 * X)


@pytest.mark.parametrize("copied", [False, True])
def test_two_elements_that_are_passed_as_one_are_counted_as_two(copied: bool) -> None:
    """The host may pass floats as complex numbers, also those of a copy."""
    pairs, out = (X.copy() if copied else X).view(np.complex64), gpulab.empty(40, "float32").view(np.complex64)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, "<cell>", "exec"), scope)
    noted = Transcript([X], {})
    with observed(noted):
        scope["scaled"][1, 32](pairs, out)
    result = noted.result(out.view(np.float32))
    replay = Replay([CELL], [7 * X], own_bytes(noted.launches, result))
    (counts,) = map(replay.launch, noted.launches)
    np.testing.assert_array_equal(replay.value(result or {}), 21 * X)
    assert (counts["global_reads"], counts["global_writes"]) == (40, 40)
    assert {(line["elements"], line["element_bytes"]) for line in counts["lines"]} == {(40, 4)}


def test_two_elements_that_a_cpp_kernel_is_passed_as_one_are_counted_as_two() -> None:
    text = 'extern "C" __global__ void copy(const double* x, double* out) { out[threadIdx.x] = x[threadIdx.x]; }'
    noted, out = Transcript([X], {}), gpulab.empty(40, "float32")
    with observed(noted):
        gpulab.cuda_kernel(text)[1, 20](X.view(np.float64), out.view(np.float64))
    result = noted.result(out)
    replay = Replay([], [7 * X], own_bytes(noted.launches, result))
    (counts,) = map(replay.launch, noted.launches)
    np.testing.assert_array_equal(replay.value(result or {}), 7 * X)
    assert (counts["global_reads"], counts["global_writes"]) == (40, 40)


def test_a_corner_of_a_result_may_be_copied() -> None:
    cell = CELL.replace("i = cuda.grid(1)", "i, j = cuda.grid(2)").replace("x.size", "x.shape[0] and j < x.shape[1]")
    cell = cell.replace("out[i] = SCALE * x[i]", "out[i, j] = SCALE * x[i, j]")
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(cell, "<cell>", "exec"), scope)
    matrix, out = X.reshape(5, 8), gpulab.empty((16, 16), "float32")
    noted = Transcript([matrix], {})
    with observed(noted):
        scope["scaled"][(1, 1), (16, 16)](matrix, out)
    result = noted.result(np.array(out[:5, :8]))
    replay = Replay([cell], [matrix + 1])
    replay.launch(noted.launches[0])
    np.testing.assert_array_equal(replay.value(result or {}), 3 * (matrix + 1))


class OnGpu(torch.Tensor):
    """A tensor that says that it is on a GPU: what the host looks at is a copy."""

    is_cuda = True

    def cpu(self) -> torch.Tensor:
        return self.as_subclass(torch.Tensor).clone()


@pytest.fixture
def recycled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU whose memory always holds something else when it is given out, as that of a cache does."""
    draw = torch.Generator().manual_seed(3)
    monkeypatch.setattr(gpulab.arrays, "has_gpu", lambda: True)
    monkeypatch.setattr(gpulab.arrays, "device", lambda: torch.device("cpu"))
    monkeypatch.setattr(torch, "empty", lambda shape, dtype, device: torch.randn(shape, generator=draw, dtype=dtype))


@pytest.mark.usefixtures("recycled")
def test_what_a_gpus_memory_held_before_is_not_the_hosts() -> None:
    """Else two calls with other inputs seem to hand the kernels results of the host's."""
    given = torch.from_numpy(X).as_subclass(OnGpu)
    written = []
    for _ in range(2):
        scope: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(CELL, "<cell>", "exec"), scope)
        noted = Transcript([given], {})
        with observed(noted):
            out = gpulab.empty(40, "float32").as_subclass(OnGpu)
            scope["scaled"][2, 32](given, out)
        assert noted.result(out) is not None
        np.testing.assert_array_equal(out.cpu().numpy(), 3 * X)
        written.append([one for launch in noted.launches for one in launch["host_writes"]])
    assert written[0] == written[1]
    assert "written" not in written[0][0]


def test_a_corner_of_a_result_on_a_gpu_may_be_copied() -> None:
    cell = CELL.replace("i = cuda.grid(1)", "i, j = cuda.grid(2)").replace("x.size", "x.shape[0] and j < x.shape[1]")
    cell = cell.replace("out[i] = SCALE * x[i]", "out[i, j] = SCALE * x[i, j]")
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(cell, "<cell>", "exec"), scope)
    matrix, out = (
        torch.from_numpy(one.copy()).as_subclass(OnGpu) for one in (X.reshape(5, 8), np.zeros((16, 16), "f4"))
    )
    noted = Transcript([matrix], {})
    with observed(noted):
        scope["scaled"][(1, 1), (16, 16)](matrix, out)
    assert noted.result(out.cpu().numpy()[:5, :8].copy()) is not None


FORBIDDEN = {
    "an import": "import os",
    "an attribute with an underscore": "out[i] = x.__class__",
    "a global statement": "global SCALE",
    "a name of Python's": "out[i] = len(open('/etc/passwd').read())",
    "looking for attributes": "out[i] = getattr(x, 'size')",
}


@pytest.mark.parametrize("body", FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_is_no_kernel_is_not_run(body: str) -> None:
    launches, _ = transcript_of(CELL)
    other = CELL.replace("out[i] = SCALE * x[i]", body)
    with pytest.raises(Refused):
        Replay([other], [X]).launch(launches[0])


def test_what_numba_cannot_translate_is_not_run() -> None:
    launches, _ = transcript_of(CELL)
    other = CELL.replace("out[i] = SCALE * x[i]", "out[i] = x.size.bit_length()")
    with pytest.raises(TraceError):
        Replay([other], [X]).launch(launches[0])


FORGED = {
    "a module": lambda launch: launch["kernel"]["globals"].update(cuda={"module": "os"}),
    "a private name": lambda launch: launch["kernel"]["globals"].update(cuda={"member": ["numpy", "_core"]}),
    "a kernel that is not in the cell": lambda launch: launch["kernel"].update(name="other"),
    "a line": lambda launch: launch["kernel"].update(line=1),
    "memory outside a buffer": lambda launch: launch["arguments"][0]["array"].update(offset=100),
    "negative strides out of a buffer": lambda launch: launch["arguments"][0]["array"].update(strides=[-4]),
    "elements of another kind": lambda launch: launch["arguments"][0]["array"].update(type="|O8"),
    "a buffer of its own size": lambda launch: launch["host_writes"][0].update(bytes=10**15),
    "a buffer that nobody has": lambda launch: launch["host_writes"][0].update(copy_of=99, filled=None),
    "another kind of thing": lambda launch: launch.clear(),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_forged_transcript_is_refused(forge: Any) -> None:
    launches, result = transcript_of(CELL)
    forge(launches[0])
    buffers: list[wire.Buffer] = []
    form = wire.encode((launches, result, (X,), {}), buffers)
    told, _ = answer({"replay": form, "sources": [CELL]}, [bytearray(one) for one in buffers])
    assert "refused" in told


def test_a_kernel_that_names_what_no_kernel_can_is_told() -> None:
    """After the tracer, which knows better what is wrong with a launch."""
    scope: dict[str, Any] = {"__name__": "__main__", "tool": object()}
    code = CELL.replace("out[i] = SCALE * x[i]", "out[i] = x[i] if tool is not None else 0")
    exec(compile(code, "<cell>", "exec"), scope)
    with observed(Transcript([X], {})), pytest.raises((LaunchError, TraceError)):
        scope["scaled"][2, 32](X, np.empty_like(X))


def test_definitions_are_found_by_name_and_first_line() -> None:
    assert definition(CELL, "scaled", 6) is not None
    assert definition(CELL, "scaled", 7) is None
    assert definition("%%time\n" + CELL, "scaled", 7) is None  # a cell magic: the code is a string
    assert definition("x = (", "scaled", 1) is None


def test_other_values_are_the_same_elements_in_the_same_shape() -> None:
    draw = np.random.default_rng(3)
    other = other_values(X.reshape(8, 5), draw)
    assert (other.shape, other.dtype) == ((8, 5), np.float32)
    assert set(other.ravel()) <= set(X)
    assert not np.array_equal(other.ravel(), X)
    for same in (np.ones(5), np.zeros((0, 3)), 7, "text", np.float32(2)):
        assert other_values(same, draw) is same
    pair = [other_values(np.array([1, 2]), draw).tolist() for _ in range(10)]
    assert all(sorted(one) == [1, 2] for one in pair)
