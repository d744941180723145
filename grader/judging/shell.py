"""IPython as a notebook runs it, in a process that is forked for a submission; its outputs go over the socket."""

from __future__ import annotations

import atexit
import base64
import builtins
import contextlib
import inspect
import io
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from gpulab.ranks import written
from grader.processes.channel import Channel

CELL = re.compile(r"<ipython-input-[0-9a-f-]+>")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_REPORT = re.compile(
    r"(?s)\A(Failed to .*?)\. This is step .*## Exception summary\s+<class '(?:[\w.]*\.)?(\w+)'>: (.*?)"
    r"\s*(?:For more information about this error|The error above occurred|\(Refer to the full).*\Z"
)
"""What PyTorch's exporter to ONNX says: a page of advice, and the cause at its end."""
"""The file name that IPython gives to a cell."""
STREAM_CHUNK = 16_384
"""Characters after which printed text is sent on, newline or not."""
STREAM_SECONDS = 0.1
"""Text is sent at the latest with the first write after this long."""
FIRST_CELLS = ("import math\nmath", "raise NotImplementedError()")
"""Run once before the first fork: what IPython looks up for a first value or traceback is there from then on."""


class Outputs:
    """Sends the outputs of the current request; drops them while muted."""

    def __init__(self, channel: Channel | None) -> None:
        self._channel = channel
        """None as long as nobody listens."""
        self._process = os.getpid()
        self.request = ""
        self.muted = False

    @property
    def mine(self) -> bool:
        """False in a process that the student's code has forked: the socket is not for its use."""
        return os.getpid() == self._process

    def send(self, output: dict[str, Any]) -> None:
        """Sends one notebook output."""
        if self._channel and self.mine and not self.muted:
            # An output over 16 MB, or one that JSON cannot say (NaN, a set), is not worth an exception.
            with contextlib.suppress(TypeError, ValueError, RecursionError):
                self._channel.send({"id": self.request, "output": output})


class CellStream(io.TextIOBase):
    """`sys.stdout` or `sys.stderr` of the student's code."""

    def __init__(self, outputs: Outputs, name: str) -> None:
        self._outputs, self._name = outputs, name
        self._parts: list[str] = []
        self._size, self._last = 0, time.monotonic()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Always UTF-8, as in a notebook."""
        return "utf-8"

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, text: str) -> int:
        """Keeps the text until there is enough of it, or enough time has passed."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._outputs.muted:
            return len(text)
        if not self._outputs.mine:
            return os.write(1 if self._name == "stdout" else 2, text.encode())
        self._parts.append(text)
        self._size += len(text)
        if self._size > STREAM_CHUNK or time.monotonic() - self._last > STREAM_SECONDS:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Sends what was kept."""
        text, self._parts, self._size, self._last = "".join(self._parts), [], 0, time.monotonic()
        for start in range(0, len(text), 1_000_000):
            chunk = text[start : start + 1_000_000]
            self._outputs.send({"output_type": "stream", "name": self._name, "text": chunk})


def _text_only(data: dict[str, Any]) -> dict[str, Any]:
    """A MIME bundle that JSON can carry."""
    return {mime: base64.encodebytes(body).decode() if isinstance(body, bytes) else body for mime, body in data.items()}


class _Publisher(DisplayPublisher):
    outputs: Outputs

    def publish(self, data: Any, metadata: Any = None, **options: Any) -> None:
        sys.stdout.flush()
        output = {"output_type": "display_data", "data": _text_only(data), "metadata": dict(metadata or {})}
        self.outputs.send(output)

    def clear_output(self, wait: bool = False) -> None:
        sys.stdout.flush()
        self.outputs.send({"output_type": "clear"})


class _Hook(DisplayHook):
    outputs: Outputs
    _bundle: tuple[dict[str, Any], dict[str, Any]] = ({}, {})

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        self._bundle = (_text_only(format_dict), dict(md_dict or {}))

    def finish_displayhook(self) -> None:
        sys.stdout.flush()
        data, metadata = self._bundle
        self.outputs.send(
            {"output_type": "execute_result", "data": data, "metadata": metadata, "execution_count": None}
        )


class _Compiler(CachingCompiler):
    """Tells `inspect` where a cell's code is from, which otherwise asks every imported module for each traceback."""

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
        name: str = super().cache(transformed_code, number, raw_code)
        inspect.modulesbyfile[name] = "__main__"
        with contextlib.suppress(OSError):  # the folder may be gone
            inspect.modulesbyfile[str(Path(name).absolute())] = "__main__"  # it asks for both
        return name


class _Shell(InteractiveShell):
    """IPython as in a notebook, with its outputs sent over the socket."""

    outputs: Outputs
    compiler_class = Type(_Compiler)

    def init_ipython_dir(self, ipython_dir: Any) -> None:
        """Not before the fork: it makes folders."""

    def init_profile_dir(self, profile_dir: Any) -> None:
        """Likewise."""

    def system(self, cmd: str) -> None:
        """Leaves out a line that begins with `!`, or `%pip`: no answer needs it, and nothing can be installed here."""
        print(f"Not run for a grade: {cmd:.200}")
        self.user_ns["_exit_code"] = 0

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        sys.stdout.flush()
        name = getattr(etype, "__name__", str(etype))
        self.outputs.send({"output_type": "error", "ename": name, "evalue": message_of(evalue), "traceback": list(stb)})


def message_of(error: object) -> str:
    """The exception's text, at most 10,000 characters of it."""
    try:
        text = str(error)[:10_000]
    except Exception:
        return "(an exception whose text cannot be had)"
    text = _REPORT.sub(r"\1: \2: \3", _ANSI.sub("", text))
    # Numba quotes the file name of a cell, which nobody has seen.
    return CELL.sub("your cell", text)


_ready: InteractiveShell | None = None


def prepare() -> None:
    """Makes the shell of all students' processes, in the one that forks them: it takes longer to make than to fork.

    This process itself goes on as if there were none, and so do forks that call no `make_shell`.
    """
    global _ready
    names, main = set(vars(builtins)), sys.modules["__main__"]
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.HistoryManager.hist_file = ":memory:"  # else it is looked for in a profile, which is not there yet
    settings.InteractiveShell.cache_size = 0
    _Shell.display_pub_class = _Publisher
    _Shell.displayhook_class = _Hook
    _Shell.outputs = _Publisher.outputs = _Hook.outputs = Outputs(None)
    _ready = shell = _Shell.instance(config=settings)
    written.register(shell)  # an answer may be a cell that begins with %%writefile
    given = set(shell.user_ns)
    inspect.getmodule(prepare.__code__)  # finds out once which file every module is from
    for code in FIRST_CELLS:
        shell.run_cell(code, store_history=False)
    for name in shell.user_ns.keys() - given:
        del shell.user_ns[name]
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    shell.last_execution_result, shell.last_execution_succeeded = None, True
    _Shell.clear_instance()
    atexit.unregister(shell.atexit_operations)
    sys.modules["__main__"] = main
    for name in vars(builtins).keys() - names:
        delattr(builtins, name)


def make_shell(outputs: Outputs) -> InteractiveShell:
    """The one IPython shell of this process, wired to `outputs`."""
    if _ready is None:
        prepare()
    shell = _ready
    assert shell is not None
    for kind in _Shell._walk_mro():
        kind._instance = shell
    _Shell.outputs = _Publisher.outputs = _Hook.outputs = outputs
    # What it had found out about the process that it was made in.
    InteractiveShell.init_ipython_dir(shell, None)
    InteractiveShell.init_profile_dir(shell, None)
    shell.starting_dir = str(Path.cwd())
    shell.user_ns["_dh"][:] = [shell.starting_dir]
    shell.init_sys_modules()
    shell.init_builtins()
    sys.stdout, sys.stderr = CellStream(outputs, "stdout"), CellStream(outputs, "stderr")
    return shell
