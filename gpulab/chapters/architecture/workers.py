"""Races processes, threads and coroutines against one after another, for the architecture chapter.

The races run in a fresh interpreter, this file as a script: a notebook's kernel has threads of its own that would take
the GIL, must not be forked, and already runs an event loop. Hence the standard library only. `architecture` draws.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

KINDS = ("pure Python", "C without the GIL", "a call that blocks", "a wait that yields")
"""Four kinds of work, each about `TASK_MS` long."""
STRATEGIES = ("threads", "processes", "coroutines")
TASK_MS = 25
TIME_LIMIT_S = 90


@dataclass(frozen=True)
class Speedup:
    """How many times faster the tasks of one kind went with one strategy than one after another."""

    kind: str
    strategy: str
    ratio: float
    """Fastest run one after another over fastest run with the strategy: other programs can only add time."""
    spread: float
    """Half the distance between the quartiles of the ratios of runs made right after each other."""
    runs: int


@dataclass(frozen=True)
class WorkerIntervals:
    """When one worker was computing: intervals (start, stop), in ms from the start of its pair."""

    worker: str
    busy_ms: tuple[tuple[float, float], ...]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def speedups(tasks: int = 4, repeats: int = 5) -> list[Speedup]:
    """Races `tasks` equal tasks of every kind with every strategy; takes about 5 s with the default arguments.

    Starting the processes is not part of the time.
    """
    return [Speedup(**row) for row in _in_fresh_interpreter("speedups", tasks, repeats)]


def turns(duration_ms: int = 60, repeats: int = 5) -> list[WorkerIntervals]:
    """Who computed when: two threads that count in pure Python, then two processes that do the same.

    Of each pair, the run that other programs disturbed least: the one with the most computing in it.
    """
    rows = _in_fresh_interpreter("turns", duration_ms, repeats)
    return [WorkerIntervals(row["worker"], tuple((start, stop) for start, stop in row["busy_ms"])) for row in rows]


def _in_fresh_interpreter(*command: object) -> list[dict[str, Any]]:
    arguments = [sys.executable, __file__, *map(str, command)]
    finished = subprocess.run(arguments, capture_output=True, text=True, timeout=TIME_LIMIT_S, check=False)
    if finished.returncode:
        raise RuntimeError(f"the race {' '.join(map(str, command))!r} failed: {finished.stderr.strip()[-500:]}")
    rows: list[dict[str, Any]] = json.loads(finished.stdout)
    return rows


# --- below: what runs in the fresh interpreter -----------------------------------------------------------------------


def _count(amount: int) -> None:
    total = 0
    for number in range(amount):
        total += number % 7


def _digest(amount: int) -> None:
    block = bytes(1_000_000)
    digest = hashlib.sha256()
    for _ in range(amount):
        digest.update(block)  # hashlib lets go of the GIL for anything longer than 2047 bytes


def _sleep(amount: int) -> None:
    time.sleep(amount / 1000)


_WORK: dict[str, Callable[[int], None]] = dict(zip(KINDS, (_count, _digest, _sleep, _sleep), strict=True))


def _amount(kind: str) -> int:
    """How much of a kind of work takes `TASK_MS` on this machine."""
    if _WORK[kind] is _sleep:
        return TASK_MS
    trial = {"pure Python": 100_000, "C without the GIL": 10}[kind]
    best_ms = min(_elapsed_ms(lambda: _WORK[kind](trial)) for _ in range(3))
    return max(1, round(trial * TASK_MS / best_ms))


def _elapsed_ms(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


class _Processes:
    """Interpreters that are up and wait for work, so that a race does not time their start."""

    def __init__(self, count: int) -> None:
        self._children = [
            subprocess.Popen([sys.executable, __file__, "serve"], stdin=-1, stdout=-1, text=True) for _ in range(count)
        ]
        self.do("pure Python", 1)

    def do(self, kind: str, amount: int) -> list[list[float]]:
        """Gives every process the same work and waits for all of them; returns what each replied."""
        for child in self._children:
            assert child.stdin is not None
            child.stdin.write(json.dumps([kind, amount]) + "\n")
            child.stdin.flush()
        return [json.loads(child.stdout.readline()) for child in self._children if child.stdout is not None]

    def close(self) -> None:
        for child in self._children:
            child.communicate()


def _serve() -> None:
    for line in sys.stdin:
        kind, amount = json.loads(line)
        reply = _stamps(amount) if kind == "stamps" else _WORK[kind](amount)
        print(json.dumps(reply), flush=True)


def _with_threads(work: Callable[[int], object], amount: int, count: int) -> None:
    threads = [threading.Thread(target=work, args=(amount,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _with_coroutines(kind: str, amount: int, count: int) -> None:
    async def task() -> None:
        if kind == "a wait that yields":
            await asyncio.sleep(amount / 1000)
        else:
            _WORK[kind](amount)

    async def everything() -> None:
        await asyncio.gather(*(task() for _ in range(count)))

    asyncio.run(everything())


def _measured_speedups(tasks: int, repeats: int) -> list[dict[str, object]]:
    processes = _Processes(tasks)
    rows: list[dict[str, object]] = []
    for kind in KINDS:
        rounds = [_one_round(kind, _amount(kind), tasks, processes) for _ in range(repeats)]
        alone_ms = min(times["one after another"] for times in rounds)
        for strategy in STRATEGIES:
            ratio = alone_ms / min(times[strategy] for times in rounds)
            paired = [times["one after another"] / times[strategy] for times in rounds]
            rows.append(
                {"kind": kind, "strategy": strategy, "ratio": ratio, "spread": _spread(paired), "runs": repeats}
            )
    processes.close()
    return rows


def _one_round(kind: str, amount: int, tasks: int, processes: _Processes) -> dict[str, float]:
    """Milliseconds that all tasks take in each of the four ways."""
    work = _WORK[kind]
    return {
        "one after another": _elapsed_ms(lambda: [work(amount) for _ in range(tasks)]),
        "threads": _elapsed_ms(lambda: _with_threads(work, amount, tasks)),
        "processes": _elapsed_ms(lambda: processes.do(kind, amount)),
        "coroutines": _elapsed_ms(lambda: _with_coroutines(kind, amount, tasks)),
    }


def _stamps(duration_ms: int, gap_ms: float = 0.5) -> list[float]:
    """Counts for a while; returns start, stop, start, stop, … of the stretches without a pause longer than `gap_ms`."""
    now = time.perf_counter() * 1000
    end, stamps = now + duration_ms, [now]
    while now < end:
        _count(500)
        before, now = now, time.perf_counter() * 1000
        if now - before > gap_ms:
            stamps += [before, now]
    return [*stamps, now]


def _measured_turns(duration_ms: int, repeats: int) -> list[dict[str, object]]:
    processes = _Processes(2)
    runs = {
        "thread": [_stamps_of_threads(duration_ms) for _ in range(repeats)],
        "process": [processes.do("stamps", duration_ms) for _ in range(repeats)],
    }
    processes.close()
    rows: list[dict[str, object]] = []
    for name, pairs in runs.items():
        best = sorted(max(pairs, key=_computing_ms))
        zero = best[0][0]
        for number, stamps in enumerate(best, start=1):
            busy = [(start - zero, stop - zero) for start, stop in _intervals(stamps)]
            rows.append({"worker": f"{name} {number}", "busy_ms": busy})
    return rows


def _stamps_of_threads(duration_ms: int) -> list[list[float]]:
    found: list[list[float]] = []
    _with_threads(lambda amount: found.append(_stamps(amount)), duration_ms, 2)
    return found


def _computing_ms(pair: Iterable[list[float]]) -> float:
    return sum(stop - start for stamps in pair for start, stop in _intervals(stamps))


def _intervals(stamps: list[float]) -> list[tuple[float, float]]:
    return list(zip(stamps[::2], stamps[1::2], strict=True))


def _spread(values: list[float]) -> float:
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2


def main(command: str, *numbers: str) -> None:
    """Runs one race and prints its rows as JSON, or serves as one of its processes."""
    if command == "serve":
        _serve()
        return
    races: dict[str, Callable[..., object]] = {
        "speedups": _measured_speedups,
        "turns": _measured_turns,
    }
    print(json.dumps(races[command](*map(int, numbers))))


if __name__ == "__main__":
    main(*sys.argv[1:])
