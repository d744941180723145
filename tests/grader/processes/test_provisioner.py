"""Whatever runs notebooks through jupyter_client runs them in forked kernels too, and they say the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from grader.processes import client, provisioner

pytestmark = pytest.mark.long

CELLS = (
    "import os, sys\nprint(sum(range(10)))\nsys.stderr.write('said\\n')",
    "import torch\n(torch.arange(6.0).reshape(2, 3) @ torch.ones(3, 1)).tolist()",
    "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);",
    "from IPython.display import HTML\nHTML('<b>bold</b>')",
    "!echo from the shell",
    "print(os.getcwd(), os.environ['MARK'], __name__)",
)


@pytest.fixture(autouse=True)
def _kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kernels of this interpreter, one of them warm, with no more imported than these notebooks need."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv(client.MODULES_VARIABLE, "numpy matplotlib.pyplot torch ipykernel.kernelapp")
    for name in ("cold", "warm"):
        folder = tmp_path / "kernels" / name
        folder.mkdir(parents=True)
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": command, "display_name": name, "language": "python"}
        if name == "warm":
            spec["metadata"] = {"kernel_provisioner": {"provisioner_name": provisioner.NAME}}
        (folder / "kernel.json").write_text(json.dumps(spec))


def run(kernel: str, folder: Path, *cells: str) -> NotebookNode:
    """The notebook of these cells, run by nbclient as it comes."""
    notebook = new_notebook(cells=[new_code_cell(cell, id=f"c{number}") for number, cell in enumerate(cells)])
    client = NotebookClient(notebook, kernel_name=kernel, timeout=60, record_timing=False)
    client.execute(cwd=str(folder), env={**os.environ, "MARK": "mine", "PYTHONHASHSEED": "0"})
    return notebook


def test_an_unchanged_nbclient_runs_a_notebook_in_one(tmp_path: Path) -> None:
    """Every kind of output is that of a kernel that was started cold."""
    cold, warm = (run(kernel, tmp_path, *CELLS) for kernel in ("cold", "warm"))
    assert [cell.outputs for cell in warm.cells] == [cell.outputs for cell in cold.cells]
    assert [cell.execution_count for cell in warm.cells] == list(range(1, len(CELLS) + 1))
    kinds = [output.output_type for cell in warm.cells for output in cell.outputs]
    assert len(kinds) >= len(CELLS) and "display_data" in kinds


def test_it_is_forked_and_shares_nothing_with_the_one_before(tmp_path: Path) -> None:
    """Its own names, random numbers and modules; as many threads as a cold one."""
    look = "import os, random, sys, torch\nprint(os.getppid(), 'mark' in globals() or hasattr(torch, 'mark'), "
    look += "random.random(), torch.get_num_threads())\nmark = torch.mark = 1"
    said = [run("warm", tmp_path, look).cells[0].outputs[0].text.split() for _ in range(2)]
    assert {words[0] for words in said} == {str(provisioner.shared.get().pid)}
    assert {words[1] for words in said} == {"False"}
    assert said[0][2] != said[1][2]
    assert said[0][3] == run("cold", tmp_path, look).cells[0].outputs[0].text.split()[3]


def test_an_error_and_a_death_are_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run("warm", tmp_path, "1 / 0")
    with pytest.raises(Exception, match="Kernel died"):
        run("warm", tmp_path, "import os\nos._exit(3)")


def test_it_is_interrupted_restarted_and_ended() -> None:
    """What a notebook server's buttons do."""
    manager = KernelManager(kernel_name="warm")
    manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=30)
        waiting = client.execute("import time\nprint('here', flush=True)\ntime.sleep(60)")
        while client.get_iopub_msg(timeout=30)["msg_type"] != "stream":
            pass
        manager.interrupt_kernel()
        while (reply := client.get_shell_msg(timeout=30))["parent_header"]["msg_id"] != waiting:
            pass
        assert reply["content"]["ename"] == "KeyboardInterrupt"
        first = manager.provisioner.pid
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=30)
        assert manager.provisioner.pid != first
        assert manager.is_alive()
    finally:
        client.stop_channels()
        last = manager.provisioner.pid
        manager.shutdown_kernel(now=True)
    for pid in (first, last):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
