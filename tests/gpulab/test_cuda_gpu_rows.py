"""Chapter 02's cells that need a GPU, run without one: their names, sizes and verdicts fit, whatever a GPU will say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
import torch

import gpulab
from gpulab import contest, cuda_cpp
from gpulab.chapters import cuda_ladder, cuda_ladder_cpp, cuda_ladder_pictures
from gpulab.contest import Noisy, Speed
from gpulab.timing import Ratio

CHAPTER = Path(__file__).parents[2] / "solutions" / "02_cuda_basics" / "02_cuda_basics.ipynb"
Floats = Any


def grade_id(cell: Any) -> str:
    """Empty for a cell that nobody grades."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


@pytest.fixture(scope="module")
def cells() -> list[Any]:
    """The chapter's cells that are tagged `gpu`."""
    notebook = nbformat.read(CHAPTER, as_version=4)  # type: ignore[no-untyped-call]
    return [cell for cell in notebook.cells if "gpu" in cell.metadata.get("tags", [])]


@pytest.fixture(autouse=True)
def gpu_of_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that says it has a GPU, and a small one."""
    monkeypatch.setattr(gpulab, "needs_gpu", lambda points="": None)
    properties = SimpleNamespace(total_memory=160 * 640**2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)


def run(cells: list[Any], exercise: str, answer: Any) -> Any:
    """Runs an exercise's GPU row; its last expression's value, where it ends in one."""
    (source,) = (cell.source for cell in cells if grade_id(cell) == f"{exercise}_gpu")
    body, _, end = source.rpartition("\n### END HIDDEN TESTS")[0].rpartition("\n")
    namespace: dict[str, Any] = {exercise: answer}
    exec(compile(f"{body}\n_ = {end}" if end == "points" else f"{body}\n{end}", exercise, "exec"), namespace)
    return namespace.get("_")


def turned(x: Any) -> Any:
    return np.ascontiguousarray(np.asarray(x).T)


def product(a: Any, b: Any) -> Any:
    return np.asarray(a) @ np.asarray(b)


def test_grading_runs_the_imports_and_the_answers_only() -> None:
    """Every submission is run twice, once for its counts: measurements in between would be paid for each time."""
    notebook = nbformat.read(CHAPTER, as_version=4)  # type: ignore[no-untyped-call]
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and not grade_id(cell)]
    (imports,) = (cell.source for cell in code if "demo" not in cell.metadata.get("tags", []))
    assert imports.startswith("import numpy as np")


@pytest.mark.parametrize(("exercise", "answer"), [("transpose_tiled", turned), ("matmul_tiled", product)])
@pytest.mark.parametrize("speed", [0.2, 0.45, 1.02, 1.1, 1.2, 2.0])
def test_points_follow_the_speed(
    cells: list[Any], monkeypatch: pytest.MonkeyPatch, exercise: str, answer: Any, speed: float
) -> None:
    """A transpose from 30 % of a copy's speed on, all from 60 %; a product from 5 % beyond the naive one on."""
    asked: list[Any] = []

    def against(yours: Any, where: str, **size: Any) -> Speed:
        asked.append((yours, contest.find(where), size))
        return Speed(speed, 0.001, 11, 60.0, "a GPU")

    monkeypatch.setattr(contest, "against", against)
    copied = {0.45: 1.5, 1.02: 3.0, 1.1: 3.0, 1.2: 3.0}
    points = {"transpose_tiled": copied, "matmul_tiled": {1.1: 1.0, 1.2: 2.0, 2.0: 2.0}}
    if speed in points[exercise]:
        assert run(cells, exercise, answer) == pytest.approx(points[exercise][speed])
    else:
        with pytest.raises(AssertionError, match=f"{speed:.0%}|{speed:.2f} times"):
            run(cells, exercise, answer)
    ((timed, found, size),) = asked
    assert timed is answer
    extents = {name: extent for name, extent in size.items() if name in ("rows", "columns", "inner")}
    made = found.inputs(7, **{name: 5 + place for place, name in enumerate(extents)})
    assert len(made) == (1 if exercise == "transpose_tiled" else 2)
    assert extents["rows"] != extents["columns"] or exercise == "matmul_tiled"


def test_a_transpose_is_timed_in_earnest(cells: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """On this CPU, against a copy: what comes out is points, or that it was too noisy, or too slow; never a fault."""
    try:
        assert 0 <= run(cells, "transpose_tiled", turned) <= 3
    except (AssertionError, Noisy) as told:
        assert "of the speed of a copy" in str(told) or "grade again" in str(told)


@pytest.mark.parametrize(
    ("exercise", "answer"), [("transpose_tiled", np.array), ("matmul_tiled", lambda a, b: 2 * a @ b)]
)
def test_what_is_wrong_on_the_gpu_earns_nothing(cells: list[Any], exercise: str, answer: Any) -> None:
    with pytest.raises(AssertionError, match="on the GPU"):
        run(cells, exercise, answer)


# ------------------------------------------------------------------------------------------------------------ SAXPY_CU


def launched(kernel: Callable[..., Floats]) -> Callable[..., list[Floats]]:
    """`cuda_cpp.run` with a kernel in NumPy: (place, threads, block, n, alpha, x, y) → y."""

    def run_it(source: str, name: str, grid: int, block: int, alpha: Any, x: Floats, y: Floats, n: Any) -> list[Floats]:
        place = np.arange(len(y))
        return [x, kernel(place, grid * block, block, int(n), float(alpha), x, y).astype(np.float32)]

    return run_it


KERNELS: dict[str, tuple[Callable[..., Floats], str]] = {
    "right": (lambda i, threads, block, n, a, x, y: np.where(i < n, a * x + y, y), ""),
    "no guard": (lambda i, threads, block, n, a, x, y: a * x + y, "a guard is missing"),
    "one each": (
        lambda i, threads, block, n, a, x, y: np.where(i < min(n, threads), a * x + y, y),
        "go on by the number",
    ),
    "a block's stride": (
        lambda i, threads, block, n, a, x, y: np.where(
            i < n, y + np.minimum(threads // block, i // block + 1) * a * x, y
        ),
        "the stride is blockDim.x * gridDim.x",
    ),
    "no sum": (lambda i, threads, block, n, a, x, y: np.where(i < n, a * x, y), "The old value of y is missing"),
    "a short index": (
        lambda i, threads, block, n, a, x, y: np.where(i < min(n, 2**15), a * x + y, y),
        "index overflows",
    ),
    "nothing": (lambda i, threads, block, n, a, x, y: y, "Nothing was written to y"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_run_tells_what_is_wrong_with_saxpy(cells: list[Any], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    kernel, words = KERNELS[name]
    monkeypatch.setattr(cuda_cpp, "run", launched(kernel))
    if not words:
        run(cells, "SAXPY_CU", "source")
        return
    with pytest.raises(AssertionError) as told:
        run(cells, "SAXPY_CU", "source")
    assert words in str(told.value)


@pytest.mark.parametrize(
    "error",
    [
        cuda_cpp.GuardError("The kernel wrote outside its array"),
        cuda_cpp.BrokenContextError("'saxpy' failed on the GPU"),
        cuda_cpp.CudaCompileError("1 error in the CUDA C++ source"),
    ],
)
def test_what_a_gpu_refuses_is_the_answers_fault(
    cells: list[Any], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def run_it(*_: Any) -> None:
        raise error

    monkeypatch.setattr(cuda_cpp, "run", run_it)
    with pytest.raises(AssertionError, match=f"blocks of .* threads: {str(error)[:20]}".replace("+", r"\+")):
        run(cells, "SAXPY_CU", "source")


def test_both_languages_are_raced_against_a_copy(cells: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The one demonstration that runs on a GPU only."""
    (source,) = (cell.source for cell in cells if not grade_id(cell))
    shown: list[Any] = []
    monkeypatch.setattr(cuda_ladder, "race", lambda *_, runs, on: Ratio(1.25, 0.01, runs, "a GPU"))
    monkeypatch.setattr(torch, "rand", lambda shape, device: np.zeros((2, 2), np.float32))
    monkeypatch.setattr(cuda_ladder_cpp, "Kernel", lambda source, name: None)
    monkeypatch.setattr(cuda_ladder_pictures, "copy_shares", shown.append)
    names = ("reads_along_rows", "writes_along_rows", "transpose_tiled")
    namespace: dict[str, Any] = dict.fromkeys(names, turned)
    namespace |= {"lab": cuda_ladder, "cpp": cuda_ladder_cpp, "charts": cuda_ladder_pictures, "TRANSPOSE_CU": "PAD 1"}
    exec(compile(source, "demo", "exec"), namespace)
    assert [round(share.median, 2) for share in shown[0].values()] == [0.8] * 5
