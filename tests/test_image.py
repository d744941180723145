"""The image that the Dockerfile describes, built and started without a Docker engine: buildah on a debootstrap base.

Takes minutes and a network, so it runs when asked to: GPULAB_IMAGE=1, as root, with buildah and debootstrap installed;
GPULAB_IMAGE=/folder takes the base from there. PyTorch stays out (TORCH=no): what is tried is the Dockerfile's steps.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WISH = os.environ.get("GPULAB_IMAGE", "")
TOOLS = ("buildah", "debootstrap")
CERTIFICATES = Path("etc/ssl/certs/ca-certificates.crt")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not WISH, reason="takes minutes and a network: GPULAB_IMAGE=1 builds the image"),
]


@dataclass(frozen=True)
class Buildah:
    """buildah with storage of its own, so that nothing of the machine's is touched."""

    folder: Path

    def command(self, *arguments: str) -> list[str]:
        places = [
            "--root",
            str(self.folder / "store"),
            "--runroot",
            str(self.folder / "run"),
            "--storage-driver",
            "vfs",
        ]
        return ["buildah", *places, *arguments]

    def __call__(self, *arguments: str, seconds: float = 900) -> str:
        done = subprocess.run(
            self.command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout.strip()


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Buildah, str]]:
    """A container of the image, built from a Debian that was made here."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    assert not missing, (
        f"GPULAB_IMAGE asks for it, but there is no {' or '.join(missing)}: apt-get install {missing[0]}"
    )
    assert os.geteuid() == 0, "GPULAB_IMAGE asks for it, but debootstrap needs root"
    folder = tmp_path_factory.mktemp("image")
    base = Path(WISH) if WISH != "1" else folder / "base"
    if WISH == "1":
        packages = "--include=python3,python3-venv,ca-certificates"
        subprocess.run(["debootstrap", "--variant=minbase", packages, "bookworm", str(base)], check=True, timeout=600)
    # Networks with certificates of their own are reached from inside as from outside.
    shutil.copyfile(Path("/") / CERTIFICATES, base / CERTIFICATES)
    buildah = Buildah(folder)
    scratch = buildah("from", "scratch")
    buildah("add", "--quiet", scratch, str(base), "/")
    buildah("commit", "--quiet", scratch, "gpulab-base")
    settings = ["--isolation", "chroot", "--build-arg", "BASE=localhost/gpulab-base", "--build-arg", "TORCH=no"]
    buildah("bud", "--quiet", *settings, "--tag", "gpulab", ".")
    name = buildah("from", "localhost/gpulab")
    try:
        yield buildah, name
    finally:
        buildah("rm", "--all")
        shutil.rmtree(folder, ignore_errors=True)


def run(container: tuple[Buildah, str], *command: str) -> str:
    buildah, name = container
    return buildah("run", "--isolation", "chroot", name, "--", *command, seconds=120)


def test_it_runs_as_an_ordinary_user_in_the_course(container: tuple[Buildah, str]) -> None:
    assert run(container, "sh", "-c", "id -un; pwd; grader --version | cut -d, -f1").split() == [
        "student",
        "/home/student/course",
        "grader",
    ]


def test_the_doctor_runs_in_it(container: tuple[Buildah, str]) -> None:
    """Everything but PyTorch, which was left out, is as it must be."""
    said = run(container, "sh", "-c", "COLUMNS=200 grader doctor || true")
    red = [line for line in said.splitlines() if "✗" in line]
    assert len(red) == 1
    assert "torch" in red[0]
    assert "python3 answers ok" in said


def test_no_grades_and_no_history_are_in_it(container: tuple[Buildah, str]) -> None:
    names = set(run(container, "ls", "-A").split())
    assert {"notebooks", "solutions", "gpulab", "grader", "jupyter"} <= names
    assert not {".git", ".venv", "work", "tests"} & names


def test_jupyterlab_answers_in_it(container: tuple[Buildah, str]) -> None:
    """With the image's own command, but for the port."""
    buildah, name = container
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    own = json.loads(buildah("inspect", "--type", "image", "localhost/gpulab"))["OCIv1"]["config"]["Cmd"]
    command = [part for part in own if not part.startswith("--port")]
    command += [f"--port={port}", "--IdentityProvider.token=for-this-test-only"]
    process = subprocess.Popen(
        buildah.command("run", "--isolation", "chroot", name, "--", *command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                address = f"http://127.0.0.1:{port}/api/contents?token=for-this-test-only"
                with urllib.request.urlopen(address, timeout=5) as answer:
                    found = {one["name"] for one in json.load(answer)["content"]}
                break
            except (urllib.error.URLError, ConnectionError):
                assert process.poll() is None, "it has ended"
                assert time.monotonic() < deadline, "no answer within 60 s"
                time.sleep(0.3)
        assert {"README.ipynb", "01_gpu_architecture"} <= found
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
