"""The process that runs test cells. Trusted: no student code ever runs in it.

A test cell gets a namespace of its own. Names of exercises resolve to the student's plain values, or to functions that
carry each call over the socket into the student's process. What came back and what the cell did with it becomes a
verdict here; points, clocks over the whole, and restarts are for `session`.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import math
import random
import secrets
import signal
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

from grader import wire
from grader.results import Verdict
from grader.sandbox import kernel

MAX_MESSAGE = 2_000
GRACE_SECONDS = 1.0
"""Beyond its deadline that a test cell has before it is interrupted: a call that is waited for ends by itself."""
EXPECTED_KINDS = {
    "ArithmeticError", "AssertionError", "AttributeError", "FloatingPointError", "IndexError", "KeyError",
    "LookupError", "NameError", "NotImplementedError", "OverflowError", "RuntimeError", "TypeError", "ValueError",
    "ZeroDivisionError",
}  # fmt: skip
"""Exceptions that a test may expect of an answer. Not StopIteration: it would end a loop of the test's early."""
MAX_STALE_FRAMES = 1_000
"""Frames of earlier requests (a thread that goes on printing) that are passed over before an answer."""


class StudentError(Exception):
    """The student's function raised: `name` and `text` of its exception, and its traceback there."""

    def __init__(self, name: str, text: str, trace: str) -> None:
        super().__init__(text)
        self.name, self.text, self.trace = name, text, trace


class BadValue(Exception):
    """The student's function gave something that is not a plain value, or changed its arguments."""


class Missing(Exception):
    """The student's notebook does not define the exercise."""


class TooSlow(Exception):
    """The student's process did not answer in time; the link is dead."""


class Gone(Exception):
    """The student's process ended, or talks nonsense; the link is dead."""


class Endless(Exception):
    """The test cell itself did not end in time."""


@dataclass
class Link:
    """The connection to a submission's processes, for one test cell."""

    channel: wire.Channel
    """To the process that ran the whole notebook."""
    clean: wire.Channel | None
    """To one that ran the exercise's own cell alone, where counts are taken; None when the test counts nothing."""
    call_seconds: float
    deadline: float
    """For the whole test cell, on `time.monotonic()`."""
    max_bytes: int
    used: bool = False
    """Whether the test has had anything from the student yet: before that, an exception is our own."""
    dead: Exception | None = None
    alive: bool = True
    """Whether the process that ran the whole notebook can still be asked."""
    launches: list[Any] | None = None
    """Where the kernel launches of the calls go, while a test counts them."""

    def ask(
        self, request: dict[str, Any], buffers: list[wire.Buffer] | None = None
    ) -> tuple[dict[str, Any], list[Any]]:
        """One request and its answer.

        Raises:
            TooSlow, Gone: and from then on for every further request.
        """
        if self.dead:
            raise self.dead
        channel = self.channel if self.launches is None or self.clean is None else self.clean
        token = secrets.token_hex(8)  # unknown to the student until asked: an answer cannot be sent ahead
        until = min(time.monotonic() + self.call_seconds, self.deadline)
        try:
            channel.send({**request, "id": token, "max_bytes": self.max_bytes}, buffers, self.call_seconds)
            for _ in range(MAX_STALE_FRAMES):
                header, body = channel.receive(until, self.max_bytes)
                if header.get("id") == token and isinstance(header.get("done"), dict):
                    return header["done"], body
            raise wire.WireError("too many frames that nobody asked for")
        except TimeoutError:
            self.dead = TooSlow(f"no answer within {self.call_seconds:g} s")
        except (wire.Closed, OSError):
            self.dead = Gone("the process ended during the call (a crash, or an exit)")
        except wire.WireError as error:
            self.dead = Gone(f"the answer could not be read ({error})")
        self.alive = channel is not self.channel
        raise self.dead

    def look(self, name: str) -> Any:
        """The student's value called `name`, or a function that calls theirs.

        Raises:
            Missing: the student's notebook defines no such name.
            BadValue: it is neither a plain value nor callable.
        """
        answer, buffers = self.ask({"op": "look", "name": name})
        kind = answer.get("kind")
        if kind == "missing":
            raise Missing(name)
        self.used = True
        if kind == "plain":
            return self._decode(answer.get("value"), buffers)
        if kind == "callable":
            return self._function(name)
        raise BadValue(
            f"`{name}` must be a number, string, list, array, tensor or function, not {answer.get('type')!s:.80}"
        )

    def _function(self, name: str) -> Callable[..., Any]:
        def exercise(*arguments: Any, **named: Any) -> Any:
            return self.call(name, arguments, named)

        exercise.__name__ = exercise.__qualname__ = name
        return exercise

    def call(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What the student's function returns for these plain arguments.

        Raises:
            StudentError: it raised; of the built-in exception type that it raised, too.
            BadValue: it returned something that is not plain, or changed an argument.
            TooSlow, Gone: it did not answer.
        """
        out: list[wire.Buffer] = []
        form = wire.encode((arguments, named), out)
        counted = self.launches is not None
        answer, buffers = self.ask({"op": "call", "name": name, "arguments": form, "count": counted}, out)
        self.used = True
        if answer.get("missing"):
            raise BadValue(f"`{name}` is not defined by its own cell, and with that cell alone accesses are counted")
        if "not_plain" in answer:
            wanted = "must return a number, string, list, dict, array or tensor"
            raise BadValue(f"`{name}` {wanted}, got {str(answer['not_plain'])[:200]}")
        if "error" in answer:
            error = _raised(answer["error"])
            if counted and error.name == "NameError":
                error.text += " (accesses are counted with its own cell alone: put there what it needs)"
            raise error
        pair = self._decode(answer.get("value"), buffers)
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], list):
            self.dead, self.alive = Gone("the answer could not be read (no value in it)"), False
            raise self.dead
        if answer.get("changed"):
            raise BadValue(f"`{name}` changed an argument that it was given; work on a copy of it")
        if self.launches is not None:
            self.launches += [launch for launch in pair[1] if isinstance(launch, dict)]
        return pair[0]

    @contextlib.contextmanager
    def counting(self) -> Iterator[list[Any]]:
        """The kernel launches of the calls made in the block: what `gpulab.trace.counting` gives in the judge."""
        launches: list[Any] = []
        self.launches = launches
        try:
            yield launches
        finally:
            self.launches = None

    def _decode(self, form: Any, buffers: list[bytearray]) -> Any:
        try:
            return wire.decode(form, buffers)
        except wire.WireError as error:
            self.dead, self.alive = Gone(f"the answer could not be read ({error})"), False
            raise self.dead from None


def _raised(error: Any) -> StudentError:
    """The student's exception as one of ours that is also of the built-in type of that name."""
    try:
        name, text, trace = (str(part)[:6_000] for part in error)
    except (TypeError, ValueError):
        return StudentError("Exception", "an exception that could not be read", "")
    if name in EXPECTED_KINDS:
        return type(name, (StudentError, getattr(builtins, name)), {})(name, text, trace)  # type: ignore[no-any-return]
    return StudentError(name, text, trace)


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


def loaded_names(source: str) -> set[str]:
    """The names that a cell reads anywhere."""
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def run_cell(source: str, exercises: list[str], link: Link, possible: float) -> Judged:
    """Runs a test cell against the student process behind `link`."""
    printed = io.StringIO()
    value: Any = None
    error: BaseException | None = None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            tree = ast.parse(source)
            namespace: dict[str, Any] = {"__name__": "__main__"}
            for name in sorted(loaded_names(source) & set(exercises)):
                namespace[name] = link.look(name)
            last = tree.body[-1] if tree.body else None
            if isinstance(last, ast.Expr):
                tree.body.pop()
            exec(compile(tree, "<test>", "exec"), namespace)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<test>", "eval"), namespace)
        except BaseException as raised:
            error = raised
    outputs: list[dict[str, Any]] = []
    text = printed.getvalue()
    if text:
        outputs.append({"output_type": "stream", "name": "stdout", "text": text[:20_000]})
    if error is not None:
        verdict, message = classify(error, link)
        share = None
    else:
        verdict, share, message = _score(value, possible, link)
        if verdict is Verdict.PARTIAL:
            message = text.strip()[:MAX_MESSAGE]
    return Judged(verdict, share, message, outputs, link.alive)


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


def classify(error: BaseException, link: Link) -> tuple[Verdict, str]:
    """The verdict that an exception in a test cell means, and what to tell the student."""
    if isinstance(error, Endless):
        link.dead, link.alive = Gone("the test was interrupted"), False  # perhaps in the middle of an answer
        if link.used:
            return Verdict.TIMED_OUT, f"The test did not end with what your code gave it ({error})."
        return Verdict.HARNESS_ERROR, f"The test did not end ({error})."
    if isinstance(error, TooSlow):
        return Verdict.TIMED_OUT, f"The call gave {error}. Does a loop never end?"
    if isinstance(error, Gone):
        return Verdict.CRASHED, f"Your code could not be called: {error}."
    if isinstance(error, Missing):
        return Verdict.NOT_ATTEMPTED, f"`{error}` is not defined."
    if isinstance(error, BadValue):
        return Verdict.FAILED, f"{error}."
    if isinstance(error, StudentError):
        if error.name == "NotImplementedError":
            return Verdict.NOT_ATTEMPTED, "The exercise still raises NotImplementedError."
        where = [line.strip() for line in error.trace.splitlines() if line.strip().startswith("File")]
        line = where[-1].split(", ")[1] if where and ", " in where[-1] else ""
        return Verdict.FAILED, f"Your code raised {error.name}: {error.text}"[:MAX_MESSAGE] + (
            f" ({line})" if line else ""
        )
    if isinstance(error, AssertionError):
        return Verdict.FAILED, (str(error) or "an assertion of the test does not hold")[:MAX_MESSAGE]
    if type(error).__name__ == "NeedsGPU":
        return Verdict.NEEDS_GPU, str(error)[:MAX_MESSAGE]
    if link.used and isinstance(error, Exception) and not isinstance(error, (OSError, ImportError)):
        # The test choked on what the student gave it; before it had anything of theirs, the fault would be ours.
        return Verdict.FAILED, f"The test cannot use what your code gave it ({type(error).__name__}: {error})"[
            :MAX_MESSAGE
        ]
    return Verdict.HARNESS_ERROR, "".join(traceback.format_exception_only(error)).strip()[:MAX_MESSAGE]


# ---------------------------------------------------------------------------------------------------- the process


def main(descriptor: int) -> None:
    """Serves the driver's requests on the socket with this file descriptor, until it is closed."""
    kernel.close_to_debuggers()  # the hidden tests are in here
    control = socket.socket(fileno=descriptor)
    channel = wire.Channel(control)
    links: dict[str, wire.Channel] = {}
    while True:
        try:
            request, _ = channel.receive()
        except wire.Closed:
            return
        if request["op"] == "link":
            _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if request["to"] in links:
                links[request["to"]].close()
            links[request["to"]] = wire.Channel(socket.socket(fileno=descriptors[0]))
            continue
        judged = _judge(request, links["notebook"], links.pop("clean", None))
        channel.send(
            {
                "verdict": judged.verdict.value,
                "share": judged.share,
                "message": judged.message,
                "outputs": judged.outputs,
                "link_alive": judged.link_alive,
            }
        )


def _judge(request: dict[str, Any], notebook: wire.Channel, clean: wire.Channel | None) -> Judged:
    from gpulab import seeding

    seeding.set_seed(request["seed"])
    random.seed(request["seed"])
    seconds = request["test_seconds"]
    link = Link(
        channel=notebook,
        clean=clean,
        call_seconds=request["call_seconds"],
        deadline=time.monotonic() + seconds,
        max_bytes=request["max_bytes"],
    )

    def interrupt(number: int, frame: object) -> None:
        raise Endless(f"not within {seconds:g} s")

    signal.signal(signal.SIGALRM, interrupt)
    # Again and again, should the test swallow the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS, GRACE_SECONDS)
    try:
        with _counting(link):
            return run_cell(request["source"], request["exercises"], link, request["possible"])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextlib.contextmanager
def _counting(link: Link) -> Iterator[None]:
    """Has `gpulab.trace.counting` count in the clean process, where this test has one."""
    if link.clean is None:
        yield
        return
    from gpulab.trace.counting import use

    use(link.counting)
    try:
        yield
    finally:
        use(None)
        link.clean.close()
