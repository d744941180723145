"""Timed tests have the GPU alone, others share it, and nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.machine.gpu_lock import Turns

ROOT = Path(__file__).resolve().parents[3]
HOLD = "import sys,time,pathlib\nfrom grader.machine.gpu_lock import Turns\n"
HOLD += "with Turns(pathlib.Path(sys.argv[1]), '0').alone():\n    print('in', flush=True)\n    time.sleep(60)"


def test_many_share(tmp_path: Path) -> None:
    here = Turns(tmp_path, "0")
    with here.shared(), here.shared():
        pass


def test_one_is_alone_and_newcomers_wait(tmp_path: Path) -> None:
    """Who is in ends, then the timed one runs, then who came after it: also when they would always overlap."""
    here, order = Turns(tmp_path, "0"), []
    first_in, end_first = threading.Event(), threading.Event()

    def first() -> None:
        with here.shared():
            first_in.set()
            end_first.wait(10)
            order.append("first")

    def timed() -> None:
        with here.alone():
            time.sleep(0.1)
            order.append("timed")

    def newcomer() -> None:
        with here.shared():
            order.append("newcomer")

    threads = [threading.Thread(target=one) for one in (first, timed, newcomer)]
    for thread in threads:
        thread.start()
        first_in.wait(10)
        time.sleep(0.1)
    assert order == []
    end_first.set()
    for thread in threads:
        thread.join(10)
    assert order == ["first", "timed", "newcomer"]


def test_another_gpu_is_another_room(tmp_path: Path) -> None:
    with Turns(tmp_path, "0").alone(), Turns(tmp_path, "1").alone():
        pass


def test_a_killed_grader_lets_go(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "in\n"
        done = threading.Event()

        def wait() -> None:
            with Turns(tmp_path, "0").shared():
                done.set()

        threading.Thread(target=wait, daemon=True).start()
        assert not done.wait(0.3)
        other.kill()
        assert done.wait(10)


@pytest.mark.parametrize("turn", [Turns.shared, Turns.alone], ids=["shared", "alone"])
def test_a_grader_that_hangs_is_not_waited_for_for_ever(turn: Callable[..., Any], tmp_path: Path) -> None:
    """It says which lock is held, holds none itself afterwards, and the next one waits anew."""
    with Turns(tmp_path, "0").alone():
        started = time.monotonic()
        with pytest.raises(TimeoutError, match=r"\.gate: the GPU is still held by another grader"):
            turn(Turns(tmp_path, "0", wait_seconds=0.2)).__enter__()
        assert 0.2 <= time.monotonic() - started < 2
    with turn(Turns(tmp_path, "0", wait_seconds=0.2)):
        pass


def test_a_timed_test_that_gives_up_lets_newcomers_in(tmp_path: Path) -> None:
    """It holds the gate while it waits for the room."""
    with Turns(tmp_path, "0").shared():
        with pytest.raises(TimeoutError, match=r"\.room"):
            Turns(tmp_path, "0", wait_seconds=0.2).alone().__enter__()
        with Turns(tmp_path, "0", wait_seconds=0.2).shared():
            pass


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    with Turns(tmp_path, "0").alone():
        pass
    (gate,) = tmp_path.glob("*.gate")
    gate.unlink()
    gate.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"), Turns(tmp_path, "0").alone():
        pass
    assert not (tmp_path / "elsewhere").exists()
