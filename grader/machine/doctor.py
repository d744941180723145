"""Examines the machine: what grading and the chapters need, what is there, and what to do about the rest.

Returns rows; `commands.doctor` prints them. Changes nothing: what it writes, it removes.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from grader.machine import gpu_troubles, hardware
from grader.model.course import Course
from grader.sandbox import Tier, cgroups, probe

LOW_DISK_BYTES = 2_000_000_000
"""A class of 200 needs about 0.2 GB under work/; an environment with torch about 6 GB."""
SUPPORTED = ((3, 11), (3, 13))
"""Oldest and newest Python, as in pyproject.toml."""
KERNEL_SECONDS = 60.0
ARCHITECTURE = (8, 0)
"""Compute capability that the doctor compiles for."""
OLDEST_DRIVERS = {12: 525, 13: 580}
"""Major version of CUDA → the branch of NVIDIA's driver that came with it; a build for it runs on all later ones."""
OLDEST_DRIVER = OLDEST_DRIVERS[13]


@dataclass(frozen=True)
class Row:
    """One thing looked at."""

    what: str
    found: str
    state: str = "good"
    """`good`; `fair`: works, with something missing; `bad`: grading will not work."""
    remedy: str = ""


def examine(course: Course | None) -> list[Row]:
    """One or more rows for everything that matters; a look that itself fails gives a red row, never an exception.

    Args:
        course: the course to look at; None when there is none here.
    """
    looks: list[Callable[[], Iterator[Row]]] = [
        _python,
        _system,
        _gpus,
        _torch,
        _numba,
        _nvrtc,
        _nvcc,
        _kernel,
        _sandbox,
        lambda: _folders(course),
        lambda: _gradebook(course),
    ]
    rows: list[Row] = []
    for look in looks:
        try:
            rows += look()
        except Exception as error:  # the doctor must not fall ill
            name = getattr(look, "__name__", "look").strip("_<>")
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            rows.append(Row(name, text, "bad", "This look failed itself: please report it."))
    return rows


def _python() -> Iterator[Row]:
    version = ".".join(map(str, sys.version_info[:3]))
    if SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
        yield Row("Python", f"{version} ({sys.executable})")
    else:
        oldest, newest = (".".join(map(str, one)) for one in SUPPORTED)
        yield Row("Python", version, "bad", f"Make the environment with Python {oldest} to {newest}.")


def _system() -> Iterator[Row]:
    cores = len(os.sched_getaffinity(0))
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    found = f"{platform.system()} {platform.release()}, {cores} cores, {memory_gb:.0f} GB"
    if memory_gb < 3:
        yield Row("system", found, "fair", 'Grade one at a time: "grader autograde … --slots 1".')
    else:
        yield Row("system", found)


def _gpus() -> Iterator[Row]:
    found = hardware.gpus()
    if not found:
        trouble = hardware.trouble() or gpu_troubles.NO_DRIVER
        yield Row("GPU", trouble.found, "bad" if trouble.fatal else "fair", trouble.remedy)
        return
    major = int(found[0].driver.partition(".")[0]) if found[0].driver[:3].isdecimal() else OLDEST_DRIVER
    cuda = _cuda_of_torch()
    if major < OLDEST_DRIVERS.get(cuda, OLDEST_DRIVER):
        yield Row("driver", f"{found[0].driver}, older than CUDA {cuda or 13} needs", "bad", gpu_troubles.TOO_OLD)
    else:
        yield Row("driver", found[0].driver)
    for number, gpu in enumerate(found):
        clock = f", SM clock {gpu.sm_clock_mhz} of {gpu.largest_sm_clock_mhz} MHz" if gpu.largest_sm_clock_mhz else ""
        yield Row(f"GPU {number}", f"{gpu.name}, {gpu.memory_mb / 1e3:.0f} GB{clock}")


def _cuda_of_torch() -> int:
    """Major version of the CUDA that torch was built for; 0 when that cannot be told."""
    try:
        import torch
    except ImportError:
        return 0
    return int((torch.version.cuda or "0").partition(".")[0])


def _torch() -> Iterator[Row]:
    try:
        import torch
    except ImportError as error:
        yield Row("torch", f"not there ({error})", "bad", 'Run "pip install -e .", or "make lab", which does.')
        return
    cuda = torch.version.cuda
    build = f"{torch.__version__}, " + (f"CUDA runtime {cuda}" if cuda else "built without CUDA")
    if not hardware.gpus():
        yield Row("torch", f"{build}, on the CPU")
        return
    if cuda is None:
        remedy = (
            'Install one with CUDA: "pip install --force-reinstall torch torchvision" from PyPI, or "make clean lab".'
        )
        yield Row("torch", build, "bad", remedy)
        return
    said = _said_by(torch)
    if said:
        general = (
            "The driver shows a GPU that torch cannot use: its CUDA build may be newer than the driver. Update it."
        )
        yield Row("torch", f"{build}: {said}", "bad", gpu_troubles.of_words(said) or general)
    else:
        yield Row("torch", f"{build}, sees {torch.cuda.device_count()} GPU(s)")


def _said_by(torch: Any) -> str:
    """What torch says when it is asked to add two numbers on the GPU; empty when it just does."""
    with warnings.catch_warnings(record=True) as warned:  # a driver that is too old is a warning to torch
        warnings.simplefilter("always")
        try:
            if torch.cuda.is_available():
                torch.ones(1, device="cuda").add_(1).item()
                return ""
            torch.cuda.init()
        except Exception as error:  # whatever it is, it is what we are here for
            return str(error).splitlines()[0][:160] if str(error) else type(error).__name__
    return str(warned[0].message).splitlines()[0][:160] if warned else "no CUDA device"


def _numba() -> Iterator[Row]:
    """Kernels are written in it, with a GPU and without. It comes in two packages, which may not fit together."""
    remedy = "Bring both up to date: \"pip install --upgrade numba 'numba-cuda[cu13]'\"."
    try:
        import numba.cuda
    except Exception as error:  # two that do not fit raise AttributeError as well as ImportError
        text = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        yield Row("Numba", f"cannot be imported ({text})", "bad", remedy)
        return
    versions = f"{numba.__version__}, numba-cuda {metadata.version('numba-cuda')}, numpy {metadata.version('numpy')}"
    try:
        _numba_ptx()
    except Exception as error:  # one of three packages may have dropped what another one uses
        text = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        yield Row("Numba", f"{versions}: a kernel does not compile ({text})", "bad", remedy)
        return
    yield Row("Numba", f"{versions}, compiles a kernel")


def _numba_ptx() -> str:
    """A kernel of Numba's as PTX; needs no driver."""
    from numba import cuda, types

    import gpulab.numpy_names  # noqa: F401 # as every chapter does

    def double(numbers: Any) -> None:
        place = cuda.grid(1)
        if place < numbers.size:
            numbers[place] *= 2

    return str(cuda.compile_ptx(double, (types.float32[::1],), cc=ARCHITECTURE)[0])


def _nvrtc() -> Iterator[Row]:
    """Compiles CUDA C++ at run time; needs no driver."""
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        yield Row("NVRTC", "not there", "fair", 'Needed by CUDA C++ exercises only: "pip install cuda-bindings".')
        return
    try:
        error, major, minor = nvrtc.nvrtcVersion()
    except Exception as problem:  # cuda-pathfinder raises its own kinds when the library is not found
        text = str(problem).splitlines()[0][:80] if str(problem) else type(problem).__name__
        yield Row("NVRTC", f"cannot be loaded ({text})", "fair", 'CUDA C++ exercises: "pip install nvidia-cuda-nvrtc".')
        return
    if int(error) != 0:
        yield Row("NVRTC", f"error {int(error)}", "fair")
        return
    try:
        _compiled_cuda_cpp()
    except Exception as problem:  # missing headers, or a version that does not know the architecture
        text = str(problem).splitlines()[0][:80] if str(problem) else type(problem).__name__
        remedy = "Bring them up to date: \"pip install --upgrade cuda-core 'cuda-bindings' nvidia-cuda-nvrtc\"."
        yield Row("NVRTC", f"{major}.{minor}: a kernel does not compile ({text})", "bad", remedy)
        return
    yield Row("NVRTC", f"{major}.{minor}, compiles a kernel")


def _compiled_cuda_cpp() -> bytes:
    """A kernel in CUDA C++ as a program for the GPU; needs no driver."""
    from cuda.core import Program, ProgramOptions

    source = 'extern "C" __global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }'
    options = ProgramOptions(arch="sm_{}{}".format(*ARCHITECTURE))
    return bytes(Program(source, "c++", options).compile("cubin").code)


def _nvcc() -> Iterator[Row]:
    path = shutil.which("nvcc")
    if path is None:
        yield Row("nvcc", "not there", "fair", "Fine: nothing is graded with it; NVRTC compiles CUDA C++.")
        return
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        yield Row("nvcc", f"{path} does not run ({type(error).__name__})", "fair", "Install the CUDA toolkit again.")
        return
    release = next((line.strip() for line in text.splitlines() if "release" in line), "version unknown")
    yield Row("nvcc", f"{release} ({path})")


def _kernel() -> Iterator[Row]:
    """Starts a notebook kernel and lets it add two numbers."""
    from jupyter_client.kernelspec import NoSuchKernel
    from jupyter_client.manager import KernelManager

    started = time.monotonic()
    manager = KernelManager(kernel_name="python3")
    try:
        manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (NoSuchKernel, OSError) as error:
        yield Row("kernel", f"does not start ({error})", "bad", 'Run "python -m ipykernel install --sys-prefix".')
        return
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=KERNEL_SECONDS)
        reply = client.execute_interactive("1 + 1", timeout=KERNEL_SECONDS, output_hook=lambda message: None)
        status = reply["content"]["status"]
    except (RuntimeError, TimeoutError) as error:
        yield Row("kernel", f"does not answer ({error})", "bad", 'Try "jupyter kernelspec list" and "jupyter lab".')
        return
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    seconds = time.monotonic() - started
    yield Row("kernel", f"python3 answers {status} after {seconds:.1f} s", "good" if status == "ok" else "bad")


def _sandbox() -> Iterator[Row]:
    """The tier that student code is confined to, and why to no higher one."""
    best, refused = probe.best_tier(), probe.refusals()
    why = "; ".join(f"{tier}: {reason}" for tier, reason in sorted(refused.items(), reverse=True) if tier > best)
    found = f"tier {best}" + (f", not {why}" if why else "")
    if best == Tier.NAMESPACES:
        yield Row("sandbox", found)
    elif best == Tier.FILES:
        remedy = (
            "Student code has a network, can ask programs of yours that listen on UNIX sockets, and shares /dev/shm. "
            "Tier 2 needs root or unprivileged user namespaces."
        )
        yield Row("sandbox", found, "fair", remedy)
    else:
        remedy = "Student code runs as you, and sees what you see: grade on a machine that holds nothing private."
        yield Row("sandbox", found, "fair", remedy)
    if cgroups.parents() is None:
        remedy = "One submission can use up the memory: run as root, or where systemd delegates control groups to you."
        yield Row("memory limit", "none: no control group can be made", "fair", remedy)
    else:
        yield Row("memory limit", "control groups")


def _folders(course: Course | None) -> Iterator[Row]:
    if course is None:
        yield Row("course", "none here", "bad", "Change into the folder that holds nbgrader_config.py.")
        return
    yield Row("course", f"{course.root}, {len(course.chapters())} chapter(s)")
    for what, folder in (("work/", course.work), ("scratch", Path(tempfile.gettempdir()))):
        place = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(place).free
        found = f"{free / 1e9:.1f} GB free at {place}"
        if not os.access(place, os.W_OK | os.X_OK):
            yield Row(what, f"{place} is not writable", "bad", f'Run "chmod u+wx {place}", or ask its owner.')
        elif free < LOW_DISK_BYTES // 20:
            yield Row(what, found, "bad", "Free some space there before you grade.")
        elif free < LOW_DISK_BYTES:
            yield Row(what, found, "fair", "Free some space there soon.")
        else:
            yield Row(what, found)


def _gradebook(course: Course | None) -> Iterator[Row]:
    if course is None:
        return
    path = course.gradebook
    if not path.exists():
        yield Row("gradebook", "not there yet", "good", 'Made by "grader autograde".')
        return
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=2)
        try:
            students = connection.execute("SELECT count(*) FROM student").fetchone()[0]
            intact = connection.execute("PRAGMA quick_check").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error as error:
        remedy = "Close formgrader if it is locked; else move it to a safe place and grade the class again."
        yield Row("gradebook", f"{path} cannot be read ({error})", "bad", remedy)
        return
    if intact != "ok":
        yield Row("gradebook", f"{path} is damaged ({intact})", "bad", "Restore a copy, or grade the class again.")
    elif not os.access(path, os.W_OK):
        yield Row("gradebook", f"{path} is not writable", "bad", f'Run "chmod u+w {path}".')
    else:
        yield Row("gradebook", f"{path}, {students} student(s)")
