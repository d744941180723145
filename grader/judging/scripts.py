"""Launches of a student's script (`gpulab.launch.script`) that a test asks for: in a process of their own, not here.

The same process starts the ranks of a student's function (`gpulab.launch.ranks`), which the student's process asks the
judge for while a test calls it. So what the ranks report of themselves never passes through the student's process.

That process has run nothing of the student's, and holds nothing of the judge's: the script is its only company. Both
ends of the road there are in this module; what a rank reports of itself is for the test to doubt.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from gpulab.ranks import forks, launch, processes, seals
from grader.judging.judge_client import Link, ProcessEnded
from grader.processes import wire
from grader.processes.channel import Channel

MARGIN_SECONDS = processes.GRACE_SECONDS + processes.STACK_SECONDS + 3.0
"""Beyond its own limit that a launch may take: to end its ranks and read what they left."""


FUNCTION_SECONDS = 7.0
"""For ranks that a function of the student's starts: its call may take 10 s, and a deadlock is to be told before."""
MOST_RANKS = 64
"""That a function may start at once."""


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

    def ranks(self, asked: dict[str, Any], given: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
        """Has a function run as ranks: what `gpulab.backend.Backend.ranks` of the student's process asks for.

        What the ranks have sent goes to the test alone.

        Args:
            asked: `words` and `seconds` of a `launch.RankCall`, as the student's process says.
            given: the function with its arguments for each rank; nothing of it is unpickled here.

        Raises:
            TooSlow, ProcessEnded: the ranks did away with the process that started them.
            WireError: the student's process asks for something else.
        """
        try:
            words = [str(word) for word in asked["words"] if word in forks.IF_NAMED]
            seconds = min(float(asked["seconds"]), FUNCTION_SECONDS)
        except (KeyError, TypeError, ValueError):
            raise wire.WireError("no ranks") from None
        if not 1 <= len(given) <= MOST_RANKS:
            said = f"{len(given)} ranks: {MOST_RANKS} at most can be started at once."
            return _plain_run(launch.Run((), 0.0, said)), []
        keys = [seals.key() for _ in given]
        changed = {"perturb": self.link.perturb, "scale": self.link.scale}
        request = {"op": "ranks", "words": words, "seconds": seconds, **changed, "keys": keys}
        answer, returned = self.link.ask(request, list(given), self.channel, seconds + MARGIN_SECONDS)
        self.link.used = True
        try:
            run = _run(wire.decode(answer["run"], []), len(given))
            ended = launch.Called(run, tuple(map(bytes, returned)), tuple(map(str, answer["reports"])))
            run = replace(run, problem=ended.problem())
            if self.link.launches is not None and not run.problem:
                self.link.launches += ended.heard()
            return _plain_run(run), list(ended.returned)
        except (KeyError, TypeError, ValueError):
            self.link.dead = ProcessEnded("the ranks disturbed the process that started them")
            raise self.link.dead from None


def _plain_run(run: launch.Run) -> dict[str, Any]:
    """A run as the answer to the student's process."""
    return {"run": wire.encode({"ranks": [{**asdict(one), "left": {}} for one in run.ranks], **_about(run)}, [])}


def _about(run: launch.Run) -> dict[str, Any]:
    return {"seconds": run.seconds, "problem": run.problem, "crossed_bytes": run.crossed_bytes}


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
    form = wire.encode({"ranks": ranks, **_about(run)}, out)
    if sum(memoryview(buffer).nbytes for buffer in out) > request["max_bytes"]:
        return answer_too_large(run), []
    return {"run": form}, out


def answer_ranks(request: dict[str, Any], given: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
    """Runs a function as ranks in the process behind the judge's channel: the handler of `student` for it."""
    call = launch.RankCall(tuple(map(bytes, given)), tuple(request["words"]), request["seconds"])
    ended = launch.run_function(call, request["perturb"], request["keys"], request["scale"])
    if sum(map(len, ended.returned)) > request["max_bytes"]:
        return {**answer_too_large(ended.run), "reports": []}, []
    return {**_plain_run(ended.run), "reports": list(ended.reports)}, list(ended.returned)


class AskedOfJudge:
    """The launches of functions, from the side of the student's process."""

    def __init__(self, channel: Channel, token: str) -> None:
        self._channel, self._token = channel, token

    def ranks(self, call: launch.RankCall) -> tuple[launch.Run, tuple[bytes, ...]]:
        """What `gpulab.backend.Backend.ranks` wants: the run, and what the function returned on each rank."""
        asked = {"words": list(call.words), "seconds": min(call.seconds, FUNCTION_SECONDS)}
        self._channel.send({"id": self._token, "ranks": asked}, list[wire.Buffer](call.given))
        answer, returned = self._channel.receive()
        return _run(wire.decode(answer["run"], []), len(call.given)), tuple(map(bytes, returned))


def answer_too_large(run: launch.Run) -> dict[str, Any]:
    """The answer for ranks that left more than may travel."""
    problem = "The ranks left more data than can be looked at."
    return {"run": wire.encode({"ranks": [], "seconds": run.seconds, "problem": problem, "crossed_bytes": None}, [])}
