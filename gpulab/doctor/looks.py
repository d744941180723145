"""Looks at what the chapters need: Python, driver, GPU, torch, Numba, NVRTC. Says what to do about the rest.

Each look yields rows; `examine` collects them. Nothing is changed. `grader doctor` adds what grading needs.
"""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from gpulab.doctor import gpu_troubles, hardware, onnx_runtimes

SUPPORTED = ((3, 11), (3, 13))
"""Oldest and newest Python, as in pyproject.toml."""
ARCHITECTURE = (8, 0)
"""Compute capability that the doctor compiles for."""
OLDEST_DRIVERS = {12: 525, 13: 580}
"""Major version of CUDA → the branch of NVIDIA's driver that came with it; a build for it runs on all later ones."""
OLDEST_DRIVER = OLDEST_DRIVERS[13]


@dataclass(frozen=True)
class DoctorRow:
    """One thing looked at."""

    what: str
    found: str
    state: str = "good"
    """`good`; `fair`: works, with something missing; `bad`: the course or its grading will not work."""
    remedy: str = ""


Look = Callable[[], Iterator[DoctorRow]]


def examine(looks: Sequence[Look]) -> list[DoctorRow]:
    """The rows of these looks; a look that itself fails gives a red row, never an exception."""
    rows: list[DoctorRow] = []
    for look in looks:
        try:
            rows += look()
        except Exception as error:  # the doctor must not fall ill
            name = getattr(look, "__name__", "look").strip("_<>")
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            rows.append(DoctorRow(name, text, "bad", "The doctor itself failed here: please report it."))
    return rows


def of_chapters() -> list[Look]:
    """What students need, in the order in which it is shown."""
    return [_python, _system, _gpus, _torch, _numba, _nvrtc, _onnx_runtime]


def _python() -> Iterator[DoctorRow]:
    version = ".".join(map(str, sys.version_info[:3]))
    if SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
        yield DoctorRow("Python", f"{version} ({sys.executable})")
    else:
        oldest, newest = (".".join(map(str, one)) for one in SUPPORTED)
        yield DoctorRow("Python", version, "bad", f"Make the environment with Python {oldest} to {newest}.")


def _system() -> Iterator[DoctorRow]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = f"{platform.system()} {platform.release()}, {cores} cores"
    if not hasattr(os, "sysconf"):  # Windows
        yield DoctorRow("system", found)
        return
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    found = f"{found}, {memory_gb:.0f} GB"
    if memory_gb < 3:
        yield DoctorRow("system", found, "fair", 'Little memory. Grade one at a time: "grader autograde … --slots 1".')
    else:
        yield DoctorRow("system", found)


def _gpus() -> Iterator[DoctorRow]:
    found = hardware.gpus()
    if not found:
        trouble = hardware.trouble() or gpu_troubles.NO_DRIVER
        yield DoctorRow("GPU", trouble.found, "bad" if trouble.fatal else "fair", trouble.remedy)
        return
    major = int(found[0].driver.partition(".")[0]) if found[0].driver[:3].isdecimal() else OLDEST_DRIVER
    cuda = _cuda_of_torch()
    if major < OLDEST_DRIVERS.get(cuda, OLDEST_DRIVER):
        yield DoctorRow("driver", f"{found[0].driver}, older than CUDA {cuda or 13} needs", "bad", gpu_troubles.TOO_OLD)
    else:
        yield DoctorRow("driver", found[0].driver)
    for number, gpu in enumerate(found):
        clock = f", SM clock {gpu.sm_clock_mhz} of {gpu.largest_sm_clock_mhz} MHz" if gpu.largest_sm_clock_mhz else ""
        found_here = f"{gpu.name}, {gpu.memory_mb / 1e3:.0f} GB{clock}"
        if gpu.compute_mode:
            remedy = f"Only one process at a time can use it; grading needs several. {gpu_troubles.SHARE}"
            yield DoctorRow(f"GPU {number}", f"{found_here}, compute mode {gpu.compute_mode}", "bad", remedy)
        else:
            yield DoctorRow(f"GPU {number}", found_here)


def _cuda_of_torch() -> int:
    """Major version of the CUDA that torch was built for; 0 when that cannot be told."""
    try:
        import torch
    except ImportError:
        return 0
    return int((torch.version.cuda or "0").partition(".")[0])


def _torch() -> Iterator[DoctorRow]:
    try:
        import torch
    except ImportError as error:
        yield DoctorRow("torch", f"not there ({error})", "bad", 'Run "pip install -e .", or "make lab", which does.')
        return
    cuda = torch.version.cuda
    build = f"{torch.__version__}, " + (f"CUDA runtime {cuda}" if cuda else "built without CUDA")
    if not hardware.gpus():
        yield DoctorRow("torch", f"{build}, on the CPU")
        return
    if cuda is None:
        remedy = (
            'Install one with CUDA: "pip install --force-reinstall torch torchvision" from PyPI, or "make clean lab".'
        )
        yield DoctorRow("torch", build, "bad", remedy)
        return
    said = _said_by(torch)
    if said:
        general = (
            "The driver shows a GPU that torch cannot use: its CUDA build may be newer than the driver. Update it."
        )
        yield DoctorRow("torch", f"{build}: {said}", "bad", gpu_troubles.of_words(said) or general)
    else:
        yield DoctorRow("torch", f"{build}, sees {torch.cuda.device_count()} GPU(s)")


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


def _numba() -> Iterator[DoctorRow]:
    """Kernels are written in it, with a GPU and without. It comes in two packages, which may not fit together."""
    remedy = "Bring both up to date: \"pip install --upgrade numba 'numba-cuda[cu13]'\"."
    try:
        import numba.cuda
    except Exception as error:  # two that do not fit raise AttributeError as well as ImportError
        text = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        yield DoctorRow("Numba", f"cannot be imported ({text})", "bad", remedy)
        return
    versions = f"{numba.__version__}, numba-cuda {metadata.version('numba-cuda')}, numpy {metadata.version('numpy')}"
    try:
        _numba_ptx()
    except Exception as error:  # one of three packages may have dropped what another one uses
        text = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        yield DoctorRow("Numba", f"{versions}: a kernel does not compile ({text})", "bad", remedy)
        return
    yield DoctorRow("Numba", f"{versions}, compiles a kernel")


def _numba_ptx() -> str:
    """A kernel of Numba's as PTX; needs no driver."""
    from numba import cuda, types

    import gpulab.numpy_names  # noqa: F401 # as every chapter does

    def double(numbers: Any) -> None:
        place = cuda.grid(1)
        if place < numbers.size:
            numbers[place] *= 2

    return str(cuda.compile_ptx(double, (types.float32[::1],), cc=ARCHITECTURE)[0])


def _nvrtc() -> Iterator[DoctorRow]:
    """Compiles CUDA C++ at run time; needs no driver."""
    try:
        from cuda.bindings import nvrtc
    except ImportError:
        yield DoctorRow("NVRTC", "not there", "fair", 'Needed by CUDA C++ exercises only: "pip install cuda-bindings".')
        return
    try:
        error, major, minor = nvrtc.nvrtcVersion()
    except Exception as problem:  # cuda-pathfinder raises its own kinds when the library is not found
        text = str(problem).splitlines()[0][:80] if str(problem) else type(problem).__name__
        yield DoctorRow(
            "NVRTC", f"cannot be loaded ({text})", "fair", 'CUDA C++ exercises: "pip install nvidia-cuda-nvrtc".'
        )
        return
    if int(error) != 0:
        yield DoctorRow("NVRTC", f"error {int(error)}", "fair")
        return
    try:
        _compiled_cuda_cpp()
    except Exception as problem:  # missing headers, or a version that does not know the architecture
        text = str(problem).splitlines()[0][:80] if str(problem) else type(problem).__name__
        remedy = "Bring them up to date: \"pip install --upgrade cuda-core 'cuda-bindings' nvidia-cuda-nvrtc\"."
        yield DoctorRow("NVRTC", f"{major}.{minor}: a kernel does not compile ({text})", "bad", remedy)
        return
    yield DoctorRow("NVRTC", f"{major}.{minor}, compiles a kernel")


def _compiled_cuda_cpp() -> bytes:
    """A kernel in CUDA C++ as a program for the GPU; needs no driver."""
    from cuda.core import Program, ProgramOptions

    source = 'extern "C" __global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }'
    options = ProgramOptions(arch="sm_{}{}".format(*ARCHITECTURE))
    return bytes(Program(source, "c++", options).compile("cubin").code)


def _onnx_runtime() -> Iterator[DoctorRow]:
    """Chapter 09 runs its files in it. Two packages of it write the same files; only one may be there."""
    found = onnx_runtimes.installed()
    names = ", ".join(f"{name} {version}" for name, version in found.items())
    for_gpu = onnx_runtimes.FOR_CUDA.get(_cuda_of_torch(), onnx_runtimes.FOR_CUDA[13])
    wanted = for_gpu if hardware.gpus() else "onnxruntime"
    anew = f'Run "pip uninstall --yes {" ".join(found)}", then "pip install \'{wanted}\'".'
    if not found:
        yield DoctorRow("ONNX Runtime", "not there", "bad", f"Run \"pip install '{wanted}'\": chapter 09 needs it.")
    elif len(found) > 1:
        remedy = f"They write the same files, and removing one breaks the other. {anew}"
        yield DoctorRow("ONNX Runtime", f"{names}: two packages side by side", "bad", remedy)
    elif not hardware.gpus():
        import onnxruntime  # type: ignore[import-untyped] # it ships no types

        yield DoctorRow("ONNX Runtime", f"{names}, {', '.join(onnxruntime.get_available_providers())}; on the CPU")
    elif why := onnx_runtimes.trouble():
        remedy = f"Two points of chapter 09 stay pending on this GPU, unless TensorRT is installed. {anew}"
        yield DoctorRow("ONNX Runtime", f"{names}: {why}", "fair", remedy)
    else:
        yield DoctorRow("ONNX Runtime", f"{names}, loads {onnx_runtimes.ON_CUDA}")
