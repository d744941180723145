"""Streams without a GPU: runs everything at once, keeps account of who waits for whom, and stops at a race.

The values are those of the program's order; where a GPU might give others, `race_detector` finds a race. A copy to the
host leaves rubbish there until somebody has waited for it. Times are computed from the rates of datasheets.
Work that is given to no stream takes the host's own time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch.overrides import TorchFunctionMode

from gpulab.streams.race_detector import AccessHistory, Clock, Race, join, overlap, same_storage

APART = (
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (one tensor is on "
    "the GPU, another one is not)"
)
INDEXING = ("__getitem__", "__setitem__")
"""What takes indices from the host for memory of the device."""
TAKING = ("as_tensor", "asarray", "tensor", "new_tensor")
"""What makes a tensor of another one, perhaps on another device."""
WITHOUT_DATA = ("empty", "full", "ones", "rand", "zeros", "new_empty", "new_full", "new_ones", "new_zeros")
"""How the names of functions begin whose results hold nothing of what their arguments hold."""
LINK_GBS = 63.0
"""PCIe 5.0 × 16, each way, by its specification."""
MEMORY_GBS = 4800.0
"""An H200's memory, by its datasheet: what kernels run at."""
ENGINES = {"in": "copy engine, in", "work": "compute", "kernel": "compute", "out": "copy engine, out"}


@dataclass(frozen=True)
class Operation:
    """Something that an engine did, in simulated milliseconds."""

    kind: str
    """`in`, `out`, `work` or `kernel`."""
    start_ms: float
    stop_ms: float
    stream: int
    """Number of the stream that it was in."""


class Tape(Protocol):
    """Writes down what a program asks the simulation to do."""

    def called(self, function: Any, arguments: Any, named: dict[str, Any], result: Any) -> None:
        """A function of torch's has returned."""

    def worked(self, batch: torch.Tensor, rounds: int, result: torch.Tensor) -> None:
        """`gpulab.work` has returned."""

    def noted(self, what: str, *of: Any) -> None:
        """Something was done with these streams and events, by the name of its function here."""


@dataclass(frozen=True, eq=False)
class _Late:
    """A copy to the host that the host has not waited for."""

    target: torch.Tensor
    value: torch.Tensor
    stream: int
    tick: int


class Queue:
    """What the simulation knows about a stream."""

    _made = 0

    def __init__(self) -> None:
        Queue._made += 1
        self.number = Queue._made
        self.clock: Clock = {}
        self.ready_ms = 0.0


Q = TypeVar("Q", bound=Queue)


class Simulation(TorchFunctionMode, Generic[Q]):
    """Sees what torch is asked to do while a stream is current."""

    def __init__(self, default: Q) -> None:
        super().__init__()
        self.default = default
        self.current: list[Q] = []
        self._lasts = False
        """Whether the outermost of them was not chosen for a block."""
        self.host: Clock = {}
        self.host_ms = 0.0
        self.log: list[Operation] | None = None
        self.tape: Tape | None = None
        self._free = dict.fromkeys(ENGINES.values(), 0.0)
        self._history = AccessHistory()
        self._late: list[_Late] = []
        self._last: Clock = {}
        self._last_ms = 0.0

    @property
    def active(self) -> bool:
        """Whether a stream is current."""
        return bool(self.current)

    @property
    def now(self) -> Q:
        """The stream that torch's operations go into."""
        return self.current[-1] if self.current else self.default

    def enter(self, stream: Q) -> None:
        """Makes a stream current until `leave`."""
        self.note("enter", stream)
        self._enter(stream)

    def leave(self) -> None:
        """Makes the stream current that was so before."""
        self._leave()
        self.note("leave")

    def choose(self, stream: Q) -> None:
        """Makes a stream current until another one is chosen, or the block ends: `torch.cuda.set_stream`."""
        self.note("choose", stream)
        if self.current:
            self.current[-1] = stream
        elif stream is not self.default:
            self._enter(stream)
            self._lasts = True
        if self._lasts and self.current == [self.default]:
            self._leave()
            self._lasts = False

    def _enter(self, stream: Q) -> None:
        if not self.current:
            self.__enter__()  # type: ignore[no-untyped-call]
        self.current.append(stream)

    def _leave(self) -> None:
        self.current.pop()
        if not self.current:
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        result = self._carried_out(func, getattr(func, "__name__", ""), args, given)
        if self.tape is not None:
            self.tape.called(func, args, given, result)
        return result

    def on_device(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor lies in the device's memory."""
        return self._history.memory(tensor).on_device

    def given(self, tensor: torch.Tensor) -> None:
        """Says that a tensor lies in the host's memory: what it holds reaches the device by a copy only."""
        memory = self._history.memory(tensor)
        memory.of_host, memory.anywhere = True, False

    def note(self, what: str, *of: Any) -> None:
        """Tells the tape, if there is one."""
        if self.tape is not None:
            self.tape.noted(what, *of)

    def _carried_out(self, func: Any, name: str, args: Any, given: dict[str, Any]) -> Any:
        if name == "copy_":
            blocks = not (given.get("non_blocking") or (len(args) > 2 and args[2]))
            source = args[1] if len(args) > 1 else given.get("src")
            return self._copy(args[0], source, blocks) if isinstance(source, torch.Tensor) else func(*args, **given)
        if name == "__setitem__" and isinstance(args[2], torch.Tensor):
            self._copy(args[0][args[1]], args[2], blocks=True)
            return None
        if name in ("to", "cpu", "cuda"):
            return self._moved(func, args, given)
        if name in TAKING and isinstance(given.get("device"), torch.device):
            data = [*args[name == "new_tensor" :], *(given[key] for key in ("data", "obj") if key in given)]
            if data and isinstance(data[0], torch.Tensor):
                options: dict[str, Any] = {key: given[key] for key in ("device", "dtype") if key in given}
                return self._moved(torch.Tensor.to, (data[0],), options)
        return self._other(func, name, args, given)

    def kernel(self, label: str, batch: torch.Tensor, moved: float, run: Callable[[], Any]) -> Any:
        """See `gpulab.streams.Watcher`."""
        if not self.on_device(batch):  # the host works on what is its own
            with torch._C.DisableTorchFunction():
                return run()
        with torch._C.DisableTorchFunction():
            self._settle([batch])
            result = run()
            self._operation(label, moved / MEMORY_GBS / 1e6, [batch], [result])
        self._history.memory(result).on_device = True
        return result

    def host_waits(self, clock: Clock, at_ms: float) -> None:
        """The host knows from here on that so much is over."""
        join(self.host, clock)
        self.host_ms = max(self.host_ms, at_ms)
        over = [late for late in self._late if self.host.get(late.stream, 0) >= late.tick]
        self._late = [late for late in self._late if late not in over]
        with torch._C.DisableTorchFunction():
            for late in over:
                late.target.copy_(late.value)

    def host_waits_for_all(self) -> None:
        """`torch.cuda.synchronize()`."""
        self.host_waits(self._last, self._last_ms)
        self._history.all_over()

    # ------------------------------------------------------------------------------------- what torch is asked to do

    def _copy(self, target: torch.Tensor, source: torch.Tensor, blocks: bool) -> torch.Tensor:
        there, here = (self._history.memory(one).on_device for one in (source, target))
        out = there and not here
        if not there and not here and not self._history.memory(target).anywhere:
            return self._copied_on_host(target, source)
        self._settle([source, target])
        if there and here:
            self._operation("kernel", 2 * target.nbytes / MEMORY_GBS / 1e6, [source], [target])
            return target.copy_(source.detach())
        self._operation("out" if out else "in", source.nbytes / LINK_GBS / 1e6, [source], [target])
        memory = self._history.memory(target)
        memory.on_device, memory.anywhere = not out, False
        value = source.detach().to(target.dtype).expand(target.shape)
        if blocks or not out:
            target.copy_(value)
        else:
            self._late.append(_Late(target, value.clone(), self.now.number, self.now.clock[self.now.number]))
            target.fill_(_rubbish(target.dtype))
        if blocks:
            self.host_waits(self.now.clock, self.now.ready_ms)
        return target

    def _copied_on_host(self, target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        """The CPU's own copy, from host memory to host memory: it takes what is there, be it too early."""
        try:
            self._history.written_by_host(self.host, target)
        except Race:
            self._forget()
            raise
        memory = self._history.memory(target)
        memory.of_host = memory.of_host or self._history.memory(source).of_host
        return target.copy_(source.detach())

    def _moved(self, func: Any, args: Any, given: dict[str, Any]) -> Any:
        """`.to`, `.cpu`, `.cuda`: a copy between the memories where a device is named, else a kernel.

        A device that `.to` names is the other one: where streams are simulated, both are called "cpu".
        """
        asked = (*args[1:], *given.values())
        alike = [value for value in asked if isinstance(value, torch.Tensor) and self.on_device(value)]
        named: list[Any] = alike or [value for value in asked if isinstance(value, (str, torch.device))]
        source, there = args[0], self.on_device(args[0])
        if (func.__name__ == "cpu" and not there) or (func.__name__ == "to" and not named):
            return self._other(func, func.__name__, args, given)
        kinds = [value for value in asked if isinstance(value, torch.dtype)] or [like.dtype for like in alike]
        target = torch.empty(source.shape, dtype=kinds[0] if kinds else source.dtype, device="cpu")
        return self._copy(target, source, blocks=not (given.get("non_blocking") or True in args[1:]))

    def _other(self, func: Any, name: str, args: Any, given: dict[str, Any]) -> Any:
        """Anything else: a kernel if it works on the device's memory, the host's own business if not."""
        read = list(tensors((args, list(given.values()))))
        if name == "__get__" or not any(self._history.memory(one).on_device for one in read):
            result = func(*args, **given)
            moves = any(self._history.memory(one).of_host for one in read) and not name.startswith(WITHOUT_DATA)
            for one in tensors(result):
                memory = self._history.memory(one)
                memory.of_host = memory.of_host or moves
                if not any(same_storage(one, other) for other in read):
                    memory.anywhere = given.get("device") == "cpu"
                if isinstance(given.get("device"), torch.device):  # from `gpulab.device()`, and not "cpu"
                    if moves:  # lists of the host's tensors
                        raise RuntimeError(f"{name} of several tensors: copy each one to the device by .to")
                    memory.on_device = True
            return result
        self._settle(read)
        result = func(*args, **given)
        written = [one for one in tensors(result) if not any(same_storage(one, other) for other in read)]
        if name.endswith("_") and not name.endswith("__"):
            written = [args[0]]
        elif name == "__setitem__":
            written = [args[0][args[1]]]
        elif "out" in given:
            written = [given["out"]]
        if written:
            mixed = any(one.dim() and self._history.memory(one).of_host for one in read)
            if mixed and not (name in INDEXING and self.on_device(args[0])):
                raise RuntimeError(APART)
            moved = sum(one.nbytes for one in (*read, *written))
            self._operation("kernel", moved / MEMORY_GBS / 1e6, read, written)
            for one in written:
                self._history.memory(one).on_device = True
        elif name in ("item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__"):
            self.note("synchronize", self.now)
            self.host_waits(self.now.clock, self.now.ready_ms)
        return result

    # ------------------------------------------------------------------------------------------------ book-keeping

    def _operation(self, kind: str, lasts_ms: float, read: list[torch.Tensor], written: list[torch.Tensor]) -> None:
        now, engine = self.now, ENGINES[kind]
        join(now.clock, self.host)
        before = dict(now.clock)
        now.clock[now.number] = before.get(now.number, 0) + 1
        try:
            self._history.enter(kind, now.number, now.clock[now.number], before, read, written)
        except Race:
            self._forget()
            raise
        start = max(now.ready_ms, self.host_ms, self._free[engine])
        now.ready_ms = self._free[engine] = start + lasts_ms
        join(self._last, now.clock)
        self._last_ms = max(self._last_ms, now.ready_ms)
        if self.log is not None:
            self.log.append(Operation(kind, start, now.ready_ms, now.number))

    def _forget(self) -> None:
        """Ends what a program with a race has begun."""
        self._history.forget()
        self._late = []

    def _settle(self, tensors: list[torch.Tensor]) -> None:
        """Lets late copies arrive where an operation looks next; whether it may is for the history to say."""
        mine = [late for late in self._late if any(overlap(late.target, one) for one in tensors)]
        self._late = [late for late in self._late if late not in mine]
        for late in mine:
            late.target.copy_(late.value)


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in an argument or a result."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors(one)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from tensors(one)


def _rubbish(dtype: torch.dtype) -> float | int | bool:
    if dtype.is_floating_point or dtype.is_complex:
        return float("nan")
    return True if dtype == torch.bool else torch.iinfo(dtype).min
