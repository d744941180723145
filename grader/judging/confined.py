"""Runs a function of ours on what a student made, in a process as confined as the student's own.

The judge holds the hidden tests and is not confined, so it must not compile, parse or execute a student's work itself.
The process has run nothing of the student's before; it gets the source of one module of ours and plain arguments, and
what comes back is bounded plain data. The driver starts it when the judge asks; `gpulab.confined` is what tests call.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpulab import confined as calls
from grader.judging import faults
from grader.judging.judge_client import BadValue, Link, ProcessEnded, StudentError, TooSlow
from grader.processes.channel import Channel

NAME = "ANSWER"
PROGRAM = """\
import sys as _sys, types as _types
_module = _types.ModuleType({module!r})
_module.__file__, _sys.modules[{module!r}] = {file!r}, _module
exec(compile({source!r}, {file!r}, "exec"), vars(_module))
def {name}(*arguments):
    try:
        return ["value", getattr(_module, {function!r})(*arguments)]
    except Exception as error:
        kind = type(error)
        if kind.__module__.partition(".")[0] != "gpulab":
            raise
        return ["raised", kind.__module__, kind.__qualname__, str(error)[:20_000]]
"""


@dataclass(frozen=True)
class Confined:
    """The confined processes of one test cell."""

    start: Callable[[], Channel]
    """Has the driver start one."""
    deadline: float
    """Of the test cell, on `time.monotonic()`."""
    max_bytes: int
    """Of what comes back from a call."""

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...], what: str, seconds: float) -> Any:
        """What `gpulab.backend.Backend.confined` wants: the function's value, from a process of its own.

        Raises:
            BadValue: it took too long, ended its process, or what came back cannot be read.
            ImportError: the process did not come so far as to have the function, or the GPU failed there: what a kernel
                does wrong comes as an exception of gpulab's. Nothing of the student's is to blame.
            Exception: what the function raised.
        """
        channel = self.start()
        until = min(time.monotonic() + seconds, self.deadline)
        link = Link(channel, None, seconds, until, self.max_bytes)
        try:
            _load(function, link)
            answer = link.call(NAME, arguments, {})
        except StudentError as error:
            if faults.failed_device(error.text):
                raise ImportError(f"the GPU failed in a confined process ({error.told()})") from None
            error.place = ""  # a line of ours
            raise
        except TooSlow:
            raise BadValue(f"{what} did not end within {seconds:g} s") from None
        except ProcessEnded:
            raise BadValue(f"{what} ended its process: it crashed, or needed too much memory") from None
        finally:
            channel.close()
        return _value(answer, what)


def _load(function: Callable[..., Any], link: Link) -> None:
    """Gives the process the function."""
    try:
        loaded, _ = link.ask({"op": "run", "code": _program(function)})
    except (TooSlow, ProcessEnded) as error:
        raise ImportError(f"a confined process did not start ({error})") from None
    if loaded.get("ok") is not True:
        raise ImportError(f"{function.__module__} cannot be loaded in a confined process")


def _program(function: Callable[..., Any]) -> str:
    """Code that defines the function from the source of its module, which need not be there where it runs."""
    module = sys.modules[function.__module__]
    source, file = inspect.getsource(module), f"<{function.__module__}>"
    name = function.__qualname__
    if "." in name:
        raise ImportError(f"{name} is not at the top level of its module")
    return PROGRAM.format(module=function.__module__, file=file, source=source, name=NAME, function=name)


def _value(answer: Any, what: str) -> Any:
    """The value in an answer, or the exception raised: nothing in it is believed."""
    match answer:
        case ["value", value]:
            return value
        case ["raised", str(module), str(name), str(text)]:
            if error := calls.exception(module, name, text):
                raise error
    raise BadValue(f"{what} gave something that cannot be read")
