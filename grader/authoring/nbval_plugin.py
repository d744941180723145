"""pytest plugin: what nbval passes over in silence when it runs the course's notebooks.

nbval runs the cells and compares outputs. This plugin adds: a cell that was never executed fails; a cell for GPUs is
skipped without one, and the run ends with how many; numbers may differ by the tolerance in a cell's metadata; a missing
picture fails; a dead kernel fails at once; kernels that begin at once get no port of each other's; a notebook stays on
one xdist worker. It does nothing when nbval is off.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
import time
from collections.abc import Callable, Generator
from queue import Empty
from typing import Any

import pytest

GPU_REASON = "needs a GPU"
POLL_SECONDS = 1.0
"""How often a silent kernel is asked whether it is still alive."""
CELL_SECONDS = 300.0
"""In place of nbval's 2 000 s, unless another limit was given."""

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class KernelDied(Exception):
    """The kernel ended while a cell ran."""


def pytest_configure(config: pytest.Config) -> None:
    """Sets what every run over the course's notebooks needs."""
    if not _active(config):
        return
    import nbval.kernel
    import nbval.plugin

    from grader.authoring.execution import LocalKernel

    option = config.option
    if not option.nbval_kernel_name:
        option.nbval_current_env = True  # a registered python3 kernel may belong to another environment
    if option.nbval_cell_timeout == 2000:
        option.nbval_cell_timeout = CELL_SECONDS
    if getattr(option, "dist", "no") in ("load", "worksteal"):
        option.dist = "loadfile"  # a notebook's cells share a kernel
    home = tempfile.TemporaryDirectory(prefix="grader-nbval-", ignore_cleanup_errors=True)
    config.add_cleanup(home.cleanup)
    # As at the build: neither the author's predictions nor another hash seed may show in an output.
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setenv("GPULAB_HOME", home.name)
    patch.setenv("IPYTHONDIR", os.path.join(home.name, "ipython"))  # noqa: PTH118 - an environment variable is text
    patch.setenv("PYTHONHASHSEED", "0")
    patch.setattr(nbval.plugin, "RunningKernel", _live_kernel())
    patch.setattr(nbval.kernel, "KernelManager", LocalKernel)


def _active(config: pytest.Config) -> bool:
    return bool(config.getoption("nbval", False) or config.getoption("nbval_lax", False))


@functools.cache
def _live_kernel() -> type:
    """nbval's kernel, less its two waits that outlast the kernel."""
    from nbval.kernel import RunningKernel

    class LiveKernel(RunningKernel):
        def get_message(self, stream: str, timeout: float | None = None) -> Any:
            deadline = time.monotonic() + timeout if timeout is not None else float("inf")
            while True:
                left = deadline - time.monotonic()
                try:
                    return super().get_message(stream, timeout=max(0.0, min(POLL_SECONDS, left)))
                except Empty:
                    if not self.is_alive():
                        self.kc.stop_channels()  # nbval stops those of living kernels only
                        raise KernelDied("the kernel died while this cell ran") from None
                    if left <= POLL_SECONDS:
                        raise

    return LiveKernel


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips GPU cells where there is none, and teaches cells to compare with a tolerance."""
    if not _active(config):
        return
    cells: list[Any] = [item for item in items if _is_cell(item)]
    skipped = [item for item in cells if _for_gpu(item.cell)]
    if skipped and not _has_gpu():
        for item in skipped:
            item.add_marker(pytest.mark.skip(reason=f"{GPU_REASON}: {item.parent.path.stem}, {_name(item)}"))
    for item in cells:
        item.compare_outputs = _tolerant(item, item.compare_outputs)


def _is_cell(item: pytest.Item) -> bool:
    from nbval.plugin import IPyNbCell

    return isinstance(item, IPyNbCell)


def _for_gpu(cell: Any) -> bool:
    return "gpu" in cell.metadata.get("tags", [])


def _has_gpu() -> bool:
    from grader.authoring.execution import gpu_name

    return gpu_name() is not None


def _name(item: Any) -> str:
    return str(item.cell.get("id") or item.name)


def _tolerant(item: Any, compare: Callable[..., bool]) -> Callable[..., bool]:
    """nbval's comparison, with numbers that are near enough taken for equal and pictures counted."""
    tolerance = float(item.cell.metadata.get("nbval_rtol", 0.0))

    def compare_outputs(test: Any, ref: Any, skip_compare: Any = None) -> bool:
        if tolerance:
            for new, old in zip(test, ref, strict=False):
                _adopt(new, old, tolerance)
        if not compare(test, ref, skip_compare):
            return False
        shown, stored = _pictures(test), _pictures(ref)
        if shown != stored:
            item.comparison_traceback.append(f"{shown} pictures, {stored} in the notebook")
        return shown == stored

    return compare_outputs


def _adopt(new: Any, old: Any, tolerance: float) -> None:
    """Replaces texts of an output by the stored ones where only numbers differ, and little."""
    if near(new.get("text", ""), old.get("text", ""), tolerance):
        new["text"] = old["text"]
    for kind, text in new.get("data", {}).items():
        stored = old.get("data", {}).get(kind)
        if isinstance(text, str) and isinstance(stored, str) and near(text, stored, tolerance):
            new["data"][kind] = stored


def near(one: str, other: str, tolerance: float) -> bool:
    """Whether two texts agree but for numbers that differ by at most `tolerance`, relative to the larger one."""
    if not one or NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = zip(map(float, NUMBER.findall(one)), map(float, NUMBER.findall(other)), strict=True)
    return all(abs(a - b) <= tolerance * max(abs(a), abs(b)) for a, b in pairs)


def _pictures(outputs: Any) -> int:
    return sum(kind.startswith("image/") for output in outputs for kind in output.get("data", {}))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fails a cell that the build never ran; it runs all the same, for the cells that need it."""
    yield
    if not _active(item.config) or not _is_cell(item):
        return
    from nbval.plugin import NbCellError

    cell: Any = item
    # A GPU cell of a notebook that was built without a GPU is stored unexecuted, and that is right.
    if cell.cell.get("execution_count") is None and cell.cell.source.strip() and not _for_gpu(cell.cell):
        what = f'{_name(item)} was never executed: run "grader build {cell.parent.path.stem}"'
        raise NbCellError(cell.cell_num, what, cell.cell.source)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Ends the run with how many cells only a GPU could have tried."""
    if not _active(config):
        return
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    cells = re.findall(rf"{GPU_REASON}: ([^'\")]+)", "\n".join(reasons))
    if cells:
        terminalreporter.section("cells for a GPU")
        terminalreporter.line(f"{len(cells)} not run, no CUDA device here: {'; '.join(sorted(cells))}")
