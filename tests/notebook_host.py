"""A machine like Colab's or Kaggle's: a Python with torch and much else preinstalled, and no course.

What is preinstalled are links to this environment's packages. Some are missing, as they are there, and for some only
the metadata is another: they claim a version that the course does not ask for.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

MISSING = frozenset({"gpulab", "cloudpickle", "greenlet", "prometheus-client", "jupyterlab", "nbgrader", "uv"})
CLAIMED = {"torch": "2.9.0+cu126", "numba-cuda": "0.22.0"}
"""Older than the course asks for: torch must stay, compilers of kernels may be shadowed by newer ones."""


@dataclass(frozen=True)
class Host:
    """The machine."""

    system: Path
    """Its environment, which nobody may change."""
    home: Path
    """The user's folder; pip installs into `.local` below it."""

    def run(self, *command: str, cwd: Path | None = None, seconds: float = 900, **variables: str) -> str:
        """What a program of the host prints, both streams; `python` is its own. It must succeed."""
        kept = {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "PIP_CERT", "SSL_CERT_FILE", "LANG"}
        environment = {name: value for name, value in os.environ.items() if name in kept or name.endswith("_proxy")}
        environment |= {"HOME": str(self.home), "PATH": f"{self.system / 'bin'}:/usr/bin:/bin", **variables}
        done = subprocess.run(
            [str(self.system / "bin" / command[0]), *command[1:]],
            cwd=cwd or self.home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def fingerprint(self) -> str:
        """Changes when anything in the host's environment does; compiled files aside."""
        digest = hashlib.sha256()
        for path in sorted(self.system.rglob("*")):
            if "__pycache__" not in path.parts:
                state = path.lstat()
                digest.update(f"{path} {state.st_size} {state.st_mtime_ns if path.is_file() else ''}\n".encode())
        return digest.hexdigest()


def make(folder: Path, missing: Sequence[str] = ()) -> Host:
    """A host below `folder`, without the packages in `MISSING` and those named."""
    system, home = folder / "system", folder / "home"
    home.mkdir(parents=True)
    # Not a virtual environment, which has no packages of the user's own: a whole Python, with this one's library.
    library = Path(sysconfig.get_paths()["stdlib"])
    site = system / "lib" / library.name / "site-packages"
    site.mkdir(parents=True)
    (system / "bin").mkdir()
    shutil.copy(Path(sys.base_prefix, "bin", library.name).resolve(), system / "bin" / "python")
    for path in library.iterdir():
        if path.name not in ("site-packages", "__pycache__"):
            (site.parent / path.name).symlink_to(path)
    subprocess.run([system / "bin" / "python", "-m", "ensurepip"], check=True, capture_output=True, timeout=120)
    for one in metadata.distributions(path=[entry for entry in sys.path if "site-packages" in entry]):
        name = re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower()
        if name in MISSING or name in missing or name == "pip":
            continue
        tops = {file.parts[0] for file in one.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            source, target = Path(str(one.locate_file(top))), site / top
            if target.exists() or not source.exists():
                continue
            if name in CLAIMED and top.endswith(".dist-info"):
                shutil.copytree(source, target)
                about = target / "METADATA"
                claimed = re.sub(r"^Version: .*$", f"Version: {CLAIMED[name]}", about.read_text(), count=1, flags=re.M)
                about.write_text(claimed)
            else:
                target.symlink_to(source, target_is_directory=source.is_dir())
    return Host(system, home)
