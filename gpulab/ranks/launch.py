"""Runs a script, or a function, as several ranks: one process each, with a time limit, and none left afterwards.

`script` does what `torchrun` does on one machine, sooner and with better news: the environment that `env://` reads, a
free port, output and exit code of every rank, and of a rank that hangs the line that it hangs in. `ranks` sends a
function of the notebook to processes of its own and brings the results back. The processes themselves are the business
of `ranks.processes`; a judge's `gpulab.backend` runs scripts in another process.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpulab.backend import current
from gpulab.check.services import require
from gpulab.ranks import called, files, forks, messages, processes, seals
from gpulab.ranks.messages import Sent

SECONDS = 60.0


GLOO = {
    r"op\.preamble\.length <= op\.nbytes\. (\d+) vs (\d+)": (
        "A message of {} bytes arrived where {} were expected: are both tensors of the same length and type? "
        "Are these the sender and the tensor that this receiver expects?"
    ),
    r"[^\n]*Check failed: outputShape\[0\] \* worldSize == inputShape\[0\] \((\d+) vs\. (\d+)\)": (
        "reduce_scatter: all ranks' shares together have {} elements, the tensor that is divided has {}. "
        "Pad it to a multiple of world_size, and give each rank's share its length divided by world_size."
    ),
    r"gloo/transport/[^\n]*(?:Connection closed by peer|Connection reset by peer|Broken pipe)": (
        "The connection to another rank broke: that rank has ended."
    ),
}
"""What gloo says, as a pattern → the same in other words. The first one that is found counts."""
EXCEPTION = r"(\w+\.)*\w*(Error|Exception|Interrupt|Exit)(: |$)"
"""How the last part of a traceback begins."""
DUMPED = (
    r'Extension modules:|(Current thread|Thread) 0x\w+|\s*File "[^"]+", line \d+ in |\s*<no Python frame>'
    r"|\[[WI]\d{4} .*\[c10d\]"
)
"""What faulthandler writes, and what torch warns of when a connection ends."""
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+))?')
"""A frame in a traceback."""


def of_gloo(text: str) -> str:
    """What gloo says somewhere in a text, in other words; empty if nothing."""
    found = ((re.search(pattern, text), words) for pattern, words in GLOO.items())
    return next((words.format(*one.groups()) for one, words in found if one), "")


def place(lines: Sequence[str]) -> str:
    """Of a traceback: the innermost line of the script, such as " (line 3)", or of a function that ranks were sent,
    such as " (line 3 of block())"; "" where nothing says so."""
    for at in reversed(range(len(lines))):
        frame = FRAME.search(lines[at])
        if frame and processes.of_a_cell(frame["file"]):
            return f" (line {frame['line']} of {frame['function']}())"
        calls = lines[at + 1 : at + 2] and lines[at + 1].strip().startswith(processes.CALL)
        if frame and Path(frame["file"]).name == "script.py" and not calls:
            return f" (line {frame['line']})"
    return ""


@dataclass(frozen=True)
class Rank:
    """How one process ended."""

    rank: int
    exit_code: int | None
    """None: it had to be stopped. Negative: the signal that ended it."""
    output: str
    """What it printed, stderr included; the end of it if it was very much."""
    waits_in: str = ""
    """For a rank that hung: the line of the script, or of the function, that it hung in."""
    left: Mapping[str, Any] = field(default_factory=dict)
    """What it left in its folder, where it had one of its own: see `gpulab.ranks.files`."""

    @property
    def last_line(self) -> str:
        """Of its output; where it failed, all lines of its exception, or what gloo said, in other words."""
        lines = [line.rstrip() for line in self.output.splitlines() if line.strip()]
        lines = [line for line in lines if not re.match(DUMPED, line)]
        if not lines:
            return "(it printed nothing)"
        raised = len(lines) - 1
        if self.exit_code != 0:
            if said := of_gloo(self.output):
                return said
            raised = max((at for at, line in enumerate(lines) if re.match(EXCEPTION, line)), default=raised)
            return " ".join(line.strip() for line in lines[raised:]) + place(lines[:raised])
        return lines[raised].strip()


@dataclass(frozen=True)
class Run:
    """How all ranks ended."""

    ranks: tuple[Rank, ...]
    seconds: float
    problem: str = ""
    """One sentence on what went wrong; empty when every rank ended with 0."""
    crossed_bytes: int | None = None
    """What went over this machine's own network meanwhile, headers included; None where nobody counts."""

    def check(self) -> Run:
        """This run, if nothing went wrong.

        Raises:
            LaunchError: with the problem, and the end of what each rank printed.
        """
        if not self.problem:
            return self
        told = [f"rank {one.rank}: {textwrap.shorten(one.last_line, 300)}" for one in self.ranks]
        raise LaunchError("\n".join([self.problem, *told]))


class LaunchError(RuntimeError):
    """Ranks that did not all end well."""


@dataclass(frozen=True)
class Job:
    """What `script` was asked for."""

    source: str
    world_size: int
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    own: tuple[Mapping[str, str], ...]
    apart: bool
    seconds: float


def script(
    source: str,
    world_size: int = 2,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    own: Sequence[Mapping[str, str]] = (),
    folder: Path | None = None,
    apart: bool = False,
    seconds: float = SECONDS,
) -> Run:
    """Runs a program as `world_size` ranks on this machine.

    With as many GPUs as ranks each sees all of them (and takes number LOCAL_RANK); with fewer they see none.

    Args:
        source: text of the program.
        world_size: how many processes.
        arguments: of its command line.
        environment: added to what `torchrun` sets: RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR,
            MASTER_PORT.
        own: what single ranks, from rank 0 on, find in their environment besides that, or instead of it; RANK stays.
        folder: where it runs; one of its own, gone afterwards, when left out.
        apart: start every rank in a folder of its own, as if each had a machine to itself; what it leaves there comes
            back in `Rank.left`.
        seconds: wall time for all of them.

    Raises:
        TypeError: `source` is no text.
        ValueError: `world_size` is not positive, or ranks that are apart were given one folder.
    """
    require("scripts")
    if not isinstance(source, str):
        raise TypeError(f"the script is of type {type(source).__name__}: a str is expected")
    if world_size < 1:
        raise ValueError(f"world_size = {world_size}: at least one rank is needed")
    backend = current()
    if folder is not None and (apart or backend.script is not None):
        raise ValueError("these ranks have folders of their own: leave `folder` out")
    around = dict(environment or {}), tuple(map(dict, own))
    job = Job(source, world_size, tuple(arguments), *around, apart, min(seconds, backend.launch_seconds))
    ran: Run = backend.script(job) if backend.script is not None else run(job, folder)
    return ran


def run(job: Job, folder: Path | None = None) -> Run:
    """Runs a job with processes of this one: `script`, without the detour over a judge."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a "\d" in the script: its own interpreter tells
            compile(job.source, "<script>", "exec")
    except SyntaxError as error:
        return Run((), 0.0, f"The script is not valid Python: line {error.lineno}: {error.msg}.")
    except (ValueError, RecursionError, MemoryError) as error:
        return Run((), 0.0, f"The script is not valid Python: {error}.")
    with tempfile.TemporaryDirectory(prefix="gpulab-ranks-", ignore_cleanup_errors=True) as name:
        program = Path(name) / "script.py"
        program.write_text(job.source, encoding="utf-8")
        folders = [folder or Path(name)] * job.world_size
        if job.apart:
            folders = [Path(name) / f"rank{rank}" for rank in range(job.world_size)]
            for one in folders:
                one.mkdir()
        own = [*job.own, *[{}] * job.world_size][: job.world_size]
        surroundings = [{**job.environment, **one} for one in own]
        before = _loopback_bytes()
        ended = processes.run_ranks(program, job.arguments, surroundings, folders, job.seconds)
        if "address already in use" in "".join(ended.outputs).lower():
            # Between our look for a free port and rank 0's taking it, somebody else did.
            ended = processes.run_ranks(program, job.arguments, surroundings, folders, job.seconds)
        found = tuple(
            Rank(rank, code, output, waits_in, files.read(folders[rank]) if job.apart else {})
            for rank, (code, output, waits_in) in enumerate(
                zip(ended.exit_codes, ended.outputs, ended.waits_in, strict=True)
            )
        )
        waiting = [f"rank {one.rank} in {one.waits_in}" for one in found if one.waits_in]
        told = f"{ended.problem} Waiting: {'; '.join(waiting)}." if ended.problem and waiting else ended.problem
        return Run(found, ended.seconds, told, _since(before))


def ranks(function: Callable[..., Any], inputs: Sequence[Sequence[Any]], *, seconds: float = SECONDS) -> list[Any]:
    """What `function(rank, world_size, *inputs[rank])` returns on every rank, each a process in one gloo group.

    Inside, `torch.distributed` is ready: `dist.send`, `dist.recv`, `dist.all_reduce` work at once.

    Args:
        function: may be one typed in a notebook; it is sent with what it needs.
        inputs: further arguments for each rank; their number is the world size.
        seconds: wall time for all of them.

    Raises:
        LaunchError: a rank raised, ended, or did not end in time; with the line that it waited in.
    """
    import cloudpickle

    from gpulab.ranks import packing

    if not inputs:
        raise ValueError("no inputs: at least one rank is needed")
    backend = current()
    packed = tuple(packing.packed((function, tuple(given))) for given in inputs)
    words = forks.named(cloudpickle.dumps(function).decode("ascii", "replace"))
    call = RankCall(packed, tuple(words), min(seconds, backend.launch_seconds))
    if backend.ranks is not None:  # where the judge hears them
        run, returned = backend.ranks(call)
        run.check()
    else:
        _, perturb, scale = _heard[-1] if _heard else ([], 0.0, 1.0)
        keys = [seals.key() for _ in inputs]
        ended = run_function(call, perturb, keys, scale)
        returned = ended.check()
        for heard, *_ in _heard:
            heard.extend(ended.heard())
    return [cloudpickle.loads(one) for one in returned]


@dataclass(frozen=True)
class RankCall:
    """What `ranks` was asked for."""

    given: tuple[bytes, ...]
    """The function and its arguments, pickled for each rank."""
    words: tuple[str, ...]
    """Those of `forks.IF_NAMED` in the function."""
    seconds: float


@dataclass(frozen=True)
class Called:
    """What became of a call."""

    run: Run
    returned: tuple[bytes, ...]
    """What the function returned on each rank, pickled by the rank."""
    reports: tuple[str, ...]
    """What each rank has sent, sealed: see `called`."""

    def problem(self) -> str:
        """What went wrong, with the ranks or with their reports."""
        early = [str(rank) for rank, report in enumerate(self.reports) if not seals.opened(report)]
        if self.run.problem or not early:
            return self.run.problem
        return f"Rank {early[0]} ended before its function had returned."

    def check(self) -> tuple[bytes, ...]:
        """What the function returned, if nothing went wrong.

        Raises:
            LaunchError: something did.
        """
        replace(self.run, problem=self.problem()).check()
        return self.returned

    def heard(self) -> list[Sent]:
        """What each rank has sent; only where nothing went wrong."""
        return [json.loads(seals.opened(report)["sent"]) for report in self.reports]


def run_function(call: RankCall, perturb: float, keys: Sequence[Mapping[str, str]], scale: float = 1.0) -> Called:
    """Runs a function as ranks that are processes of this one: `ranks`, without the detour over a judge.

    Args:
        call: the function and its arguments.
        perturb: what each rank adds to what it sends comes from this number, as `messages.addend` says; 0 for nothing.
        keys: for the report of each rank, as `seals.key` gives them.
        scale: the key of what each number that a rank is given is multiplied by (`packing.multiplied`); 1 for nothing.
    """
    world_size = len(call.given)
    with tempfile.TemporaryDirectory(prefix="gpulab-ranks-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for rank, packed in enumerate(call.given):
            (folder / f"{rank}.{called.GIVEN}").write_bytes(packed)
        source = f"{called.PROGRAM}# The function's: {', '.join(call.words)}\n"
        own = [
            {**key, called.PERTURB: repr(messages.addend(perturb, rank)), called.SCALE: repr(scale)}
            for rank, key in enumerate(keys)
        ]
        ended = run(Job(source, world_size, (), {}, tuple(own), False, call.seconds), folder)
        returned, reports = (
            [files.content(folder / f"{rank}.{kind}") for rank in range(world_size)]
            for kind in (called.RETURNED, called.REPORT)
        )
    return Called(ended, tuple(returned), tuple(one.decode("utf-8", "replace") for one in reports))


# ------------------------------------------------------------------------------------------------------ who listens

_heard: list[tuple[list[Sent], float, float]] = []
"""Where it goes, what is added to it, and the key of what the numbers that ranks are given are multiplied by."""


@contextmanager
def listening(perturb: float = 0.0, scale: float = 1.0) -> Iterator[list[Sent]]:
    """What the ranks that `ranks` starts in the block send: one dict for each, in order, complete at the block's end.

    With `perturb`, a secret number, rank r adds `messages.addend(perturb, r)` to what it puts into an all-reduce, a
    reduce-scatter, or an all-gather, and `messages.addends` of that number to its first message, so that a result shows
    whether it was computed from what arrived; see `gpulab.ranks.messages`, also for the keys of the dicts. With
    `scale`, the numbers in the arrays, tensors and lists that a rank is given are multiplied, each by a number of its
    own that depends on it and on `scale` (`packing.multiplied`), so that a result shows whether the ranks computed it.
    If there were none, but other processes that the block started: one dict with `unseen_seconds`, the CPU time that
    those took, and `unseen_bytes`, what went over this machine's own network meanwhile (None where nobody counts).
    """
    require("listening")
    listener = current().listening
    if listener is not None:
        found: list[Sent] = []
        with listener(perturb, scale) as everything:
            yield found
        found.extend(one for one in everything if "messages" in one)
        return
    found = []
    _heard.append((found, perturb, scale))
    before, bytes_before = _seconds_of_children(), _loopback_bytes()
    try:
        yield found
    finally:
        _heard[:] = [one for one in _heard if one[0] is not found]
        unseen = _seconds_of_children() - before
        if not found and unseen > LEAST_UNSEEN_SECONDS:
            found.append({**messages.nothing(), "unseen_seconds": unseen, "unseen_bytes": _since(bytes_before)})


LEAST_UNSEEN_SECONDS = 0.001
"""Of CPU time: no two processes have found each other in less."""


def _seconds_of_children() -> float:
    if sys.platform == "win32":  # there are no ranks
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _loopback_bytes() -> int | None:
    """What has gone over the loopback network that this process sees, headers included; Linux counts it."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/net/dev").read_text().splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == "lo":
                return int(numbers.split()[0])
    return None


def _since(before: int | None) -> int | None:
    after = _loopback_bytes()
    return None if before is None or after is None else after - before
