"""Counts what an exercise's kernels do, where the exercise cannot write: the judge's side.

The student's process gets inputs of the same shapes as the test's, with other values, and writes down which launches it
makes for them (`transcript`). Another process, which has run nothing of the student's, makes these launches on the
test's own inputs (`replay`). Its counts are the test's counts and its arrays the test's answer, so that only what the
kernels themselves compute is ever compared.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpulab.unwritten import rubbish
from grader.judging.counting.transcript import arrays_of
from grader.judging.judge_client import BadValue, Link, ProcessEnded, StudentError, raised
from grader.processes import wire
from grader.processes.channel import Channel

DRAWS = 20
"""Tries to draw other values for an array that are not all the same."""
NO_LAUNCH = "`{name}` launched no kernel: what it returned must be computed by kernels."
NOT_WRITTEN = (
    "`{name}` returned the right values, but not from an array that its kernels wrote: let the kernels compute all of "
    "the result, and return the array that they wrote, or an element of it."
)
FROM_HOST = (
    "`{name}` returned the right values, but its kernels were given values that the host had computed from the "
    "arguments: let the kernels compute them."
)


@dataclass
class CountedCalls:
    """The counted calls of one test cell."""

    link: Link
    channel: Channel
    """To the process that makes the launches again."""
    sources: Sequence[str]
    """The cells that the student's clean process has run, the exercise's own first."""
    seed: int
    triton: bool = False
    """Whether the kernels are Triton's."""
    _calls: int = field(default=0, init=False)

    def call(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What `Link.call` gives while a test counts: the value that the launches come to for these arguments.

        Raises:
            StudentError, BadValue, TooSlow, ProcessEnded: see `Link.call`.
        """
        try:
            return (self._programs if self.triton else self._call)(name, arguments, named)
        except StudentError:  # may be an AttributeError too
            raise
        except (AttributeError, KeyError, TypeError, wire.NotPlain) as error:  # a transcript of another kind
            self.link.dead, self.link.alive = (
                ProcessEnded(f"its launches could not be read ({type(error).__name__})"),
                False,
            )
            raise self.link.dead from None

    def _call(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        launches, result = self._transcript(name, arguments, named)
        if not launches:
            self.link.unearned = NO_LAUNCH.format(name=name)
            return self._as_it_is(name, arguments, named)
        value, counts = self._replayed(name, launches, result, arguments, named)
        assert self.link.launches is not None
        self.link.launches += counts
        if result is None:
            self.link.unearned = NOT_WRITTEN.format(name=name)
            return self._as_it_is(name, arguments, named)
        given = [*arguments, *named.values()]
        if _suspicious(launches, given):
            again = self._transcript(name, arguments, named)[0]
            if not _same(again, launches) and not self._unread(name, launches, again, result, value, arguments, named):
                self.link.unearned = FROM_HOST.format(name=name)
                return self._as_it_is(name, arguments, named)
        return value

    def _unread(
        self,
        name: str,
        launches: list[Any],
        again: list[Any],
        result: Any,
        value: Any,
        arguments: tuple[Any, ...],
        named: dict[str, Any],
    ) -> bool:
        """Whether two transcripts differ only in what the host left in arrays and no kernel read, as in `np.empty`."""
        blank = _blanked(launches, again)
        if blank is None:
            return False
        try:
            return _same([self._replayed(name, blank, result, arguments, named)[0]], [value])
        except (StudentError, BadValue):  # a kernel read it
            return False

    def _programs(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """The same for Triton's programs: what a test says of several kernels, or of PyTorch's, is the student's word.

        The transcript comes first: when its host code runs, the process has not seen the test's inputs yet.
        """
        transcript: tuple[list[Any], Any] = [], None
        refused: Exception | None = None
        try:
            transcript = self._transcript(name, arguments, named)
        except (StudentError, BadValue) as error:
            refused = error
        value, launches = self.link.ask_for(name, arguments, named, "programs", 2)
        launches = [one for one in launches if isinstance(one, dict)]
        own = [one for one in launches if one.get("kind") == "triton"]
        alone = all(one.get("kind") in ("triton", "allocation") for one in launches)
        written, result = transcript
        if refused is not None and alone:
            raise refused
        if own and alone and len(written) == len(own) and result is not None:
            value, counts = self._replayed(name, written, result, arguments, named)
            launches = [*counts, *(one for one in launches if one.get("kind") == "allocation")]
        else:  # the test has something to say of it; if it has not, somebody has made these launches up
            self.link.unearned = NOT_WRITTEN.format(name=name)
        assert self.link.launches is not None
        self.link.launches += launches
        return value

    def _transcript(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Any], Any]:
        """The launches for arguments of the same shapes and other values, and where their result stands."""
        self._calls += 1
        draw = np.random.default_rng([self.seed % 2**63, self._calls])
        others = tuple(other_values(value, draw) for value in arguments)
        others_named = {key: other_values(value, draw) for key, value in named.items()}
        count = "programs transcript" if self.triton else "transcript"
        _, launches, result = self.link.ask_for(name, others, others_named, count, 3)
        return launches, result

    def _as_it_is(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What the student's process says: a test tells what is wrong with it, and nothing is earned by it."""
        return self.link.ask_for(name, arguments, named, "", 2)[0]

    def _replayed(
        self, name: str, launches: list[Any], result: Any, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        out: list[wire.Buffer] = []
        form = wire.encode((launches, result, arguments, named), out)
        request = {
            "op": "replay",
            "replay": form,
            "sources": list(self.sources),
            "kind": "triton" if self.triton else "numba",
            "dot_key": self.link.dot_key,
        }
        answer, buffers = self.link.ask(request, out, self.channel)
        if "refused" in answer:
            raise BadValue(f"`{name}`: {str(answer['refused'])[:500]}")
        if "error" in answer:
            raise raised(answer["error"])
        value = self.link.decode(answer.get("value"), buffers)
        if not isinstance(value, tuple) or len(value) != 2 or not isinstance(value[1], list):
            raise ProcessEnded("its launches could not be made again")
        return value


def other_values(value: Any, draw: np.random.Generator) -> Any:
    """An array or tensor of the same shape and type whose elements are drawn from the same values; else the value.

    It has no two different elements only where the given one has none.
    """
    if not arrays_of([value], {}):
        return value
    flat = value.reshape(-1)
    size = int(flat.shape[0])
    if not size or bool((flat == flat[0]).all()):
        return value.contiguous() if hasattr(value, "untyped_storage") else value
    for _ in range(DRAWS):
        chosen = draw.integers(size, size=size)
        other = flat[chosen.tolist() if hasattr(value, "untyped_storage") else chosen].reshape(value.shape)
        if not bool((other.reshape(-1) == other.reshape(-1)[0]).all()):
            return other
    return value.contiguous() if hasattr(value, "untyped_storage") else value


def _suspicious(launches: list[Any], given: Sequence[Any]) -> bool:
    """Whether a host could have handed results of its own to these launches."""
    known = {float(one) for one in given if isinstance(one, (int, float, np.number))}
    known |= {float(np.float32(one)) for one in known}
    for launch in launches:
        values = [one.get("value") for one in launch["arguments"]]
        if any("written" in write for write in launch["host_writes"]) or any(_fraction(one, known) for one in values):
            return True
    return len(launches) > 1


def _fraction(value: Any, known: set[float]) -> bool:
    """Whether an argument of a launch is a number with a fraction, or holds one, and is none of the call's own."""
    if isinstance(value, tuple):
        return any(_fraction(item, known) for item in value)
    return isinstance(value, (complex, np.complexfloating)) or (
        isinstance(value, (float, np.floating)) and float(value) not in known
    )


def _blanked(first: list[Any], second: list[Any]) -> list[Any] | None:
    """The first transcript, with nothing written to memory in which the host left something else the second time.

    Returns:
        None if the two differ in anything but the content of such memory.
    """
    blank, other = copy.deepcopy(first), copy.deepcopy(second)
    for one, two in zip(blank, other, strict=False):
        types = {form["array"]["buffer"]: form["array"]["type"] for form in one["arguments"] if "array" in form}
        for mine, theirs in zip(one["host_writes"], two["host_writes"], strict=False):
            if (mine["buffer"], mine["bytes"]) == (theirs["buffer"], theirs["bytes"]) and not _same([mine], [theirs]):
                place = {"buffer": mine["buffer"], "bytes": mine["bytes"]}
                place["filled"] = rubbish(1, np.dtype(types[mine["buffer"]])).tobytes()
                for write in (mine, theirs):
                    write.clear()
                    write.update(place)
    return blank if _same(blank, other) else None


def _same(first: list[Any], second: list[Any]) -> bool:
    """Whether two transcripts ask for the same launches, to the bit."""
    buffers: tuple[list[wire.Buffer], list[wire.Buffer]] = ([], [])
    if wire.encode(first, buffers[0]) != wire.encode(second, buffers[1]):
        return False
    return [bytes(one) for one in buffers[0]] == [bytes(one) for one in buffers[1]]
