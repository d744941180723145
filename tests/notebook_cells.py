"""Runs answers and the visible parts of their tests in one namespace, as a student's notebook does.

A program of its own: JSON on standard input, a line of JSON for each answer on standard output.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

SECONDS = 120.0
"""For one answer."""


def failures(given: Sequence[str], test: str, answers: Sequence[str], until: float) -> Iterator[str]:
    """For each answer in turn what its test said, or an empty string if it passed.

    Args:
        given: cells that run once, before the first answer.
        test: the visible part of a test cell.
        answers: each runs in a fork of its own.
        until: after this time of the monotonic clock no further answer is begun.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-P", __file__], env=environment,  # -P: tests/grader must not stand for grader
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps([list(given), test, list(answers), until]))
        process.stdin.close()
        for line in process.stdout:
            yield json.loads(line)
    assert process.returncode == 0, "the process failed before its last answer"


def main() -> None:
    """Serves one request."""
    from gpulab.check import notebook
    from grader.judging.shell import Outputs, make_shell

    given, test, answers, until = json.loads(sys.stdin.read())
    replies = os.fdopen(os.dup(1), "w")
    shell = make_shell(Outputs(None))
    notebook.install(shell)  # as the first import of gpulab does in a notebook
    for cell in given:
        run(shell, cell)
    for answer in answers:
        if time.monotonic() > until:
            break
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            signal.alarm(int(SECONDS))
            said = run(shell, answer) or run(shell, test)
            os.write(writing, said.encode()[:10_000])
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read().decode(errors="replace")
        _, status = os.waitpid(child, 0)
        replies.write(json.dumps(said if status == 0 else f"it ended with status {status}") + "\n")
        replies.flush()


def run(shell: Any, source: str) -> str:
    """Runs a cell; what it raised."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = shell.run_cell(source, store_history=False)
    error = result.error_before_exec or result.error_in_exec
    return f"{type(error).__name__}: {error}" if error else ""


if __name__ == "__main__":
    main()
