"""Launches of a student's script (`gpulab.launch.script`) that a test asks for: in a process of their own, not here.

That process has run nothing of the student's, and holds nothing of the judge's: the script is its only company. Both
ends of the road there are in this module; what a rank reports of itself is for the test to doubt.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gpulab.ranks import launch, processes
from grader.judging.judge_client import Link, ProcessEnded
from grader.processes import wire
from grader.processes.channel import Channel

MARGIN_SECONDS = processes.GRACE_SECONDS + processes.STACK_SECONDS + 3.0
"""Beyond its own limit that a launch may take: to end its ranks and read what they left."""


@dataclass
class ScriptLaunches:
    """The launches of one test cell, from the judge's side."""

    link: Link
    channel: Channel
    """To a process that has run nothing of the student's."""
    most_seconds: float
    """For one launch, whatever the test allows it."""

    def script(self, job: launch.Job) -> launch.Run:
        """What `gpulab.backend.Backend.script` wants.

        Raises:
            TooSlow, ProcessEnded: the script did away with the process that started it.
        """
        seconds = min(job.seconds, self.most_seconds)
        request = {"op": "launch", "job": {**asdict(job), "seconds": seconds}}
        answer, buffers = self.link.ask(request, channel=self.channel, seconds=seconds + MARGIN_SECONDS)
        self.link.used = True
        try:
            return _run(wire.decode(answer["run"], buffers), job.world_size)
        except (KeyError, TypeError, ValueError):  # a WireError is a ValueError too
            self.link.dead = ProcessEnded("the script disturbed the process that started it")
            raise self.link.dead from None


def _run(plain: Any, world_size: int) -> launch.Run:
    """A run from what the other process says about it.

    Raises:
        KeyError, TypeError, ValueError: it says nothing of the kind.
    """
    ranks = []
    for number, one in enumerate(plain["ranks"]):
        code, left = one["exit_code"], one["left"]
        if not (code is None or type(code) is int) or type(left) is not dict or not all(type(n) is str for n in left):
            raise TypeError("no rank")
        ranks.append(launch.Rank(number, code, str(one["output"]), str(one["waits_in"]), left))
    crossed = plain["crossed_bytes"]
    if not (crossed is None or type(crossed) is int):
        raise TypeError("no number of bytes")
    run = launch.Run(tuple(ranks), float(plain["seconds"]), str(plain["problem"]), crossed)
    if not run.problem and (len(ranks) != world_size or any(one.exit_code != 0 for one in ranks)):
        raise ValueError("ranks are missing")
    return run


def answer(request: dict[str, Any], _: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
    """Runs a job in the process behind the judge's channel: the handler of `student` for it."""
    job = request["job"]
    run = launch.run(launch.Job(**{**job, "arguments": tuple(job["arguments"]), "own": tuple(job["own"])}))
    out: list[wire.Buffer] = []
    # Field by field: `asdict` would copy tensors, and numbers of ranks go without saying.
    ranks = [
        {"exit_code": one.exit_code, "output": one.output, "waits_in": one.waits_in, "left": dict(one.left)}
        for one in run.ranks
    ]
    about = {"seconds": run.seconds, "problem": run.problem, "crossed_bytes": run.crossed_bytes}
    form = wire.encode({"ranks": ranks, **about}, out)
    if sum(memoryview(buffer).nbytes for buffer in out) > request["max_bytes"]:
        return answer_too_large(run), []
    return {"run": form}, out


def answer_too_large(run: launch.Run) -> dict[str, Any]:
    """The answer for ranks that left more than may travel."""
    problem = "The ranks left more data than can be looked at."
    return {"run": wire.encode({"ranks": [], "seconds": run.seconds, "problem": problem, "crossed_bytes": None}, [])}
