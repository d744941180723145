"""The process that runs student code. It holds nothing worth stealing, and nobody believes a word it says.

One socket connects it to the harness. Over it come code to run, names to look up and functions to call; over it go
outputs and plain values. Everything here can be patched by the code it runs, so nothing here decides a grade: limits,
clocks, tests and verdicts are in other processes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import socket
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from gpulab.backend import Backend, current, use
from gpulab.check.values import as_python
from gpulab.ranks import forks, launch, lightning_name
from grader.judging import scripts
from grader.judging.allowed_outputs import finished, kinds
from grader.judging.earlier_results import EarlierResults
from grader.judging.shell import CELL, Outputs, make_shell, message_of
from grader.processes import wire
from grader.processes.channel import Channel, Closed

if TYPE_CHECKING:
    from gpulab.measuring.speedup import Comparison
    from gpulab.trace.triton.origins import Origins
    from gpulab.virtual_gpu.operations import OperationRecorder
    from grader.judging.counting.stream_transcript import StreamTranscript
    from grader.judging.counting.transcript import Transcript
    from grader.judging.counting.triton_transcript import TritonTranscript

FORKED_IN_CELL = (
    "A process that this cell forked with os.fork() reached the end of the cell and was ended there: it is a copy of "
    "the whole notebook. End such a process with os._exit(0) when its work is done.\n"
)
COPY_SECONDS = 0.5
"""How long the end of a cell waits for copies that the cell forked, to be able to tell of them."""


class Server:
    """Answers requests, one at a time, until told to stop."""

    def __init__(self, channel: Channel | None, shell: InteractiveShell, outputs: Outputs) -> None:
        self._channel, self._shell, self._outputs = channel, shell, outputs
        self._handlers = {
            "run": self._run, "look": self._look, "call": self._call, "speedup": self._speedup,
            "launch": scripts.answer, "ranks": scripts.answer_ranks, "replay": _replay, "simulate": self._simulate,
        }  # fmt: skip
        self._streams = sys.stdout, sys.stderr
        self._sides: dict[str, Any] = {}
        """Speedups that an exercise, or a reference, is timed in."""
        self._kinds = kinds()
        self._results = EarlierResults()
        self._simulation = contextlib.ExitStack()
        self._copies = os.pipe()
        """Where a copy of this process says that it has reached the end of a cell."""
        self._recorder: OperationRecorder | None = None
        """Of the simulated GPU that this process computes on, if it does."""
        self._forked = False
        os.register_at_fork(after_in_parent=self._note_fork)

    def serve(self) -> None:
        """Returns when the harness closes the socket."""
        assert self._channel is not None
        while True:
            try:
                request, buffers = self._channel.receive()
            except Closed:
                return
            self._outputs.request = request["id"]
            answer, out = self.answer(request, buffers)
            try:
                self._channel.send({"id": request["id"], "done": answer}, out)
            except wire.NotPlain as error:
                self._channel.send({"id": request["id"], "done": {"not_plain": str(error)}})

    def answer(self, request: dict[str, Any], buffers: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
        """The answer to one request, and the raw bytes that go with it."""
        return self._handlers[request["op"]](request, buffers)

    def _run(self, request: dict[str, Any], _: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
        """Runs a cell. Answers whether it ended without an exception."""
        sys.stdout, sys.stderr = self._streams  # an earlier cell may have replaced them by anything
        result = self._shell.run_cell(request["code"], store_history=False)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):  # and so may this one
                stream.flush()
        self._end_copies()
        self._tell_of_copies()
        return {"ok": bool(result.success)}, []

    def _look(self, request: dict[str, Any], _: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
        """Looks a name up. Answers its value when that is plain, else what kind of thing it is."""
        namespace = self._shell.user_ns
        if request["name"] not in namespace:
            return {"kind": "missing"}, []
        value = namespace[request["name"]]
        out: list[wire.Buffer] = []
        try:
            return {"kind": "plain", "value": wire.encode(as_python(value), out)}, out
        except BaseException as error:  # not a plain value, or one that resists being looked at
            kind = "callable" if callable(value) else "object"
            inside = str(error) if isinstance(error, wire.NotPlain) and type(value) in (dict, list, tuple, set) else ""
            return {"kind": kind, "type": type(value).__name__, "inside": inside}, []

    def _call(self, request: dict[str, Any], buffers: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
        """Calls a function of the student's. Answers its value, and which arguments it changed."""
        arguments, named = wire.decode(request["arguments"], buffers)
        before = _snapshot((arguments, named))
        out: list[wire.Buffer] = []
        if request["name"] not in self._shell.user_ns:
            return {"missing": True}, []
        try:
            with (
                self._silence(),
                self._measuring(request),
                self._launching(request),
                _counted(request["count"], arguments, named) as counted,
            ):
                value = self._shell.user_ns[request["name"]](*arguments, **named)
            form = wire.encode(counted.answer(value), out)
        except wire.NotPlain as error:
            self._end_copies()
            return {"not_plain": str(error)}, []
        except BaseException as error:  # SystemExit and KeyboardInterrupt are the student's failures too
            self._end_copies()
            return _error(error), []
        self._end_copies()
        if sum(memoryview(buffer).nbytes for buffer in out) > request["max_bytes"]:
            return {"not_plain": f"a value of more than {request['max_bytes'] / 1e6:.0f} MB"}, []
        content = None if request["count"].endswith("transcript") else (form, out)
        try:
            overwritten = self._results.overwritten(request["name"], before, value, content)
        except BaseException:  # a value that resists being looked at, of a kind that is plain all the same
            overwritten = False
        changed = _snapshot((arguments, named)) != before
        return {"value": form, "changed": changed, "overwritten": overwritten}, out

    def _speedup(self, request: dict[str, Any], _: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
        """One half of a timed round: the work, or what one of its outputs projects to."""
        from gpulab.measuring import speedup

        name, where = request["name"], request["where"]
        if name and name not in self._shell.user_ns:
            return {"missing": True}, []
        try:
            with self._silence():
                if name:
                    known, function = speedup.find(where), finished(self._shell.user_ns[name], self._kinds)
                else:
                    comparison = _comparison(where)
                    known, function = speedup.find(comparison.workload), comparison.reference
                key = repr((name, where, sorted(request["size"].items())))
                side = self._sides.setdefault(key, speedup.Here(function, known, request["size"]))
                if request["step"] == "go":
                    side.go(request["seed"], request["calls"], request["idle"])
                    return {}, []
                return {"numbers": [float(number) for number in side.project(request["which"], request["seed"])]}, []
        except wire.NotPlain as error:
            return {"not_plain": str(error)}, []
        except BaseException as error:
            return _error(error), []

    def _simulate(self, _: dict[str, Any], __: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
        """From now on this process computes on a simulated GPU, and all its clocks are that one's."""
        from gpulab.virtual_gpu.installing import installed

        self._recorder = self._simulation.enter_context(installed())
        return {}, []

    @contextlib.contextmanager
    def _measuring(self, request: dict[str, Any]) -> Iterator[None]:
        """Has the judge's machine say how long everything takes, where a test measures."""
        channel = self._channel
        if not request["measure"] or self._recorder is None or channel is None:
            yield
            return

        def ask(operations: list[list[Any]]) -> float:
            channel.send({"id": request["id"], "operations": operations})
            return float(channel.receive()[0]["value"])

        with self._recorder.asking(ask):
            yield

    @contextlib.contextmanager
    def _launching(self, request: dict[str, Any]) -> Iterator[None]:
        """Has the judge start the ranks of a function: it hears what they send, and this process does not."""
        if not request["ranks"] or self._channel is None:
            yield
            return
        asked = scripts.AskedOfJudge(self._channel, request["id"])
        with use(replace(current(), ranks=asked.ranks)):
            yield

    def _end_copies(self) -> None:
        """Ends this process if it is a copy that the student's code forked: there must be one that answers."""
        if not self._outputs.mine:
            with contextlib.suppress(OSError):
                os.write(self._copies[1], b"x")
            os._exit(0)

    def _tell_of_copies(self) -> None:
        """Says so where a copy reached the end of the cell."""
        reading = self._copies[0]
        waiting = COPY_SECONDS if self._forked and _has_children() else 0.0
        self._forked = False
        with contextlib.suppress(OSError, ValueError):  # the student's code may have closed it
            if select.select([reading], [], [], waiting)[0] and os.read(reading, 4096):
                self._streams[1].write(FORKED_IN_CELL)
                self._streams[1].flush()

    def _note_fork(self) -> None:
        self._forked = True

    @contextlib.contextmanager
    def _silence(self) -> Iterator[None]:
        """What a function prints while a test calls it is nobody's business."""
        self._outputs.muted = True
        try:
            yield
        finally:
            self._outputs.muted = False


class _Found:
    """What a test wants to know about a call besides its value, as plain values."""

    def __init__(self) -> None:
        self.launches: list[dict[str, Any]] = []
        self.transcript: Transcript | TritonTranscript | StreamTranscript | None = None
        self.origins: Origins | None = None

    def answer(self, value: Any) -> tuple[Any, ...]:
        """Value and launches; for a transcript also where the value stands in it."""
        if self.origins is not None:
            value = self.origins.result(value)
            self.launches += [{"kind": "host", "reason": note} for note in self.origins.notes]
        if self.transcript is None:
            return as_python(value), self.launches
        return None, self.transcript.launches, self.transcript.result(value)


@contextlib.contextmanager
def _counted(what: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> Iterator[_Found]:
    """Looks at the launches in the block: `programs` of Triton, a `timeline`, or a transcript; ranks of another make
    than `launch.ranks` are noticed."""
    found = _Found()
    if what == "transcript":
        from gpulab.trace.launch import compile_launches, observed  # takes a moment, and most tests count nothing
        from grader.judging.counting.transcript import Transcript

        compile_launches(False)  # the process that carries it out does, before it runs a kernel
        found.transcript = Transcript(arguments, named)
        with observed(found.transcript):
            yield found
    elif what == "programs transcript":
        from gpulab import trace
        from gpulab.trace.triton import hook
        from grader.judging.counting.triton_transcript import TritonTranscript

        found.transcript = TritonTranscript(arguments, named)
        with trace.counting(), hook.observed(found.transcript):
            yield found
    elif what == "programs":
        from gpulab import trace

        with trace.counting() as counted, launch.listening() as sent, contextlib.ExitStack() as watched:
            used = sys.modules.get("gpulab.trace.triton.hook")
            if used is not None and used.installed():
                from gpulab.trace.triton import origins

                found.origins = watched.enter_context(origins.watching(arguments, named))
            yield found
        found.launches += [*counted, *sent]
    elif what == "timeline transcript":
        from gpulab import streams
        from gpulab.streams.simulated import SIMULATION
        from grader.judging.counting.stream_transcript import StreamTranscript

        with streams.timeline():
            found.transcript = SIMULATION.tape = StreamTranscript(arguments, named)
            try:
                yield found
            finally:
                SIMULATION.tape = None
    elif what == "timeline":
        from gpulab import streams

        with streams.timeline() as operations:
            yield found
        found.launches += operations
    else:
        yield found


def _replay(request: dict[str, Any], buffers: list[bytearray]) -> tuple[dict[str, Any], list[wire.Buffer]]:
    """Carries out a transcript; asked of a process that has run nothing of the student's."""
    from grader.judging.counting import replay

    return replay.answer(request, buffers)


def _comparison(where: str) -> Comparison:
    """The comparison of that name: importable in the process of a reference only, since no other sees its folder.

    Raises:
        ImportError: this is a student's process.
        ValueError: there is no such comparison.
    """
    from gpulab.measuring.speedup import Comparison

    module, _, name = where.partition(":")
    found = getattr(importlib.import_module(module), name, None) if module.startswith("grader.exercises.") else None
    if not isinstance(found, Comparison):
        raise ValueError(f"{where!r}: expected module and name of a Comparison in grader.exercises")
    return found


def _has_children() -> bool:
    """Whether there are processes that this one has started and not waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _error(error: BaseException) -> dict[str, Any]:
    """The answer that says which exception a call ended in."""
    return {"error": [type(error).__name__, message_of(error), _place(error)]}


def _place(error: BaseException) -> str:
    """The last line of a notebook cell that the exception passed through: `line 3: return a[i]`; empty if through none.

    Frames of libraries do not count, since their line numbers say nothing to the student. Of a line that Numba says it
    stopped at, its message knows more than the frames.
    """
    found = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if CELL.fullmatch(frame.filename):
            found = f"line {frame.lineno}" + (f": {frame.line}" if frame.line else "")
    if isinstance(error, SyntaxError) and CELL.fullmatch(error.filename or ""):
        found = f"line {error.lineno}" + (f": {error.text.strip()}" if error.text else "")
    return found


def _snapshot(value: Any) -> Any:
    """Something that differs whenever the value has been changed; None when it cannot be told."""
    out: list[wire.Buffer] = []
    try:
        return wire.encode(value, out), [bytes(buffer) for buffer in out]
    except wire.NotPlain:
        return None


def main(descriptor: int) -> None:
    """Serves requests on the socket with this file descriptor."""
    channel = Channel(socket.socket(fileno=descriptor))
    outputs = Outputs(channel)
    shell = make_shell(outputs)
    lightning_name.install()
    with use(Backend(start_rank=forks.start_here, launch_seconds=scripts.FUNCTION_SECONDS)):
        Server(channel, shell, outputs).serve()
