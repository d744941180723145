"""Cells that read a clock are known, and are alone on the GPU while they do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.authoring import execution
from grader.authoring.clocks import timed_cells

MEETING = """
import time
from pathlib import Path

own, other = Path("{own}"), Path("{other}")
own.touch()
until = time.{clock}() + {seconds}
while not (met := other.exists()) and time.{clock}() < until:
    time.sleep(0.01)
time.sleep(0.5)  # so that the other one sees it, too
own.unlink()
print(met)
"""


def test_cells_that_read_a_clock_are_found() -> None:
    sources = [
        "def total_ms(f):\n    start = time.perf_counter()\n\n    f()\n    return start",
        "def other(f):\n    return f()\n\nmeasured = 1",
        "total_ms(print)",
        "other(print)",
        "start = torch.cuda.Event(enable_timing=True)",
    ]
    cells = [new_markdown_cell("measure"), *map(new_code_cell, sources), new_code_cell("1", metadata={"tags": ["gpu"]})]
    cells.append(new_code_cell("total_ms(print)", metadata={"nbgrader": {"grade": True}}))
    assert timed_cells(new_notebook(cells=cells)) == {1, 3, 5, 6}


@pytest.mark.parametrize(("clock", "seconds", "meet"), [("perf_counter", 1, "False"), ("monotonic", 90, "True")])
def test_on_a_gpu_a_timed_cell_waits_until_it_is_alone(
    clock: str, seconds: float, meet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "gpu_name", lambda: "NVIDIA Imaginary")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cells = [MEETING.format(own=own, other=1 - own, clock=clock, seconds=seconds) for own in range(2)]
    notebooks = [new_notebook(cells=[new_code_cell(cell)]) for cell in cells]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda notebook: execution.run(notebook, tmp_path), notebooks))
    assert [notebook.cells[0].outputs[0].text.strip() for notebook in notebooks] == [meet, meet]
