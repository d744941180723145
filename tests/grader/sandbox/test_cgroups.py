"""Control groups of both versions: which are found, what is written and read; and, where there are any, real ones.

Made of plain files where the kernel would only have them on another machine: it fills the folders of groups itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.sandbox import cgroups

SCOPE = "user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope"
"""Where `systemd-run --user --scope` puts a command."""


def group(folder: Path, enabled: str = "", procs: str = "", **files: str) -> Path:
    """A version 2 group as the kernel shows one."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"controllers": "cpu memory pids", "subtree_control": enabled, "procs": procs}
    for name, text in texts.items():
        (folder / f"cgroup.{name}").write_text(f"{text}\n")
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(f"{text}\n")
    return folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A version 2 hierarchy, with this process in a scope of systemd's that nothing is divided in."""
    root = group(tmp_path / "cgroup", "cpu memory pids")
    folder = root
    for name in Path(SCOPE).parts:
        folder = group(folder / name)
    (tmp_path / "own").write_text(f"1:name=systemd:/x\n0::/{SCOPE}\n")
    monkeypatch.setattr(cgroups, "MOUNT", root)
    monkeypatch.setattr(cgroups, "OWN_GROUPS", tmp_path / "own")
    return root


def test_the_nearest_group_that_divides_memory_and_processes_is_taken(root: Path) -> None:
    """Nearer is under the limits that we are under ourselves: a job's, a service's."""
    slice_ = group(root / SCOPE).parent
    group(root / "user.slice", "cpu memory pids")
    assert cgroups.parents() == dict.fromkeys(("memory", "pids", "cpu"), root / "user.slice")
    group(slice_, "memory pids")
    assert cgroups.parents() == dict.fromkeys(("memory", "pids", "cpu"), slice_)
    group(root / SCOPE, "memory")  # processes are not bounded there
    assert cgroups.parents() == dict.fromkeys(("memory", "pids", "cpu"), slice_)


def test_a_group_that_we_may_not_move_processes_in_is_passed_over(root: Path) -> None:
    """Root may, everywhere; so the file is not there at all."""
    slice_ = group((root / SCOPE).parent, "memory pids")
    (slice_ / "cgroup.procs").unlink()
    assert cgroups.parents() == dict.fromkeys(("memory", "pids", "cpu"), root)


def test_nothing_beside_or_above_what_is_mounted_is_taken(root: Path, tmp_path: Path) -> None:
    group(root)
    group(tmp_path, "memory pids")  # around the mount, and so no group at all
    group(root / "system.slice", "memory pids")
    assert cgroups.parents() is None
    group(root, "memory pids")
    (tmp_path / "own").write_text("0::/../elsewhere\n")
    assert cgroups.parents() is None
    (tmp_path / "own").write_text("4:memory:/\n")
    assert cgroups.parents() is None


def test_version_1_is_preferred_where_it_has_the_controllers(root: Path) -> None:
    """Which then are not in version 2."""
    for name in ("memory", "pids", "cpuacct"):
        (root / name).mkdir()
        (root / name / "cgroup.procs").touch()
    assert cgroups.parents() == {name: root / name for name in ("memory", "pids", "cpuacct")}
    (root / "cpu").mkdir()
    (root / "cpu" / "cgroup.procs").touch()
    assert cgroups.parents() == {name: root / name for name in ("memory", "pids", "cpuacct", "cpu")}


def test_a_hierarchy_beside_those_of_version_1_is_found(root: Path, tmp_path: Path) -> None:
    both = tmp_path / "both"
    both.mkdir()
    root.rename(both / "unified")
    cgroups.MOUNT = both  # the fixture puts it back
    assert cgroups.parents() == dict.fromkeys(("memory", "pids", "cpu"), both / "unified")


def test_limits_are_written_where_the_kernel_has_them(root: Path) -> None:
    """Swap is bounded only where it is accounted for."""
    folder = root / f"{cgroups.PREFIX}1-2"
    group(folder, memory_max="max", pids_max="max")
    made = cgroups.create("1-2", 4_000_000_000, 256)
    assert made is not None
    assert set(made.folders.values()) == {folder}
    assert (folder / "memory.max").read_text() == "4000000000"
    assert (folder / "pids.max").read_text() == "256"
    assert not (folder / "memory.swap.max").exists()
    (folder / "memory.swap.max").write_text("max")
    cgroups.create("1-2", 4_000_000_000, 256)
    assert (folder / "memory.swap.max").read_text() == "0"


def test_what_the_kernel_counts_is_read(root: Path) -> None:
    stat = "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000"
    events = "low 0\nhigh 0\nmax 3\noom 1\noom_kill {}\noom_group_kill 0"
    folder = group(root / "g", cpu_stat=stat, memory_peak="123000000", memory_events=events.format(1))
    made = cgroups.Group(dict.fromkeys(("memory", "pids", "cpu"), folder))
    assert (made.cpu_seconds(), made.peak_memory_mb(), made.out_of_memory()) == (1.5, 123.0, True)
    (folder / "memory.events").write_text(events.format(0))
    (folder / "memory.peak").unlink()  # before 5.19
    assert (made.cpu_seconds(), made.peak_memory_mb(), made.out_of_memory()) == (1.5, None, False)


def test_a_process_of_another_namespace_is_not_taken_for_ourselves(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is listed as 0, and a signal to 0 goes to all of one's own process group."""
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    cgroups._kill_all(group(root / "g", procs="0\n41\n0\n42"))
    assert killed == [41, 42]


def real() -> Path | None:
    """A version 2 hierarchy of this machine in which groups can be made, controllers or no."""
    for folder in (cgroups.MOUNT, cgroups.MOUNT / "unified"):
        if (folder / "cgroup.subtree_control").exists() and os.access(folder, os.W_OK):
            return folder
    return None


def test_a_process_moves_itself_as_a_thread_where_the_kernel_has_threads_by_themselves(tmp_path: Path) -> None:
    """Version 1 has `tasks`; a kernel that moves a whole process there waits for all cores. Version 2 has it not."""
    version1, version2 = group(tmp_path / "one"), group(tmp_path / "two")
    (version1 / "tasks").touch()
    for folder in (version1, version2):
        cgroups.join(folder)
    written = [(folder / "cgroup.procs").read_text().strip() for folder in (version1, version2)]
    assert (written, (version1 / "tasks").read_text()) == (["", "0"], "0")


@pytest.mark.skipif(cgroups.parents() is None, reason="no control groups can be made here")
def test_a_forked_process_moves_itself_into_a_real_group() -> None:
    """With all that it will be: memory, processes, and CPU time."""
    made = cgroups.create(f"{os.getpid()}-join", 1_000_000_000, 64)
    assert made is not None
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        for folder in set(made.folders.values()):
            cgroups.join(folder)
        os.write(tell, b"x")
        time.sleep(60)
        os._exit(1)
    try:
        assert os.read(told, 1) == b"x"
        assert {(folder / "cgroup.procs").read_text() for folder in made.folders.values()} == {f"{pid}\n"}
    finally:
        made.remove()
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


FORKS = """
import os, sys, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
until = time.process_time() + 0.1
while time.process_time() < until:
    pass
os.write(1, b"ready\\n")
time.sleep(60)
"""


def cores_are_shared() -> bool:
    """Whether groups of version 1 can be made here that share the processor."""
    return "cpuacct" in (found := cgroups.parents() or {}) and "cpu" in found


@pytest.mark.skipif(not cores_are_shared(), reason="no groups of version 1 that share the processor can be made here")
def test_many_busy_processes_get_no_more_of_a_core_than_one() -> None:
    """A submission cannot make the calls of another one run out of time."""
    core = min(os.sched_getaffinity(0))
    spin = f"import os, sys; os.sched_setaffinity(0, [{core}]); os.read(0, 1)\n"
    spin += "for _ in range(int(sys.argv[1])): os.fork() or exec('while True: pass')\nwhile True: pass"
    names = [f"{os.getpid()}-{name}" for name in ("many", "one")]
    made = [one for name in names if (one := cgroups.create(name, 1_000_000_000, 64))]
    busy = []
    try:
        for one, forks in zip(made, ("20", "0"), strict=True):
            busy.append(subprocess.Popen([sys.executable, "-c", spin, forks], stdin=subprocess.PIPE))
            one.add(busy[-1].pid)
        before = [one.cpu_seconds() or 0.0 for one in made]
        for process in busy:
            assert process.stdin is not None
            process.stdin.close()
        time.sleep(2)
        many, alone = ((one.cpu_seconds() or 0.0) - start for one, start in zip(made, before, strict=True))
        assert alone > 0.6 * many
    finally:
        for one in made:
            one.remove()
        for process in busy:
            process.wait(5)


@pytest.mark.skipif(real() is None, reason="no version 2 hierarchy can be written here")
def test_a_real_group_is_counted_and_killed_with_all_that_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's own: sessions of their own do not get away."""
    hierarchy = real()
    assert hierarchy is not None
    monkeypatch.setattr(cgroups, "parents", lambda: dict.fromkeys(("memory", "pids", "cpu"), hierarchy))
    made = cgroups.create(f"{os.getpid()}-test", 1_000_000_000, 64)
    assert made is not None
    (folder,) = set(made.folders.values())
    try:
        with subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read(1); exec(sys.argv[1])", FORKS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as first:
            assert first.stdin is not None and first.stdout is not None
            made.add(first.pid)
            first.stdin.write(b"x")
            first.stdin.close()
            for _ in range(8):
                assert first.stdout.readline() == b"ready\n"
            assert len((folder / "cgroup.procs").read_text().split()) == 8
            used = made.cpu_seconds()
            assert used is not None
            assert 0.7 < used < 60
            made.remove()
            assert first.wait(5) == -signal.SIGKILL
    finally:
        made.remove()
    assert not folder.exists()


@pytest.mark.skipif(real() is None, reason="no version 2 hierarchy can be written here")
def test_empty_groups_of_drivers_that_are_gone_are_swept_away(monkeypatch: pytest.MonkeyPatch) -> None:
    hierarchy = real()
    assert hierarchy is not None
    monkeypatch.setattr(cgroups, "parents", lambda: {"cpu": hierarchy})
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, ours = (hierarchy / f"{cgroups.PREFIX}{pid}-{time.monotonic_ns()}" for pid in (gone.pid, os.getpid()))
    try:
        left.mkdir()
        ours.mkdir()
        cgroups.sweep()
        assert (left.exists(), ours.exists()) == (False, True)
    finally:
        for folder in (left, ours):
            if folder.exists():
                folder.rmdir()
