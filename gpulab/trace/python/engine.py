"""Runs the threads of a launch one after another, each in a greenlet that it leaves only at a barrier.

Blocks run in order, threads of a block in order up to the next barrier: deterministic, and one of the orders that a
GPU may choose. A worker greenlet runs thread after thread; only where one stops at a barrier, another worker takes
over, so that a kernel without barriers needs one worker and a block of 256 threads with barriers 256, used again for
every block.
"""

from __future__ import annotations

import contextvars
import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from sys import _getframe
from types import CodeType, FunctionType
from typing import Any, NoReturn

import numpy as np
from greenlet import getcurrent, greenlet

from gpulab.trace.errors import Index, TraceError, UnsupportedError
from gpulab.trace.log import Log
from gpulab.trace.python.loops import Loops
from gpulab.trace.python.places import SourcePlace, kernel_frame, place_of, place_raised
from gpulab.trace.python.threads import Exchange, Thread, Wait, released, threads_of

ENTRIES_KEPT = 1_000_000
"""Log entries (four for each access) held as Python objects before they are packed."""


_AS_ONE_NUMBER = (
    "add radd sub rsub mul rmul floordiv rfloordiv truediv rtruediv mod rmod lshift rlshift rshift rrshift and rand "
    "eq ne lt le gt ge index int float neg bool getitem iter"
)


class Dim3:
    """x, y and z, as kernels read them from `cuda.threadIdx` and its like: no number to compute with.

    Args:
        name: of the attribute of `cuda`.
        index: the three numbers.
    """

    __slots__ = ("name", "x", "y", "z")
    __array_ufunc__ = None  # a NumPy scalar leaves the operation to this class

    def __init__(self, name: str, index: Index) -> None:
        self.name = name
        self.x, self.y, self.z = index

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        self._refuse()

    def _refuse(self, *_: Any) -> NoReturn:
        place = place_of(kernel_frame())
        what = f"cuda.{self.name} is three numbers ({place})"
        raise UnsupportedError(f"{what}. Write cuda.{self.name}.x, or .y, or .z.", place.line)


for _operation in _AS_ONE_NUMBER.split():
    setattr(Dim3, f"__{_operation}__", Dim3._refuse)


@dataclass(frozen=True)
class OwnUnwritten:
    """A read of a thread's own array where nothing was written to."""

    array: str
    index: tuple[int, ...]
    place: int
    block: Index
    thread: Index


class Engine:
    """One launch: its shape, its log, and the thread that is running.

    Args:
        grid: blocks along x, y and z.
        block: threads along x, y and z.
        log: that the memory of the kernel writes to.
    """

    def __init__(self, grid: Index, block: Index, log: Log) -> None:
        self.grid, self.block, self.log = grid, block, log
        self.thread_index, self.block_index = Dim3("threadIdx", (0, 0, 0)), Dim3("blockIdx", (0, 0, 0))
        self.grid_shape, self.block_shape = Dim3("gridDim", grid), Dim3("blockDim", block)
        self.threads = threads_of(block)
        self.current = self.threads[0]
        self.barriers = self.most_barriers = 0
        self.threads_ended = 0
        self.loops = Loops(log)
        self.unwritten: dict[tuple[int, str], OwnUnwritten] = {}
        """By place and array."""
        self.codes: Collection[CodeType] = ()
        """Of the kernel and its device functions."""
        self._block_number = 0
        self._pending: list[Thread] = []
        self._idle: list[greenlet] = []
        self._workers: list[greenlet] = []
        self._hub = getcurrent()
        self._plain_waits: dict[int, Wait] = {}

    def run(
        self,
        function: FunctionType,
        arguments: Sequence[Any],
        before_block: Callable[[], None],
        after_block: Callable[[], None],
    ) -> None:
        """Runs every thread of every block.

        Args:
            function: the kernel.
            arguments: what each thread calls it with.
            before_block: called before the first thread of each block starts.
            after_block: called when the last one has ended.

        Raises:
            TraceError: the kernel did what a GPU does not allow.
        """
        self._hub = getcurrent()
        self._function, self._arguments = function, tuple(arguments)
        with np.errstate(all="ignore"):  # a GPU does not warn either
            self._context = contextvars.copy_context()
            try:
                for number, (z, y, x) in enumerate(itertools.product(*map(range, reversed(self.grid)))):
                    before_block()
                    self._run_block(number, (x, y, z))
                    after_block()
            finally:
                for worker in self._workers:
                    worker.throw()  # ends it, with everything that it still holds

    def _run_block(self, number: int, index: Index) -> None:
        self._block_number = number
        self.log.block = index
        self.block_index.x, self.block_index.y, self.block_index.z = index
        for thread in self.threads:
            thread.renew()
        self._pending = self.threads[::-1]
        self.barriers = 0
        ready: list[Thread] = []
        while True:
            for thread in ready:
                self._start(thread)
                thread.worker.switch()
            while self._pending:
                self._free_worker().switch()
            if all(thread.wait is None for thread in self.threads):
                break
            ready, whole_block = released(self.threads, index, self.log.places)
            self.barriers += whole_block
        self.most_barriers = max(self.most_barriers, self.barriers)

    def _free_worker(self) -> greenlet:
        if self._idle:
            return self._idle.pop()
        worker = greenlet(self._work)
        # All share one context: a greenlet of its own would start with NumPy's default, which is to warn.
        worker.gr_context = self._context
        self._workers.append(worker)
        return worker

    def _work(self) -> None:
        """The life of a worker: one thread after another, then idle until there is a new block."""
        function, arguments, me = self._function, self._arguments, getcurrent()
        while True:
            while self._pending:
                thread = self._pending.pop()
                thread.worker = me
                self._start(thread)
                if function(*arguments) is not None:
                    line = function.__code__.co_firstlineno
                    what = f"Kernel '{function.__name__}' (line {line}) returns a value. A kernel returns nothing"
                    remedy = "it writes its results into an array that it is given."
                    raise TraceError(f"{what}: {remedy}", line, thread.index, self.log.block)
                self.threads_ended += 1
            self._idle.append(me)
            self._hub.switch()

    def _start(self, thread: Thread) -> None:
        """From here on it is this thread that runs."""
        log, index = self.log, self.thread_index
        if len(log.entries) > ENTRIES_KEPT:
            log.compact()
        self.current = thread
        log.thread = thread.index
        index.x, index.y, index.z = thread.index
        log.stretches += (
            log.waiting,
            self._block_number,
            thread.number,
            self.barriers,
            thread.gathered,
            thread.ordered,
        )
        log.enter(thread.turn)
        self.loops.entries = thread.loop_entries

    def place_raised(self, error: BaseException) -> SourcePlace | None:
        """The line of the kernel, or of a device function, in which an exception was raised."""
        return place_raised(error, self.codes)

    def barrier(self) -> None:
        """Stops the running thread until all of the block are there: `meet` without an exchange, and quick."""
        thread = self.current
        site = self.log.places.number_at(_getframe(2))
        wait = self._plain_waits.get(site)
        if wait is None:
            wait = self._plain_waits[site] = Wait("syncthreads()", site, None, None, None)
        thread.wait, thread.turn = wait, self.log.turn
        self._hub.switch()

    def meet(
        self, call: str, mask: int | None, value: Any, exchange: Exchange | None, orders_memory: bool = True
    ) -> Any:
        """Stops the running thread until all others that have to come are there.

        Args:
            call: the name of the function that the kernel called.
            mask: the lanes of the warp that meet; None for the whole block.
            value: what this thread brings.
            exchange: gives this thread's result from the values of all, by lane or by number of the thread; None where
                nothing comes out.
            orders_memory: what was written before is visible after it.

        Returns:
            What `exchange` gives.
        """
        thread = self.current
        site = self.log.places.number_at(kernel_frame())
        thread.wait, thread.turn = Wait(call, site, mask, value, exchange, orders_memory), self.log.turn
        self._hub.switch()
        return thread.outcome
