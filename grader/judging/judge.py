"""The process that runs test cells. Trusted: no student code ever runs in it.

A test cell gets a namespace of its own. Names of exercises resolve to the student's plain values, or to functions that
carry each call over the socket into the student's process. What came back and what the cell did with it becomes a
verdict here; points, clocks over the whole, and restarts are for `session`.
"""

from __future__ import annotations

import contextlib
import io
import math
import random
import resource
import signal
import socket
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from gpulab.backend import Backend, use
from gpulab.check import outcomes
from gpulab.check.outcomes import Mismatch, Undecided, WrongAnswer
from grader.judging import faults
from grader.judging.cell_code import CellCode, unpacked
from grader.judging.codes import in_words
from grader.judging.confined import Confined
from grader.judging.judge_client import BadValue, CellOverTime, Link, Missing, ProcessEnded, StudentError, TooSlow
from grader.judging.scripts import ScriptLaunches
from grader.judging.speedups import Speedups
from grader.model import readings
from grader.model.needs import Need
from grader.model.results import Verdict
from grader.processes.channel import Channel, Closed
from grader.sandbox import gpu, kernel

MAX_MESSAGE = 2_000
MAX_PLACE = 200
"""Characters of the student's line that a message quotes."""
MEMORY_BYTES = 4_000_000_000
"""That a test may take beyond what the fork server has, as much as a submission: tests take a few hundred MB."""
START_SECONDS = 90.0
"""For the driver to start a process that a test needs; it has a deadline of its own before."""
GRACE_SECONDS = 1.0
"""Beyond its deadline that a test cell has before it is interrupted: a call that is waited for ends by itself."""


# ------------------------------------------------------------------------------------------------------- one cell


@dataclass(frozen=True)
class Judged:
    """What came of running one test cell."""

    verdict: Verdict
    share: float | None
    """Points that a partial-credit cell ended in; None when it ended in no number."""
    message: str
    outputs: list[dict[str, Any]]
    link_alive: bool
    mismatches: tuple[Mismatch, ...] = ()
    """The wrong values that the test found, where it said them in fields."""
    cause: str = ""
    """Why points are pending, where the verdict leaves that open."""
    device_failed: bool = False
    """Whether this process met an error of the GPU, which may stay with it."""


def run_cell(
    code: CellCode,
    exercises: list[str],
    link: Link,
    possible: float,
    codes: Mapping[str, Mapping[str, Any]] | None = None,
) -> Judged:
    """Runs a test cell against the student process behind `link`; `codes` are those of the student's variant."""
    printed, memory = io.StringIO(), faults.MemoryUse()
    value: Any = None
    error: BaseException | None = None
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        outcomes.collecting() as recorded,
    ):
        try:
            namespace: dict[str, Any] = {"__name__": "__main__"}
            for name in sorted(code.names & set(exercises)):
                namespace[name] = link.look(name)
                if codes and name in codes:
                    own = codes[name]
                    namespace[name] = in_words(namespace[name], own["words"], own["items"], name)
            exec(code.body, namespace)
            if code.value is not None:
                value = eval(code.value, namespace)
        except BaseException as raised:
            error = raised
    outputs: list[dict[str, Any]] = []
    text = printed.getvalue()
    if text:
        outputs.append({"output_type": "stream", "name": "stdout", "text": text[:20_000]})
    if error is not None:
        # With a GPU, CUDA takes memory, too.
        verdict, message = classify(error, link, 0.0 if gpu.device_files() else memory.taken_bytes())
        share = None
    else:
        verdict, share, message = _score(value, possible, link)
        if verdict is Verdict.PARTIAL:
            message = text.strip()[:MAX_MESSAGE]
        if link.unearned and verdict in (Verdict.PASSED, Verdict.PARTIAL):
            verdict, share, message = Verdict.FAILED, None, link.unearned
    mismatches = tuple(recorded) if error is None else mismatches_in(error)
    cause = error.cause if isinstance(error, Undecided) else ""
    lost = verdict is Verdict.HARNESS_ERROR and error is not None and faults.is_of_device(error)
    return Judged(verdict, share, message, outputs, link.alive, tuple(map(_cut, mismatches)), cause, lost)


def _score(value: Any, possible: float, link: Link) -> tuple[Verdict, float | None, str]:
    """Verdict and points for the value that a cell ended in."""
    if value is None:
        return Verdict.PASSED, None, ""
    try:
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
            raise TypeError(f"it ended in a value of type {type(value).__name__}, not in points")
        share = min(max(float(value), 0.0), possible)
    except (TypeError, OverflowError) as error:
        verdict, message = classify(error, link)
        return verdict, None, message
    if share == possible:
        return Verdict.PASSED, share, ""
    return (Verdict.PARTIAL if share > 0 else Verdict.FAILED), share, ""


def classify(error: BaseException, link: Link, taken_bytes: float = 0.0) -> tuple[Verdict, str]:
    """The verdict that an exception in a test cell means, and what to tell the student.

    Args:
        error: the exception.
        link: to the student's process.
        taken_bytes: the most memory that the test has had.
    """
    if isinstance(error, CellOverTime):
        link.dead, link.alive = ProcessEnded("the test was interrupted"), False  # perhaps in the middle of an answer
        if link.used:
            return Verdict.TIMED_OUT, f"The test did not end with what your code gave it ({error})."
        return Verdict.HARNESS_ERROR, f"The test did not end ({error})."
    if isinstance(error, TooSlow):
        return Verdict.TIMED_OUT, error.told()
    if isinstance(error, ProcessEnded):
        return Verdict.CRASHED, f"Your code could not be called: {error}."
    if isinstance(error, Missing):
        return Verdict.NOT_ATTEMPTED, f"`{error}` is not defined."
    if isinstance(error, BadValue):
        return Verdict.FAILED, f"{error}."
    if isinstance(error, StudentError):
        if error.is_blank():
            return Verdict.NOT_ATTEMPTED, "The exercise still raises NotImplementedError."
        told, place = f"Your code raised {error.told()}"[:MAX_MESSAGE], error.place[:MAX_PLACE]
        # The tracer's own errors name the line.
        said = f"{told} ({place})" if place and place not in told else told
        noted = " ".join(getattr(error, "__notes__", ()))  # by the test: what the exercise says about such a mistake
        return Verdict.FAILED, f"{said.removesuffix('.')}. {noted}"[:MAX_MESSAGE] if noted else said
    if isinstance(error, Undecided):
        return Verdict(error.verdict), str(error)[:MAX_MESSAGE]
    ours = faults.is_ours(error) and not (link.used and faults.asks_too_much(error, taken_bytes))
    if isinstance(error, AssertionError) and not ours:
        return Verdict.FAILED, (str(error) or "an assertion of the test does not hold")[:MAX_MESSAGE]
    if link.used and not ours:
        # The test choked on what the student gave it; before it had anything of theirs, the fault would be ours.
        return Verdict.FAILED, f"The test cannot use what your code gave it ({type(error).__name__}: {error})"[
            :MAX_MESSAGE
        ]
    return Verdict.HARNESS_ERROR, "".join(traceback.format_exception_only(error)).strip()[:MAX_MESSAGE]


def mismatches_in(error: BaseException) -> tuple[Mismatch, ...]:
    """What an exception of a test cell says in fields about the answer."""
    if isinstance(error, WrongAnswer):
        return error.mismatches
    if isinstance(error, StudentError) and not error.is_blank():
        raised = error.told()
        return (Mismatch(got=raised, difference=f"Your code raised {raised}"),)
    return ()


def _cut(mismatch: Mismatch) -> Mismatch:
    return Mismatch(**{name: text[:MAX_MESSAGE] for name, text in asdict(mismatch).items()})


# ---------------------------------------------------------------------------------------------------- the process


class _Judge:
    """Answers the driver's requests."""

    def __init__(self, control: socket.socket) -> None:
        self._control, self._channel = control, Channel(control)
        self._links: dict[str, Channel] = {}
        self._speedups: Speedups | None = None
        """Of the cell that was judged last, as long as the driver may ask about them."""

    def serve(self) -> None:
        """Returns when the driver closes the socket."""
        answers = {"link": self._link, "cell": self._cell, "slowed": self._slowed}
        while True:
            try:
                request, _ = self._channel.receive()
            except Closed:
                return
            answer = answers[request["op"]](request)
            if answer is not None:
                self._channel.send(answer)

    def _link(self, request: dict[str, Any]) -> None:
        """Takes over a process's socket."""
        _, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
        if request["to"] in self._links:
            self._links.pop(request["to"]).close()
        self._links[request["to"]] = Channel(socket.socket(fileno=descriptors[0]))

    def _cell(self, request: dict[str, Any]) -> dict[str, Any]:
        """Judges one test cell."""
        link = Link(
            channel=self._links["notebook"],
            clean=self._links.pop("clean", None),
            call_seconds=request["call_seconds"],
            deadline=time.monotonic() + request["test_seconds"],
            max_bytes=request["max_bytes"],
        )
        reference = self._links.pop("reference", None)
        self._speedups = Speedups(link, reference) if reference else None
        launcher, counter, streamer = (self._links.pop(role, None) for role in ("launcher", "counter", "streamer"))
        if counter is not None:
            from grader.judging.counting.counted import CountedCalls  # with NumPy, which not every course has

            link.counter = CountedCalls(link, counter, request["cells"], request["seed"], request["triton"]).call
        elif streamer is not None:
            from grader.judging.counting.streamed import StreamedCalls

            link.counter = StreamedCalls(link, streamer, request["seed"]).call
        launches = ScriptLaunches(link, launcher, request["launch_seconds"]) if launcher else None
        if launches and Need.LISTENING in request["needs"]:
            link.ranks = launches.ranks
        confined = Confined(self._confined, link.deadline, request["max_bytes"])
        judged = _judge(request, link, backend_of(request, link, self._speedups, launches, confined))
        for channel in filter(None, (link.clean, launcher, counter, streamer)):
            channel.close()
        if self._speedups and not self._speedups.run:
            self._speedups.reference.close()
        return {
            "verdict": judged.verdict.value,
            "share": judged.share,
            "message": judged.message,
            "mismatches": [asdict(one) for one in judged.mismatches],
            "cause": judged.cause,
            "outputs": judged.outputs,
            "link_alive": judged.link_alive,
            "device_failed": judged.device_failed,
            "stuck": link.stuck,
            "unheard": link.unheard,
            "timed": bool(self._speedups and self._speedups.run),
        }

    def _confined(self) -> Channel:
        """A confined process that has run nothing yet: the driver starts it in the middle of a cell."""
        self._channel.send({"needs": "confined"})
        request, _ = self._channel.receive(time.monotonic() + START_SECONDS)
        self._link(request)
        return self._links.pop("confined")

    def _slowed(self, request: dict[str, Any]) -> dict[str, Any]:
        """Times the references of the last cell once more, alone."""
        if self._speedups is None:
            return {"factor": 1.0}
        self._speedups.link.deadline = time.monotonic() + request["seconds"]
        try:
            return {"factor": self._speedups.slowed()}
        finally:
            self._speedups.reference.close()
            self._speedups = None


def main(descriptor: int) -> None:
    """Serves the driver's requests on the socket with this file descriptor, until it is closed."""
    kernel.close_to_debuggers()  # the hidden tests are in here
    if not gpu.device_files():  # CUDA maps more than it uses
        _limit_memory()
    _Judge(socket.socket(fileno=descriptor)).serve()


def _limit_memory() -> None:
    """Has a test fail that an answer makes ask for the machine's memory, before other submissions miss it."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    most = 1024 * int(status["VmData"].split()[0]) + MEMORY_BYTES
    with contextlib.suppress(ValueError):  # there is a lower limit already
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def backend_of(
    request: dict[str, Any], link: Link, speedups: Speedups | None, launches: ScriptLaunches | None, confined: Confined
) -> Backend:
    """What one test cell asks of this process: its own seed, its declared services, and the other processes.

    A script without a process for its launches is refused by `gpulab.check.services`: it would run next to the hidden
    tests.
    """
    return Backend(
        seed=request["seed"],
        services=frozenset(request["needs"]),
        counting=(lambda dot_key: link.counting(dot_key=dot_key)) if link.clean else None,
        speedup=speedups.sides if speedups else None,
        script=launches.script if launches else None,
        listening=lambda perturb, scale: link.counting(perturb=perturb, scale=scale),
        timeline=(lambda: link.counting("timeline")) if Need.TIMELINE in request["needs"] else None,
        measuring=link.measuring if link.clean else None,
        confined=confined.run,
    )


def _judge(request: dict[str, Any], link: Link, backend: Backend) -> Judged:
    random.seed(request["seed"])
    seconds = request["test_seconds"]

    def interrupt(number: int, frame: object) -> None:
        raise CellOverTime(f"not within {seconds:g} s")

    signal.signal(signal.SIGALRM, interrupt)
    # Again and again, should the test swallow the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS, GRACE_SECONDS)
    try:
        with use(backend), readings.use(request["readings"]):
            code = unpacked(request["code"])
            return run_cell(code, request["exercises"], link, request["possible"], request["codes"])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
