"""Examines the machine for `grader doctor`: what the chapters need (`gpulab.doctor`), and what grading needs besides.

Returns rows; `grader.cli.doctor` prints them. Changes nothing: what it writes, it removes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpulab.doctor import hardware, looks
from gpulab.doctor.looks import DoctorRow, Look
from grader.machine import gpu_ready, kept_readings
from grader.model.course import Course, CourseError
from grader.model.notebooks import load_key
from grader.model.readings import ReadingState
from grader.sandbox import Tier, cgroups, gpu, probe

LOW_DISK_BYTES = 2_000_000_000
"""A class of 200 needs about 0.2 GB under work/; an environment with torch about 6 GB."""
KERNEL_SECONDS = 60.0


def examine(course: Course | None, more: Sequence[Look] = ()) -> list[DoctorRow]:
    """One or more rows for everything that matters; a look that itself fails gives a red row, never an exception.

    Args:
        course: the course to look at; None when there is none here.
        more: further looks, which take longer.
    """
    for_grading: list[Look] = [_nvcc, _kernel, _gpu_files, _sandbox, lambda: _folders(course)]
    for_grading += [lambda: _gradebook(course), lambda: _readings(course)]
    return looks.examine([*looks.of_chapters(), *for_grading, *more])


def _nvcc() -> Iterator[DoctorRow]:
    path = shutil.which("nvcc")
    if path is None:
        yield DoctorRow("nvcc", "not there", "fair", "Fine: nothing is graded with it; NVRTC compiles CUDA C++.")
        return
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        yield DoctorRow(
            "nvcc", f"{path} does not run ({type(error).__name__})", "fair", "Install the CUDA toolkit again."
        )
        return
    release = next((line.strip() for line in text.splitlines() if "release" in line), "version unknown")
    yield DoctorRow("nvcc", f"{release} ({path})")


def _kernel() -> Iterator[DoctorRow]:
    """Starts a notebook kernel and lets it add two numbers."""
    from jupyter_client.kernelspec import NoSuchKernel
    from jupyter_client.manager import KernelManager

    started = time.monotonic()
    manager = KernelManager(kernel_name="python3")
    try:
        manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (NoSuchKernel, OSError) as error:
        yield DoctorRow("kernel", f"does not start ({error})", "bad", 'Run "python -m ipykernel install --sys-prefix".')
        return
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(timeout=KERNEL_SECONDS)
        reply = client.execute_interactive("1 + 1", timeout=KERNEL_SECONDS, output_hook=lambda message: None)
        status = reply["content"]["status"]
    except (RuntimeError, TimeoutError) as error:
        yield DoctorRow(
            "kernel", f"does not answer ({error})", "bad", 'Try "jupyter kernelspec list" and "jupyter lab".'
        )
        return
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    seconds = time.monotonic() - started
    yield DoctorRow("kernel", f"python3 answers {status} after {seconds:.1f} s", "good" if status == "ok" else "bad")


def _gpu_files() -> Iterator[DoctorRow]:
    """Whether a confined process would find the device files of the GPU, and could open them."""
    first_use = gpu_ready.begun()
    if first_use is None:
        return
    first_use.wait()  # CUDA makes what is missing, where it may
    there = gpu.device_files()
    if not any(path.endswith((gpu.UNIFIED_MEMORY, gpu.WSL)) for path in there):
        remedy = 'CUDA needs it. Run "sudo nvidia-modprobe -c 0 -u"; no confined process can make it.'
        yield DoctorRow("GPU files", f"no /dev/{gpu.UNIFIED_MEMORY}", "bad", remedy)
    elif os.getuid() == 0 and gpu.closed():
        remedy = (
            "Students' processes are not in root's group: give the files to another one (video, say), or load the "
            "driver with NVreg_DeviceFileMode=0666."
        )
        yield DoctorRow("GPU files", f"open to root's group only: {', '.join(gpu.closed())}", "bad", remedy)
    else:
        yield DoctorRow("GPU files", ", ".join(there))


def _sandbox() -> Iterator[DoctorRow]:
    """The tier that student code is confined to, and why to no higher one."""
    best, refused = probe.best_tier(), probe.refusals()
    why = "; ".join(f"{tier}: {reason}" for tier, reason in sorted(refused.items(), reverse=True) if tier > best)
    found = f"tier {best}" + (f", not {why}" if why else "")
    if best == Tier.NAMESPACES:
        yield DoctorRow("sandbox", found)
    elif best == Tier.FILES:
        remedy = (
            "Student code has a network, can ask programs of yours that listen on UNIX sockets, shares /dev/shm, and "
            "can find out whether a file exists. "
            "Tier 2 needs root or unprivileged user namespaces."
        )
        yield DoctorRow("sandbox", found, "fair", remedy)
    else:
        remedy = "Student code runs as you, and sees what you see: grade on a machine that holds nothing private."
        yield DoctorRow("sandbox", found, "fair", remedy)
    if cgroups.parents() is None:
        remedy = "One submission can use up the memory, or keep the processor from others: "
        remedy += "run as root, or where systemd delegates control groups to you."
        yield DoctorRow("memory limit", "none: no control group can be made", "fair", remedy)
    else:
        yield DoctorRow("memory limit", "control groups")


def _folders(course: Course | None) -> Iterator[DoctorRow]:
    if course is None:
        yield DoctorRow("course", "none here", "bad", "Change into the folder that holds nbgrader_config.py.")
        return
    yield DoctorRow("course", f"{course.root}, {len(course.chapters())} chapter(s)")
    for what, folder in (("work/", course.work), ("scratch", Path(tempfile.gettempdir()))):
        place = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(place).free
        found = f"{free / 1e9:.1f} GB free at {place}"
        if not os.access(place, os.W_OK | os.X_OK):
            yield DoctorRow(what, f"{place} is not writable", "bad", f'Run "chmod u+wx {place}", or ask its owner.')
        elif free < LOW_DISK_BYTES // 20:
            yield DoctorRow(what, found, "bad", "Free some space there before you grade.")
        elif free < LOW_DISK_BYTES:
            yield DoctorRow(what, found, "fair", "Free some space there soon.")
        else:
            yield DoctorRow(what, found)


def _gradebook(course: Course | None) -> Iterator[DoctorRow]:
    if course is None:
        return
    path = course.gradebook
    if not path.exists():
        yield DoctorRow("gradebook", "not there yet", "good", 'Made by "grader autograde".')
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
        yield DoctorRow("gradebook", f"{path} cannot be read ({error})", "bad", remedy)
        return
    if intact != "ok":
        yield DoctorRow(
            "gradebook", f"{path} is damaged ({intact})", "bad", "Restore a copy, or grade the class again."
        )
    elif not os.access(path, os.W_OK):
        yield DoctorRow("gradebook", f"{path} is not writable", "bad", f'Run "chmod u+w {path}".')
    else:
        yield DoctorRow("gradebook", f"{path}, {students} student(s)")


def _readings(course: Course | None) -> Iterator[DoctorRow]:
    """What answers are compared with on this GPU."""
    if course is None or hardware.device_name() == "cpu":
        return
    known: dict[str, kept_readings.Reading] = {}
    for chapter in course.chapters():
        with contextlib.suppress(CourseError):  # not built yet
            known |= kept_readings.known(load_key(chapter)) or {}
    if not known:
        yield DoctorRow("readings", "not taken yet; grading a chapter takes them")
        return
    used = sum(one.state is ReadingState.GOOD for one in known.values())
    bad = [
        f"{name}: {one.state}: {one.why}"
        for name, one in known.items()
        if one.state not in (ReadingState.GOOD, ReadingState.ABSENT)
    ]
    found = "; ".join([f"{used} of {len(known)} used", *bad])
    remedy = (
        'Run "grader prove --only readings" on the quiet machine. Answers are graded without the others.' if bad else ""
    )
    yield DoctorRow("readings", found, "fair" if bad else "good", remedy)
