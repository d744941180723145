"""Kills processes of ours at random while the small chapter is graded, and counts what changed or was left behind.

    python tests/random_kills.py [kills] [seed]

In each grading one process dies, at a random moment: one of the two servers, the student's, the judge's, or one that
holds the student's box or watches over it. Exits with 1 when a result differs from the undisturbed one, or anything is
left behind.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from leftovers import forks, left_behind  # noqa: E402 - from the folders above
from minikey import RIGHT, make_key  # noqa: E402

from gpulab.forkserver.client import Shared  # noqa: E402
from grader.judging.session import grade  # noqa: E402
from grader.model.results import SubmissionResult  # noqa: E402
from grader.model.submission import from_answers  # noqa: E402
from grader.processes import client  # noqa: E402

MARKER = "random_kills_marker"
"""No module: a name among the fork server's arguments, which its forks share."""
MODULES = ("numpy", "gpulab", "gpulab.check", MARKER)
SERVER_SHARE = 0.1
"""Of the kills, those that are meant for a server: the one that forks, or the one that makes boxes."""


def comparable(result: SubmissionResult) -> str:
    """A result as text, without what differs from one grading to the next: times and memory."""
    fields = json.loads(result.to_json())
    fields.pop("usage", None)
    for cell in fields["cells"]:
        cell.pop("seconds", None)
    return json.dumps(fields, sort_keys=True)


def graded() -> str:
    key = make_key()
    return comparable(grade(from_answers(key, RIGHT), key, student="s", seed=7))


def servers() -> dict[int, str]:
    """Process id → which of the two it is."""
    server = client.shared.get()
    return {pid: "fork server" if pid == server.pid else "server of boxes" for pid in server.pids}


class Killer(threading.Thread):
    """Kills one process after a while."""

    def __init__(self, after_seconds: float, pick: random.Random) -> None:
        super().__init__()
        self._after, self._pick, self._servers = after_seconds, pick, servers()
        self.killed = ""

    def run(self) -> None:
        until = time.monotonic() + self._after
        while time.monotonic() < until:
            pass  # a sleep would round the moment
        if self._pick.random() < SERVER_SHARE:
            self._kill(*self._pick.choice(sorted(self._servers.items())))
            return
        while time.monotonic() < until + 1.0 and not self.killed:
            candidates = forks(MARKER, self._servers)
            if candidates:
                pid = self._pick.choice(candidates)
                self._kill(pid, kind_of(pid, self._servers))

    def _kill(self, pid: int, what: str) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.killed = what


def kind_of(pid: int, servers: Mapping[int, str]) -> str:
    """Which of a submission's processes it is, as far as /proc tells."""
    fields: dict[str, list[str]] = {}
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        fields = {name: values.split() for name, _, values in (line.partition(":") for line in lines)}
    inside = fields.get("NSpid", ["", "", "0"])
    if len(inside) > 1:
        return {"0": "one that had just ended", "1": "first of a namespace"}.get(inside[-1], "student's")
    parent = servers.get(int(fields.get("PPid", ["0"])[0]))
    return {"fork server": "judge's, or the watcher of a student's", "server of boxes": "watcher of a box"}.get(
        parent or "", "student's"
    )


def main(kills: int, seed: int) -> int:
    """Runs the experiment and prints what came of it: 0 when nothing changed."""
    client.shared = Shared(lambda: client.SubmissionServer(MODULES, box_modules=(MARKER,)))
    pick = random.Random(seed)
    undisturbed = graded()
    started = time.monotonic()
    if graded() != undisturbed:
        raise SystemExit("two undisturbed gradings differ: nothing can be learned here")
    usual = time.monotonic() - started
    counts: collections.Counter[str] = collections.Counter()
    longest, changed, left = 0.0, 0, 0
    started = time.monotonic()
    while counts.total() < kills:
        killer = Killer(pick.uniform(0, usual), pick)
        begun = time.monotonic()
        killer.start()
        result = graded()
        longest = max(longest, time.monotonic() - begun)
        killer.join()
        if killer.killed:
            counts[killer.killed] += 1
        if result != undisturbed:
            changed += 1
            print(f"after a kill of the {killer.killed}: {result[:2000]}")
        # Not before the kill: what it hits may be the last thing to end.
        found = left_behind(MARKER, servers())
        if found:
            left += 1
            print(f"left after a kill of the {killer.killed}: {found}")
    seconds = time.monotonic() - started
    print(f"{counts.total()} kills {dict(counts)}: {changed} results changed, {left} left something behind")
    print(f"a grading takes {usual:.2f} s, the longest with a kill took {longest:.2f} s, all together {seconds:.0f} s")
    return int(bool(changed or left))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]]
    sys.exit(main(*numbers, *(200, 7)[len(numbers) :]))
