"""Runs a notebook in a kernel of the interpreter that the harness itself runs on, and tidies what came out.

Decides neither which notebooks need running nor whether the outputs are good: that is up to `building`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import copy
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipykernel.kernelspec
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager, KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets import default

from gpulab.doctor.hardware import gpu_names
from grader.authoring.clocks import timed_cells
from grader.machine.gpu_lock import turns

CELL_SECONDS = 300
"""No chapter's cell comes near this; a cell that does hangs."""

LACKING = "NeedsPart"
"""What a cell raises that this machine lacks a part for, although it has a GPU."""
NOISY = "Noisy"
"""What a cell raises that measured too much noise to tell."""
NOISY_TRIES = 3
PNG = b"\x89PNG\r\n\x1a\n"
SVG_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
ANSI = re.compile(r"\x1b\[[0-9;]*m")
CELL_FRAME = re.compile(r"(?:Cell In\s?\[\d+\], line |File <ipython-input[^>]*>[:,] ?(?:line )?)(\d+)")


class CellFailed(Exception):
    """A cell raised, hung, or killed the kernel.

    Args:
        index: position of the cell in the notebook.
        reason: what happened, as the end of a sentence that begins with the cell.
        line: line of the cell that it happened in, counted from 1; 0 when not known.
    """

    def __init__(self, index: int, reason: str, line: int = 0) -> None:
        super().__init__(index, reason, line)
        self.index, self.reason, self.line = index, reason, line


class OwnKernelSpecs(KernelSpecManager):
    """Knows one kernel, the running interpreter's: a registered one may belong to another environment."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The running interpreter's kernel, whatever the name."""
        return KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **ipykernel.kernelspec.get_kernel_dict())


class LocalKernel(KernelManager):
    """Speaks with its kernel through files: a TCP port that was free when chosen may be taken a moment later."""

    @default("transport")
    def _files(self) -> str:
        return "ipc"

    @default("ip")
    def _start_of_their_names(self) -> str:
        folder = tempfile.mkdtemp(prefix="grader-kernel-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return f"{folder}/kernel"


class OwnKernel(LocalKernel, AsyncKernelManager):
    """Starts the running interpreter's kernel."""

    @default("kernel_spec_manager")
    def _own_specs(self) -> OwnKernelSpecs:
        return OwnKernelSpecs(parent=self)


def gpu_name() -> str | None:
    """The GPU that notebooks would run on; None where there is none that torch can use."""
    names = gpu_names()
    if not names:
        return None
    import torch  # only now: it takes seconds, and most machines that build have no GPU

    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else None


@contextlib.contextmanager
def kernel_environment() -> Iterator[dict[str, str]]:
    """Environment variables for a kernel whose outputs depend on the notebook alone; good until the block ends.

    The author's predictions, IPython profile and hash seed are kept out. `gpulab` is the one that is importable here.
    """
    with tempfile.TemporaryDirectory(prefix="grader-build-", ignore_cleanup_errors=True) as folder:
        environment = dict(os.environ)
        environment |= {"GPULAB_HOME": folder, "IPYTHONDIR": f"{folder}/ipython", "PYTHONHASHSEED": "0"}
        if (gpulab := _gpulab_folder()) is not None:
            paths = [str(gpulab.parent), environment.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        yield environment


class _Client(NotebookClient):
    """Runs a cell again that could not tell for noise, as its message asks."""

    async def async_execute_cell(self, *cell: Any, **settings: Any) -> NotebookNode:
        """See `NotebookClient`."""
        tries = 0
        while True:
            try:
                return await super().async_execute_cell(*cell, **settings)
            except CellExecutionError as error:
                tries += 1
                if error.ename != NOISY or tries == NOISY_TRIES:
                    raise


def _gpulab_folder() -> Path | None:
    """The folder of `gpulab`; None when it is installed, and any kernel of this interpreter finds it."""
    specification = importlib.util.find_spec("gpulab")
    if specification is None or not specification.origin:
        return None
    folder = Path(specification.origin).parent
    return None if "site-packages" in folder.parts else folder


def run(
    notebook: NotebookNode,
    folder: Path,
    skipped_tag: str = "",
    on_cell: Callable[[int], None] = lambda index: None,
    cell_seconds: int = CELL_SECONDS,
) -> None:
    """Runs all code cells of `notebook` in `folder` and stores their outputs in it.

    On a GPU, a cell that reads a clock waits until no other notebook and no grader uses the GPU.

    Args:
        notebook: changed in place.
        folder: working directory of the kernel.
        skipped_tag: cells with this tag are not run. A cell that says that this machine lacks a part for it counts as
            not run, either.
        on_cell: told the position of each cell before it runs.
        cell_seconds: wall time that one cell may take.

    Raises:
        CellFailed: a cell raised, took too long or killed the kernel; the outputs up to there are stored.
    """
    at, turn, on_gpu = 0, contextlib.ExitStack(), gpu_name() is not None
    timed = timed_cells(notebook)

    def begin(cell: NotebookNode, cell_index: int) -> None:
        nonlocal at
        at = cell_index
        on_cell(cell_index)

    def take_turn(cell: NotebookNode, cell_index: int) -> None:
        if on_gpu:
            turn.enter_context(turns().alone() if cell_index in timed else turns().shared())

    client = _Client(
        notebook,
        timeout=cell_seconds,
        record_timing=False,
        coalesce_streams=True,
        skip_cells_with_tag=skipped_tag,
        kernel_manager_class=OwnKernel,
        allow_error_names=[LACKING],
        on_cell_start=begin,
        on_cell_execute=take_turn,
        on_cell_executed=lambda **_: turn.close(),
    )
    metadata = copy.deepcopy(notebook.metadata)
    with turn, kernel_environment() as environment, tempfile.TemporaryFile() as said:
        streams = {"stdout": subprocess.DEVNULL, "stderr": said}  # what the kernel itself says belongs in no terminal
        try:
            asyncio.run(client.async_execute(env=environment, cwd=str(folder), **streams))
        except CellExecutionError as error:
            raise CellFailed(at, f"raised {error.ename}: {_first_line(error.evalue)}", _line(error.traceback)) from None
        except CellTimeoutError:
            raise CellFailed(at, f"took longer than {cell_seconds} s") from None
        except DeadKernelError:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines()
            raise CellFailed(at, "killed the kernel" + (f" ({words[-1]})" if words else "")) from None
    for cell in notebook.cells:
        if any(output.get("ename") == LACKING for output in cell.get("outputs", [])):
            cell.outputs, cell.execution_count = [], None
    notebook.metadata = metadata  # nbclient puts the kernel's Python version and the state of widgets there
    tidy(notebook)


def _first_line(text: str) -> str:
    lines = ANSI.sub("", text).strip().splitlines()
    return (lines[0] if lines else "(no message)").rstrip(".")


def _line(traceback: str) -> int:
    """The line of the cell in which an error began."""
    frames = CELL_FRAME.findall(ANSI.sub("", traceback))
    return int(frames[0]) if frames else 0


def tidy(notebook: NotebookNode) -> None:
    """Takes out of the outputs what says something about the run and nothing about the notebook: picture metadata."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = _plain_png(data["image/png"])
            if "image/svg+xml" in data:
                data["image/svg+xml"] = SVG_METADATA.sub("", data["image/svg+xml"])


def _plain_png(text: str) -> str:
    """A picture without its comments: matplotlib writes its version there."""
    try:
        data = base64.b64decode(text, validate=False)
    except binascii.Error:
        return text
    if not data.startswith(PNG):
        return text
    kept, at = [PNG], len(PNG)
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] not in (b"tEXt", b"iTXt", b"zTXt", b"tIME"):
            kept.append(data[at : at + 12 + length])
        at += 12 + length
    return base64.b64encode(b"".join(kept)).decode() + "\n"


def output_texts(cell: NotebookNode) -> Iterator[str]:
    """Every text that a cell's outputs show."""
    for output in cell.get("outputs", []):
        values: list[Any] = [output.get("text"), output.get("evalue"), *output.get("traceback", [])]
        values += [value for kind, value in output.get("data", {}).items() if not kind.startswith("image/png")]
        yield from (value for value in values if isinstance(value, str))
