"""The CUDA chapter's cells that need a GPU, run without one: their names, sizes and verdicts fit, whatever a GPU will
say."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
import torch

import gpulab
from gpulab import trace
from gpulab.measuring import speedup
from gpulab.measuring.speedup import Comparison, Speed
from grader.exercises.shared_memory.comparisons import TRANSPOSE

CHAPTERS = [
    Path(__file__).parents[3] / "solutions" / name / f"{name}.ipynb" for name in ("02_cuda_basics", "03_shared_memory")
]


def grade_id(cell: Any) -> str:
    """Empty for a cell that nobody grades."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


@pytest.fixture(scope="module")
def cells() -> list[Any]:
    """The chapters' cells that are tagged `gpu`."""
    notebooks = [nbformat.read(path, as_version=4) for path in CHAPTERS]  # type: ignore[no-untyped-call]
    return [cell for one in notebooks for cell in one.cells if "gpu" in cell.metadata.get("tags", [])]


@pytest.fixture(autouse=True)
def gpu_of_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that says it has a GPU, and a small one."""
    monkeypatch.setattr(gpulab, "needs_gpu", lambda points="": None)
    properties = SimpleNamespace(total_memory=160 * 640**2, name="a GPU")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    counted(monkeypatch, read=4.5, write=4.5)


def counted(monkeypatch: pytest.MonkeyPatch, **sectors: float) -> None:
    """What the tracer says of the answer, which launches nothing here."""
    launch = {f"{way}_sectors_per_request": number for way, number in sectors.items()}
    launch |= {"shared_writes": 45 * 70, "shared_reads": 45 * 70}
    monkeypatch.setattr(trace, "counting", lambda: contextlib.nullcontext([launch]))


def run(cells: list[Any], exercise: str, answer: Any) -> Any:
    """Runs an exercise's GPU row; its last expression's value, where it ends in one."""
    (source,) = (cell.source for cell in cells if grade_id(cell) == f"{exercise}_gpu")
    body, _, end = source.rpartition("\n### END HIDDEN TESTS")[0].rpartition("\n")
    namespace: dict[str, Any] = {exercise: answer}
    kept = "_ = " if end.startswith("speed.told_points(") else ""
    exec(compile(f"{body}\n{kept}{end}", exercise, "exec"), namespace)
    return namespace.get("_")


def turned(x: Any) -> Any:
    return np.ascontiguousarray(np.asarray(x).T)


def product(a: Any, b: Any) -> Any:
    return np.asarray(a) @ np.asarray(b)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_grading_runs_the_imports_and_the_answers_only(path: Path) -> None:
    """Every submission is run twice, once for its counts: measurements in between would be paid for each time."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and not grade_id(cell)]
    (imports,) = (cell.source for cell in code if "demo" not in cell.metadata.get("tags", []))
    assert imports.startswith("import numpy as np")


@pytest.mark.parametrize(("exercise", "answer"), [("transpose_tiled", turned), ("matmul_tiled", product)])
@pytest.mark.parametrize("speed", [0.2, 1.02, 1.1, 1.45, 2.0])
def test_points_follow_the_speed(
    cells: list[Any], monkeypatch: pytest.MonkeyPatch, exercise: str, answer: Any, speed: float
) -> None:
    """Both from a little beyond the naive kernel's speed on."""
    asked: list[Any] = []

    def against(yours: Any, comparison: Comparison, **size: Any) -> Speed:
        asked.append((yours, speedup.find(comparison.workload), size))
        return Speed(speed, 0.001, 11, 60.0, "a GPU")

    monkeypatch.setattr(speedup, "against", against)
    points = {"transpose_tiled": {1.45: 1.5, 2.0: 3.0}, "matmul_tiled": {1.1: 1.0, 1.45: 2.0, 2.0: 2.0}}
    if speed in points[exercise]:
        assert run(cells, exercise, answer) == pytest.approx(points[exercise][speed])
    else:
        with pytest.raises(AssertionError, match=f"{speed:.3g} times"):
            run(cells, exercise, answer)
    ((timed, found, size),) = asked
    assert timed is answer
    extents = {name: extent for name, extent in size.items() if name in ("rows", "columns", "inner")}
    made = found.inputs(7, **{name: 5 + place for place, name in enumerate(extents)})
    assert len(made) == (1 if exercise == "transpose_tiled" else 2)


@pytest.mark.parametrize("way", ["read", "write"])
def test_speed_counts_for_coalesced_kernels_only(cells: list[Any], monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """The naive kernel that writes along rows is three times as fast on an H200 as the one that reads along them."""
    counted(monkeypatch, **{"read": 4.5, "write": 4.5, way: 32})
    with pytest.raises(AssertionError, match=f"the {way}s take 32 sectors per request, the limit is 5"):
        run(cells, "transpose_tiled", turned)


def test_the_naive_transpose_tells_what_is_right() -> None:
    """A right answer, a copy that is not turned, and a view in other strides, which moves nothing."""
    size = {"times": 2, "tolerance": 1e-4, "rows": 70, "columns": 45}
    assert speedup.same(turned, TRANSPOSE, **size) == 1.0
    assert speedup.same(np.array, TRANSPOSE, **size) == 0.0
    assert speedup.same(lambda x: np.asarray(x).T, TRANSPOSE, **size) == 0.0


@pytest.mark.parametrize(
    ("exercise", "answer"), [("transpose_tiled", np.array), ("matmul_tiled", lambda a, b: 2 * a @ b)]
)
def test_what_is_wrong_on_the_gpu_earns_nothing(cells: list[Any], exercise: str, answer: Any) -> None:
    with pytest.raises(AssertionError, match="on the GPU"):
        run(cells, exercise, answer)


def test_both_languages_are_measured_beside_a_copy(cells: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The one demonstration that runs on a GPU only."""
    (source,) = (cell.source for cell in cells if not grade_id(cell))
    shown: list[Any] = []
    times = iter([1.0, 4.0, 4.0, 1.25, 1.25])
    monkeypatch.setattr(torch, "rand", lambda *shape, device: torch.zeros(2, 2))
    namespace: dict[str, Any] = dict.fromkeys(("naive", "transpose_cu", "transpose_tiled"), turned)
    namespace |= {"reading_kernel": None, "writing_kernel": None}
    namespace["measure"] = lambda version, x, runs: SimpleNamespace(median_ms=next(times))
    bars = lambda gbs, title, **_: shown.append((gbs, title))  # noqa: E731
    namespace["plot"] = SimpleNamespace(bars=bars, number=lambda rate: f"{1e6 * rate:g} / 10^6")
    exec(compile(source, "demo", "exec"), namespace)
    ((gbs, title),) = shown
    assert len(gbs) == 5
    assert title == "Your transpose: 25.6 / 10^6 GB/s; a copy: 32 / 10^6 GB/s"


def test_what_a_gpu_adds_up_is_exact_in_any_order() -> None:
    """Thousands of atomics, one per warp, each round: beyond 2**24 quarters the sum is off by more than is allowed."""
    source = (Path(__file__).parents[3] / "solutions" / "03_shared_memory.md").read_text()
    (most,) = re.findall(r"x = drawn\(draw\.randint\([\d_]+, ([\d_]+)\)\).*\n.*check\.close\(total\(", source)
    quarters = (4 + 240) / 2 * int(most) + 10 * 69 * int(most) ** 0.5  # the mean, and ten times the standard deviation
    assert quarters < 2**24
