"""Sources are parsed in threads: of submissions, and of answers."""

from __future__ import annotations

import ast
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from grader.model import syntax
from grader.model.syntax import syntax_tree

LONG = "\n".join(f"x{n} = [f(a + {n}, b=[c, (d, {{'e': e - 1}})]) for f in y if not (f or g({n}))]" for n in range(200))


@pytest.fixture
def often_interrupted():
    """Threads take turns as often as Python allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Cycle:
    """Runs Python code when the garbage collector finds it, which is where a parsing thread can be interrupted."""

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        for _ in range(50):
            pass


def parsed_in_threads() -> None:
    wanted = ast.dump(ast.parse(LONG))

    def one(_: int) -> str:
        for _ in range(20):
            Cycle()
        return ast.dump(syntax_tree(LONG))

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(one, range(80))) == {wanted}


def test_threads_parse_at_the_same_time(often_interrupted):
    parsed_in_threads()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_parses_though_another_thread_held_the_lock():
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with syntax._lock:
            held.set()
            done.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(5)
    child = os.fork()
    if child == 0:
        os._exit(0 if isinstance(syntax_tree("a = 1"), ast.Module) else 1)
    try:
        assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        holder.join()
