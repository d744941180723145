"""What every user of a fork server relies on: no wait without a deadline, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpulab.forkserver import client
from gpulab.forkserver.client import Forked, ForkServer, ServerGone, Shared, StartError

SERVER = """
import gc, os, subprocess, sys, time, types
from gpulab.forkserver.server import ForkingServer


class Echo(ForkingServer):
    def prepare(self):
        sys.ps1 = ">>> "
        if "late" in sys.argv:
            time.sleep(60)

    def settle(self):
        if "slow" in sys.modules:
            time.sleep(60)

    def become(self, ready, request, descriptors):
        if request["op"] == "never ready":
            time.sleep(60)
        if request["op"] == "fails":
            raise KeyError("no such thing")
        if request["op"] == "orphan":
            subprocess.Popen(["sleep", request["seconds"]], start_new_session=True)
        ready()
        if request["op"] == "sleeps":
            time.sleep(60)
        if request["op"] == "interactive":
            return 2 * hasattr(sys, "ps1") + sys.modules["asks"].interactive
        if request["op"] == "imported":
            return sys.modules["looks"].collecting
        return gc.isenabled() if request["op"] == "runs" else 3


if __name__ == "__main__":
    Echo(adopts=True).serve(int(sys.argv[1]), sys.argv[2:])
"""
INITIALIZED = "import sys, types\ncuda = types.SimpleNamespace(is_initialized=lambda: True)\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "echo_server.py").write_text(SERVER)
    (tmp_path / "slow.py").write_text("")
    (tmp_path / "asks.py").write_text("import sys\ninteractive = hasattr(sys, 'ps1')\n")
    (tmp_path / "looks.py").write_text("import gc\ncollecting = gc.isenabled()\n")
    (tmp_path / "torch.py").write_text(INITIALIZED)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def started(*modules: str) -> ForkServer:
    return ForkServer(["-m", "echo_server"], modules, os.environ)


@pytest.fixture
def server(folder: Path) -> Iterator[ForkServer]:
    found = started("json", "looks")
    yield found
    found.close()


def forked(server: ForkServer, op: str) -> Forked:
    pid = server.fork({"op": op})["pid"]
    return Forked(pid, lambda: server.exit_code(pid))


def test_a_fork_ends_with_its_code(server: ForkServer) -> None:
    one = forked(server, "ends")
    assert (one.wait(), one.poll(), server.threads) == (3, 3, 1)


def test_garbage_is_collected_in_forks_but_not_during_imports(server: ForkServer) -> None:
    assert [forked(server, op).wait() for op in ("imported", "runs")] == [False, True]


def test_no_import_finds_itself_in_an_interactive_session(server: ForkServer) -> None:
    """Lightning asks once, as it is imported, and then starts no ranks for a script either."""
    server.import_more(["asks"])
    assert forked(server, "interactive").wait() == 2


def test_one_that_does_not_end_is_not_waited_for(server: ForkServer) -> None:
    one = forked(server, "sleeps")
    assert one.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        one.wait(timeout=0.1)
    one.kill()
    assert one.wait() == -signal.SIGKILL


def test_one_that_cannot_become_what_it_should_says_why(server: ForkServer) -> None:
    with pytest.raises(StartError, match="no such thing"):
        server.fork({"op": "fails"})
    assert forked(server, "ends").wait() == 3


def test_one_that_is_never_ready_is_ended(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "READY_SECONDS", 0.2)
    with pytest.raises(StartError, match=r"not ready within 0\.2 s"):
        server.fork({"op": "never ready"})
    assert children(server) == []
    assert server.alive()


def test_one_that_says_nothing_need_not_be_waited_for(server: ForkServer) -> None:
    begun = time.monotonic()
    pid = server.fork({"op": "never ready"}, wait=False)["pid"]
    assert time.monotonic() - begun < 5
    one = Forked(pid, lambda: server.exit_code(pid))
    assert one.poll() is None
    one.kill()
    assert one.wait() == -signal.SIGKILL


def children(server: ForkServer) -> list[str]:
    return Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()


def test_a_server_that_does_not_answer_is_killed_with_its_forks(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its late answer would be taken for the next one."""
    one = forked(server, "sleeps")
    monkeypatch.setattr(client, "START_SECONDS", 0.2)
    with pytest.raises(ServerGone, match=r"within 0\.2 s"):
        server.import_more(["slow"])
    assert not server.alive()
    assert one.wait() == -signal.SIGKILL
    with pytest.raises(ServerGone):
        server.fork({"op": "ends"})


def test_an_interrupted_request_ends_the_server(server: ForkServer) -> None:
    """For the same reason: the answer is still on its way."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            server.import_more(["slow"])
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not server.alive()


def test_a_server_that_never_starts_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "START_SECONDS", 1.0)
    with pytest.raises(ServerGone, match="within 1 s"):
        started("late")


def test_a_server_that_ignores_its_end_is_killed(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CLOSE_SECONDS", 0.3)
    os.kill(server.pid, signal.SIGSTOP)
    begun = time.monotonic()
    server.close()
    assert time.monotonic() - begun < 3
    assert not Path(f"/proc/{server.pid}").exists()


def test_orphans_end_when_the_server_is_told_to_clear(server: ForkServer) -> None:
    one = forked_with_orphan(server, "8640.25")
    one.wait()
    assert len(sleeping("8640.25")) == 1
    server.clear()
    assert (sleeping("8640.25"), children(server), server.alive()) == ([], [], True)


def test_everything_ends_with_the_server(server: ForkServer) -> None:
    forked_with_orphan(server, "8641.25").wait()
    one = forked(server, "sleeps")
    server.close()
    assert (sleeping("8641.25"), one.poll()) == ([], -signal.SIGKILL)


def forked_with_orphan(server: ForkServer, seconds: str) -> Forked:
    pid = server.fork({"op": "orphan", "seconds": seconds})["pid"]
    until = time.monotonic() + 5
    while not sleeping(seconds) and time.monotonic() < until:
        time.sleep(0.01)
    return Forked(pid, lambda: server.exit_code(pid))


def sleeping(seconds: str) -> list[int]:
    """The processes that sleep for so long: nobody else picks such a number."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == b"sleep\0" + seconds.encode() + b"\0":
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_server_that_has_initialized_cuda_does_not_fork(folder: Path) -> None:
    """Its forks could not use the GPU, and would not know why."""
    server = started("torch")
    try:
        with pytest.raises(StartError, match="has initialized CUDA"):
            server.fork({"op": "ends"})
    finally:
        server.close()


def test_a_request_that_is_too_large_costs_nothing_else(server: ForkServer) -> None:
    with pytest.raises(StartError, match="at most"):
        server.fork({"op": "ends", "environment": "x" * 200_000})
    assert forked(server, "ends").wait() == 3


def test_there_is_one_and_another_when_it_is_gone(folder: Path) -> None:
    shared = Shared(lambda: started("json", "looks"))
    first = shared.get()
    assert shared.get() is first
    os.kill(first.pid, signal.SIGKILL)
    first._process.wait()
    second = shared.get()
    assert second is not first and second.alive()
    second.close()


def test_a_copy_of_the_client_has_no_say() -> None:
    """A process that the notebook forks shares the socket: it would take the other's answers."""
    code = "import os\nfrom gpulab.ranks import forks\nmine = forks.shared.get()\nmine._owner = 1\n"
    code += "print(mine.alive(), forks.shared.get() is mine)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["False", "False"]
