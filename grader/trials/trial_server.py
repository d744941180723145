"""The process that grades an answer in a fork: no confinement, no second process, no files; the judge's own rules.

It is for answers of the course's own bank and for mutants of them, which nobody wrote to harm. The given cells of a
chapter have run once, before the first fork, so that a trial costs milliseconds. A line of JSON comes in for each
trial, a line of JSON goes out.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import io
import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpulab import cuda_cpp
from gpulab.backend import NOTEBOOK_SEED, Backend, current, use
from gpulab.forkserver.importing import import_all, without_prompts
from gpulab.ranks import forks, lightning_name
from grader.judging import student
from grader.judging.cell_code import compiled
from grader.judging.judge import run_cell
from grader.judging.judge_client import Link, TooSlow
from grader.judging.scripts import FUNCTION_SECONDS
from grader.judging.shell import Outputs, make_shell, message_of
from grader.model.needs import Need
from grader.model.results import Verdict, exercise_of
from grader.model.syntax import syntax_tree
from grader.processes import wire
from grader.processes.channel import Channel
from grader.processes.fork_server import EXERCISES
from grader.sandbox import kernel
from grader.trials import clean, hidden_part

MEMORY_BYTES = 12_000_000_000
"""A trial may map so much more than the fork server has. Importing torch maps most of it."""
MAX_REPLY = 600_000
RANKS = ("optim", "checkpoint", "DTensor", "fully_shard")
"""Of `forks.IF_NAMED`: for the ranks of exercises that start some, which are forks of their trial."""
LAUNCH_SECONDS = 3.0
"""A kernel in CUDA C++ may run in a trial: three times what any that ends needs. A judge is more patient."""
IMPORTED = "imported.txt"
"""Where a trial leaves the names of the modules that it imported, in its own folder."""


def _uncounted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, unseen by those who count PyTorch's operators: in a judge it runs in another process."""

    def unseen(*arguments: Any, **options: Any) -> Any:
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes():
            return function(*arguments, **options)

    return unseen


class _Hidden:
    """Finds no module of the judge's."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == EXERCISES or name.startswith(f"{EXERCISES}."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@contextlib.contextmanager
def _without_exercises() -> Iterator[None]:
    """Inside, an answer can import the judge's own modules no more than in a student's process."""
    names = [name for name in sys.modules if name == EXERCISES or name.startswith(f"{EXERCISES}.")]
    kept = {name: sys.modules.pop(name) for name in names}
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)
        sys.modules.update(kept)


class Direct(Link):
    """A link to a notebook in this very process: values are encoded and decoded as on their way to the judge.

    What the judge asks of a clean process is asked of one here, too.
    """

    server: student.Server

    def ask(
        self,
        request: dict[str, Any],
        buffers: list[wire.Buffer] | None = None,
        channel: Channel | None = None,
        seconds: float | None = None,
    ) -> tuple[dict[str, Any], list[Any]]:
        """The answer to one request."""
        if self.clean is not None and (self.launches is not None or self.machine is not None):
            return super().ask(request, buffers, channel, seconds)
        whole = {**request, "max_bytes": self.max_bytes}
        # What a test must declare is not the answer's business, and neither is the seed.
        usual = replace(current(), services=None, seed=NOTEBOOK_SEED, launch_seconds=FUNCTION_SECONDS)
        silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with use(usual), silent[0], silent[1], _without_exercises():
            answer, out = self.server.answer(whole, [bytearray(buffer) for buffer in buffers or []])
        return json.loads(json.dumps(answer)), [bytearray(buffer) for buffer in out]


@dataclass
class _Running:
    """A fork at work."""

    number: int
    pid: int
    pipe: int
    seeds: int
    seconds: float
    until: float
    folder: str
    imports: bool
    reply: bytearray = field(default_factory=bytearray)


class Zygote:
    """Forks trials, some at a time, and passes on what they say."""

    def __init__(self, setting: dict[str, Any], requests: int, replies: int) -> None:
        self._setting, self._requests, self._replies = setting, requests, replies
        self._waiting: list[dict[str, Any]] = []
        self._running: dict[int, _Running] = {}
        self._unread = b""
        cuda_cpp.LONGEST_S = LAUNCH_SECONDS
        self._shell = make_shell(Outputs(None))
        lightning_name.install()
        with without_prompts():
            for source in setting["given"]:
                self._shell.run_cell(source, store_history=False)
            for test in setting["tests"]:
                _import_for(test["source"])
        for test in setting["tests"]:
            test["source"] = hidden_part.marked(test["source"])
            compiled(test["source"])  # once, for all forks
            if Need.VIRTUAL_GPU in test["needs"]:
                _import_for("import gpulab.virtual_gpu.installing")
        if any("launch" in source for source in [*setting["given"], *(test["source"] for test in setting["tests"])]):
            import_all([*forks.AT_ONCE, *(module for name in RANKS for module in forks.IF_NAMED[name])])
        self._settle()

    def _settle(self) -> None:
        """Called after imports."""
        if "torch" in sys.modules and wire.encode.__name__ != "unseen":
            wire.encode, wire.decode = _uncounted(wire.encode), _uncounted(wire.decode)
        gc.collect()
        gc.freeze()  # else a collection in a fork copies every page that it looks at
        kernel.use_huge_pages()

    def serve(self) -> None:
        """Returns when all requests are answered and there will be no more."""
        more = True
        while more or self._waiting or self._running:
            while self._waiting and len(self._running) < self._setting["jobs"]:
                self._start(self._waiting.pop(0))
            soonest = min((one.until for one in self._running.values()), default=time.monotonic() + 3600)
            watched = [*self._running, *([self._requests] if more else [])]
            ready, _, _ = select.select(watched, [], [], max(0.0, soonest - time.monotonic()))
            for pipe in ready:
                if pipe == self._requests:
                    more = self._read()
                elif chunk := os.read(pipe, 65_536):
                    self._running[pipe].reply += chunk
                else:
                    self._end(self._running[pipe])
            for late in [one for one in self._running.values() if one.until <= time.monotonic()]:
                self._end(late, TooSlow(f"no answer within {late.seconds:g} s"))

    def _read(self) -> bool:
        chunk = os.read(self._requests, 1_000_000)
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        self._waiting += [json.loads(line) for line in lines]
        return bool(chunk)

    def _start(self, request: dict[str, Any]) -> None:
        reading, writing = os.pipe()
        folder = tempfile.mkdtemp(prefix="grader-trial-")
        pid = os.fork()
        if not pid:
            os.setpgid(0, 0)
            os.close(reading)
            os.chdir(folder)
            try:
                _limit_memory()
                before = set(sys.modules)
                os.write(writing, json.dumps(self._trial(request)).encode()[:MAX_REPLY])
                if request["imports"]:
                    of_ranks = [one for name in forks.named(request["source"]) for one in forks.IF_NAMED[name]]
                    new = [name for name in sys.modules if name not in before]
                    Path(IMPORTED).write_text("\n".join(new + of_ranks))
            finally:
                os._exit(0)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        os.close(writing)
        seconds = request["seconds"]
        until = time.monotonic() + seconds * len(request["seeds"])
        self._running[reading] = _Running(
            request["number"], pid, reading, len(request["seeds"]), seconds, until, folder, request["imports"]
        )

    def _end(self, one: _Running, late: TooSlow | None = None) -> None:
        del self._running[one.pipe]
        os.close(one.pipe)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)  # and the ranks that it has started
        os.waitpid(one.pid, 0)
        if one.imports:
            _import_late(Path(one.folder) / IMPORTED)
            self._settle()
        shutil.rmtree(one.folder, ignore_errors=True)
        found = []
        if not late:
            with contextlib.suppress(ValueError):
                found = json.loads(one.reply)
        if not found:
            verdict, message = (Verdict.TIMED_OUT, late.told()) if late else (Verdict.CRASHED, "")
            found = [[[test["name"], verdict.value, 0.0, message] for test in self._setting["tests"]]] * one.seeds
        os.write(self._replies, json.dumps([one.number, found]).encode() + b"\n")

    def _trial(self, request: dict[str, Any]) -> list[list[list[Any]]]:
        """For each seed the name, verdict, points and message of each test of the answer."""
        server = student.Server(None, self._shell, Outputs(None))
        silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with silent[0], silent[1], _without_exercises():
            answer = [*filter(None, (request["before"],)), request["source"]]
            apart = {test["name"]: self._clean(test, answer) for test in self._setting["tests"]}
            for code in answer:
                ran = self._shell.run_cell(code, store_history=False)
        failure = ran.error_before_exec or ran.error_in_exec
        found: list[list[list[Any]]] = []
        for number, seeds in enumerate(request["seeds"]):
            others = () if number else request["seeds"][1:]
            outcomes, drawn = self._tested(server, apart, failure, request["seconds"], seeds, others)
            found += outcomes
            if not drawn or len(outcomes) > 1:  # no test got to its random inputs, so other seeds change nothing
                break
        return found + found[-1:] * (len(request["seeds"]) - len(found))

    def _tested(
        self,
        server: student.Server,
        apart: dict[str, Channel | None],
        failure: BaseException | None,
        seconds: float,
        seeds: dict[str, int],
        others: Sequence[dict[str, int]],
    ) -> tuple[list[list[list[Any]]], bool]:
        """Name, verdict, points and message of each test of an answer whose cell has run; whether any read its seed.

        With a single test that does not read it before its hidden part, also those of the `others`, in their order.
        """
        found, drawn = [], False
        single = len(self._setting["tests"]) == 1
        for test in self._setting["tests"]:
            name = test["name"]
            link = Direct(None, apart[name], seconds, time.monotonic() + seconds, 1_000_000_000)  # type: ignore[arg-type]
            link.server = server
            random.seed(seeds[name])
            state, backend = random.getstate(), _backend(seeds[name], frozenset(test["needs"]), link)

            def begin(seed: int | None, link: Direct = link, backend: _Watched = backend) -> None:
                link.deadline = time.monotonic() + seconds
                if seed is not None:
                    link.server = student.Server(None, self._shell, Outputs(None))  # one ends in forks of its process
                    random.seed(seed)
                    object.__setattr__(backend, "seed", seed)

            def alike(backend: _Watched = backend, state: Any = state) -> bool:
                return not backend.read and random.getstate() == state

            forks_at = hidden_part.Forks([one[name] for one in others] if single else [], begin, alike)
            with use(backend), forks_at:
                judged = run_cell(compiled(test["source"]), self._setting["exercises"], link, test["possible"])
            drawn |= backend.read or random.getstate() != state
            verdict, message = judged.verdict, judged.message
            if verdict is Verdict.NOT_ATTEMPTED:  # an answer of the bank is an attempt, as in a session
                verdict = Verdict.FAILED
                if failure:
                    how = f"{type(failure).__name__}: {message_of(failure)}"[:500]
                    message = f"`{exercise_of(name)}` is not defined: its cell ended with {how}"
            earned = {"passed": test["possible"], "partial": judged.share or 0.0}.get(verdict.value, 0.0)
            found.append([name, verdict.value, earned, message])
            if forks_at.is_fork:
                forks_at.send(json.dumps(found).encode())
        crashed = [[test["name"], Verdict.CRASHED.value, 0.0, ""] for test in self._setting["tests"]]
        return [found, *(json.loads(reply) if reply else crashed for reply in forks_at.replies)], drawn

    def _clean(self, test: dict[str, Any], answer: list[str]) -> Channel | None:
        """To a process that has run the answer where the test wants it to, if the judge has one for such a test."""
        if not clean.NEEDS & set(test["needs"]):
            return None
        simulated = Need.VIRTUAL_GPU in test["needs"]
        # On a simulated GPU from the first cell on, since any may import a clock or choose a device.
        cells = [*self._setting["given"], *answer] if simulated else answer
        return clean.fork(self._shell, cells, simulated)


class _Watched(Backend):
    """A backend that knows whether its seed was read."""

    read = False

    def __getattribute__(self, name: str) -> Any:
        if name == "seed":
            object.__setattr__(self, "read", True)  # a backend is frozen
        return super().__getattribute__(name)


def _backend(seed: int, needs: frozenset[str], link: Link) -> _Watched:
    """What a test cell asks of this process; what needs a clean process goes there."""
    return _Watched(
        seed=seed,
        services=needs,
        start_rank=forks.start_here,  # as in a session
        timeline=(lambda: link.counting("timeline")) if Need.TIMELINE in needs else None,
        measuring=link.measuring if link.clean else None,
    )


def _import_for(source: str) -> None:
    """What a test imports, so that not every fork has to."""
    for node in ast.walk(syntax_tree(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            with contextlib.suppress(ImportError):
                exec(compile(ast.Module([node], []), "<imports>", "exec"), {})


def _import_late(names: Path) -> None:
    """What a trial imported while it ran: PyTorch alone takes longer than most trials."""
    with contextlib.suppress(OSError):
        for name in names.read_text().splitlines():
            # A module of the trial's own is not there, and some of PyTorch's names are no modules.
            with contextlib.suppress(Exception), without_prompts():
                importlib.import_module(name)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    """Serves standard input until it is closed; replies go to standard output, and nothing else does."""
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    first = b""
    while not first.endswith(b"\n"):
        first += os.read(requests, 1)
    sys.path.insert(0, "")
    Zygote(json.loads(first), requests, replies).serve()


if __name__ == "__main__":
    main()
