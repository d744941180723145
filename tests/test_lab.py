"""`make lab`: a real JupyterLab server on a course of one small chapter, asked over its own API."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
CHAPTER = "01_small"
TOKEN = "for-this-test-only"


@dataclass(frozen=True)
class Lab:
    """A running server."""

    folder: Path
    port: int

    def ask(self, path: str, method: str = "GET", query: str = "") -> bytes:
        """The body of the answer; the server is given 60 s, since validating starts a kernel."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}?{query}", method=method)
        request.add_header("Authorization", f"token {TOKEN}")
        with urllib.request.urlopen(request, timeout=60) as response:
            body: bytes = response.read()
        return body

    def json(self, path: str, method: str = "GET", query: str = "") -> Any:
        return json.loads(self.ask(path, method, query))

    def page_settings(self) -> dict[str, Any]:
        """What the page tells the browser to load and to leave out."""
        page = self.ask("lab").decode()
        settings: dict[str, Any] = json.loads(
            page.split('<script id="jupyter-config-data"', 1)[1].split(">", 1)[1].split("</script>")[0]
        )
        return settings


def graded(grade_id: str, source: str, *, test: bool) -> nbformat.NotebookNode:
    settings = {"grade": test, "solution": not test, "locked": test, "task": False, "schema_version": 3}
    settings |= {"grade_id": grade_id, "cell_type": "code"} | ({"points": 1} if test else {})
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": settings})


def course(folder: Path) -> None:
    """A course folder with the real settings and one chapter, `answer`, answered wrongly by the student."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "nbgrader_config.py"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "jupyter", folder / "jupyter")
    for name in ("solutions", f"notebooks/{CHAPTER}"):
        (folder / name).mkdir(parents=True)
    cells = [
        graded("answer", "def answer():\n    return 41", test=False),
        graded("answer_test", 'assert answer() == 42, "one too few"', test=True),
    ]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.write(notebook, folder / "notebooks" / CHAPTER / f"{CHAPTER}.ipynb")
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (folder / ".venv" / ".ready").touch()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("course")
    course(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    arguments = f"--no-browser --port={port} --ServerApp.port_retries=0 --IdentityProvider.token={TOKEN}"
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "JUPYTER"))
    }
    log = (folder / "log.txt").open("w+")
    process = subprocess.Popen(
        ["make", "lab", f"ARGS={arguments}"],
        cwd=folder,
        env=inherited | {"HOME": str(folder / "home")},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    server = Lab(folder, port)
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                server.json("api/status")
                break
            except (urllib.error.URLError, ConnectionError):
                said = (folder / "log.txt").read_text()
                assert process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(0.2)
        yield server
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
        log.close()


def test_opens_on_the_chapters(lab: Lab) -> None:
    assert [entry["name"] for entry in lab.json("api/contents")["content"]] == [CHAPTER]


def test_asks_nothing_and_calls_nobody(lab: Lab) -> None:
    """Neither the news prompt, nor the update check, nor the extension catalog."""
    page = lab.page_settings()
    assert page["news"] == {"disabled": True}
    assert "@jupyterlab/apputils-extension:announcements" in page["disabledExtensions"]
    schema = lab.json("lab/api/settings/@jupyterlab/apputils-extension:notification")["schema"]["properties"]
    assert schema["fetchNews"]["default"] == "false"
    assert schema["checkForUpdates"]["default"] is False
    assert page["extensionManager"]["name"] == "read-only"


def test_shows_the_student_side_of_nbgrader(lab: Lab) -> None:
    """Validate and the assignment list; the instructor's pages stay away."""
    page = lab.page_settings()
    assert "@jupyter/nbgrader" in {extension["name"] for extension in page["federated_extensions"]}
    off = {name for name in page["disabledExtensions"] if name.startswith("@jupyter/nbgrader")}
    assert off == {f"@jupyter/nbgrader:{name}" for name in ("course-list", "create-assignment", "formgrader")}
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        lab.ask("formgrader")
    refused.value.close()


def test_validates(lab: Lab) -> None:
    """The Validate button runs the notebook and shows the failing test with its message."""
    answer = lab.json("assignments/validate", "POST", f"path={CHAPTER}/{CHAPTER}.ipynb")
    assert answer["success"] is True
    (failed,) = answer["value"]["failed"]
    assert failed["source"].startswith("assert answer() == 42")
    assert "one too few" in failed["error"]


def test_submits(lab: Lab) -> None:
    """What a student submits, the instructor collects into the folder that `grader autograde` looks in."""
    (offered,) = lab.json("assignments", query="course_id=gpulab")["value"]
    assert (offered["assignment_id"], offered["status"]) == (CHAPTER, "fetched")
    answer = lab.json("assignments/submit", "POST", f"course_id=gpulab&assignment_id={CHAPTER}")
    assert answer["success"] is True
    (copy,) = (lab.folder / "work" / "exchange" / "gpulab" / "inbound").iterdir()
    assert copy.name.startswith(f"{getpass.getuser()}+{CHAPTER}+")
    binaries = lab.folder / ".venv" / "bin"
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"  # nbgrader looks for alembic there
    variables = os.environ | {"JUPYTER_CONFIG_PATH": "jupyter", "PATH": path}
    command = [str(binaries / "nbgrader"), "collect", CHAPTER]
    done = subprocess.run(command, cwd=lab.folder, env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    collected = lab.folder / "work" / "submitted" / getpass.getuser() / CHAPTER
    assert "return 41" in (collected / f"{CHAPTER}.ipynb").read_text()
