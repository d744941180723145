"""When the grader itself is killed in the middle of a submission, what the submission started dies with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.processes import client
from grader.sandbox import Tier
from grader.sandbox.probe import best_tier

pytestmark = pytest.mark.long

DRIVER = """
import sys, tempfile
from minikey import make_key
from grader.processes import client, fork_server
from grader.model.limits import Limits
from grader.sandbox import Tier, cgroups
from grader.judging.session import grade
from grader.model.submission import from_answers

tier, seconds, tempfile.tempdir = Tier(int(sys.argv[1])), sys.argv[2], sys.argv[3]
cgroups.parents = lambda: None  # what a control group would do is not for this test to show
cell = f'''
import subprocess, time
subprocess.Popen(["sleep", "{seconds}"], start_new_session=True)
subprocess.Popen("setsid sleep {seconds} & sleep {seconds} &", shell=True)
time.sleep(60)
'''
key, limits = make_key(), Limits(cell_seconds=60)
parent = client.SubmissionServer(fork_server.LIGHT_MODULES, tier)
grade(from_answers(key, {"double": cell}), key, student="s", seed=1, limits=limits, parent=parent)
"""


def running(words: list[str]) -> list[int]:
    """The processes whose command line is just these words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes() == b"".join(word.encode() + b"\0" for word in words):
                found.append(int(folder.name))
    return found


def wait_for(condition, seconds: float) -> bool:
    """Whether the condition held before the time was up."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(condition())


@pytest.fixture
def folder() -> Iterator[str]:
    """A temporary folder that the user whom a submission runs as can get to."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o711)
        yield path


@pytest.mark.parametrize("tier", [tier for tier in Tier if tier <= best_tier()], ids=lambda tier: tier.name.lower())
def test_nothing_survives_a_killed_driver(tier: Tier, folder: str) -> None:
    """Without control groups too, and also what hid in sessions of its own; the folders go with the next driver."""
    sleep = ["sleep", f"8639{int(tier)}.5"]
    paths = {"PYTHONPATH": f"{client.PACKAGES}:{Path(__file__).parents[1]}"}
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(int(tier)), sleep[1], folder], env={**os.environ, **paths}
    )
    try:
        assert wait_for(lambda: len(running(sleep)) == 3, 30)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    gone = wait_for(lambda: not running(sleep), 5)
    for pid in running(sleep):
        os.kill(pid, signal.SIGKILL)
    assert gone
    assert len(list(Path(folder).iterdir())) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        client.sweep()
    assert list(Path(folder).iterdir()) == []


WATCHER = """
import subprocess, sys, time
from gpulab.forkserver.process_control import adopt_orphans
from grader.processes.watcher import fork_watched, watch_worker

adopt_orphans()
worker = fork_watched()
if worker == 0:
    for _ in range(5):
        subprocess.Popen(["sleep", sys.argv[1]], start_new_session=True)
    print("started", flush=True)
    time.sleep(20)
    raise SystemExit("nobody told the watcher to end")
watch_worker(worker, None)
"""


@pytest.mark.parametrize("number", range(5))
def test_told_to_end_again_and_again_it_cleans_up_all_the_same(number: int) -> None:
    """The fork server tells it, and so does the kernel when the fork server ends: at any moment of its work."""
    sleep = ["sleep", f"86{number}99.5"]
    paths = {"PYTHONPATH": str(client.PACKAGES)}
    command = [sys.executable, "-c", WATCHER, sleep[1]]
    with subprocess.Popen(command, env={**os.environ, **paths}, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None
        try:
            assert watcher.stdout.readline() == "started\n"
            # Not at once: a process that has just been started has no command line for a moment.
            assert wait_for(lambda: len(running(sleep)) == 5, 5)
            until = time.monotonic() + 10
            while watcher.poll() is None and time.monotonic() < until:
                watcher.terminate()
        finally:
            watcher.kill()  # or leaving the block would wait for it
            left = running(sleep)
            for pid in left:
                os.kill(pid, signal.SIGKILL)
    assert left == []
    assert watcher.returncode == 256 - signal.SIGKILL  # as the worker ended
