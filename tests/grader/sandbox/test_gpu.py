"""What a student's process has of a GPU's driver. The driver is made up: its files stand in a `/dev` of our own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.sandbox import Tier, gpu
from grader.sandbox.probe import best_tier

MACHINE = r"""
set -e
mount --make-rprivate /
mount --rbind /dev {old}
mount -t tmpfs -o mode=755 tmpfs /dev
for name in null zero full random urandom; do touch /dev/$name; mount --bind {old}/$name /dev/$name; done
mkdir /dev/shm; mount --bind {old}/shm /dev/shm
for name in fd stdin stdout stderr; do cp -P {old}/$name /dev/$name; done
mknod -m 660 /dev/nvidia0 c 1 5;     chgrp 44 /dev/nvidia0
mknod -m 660 /dev/nvidiactl c 1 5;   chgrp 0 /dev/nvidiactl
mknod -m 666 /dev/nvidia-uvm c 1 5
mknod -m 666 /dev/dxg c 1 5
mkdir /dev/nvidia-caps; mknod -m 444 /dev/nvidia-caps/nvidia-cap1 c 1 5
mount -t tmpfs tmpfs /proc/driver; mkdir /proc/driver/nvidia; echo "DeviceFileMode: 432" > /proc/driver/nvidia/params
exec {python} -c "$PROGRAM"
"""
"""A machine with the device files of a GPU; each of them is `/dev/zero` under another name."""
PROGRAM = """
from minikey import make_key
from grader.judging.session import grade
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import Tier

key, parent = make_key(), client.SubmissionServer(fork_server.LIGHT_MODULES, Tier({tier}))
result = grade(from_answers(key, {{"double": '''{cell}'''}}), key, student="s", seed=1, only=frozenset(), parent=parent)
parent.close()
print(result.isolation)
(output,) = result.outputs["double"]
print(output.get("text") or output["evalue"])
"""
CELL = """
import os
def reads(path, flags):
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        return type(error).__name__
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        return len(file.read(4))
for name in ("nvidia0", "nvidiactl", "nvidia-uvm", "dxg"):
    print(name, reads("/dev/" + name, os.O_RDWR))
print("cap", reads("/dev/nvidia-caps/nvidia-cap1", os.O_RDONLY), end=" ")
print("params", reads("/proc/driver/nvidia/params", os.O_RDONLY))
print(os.getuid() > 0, os.getgroups())
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make device files, and become another user")
@pytest.mark.parametrize("tier", [tier for tier in (Tier.FILES, Tier.NAMESPACES) if tier <= best_tier()])
def test_it_can_open_the_devices(tier: Tier, tmp_path: Path) -> None:
    """Also those of mode 0660, whose group is kept for it; of root's own group it gets nothing."""
    (old := tmp_path / "dev").mkdir()
    script = MACHINE.format(old=old, python=sys.executable)
    variables = {
        **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PROGRAM": PROGRAM.format(tier=int(tier), cell=CELL),
        "GPULAB_HOME": str(tmp_path),
    }  # fmt: skip
    command = ["unshare", "--mount", "sh", "-c", script]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    isolation, *lines, who = done.stdout.strip().splitlines()
    assert isolation == str(tier)
    # In tier 1 it stays root, without capabilities, where another user could not read the interpreter.
    assert who == "True [44]" or (tier is Tier.FILES and who == "False []")
    of_root = 4 if who == "False []" else "PermissionError"
    params = 4 if tier is Tier.FILES else "FileNotFoundError"  # tier 2 has a /proc of its own, made by the kernel
    assert lines == ["nvidia0 4", f"nvidiactl {of_root}", "nvidia-uvm 4", "dxg 4", f"cap 4 params {params}"]


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(gpu, "DEVICES", tmp_path)
    return tmp_path


def test_without_a_gpu_nothing_is_shown(devices: Path) -> None:
    (devices / "null").touch()
    assert (gpu.shown(), gpu.groups(), gpu.closed()) == ((), (), ())


def test_files_of_roots_group_alone_are_named(devices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its group is given to nobody: the doctor says which files it leaves shut."""
    for name, mode in {"nvidia0": 0o660, "nvidia-uvm": 0o666, "dxg": 0o666}.items():
        (devices / name).touch()
        (devices / name).chmod(mode)
    assert gpu.shown() == (*(str(devices / name) for name in ("dxg", "nvidia-uvm", "nvidia0")), *gpu.SYSTEM)
    owner = (devices / "nvidia0").stat().st_gid
    assert gpu.groups() == ((owner,) if owner else ())
    assert gpu.closed() == (() if owner else (str(devices / "nvidia0"),))
