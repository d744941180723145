"""The image that the Dockerfile describes, built and started without a Docker engine: buildah on a debootstrap base.

Takes minutes and a network, so it runs when asked to: GPULAB_IMAGE=1, as root, with buildah and debootstrap installed;
GPULAB_IMAGE=/folder takes the base from there. PyTorch stays out (TORCH=no) unless GPULAB_IMAGE_TORCH=yes wants the
whole image: 20 GB of disk below TMPDIR while it is built, and a class is graded in it. uv's cache is this machine's, so
that nothing is downloaded twice.
"""

from __future__ import annotations

import contextlib
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

import index
import pytest
import uv

ROOT = Path(__file__).resolve().parents[1]
WISH = os.environ.get("GPULAB_IMAGE", "")
TORCH = os.environ.get("GPULAB_IMAGE_TORCH", "no")
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
    driver: str = "overlay"

    def command(self, *arguments: str) -> list[str]:
        places = ["--root", str(self.folder / "store"), "--runroot", str(self.folder / "run")]
        return ["buildah", *places, "--storage-driver", self.driver, *arguments]

    def __call__(self, *arguments: str, seconds: float = 900) -> str:
        done = subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout.strip()


def storage(folder: Path) -> Buildah:
    """Layers laid over each other, where the file system can; else (`vfs`) every layer is a copy of all below it."""
    layered = Buildah(folder)
    if subprocess.run(layered.command("info"), capture_output=True, check=False).returncode == 0:
        return layered
    return Buildah(folder, "vfs")


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
    told = index.settings(folder)
    # Networks with certificates of their own are reached from inside as from outside.
    shutil.copyfile(told.get("SSL_CERT_FILE", Path("/") / CERTIFICATES), base / CERTIFICATES)
    told["SSL_CERT_FILE"] = str(Path("/") / CERTIFICATES)
    buildah = storage(folder)
    scratch = buildah("from", "scratch")
    buildah("add", "--quiet", scratch, str(base), "/")
    buildah("commit", "--quiet", scratch, "gpulab-base")
    buildah("rm", scratch)
    given = told | {"BASE": "localhost/gpulab-base", "TORCH": TORCH, "UV_NO_CACHE": "false"}
    settings = [part for name, value in given.items() for part in ("--build-arg", f"{name}={value}")]
    asked = subprocess.run([uv.find_uv_bin(), "cache", "dir"], capture_output=True, text=True, check=True)
    cache = Path(asked.stdout.strip())
    cache.mkdir(parents=True, exist_ok=True)
    settings += ["--isolation", "chroot", "--volume", f"{cache}:/root/.cache/uv"]
    buildah("bud", "--quiet", *settings, "--tag", "gpulab", ".", seconds=1800)
    name = buildah("from", "localhost/gpulab")
    try:
        yield buildah, name
    finally:
        buildah("rm", "--all")
        shutil.rmtree(folder, ignore_errors=True)


def run(container: tuple[Buildah, str], *command: str, seconds: float = 120) -> str:
    buildah, name = container
    return buildah("run", "--isolation", "chroot", name, "--", *command, seconds=seconds)


def test_it_runs_as_an_ordinary_user_in_the_course(container: tuple[Buildah, str]) -> None:
    assert run(container, "sh", "-c", "id -un; pwd; grader --version | cut -d, -f1").split() == [
        "student",
        "/home/student/course",
        "grader",
    ]


def test_nothing_of_the_installing_is_left(container: tuple[Buildah, str]) -> None:
    """Neither downloads nor lists of what to install; modules are compiled, since the user may not write there."""
    left = run(container, "sh", "-c", "ls -A /tmp; du -s /home/student/.cache 2>/dev/null || true")
    assert left == ""
    program = "import importlib.util, click; print(importlib.util.cache_from_source(click.__file__))"
    assert run(container, "sh", "-c", f'test -e "$(python -c "{program}")" && echo compiled') == "compiled"


def test_the_doctor_runs_in_it(container: tuple[Buildah, str]) -> None:
    """All that was put in is as it must be."""
    said = run(container, "sh", "-c", "COLUMNS=200 grader doctor || true", seconds=300)
    red = [line for line in said.splitlines() if "✗" in line]
    assert ["torch" in line for line in red] == ([] if TORCH == "yes" else [True])
    assert "python3 answers ok" in said


def test_no_grades_and_no_history_are_in_it(container: tuple[Buildah, str]) -> None:
    names = set(run(container, "ls", "-A").split())
    assert {"notebooks", "solutions", "gpulab", "grader", "jupyter"} <= names
    assert not {".git", ".venv", "work", "tests"} & names


def test_jupyterlab_answers_in_it(container: tuple[Buildah, str]) -> None:
    """With the image's own command, but for the port, and with the course's settings."""
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
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/lab?token=for-this-test-only", timeout=30) as page:
            assert b'"gpulab-alt-text"' in page.read()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


@pytest.mark.skipif(TORCH != "yes", reason="chapters need PyTorch: GPULAB_IMAGE_TORCH=yes builds the image with it")
def test_a_class_is_graded_in_it(container: tuple[Buildah, str]) -> None:
    """As the README does it, with three of the bundled class: all right, one slip, blank."""
    students = {"anna-solved": 27, "carla-blank": 0, "elif-one-slip": 24}
    steps = [
        "grader sample 01 --into /tmp/class",
        "mkdir -p work/submitted",
        f"cp -r {' '.join(f'/tmp/class/{student}' for student in students)} work/submitted",
        "grader autograde 01",
        "cat work/reports/01_gpu_architecture/grades.csv",
    ]
    table = run(container, "sh", "-c", " && ".join(steps), seconds=300).splitlines()[-len(students) :]
    assert {line.split(",")[0]: float(line.split(",")[1]) for line in table} == students
