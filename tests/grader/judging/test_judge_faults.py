"""A fault of the machine or the harness leaves points pending; only the answer's own faults cost any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from minikey import with_test

from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.results import CellResult, SubmissionResult
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import gpu

LOOK = "answer = double(3)\n"
OURS = {
    "CUDA cannot be initialized": (
        "import torch\ndef broken():\n    raise RuntimeError('CUDA driver initialization failed')\n"
        "torch._C._cuda_init = broken\ntorch.zeros(1, device='cuda')",
        "RuntimeError",
    ),
    "torch without CUDA": (
        "import torch\ndef broken():\n    raise AssertionError('Torch not compiled with CUDA enabled')\n"
        "torch._C._cuda_init = broken\ntorch.cuda.init()",
        "AssertionError",
    ),
    "GPU memory": ("import torch\nraise torch.OutOfMemoryError('CUDA out of memory.')", "OutOfMemoryError"),
    "device": ("import torch\nraise torch.AcceleratorError('CUDA error: unknown error')", "AcceleratorError"),
    "cuBLAS": ("raise RuntimeError('CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling')", "CUBLAS"),
    "host memory of torch": (
        'raise RuntimeError("DefaultCPUAllocator: can\'t allocate memory: you tried to allocate 400000 bytes.")',
        "RuntimeError",
    ),
    "Numba's driver": (
        "from numba.cuda.cudadrv.error import CudaDriverError\nraise CudaDriverError('CUDA_ERROR_ECC_UNCORRECTABLE')",
        "CudaDriverError",
    ),
    "host memory": ("raise MemoryError", "MemoryError"),
    "no file": ("open('/nowhere/at/all')", "FileNotFoundError"),
    "full disk": ("raise OSError(28, 'No space left on device')", "OSError"),
    "timeout of the system": ("raise TimeoutError('connection')", "TimeoutError"),
    "package": ("import no_such_package", "ModuleNotFoundError"),
    "exit": ("raise SystemExit(1)", "SystemExit"),
    "a program of the test's": ("import subprocess\nsubprocess.run(['false'], check=True)", "CalledProcessError"),
    "what the harness cannot send": ("double(object())", "NotPlain"),
    "an assertion about such a fault": (
        "try:\n    raise MemoryError\nexcept MemoryError:\n    raise AssertionError('f(3) failed') from None",
        "f(3) failed",
    ),
    "a check that met such a fault": (
        "from gpulab import check\ndef room():\n    raise MemoryError\ncheck.raises(ValueError, room)",
        "it raised MemoryError",
    ),
}
THEIRS = {
    "assertion": ("assert answer == 7, 'double(3) is not 7'", "double(3) is not 7"),
    "type": ("answer + 'x'", "The test cannot use what your code gave it (TypeError: "),
    "value": ("int('x')", "The test cannot use what your code gave it (ValueError: "),
    "index": ("[][answer]", "The test cannot use what your code gave it (IndexError: "),
    "attribute": ("answer.shape", "The test cannot use what your code gave it (AttributeError: "),
    "shapes of tensors": (
        "import torch\ntorch.zeros(answer) + torch.zeros(2)",
        "The test cannot use what your code gave it (RuntimeError: The size of tensor a (6)",
    ),
    "depth": ("def f(): return f()\nf()", "The test cannot use what your code gave it (RecursionError: "),
    "memory that only a wrong shape asks for": (
        "import numpy\nnumpy.zeros((answer, 1, 30_000)) + numpy.zeros((60_000_000, 1))",
        "The test cannot use what your code gave it (MemoryError: Unable to allocate 78.6 TiB",
    ),
    "the same of torch": (
        "import torch\ntorch.zeros(answer, 1, 30_000) + torch.zeros(10_000_000, 1)",
        "The test cannot use what your code gave it (RuntimeError: ",
    ),
    "an assertion about such memory": (
        "import numpy\ntry:\n    numpy.zeros(answer << 40)\nexcept MemoryError:\n    raise AssertionError('too wide')",
        "too wide",
    ),
    "assertion in a handler": (
        "try:\n    open('/nowhere')\nexcept OSError:\n    raise AssertionError('you left no file') from None",
        "you left no file",
    ),
}


@pytest.fixture(scope="module")
def parent() -> Iterator[client.SubmissionServer]:
    found = client.SubmissionServer((*fork_server.LIGHT_MODULES, "torch"))
    yield found
    found.close()


def graded(parent: client.SubmissionServer, test: str, answer: str = "def double(x):\n    return 2 * x") -> CellResult:
    key = with_test(test)
    submission, only = from_answers(key, {"double": answer}), frozenset({"double_test"})
    (result,) = grade(
        submission, key, student="s", seed=1, limits=Limits(cell_seconds=5), only=only, parent=parent
    ).cells
    return result


@pytest.mark.parametrize(("code", "words"), OURS.values(), ids=OURS)
def test_the_machines_faults_are_pending(parent: client.SubmissionServer, code: str, words: str) -> None:
    """After the test has had an answer, too."""
    result = graded(parent, LOOK + code)
    assert (result.verdict.value, result.earned) == ("harness error", 0.0)
    assert words in result.message


@pytest.mark.parametrize(("code", "words"), THEIRS.values(), ids=THEIRS)
def test_what_a_strange_answer_causes_is_a_failure(parent: client.SubmissionServer, code: str, words: str) -> None:
    result = graded(parent, LOOK + code)
    assert result.verdict.value == "failed"
    assert result.message.startswith(words)


@pytest.mark.skipif(bool(gpu.device_files()), reason="what CUDA maps cannot be told from what a test takes")
def test_a_test_takes_no_more_memory_than_a_submission(parent: client.SubmissionServer) -> None:
    """An answer that makes it ask for more cannot have other submissions killed for it."""
    result = graded(parent, LOOK + "import numpy\nnumpy.empty(answer * 750_000_000, 'u1')")
    assert (result.verdict.value, "Unable to allocate 4.19 GiB" in result.message) == ("failed", True)


@pytest.mark.skipif(bool(gpu.device_files()), reason="what CUDA maps cannot be told from what a test takes")
def test_lists_of_many_numbers_are_the_answers_fault(parent: client.SubmissionServer) -> None:
    """Python does not say how much memory a list would have needed."""
    result = graded(parent, LOOK + "many = b'x' * (200_000_000 * answer)\nraise MemoryError")
    assert result.verdict.value == "failed"
    assert result.message.startswith("The test cannot use what your code gave it (MemoryError")


@pytest.mark.parametrize("name", ["MemoryError", "OSError", "ImportError", "RuntimeError", "NeedsGPU", "Undecided"])
def test_a_student_who_raises_such_an_exception_fails(parent: client.SubmissionServer, name: str) -> None:
    """Points cannot be kept pending by an answer."""
    own = f"class {name}(Exception):\n    verdict, cause = 'needs a GPU', 'x'\n" if name[-5:] != "Error" else ""
    result = graded(parent, LOOK, f"{own}def double(x):\n    raise {name}('CUDA error: no')")
    assert result.verdict.value == "failed"
    assert f"Your code raised {name}: CUDA error: no" in result.message


@pytest.mark.parametrize(
    ("error", "renewed"),
    [("torch.AcceleratorError('CUDA error: an illegal memory access')", True), ("MemoryError()", False)],
)
def test_an_error_of_the_device_stays_with_its_own_row(
    parent: client.SubmissionServer, error: str, renewed: bool
) -> None:
    """The next test runs in another judge; the student's process is the same, and no restart is spent."""
    key = with_test(f"import builtins, torch\n{LOOK}builtins.met = 1\nraise {error}")
    later = replace(
        key.cell("SHARES_test"), source="import builtins\nassert not hasattr(builtins, 'met'), 'met'\nSHARES"
    )
    key = replace(key, cells=tuple(later if cell.grade_id == later.grade_id else cell for cell in key.cells))
    submission = from_answers(key, {"double": "def double(x):\n    return 2 * x", "SHARES": "SHARES = 2.0"})
    result = grade(submission, key, student="s", seed=1, limits=Limits(), parent=parent)
    verdicts = {cell.grade_id: cell.verdict.value for cell in result.cells}
    assert verdicts["double_test"] == "harness error"
    assert verdicts["SHARES_test"] == ("passed" if renewed else "failed")
    assert result.usage.restarts == 0


def test_a_reference_that_fails_is_our_fault(parent: client.SubmissionServer) -> None:
    """The exercise has answered; then the reference cannot draw its inputs."""
    test = "from gpulab import speedup\nfrom grader.exercises.tensor_cores.comparisons import PADDED\n"
    test += "speedup.against(double, PADDED, tokens=4, features=-1, outputs=2)"
    key = with_test(LOOK + test, Need.SPEEDUP)
    submission = from_answers(key, {"double": "def double(x, weight=None):\n    return x"})
    only = frozenset({"double_test"})
    (result,) = grade(submission, key, student="s", seed=1, limits=Limits(), only=only, parent=parent).cells
    assert result.verdict.value == "harness error"
    assert "The reference of " in result.message and " failed: " in result.message


def test_what_a_test_found_is_in_fields(parent: client.SubmissionServer) -> None:
    """And survives the way to a file and back."""
    test = "from gpulab import check\ncheck.equal(double(3), 6, 'double(3)', mistakes={5: 'You added 2.'})"
    result = graded(parent, test, "def double(x):\n    return x + 2")
    (mismatch,) = result.mismatches
    assert (mismatch.what, mismatch.got, mismatch.expected) == ("double(3)", "5", "6")
    assert mismatch.misconception == "You added 2."
    assert result.message == "double(3): you returned 5, expected 6. You added 2."
    whole = SubmissionResult("s", "01_mini", (result,))
    assert SubmissionResult.from_json(whole.to_json()) == whole


def test_shares_and_exceptions_are_in_fields_too(parent: client.SubmissionServer) -> None:
    shares = "from gpulab import check\ncheck.share(double, {'a': 1, 'b': 2}, 3.0, 'double', {'b': {3: 'Off by one.'}})"
    result = graded(parent, shares, "double = {'a': 1, 'b': 3}")
    assert (result.verdict.value, result.earned) == ("partial", 1.5)
    assert [one.misconception for one in result.mismatches] == ["Off by one."]
    (raised,) = graded(parent, LOOK, "def double(x):\n    return [][x]").mismatches
    assert raised.got == "IndexError: list index out of range"
    assert graded(parent, "assert double(3) == 6").mismatches == ()
