"""What the name `cuda` means inside a traced kernel: the part of `numba.cuda` that runs on a GPU.

Calls that only make sense outside a kernel, and those that the tracer does not know, are refused by name.
"""

from __future__ import annotations

import inspect
import math
import numbers
import re
from typing import Any, NoReturn

import numpy as np

from gpulab.trace.errors import DISTANCE_THIRD, UnsupportedError
from gpulab.trace.log import WARP_SIZE
from gpulab.trace.python import host_arrays
from gpulab.trace.python.atomics import Atomics
from gpulab.trace.python.engine import Engine
from gpulab.trace.python.places import kernel_frame, place_of
from gpulab.trace.python.scratch import ConstantMemory, LocalMemory, SharedMemory
from gpulab.unwritten import rubbish

ALL_LANES = 0xFFFFFFFF

_HOST_ONLY = frozenset(host_arrays.FUNCTIONS)


class Cuda:
    """Stands in for the module `numba.cuda` in a kernel's globals.

    Args:
        engine: the launch; it says which thread is asking.
        shared: its shared memory.
    """

    warpsize = WARP_SIZE

    def __init__(self, engine: Engine, shared: SharedMemory) -> None:
        self._engine = engine
        self.threadIdx, self.blockIdx = engine.thread_index, engine.block_index
        self.blockDim, self.gridDim = engine.block_shape, engine.grid_shape
        self.shared, self.local, self.const = shared, LocalMemory(engine), ConstantMemory(engine)
        self.atomic, self.libdevice = Atomics(), Libdevice()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        place = place_of(kernel_frame())
        if name in _HOST_ONLY:
            remedy = "That is for the host: call it outside the kernel."
        else:
            remedy = "gpulab.trace does not know it. Is it spelled as in Numba's documentation?"
        raise UnsupportedError(f"cuda.{name} in a kernel ({place}). {remedy}", place.line)

    # --------------------------------------------------------------------------------------------------- who am I

    @property
    def laneid(self) -> int:
        """The thread's place in its warp."""
        return self._engine.current.lane

    def grid(self, dimensions: int) -> Any:
        """The thread's place in the whole grid: an int, or as many as dimensions are asked for."""
        block, thread, shape = self.blockIdx, self.threadIdx, self.blockDim
        x = block.x * shape.x + thread.x
        if dimensions == 1:
            return x
        place = (x, block.y * shape.y + thread.y, block.z * shape.z + thread.z)
        return place[: _dimensions(dimensions)]

    def gridsize(self, dimensions: int) -> Any:
        """Threads of the whole grid along x, or along as many axes as asked for."""
        grid, block = self.gridDim, self.blockDim
        sizes = (grid.x * block.x, grid.y * block.y, grid.z * block.z)
        return sizes[0] if dimensions == 1 else sizes[: _dimensions(dimensions)]

    # --------------------------------------------------------------------------------------------------- barriers

    def syncthreads(self) -> None:
        """Waits for all threads of the block."""
        self._engine.barrier()

    def syncthreads_count(self, predicate: Any) -> int:
        """Waits for all threads of the block; for how many of them the predicate holds."""
        votes = self._engine.meet("syncthreads_count(…)", None, bool(predicate), lambda values: sum(values.values()))
        return int(votes)

    def syncthreads_and(self, predicate: Any) -> int:
        """Waits for all threads of the block; 1 if the predicate holds for all."""
        return int(self._engine.meet("syncthreads_and(…)", None, bool(predicate), lambda values: all(values.values())))

    def syncthreads_or(self, predicate: Any) -> int:
        """Waits for all threads of the block; 1 if the predicate holds for any."""
        return int(self._engine.meet("syncthreads_or(…)", None, bool(predicate), lambda values: any(values.values())))

    def syncwarp(self, mask: int = ALL_LANES) -> None:
        """Waits for the lanes of the warp that the mask names."""
        self._engine.meet("syncwarp()", _lanes(mask), None, None)

    def threadfence(self) -> None:
        """Orders this thread's writes; the tracer, which runs one thread at a time, has nothing to do."""

    threadfence_block = threadfence_system = threadfence

    # ------------------------------------------------------------------------------------------------ shuffles, votes

    def shfl_sync(self, mask: int, value: Any, source: int) -> Any:
        """The value of lane `source`."""
        return self._shuffle("shfl_sync(…)", mask, value, int(source) % WARP_SIZE)

    def shfl_down_sync(self, mask: int, value: Any, delta: int) -> Any:
        """The value of the lane `delta` further up; one's own where there is none."""
        return self._shuffle("shfl_down_sync(…)", mask, value, self.laneid + _distance(delta), delta)

    def shfl_up_sync(self, mask: int, value: Any, delta: int) -> Any:
        """The value of the lane `delta` further down; one's own where there is none."""
        return self._shuffle("shfl_up_sync(…)", mask, value, self.laneid - _distance(delta), delta)

    def shfl_xor_sync(self, mask: int, value: Any, lanes: int) -> Any:
        """The value of the lane whose number differs in these bits."""
        return self._shuffle("shfl_xor_sync(…)", mask, value, self.laneid ^ _distance(lanes), lanes)

    def _shuffle(self, call: str, mask: int, value: Any, source: int, distance: int = 0) -> Any:
        no_distance = None
        if not 0 <= distance < WARP_SIZE:
            no_distance = _unusable(f"The lanes of a warp pass different distances to a shuffle, such as {distance}")

        def exchange(values: dict[int, Any]) -> Any:
            if no_distance and any(other != distance for _, other in values.values()):
                raise no_distance
            if not 0 <= source < WARP_SIZE:
                return value
            # A lane that does not take part: CUDA promises nothing.
            return values[source][0] if source in values else _undefined(value)

        if not _whole(mask, "a mask of lanes") >> self.laneid & 1:
            raise _unusable(f"The mask {_lanes(mask):#010x} does not name the lane that passes it")
        return self._vote(call, mask, (value, distance), exchange)

    def ballot_sync(self, mask: int, predicate: Any) -> int:
        """A bit for each lane: does the predicate hold there?"""
        votes = self._vote(
            "ballot_sync(…)", mask, bool(predicate), lambda v: sum(bit << lane for lane, bit in v.items())
        )
        return int(votes)

    def all_sync(self, mask: int, predicate: Any) -> bool:
        """Does the predicate hold in all lanes?"""
        return bool(self._vote("all_sync(…)", mask, bool(predicate), lambda values: all(values.values())))

    def any_sync(self, mask: int, predicate: Any) -> bool:
        """Does the predicate hold in any lane?"""
        return bool(self._vote("any_sync(…)", mask, bool(predicate), lambda values: any(values.values())))

    def eq_sync(self, mask: int, predicate: Any) -> bool:
        """Is the predicate the same in all lanes?"""
        return bool(self._vote("eq_sync(…)", mask, bool(predicate), lambda values: len(set(values.values())) == 1))

    def match_any_sync(self, mask: int, value: Any) -> int:
        """A bit for each lane with the same value."""
        return int(self._vote("match_any_sync(…)", mask, value, lambda values: _bits_of(values, value)))

    def match_all_sync(self, mask: int, value: Any) -> tuple[int, bool]:
        """The mask of all lanes and True if they have the same value, else 0 and False."""
        bits = int(self._vote("match_all_sync(…)", mask, value, lambda values: _bits_of(values, value, whole=True)))
        return bits, bool(bits)

    def _vote(self, call: str, mask: int, value: Any, exchange: Any) -> Any:
        return self._engine.meet(call, _lanes(mask), value, exchange, orders_memory=False)

    def activemask(self) -> int:
        """The lanes of this warp that exist; the tracer does not know which of them are together at the moment."""
        threads = math.prod(self._engine.block)
        return int((1 << min(WARP_SIZE, threads - self._engine.current.warp * WARP_SIZE)) - 1)

    def lanemask_lt(self) -> int:
        """The lanes before this one."""
        return int((1 << self.laneid) - 1)

    # ---------------------------------------------------------------------------------------------------- arithmetic

    def popc(self, value: int) -> int:
        """How many bits are set."""
        return (int(value) & ALL_LANES).bit_count()

    def clz(self, value: int) -> int:
        """Zeros before the highest bit of 32 that is set."""
        return 32 - (int(value) & ALL_LANES).bit_length()

    def ffs(self, value: int) -> int:
        """Place of the lowest bit that is set, counted from 1; 0 if there is none."""
        number = int(value) & ALL_LANES
        return (number & -number).bit_length()

    def brev(self, value: int) -> int:
        """The 32 bits in reverse order."""
        return int(f"{int(value) & ALL_LANES:032b}"[::-1], 2)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """a · b + c; rounded twice here, once on a GPU."""
        return a * b + c

    def cbrt(self, value: Any) -> Any:
        """Cube root."""
        return np.cbrt(value)

    def selp(self, condition: Any, a: Any, b: Any) -> Any:
        """`a` if the condition holds, else `b`."""
        return a if condition else b

    def nanosleep(self, nanoseconds: int) -> None:
        """Does nothing here."""


class Libdevice:
    """Stands in for the module `numba.cuda.libdevice`, and refuses its functions, which do nothing in Python."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse(name)

    @staticmethod
    def refuse(name: str, *_: Any) -> NoReturn:
        """Refuses a call of the function with this name.

        Raises:
            UnsupportedError: always.
        """
        place = place_of(kernel_frame())
        remedy = "gpulab.trace does not run libdevice: use a function of math, such as math.sqrt, or cuda.fma."
        raise UnsupportedError(f"libdevice.{name} in a kernel ({place}). {remedy}", place.line)


_STANDS_IN_FOR = {
    "Cuda": ("cuda", Cuda),
    "Atomics": ("cuda.atomic", Atomics),
    "SharedMemory": ("cuda.shared", SharedMemory),
    "LocalMemory": ("cuda.local", LocalMemory),
}


def wanted_call(error: Exception) -> str:
    """The call as it should be, if a kernel called one of these functions with other arguments; otherwise empty."""
    found = re.match(r"(\w+)\.(\w+)\(\) (missing|takes|got) ", str(error)) if isinstance(error, TypeError) else None
    if found is None or found[1] not in _STANDS_IN_FOR:
        return ""
    module, owner = _STANDS_IN_FOR[found[1]]
    _, *names = inspect.signature(getattr(owner, found[2])).parameters
    return f"{module}.{found[2]}({', '.join(names)})"


def _dimensions(count: Any) -> int:
    if count not in (1, 2, 3):
        raise UnsupportedError(f"cuda.grid({count!r}): a grid has 1, 2 or 3 dimensions.", place_of(kernel_frame()).line)
    return int(count)


def _lanes(mask: Any) -> int:
    return int(mask) & ALL_LANES  # -1 is written, too, for all of them


def _distance(lanes: Any) -> int:
    return _whole(lanes, "a distance between lanes")


def _whole(value: Any, what: str) -> int:
    # Nearly always an int, and asking for numbers.Integral takes long.
    if type(value) is not int and not isinstance(value, numbers.Integral):
        raise _unusable(f"{value} is not {what}, which is an int")
    return int(value)


def _unusable(what: str) -> UnsupportedError:
    place = place_of(kernel_frame())
    return UnsupportedError(f"{what} ({place}). {DISTANCE_THIRD}", place.line)


def _bits_of(values: dict[int, Any], value: Any, whole: bool = False) -> int:
    same = [lane for lane, other in values.items() if other == value]
    return 0 if whole and len(same) < len(values) else sum(1 << lane for lane in same)


def _undefined(value: Any) -> Any:
    return rubbish((), np.asarray(value).dtype)[()]
