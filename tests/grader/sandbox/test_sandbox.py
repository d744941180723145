"""What student code can and cannot reach, tier by tier, seen from inside."""

from __future__ import annotations

import functools
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from minikey import make_key

from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import Tier, cgroups, seccomp
from grader.sandbox.probe import best_tier, refusals


@functools.cache
def parent(tier: Tier) -> client.SubmissionServer:
    return client.SubmissionServer(fork_server.LIGHT_MODULES, tier)


@pytest.fixture(scope="module", autouse=True)
def _end_parents() -> Iterator[None]:
    yield
    for tier in Tier:
        parent(tier).close()
    parent.cache_clear()


def inside(source: str, tier: Tier = Tier.NAMESPACES, limits: Limits | None = None) -> str:
    """What a student's cell prints, or how it ended."""
    key = make_key()
    limits = limits or Limits(cell_seconds=10)
    submission = from_answers(key, {"double": source})
    result = grade(submission, key, student="s", seed=1, limits=limits, only=frozenset(), parent=parent(tier))
    assert result.isolation == str(tier)
    (output,) = result.outputs["double"]
    return str(output.get("text") or output["evalue"]).strip()


def attempt(statement: str) -> str:
    """Code that prints what came of a statement: its value, or the name of the exception."""
    return (
        "import os, socket, ctypes\n"
        f"try:\n    value = {statement}\nexcept BaseException as error:\n    value = type(error).__name__\nprint(value)"
    )


def test_this_machine_reaches_the_strongest_tier() -> None:
    """The other tests here would say little if it did not; where it cannot, this one says why."""
    assert best_tier() is Tier.NAMESPACES, refusals()


CANNOT = {
    "see the course": "os.path.exists('{course}/tests')",
    "see the solutions": "os.path.exists('{course}/solutions')",
    "read the harness": "os.path.exists('{course}/grader')",
    "see other processes": "len([p for p in os.listdir('/proc') if p.isdigit()]) > 4",
    "see other users' homes": "os.path.exists('{marked}')",
    "be root": "os.getuid() == 0",
    "become root": "os.setuid(0)",
    "write to the system": "open('/usr/x', 'w')",
    "write to the root": "open('/x', 'w')",
    "write to gpulab": "open('{course}/gpulab/check/assertions.py', 'a')",
    "mount": "ctypes.CDLL(None, use_errno=True).mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0",
    "make a namespace": "ctypes.CDLL(None).unshare(0x10000000) == 0",
    "write to the memory of its first process": "open('/proc/1/mem', 'r+b')",
    "trace its harness": "ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0",
    "reach out": "socket.create_connection(('192.0.2.1', 80), timeout=2)",
    "look names up": "socket.gethostbyname('example.org')",
    "make device files": "os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))",
    "kill everything": "os.kill(-1, 0) or len(os.listdir('/proc')) > 200",
}


@pytest.fixture(scope="module")
def marked() -> Iterator[Path]:
    """A file in this user's home that everybody may read."""
    with tempfile.NamedTemporaryFile(dir=Path.home(), prefix="gpulab-test-") as file:
        Path(file.name).chmod(0o644)
        yield Path(file.name)


@pytest.mark.parametrize("umask", ["022", "077", "000"])
def test_the_tier_does_not_depend_on_the_drivers_umask(umask: str) -> None:
    command = f"umask {umask} && {sys.executable} -m grader.sandbox.probe"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout) == {str(int(tier)): reason for tier, reason in refusals().items()}


@pytest.mark.parametrize("what", CANNOT)
def test_in_namespaces_it_cannot(what: str, marked: Path) -> None:
    source = attempt(CANNOT[what].format(course=client.PACKAGES, marked=marked))
    refused = (
        "False",
        "PermissionError",
        "OSError",
        "gaierror",
        "FileNotFoundError",
        "TimeoutError",
        "ProcessLookupError",
    )
    assert inside(source) in refused


CAN = {
    "write at home": "open('a.txt', 'w').write('abc')",
    "write temporary files": "open(__import__('tempfile').mkdtemp() + '/a', 'w').write('abc')",
    "use shared memory": "open('/dev/shm/a', 'w').write('abc')",
    "listen on loopback": "socket.create_server(('127.0.0.1', 0)).fileno() > 0 and 3",
    "start processes": "os.system('exit 0') + 3",
    "fork": "os.waitpid(os.fork() or os._exit(0), 0)[1] + 3",
    "start threads": "__import__('concurrent.futures').futures.ThreadPoolExecutor(4).submit(lambda: 3).result()",
    "import gpulab": "len(__import__('gpulab').table('gpus')) > 3 and 3",
}


@pytest.mark.parametrize("what", CAN)
@pytest.mark.parametrize("tier", [Tier.NAMESPACES, Tier.FILES, Tier.LIMITS], ids=lambda tier: tier.name.lower())
def test_in_every_tier_it_can(what: str, tier: Tier) -> None:
    """Confinement must not cost an honest student anything."""
    assert inside(attempt(CAN[what]), tier) == "3"


@pytest.mark.parametrize(
    "statement",
    [
        "os.listdir('{course}')",
        "open('{course}/pyproject.toml')",
        "open('/etc/hostname').read()",
        "open('/var/tmp/x', 'w')",
        "os.listdir('/tmp')",
        "ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0",
        "open(f'/proc/{{os.getppid()}}/mem', 'rb')",
        "os.kill(os.getppid(), 0)",
        "__import__('resource').prlimit(os.getppid(), 7)",
    ],
)
def test_with_landlock_alone_it_cannot(statement: str) -> None:
    """Where namespaces are refused, files, other processes' memory and signals to them are still out of reach."""
    source = attempt(statement.format(course=client.PACKAGES))
    assert inside(source, Tier.FILES) in ("PermissionError", "False", "FileNotFoundError")


def test_each_process_draws_random_numbers_of_its_own() -> None:
    """Forks of one parent would all draw the same."""
    source = "import random, numpy\nprint(random.random(), numpy.random.rand())"
    assert inside(source) != inside(source)


def test_a_memory_bomb_costs_itself_only() -> None:
    if cgroups.parents() is None:
        pytest.skip("no control groups can be made here")
    bomb = "blocks = []\nwhile True:\n    blocks.append(bytearray(50_000_000))"
    text = inside(bomb, limits=Limits(memory_bytes=300_000_000))
    assert text == "The cell used more memory than a submission may (300 MB)."


def test_a_fork_bomb_costs_itself_only() -> None:
    bomb = (
        "import os\ncount = 0\n"
        "try:\n    while True:\n        if os.fork() == 0:\n            __import__('time').sleep(60)\n"
        "        count += 1\n"
        "except OSError:\n    print(count < 300)"
    )
    assert inside(bomb) == "True"


def test_a_disk_filler_costs_itself_only() -> None:
    source = attempt("open('/tmp/big', 'wb').write(bytes(700_000_000))")
    assert inside(source) in ("OSError", "The cell ended the notebook's process. It ended by SIGBUS.")


FILE = "{place}/theirs"
UNTOUCHED = {
    "the mode": f"os.chmod('{FILE}', 0o777)",
    "the times": f"os.utime('{FILE}', (1, 1))",
    "attributes": f"os.setxattr('{FILE}', 'user.note', b'for the next one')",
}


@pytest.mark.parametrize("what", UNTOUCHED)
def test_with_landlock_alone_it_cannot_change(what: str, marked: Path) -> None:
    """A file of the grader's user stays as it is, also what Landlock does not guard of it."""
    theirs = marked.parent / f"{marked.name}-theirs"
    theirs.write_text("x")
    try:
        theirs.chmod(0o600)
        before = theirs.stat()
        inside(attempt(UNTOUCHED[what].format(place=theirs.parent).replace("/theirs", f"/{theirs.name}")), Tier.FILES)
        after = theirs.stat()
        assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)
        assert not os.listxattr(theirs)
    finally:
        theirs.unlink()


def test_with_landlock_alone_it_can_copy_files_and_cannot_watch_others() -> None:
    """Copying sets modes and times. To be told who opens which file of the course is refused."""
    copied = attempt("open('a', 'w').write('abc') and len(open(__import__('shutil').copy2('a', 'b')).read())")
    assert inside(copied, Tier.FILES) == "3"
    libc = "ctypes.CDLL(None)"
    watched = attempt(f"{libc}.inotify_add_watch({libc}.inotify_init1(0), b'{client.PACKAGES}', 2) >= 0")
    assert inside(watched, Tier.FILES) == "False"


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_well_formed(machine: str, shared: bool) -> None:
    """Every jump of the filter lands on an instruction."""
    program = seccomp.program(machine, shared)
    count = len(program) // 8
    assert len(program) % 8 == 0
    assert count < 256
    for index in range(count):
        code, if_true, if_false = program[8 * index], program[8 * index + 2], program[8 * index + 3]
        if code & 0x07 == 0x05:  # a jump
            assert index + 1 + max(if_true, if_false) < count
    assert platform.machine() in seccomp.DENIED


def test_nothing_is_left_behind() -> None:
    """Folders, mounts and control groups go with the submission."""
    inside("print('x')")
    assert "gpulab-student" not in Path("/proc/mounts").read_text()
    for folder in set((cgroups.parents() or {}).values()):
        assert not list(folder.glob(f"{cgroups.PREFIX}{os.getpid()}-*"))


def test_a_course_of_other_packages_names_what_to_import_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client.shared, "server", None)
    monkeypatch.setenv("GPULAB_PRELOAD", "json wave")
    parent = client.shared.get()
    try:
        command = Path(f"/proc/{parent.pid}/cmdline").read_bytes().split(b"\0")
    finally:
        parent.close()
    assert command[-3:] == [b"json", b"wave", b""]


def test_a_driver_that_ends_in_mid_request_leaves_no_traceback() -> None:
    """Its last words are on the same screen as ours."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = subprocess.Popen(
        [sys.executable, "-P", "-m", "grader.processes.fork_server", str(theirs.fileno()), "json"],
        env={**os.environ, "PYTHONPATH": str(client.PACKAGES)},
        pass_fds=[theirs.fileno()],
        stderr=subprocess.PIPE,
    )
    theirs.close()
    assert b"threads" in ours.recv(1000)
    channel, other = socket.socketpair()
    ready, for_child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    socket.send_fds(ours, [json.dumps({"op": "judge"}).encode()], [for_child.fileno(), other.fileno()])
    for_child.close()
    pid = json.loads(ours.recv(1000))["pid"]
    assert json.loads(ready.recv(1000)) == {}
    ready.close()
    ours.send(json.dumps({"op": "end", "pid": pid, "inner": pid, "grace_seconds": 0.3}).encode())
    ours.close()
    channel.close()
    other.close()
    _, said = parent.communicate(timeout=20)
    assert (parent.returncode, said) == (0, b"")


SHARED = {
    "shared memory of System V": "ctypes.CDLL(None).shmget(0x6770, 4096, 0o1666) >= 0",
    "semaphores of System V": "ctypes.CDLL(None).semget(0x6770, 1, 0o1666) >= 0",
    "queues of System V": "ctypes.CDLL(None).msgget(0x6770, 0o1666) >= 0",
}


@pytest.mark.parametrize("what", SHARED)
def test_no_submission_leaves_the_next_one_a_message(what: str) -> None:
    """Without namespaces these are the machine's; in tier 2 every submission has its own, and may use them."""
    assert inside(attempt(SHARED[what]), Tier.FILES) == "False"
    assert inside(attempt(SHARED[what]), Tier.NAMESPACES) == "True"


def test_files_of_a_users_own_are_removed_and_no_others(tmp_path: Path) -> None:
    """What a submission leaves in `/dev/shm`, where it ran as a user of its own."""
    (tmp_path / "theirs").write_text("a note for the next one")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "theirs").write_text("another")
    client.remove_files_of(os.getuid() + 1, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    client.remove_files_of(os.getuid(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_fork_server_that_cannot_leave_a_box_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that it forked from then on would be in there, judges too."""
    server, joined = fork_server.GraderServer(), []

    def join(process: int) -> None:
        joined.append(process)
        if len(joined) == 2:
            raise OSError("no way back")

    monkeypatch.setattr(os, "getuid", lambda: 0)
    monkeypatch.setattr(fork_server.sandbox, "join_processes", join)
    request = {"op": "student", "tier": 2, "folder": "/a", "work": "/a/work", "number": 1, "courses": []}
    with pytest.raises(RuntimeError, match="cannot leave a box"), server.forking(request, [7, 8, 9]):
        assert joined == [9]
    assert len(joined) == 2
