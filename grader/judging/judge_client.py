"""The judge's client for a submission's processes: every student value that a test sees comes through it.

What a test makes of it is up to `judge`.
"""

from __future__ import annotations

import builtins
import contextlib
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulab.ranks.messages import nothing
from grader.judging import faults
from grader.processes import wire
from grader.processes.channel import Channel, Closed

if TYPE_CHECKING:
    from gpulab.virtual_gpu import MachineModel

EXPECTED_KINDS = {
    "ArithmeticError", "AssertionError", "AttributeError", "FloatingPointError", "IndexError", "KeyError",
    "LookupError", "NameError", "NotImplementedError", "OverflowError", "RuntimeError", "TypeError",
    "UnboundLocalError", "ValueError", "ZeroDivisionError",
}  # fmt: skip
"""Exceptions that a test may expect of an answer. Not StopIteration: it would end a loop of the test's early."""
MAX_STALE_FRAMES = 1_000
"""Frames of earlier requests (a thread that goes on printing) that are ignored before an answer."""

NO_GPU = "Found no NVIDIA driver"
"""In what torch says of pinned memory, and of "cuda", where there is no GPU."""
NO_DRIVER = "CUDA driver library cannot be found"
"""In what Numba says there."""
WITHOUT_DRIVER = "numba.cuda needs a GPU for this, and there is none here. Do without it, or use what the page imports."
ORDER = ". If no kernel is meant to, a launch may pass its arrays in another order than that of the kernel's parameters"
LAUNCHED = re.compile(r"(\w+)\[.+\]\(")
"""`kernel[blocks, threads](`."""
WITHOUT_GPU = (
    'there is no GPU here, so nothing can be pinned or put on "cuda". Ask first: pin_memory=torch.cuda.is_available(), '
    "device=gpulab.device()."
)


class StudentError(Exception):
    """The student's function raised: `name` and `text` of its exception, and the line of the cell where it did."""

    def __init__(self, name: str, text: str, place: str) -> None:
        super().__init__(text)
        self.name, self.text, self.place = name, text, place

    def __str__(self) -> str:
        return self.text  # a KeyError would quote it once more

    def is_blank(self) -> bool:
        """Whether the exercise was left as released; what libraries raise under the same name has a text."""
        return self.name == "NotImplementedError" and not self.text

    def told(self) -> str:
        """What was raised, in a sentence: `IndexError: list index out of range`."""
        # A message may begin with the name already.
        if NO_GPU in self.text:
            return f"{self.name}: {WITHOUT_GPU}"
        if NO_DRIVER in self.text:
            return f"{self.name}: {WITHOUT_DRIVER}"
        launched = LAUNCHED.search(self.place) if self.text == "'function' object is not subscriptable" else None
        if launched:
            what = f"'{launched[1]}' is an ordinary function"
            return f"{self.name}: {what}. A kernel needs a decorator above it, such as @cuda.jit."
        said = self.text if self.text.startswith(f"{self.name}:") else f"{self.name}: {self.text}"
        return said.removesuffix(": ")


class BadValue(Exception):
    """The student's function gave something that is not a plain value, or changed its arguments."""


class Missing(Exception):
    """The student's notebook does not define the exercise."""


class TooSlow(Exception):
    """The student's process did not answer in time; the link is dead."""

    def told(self) -> str:
        """What the student reads."""
        return f"The call gave {self}. Does a loop never end, or take very many steps?"


class ProcessEnded(Exception):
    """The student's process ended, or talks nonsense; the link is dead."""


class CellOverTime(Exception):
    """The test cell itself did not end in time."""


@dataclass
class Link:
    """The connection to a submission's processes, for one test cell."""

    channel: Channel
    """To the process that ran the whole notebook."""
    clean: Channel | None
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
    stuck: bool = False
    """Whether a call met an error of the GPU that may stay with the process that ran the whole notebook."""
    launches: list[Any] | None = None
    """Where the kernel launches of the calls go, while a test counts them."""
    counted: str = "programs"
    """What of a call goes to `launches`: `programs` and messages, or a `timeline`."""
    perturb: float = 0.0
    """What ranks add to what they send, while messages are counted: `gpulab.ranks.messages.count`."""
    scale: float = 1.0
    """What the numbers that ranks are given are multiplied by, while messages are counted."""
    dot_key: int = 0
    """Of what `tl.dot` multiplies by, while launches are counted: `gpulab.trace.counting`."""
    ranks: Callable[[dict[str, Any], list[bytearray]], tuple[dict[str, Any], list[wire.Buffer]]] | None = None
    """Starts the ranks that the student's process asks for in a call; None where that process starts them itself."""
    counter: Callable[[str, tuple[Any, ...], dict[str, Any]], Any] | None = None
    """Calls an exercise and counts what its kernels do (`counted`), or what simulated streams do (`streamed`); None
    where messages are counted."""
    unheard: bool = False
    """Whether the student's process has started ranks by itself, which nobody has listened to."""
    unearned: str = ""
    """What is missing in an answer whose values are right: the row earns nothing. Empty if nothing is."""
    machine: MachineModel | None = None
    """What the clean process computes on and reads its clock from, while a test measures there."""

    def ask(
        self,
        request: dict[str, Any],
        buffers: list[wire.Buffer] | None = None,
        channel: Channel | None = None,
        seconds: float | None = None,
    ) -> tuple[dict[str, Any], list[Any]]:
        """One request and its answer, of the notebook's process or of the one behind `channel`.

        Args:
            request: what is asked.
            buffers: raw bytes that go with it.
            channel: to another process than the notebook's.
            seconds: for the answer; `call_seconds` when left out. The test cell's deadline holds in any case.

        Raises:
            TooSlow, ProcessEnded: and from then on for every further request.
        """
        if self.dead:
            raise self.dead
        apart = self.clean is not None and (self.launches is not None or self.machine is not None)
        channel = channel or (self.clean if apart and self.clean else self.channel)
        token = secrets.token_hex(8)  # unknown to the student until asked: an answer cannot be sent ahead
        seconds = self.call_seconds if seconds is None else seconds
        until = min(time.monotonic() + seconds, self.deadline)
        try:
            channel.send({**request, "id": token, "max_bytes": self.max_bytes}, buffers, self.call_seconds)
            stale = 0
            while stale < MAX_STALE_FRAMES:
                header, body = channel.receive(until, self.max_bytes)
                if header.get("id") == token and isinstance(header.get("done"), dict):
                    return header["done"], body
                mine = header.get("id") == token
                if self.machine is not None and mine and "operations" in header:
                    value = self.machine.run(header["operations"])
                    channel.send({"id": token, "value": value}, seconds=self.call_seconds)
                elif self.ranks is not None and mine and channel is self.channel and "ranks" in header:
                    channel.send(*self.ranks(header["ranks"], body), seconds=self.call_seconds)
                else:
                    stale += 1
            raise wire.WireError("too many frames that nobody asked for")
        except TimeoutError:
            self.dead = TooSlow(f"no answer within {seconds:g} s")
        except (Closed, OSError):
            self.dead = ProcessEnded("the process ended during the call (a crash, or an exit)")
        except (ProcessEnded, TooSlow):  # of the ranks, whose launch the student's process still waits for
            self.alive = False
            raise
        except ValueError as error:  # a WireError is one, and so is an operation that no machine knows
            self.dead = ProcessEnded(f"the answer could not be read ({error})")
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
            return self.decode(answer.get("value"), buffers)
        if kind == "callable":
            return self._function(name)
        if inside := answer.get("inside"):
            raise BadValue(
                f"`{name}` holds {inside!s:.200}; it may hold numbers, strings, lists, dicts, arrays and tensors"
            )
        found = answer.get("not_plain", answer.get("type"))
        raise BadValue(f"`{name}` must be a number, string, list, array, tensor or function, not {found!s:.200}")

    def _function(self, name: str) -> Callable[..., Any]:
        def exercise(*arguments: Any, **named: Any) -> Any:
            return self.call(name, arguments, named)

        exercise.__name__ = exercise.__qualname__ = name
        return exercise

    def call(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What the student's function returns for these plain arguments.

        Raises:
            StudentError: it raised; of the built-in exception type that it raised, too.
            BadValue: it returned something that is not plain, or changed an argument or an earlier result.
            TooSlow, ProcessEnded: it did not answer.
        """
        if self.launches is None:
            return self.ask_for(name, arguments, named, "", 2)[0]
        if self.counter is not None and not self.perturb:
            return self.counter(name, arguments, named)
        value, launches = self.ask_for(name, arguments, named, self.counted, 2)
        said = [launch for launch in launches if isinstance(launch, dict)]
        if self.ranks is not None:
            said = [self._unseen(launch) if "messages" in launch else launch for launch in said]
        self.launches += filter(None, said)
        return value

    def _unseen(self, said: dict[str, Any]) -> dict[str, Any]:
        """What the student's process says of ranks that it has started itself, and nobody has listened to; nothing of
        what it says that ranks have sent."""
        seconds, crossed = said.get("unseen_seconds"), said.get("unseen_bytes")
        if any("messages" in one for one in self.launches or ()) or not isinstance(seconds, float):
            return {}
        self.unheard = True
        return {**nothing(), "unseen_seconds": seconds, "unseen_bytes": crossed if type(crossed) is int else None}

    def ask_for(
        self, name: str, arguments: tuple[Any, ...], named: dict[str, Any], count: str, fields: int
    ) -> tuple[Any, ...]:
        """The value of a call of the student's function, and what was counted meanwhile.

        Args:
            name: of the function.
            arguments: by position, plain.
            named: by name.
            count: `programs`, `timeline`, a transcript of either, `transcript`, or nothing.
            fields: of the answer; the second is a list.

        Raises:
            StudentError, BadValue, TooSlow, ProcessEnded: see `call`.
        """
        out: list[wire.Buffer] = []
        form = wire.encode((arguments, named), out)
        measured = self.machine is not None
        request = {"op": "call", "name": name, "arguments": form, "count": count, "measure": measured}
        request["ranks"] = self.ranks is not None
        answer, buffers = self.ask(request, out)
        self.used = True
        alone = "accesses are counted" if self.launches is not None else "it is measured" if measured else ""
        self.refuse(name, answer, alone)
        found = self.decode(answer.get("value"), buffers)
        if not isinstance(found, tuple) or len(found) != fields or not isinstance(found[1], list):
            self.dead, self.alive = ProcessEnded("the answer could not be read (no value in it)"), False
            raise self.dead
        if answer.get("changed"):
            kernels = self.launches is not None and self.counted == "programs" and self.ranks is None
            raise BadValue(f"`{name}` changed an argument that it was given; work on a copy of it{ORDER * kernels}")
        if answer.get("overwritten"):
            raise BadValue(f"`{name}` overwrote what an earlier call had returned; make a new object for each result")
        return found

    def refuse(self, name: str, answer: dict[str, Any], alone: str) -> None:
        """Raises what the answer to a call says went wrong, if anything.

        Args:
            name: of the exercise.
            answer: of the process that was asked.
            alone: what is done with the exercise's own cell alone; empty where the whole notebook ran.

        Raises:
            StudentError, BadValue: see `call`.
        """
        if answer.get("missing"):
            raise BadValue(f"`{name}` is not defined by its own cell, and with that cell alone {alone}")
        if "not_plain" in answer:
            wanted = "must return a number, string, bytes, list, dict, array or tensor"
            raise BadValue(f"`{name}` {wanted}, got {str(answer['not_plain'])[:200]}")
        if "error" in answer:
            error = raised(answer["error"])
            self.stuck |= faults.may_stay(f"{error.name}: {error.text}")
            if alone and error.name == "NameError":
                error.text += f" ({alone} with its own cell alone: put there what it needs)"
            raise error

    @contextlib.contextmanager
    def counting(
        self, counted: str = "programs", perturb: float = 0.0, dot_key: int = 0, scale: float = 1.0
    ) -> Iterator[list[Any]]:
        """The kernel launches of the calls made in the block: what `gpulab.trace.counting` gives in the judge.

        Args:
            counted: `timeline` for what `gpulab.streams.timeline` gives.
            perturb: for what `gpulab.launch.listening` gives.
            dot_key: see there.
            scale: as `perturb`.
        """
        launches: list[Any] = []
        self.launches, self.counted, self.perturb, self.dot_key = launches, counted, perturb, dot_key
        self.scale = scale
        try:
            yield launches
        finally:
            self.launches, self.counted, self.perturb, self.dot_key = None, "programs", 0.0, 0
            self.scale = 1.0

    @contextlib.contextmanager
    def measuring(self, machine: MachineModel) -> Iterator[None]:
        """Calls in the block find this machine: what `gpulab.virtual_gpu.running` does in the judge."""
        self.machine = machine
        try:
            yield
        finally:
            self.machine = None

    def decode(self, form: Any, buffers: list[bytearray]) -> Any:
        """The plain value in an answer.

        Raises:
            ProcessEnded: there is none; and from then on for every further request.
        """
        try:
            return wire.decode(form, buffers)
        except wire.WireError as error:
            self.dead, self.alive = ProcessEnded(f"the answer could not be read ({error})"), False
            raise self.dead from None


def raised(error: Any) -> StudentError:
    """The student's exception as one of ours that is also of the built-in type of that name."""
    try:
        name, text, place = (str(part)[:6_000] for part in error)
    except (TypeError, ValueError):
        return StudentError("Exception", "an exception that could not be read", "")
    if name in EXPECTED_KINDS:
        return type(name, (StudentError, getattr(builtins, name)), {})(name, text, place)  # type: ignore[no-any-return]
    return StudentError(name, text, place)
