"""Installs what the course needs on a notebook host (Colab, Kaggle, a hub), and changes no package that the host has.

The first cell of a hosted notebook runs `python -m gpulab.hosted WHEEL` with the wheel itself on the path, so that only
the standard library and pip are needed. Packages are installed one by one, without pip's resolver: it would answer for
all that the host has, and hosts are seldom free of conflicts. What is missing goes into the user's own site-packages.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import site
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from gpulab.doctor.hosts import this_host
from gpulab.doctor.looks import OLDEST_DRIVERS, SUPPORTED
from gpulab.doctor.onnx_runtimes import FOR_CUDA

HELD = frozenset({"torch", "torchvision", "triton", "numpy"})
"""Taken as they are where the host has them, whatever their version: all else there was built for them."""
SECONDS = 1200


class SetUpError(Exception):
    """The course cannot be set up here; the message says why and what to do."""


def set_up(wheel: Path) -> None:
    """Installs the course's package and what it needs, and prints what was found and done.

    Args:
        wheel: the course's wheel, which must be on `sys.path` too: its metadata is read from there.

    Raises:
        SetUpError: this Python is not supported or cannot be installed into, or pip failed.
    """
    started = time.monotonic()
    if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
        oldest, newest = (".".join(map(str, one)) for one in SUPPORTED)
        raise SetUpError(f"This host has Python {platform.python_version()}; the course needs {oldest} to {newest}.")
    before, gpu, cuda, host = installed(), gpu_and_driver(), cuda_of_torch(), this_host()
    print(f"{host.name if host else platform.node()}: Python {platform.python_version()}, {gpu or 'no GPU'}")
    if host and not gpu:
        print(f"  For a GPU: {host.gpu} Without one, every exercise works on the CPU.")
    if "torch" in before:
        print(f"  PyTorch {before['torch']} ({f'CUDA {cuda}' if cuda else 'no CUDA'}) stays as it is.")
    major = cuda_for_kernels(cuda, gpu)
    needs = list(for_cuda(metadata.requires("gpulab") or [], major))
    needs = list(with_onnx_runtime(needs, before, major if gpu else 0))
    for name, wanted in unmet(needs, before):
        if name in HELD and name in before:
            print(f"  The course is tested with {wanted}; here it is {before[name]}, and some cells may fail.")
    _pip_install([str(wheel)])
    _install_with_dependencies(needs)
    after = installed()
    print(f"Installed gpulab and {len(after.keys() - before.keys() - {'gpulab'})} packages that were missing.")
    for name in sorted(before.keys() - {"gpulab"}):
        if after.get(name) != before[name]:
            print(f"  {name} {after.get(name)} is used instead of the host's {before[name]}.")
    print(f"Ready after {time.monotonic() - started:.0f} s. Run the next cell.")


def installed() -> dict[str, str]:
    """Name → version of every distribution on the path, but for the wheel that this runs from; the first one counts."""
    found: dict[str, str] = {}
    for one in metadata.distributions(path=[place for place in sys.path if not place.endswith(".whl")]):
        if one.metadata["Name"] and one.version:
            found.setdefault(_plain(one.metadata["Name"]), one.version)
    return found


def gpu_and_driver() -> str:
    """`Tesla T4, driver 550.54`, as `nvidia-smi` says; empty where it is missing or finds no GPU."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    name, _, driver = done.stdout.partition("\n")[0].rpartition(", ")
    return f"{name}, driver {driver.strip()}" if done.returncode == 0 and name else ""


def cuda_of_torch() -> str:
    """The CUDA that the host's torch was built for, such as `12.8`; empty without torch or for a build without CUDA.

    Read from its file, because importing it takes seconds.
    """
    found = importlib.util.find_spec("torch")
    if not found or not found.origin:
        return ""
    try:
        text = Path(found.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    built = re.search(r"^cuda\b[^=]*=\s*['\"]([\d.]+)['\"]", text, re.MULTILINE)
    return built[1] if built else ""


def cuda_for_kernels(cuda: str, gpu: str) -> int:
    """Major version of the CUDA to compile kernels with: torch's own, else what the driver runs, else the newest.

    Args:
        cuda: as `cuda_of_torch` gives it.
        gpu: as `gpu_and_driver` gives it.
    """
    if cuda:
        return int(cuda.partition(".")[0])
    branch = re.search(r"driver (\d+)", gpu)
    if not branch:
        return max(OLDEST_DRIVERS)
    return max((major for major, oldest in OLDEST_DRIVERS.items() if int(branch[1]) >= oldest), default=12)


def for_cuda(declared: Sequence[str], cuda: int) -> Iterator[str]:
    """The requirements with the packages for this major version of CUDA; `cuda12.txt` has the same for `make`."""
    newest = max(OLDEST_DRIVERS)
    for one in declared:
        if cuda >= newest or not one.startswith("nvidia-nvvm"):  # CUDA 12's compiler brings its own
            yield one.replace(f"[cu{newest}]", f"[cu{min(cuda, newest)}]")


def with_onnx_runtime(needs: Sequence[str], there: Mapping[str, str], cuda: int) -> Iterator[str]:
    """The requirements with ONNX Runtime for this machine. Where a host has one, it stays: two write the same files.

    Args:
        needs: requirements.
        there: name → version of what is installed.
        cuda: major version of CUDA; 0 without a GPU.
    """
    here = {"onnxruntime", "onnxruntime-gpu"} & there.keys()
    for one in needs:
        if not one.startswith("onnxruntime>"):
            yield one
        elif "onnxruntime-gpu" not in here:
            yield FOR_CUDA[cuda] if cuda in FOR_CUDA and not here else one


def unmet(
    needs: Sequence[str], there: Mapping[str, str], extras: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str]]:
    """Name and requirement of each that holds here and is missing, or there in another version.

    Args:
        needs: requirements with their markers, as metadata has them.
        there: name → version of what is installed.
        extras: of the package that needs them.
    """
    requirement = _packaging("requirements").Requirement
    for text in needs:
        need = requirement(text)
        if need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in extras or {""}):
            continue
        name = _plain(need.name)
        if name not in there or not need.specifier.contains(there[name], prereleases=True):
            yield name, f"{need.name}{need.specifier}"


def _install_with_dependencies(needs: Sequence[str]) -> None:
    """Installs what is missing or too old, then what that needs, and so on; what is held stays."""
    requirement = _packaging("requirements").Requirement
    extras = {_plain(need.name): frozenset(need.extras) for need in map(requirement, needs)}
    asked: set[str] = set()
    wanted = list(unmet(needs, installed()))
    # Of packages that were there, only what their extras need is missing: numba-cuda without a compiler.
    look = {name for name, more in extras.items() if more} | {name for name, _ in wanted}
    while wanted or look:
        there = installed()
        new = {name: text for name, text in wanted if name not in asked and not (name in HELD and name in there)}
        asked |= new.keys()
        if new:
            _pip_install(sorted(new.values()))
            there = installed()
        look |= new.keys()
        wanted = [
            one for name in sorted(look) if name in there
            for one in unmet(metadata.requires(name) or [], there, extras.get(name, frozenset()) | {""})
            if one[0] not in asked and not (one[0] in HELD and one[0] in there)
        ]  # fmt: skip
        look = set()


def _pip_install(arguments: Sequence[str]) -> None:
    """`pip install --no-deps`, where this user may write.

    Raises:
        SetUpError: with what pip said.
    """
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--progress-bar=off", "--disable-pip-version-check"]
    # The wheel on the path would be taken for a distribution that is installed already.
    places = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not place.endswith(".whl")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    library = Path(sysconfig.get_paths()["purelib"])
    if site.ENABLE_USER_SITE:
        command.append("--user")
        if Path(sysconfig.get_paths()["stdlib"], "EXTERNALLY-MANAGED").exists():
            environment["PIP_BREAK_SYSTEM_PACKAGES"] = "1"  # it breaks none: --user leaves them alone
    elif not os.access(library, os.W_OK):
        raise SetUpError(
            f"Packages cannot be installed here: {library} is read-only, and this Python has no folder for the user's "
            "own. Ask whoever runs this host to install the course's wheel."
        )
    done = subprocess.run(
        [*command, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        said = [line for line in done.stdout.splitlines() if line.strip()]
        raise SetUpError("pip could not install the course's packages:\n" + "\n".join(said[-12:]))
    prefer_user_packages()


def prefer_user_packages() -> None:
    """Puts the user's own site-packages ahead of the host's on the path, as the next start of Python will.

    Python looks for the folder only when it starts, and pip may have just made it.
    """
    importlib.invalidate_caches()
    folder = site.getusersitepackages()
    if site.ENABLE_USER_SITE and Path(folder).is_dir():
        others = [place for place in sys.path if place != folder]
        first = next((number for number, one in enumerate(others) if "-packages" in one), len(others))
        sys.path[:] = [*others[:first], folder, *others[first:]]


def _packaging(name: str) -> Any:
    """A module of `packaging`, which hosts may have by itself; pip always brings it along."""
    try:
        return importlib.import_module(f"packaging.{name}")
    except ImportError:
        return importlib.import_module(f"pip._vendor.packaging.{name}")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    try:
        set_up(Path(sys.argv[1]).resolve())
    except SetUpError as error:
        sys.exit(str(error))
    except subprocess.TimeoutExpired:
        sys.exit(f"pip did not end within {SECONDS // 60} minutes. Run this cell again.")
