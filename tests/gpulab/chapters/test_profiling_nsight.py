"""Recorded reports of Nsight, as the chapter shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulab.chapters.profiling import nsight
from gpulab.tables import data_folder

HEAD = "# Written by grader prove, not by hand.\n# device: {}\n# tool: A tool 1.2\n# command: look\n# day: {}\n"
SYSTEMS = "what,name,calls,total_us,median_us\nkernel,prove_copy,2,12.5,6.25\ncall,cuMemcpyHtoD_v2,1,900,900\n"
COMPUTE = (
    "kernel,duration_us,compute_percent,memory_percent,occupancy_percent,registers_per_thread,sectors_per_load,"
    "sectors_per_store,turns_per_shared_load,turns_per_shared_store\nprove_copy,6.1,21.5,82.3,91,18,4,4,0,0\n"
)


@pytest.fixture
def machines(tmp_path: Path) -> Path:
    """Reports of two GPUs."""
    for gpu, day in (("a100", "2026-01-01"), ("h200", "2026-02-01")):
        (tmp_path / gpu).mkdir()
        (tmp_path / gpu / "nsys_summary.csv").write_text(HEAD.format(gpu.upper(), day) + SYSTEMS, encoding="utf-8")
    (tmp_path / "h200" / "ncu_kernels.csv").write_text(HEAD.format("H200", "2026-02-01") + COMPUTE, encoding="utf-8")
    return tmp_path


def test_the_latest_report_is_shown_with_its_origin(machines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nsight.show_systems(machines)
    nsight.show_compute(machines)
    told = capsys.readouterr().out
    assert told.startswith("Recorded on H200, 2026-02-01, by A tool 1.2:\n  look\n")
    assert "A100" not in told
    assert "kernel       12.5 µs    2 ×  prove_copy" in told
    assert [line.split()[1:] for line in told.splitlines()[-1:]] == [["6.1", "21.5", "82.3", "91.0", "4.0", "4.0"]]


def test_without_a_report_nothing_is_made_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nsight.show_systems(tmp_path)
    nsight.show_compute(tmp_path / "nowhere")
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("No report has been recorded yet: it takes a GPU and Nsight Systems.")
    assert "Nsight Compute" in second and "grader prove --only nsight" in second


def test_what_is_recorded_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Holds for whatever `grader prove` has left in data/machines."""
    nsight.show_systems()
    nsight.show_compute()
    assert ("No report" in capsys.readouterr().out) == (
        not all(list((data_folder() / "machines").glob(f"*/{name}.csv")) for name in nsight.TOOLS)
    )
